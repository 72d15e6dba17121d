"""Loads that do not wait for each other: a warp waits for the slowest of them.

Each load of a warp reads a line of its own, anywhere in a footprint that the L2 holds, or anywhere
in a gibibyte. Each launch reads elsewhere. A turn's cycles end when all of its loads are there, so
the table has the mean and quantiles of turns.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_spread"]

_MIB = 1 << 20
_TURNS = 128
_LOADS = (1, 2, 4, 8, 16)
_SOURCE = """
template <int LOADS> __device__ void run(const unsigned* data, unsigned lines, unsigned seed,
                                         unsigned* took, unsigned* sink) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned x = (warp + 1) * 2654435761u ^ seed * 40503u, sum = 0;
    #pragma unroll 1
    for (int turn = -4; turn < TURNS; ++turn) {
        const unsigned* at[LOADS];
        unsigned v[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;
            at[k] = data + (size_t)(x & lines - 1) * 32 + lane;
        }
        const unsigned start = (unsigned)clock64();
        #pragma unroll
        for (int k = 0; k < LOADS; ++k)
            asm volatile("ld.global.b32 %0, [%1];" : "=r"(v[k]) : "l"(at[k]));
        #pragma unroll
        for (int k = 0; k < LOADS; ++k)
            asm volatile("add.u32 %0, %0, %1;" : "+r"(sum) : "r"(v[k]));
        const unsigned end = (unsigned)clock64();
        if (lane == 0 && turn >= 0) took[warp * TURNS + turn] = end - start;
    }
    if (sum == 12345) *sink = sum;
}
#define KERNEL(LOADS) \
extern "C" __global__ void loads##LOADS(const unsigned* data, unsigned lines, unsigned seed, \
                                        unsigned* took, unsigned* sink) { \
    run<LOADS>(data, lines, seed, took, sink); \
}
KERNEL(1) KERNEL(2) KERNEL(4) KERNEL(8) KERNEL(16)
"""


def measure_spread(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per source, SMs, warps of each and loads of a turn: cycles of a turn.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does, CompileError and ToolError as
    `compiled` does.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "spread.cubin")
        path.write_bytes(compiled(_SOURCE.replace("TURNS", str(_TURNS)), Path(folder)))
        module = cupy.RawModule(path=str(path))
        sink = cupy.zeros(1, dtype=np.uint32)
        seed = 0
        for source, size in (("L2", 16), ("DRAM", 1024)):
            data = cupy.zeros(size * _MIB // 4, dtype=np.uint32)
            for sms, warps, loads in product((1, chip.multiprocessors), (1, 4), _LOADS):
                found = []
                for _ in range(9):
                    if source == "L2":
                        data.sum()  # the L2 has all of it
                    seed += 1
                    took = cupy.zeros(sms * warps * _TURNS, dtype=np.uint32)
                    module.get_function(f"loads{loads}")(
                        (sms,), (32 * warps,),
                        (data, np.uint32(size * _MIB // 128), np.uint32(seed), took, sink),
                    )  # fmt: skip
                    found.append(took.get())
                each = np.concatenate(found[1:])
                quantiles = np.percentile(each, [1, 10, 50, 90, 99])
                rows.append(
                    {"source": source, "sms": sms, "warps": warps, "loads": loads,
                     "mean": round(float(each.mean()), 1),
                     **{f"q{q}": round(float(v)) for q, v in
                        zip((1, 10, 50, 90, 99), quantiles, strict=True)}}
                )  # fmt: skip
            del data
    return rows
