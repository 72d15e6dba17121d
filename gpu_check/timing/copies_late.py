"""How two blocks of an SM come to wait for each other that copy tiles and read with conflicts.

They do as those of `copies_beside`, and the second one begins `late` products of integers later,
each of which waits for the one before. Of the SMs' turns, once they have settled: `tenth`, `median`
and `ninetieth`, cycles, of those of 100 SMs so many. SMs go in step, or one block reads while the
other waits for its tile, or anything between.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.timing.bulk import loaded
from gpu_check.timing.copies_beside import ROOMS, copies_beside_source, spans_of

__all__ = ["CASES", "copies_late_source", "measure_copies_late"]

_BEGIN = "    __syncthreads();\n"
"""Before a block's turns."""
_LATE = """    unsigned chain = t;
    if (blockIdx.x >= gridDim.x / 2) {
        #pragma unroll 1
        for (int k = 0; k < late; ++k) chain = chain * 1664525u + 1013904223u;
        if (chain == 12345) *sink = chain;
    }
"""
_FEW, _MANY, _BLOCKS = 60, 160, 2
CASES = [*product(("copies", "loads"), (4, 8), range(0, 101, 10))]
"""What brings tiles, ways, how late."""


def copies_late_source(brings: str, ways: int, name: str = "beside") -> str:
    """Return CUDA source of a kernel."""
    source = copies_beside_source(brings, ways, name).replace("int turns)", "int turns, int late)")
    return source.replace(_BEGIN, _LATE + _BEGIN, 1)


def measure_copies_late(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    kinds = dict.fromkeys(case[:2] for case in CASES)
    source = "".join(copies_late_source(*kind, "_".join(map(str, kind))) for kind in kinds)
    rows = []
    with loaded(source, device) as (module, sms, data, _):
        import cupy

        blocks = sms * _BLOCKS
        when = cupy.zeros((blocks, 3), dtype=np.int64)
        sink = cupy.zeros(1, dtype=np.uint32)
        for brings, ways, late in CASES:
            kernel = module.get_function(f"{brings}_{ways}")
            kernel.max_dynamic_shared_size_bytes = ROOMS[_BLOCKS]
            took = {}
            for turns in (_FEW, _MANY):
                spans = []
                for _ in range(3):
                    kernel(
                        (blocks,), (128,), (data, when, sink, np.int32(turns), np.int32(late)),
                        shared_mem=ROOMS[_BLOCKS],
                    )  # fmt: skip
                    spans.append(spans_of(when.get()))
                took[turns] = min(spans, key=np.median)
            tenth, median, ninetieth = np.percentile(
                (took[_MANY] - took[_FEW]) / (_MANY - _FEW), (10, 50, 90)
            ).round()
            rows.append(
                {"brings": brings, "ways": ways, "late": late, "tenth": int(tenth),
                 "median": int(median), "ninetieth": int(ninetieth)}
            )  # fmt: skip
    return rows
