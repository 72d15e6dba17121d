"""The types of C and CUDA that a declaration may have, and the instruction that moves each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "CType",
    "Member",
    "atomic_of",
    "first_word",
    "is_unsigned",
    "member_of",
    "op_of",
    "type_at",
]

_NAMES = {
    1: "char int8_t uint8_t bool __nv_fp8_e4m3 __nv_fp8_e5m2 uchar float_e4m3_t float_e5m2_t",
    2: "short half __half half_t nv_bfloat16 __nv_bfloat16 bfloat16_t bfloat16 int16_t uint16_t"
    " ushort char2 uchar2",
    4: "int unsigned float int32_t uint32_t uint half2 __half2 nv_bfloat162 __nv_bfloat162 short2"
    " ushort2 char4 uchar4",
    8: "double long longlong ulong ulonglong size_t int64_t uint64_t float2 int2 uint2 short4"
    " ushort4",
    12: "float3 int3 uint3",
    16: "float4 int4 uint4 double2 longlong2 ulonglong2 long2 ulong2",
}
"""By bytes, as nvcc for Linux has them: CUDA C++ Programming Guide, "Built-in Vector Types"."""

BYTES = {name: size for size, names in _NAMES.items() for name in names.split()}
"""By name."""
SIGNED = {"char", "int8_t", "short", "int16_t", "signed"}
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
    members: tuple[Member, ...] = field(default=(), repr=False)
    """Those of a struct or union that the text defines."""
    align: int = field(default=0, repr=False)
    """Bytes that its address is a multiple of; 0: its own size, or 4 of three floats."""

    @property
    def alignment(self) -> int:
        """Bytes that its address is a multiple of."""
        return self.align or (4 if self.bytes == 12 else self.bytes)


@dataclass(frozen=True)
class Member:
    """A member of a struct, a union or a vector."""

    name: str
    type: CType
    offset: int
    """Bytes from the start."""
    sizes: tuple[int, ...] = ()


def member_of(type_: CType, name: str) -> Member | None:
    """Return a member of a type; None where it has none of this name.

    >>> member_of(CType("float4", 16), "y")
    Member(name='y', type=CType(name='float', bytes=4, signed=False), offset=4, sizes=())
    """
    if type_.members:
        return next((each for each in type_.members if each.name == name), None)
    vector = re.fullmatch(r"(?:\w+::)*(\w+)([1-4])", type_.name)
    bytes_ = BYTES.get(vector[1]) if vector else 0
    if vector is None or not bytes_ or bytes_ * int(vector[2]) != type_.bytes:
        return None
    place = "xyzw".find(name) if len(name) == 1 else -1
    if not 0 <= place < int(vector[2]):
        return None
    return Member(name, CType(vector[1], bytes_, vector[1] in SIGNED), place * bytes_)


def type_at(
    text: str, start: int = 0, own: Mapping[str, CType] | None = None
) -> tuple[CType, int] | None:
    """Return the type that stands in a text, after its qualifiers, and where it ends.

    `own` are those that the text defines. None where there is no type known here.

    >>> type_at("extern __shared__ unsigned char s[]")
    (CType(name='unsigned char', bytes=1, signed=False), 31)
    >>> type_at("const cutlass::half_t x")[0].bytes, type_at("mytype s[3]")
    (2, None)
    """
    _, at = _qualifiers(text, start)
    record = re.compile(r"\s*(?:(?:struct|union)\s+)?(\w+)").match(text, at)
    if own and record and record[1] in own:
        return own[record[1]], _qualifiers(text, record.end())[1]
    words = []
    while (found := _TOKEN.match(text, at)) and found[1] in _WORDS:
        words.append(found[1])
        at = found.end()
    if not words:
        if not found or found[1].rpartition("::")[2] not in BYTES:
            return None
        words, at = [found[1]], found.end()
    plain = words[0].rpartition("::")[2] if len(words) == 1 else ""
    size = plain or next((word for word in words if word not in _INTEGERS), "int")
    size = "int" if size in _INTEGERS else size
    signed = bool(SIGNED & {size, *words}) and "unsigned" not in words
    return CType(" ".join(words), BYTES[size], signed), _qualifiers(text, at)[1]


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


def is_unsigned(name: str) -> bool:
    """Return whether arithmetic with a type wraps around below 0: narrow ones become `int`.

    >>> is_unsigned("unsigned int"), is_unsigned("uint8_t"), is_unsigned("std::size_t")
    (True, False, True)
    """
    wide = {"unsigned", "uint32_t", "uint64_t", "uint", "size_t"}
    words = {word.rpartition("::")[2] for word in name.split()}
    return bool(words & wide) and not words & {"char", "short"}


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


_LOOPS = {
    "float": "add.f32", "half2": "add.f16x2", "__half2": "add.f16x2", "nv_bfloat162": "add.bf16x2",
    "__nv_bfloat162": "add.bf16x2",
}  # fmt: skip


def atomic_of(type_: CType, kind: str) -> str | None:
    """Return what `atomicAdd` and the like compile to; None for what is not known here.

    `kind` is "ADD", "MAX" and so on; "COUNT" adds 1 and does not use the old value.

    >>> atomic_of(CType("int", 4), "SUB"), atomic_of(CType("float", 4), "ADD")
    ('ATOMS.ADD', 'add.f32')
    >>> atomic_of(CType("unsigned", 4), "COUNT"), atomic_of(CType("double", 8), "ADD")
    ('ATOMS.POPC.INC.32', None)
    """
    plain = type_.name.rpartition("::")[2]
    adds = kind in ("ADD", "SUB", "COUNT")
    if plain in _LOOPS and adds:
        return _LOOPS[plain]
    if type_.bytes == 8 and plain not in ("double", "float2", "int2", "uint2"):
        named = {"EXCH": "ATOMS.EXCH.64", "CAS": "ATOMS.CAS.64"}
        return "add.u64" if adds else named.get(kind)
    if type_.bytes != 4 or (plain in _LOOPS and kind != "EXCH"):
        return None
    if kind == "COUNT":
        return "ATOMS.POPC.INC.32"
    return "ATOMS.ADD" if adds else f"ATOMS.{kind}"
