"""What DRAM moves where a kernel changes an array in place, and where it copies half of it.

Blocks of 256 threads change `pieces` vectors of 16 bytes each (`place`), or copy them (`copy`);
`mebibytes` are touched in all. Of what is read and of what is written, `read` and `written` are the
shares that DRAM moves. `cycles` are medians of three processes; all launches are second ones.
`python -m gpu_check.timing.in_place` is the process that ncu watches; no launch is repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from gpu_check.timing.watching import second_launches

__all__ = ["in_place_source", "measure_in_place"]

_KERNEL = """
extern "C" __global__ void in_place_{way}(const float4* from, float4* to, int pieces) {{
    const size_t at = (size_t)blockIdx.x * 256 * pieces + threadIdx.x;
    for (int k = 0; k < pieces; ++k) {{
        float4 v = {source}[at + k * 256];
        v.x += 1, v.y += 1, v.z += 1, v.w += 1;
        to[at + k * 256] = v;
    }}
}}
"""
_ARRAYS = {"place": 1, "copy": 2}
_CASES = [*product(_ARRAYS, (16, 20, 24, 28, 32, 36, 40, 48), (2, 8))]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]


def in_place_source() -> str:
    """Return CUDA source of both kernels."""
    return "".join(_KERNEL.format(way=way, source="to" if way == "place" else "from")
                   for way in _ARRAYS)  # fmt: skip


def measure_in_place(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, size and pieces.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.in_place", in_place_source(), "regex:^in_place_", device
    ) as launches:
        bytes_, times = launches.timed(_BYTES), launches.timed(["sm__cycles_elapsed.max"])
    rows = []
    for place, (way, size, pieces) in enumerate(_CASES):
        each = (size << 20) / _ARRAYS[way]
        read, written = (median(run[place][at] for run in bytes_) / each for at in (0, 1))
        rows.append(
            {"way": way, "mebibytes": size, "pieces": pieces, "read": round(read, 3),
             "written": round(written, 3), "cycles": median(run[place][0] for run in times)}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        for way, size, pieces in _CASES:
            floats = (size << 20) // (4 * _ARRAYS[way])
            data = [cupy.zeros(floats, dtype=np.float32) for _ in range(_ARRAYS[way])]
            for _ in range(2):
                module.get_function(f"in_place_{way}")(
                    (floats // (4 * 256 * pieces),), (256,), (data[0], data[-1], np.int32(pieces))
                )
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
