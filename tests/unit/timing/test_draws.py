"""What blocks read at random, beside what an H100 brought from DRAM (h100_random_reads.csv)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.random_reads import random_reads_source
from simulator.sass.replay import replay_compiled
from simulator.timing.kernel_time import KernelTime
from tests.sass_kernels import needs_compiler

ROWS = {
    (int(row["mebibytes"]), int(row["unit"])): row for row in packaged_table("h100_random_reads")
}


@cache
def time_of(mebibytes: int, unit: int) -> KernelTime:
    return replay_compiled(
        random_reads_source(), kernel="random_reads", grid=1056, block=256, chip="H100",
        args=[np.zeros(mebibytes << 18, np.uint32), np.zeros(1, np.uint32),
              np.uint32((mebibytes << 20) // unit), np.int32(unit // 4)],
    ).time(chip="H100")  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("unit", [32, 128])
@pytest.mark.parametrize("mebibytes", [24, 30, 36, 64, 160])
def test_random_reads_take_their_time_and_dram_brings_as_much(mebibytes: int, unit: int) -> None:
    """Of 32 bytes every sector may be read, of 128 one of a line."""
    row, time = ROWS[mebibytes, unit], time_of(mebibytes, unit)
    brought = time.counts["dram_sectors"] * 132 * 64  # bytes, a pair of sectors each
    assert brought == pytest.approx(float(row["dram_read"]), rel=0.03, abs=4e6)
    assert time.cycles == pytest.approx(float(row["cycles"]), rel=0.065)
