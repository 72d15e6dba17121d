"""Loops that an H100 executed, compiled and estimated: who issues, and what branches cost."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.branches import branches_source
from gpu_check.timing.loop_ends import loop_ends_source
from gpu_check.timing.parted import parted_source
from gpu_check.timing.turns import turns_source
from simulator import replay_compiled
from simulator.timing.kernel_time import KernelTime
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler
NONE = np.zeros(64, np.float32)


@cache
def parted(how: str, lanes: int, warps: int, turns: int) -> KernelTime:
    args = [
        np.zeros(64, np.int64), np.zeros(1, np.float32), NONE, np.full(8, lanes, np.int32),
        np.int32(turns),
    ]  # fmt: skip
    return replay_compiled(
        parted_source(how), kernel="parted", grid=1, block=32 * warps, args=args, chip="H100"
    ).time()


@pytest.mark.parametrize("warps", [1, 32])
@pytest.mark.parametrize(
    ("how", "lanes"),
    [("one", 0), ("one", 1), ("one", 16), ("one", 32), ("both", 0), ("both", 16), ("both", 32),
     ("leave", 1), ("leave", 2), ("leave", 8), ("sync", 0), ("sync", 16), ("sync", 32)],
)  # fmt: skip
def test_lanes_that_part_and_meet_again_take_what_they_took(
    how: str, lanes: int, warps: int
) -> None:
    (row,) = (
        row for row in packaged_table("h100_parted")
        if (row["how"], row["lanes"], row["warps"]) == (how, str(lanes), str(warps))
    )  # fmt: skip
    less, more = (parted(how, lanes, warps, turns).active_cycles for turns in (4, 12))
    assert less is not None
    assert more is not None
    each = (more - less) / (8 * 8 * warps)
    # Of many warps that wait for lanes elsewhere, not all that they keep busy is known.
    several = 0.2 if (how, lanes) == ("sync", 16) else 0.06
    assert each == pytest.approx(float(row["cycles"]), rel=0.03 if warps == 1 else several)


@pytest.mark.parametrize("lanes", [0, 1, 16, 32])
def test_branches_around_barriers_take_what_they_took(lanes: int) -> None:
    less, more = (
        replay_compiled(
            branches_source(), kernel="branches", grid=1, block=32, chip="H100",
            args=[np.zeros(64, np.int64), np.zeros(1, np.float32), NONE, np.int32(lanes),
                  np.int32(turns)],
        ).time().active_cycles
        for turns in (8, 24)
    )  # fmt: skip
    assert less is not None
    assert more is not None
    (row,) = (
        row for row in packaged_table("h100_branches")
        if (row["lanes"], row["warps"]) == (str(lanes), "1")
    )  # fmt: skip
    assert (more - less) / (16 * 8) == pytest.approx(float(row["cycles"]), rel=0.02)


def test_lanes_that_part_wait_for_their_branches() -> None:
    alone, apart = (
        parted("one", lanes, 1, 12).reasons.get("branch_resolving", 0) for lanes in (32, 16)
    )
    assert apart > 1.7 * alone


@pytest.mark.parametrize("warps", [4, 32])
@pytest.mark.parametrize(
    ("counter", "count"),
    [("register", 8), ("register", 16), ("register", 64), ("uniform", 16), ("uniform", 32)],
)
def test_loops_of_sums_and_logic_take_what_they_took(counter: str, count: int, warps: int) -> None:
    """They read the same registers, so they wait for banks; none did before the banks were told."""
    source = loop_ends_source("FFMA and LOP3", count, counter)
    least = 512 // count
    less, more = (
        replay_compiled(
            source, kernel="loops", grid=1, block=32 * warps, chip="H100",
            args=[NONE, NONE, np.zeros(64, np.int32), np.int32(turns)],
        ).time().active_cycles
        for turns in (least, 2 * least)
    )  # fmt: skip
    assert less is not None
    assert more is not None
    (row,) = (
        row for row in packaged_table("h100_loop_ends")
        if (row["instructions"], row["counter"], row["count"], row["warps"])
        == ("FFMA and LOP3", counter, str(count), str(warps))
    )  # fmt: skip
    each = (more - less) / (least * warps / 4)
    assert each == pytest.approx(float(row["cycles"]), rel=0.035)


@pytest.mark.parametrize(
    ("loop", "rel"),
    [("additions", 0.04), ("additions one by one", 0.04), ("loads, then additions", 0.1)],
)
def test_warps_of_a_block_take_turns_as_they_did(loop: str, rel: float) -> None:
    """Where one was always preferred, those that were left could not fill the SM.

    What loads bring holds sums up on an H100, and not here.
    """
    time = replay_compiled(
        turns_source(loop), kernel="turns", grid=1, block=1024, shared_bytes=4096, chip="H100",
        args=[np.zeros(64, np.int64), np.zeros(1, np.float32), NONE],
    ).time()  # fmt: skip
    (row,) = (row for row in packaged_table("h100_turns") if row["loop"] == loop)
    ends = max(int(value) for name, value in row.items() if name != "loop")
    begins = 1000  # about: what comes before the loop
    assert time.active_cycles == pytest.approx(ends + begins, rel=rel)
