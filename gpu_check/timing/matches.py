"""What a warp's search for lanes of one value costs, by how many values its lanes have.

A loop of 16 MATCH.ANY, each behind the one before it. `values`: that the lanes have; `warps`: of
the one block. `cycles`: of an SM per instruction; of one warp they are its latency.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["matches_source", "measure_matches"]

_TURNS, _COPIES = 32, 16
_VALUES, _WARPS = (1, 2, 3, 4, 8, 16, 24, 31, 32), (1, 4, 8, 32)
_SOURCE = """
extern "C" __global__ void matches(int* when, int* sink, int values, int mask, int turns) {{
    int own = (threadIdx.x & 31) % values, start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = (int)clock(); }}
        {body}
    }}
    __syncthreads();
    if (threadIdx.x == 0) *when = (int)clock() - start;
    if (own == 12345) *sink = own;
}}
"""


def matches_source() -> str:
    """Return CUDA source of the loop."""
    return _SOURCE.format(body="own ^= __match_any_sync(~0u, own) & mask;\n        " * _COPIES)


def measure_matches(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per number of values and of warps."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=matches_source()).get_function("matches")
        when, sink = cupy.zeros(1, dtype=np.int32), cupy.zeros(1, dtype=np.int32)
        for values, warps in product(_VALUES, _WARPS):
            given = (when, sink, np.int32(values), np.int32(0), np.int32(_TURNS))
            for _ in range(2):
                kernel((1,), (32 * warps,), given)
            each = int(when.get()[0]) / (_TURNS * _COPIES * warps)
            rows.append({"values": values, "warps": warps, "cycles": round(each, 3)})
    return rows
