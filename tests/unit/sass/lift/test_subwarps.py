"""Lanes that part and meet: in functions that call themselves, in tiles, where lanes sleep."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

FIBONACCI = """
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void k(const int *in, int *out) {
    int found = -1;
    if (in[threadIdx.x] % 7 == 0) found = fibonacci(in[threadIdx.x] % 9);
    out[threadIdx.x] = found;
}"""


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_lanes_wait_for_those_of_their_own_call(arch: str) -> None:
    given = np.random.default_rng(3).integers(0, 1000, 256, dtype=np.int32)
    arguments = [given, np.zeros(256, np.int32)]
    report = replay_compiled(FIBONACCI, grid=1, block=256, args=arguments, arch=arch)  # type: ignore[arg-type]
    wanted = [fibonacci(n % 9) if n % 7 == 0 else -1 for n in given.tolist()]
    assert report.outputs[1].tolist() == wanted


TILES = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void add(int *lock, volatile int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}
__global__ void k(int *lock, volatile int *sum) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    if (tile.meta_group_rank() % 2) {
        if (tile.thread_rank() == 0) add(lock, sum);
        tile.sync();
    } else {
        add(lock, sum);
        tile.sync();
    }
    __syncthreads();
}"""


def test_each_lane_waits_for_those_that_it_names() -> None:
    """Lanes of several tiles come together, and others of the same tiles later."""
    arguments = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
    report = replay_compiled(TILES, grid=1, block=256, args=arguments)
    assert report.outputs[1].tolist() == [16 * 8 + 16]


SLEEPS = """
__global__ void k(int *lock, volatile int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_lanes_that_sleep_let_others_go_on(arch: str) -> None:
    """As on an H200, where lanes that sleep do not keep the lock's owner at its barrier."""
    arguments = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
    report = replay_compiled(
        SLEEPS, grid=1, block=256, args=arguments, arch=arch, max_instructions=30_000_000  # type: ignore[arg-type]
    )  # fmt: skip
    assert report.outputs[1].tolist() == [256]
