"""How often instructions can be dispatched beside each other: machine code of other instructions.

The FFMAs of a compiled loop become other instructions, whose bits come from a kernel that has them.
Control bits are set so that nothing waits for a result. No two operands of an instruction lie in
the same bank of registers, but for a product's 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.banks import ZERO, banks_source, control_of, issued, loop_of

__all__ = [
    "DISPATCHED",
    "Instruction",
    "dispatched",
    "kinds",
    "measure_dispatch",
    "placed",
    "register_pairs",
    "templates_source",
]

Instruction = tuple[str, int, int, int, int, int]
"""Its name, the registers that it writes and reads, and its stall count."""

_OPCODES = {
    "FFMA": 0x223, "FADD": 0x221, "IMAD": 0x224, "IMAD.WIDE": 0x225, "IMAD.HI": 0x227,
    "LOP3": 0x212, "SHF": 0x219, "PRMT": 0x216, "IADD3": 0x210, "DFMA": 0x22B, "HFMA2": 0x231,
    "HFMA2.MMA": 0x235, "HADD2.F32": 0x230, "HMUL2": 0x232, "F2FP": 0x23E, "FMNMX": 0x209,
    "VIMNMX": 0x248, "LEA": 0x211, "VABSDIFF4": 0x215, "IDP": 0x226,
}  # fmt: skip
"""The low twelve bits of forms with registers alone."""
_OTHERS = ("HADD2.F32", "HMUL2", "F2FP", "FMNMX", "VIMNMX", "LEA", "VABSDIFF4", "IDP")
"""Their upper word says more in the place of a third register."""
_BESIDE = ("FFMA", "LOP3", "IMAD")
DISPATCHED: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in _OPCODES},
    "IMAD.WIDE, no addend": ("IMAD.WIDE RZ",),
    **{
        f"{first} + {count} {other}": (first,) + (other,) * count
        for first in ("IMAD.WIDE", "IMAD.WIDE RZ", "IMAD.HI", "IMAD", "LOP3", "DFMA", "HFMA2.MMA")
        for other in _BESIDE
        for count in (1, 2, 3, 4, 6)
        if first != other
    },
    "IMAD.WIDE + 2 LOP3 + 2 FFMA": ("IMAD.WIDE", "LOP3", "FFMA", "LOP3", "FFMA"),
    "IMAD + LOP3 + FFMA": ("IMAD", "LOP3", "FFMA"),
    "IMAD + LOP3 + 2 FFMA": ("IMAD", "FFMA", "LOP3", "FFMA"),
    **{
        f"{first} + {count} {other}": (first,) + (other,) * count
        for first in ("HADD2.F32", "HFMA2", "HMUL2")
        for other in ("FFMA", "LOP3", "IMAD", "HFMA2.MMA")
        for count in (1, 2, 3)
    },
    **{
        f"{first} + {other}": (first, other)
        for first in ("F2FP", "FMNMX", "VIMNMX", "LEA", "VABSDIFF4", "IDP")
        for other in _BESIDE
    },
}
"""Instructions of a loop, in order."""

_TEMPLATES = """
extern "C" __global__ void templates(const int* in, int* out, const float* f, double* d,
                                     long long* wide) {{
    const int a = in[0], b = in[1], c = in[2];
    const unsigned h = in[3], i = in[4], j = in[5];
    out[0] = a * b + c;
    wide[0] = (long long)a * b + wide[1];
    out[1] = __umulhi(h, i);
    out[2] = (a & b) ^ c;
    out[3] = __funnelshift_l(h, i, j);
    out[4] = __byte_perm(h, i, j);
    out[5] = a + b + c;
    out[6] = __float_as_int(fmaf(f[0], f[1], f[2]));
    out[7] = __float_as_int(f[3] + f[4]);
    d[0] = fma(d[1], d[2], d[3]);
    unsigned x = h;
    {halves}
    out[8] = x;
    float y;
    asm volatile("{{ .reg .b16 low, high; mov.b32 {{low, high}}, %1; cvt.f32.f16 %0, low; }}"
        : "=f"(y) : "r"(in[6]));
    out[9] = __float_as_int(y);
    asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(in[7]));
    out[10] = x;
    asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(f[5]), "f"(f[6]));
    out[11] = x;
    out[12] = __float_as_int(fminf(f[7], f[8]));
    out[13] = min(in[8], in[9]);
    out[14] = f[9] > f[10] ? in[10] : in[11];
    out[15] = (in[12] << 3) + in[13];
    out[16] = __vabsdiffu4(in[14], in[15]);
    out[17] = __dp4a(in[16], in[17], in[18]);
}}
"""


def templates_source() -> str:
    """Return CUDA source of a kernel that holds each instruction."""
    half = 'asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(i), "r"(j));'
    return _TEMPLATES.format(halves="\n    ".join([half] * 8))


def kinds(image: bytes) -> dict[str, tuple[int, int]]:
    """Return the two words of an instruction of each opcode that a cubin has without a guard."""
    words = np.frombuffer(image[: len(image) // 8 * 8], dtype="<u8")
    found = {}
    for name, opcode in _OPCODES.items():
        for low, high in zip(words.tolist(), words[1:].tolist(), strict=False):
            # Scoreboards that are not there are 7, and a stall count is below 16.
            if low & 0xFFFF == opcode | 7 << 12 and high >> 53 < 1 << 11 and high >> 46 & 7:
                found[name] = (low, high)
                break
    return found


def placed(
    image: bytes, forms: dict[str, tuple[int, int]], instructions: Iterable[Instruction]
) -> bytes:
    """Return a cubin whose loop has instructions in place of its FFMAs."""
    words, at = loop_of(image)
    for k, (name, to, a, b, c, stall) in zip(at, instructions, strict=False):
        low, high = forms[name]
        words[k] = low & ~(0xFFFFFF << 16) | to << 16 | a << 24 | b << 32
        words[k + 1] = high & ~0xFF & ((1 << 41) - 1) | c | control_of(stall)
    return words.tobytes() + image[len(words) * 8 :]


def register_pairs(image: bytes) -> list[int]:
    """Return the even registers of a cubin's loop whose next one it has, too."""
    words, at = loop_of(image)
    every = sorted({int(words[k] >> shift & 0xFF) for k in at for shift in (16, 24, 32)})
    return [r for r in every if r % 2 == 0 and r + 1 in every]


