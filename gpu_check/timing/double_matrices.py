"""How products of matrices of doubles (DMMA) and DMULs go beside each other, of one sub-partition.

A turn has so many DMMAs of 8 by 8 by 4 (`matrices`) and DMULs (`products`), none of which waits for
another one. `warps_N`: cycles of a turn, with N warps, for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["MIXES", "measure_double_matrices"]

MIXES = ((1, 0), (0, 1), (1, 1), (1, 2), (1, 4), (1, 8), (2, 1))
_TURNS, _UNROLLED, _REPEATS = 50, 8, 4
_SOURCE = """
template <int MATRICES, int PRODUCTS> __device__ void turns(
    double* data, long long* when, int times) {{
    double c[16], x[8], a = data[24], b = data[25];
    for (int i = 0; i < 16; ++i) c[i] = data[i];
    for (int i = 0; i < 8; ++i) x[i] = data[16 + i];
    __syncthreads();
    const long long begun = clock64();
    for (int k = 0; k < times; ++k) {{
        #pragma unroll
        for (int turn = 0; turn < {unrolled}; ++turn) {{
            #pragma unroll
            for (int i = 0; i < MATRICES; ++i) {{
                const int to = (turn * MATRICES + i) % 8 * 2;
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%0, %1}}, {{%2}},"
                    " {{%3}}, {{%0, %1}};" : "+d"(c[to]), "+d"(c[to + 1]) : "d"(a), "d"(b));
            }}
            #pragma unroll
            for (int i = 0; i < PRODUCTS; ++i)
                asm volatile("mul.rn.f64 %0, %0, %1;"
                    : "+d"(x[(turn * PRODUCTS + i) % 8]) : "d"(b));
        }}
    }}
    const long long ended = clock64();
    double sum = 0;
    for (int i = 0; i < 16; ++i) sum += c[i];
    for (int i = 0; i < 8; ++i) sum += x[i];
    data[32 + threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) {{
        when[threadIdx.x / 16] = begun;
        when[threadIdx.x / 16 + 1] = ended;
    }}
}}
"""
_KERNEL = """
extern "C" __global__ void turns_{0}_{1}(double* data, long long* when, int times) {{
    turns<{0}, {1}>(data, when, times);
}}
"""


def measure_double_matrices(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per mix."""
    open_gpu(device)
    import cupy

    source = _SOURCE.format(unrolled=_UNROLLED) + "".join(_KERNEL.format(*mix) for mix in MIXES)
    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=source)
        for mix in MIXES:
            kernel = module.get_function("turns_{}_{}".format(*mix))
            row: dict[str, Any] = dict(zip(("matrices", "products"), mix, strict=True))
            for warps in (4, 8, 16):
                least = float("inf")
                for _ in range(_REPEATS):
                    data = cupy.ones(32 + 32 * warps, dtype=np.float64)
                    when = cupy.zeros((warps, 2), dtype=np.int64)
                    kernel((1,), (32 * warps,), (data, when, np.int32(_TURNS)))
                    begun, ended = when.get().T
                    least = min(least, float(ended.max() - begun.min()))
                each = least / (_TURNS * _UNROLLED * (warps // 4))
                row[f"warps_{warps // 4}"] = round(each, 2)
            rows.append(row)
    return rows
