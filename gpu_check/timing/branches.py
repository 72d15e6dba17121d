"""What a branch costs: taken by a warp, not taken, or taken by some of its lanes.

A loop holds branches around a few additions that depend on each other; so many lanes execute these.
With none the branch is taken; with all 32 it is not; with some the warp diverges, and meets again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.loop_ends import least_cycles

__all__ = ["branches_source", "measure_branches", "timed_loop"]

_TURNS, _EACH, _ADDS = 32, 8, 8
_SOURCE = """
extern "C" __global__ void {name}(long long* when, float* sink, const float* zeros,{given}) {{
    float v = zeros[threadIdx.x & 31], b = zeros[1];
    const int lane = threadIdx.x & 31;
{begin}    long long start = 0;
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


def timed_loop(name: str, given: str, begin: str, body: list[str]) -> str:
    """Return CUDA source of a loop in which each warp notes when its turns begin and end.

    `given`: further parameters, the last one of them `turns`; `begin`: what is done before.
    """
    text = "\n        ".join(body)
    return _SOURCE.format(name=name, given=given, begin=begin, body=text)


def branches_source() -> str:
    """Return CUDA source of a loop of branches: what they skip has barriers, so it stays there."""
    adds = " ".join("add.rn.f32 %0, %0, %1;" for _ in range(_ADDS))
    # A warp barrier of the lanes that are there cannot be predicated away.
    one = (
        "if (lane < (turn & 0x40000000 ? {k} : lanes)) {{"
        ' asm volatile("{adds}" : "+f"(v) : "f"(b)); __syncwarp(__activemask()); }}'
    )
    given = " int lanes,\n                                    int turns"
    body = [one.format(k=k, adds=adds) for k in range(_EACH)]
    return timed_loop("branches", given, "", body)


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
                given = (when, sink, zeros, np.int32(lanes), np.int32(_TURNS))
                least = least_cycles(kernel, given, when, warps)
                rows.append(
                    {"lanes": lanes, "warps": warps,
                     "cycles": round(least / (_TURNS * _EACH * warps), 3)}
                )  # fmt: skip
    return rows
