"""What loads of global memory take in L1, by where their lanes read: any rows, and gathers.

The loop is that of `paths`: all that it reads is in L1. One thing is varied at a time: where a row
begins; how many rows the lanes read, and where; how far lanes are apart. Of lines whose words lie
in banks of their own, it is how far the lines are apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.paths import access_source, least_cycles

__all__ = ["gather_patterns", "measure_gathers"]

_WIDTHS = (4, 8, 16)
_SPANS = (128, 256, 512, 1024, 2048, 4096, 16384)
_DRAWS = 3
_STEPS = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 24, 31, 33)


def gather_patterns() -> list[tuple[int, str, list[int]]]:
    """Return (bytes per lane, name, offsets of 32 lanes) of the patterns that are timed.

    >>> patterns = gather_patterns()
    >>> patterns[1][:2], patterns[1][2][:3]
    ((4, 'row from 4'), [4, 8, 12])
    """
    found = []
    rng = np.random.default_rng(17)
    lane = np.arange(32)
    for width in _WIDTHS:
        found += [
            (width, f"row from {begin}", width * lane + begin) for begin in range(0, 128, width)
        ]
        for rows in (2, 4, 8, 16):
            share = 32 // rows
            for draw in range(_DRAWS):
                begins = rng.integers(0, 8192 // width, rows) * width
                offsets = begins[lane // share] + lane % share * width
                found.append((width, f"{rows} rows, draw {draw}", offsets))
        found += [(width, f"every {step}", width * step * lane) for step in _STEPS]
        for span in _SPANS:
            for draw in range(_DRAWS):
                offsets = rng.integers(0, span // width, 32) * width
                found.append((width, f"gather of {span}, draw {draw}", offsets))
        each = 128 // width
        for lines in (4, 8, 16, 32):
            share = 32 // lines
            for apart in (1, 2, 3, 4, 8, 16):
                # Words of a line are side by side, and in the next line behind those of this one.
                place = (lane // share * share + lane % share) % each * width
                found.append(
                    (width, f"{lines} lines, {apart} apart", lane // share * 128 * apart + place)
                )
    return [(width, name, [int(each) for each in offsets]) for width, name, offsets in found]


def measure_gathers(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern: its offsets, and cycles of an SM per load with 8 and 32 warps."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(1 << 17, dtype=np.uint8)
        sink, when = cupy.zeros(4, dtype=np.uint32), cupy.zeros(64, dtype=np.int64)
        kernels = {
            width: cupy.RawModule(code=access_source("load", width)).get_function("access")
            for width in _WIDTHS
        }
        for width, pattern, offsets in gather_patterns():
            table = cupy.asarray(np.array(offsets, dtype=np.int32))
            row: dict[str, Any] = {"width": width, "pattern": pattern}
            for warps in (8, 32):
                arguments = (data, table, when, sink)
                row[f"warps_{warps}"] = least_cycles(kernels[width], warps, arguments)
            rows.append(row | {"offsets": " ".join(map(str, offsets))})
    return rows
