"""What a guard turns off, in a compiled kernel's estimate."""

from __future__ import annotations

import numpy as np

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