def dispatched(image: bytes, forms: dict[str, tuple[int, int]], pattern: tuple[str, ...]) -> bytes:
    """Return a cubin whose loop has the instructions of a pattern in place of its FFMAs."""
    pairs = register_pairs(image)
    operands, targets = cycle(pairs[: len(pairs) // 2]), cycle(pairs[len(pairs) // 2 :])

    def instructions() -> Iterator[Instruction]:
        for given in cycle(pattern):
            name, *alone = given.split()
            first, second, third = next(operands), next(operands), next(operands)
            a, b, c = first, second + 1, third
            if name == "DFMA":
                b = second
            elif name != "IMAD.WIDE":
                c = first if _has_third(name) else ZERO
                c = forms[name][1] & 0xFF if name in _OTHERS else c
            if alone:
                c = ZERO
            if name == "HADD2.F32":  # it adds to zero
                a = ZERO
            yield name, next(targets), a, b, c, 1

    return placed(image, forms, instructions())


def _has_third(name: str) -> bool:
    """Whether an instruction has a third source."""
    return name in ("FFMA", "IMAD", "IADD3", "HFMA2", "HFMA2.MMA", "PRMT", "SHF")


def measure_dispatch(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern: cycles of a sub-partition per turn of it with 1 to 8 warps."""
    open_gpu(device)
    import cupy

    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        image = compiled(banks_source(), Path(folder))
        forms = kinds(compiled(templates_source(), Path(folder)))
        return [
            {"instructions": name, **issued(dispatched(image, forms, pattern), len(pattern), 3)}
            for name, pattern in DISPATCHED.items()
            if all(each.split()[0] in forms for each in pattern)
        ]
