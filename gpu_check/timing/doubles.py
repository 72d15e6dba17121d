"""How often instructions of doubles are issued: alone, beside others, in chains and in loops.

A turn of a loop has some copies of a pattern. `alone`: eight chains of one instruction. `beside`:
each with some 32-bit instructions in the same warp. `apart`: half of the warps of each
sub-partition issue doubles, the others something else, as often. `chain`: each waits for the one
before it, so that warps take turns, and none finds operands that were kept. `loop`: iterations of
fractals and sums, which a comparison or a counter ends. `warps_N`: cycles of a sub-partition per
pattern of a warp, where a block of N warps runs alone on its SM.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.loop_ends import least_cycles

__all__ = ["DOUBLES", "Body", "doubles_source", "measure_doubles"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) {name}(const double* data, double* sink,
                                                          int* when, int turns) {{
    __shared__ int s[256];
    s[threadIdx.x & 255] = 0;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * (threadIdx.x & 31);
    const float* of = (const float*)data;
    const int* oi = (const int*)data;
    const int lane = threadIdx.x & 31;
    double d[8], db = data[9], dc = data[10];
    float f[8], fb = of[60], fc = of[61];
    int i[8], ib = oi[62], ic = oi[63];
    for (int k = 0; k < 8; ++k) d[k] = data[k + lane], f[k] = of[k + lane], i[k] = oi[k + lane];
    __syncthreads();
    const int start = (int)clock();
    {text}
    const int end = (int)clock();
    double sum = 0;
    for (int k = 0; k < 8; ++k) sum += d[k] + f[k] + i[k];
    if (sum == 12345) *sink = sum;
    if (lane == 0) when[2 * (threadIdx.x >> 5)] = start, when[2 * (threadIdx.x >> 5) + 1] = end;
}}
"""
_TURNS = """
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {{
        {text}
    }}"""
_ASM = 'asm volatile("{ptx}" : "+{kind}"({letter}[{k}]) : {given});'
_OPS = {
    "DADD": ("add.rn.f64 %0, %0, %1;", "d"), "DMUL": ("mul.rn.f64 %0, %0, %1;", "d"),
    "DFMA": ("fma.rn.f64 %0, %0, %1, %2;", "d"),
    "DADD, one register": ("add.rn.f64 %0, %0, %0;", "d"),
    "DFMA, two registers": ("fma.rn.f64 %0, %0, %0, %1;", "d"),
    "FFMA": ("fma.rn.f32 %0, %0, %1, %2;", "f"),
    "LOP3": ("lop3.b32 %0, %0, %1, %2, 0x96;", "i"), "IMAD": ("mad.lo.s32 %0, %0, %1, %2;", "i"),
    "MUFU": ("ex2.approx.ftz.f32 %0, %0;", "f"),
}  # fmt: skip
"""PTX, and which of the arrays it goes through."""
_LDS = 'asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(i[{k}]) : "r"(at));'
_COPIES, _CHAINED, _UNROLLED = 48, 24, 8
_FRACTAL = """
    {kind} x = {array}[0], y = {array}[1];
    const {kind} cx = {array}[2], cy = {array}[3], two = 2;
    int j = 0;
    #pragma unroll 1
    while ({goes_on}) {{
        {body}
    }}
    i[0] += j, {array}[4] += x + y;"""
_STEP = "{const {kind} next = x * x - y * y + cx; y = two * x * y + cy; x = next; ++j;}"
_SUMMED = "x += cx; ++j;"
_ESCAPES = "x * x + y * y < 4 && j < turns"
WARPS = (4, 8, 16, 24, 32)


class Body(NamedTuple):
    """The text of a kernel between its clocks."""

    text: str
    patterns: int
    """Patterns of a turn."""


def _one(op: str, k: int) -> str:
    if op == "LDS":
        return _LDS.format(k=k % 8)
    ptx, letter = _OPS[op]
    kind = "r" if letter == "i" else letter
    given = ", ".join(
        f'"{kind}"({letter}{name})'
        for name, place in (("b", "%1"), ("c", "%2"))
        if place in ptx
    )  # fmt: skip
    return _ASM.format(ptx=ptx, kind=kind, letter=letter, k=k % 8, given=given)


def _loop(pattern: tuple[str, ...]) -> Body:
    """Return a loop over eight chains of each instruction of a pattern."""
    count = _COPIES // len(pattern)
    text = [_one(op, k * pattern.count(op) + pattern[:place].count(op))
            for k in range(count) for place, op in enumerate(pattern)]  # fmt: skip
    return Body(_TURNS.format(text="\n        ".join(text)), count)


def _sides(first: str, other: str) -> Body:
    one, two = _loop((first,)), _loop((other,))
    return Body(
        f"if (threadIdx.x >> 7 & 1) {{{one.text}\n    }} else {{{two.text}\n    }}", one.patterns
    )


