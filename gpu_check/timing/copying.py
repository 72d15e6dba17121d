"""How fast copies of 16 bytes per lane go from the L2 to shared memory, by how rows lie there.

Each warp copies twelve times 512 bytes, and waits for them. `shape`: rows of so many bytes, which
lie side by side in shared memory (`whole`), `padded` by 16 bytes, or all `moved` by 16. Rows
shorter than a line of 128 bytes lie a line apart in global memory. `same`: how many SMs copy the
same; each other copy, where two numbers stand. `issued`, `ended`: when an SM's last warp has issued
its last copy, and has its data, mean of the SMs, in cycles from the begin; the median of five.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["BYTES", "COPIES", "SHAPES", "SHARED", "measure_copying", "shape_source"]

COPIES, BYTES, SHARED = 12, 512, 225_000
"""Copies of a warp, bytes of each, and of a block's shared memory."""
_REPEATS = 5
_DATA = 24 << 20
"""Bytes: the L2 has them, and no SM's are another one's."""
SHAPES = {
    "whole": (128, 128, 0), "padded": (128, 144, 0), "moved": (128, 128, 16),
    "whole 64": (64, 64, 0), "padded 64": (64, 80, 0), "whole 32": (32, 32, 0),
    "whole 16": (16, 16, 0),
}  # fmt: skip
"""Bytes of a row, how far rows lie from each other in shared memory, and where the first begins."""
_WARPS = (1, 2, 4, 8, 16, 28)
_HEAD = """
extern "C" __global__ void __launch_bounds__(1024) {name}(
    const char* data, long long* when, {given}) {{
    extern __shared__ __align__(128) char held[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned to = (unsigned)__cvta_generic_to_shared(held) + warp * {copies} * {to}
        + 16 * lane / {row} * {pitch} + 16 * lane % {row} + {begins};
"""
_SOURCE = """\
    const size_t own = 16 * lane / {row} * 128 + 16 * lane % {row};
    const char* from = data + ((blockIdx.x / same) * warps + warp) * (size_t){all} % {data} + own;
    const char* next = data + ((blockIdx.x / other) * warps + warp) * (size_t){all} % {data} + own;
    __syncthreads();
    const long long begun = clock64();
    {body}
    const long long issued = clock64();
    asm volatile("cp.async.wait_all;" ::: "memory");
    const long long ended = clock64();
    if (lane == 0) {{
        when[2 * (blockIdx.x * warps + warp)] = issued - begun;
        when[2 * (blockIdx.x * warps + warp) + 1] = ended - begun;
    }}
}}
"""


def shape_source(shape: str, name: str, given: str, text: str, **more: object) -> str:
    """Return CUDA source of a kernel whose warps copy rows of a shape, `to` in shared memory.

    `given`: further parameters; `text`: what it does, in which names of a shape and of `more`
    stand.
    """
    row, pitch, begins = SHAPES[shape]
    lines = BYTES // row
    return (_HEAD + text).format(
        name=name, given=given, copies=COPIES, to=lines * pitch, row=row, pitch=pitch,
        begins=begins, of=lines * 128, **more,
    )  # fmt: skip


def _source(shape: str) -> str:
    """Return CUDA source of a kernel whose warps copy rows of a shape."""
    row, pitch, _ = SHAPES[shape]
    lines = BYTES // row
    body = "\n    ".join(
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"'
        f' :: "r"(to + {k * lines * pitch}), "l"({("from", "next")[k % 2]} + {k * lines * 128})'
        ' : "memory");'
        for k in range(COPIES)
    )
    return shape_source(
        shape, "copying", "int same, int other", _SOURCE, all=COPIES * lines * 128, data=_DATA,
        body=body,
    )  # fmt: skip


def _measured(kernel: Any, data: Any, sms: int, warps: int, same: tuple[int, int]) -> list[int]:
    """Return when the last copy of the SMs was issued, and when the last one's data were there."""
    import cupy

    found: list[NDArray[np.float64]] = []
    for _ in range(_REPEATS):
        when = cupy.zeros((sms, warps, 2), dtype=np.int64)
        args = (data, when, *map(np.int32, same))
        kernel((sms,), (32 * warps,), args, shared_mem=SHARED)
        found.append(when.get().max(axis=1).mean(axis=0))
    return [round(each) for each in np.median(found, axis=0).tolist()]


def measure_copying(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per shape, SMs that work, SMs that copy the same, and warps of each."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_DATA + (4 << 20), dtype=np.uint8)
        for shape in SHAPES:
            kernel = cupy.RawModule(code=_source(shape)).get_function("copying")
            kernel.max_dynamic_shared_size_bytes = SHARED
            sharings = [(1, (1, 1)), *((sms, same) for same in ((1, 1), (sms, sms), (1, sms)))]
            if shape == "padded":
                sharings += [(count, (count, count)) for count in (8, 33, 66)]
            for (count, same), warps in product(sharings, _WARPS):
                issued, ended = _measured(kernel, data, count, warps, same)
                rows.append(
                    {"shape": shape, "sms": count, "same": " ".join(map(str, sorted(set(same)))),
                     "warps": warps, "issued": issued, "ended": ended}
                )  # fmt: skip
    return rows
