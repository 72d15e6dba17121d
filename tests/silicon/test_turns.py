"""Lanes that give way and take turns, against an H200: tests/silicon/sass/turns.py."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from tests.silicon.sass.turns import CUBINS, arguments, notes

SILICON = Path(__file__).parent
CHIP = json.loads((SILICON / "data/h200_turns.json").read_text())["cases"]
OFF = {
    "one": 0.0, "half": 0.0, "again": 0.015, "again_guarded": 0.01, "nested": 0.02, "two": 0.035,
    "two_guarded": 0.035, "four": 0.055, "four_guarded": 0.07, "programs": 0.04,
}  # fmt: skip
"""By kernel: how far the number of groups that come by may be off, on average."""


def cases() -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for case in json.loads((SILICON / "sass/turns.json").read_text()):
        kernel = case["kernel"]
        found["programs" if kernel.startswith("program_") else kernel].append(case)
    return found


def groups(case: dict[str, Any]) -> list[list[Any]]:
    """Who comes by where, in order."""
    report = replay_compiled(
        CUBINS / case["cubin"], kernel=case["kernel"], grid=1, block=32, blocks="all",
        args=arguments(case), chip="H200",
    )  # fmt: skip
    return notes(np.asarray(report.outputs[0]))


@pytest.mark.parametrize("case", cases()["one"] + cases()["half"], ids=lambda case: case["name"])
def test_lanes_that_leave_one_loop_come_by_in_the_order_of_the_chip(case: dict[str, Any]) -> None:
    assert groups(case) == CHIP[case["name"]]


@pytest.mark.parametrize(
    ("kernel", "each"),
    [*((kernel, 1) for kernel in sorted(set(OFF) - {"one", "half", "programs"})),
     ("programs", 4), pytest.param("programs", 1, marks=pytest.mark.slow)],
)  # fmt: skip
def test_lanes_part_and_meet_about_as_often_as_on_the_chip(kernel: str, each: int) -> None:
    """Of random programs, which are compiled one by one, a fourth is quick: twelve vary more."""
    ratios = [len(groups(case)) / len(CHIP[case["name"]]) for case in cases()[kernel][::each]]
    assert np.mean(np.abs(np.array(ratios) - 1)) <= OFF[kernel]
    assert np.mean(ratios) == pytest.approx(1, abs=0.03 if each == 1 else 0.05)