def _chain(*pattern: str) -> Body:
    text = "\n        ".join(_one(op, k) for k, op in enumerate(pattern))
    return Body(_TURNS.format(text="\n        ".join([text] * _CHAINED)), _CHAINED)


def _comparisons(*, is_number: bool) -> Body:
    """Return a loop of DSETPs into six predicates, each with the one that was there.

    No two compare the same, and eight DADDs change what they compare: none can be left out.
    """
    text = []
    for k in range(_COPIES):
        number = f"0d40{0x10 + k:02x}000000000000"
        second = number if is_number else f"%{1 + (k + 1 + k // 8) % 8}"
        before = f".and.f64 p{k % 6}, %{1 + k % 8}, {second}, p{k % 6};"
        text.append(f"setp.lt{before}" if k > 5 else f"setp.lt.f64 p{k}, %{1 + k}, {second};")
    text += [f"@p{k} add.s32 %0, %0, 1;" for k in range(6)]
    given = ", ".join(f'"d"(d[{k}])' for k in range(8))
    one = f'asm volatile("{{ .reg .pred p<6>; {" ".join(text)} }}" : "+r"(i[0]) : {given});'
    sums = "".join(_one("DADD", k) for k in range(8))
    return Body(_TURNS.format(text=sums + one), 8)


def _fractal(kind: str, goes_on: str, step: str = _STEP, unrolled: int = 1) -> Body:
    body = " ".join([step.replace("{kind}", kind)] * unrolled)
    array = "f" if kind == "float" else "d"
    text = _FRACTAL.format(kind=kind, array=array, goes_on=goes_on, body=body)
    return Body(text, unrolled)


_DOUBLES = ("DADD", "DMUL", "DFMA", "DADD, one register", "DFMA, two registers")
_OTHERS = ("FFMA", "LOP3", "IMAD")
DOUBLES: dict[tuple[str, str], Body] = {
    **{("alone", op): _loop((op,)) for op in (*_DOUBLES, *_OTHERS)},
    ("alone", "6 DSETP + DADD"): _comparisons(is_number=False),
    ("alone", "6 DSETP of a number + DADD"): _comparisons(is_number=True),
    **{
        ("beside", f"{first} + {count} {other}"): _loop((first,) + (other,) * count)
        for first in ("DADD", "DFMA", "DADD, one register")
        for other in _OTHERS
        for count in (1, 2, 3, 5)
    },
    **{
        ("apart", f"{first} + {other}"): _sides(first, other)
        for first in ("DADD", "DFMA", "DADD, one register")
        for other in (*_OTHERS, "MUFU", "LDS")
    },
    **{("chain", op): _chain(op) for op in ("DADD", "DMUL", "DFMA")},
    ("chain", "DFMA + DADD"): _chain("DFMA", "DADD"),
    ("loop", "fractal"): _fractal("double", _ESCAPES),
    ("loop", "fractal, counted"): _fractal("double", "j < turns"),
    ("loop", "fractal, unrolled"): _fractal("double", f"j < {_UNROLLED} * turns", _STEP, _UNROLLED),
    ("loop", "fractal of floats"): _fractal("float", _ESCAPES),
    ("loop", "sum"): _fractal("double", "x < 4 && j < turns", _SUMMED),
    ("loop", "sum of floats"): _fractal("float", "x < 4 && j < turns", _SUMMED),
    ("loop", "two sums"): _fractal(
        "double", "x < 4 && y < 3 && j < turns", "x += cx; y += cy; ++j;"
    ),
}
"""What a turn has, by form and pattern."""


def doubles_source() -> str:
    """Return CUDA source of a kernel `doubles_N` for each of DOUBLES, in their order."""
    return "".join(
        _SOURCE.format(name=f"doubles_{place}", text=body.text)
        for place, body in enumerate(DOUBLES.values())
    )


def measure_doubles(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per form and pattern: cycles of a sub-partition, with 1 to 8 warps of it."""
    open_gpu(device)
    import cupy

    data, sink = cupy.zeros(64, dtype=np.float64), cupy.zeros(1, dtype=np.float64)
    when = cupy.zeros(64, dtype=np.int32)
    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        module = cupy.cuda.function.Module()
        module.load(compiled(doubles_source(), Path(folder)))
        for place, ((form, instructions), body) in enumerate(DOUBLES.items()):
            kernel = module.get_function(f"doubles_{place}")
            few, many = (64, 320) if form == "loop" else (8, 40)
            row: dict[str, Any] = {"form": form, "instructions": instructions}
            for warps in WARPS:
                if form == "apart" and warps == 4:  # no sub-partition has two
                    row[f"warps_{warps}"] = ""
                    continue
                least = [
                    least_cycles(kernel, (data, sink, when, np.int32(turns)), when, warps)
                    for turns in (few, many)
                ]
                each = (least[1] - least[0]) / (many - few) / body.patterns / (warps / 4)
                row[f"warps_{warps}"] = round(each, 3)
            rows.append(row)
    return rows
