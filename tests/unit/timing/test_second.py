"""The time is that of a second launch: it reads what the first left in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator import replay_compiled
from simulator.timing.kernel_time import KernelTime
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

SOURCE = """
extern "C" __global__ void raised(unsigned* best, const unsigned* given) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x, mine = given[at];
    if (best[at] < mine) {
        #pragma unroll 1
        for (int turn = 0; turn < 200; ++turn) mine = mine * 1664525u | 1u;
        best[at] = ~0u;
        if (mine == 12345u) best[at] = 7u;
    }
}
extern "C" __global__ void appended(unsigned* count, unsigned* out, unsigned size) {
    unsigned at = count[blockIdx.x] + threadIdx.x;
    out[at] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) count[blockIdx.x] = size;
}
extern "C" __global__ void scaled(float* values) {
    values[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f;
}
"""
BLOCKS, THREADS = 264, 128
GIVEN = np.arange(1, BLOCKS * THREADS + 1, dtype=np.uint32)


def time(kernel: str, args: list[Any]) -> KernelTime:
    return replay_compiled(
        SOURCE, kernel=kernel, grid=BLOCKS, block=THREADS, args=args, chip="H100"
    ).time()


def test_what_the_first_launch_has_done_the_second_finds_done() -> None:
    anew = time("raised", [np.zeros_like(GIVEN), GIVEN])
    done = time("raised", [np.full_like(GIVEN, 0xFFFFFFFF), GIVEN])
    assert anew.cycles == done.cycles
    note = next(each for each in anew.notes if "second launch is timed" in each)
    assert "instructions in it" in note
    assert not any("second launch" in each for each in done.notes)


def test_a_second_launch_that_fails_is_timed_as_the_first() -> None:
    counts = np.zeros(BLOCKS, np.uint32)
    fails = time("appended", [counts, np.zeros(THREADS, np.uint32), np.uint32(1 << 24)])
    holds = time("appended", [counts, np.zeros(THREADS, np.uint32), np.uint32(0)])
    assert fails.cycles == holds.cycles
    assert any("a second launch fails" in each for each in fails.notes)
    assert not any("second launch" in each for each in holds.notes)


def test_a_launch_that_does_the_same_again_has_no_note() -> None:
    assert not any("second" in each for each in time("scaled", [np.ones(GIVEN.size, "f4")]).notes)
