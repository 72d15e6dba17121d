"""The types of C and CUDA that a declaration may have, and the instruction that moves each."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["TYPE", "Type", "op_of", "type_of"]

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
_WORDS = "unsigned|signed|char|short|int|long"
_QUALIFIERS = (
    r"(?:(?:extern|static|volatile|const|constexpr|__shared__|__restrict__|__restrict)(?!\w)"
    r"|(?:__align__|alignas)\s*\(\s*\d+\s*\))"
)
_SINGLE = "|".join(sorted(set(_BYTES) - set(_WORDS.split("|")), key=len, reverse=True))

TYPE = (
    rf"(?:{_QUALIFIERS}\s*)*"
    rf"(?:(?:{_WORDS})(?:\s+(?:{_WORDS}))*|(?:[A-Za-z_]\w*::)*(?:{_SINGLE}))(?!\w)"
    rf"(?:\s*{_QUALIFIERS})*"
)
"""A regular expression for a type with its qualifiers."""


@dataclass(frozen=True)
class Type:
    """A type of an element."""

    name: str
    bytes: int
    signed: bool = False
    """Whether a narrow load extends the sign."""


def type_of(text: str) -> Type:
    """Return the type that a text, which matches TYPE, names.

    >>> type_of("extern __shared__ unsigned char")
    Type(name='unsigned char', bytes=1, signed=False)
    >>> type_of("const cutlass::half_t").bytes
    2
    """
    words = re.sub(_QUALIFIERS, " ", text).split()
    plain = [word.rpartition("::")[2] for word in words]
    size = next((w for w in plain if w not in ("unsigned", "signed", "int")), "int")
    return Type(
        " ".join(words), _BYTES[size], bool(_SIGNED & {size, *plain}) and "unsigned" not in plain
    )


def op_of(type_: Type, *, store: bool) -> str | None:
    """Return the SASS name of the load or store of one element; None where no one moves it.

    >>> op_of(type_of("float4"), store=True), op_of(type_of("half"), store=False)
    ('STS.128', 'LDS.U16')
    """
    sign = "S" if type_.signed and not store else "U"
    suffix = {1: f".{sign}8", 2: f".{sign}16", 4: "", 8: ".64", 16: ".128"}.get(type_.bytes)
    return None if suffix is None else f"{'STS' if store else 'LDS'}{suffix}"
