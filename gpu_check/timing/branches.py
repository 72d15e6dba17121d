"""What a branch costs: taken by a warp, not taken, or taken by some of its lanes.

A loop holds branches around a few additions that depend on each other; so many lanes execute these.
With none the branch is taken; with all 32 it is not; with some the warp diverges, and meets again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["branches_source", "measure_branches"]

_TURNS, _EACH, _ADDS = 32, 8, 8
_SOURCE = """
extern "C" __global__ void branches(long long* when, float* sink, const float* zeros, int lanes,
                                    int turns) {{
    float v = zeros[threadIdx.x & 31], b = zeros[1];
    const int lane = threadIdx.x & 31;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
    }}
    const long long end = clock64();
    if (v == 12345) *sink = v;
    if (lane == 0) {{
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }}
}}
"""


def branches_source() -> str:
    """Return CUDA source of a loop of branches: what they skip has barriers, so it stays there."""
    adds = " ".join("add.rn.f32 %0, %0, %1;" for _ in range(_ADDS))
    # A warp barrier of the lanes that are there cannot be predicated away.
    one = (
        "if (lane < (turn & 0x40000000 ? {k} : lanes)) {{"
        ' asm volatile("{adds}" : "+f"(v) : "f"(b)); __syncwarp(__activemask()); }}'
    )
    return _SOURCE.format(body="\n        ".join(one.format(k=k, adds=adds) for k in range(_EACH)))


def measure_branches(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per number of lanes and of warps: cycles of the SM per branch and warp."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=branches_source()).get_function("branches")
        zeros, sink = cupy.zeros(32, dtype=np.float32), cupy.zeros(1, dtype=np.float32)
        when = cupy.zeros(64, dtype=np.int64)
        for lanes in (0, 1, 16, 31, 32):
            for warps in (1, 4, 8, 16, 32):
                least = float("inf")
                for _ in range(3):
                    kernel(
                        (1,), (32 * warps,),
                        (when, sink, zeros, np.int32(lanes), np.int32(_TURNS)),
                    )  # fmt: skip
                    times = when.get()[: 2 * warps]
                    least = min(least, float(times[1::2].max() - times[::2].min()))
                rows.append(
                    {"lanes": lanes, "warps": warps,
                     "cycles": round(least / (_TURNS * _EACH * warps), 3)}
                )  # fmt: skip
    return rows
