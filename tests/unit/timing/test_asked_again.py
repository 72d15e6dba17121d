"""Copies that ask for a line once for each line of shared memory that it goes to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check.timing.errors import recorded
from gpu_check.timing.kernels import read_cases
from simulator.sass.arguments import argument
from simulator.sass.replay import replay_compiled
from simulator.timing.asked_again import asked_again, asked_once
from simulator.timing.launch_time import time_of
from tests.examples import examples
from tests.unit.timing.works import Line, work

COPY = Line("LDGSTS.E.BYPASS.128", "[R0],desc[UR4][R2.64]", cycles=4, floor=4, lines=4, asked=4,
            sent=4)  # fmt: skip
REST = [Line("LDGDEPBAR", write=0), Line("DEPBAR.LE", "SB0,0x0", waits=1)]
TIMED = Path(__file__).parents[2] / "silicon/timed"


@settings(max_examples=examples(20))
@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 3))
def test_a_launch_that_asks_once_asks_for_its_lines(
    often: list[int], warps: int, times: int
) -> None:
    body = [replace(COPY, asked=4 * each, sent=4 * each) for each in often]
    made = work([*body, *REST], warps=warps, times=times)
    assert asked_again(made) == pytest.approx(sum(often) / len(often))
    once = asked_once(made)
    assert asked_again(once) == 1
    rows, kinds = once.traces[0].rows, once.traces[0].steps.row
    assert set(rows.sectors[kinds[rows.is_shared[kinds]]].tolist()) == {4}
    assert made.traces[0].rows is not rows  # the launch itself is as it was


def test_it_is_said_what_asking_again_costs() -> None:
    scattered = replace(COPY, asked=32, sent=32)
    for copy, felt in ((scattered, True), (COPY, False)):
        made = work([*[copy] * 16, *REST], warps=8, times=40, blocks=264, resident=2)
        said = [note for note in time_of(made, "H100").notes if "cp.async" in note]
        assert len(said) == felt
    assert asked_again(work([Line("FFMA", "R0,R1,R2")])) == 1


def test_what_it_costs_is_what_another_layout_saved() -> None:
    """×2.86 on an H200, where the same is copied to swizzled rows."""
    cases = {case["name"]: case for case in read_cases(TIMED / "thirtyninth.json")}
    case = cases["wgmma by cp.async cores"]
    found = replay_compiled(
        Path(case["cubin"]), kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), shared_bytes=case["shared"], chip="H200",
        args=[argument(text, place) for place, text in enumerate(case["args"])],
    ).time("H200")  # fmt: skip
    (said,) = (note for note in found.notes if "cp.async" in note)
    assert "8.0 times" in said
    times = recorded("h200_timed_thirtyninth.csv")
    gained = times[case["name"]]["cycles"] / times["wgmma by cp.async swizzled"]["cycles"]
    predicted = float(said.split("×")[1].split()[0])
    assert predicted == pytest.approx(gained, rel=0.15)
