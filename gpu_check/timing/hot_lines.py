"""How fast copies of 16 bytes per lane come of a few lines that all SMs ask for.

Each of 28 warps of an SM copies twelve times 512 bytes. All SMs copy the same `lines` of 128 bytes,
each from other ones on (0: each its own). Rows lie in shared memory as the shapes of
`gpu_check.timing.copying` say. SMs begin together, or within so many cycles (`spread`). `ended`:
when an SM's last warp has its data, in cycles from its begin, mean of the SMs; the median of five.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.copying import BYTES, SHARED, shape_source

__all__ = ["measure_hot_lines"]

_WARPS, _REPEATS = 28, 5
_DATA = 32 << 20
"""Bytes: the L2 has them."""
_LINES = (0, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1344)
_APART = 29
"""Copies between where an SM begins and the next one."""
_SOURCE = """\
    const int all = copies ? copies : warps * {copies};
    const char* from = data + (copies ? 0 : blockIdx.x * (size_t)all * {of})
        + 16 * lane / {row} * 128 + 16 * lane % {row};
    int at = (warp * {copies} + blockIdx.x * {apart}) % all;
    __syncthreads();
    const long long first = clock64(), late = blockIdx.x * 37ll % gridDim.x * spread / gridDim.x;
    while (clock64() - first < late) ;
    __syncthreads();
    const long long begun = clock64();
    #pragma unroll
    for (int k = 0; k < {copies}; ++k) {{
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
            :: "r"(to + k * {to}), "l"(from + at * {of}) : "memory");
        at = at + 1 == all ? 0 : at + 1;
    }}
    asm volatile("cp.async.wait_all;" ::: "memory");
    const long long ended = clock64();
    if (lane == 0) when[blockIdx.x * warps + warp] = ended - begun;
}}
"""


def _source(shape: str) -> str:
    """Return CUDA source of a kernel whose warps copy rows of a shape."""
    return shape_source(shape, "hot_lines", "int copies, int spread", _SOURCE, apart=_APART)


def measure_hot_lines(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per shape, SMs that work, lines that they copy, and cycles of their begins."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_DATA, dtype=np.uint8)
        for shape in ("whole", "padded", "moved"):
            kernel = cupy.RawModule(code=_source(shape)).get_function("hot_lines")
            kernel.max_dynamic_shared_size_bytes = SHARED
            each = BYTES // 128
            for count, lines, spread in product((sms // 4, sms // 2, sms), _LINES, (0, 4000)):
                found = []
                for _ in range(_REPEATS):
                    when = cupy.zeros((count, _WARPS), dtype=np.int64)
                    args = (data, when, np.int32(lines // each), np.int32(spread))
                    kernel((count,), (32 * _WARPS,), args, shared_mem=SHARED)
                    found.append(float(when.get().max(axis=1).mean()))
                rows.append(
                    {"shape": shape, "sms": count, "lines": lines, "spread": spread,
                     "ended": round(float(np.median(found)))}
                )  # fmt: skip
    return rows
