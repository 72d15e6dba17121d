"""How long each load takes while others are in flight: not their mean alone, how they differ.

Warps of all SMs load `word` bytes per lane again and again, each when the one before has come. The
L2 holds what they load where it is few `mebibytes`, and does not hold more. Every warp notes
how long each load takes. Figures are cycles: the mean, five percentiles, and `of_eight`, the mean
of the longest of eight warps of a block in a turn: what a barrier behind the load waits for.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["delays_source", "measure_delays"]

_MIB = 1 << 20
_TURNS, _SKIPPED = 24, 8
_PERCENTS = (1, 10, 50, 90, 99)
_WARPS = (8, 16, 24, 32, 48, 64)
_SOURCE = """
__device__ __forceinline__ void load(int& v, const char* at)
    { asm volatile("ld.global.b32 %0, [%1];" : "=r"(v) : "l"(at)); }
__device__ __forceinline__ void load(int4& v, const char* at)
    { asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at)); }
__device__ __forceinline__ int all_of(int v) { return v; }
__device__ __forceinline__ int all_of(int4 v) { return v.x | v.y | v.z | v.w; }
template <typename W> __device__ void run(const char* data, long long size, int* took, int turns,
                                          int meets, int mask, int* sink) {
    const long long all = (long long)gridDim.x * blockDim.x;
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = (int)(me >> 5);
    int zero = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; ++turn) {
        if (meets) __syncthreads();
        const long long at = (me + (turn + 2) * all) * (long long)sizeof(W) % size;
        const int start = (int)clock();
        W v;
        load(v, data + at + zero);
        zero = all_of(v) & mask;
        if (zero) *sink = 1;  // it has come
        const int end = (int)clock();
        if ((me & 31) == 0 && turn >= 0)
            took[(long long)turn * (all >> 5) + warp] = end - start + zero;
    }
}
extern "C" __global__ void delays_4(const char* data, long long size, int* took, int turns,
                                    int meets, int mask, int* sink)
    { run<int>(data, size, took, turns, meets, mask, sink); }
extern "C" __global__ void delays_16(const char* data, long long size, int* took, int turns,
                                     int meets, int mask, int* sink)
    { run<int4>(data, size, took, turns, meets, mask, sink); }
"""


def delays_source() -> str:
    """Return CUDA source of both kernels."""
    return _SOURCE


def measure_delays(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per memory, word, number of warps, and whether blocks meet before each load."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "delays.cubin")
        path.write_bytes(compiled(_SOURCE, Path(folder)))
        module = cupy.RawModule(path=str(path))
        sms = chip.multiprocessors
        sink = cupy.zeros(4, dtype=np.int32)
        for size, word, warps, meets in product((16, 1024), (4, 16), _WARPS, (0, 1)):
            data = cupy.zeros(size * _MIB, dtype=np.uint8)
            blocks = sms * warps // 8
            took = cupy.zeros(blocks * 8 * _TURNS, dtype=np.int32)
            kernel = module.get_function(f"delays_{word}")
            for _ in range(2):
                kernel(
                    (blocks,), (256,),
                    (data, np.int64(size * _MIB), took, np.int32(_TURNS), np.int32(meets),
                     np.int32(0), sink),
                )  # fmt: skip
            found = took.get().reshape(_TURNS, blocks, 8)[_SKIPPED:]
            percents = {f"p{each}": int(np.percentile(found, each)) for each in _PERCENTS}
            rows.append(
                {"mebibytes": size, "word": word, "warps": warps, "meets": meets,
                 "mean": round(float(found.mean()), 1), **percents,
                 "of_eight": round(float(found.max(axis=2).mean()), 1)}
            )  # fmt: skip
            del data
    return rows
