"""Inputs that are compared by their times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.asking.compare import Input, InputComparison
from simulator.timing.gains import SLACK
from simulator.timing.launch_time import time_of
from tests.unit.timing.works import Line, work

FIGURES = dict.fromkeys(("wavefronts", "ideal", "excessive", "bank_conflicts"), 1)


@pytest.mark.parametrize(
    ("cycles", "said"),
    [
        (10_000, "No difference in time: about 10,000 cycles each"),
        (10_200, "Too close to tell which is faster: about 10,000 and 10,200 cycles"),
        (10_400, "first: about 10,000 cycles instead of 10,400, ×1.04 as fast"),
    ],
)
def test_times_that_are_close_are_not_ranked(cycles: int, said: str) -> None:
    """That of fewer cycles was called the faster one, however close they were."""
    time = time_of(work([Line("LDS", "R0,[R2]", write=0, cycles=8, floor=4)]), "H100")
    inputs = [
        Input(name, "kernel", FIGURES, (), None, time=replace(time, cycles=each))
        for name, each in (("first", 10_000), ("second", cycles))
    ]
    found = InputComparison(tuple(inputs))
    assert found.verdict == said
    assert found.worse == (cycles > SLACK * 10_000)
