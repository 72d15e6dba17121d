"""Blocks that copy beside conflicts, and short launches, simulated as an H200 took them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.copies_beside import CASES, ROOMS, copies_beside_source
from gpu_check.timing.short_launches import CASES as SHORT
from gpu_check.timing.short_launches import WORDS, short_launches_source
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

SMS = 132
BESIDE = {
    (row["brings"], int(row["ways"]), int(row["blocks"])): float(row["cycles"])
    for row in packaged_table("h200_copies_beside")
}
IN_STEP = {("copies", 4, 2), ("copies", 8, 2), ("loads", 4, 2)}
"""Blocks of an H200 wait for each other, and those of the estimate take turns."""
QUICK = {("none", 4, 2), ("copies", 1, 2), ("ahead", 1, 1), ("copies", 4, 2)}


@pytest.mark.parametrize(
    "case", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow)
             for each in CASES],
)  # fmt: skip
def test_blocks_that_copy_beside_conflicts_take_what_they_took(case: tuple[str, int, int]) -> None:
    """Reads alone are known best; of two blocks that copy, two things are not known."""
    brings, ways, blocks = case

    def of(turns: int) -> float:
        found = replay_compiled(
            copies_beside_source(brings, ways), kernel="beside", grid=SMS * blocks, block=128,
            shared_bytes=ROOMS[blocks], chip="H200",
            args=[np.zeros(SMS * blocks * 8192, np.uint8), np.zeros(SMS * blocks * 3, np.int64),
                  np.zeros(1, np.uint32), np.int32(turns)],
        ).time("H200").active_cycles  # fmt: skip
        assert found is not None
        return float(found)

    low, high = (0.78, 0.85) if case in IN_STEP else (0.87, 1.15)
    if brings == "none":
        low, high = 0.955, 1.015
    assert low < (of(30) - of(10)) / 20 / BESIDE[case] < high


@pytest.mark.parametrize(("does", "blocks"), [case for case in SHORT if case[0] != "nothing"])
def test_short_launches_take_what_they_took(does: str, blocks: int) -> None:
    rows: Any = packaged_table("h200_short_launches")
    (cycles,) = (
        float(row["cycles"]) for row in rows if row["does"] == does and row["blocks"] == str(blocks)
    )
    time = replay_compiled(
        short_launches_source(), kernel=f"short_{does.replace(' ', '_')}", grid=blocks, block=128,
        chip="H200", args=[*[np.zeros(WORDS, np.int32)] * 2, np.int32(3)],
    ).time("H200")  # fmt: skip
    assert time.cycles == pytest.approx(cycles, rel=0.08)
