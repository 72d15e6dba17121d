"""How long the first load of a line takes in a launch, when another SM had the line before.

Each warp of one block per SM loads 16 lines of its own, one after the other. The launch before
loaded the same lines, or stored to them (`before`), from the SM whose number is `apart` less:
`apart` 0 is the same SM. `again`: how often the launch that is timed goes through them; the last
time is noted. Figures are cycles, the mean and seven percentiles.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["first_touch_source", "measure_first_touch"]

_LINES, _WARPS = 16, 8
_PERCENTS = (1, 10, 25, 50, 75, 90, 99)
_APART = (0, 1, 2, 17, 33, 66)
_SOURCE = """
extern "C" __global__ void first_touch(int* data, int* took, int apart, int stores, int again,
                                       int mask) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const int warps = gridDim.x * (blockDim.x >> 5), lane = threadIdx.x & 31;
    const int mine = sm * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int warp = (mine + apart * (blockDim.x >> 5)) % warps;
    int zero = 0;
    for (int time = 0; time < again; ++time)
        #pragma unroll 1
        for (int line = 0; line < 16; ++line) {
            int* at = data + (line * warps + warp) * 32 + lane + zero;
            const int start = (int)clock();
            int v = 0;
            if (stores) *at = line;
            else asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(v) : "l"(at));
            zero = v & mask;
            if (zero) took[1] = v;
            const int end = (int)clock();
            if (lane == 0) took[mine * 16 + line] = end - start;
        }
}
"""


def first_touch_source() -> str:
    """Return CUDA source of the kernel."""
    return _SOURCE


def measure_first_touch(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per launch before, distance of SMs, and number of times."""
    chip = open_gpu(device)
    import cupy

    sms, rows = chip.multiprocessors, []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=first_touch_source()).get_function("first_touch")
        data = cupy.zeros(sms * _WARPS * _LINES * 32, dtype=np.int32)
        took = cupy.zeros(sms * _WARPS * _LINES, dtype=np.int32)
        for before, apart, again in product(("loads", "stores"), _APART, (1, 2)):
            found = []
            for _ in range(4):
                for away, stores, times in ((0, int(before == "stores"), 1), (apart, 0, again)):
                    kernel(
                        (sms,), (32 * _WARPS,),
                        (data, took, np.int32(away), np.int32(stores), np.int32(times),
                         np.int32(0)),
                    )  # fmt: skip
                found.append(took.get().reshape(-1, _LINES)[:, 2:])
            all_ = np.concatenate(found[1:])
            rows.append(
                {"before": before, "apart": apart, "again": again,
                 "mean": round(float(all_.mean()), 1)}
                | {f"p{each}": int(np.percentile(all_, each)) for each in _PERCENTS}
            )  # fmt: skip
    return rows
