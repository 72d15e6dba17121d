"""Blocks that begin when others have ended, as an H200 executed them."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.refills import BLOCKS, refills_source, shared_bytes
from simulator import replay_compiled
from simulator.law.chips import Chip
from simulator.timing.estimate import run_sm
from simulator.timing.machine import machine_of
from simulator.timing.shares import held_of, numbers_of
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

SMS = 132
ENDS: dict[tuple[str, int, int], list[float]] = {}
for row in packaged_table("h200_refills"):
    key = str(row["work"]), int(row["threads"]), int(row["blocks"])
    ENDS.setdefault(key, []).append(float(row["end"]))


def simulated(work: str, threads: int, blocks: int) -> list[float]:
    """When blocks of an SM end, in order."""
    chip = Chip.of("H200")
    machine = machine_of(chip) or {}
    grid = SMS * blocks
    report = replay_compiled(
        refills_source(work, threads), kernel="refills", grid=(grid,), block=(threads,),
        shared_bytes=shared_bytes(), chip=chip, arch="sm_90a",
        args=[np.zeros(3 * grid, np.int64), *(np.zeros(64, np.float32) for _ in range(2))],
    )  # fmt: skip
    own = report.relaunch().work(chip)
    numbers = numbers_of(own, machine, held_of(own, chip, machine), SMS)
    plan = np.arange(blocks, dtype=np.int64) % len(own.traces)
    ends: list[float] = np.sort(run_sm(own, chip, numbers, plan).ends).astype(float).tolist()
    return ends


@pytest.mark.parametrize(
    ("work", "threads", "within"),
    [("a chain", 128, 0.06), ("conflicts", 256, 0.04), ("conflicts, barrier", 256, 0.06),
     ("both, two barriers", 256, 0.06)],
)  # fmt: skip
def test_blocks_that_began_first_go_first(work: str, threads: int, within: float) -> None:
    """A block in the place of one that ended went before older ones in places behind it."""
    first, _ = BLOCKS
    found = simulated(work, threads, first)
    assert found == pytest.approx(ENDS[work, threads, first], rel=within)
