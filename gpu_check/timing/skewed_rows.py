"""What it costs to add rows to a table where many go to the same row: cycles of an SM per addition.

A block adds a row of 512 floats, of 8,448 such blocks. `share` of them go to the first row, the
others to any of `rows`. `way` says what a warp adds at a time. `apart`: the words 0, 4, 8, ... of
its 128, then the words 1, 5, ...; `together`: 32 words side by side, then the next ones; `vector`:
four words of each lane (red.global.add.v4.f32). The cycles are those in which an SM has blocks.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.copies_beside import spans_of

__all__ = ["measure_skewed_rows"]

_BLOCKS = 8448
_SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 1.0)
_ROWS = (512, 8192)
_SOURCE = """
#define ADD(at) asm volatile("red.global.add.f32 [%0], %1;" :: "l"(at), "f"(1.0f))
template <int WAY> __device__ void run(float* table, const int* rows, long long* when) {
    const long long start = clock64();
    float* const to = table + (size_t)rows[blockIdx.x] * 512;
    if (WAY == 0) {
        float* const at = to + threadIdx.x * 4;
        ADD(at); ADD(at + 1); ADD(at + 2); ADD(at + 3);
    } else if (WAY == 1) {
        float* const at = to + (threadIdx.x & 96) * 4 + (threadIdx.x & 31);
        ADD(at); ADD(at + 32); ADD(at + 64); ADD(at + 96);
    } else {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};"
                     :: "l"(to + threadIdx.x * 4), "f"(1.0f));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        when[3 * blockIdx.x] = start, when[3 * blockIdx.x + 1] = clock64();
        when[3 * blockIdx.x + 2] = sm;
    }
}
#define KERNEL(NAME, WAY) extern "C" __global__ void __launch_bounds__(128) \\
    NAME(float* table, const int* rows, long long* when) { run<WAY>(table, rows, when); }
KERNEL(apart, 0) KERNEL(together, 1) KERNEL(vector, 2)
"""
_EACH = {"apart": 16, "together": 16, "vector": 4}
"""Additions of a block's warps."""


def measure_skewed_rows(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, rows and share: cycles of an SM per addition of a warp."""
    chip = open_gpu(device)
    import cupy

    rows = []
    random = np.random.default_rng(1)
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "rows.cubin")
        path.write_bytes(compiled(_SOURCE, Path(folder)))
        module = cupy.RawModule(path=str(path))
        table = cupy.zeros(512 * max(_ROWS), dtype=np.float32)
        for way, count, share in product(_EACH, _ROWS, _SHARES):
            chosen = random.integers(count, size=_BLOCKS)
            chosen[random.random(_BLOCKS) < share] = 0
            given = cupy.asarray(chosen.astype(np.int32))
            least = float("inf")
            for _ in range(4):
                when = cupy.zeros((_BLOCKS, 3), dtype=np.int64)
                module.get_function(way)((_BLOCKS,), (128,), (table, given, when))
                least = min(least, float(np.median(spans_of(when.get()))))
            cycles = round(least / (_BLOCKS / chip.multiprocessors * _EACH[way]), 2)
            rows.append({"way": way, "rows": count, "share": share, "cycles": cycles})
    return rows
