"""The time is that of a second launch: it reads what the first left in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.sass import second
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
extern "C" __global__ void inserted(unsigned* table, const unsigned* keys, unsigned last) {
    const unsigned key = keys[blockIdx.x * blockDim.x + threadIdx.x] | 1u;
    for (unsigned slot = key; slot < key + last; ++slot) {
        const unsigned before = atomicCAS(table + (slot & last), 0u, key);
        if (before == 0u || before == key) return;
    }
}
extern "C" __global__ void counted(unsigned* count, unsigned* out) {
    const unsigned old = atomicAdd(count + blockIdx.x, 1u);
    if (old >= blockDim.x && blockIdx.x == gridDim.x - 1) out[1u << 30] = 1;
    if (threadIdx.x == 0) out[blockIdx.x & 127] = old;
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


def test_a_second_launch_finds_what_blocks_left_that_are_not_traced() -> None:
    """Keys of all blocks lie in a table: those of the traced blocks alone would lie far apart."""
    keys = np.random.default_rng(7).integers(1, 1 << 20, BLOCKS * THREADS).astype(np.uint32)
    empty = time("inserted", [np.zeros(1 << 16, np.uint32), keys, np.uint32((1 << 16) - 1)])
    table = np.zeros(1 << 16, np.uint32)
    for key in keys | 1:
        slot = int(key) & 0xFFFF
        while table[slot] not in (0, key):
            slot = slot + 1 & 0xFFFF
        table[slot] = key
    full = time("inserted", [table, keys, np.uint32((1 << 16) - 1)])
    assert empty.cycles == pytest.approx(full.cycles, rel=0.03)
    assert any("second launch is timed" in each for each in empty.notes)
    assert not any("second launch" in each for each in full.notes)


@pytest.mark.parametrize("limit", ["_MOST_INSTRUCTIONS", "_MOST_BLOCKS"])
def test_a_grid_that_is_too_large_to_run_whole_is_sampled_twice(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    whole = second.SecondLaunch._whole
    monkeypatch.setattr(second.SecondLaunch, "_whole", lambda self: ran.append(1) or whole(self))
    args = [np.zeros(1 << 16, np.uint32), GIVEN, np.uint32(65535)]
    time("inserted", args)
    assert ran == [1]
    monkeypatch.setattr(second, limit, 100)
    time("inserted", args)
    assert ran == [1]


def test_a_second_launch_of_which_another_block_fails_is_timed_as_the_first() -> None:
    """None of those that run first: the last one, which tells what blocks at the end do."""
    fails = time("counted", [np.zeros(BLOCKS, np.uint32), np.zeros(THREADS, np.uint32)])
    assert fails.cycles is not None
    assert any("a second launch fails" in each for each in fails.notes)


def test_a_limit_of_instructions_is_that_of_the_blocks_that_are_traced() -> None:
    args = [np.zeros(1 << 16, np.uint32), GIVEN, np.uint32((1 << 16) - 1)]
    free = time("inserted", args)
    limited = replay_compiled(
        SOURCE, kernel="inserted", grid=BLOCKS, block=THREADS, args=args, chip="H100",
        max_instructions=200_000,
    ).time()  # fmt: skip
    assert limited.cycles == free.cycles
    assert limited.notes == free.notes


def test_a_limit_that_ends_the_first_launch_is_told() -> None:
    """Blocks that are not traced leave nothing then: the second finds a table that is less full."""
    keys = np.random.default_rng(7).integers(1, 1 << 20, BLOCKS * THREADS).astype(np.uint32)
    args = [np.zeros(1 << 16, np.uint32), keys, np.uint32((1 << 16) - 1)]
    free = time("inserted", args)
    limited = replay_compiled(
        SOURCE, kernel="inserted", grid=BLOCKS, block=THREADS, args=args, chip="H100",
        blocks="sample", max_instructions=60_000,
    ).time()  # fmt: skip
    said = "max_instructions = 60000 ends the first launch"
    assert free.cycles != limited.cycles
    assert not any(said in each for each in free.notes)
    assert any(said in each for each in limited.notes)
