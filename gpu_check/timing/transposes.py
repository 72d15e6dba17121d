"""Time transposes of matrices that are too large to count: by events, in milliseconds.

Others published 7.02 ms with bank conflicts and 4.51 ms without, for 32768 x 32768 floats on an
H100; their kernel was another one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_transposes"]

_CUBIN = Path(__file__).parents[2] / "tests/silicon/sass/cubins/transpose.cubin"
_SIZES = (8192, 32768)
_ROUNDS = 5


def measure_transposes(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel and size: the median of several launches, after a first one."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=str(_CUBIN))
        for size in _SIZES:
            one, other = (cupy.zeros((size, size), np.float32) for _ in range(2))
            for how in ("naive", "padded", "swizzled"):
                kernel, times = module.get_function(f"transpose_{how}"), []
                for _ in range(1 + _ROUNDS):
                    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                    begin.record()
                    kernel((size // 32, size // 32), (32, 8), (one, other, np.int32(size)))
                    end.record()
                    end.synchronize()
                    times.append(float(cupy.cuda.get_elapsed_time(begin, end)))
                median = float(np.median(times[1:]))
                rows.append({"kernel": how, "size": size, "milliseconds": round(median, 4)})
            del one, other
            cupy.get_default_memory_pool().free_all_blocks()
    return rows
