"""Whose turn it is: when each warp of a sub-partition ends that all begin together.

Warps of one block do the same, and nothing but the scheduler and the queues tells them apart: where
it prefers some, they end early; where all take turns, they end together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_turns", "turns_source"]

_WARPS, _TURNS = 32, 64
_SOURCE = """
extern "C" __global__ void turns(long long* when, float* sink, const float* zeros) {{
    extern __shared__ float s[];
    float v[8], b = zeros[threadIdx.x & 31];
    s[threadIdx.x] = b;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * (threadIdx.x & 31);
    for (int k = 0; k < 8; ++k) v[k] = b;
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < {turns}; ++turn) {{
        {body}
    }}
    const long long end = clock64();
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += v[k];
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {{
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }}
}}
"""
_FMA = 'asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(v[K]) : "f"(b));'
_LDS = 'asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(v[K]) : "r"(at));'
_BODIES = {
    "additions": [_FMA] * 64,
    "additions one by one": [_FMA.replace("K", "0")] * 64,
    "shared loads": [_LDS] * 16,
    "loads, then additions": [_LDS] * 8 + [_FMA] * 32,
}


def turns_source(loop: str) -> str:
    """Return CUDA source of a loop, `turns`, by its name in the table."""
    parts = enumerate(_BODIES[loop])
    body = "\n        ".join(part.replace("K", str(k % 8)) for k, part in parts)
    return _SOURCE.format(turns=_TURNS, body=body)


def measure_turns(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per loop: the cycle in which each warp of a sub-partition ends."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        zeros, sink = cupy.zeros(64, dtype=np.float32), cupy.zeros(1, dtype=np.float32)
        when = cupy.zeros(2 * _WARPS, dtype=np.int64)
        for name in _BODIES:
            kernel = cupy.RawModule(code=turns_source(name)).get_function("turns")
            for _ in range(3):
                kernel((1,), (32 * _WARPS,), (when, sink, zeros), shared_mem=4096)
            times = when.get().reshape(-1, 2)
            ends = times[::4, 1] - times[:, 0].min()
            rows.append({"loop": name} | {f"warp_{4 * k}": int(e) for k, e in enumerate(ends)})
    return rows
