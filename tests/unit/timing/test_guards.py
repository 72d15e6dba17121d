"""What a guard turns off, in a compiled kernel's estimate."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.timing.kernel_time import KernelTime
from tests.sass_kernels import needs_tools

pytestmark = needs_tools

_SOURCE = """
extern "C" __global__ void meet(float *out, int n) {
    float v = threadIdx.x;
    #pragma unroll 1
    for (int turn = 0; turn < 32; ++turn) {
        asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 1; @p bar.sync 0; }" :: "r"(n) : "memory");
        for (int k = 0; k < 4 * (threadIdx.x / 32 + turn & 3); ++k) v = v * 1.5f + 1;
    }
    out[threadIdx.x] = v;
}"""


def _time(is_on: bool) -> KernelTime:
    args = [np.zeros(128, np.float32), np.int32(is_on)]
    return replay_compiled(_SOURCE, grid=1, block=128, args=args).time("H100")


def test_nobody_waits_at_a_barrier_that_is_turned_off() -> None:
    on, off = _time(True), _time(False)
    assert on.reasons["barrier"] > 0.5
    assert off.reasons["barrier"] == 0
    # Each turn lasts as long as its longest warp where they meet; else each warp goes its way.
    assert off.active_cycles < 0.8 * on.active_cycles


_GROUPS = """
extern "C" __global__ void groups(float *out, int one, int count) {
    float v = threadIdx.x;
    int group = threadIdx.x / 64;
    #pragma unroll 1
    for (int turn = 0; turn < 32; ++turn) {
        SYNC
        for (int k = 0; k < (group ? 8 : 1) * (1 + (threadIdx.x / 32 + turn & 1)); ++k)
            v = v * 1.5f + 1;
        if (!group) for (int k = 0; k < 8 * (turn & 1); ++k) v = v * 0.5f + 1;
    }
    out[threadIdx.x] = v;
}"""


@pytest.mark.parametrize(
    "sync",
    [
        'asm volatile("bar.sync %0, %1;" :: "r"(one + group), "r"(count));',
        'asm volatile("bar.sync %0, 64;" :: "r"(one + group));',
        'if (group) asm volatile("bar.sync 2, %0;" :: "r"(count)); '
        'else asm volatile("bar.sync 1, %0;" :: "r"(count));',
    ],
    ids=["both", "number", "threads"],
)
def test_a_barrier_that_a_register_names_is_that_barrier(sync: str) -> None:
    def time(sync: str) -> KernelTime:
        args = [np.zeros(128, np.float32), np.int32(1), np.int32(64)]
        source = _GROUPS.replace("SYNC", sync)
        return replay_compiled(source, grid=1, block=128, args=args).time("H100")

    fixed = time(
        'if (group) asm volatile("bar.sync 2, 64;"); else asm volatile("bar.sync 1, 64;");'
    )
    named = time(sync)
    all_meet = time("__syncthreads();")
    assert named.active_cycles == pytest.approx(fixed.active_cycles, rel=0.05)
    assert named.reasons["barrier"] < 0.7 * all_meet.reasons["barrier"]
