"""The types of C and CUDA that a declaration may have, and the instruction that moves each."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CType", "first_word", "op_of", "type_at"]

_NAMES = {
    1: "char int8_t uint8_t bool __nv_fp8_e4m3 __nv_fp8_e5m2 uchar float_e4m3_t float_e5m2_t",
    2: "short half __half half_t nv_bfloat16 __nv_bfloat16 bfloat16_t bfloat16 int16_t uint16_t"
    " ushort char2 uchar2",
    4: "int unsigned float int32_t uint32_t uint half2 __half2 nv_bfloat162 __nv_bfloat162 short2"
    " ushort2 char4 uchar4",
    8: "double long size_t int64_t uint64_t float2 int2 uint2 short4 ushort4",
    12: "float3 int3 uint3",
    16: "float4 int4 uint4 double2 longlong2 ulonglong2 long2 ulong2",
}
"""By bytes, as nvcc for Linux has them: CUDA C++ Programming Guide, "Built-in Vector Types"."""

_BYTES = {name: size for size, names in _NAMES.items() for name in names.split()}
_SIGNED = {"char", "int8_t", "short", "int16_t", "signed"}
_WORDS = {"unsigned", "signed", "char", "short", "int", "long"}
_QUALIFIERS = {
    "extern", "static", "volatile", "const", "constexpr", "__shared__", "__restrict__",
    "__restrict",
}  # fmt: skip
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)")
_ALIGNED = re.compile(r"\s*\(\s*\d+\s*\)")


@dataclass(frozen=True)
class CType:
    """A type of an element."""

    name: str
    bytes: int
    signed: bool = False
    """Whether a narrow load extends the sign."""


def type_at(text: str, start: int = 0) -> tuple[CType, int] | None:
    """Return the type that stands in a text, after its qualifiers, and where it ends.

    None where there is no type known here.

    >>> type_at("extern __shared__ unsigned char s[]")
    (CType(name='unsigned char', bytes=1, signed=False), 31)
    >>> type_at("const cutlass::half_t x")[0].bytes, type_at("mytype s[3]")
    (2, None)
    """
    _, at = _qualifiers(text, start)
    words = []
    while (found := _TOKEN.match(text, at)) and found[1] in _WORDS:
        words.append(found[1])
        at = found.end()
    if not words:
        if not found or found[1].rpartition("::")[2] not in _BYTES:
            return None
        words, at = [found[1]], found.end()
    plain = words[0].rpartition("::")[2] if len(words) == 1 else ""
    size = plain or next((word for word in words if word not in _INTEGERS), "int")
    size = "int" if size in _INTEGERS else size
    signed = bool(_SIGNED & {size, *words}) and "unsigned" not in words
    return CType(" ".join(words), _BYTES[size], signed), _qualifiers(text, at)[1]


_INTEGERS = ("int", "unsigned", "signed")


def _qualifiers(text: str, start: int) -> tuple[list[str], int]:
    """Return the qualifiers that stand in a text, and where they end."""
    words, at = [], start
    while found := _TOKEN.match(text, at):
        if found[1] in ("__align__", "alignas") and (size := _ALIGNED.match(text, found.end())):
            at = size.end()
        elif found[1] in _QUALIFIERS:
            at = found.end()
        else:
            break
        words.append(found[1])
    return words, at


def first_word(text: str, start: int = 0) -> re.Match[str] | None:
    """Return the first word that is not a qualifier."""
    return _TOKEN.match(text, _qualifiers(text, start)[1])


def op_of(type_: CType, *, store: bool) -> str | None:
    """Return the SASS name of the load or store of one element; None where no one moves it.

    >>> op_of(CType("float4", 16), store=True), op_of(CType("half", 2), store=False)
    ('STS.128', 'LDS.U16')
    """
    sign = "S" if type_.signed and not store else "U"
    suffix = {1: f".{sign}8", 2: f".{sign}16", 4: "", 8: ".64", 16: ".128"}.get(type_.bytes)
    return None if suffix is None else f"{'STS' if store else 'LDS'}{suffix}"
