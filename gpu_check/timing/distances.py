"""How far the L2 is from each SM: cycles of a load that waits for the one before.

Warps of all SMs follow chains through the same lines of 128 bytes, in an order drawn at random, a
line per step; the L2 has them all. `mean`, `least` and `most`: of the SMs, each the mean of its
warps; the loop around a load is within.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_distances"]

_STEPS, _REPEATS = 1000, 5
_SOURCE = """
extern "C" __global__ void distances(const unsigned* next, long long* when, unsigned* sink,
                                     int lines, int steps) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned at = warp * 7919u % lines * 32;
    const long long begun = clock64();
    for (int k = 0; k < steps; ++k)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at + lane) : "memory");
    const long long ended = clock64();
    if (lane == 0) when[warp] = ended - begun;
    if (at == 1) *sink = at;
}
"""


def measure_distances(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per size, in MiB, and warps of an SM."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rng, rows = np.random.default_rng(1), []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=_SOURCE).get_function("distances")
        sink = cupy.zeros(1, dtype=np.uint32)
        for size, warps in product((1, 8, 16), (1, 4, 16)):
            lines = (size << 20) // 128
            order = rng.permutation(lines)
            following = np.empty(lines, np.uint32)
            following[order] = 32 * np.roll(order, -1)
            next_ = cupy.asarray(np.repeat(following, 32))
            found = []
            for _ in range(_REPEATS):
                when = cupy.zeros((sms, warps), dtype=np.int64)
                args = (next_, when, sink, np.int32(lines), np.int32(_STEPS))
                kernel((sms,), (32 * warps,), args)
                found.append(when.get().mean(axis=1) / _STEPS)
            each = np.median(found, axis=0)
            rows.append(
                {"mebibytes": size, "warps": warps, "mean": round(float(each.mean()), 1),
                 "least": round(float(each.min()), 1), "most": round(float(each.max()), 1)}
            )  # fmt: skip
    return rows
