"""Atomics in global memory by the lines, sectors and words that a warp's lanes change.

Cycles of an SM per instruction of a warp, of lines anywhere in so many words: by one SM and by all,
and beside loads that L1 does not keep, or stores.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["PATTERNS", "atomic_lines_source", "measure_atomic_lines", "measure_atomics_beside"]

_TURNS, _EACH = 16, 8
PATTERNS = (
    *((32 // (sectors * words), sectors, words) for sectors in (1, 2, 4) for words in (1, 2, 4, 8)),
    (1, 1, 1), (4, 1, 1), (16, 1, 1), (1, 4, 1), (1, 1, 8), (1, 2, 4), (2, 4, 1), (4, 2, 2),
)  # fmt: skip
"""Lines, sectors of each, words of each sector: a lane a word, and others take no part."""
_SPANS = (1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 22)
"""Words among which lines lie."""
_ADD = {
    "red": ("red.global.add.u32 [%1], %2;", '"r"(1)', 1),
    "red_float": ("red.global.add.f32 [%1], %2;", '"f"(1.0f)', 1),
    "red_double": ("red.global.add.f64 [%1], %2;", '"d"(1.0)', 2),
    "red_least": ("red.global.min.u32 [%1], %2;", '"r"(1)', 1),
    "atom": ("{ .reg .u32 t; atom.global.add.u32 t, [%1], %2; add.u32 %0, %0, t; }", '"r"(1)', 1),
    "atom_swap": ("{ .reg .u32 t; atom.global.cas.b32 t, [%1], %2, 7; add.u32 %0, %0, t; }",
                  '"r"(1)', 1),
}  # fmt: skip
"""Of each atomic: its assembly, of a sum, an address and what is added; what that is, and the words
that a lane changes."""
_LOAD = (
    'asm volatile("{{ .reg .u32 t; ld.global.cg.u32 t, [%1]; add.u32 %0, %0, t; }}"'
    ' : "+r"(sum) : "l"({}) : "memory");'
)
_BESIDE = {
    "nothing": "",
    "load of a line": _LOAD.format("others + (y * 32 & most) + lane"),
    "load of words": _LOAD.format("others + (y * 32 + lane * 0x9E3779B1 & most)"),
    "store of a line": "others[(y * 32 & most) + lane] = y;",
    "store of words": "others[y * 32 + lane * 0x9E3779B1 & most] = y;",
}
"""What a warp does after each atomic, in memory of its own: `y` is a number that is drawn."""
_ASIDE = tuple(_BESIDE)
_MIXED = ((32, 1, 1), (16, 1, 2), (4, 1, 8), (8, 2, 2), (1, 4, 8))
"""Those of PATTERNS that are measured beside others."""


def atomic_lines_source() -> str:
    """Return CUDA source of a kernel per atomic."""
    kernels = []
    for (name, (text, value, size)), (aside, beside) in product(_ADD.items(), _BESIDE.items()):
        kernels.append(f"""
extern "C" __global__ void {name}_{_ASIDE.index(aside)}(
    unsigned* data, unsigned* others, unsigned words, int lines, int sectors, int each,
    long long* when, unsigned* sink) {{
    [[maybe_unused]] const unsigned most = {_SPANS[-1] - 1};
    const unsigned lane = threadIdx.x & 31;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const unsigned in_line = sectors * each, line = lane / in_line;
    const unsigned of = lane % in_line;
    const unsigned place = of / each * 8 + of % each * {size};
    unsigned sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < {_TURNS}; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        #pragma unroll
        for (int at = 0; at < {_EACH}; ++at) {{
            unsigned x = (warp + (turn * {_EACH} + at) * 4224) * 32 + line;
            x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16;
            if (line < lines)
                asm volatile("{text}" : "+r"(sum)
                             : "l"(data + ((x * 32 & words - 1) + place)), {value} : "memory");
            [[maybe_unused]] const unsigned one = warp + (turn * {_EACH} + at) * 4224;
            [[maybe_unused]] const unsigned y = one * 2654435761u >> 7;
            {beside}
        }}
    }}
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 0xffffffff) *sink = sum;
}}""")
    return "\n".join(kernels)


def measure_atomic_lines(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per atomic, pattern, span and SMs: cycles of an SM per warp's instruction."""
    rows = _measure(list(product(_ADD, PATTERNS, _SPANS, ("nothing",))), device)
    return [{key: row[key] for key in row if key != "beside"} for row in rows]


def measure_atomics_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per atomic, pattern, other access and SMs, as `measure_atomic_lines`."""
    mixes = product(("red", "red_float", "atom"), _MIXED, _SPANS[-1:], _BESIDE)
    return _measure(list(mixes), device)


def _measure(
    each: list[tuple[str, tuple[int, int, int], int, str]], device: int
) -> list[dict[str, Any]]:
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "lines.cubin")
        path.write_bytes(compiled(atomic_lines_source(), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data, others = (cupy.zeros(_SPANS[-1] + 64, dtype=np.uint32) for _ in range(2))
        sink = cupy.zeros(1, dtype=np.uint32)
        for (name, (lines, sectors, words), span, beside), sms in product(
            each, (1, chip.multiprocessors)
        ):
            if _ADD[name][2] * words > 8:
                continue
            row: dict[str, Any] = {
                "atomic": name, "lines": lines, "sectors": sectors, "words": words, "span": span,
                "beside": beside, "sms": sms,
            }  # fmt: skip
            for warps in (1, 8, 32):
                when = cupy.zeros(sms, dtype=np.int64)
                least = float("inf")
                for _ in range(3):
                    module.get_function(f"{name}_{_ASIDE.index(beside)}")(
                        (sms,), (32 * warps,),
                        (data, others, np.uint32(span), np.int32(lines), np.int32(sectors),
                         np.int32(words), when, sink),
                    )  # fmt: skip
                    least = min(least, float(np.median(when.get())))
                row[f"warps_{warps}"] = round(least / (_TURNS * _EACH * warps), 2)
            rows.append(row)
    return rows
