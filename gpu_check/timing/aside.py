"""How many instructions wait before a pipe that is slow: cycles until a warp has issued a number.

Warps of one block issue an instruction `count` times in a row, each of a word of its own. `issued`:
cycles from before the first one until the warp may go on, `done`: until all results are there, of
the slowest of `warps`. While there is room, one more takes as long as it takes to be issued;
without room as long as the pipe takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["COUNTS", "TEXTS", "aside_source", "measure_aside"]

_SOURCE = """
__constant__ int table[64];
extern "C" __global__ void aside(const int* data, int* when, int* sink, int never, int mask) {{
    __shared__ int s[32 * {count}];
    const int lane = threadIdx.x & 31;
    for (int i = 0; i < {count}; ++i) s[32 * i + lane] = data[32 * i + lane];
    int sum = 0;
    #pragma unroll 1
    for (int turn = 0; turn < 3; ++turn) {{  // the last has its instructions in the cache
        __syncthreads();
        int x[{count}], v[{count}], all = -1;
        #pragma unroll
        for (int i = 0; i < {count}; ++i)
            x[i] = ((volatile int*)s)[32 * i + lane], all &= x[i] == never ? -1 : 0;
        if (all) sink[1] = 1;  // all words have come
        const int start = (int)clock(), zero = start & mask;
        #pragma unroll
        for (int i = 0; i < {count}; ++i) {{
            x[i] ^= zero;
            {text}
        }}
        __syncwarp();
        const int issued = (int)clock();
        if (issued == never) sink[lane] = turn;
        #pragma unroll
        for (int i = 0; i < {count}; ++i) sum ^= v[i];
        if (sum == never) sink[lane] = turn;
        const int end = (int)clock();
        if (lane == 0) {{
            when[2 * (threadIdx.x >> 5)] = issued - start;
            when[2 * (threadIdx.x >> 5) + 1] = end - start;
        }}
    }}
    if (sum == 12345) *sink = sum;
}}
"""
_FLOAT = (
    'asm volatile("{{ .reg .f32 f; mov.b32 f, %1; {op} f, f; mov.b32 %0, f; }}"'
    ' : "=r"(v[i]) : "r"(x[i]));'
)
TEXTS = {
    "MUFU.EX2": _FLOAT.format(op="ex2.approx.ftz.f32"),
    "MUFU.RCP": _FLOAT.format(op="rcp.approx.ftz.f32"),
    "F2I": (
        'asm volatile("{ .reg .f32 f; mov.b32 f, %1; cvt.rni.s32.f32 %0, f; }"'
        ' : "=r"(v[i]) : "r"(x[i]));'
    ),
    "POPC": 'asm volatile("popc.b32 %0, %1;" : "=r"(v[i]) : "r"(x[i]));',
    "FLO": 'asm volatile("bfind.u32 %0, %1;" : "=r"(v[i]) : "r"(x[i]));',
    "SHFL": ('asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(v[i]) : "r"(x[i]));'),
    "LDC": (
        'asm volatile("ld.const.b32 %0, [%1];"'
        ' : "=r"(v[i]) : "l"(__cvta_generic_to_constant(table) + (x[i] & 4)));'
    ),
    "REDUX": 'asm volatile("redux.sync.add.s32 %0, %1, -1;" : "=r"(v[i]) : "r"(x[i]));',
    "MATCH": 'asm volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(v[i]) : "r"(x[i]));',
}
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24)
_WARPS = (1, 4, 8, 16)


def aside_source(name: str, count: int) -> str:
    """Return CUDA source that issues `count` instructions one after the other."""
    return _SOURCE.format(text=TEXTS[name], count=count)


def measure_aside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per instruction, number of them and warps of the block."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data, sink = cupy.zeros(1024, dtype=np.int32), cupy.zeros(64, dtype=np.int32)
        when = cupy.zeros(64, dtype=np.int32)
        for name in TEXTS:
            for count in COUNTS:
                kernel = cupy.RawModule(code=aside_source(name, count)).get_function("aside")
                for warps in _WARPS:
                    given = (data, when, sink, np.int32(12345678), np.int32(0))
                    for _ in range(2):
                        kernel((1,), (32 * warps,), given)
                    times = when.get()[: 2 * warps].reshape(-1, 2).max(axis=0).tolist()
                    rows.append(
                        {"op": name, "count": count, "warps": warps,
                         "issued": times[0], "done": times[1]}
                    )  # fmt: skip
    return rows
