"""Numbers that a type of C++ is made of: their type on the command line, and how many."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simulator.sass.code.hostvalues import SHORT_TYPES, SIZES, plain_type

__all__ = [
    "BYTES", "Fields", "Types", "extents_of", "holds_pointers", "numbers_of", "places_of",
    "short_type", "unpadded",
]  # fmt: skip

BYTES = {
    "u8": 1, "i8": 1, "f8e4m3": 1, "f8e5m2": 1, "u16": 2, "i16": 2, "f16": 2, "bf16": 2, "u32": 4,
    "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8,
}  # fmt: skip
"""Bytes of the element types of arguments."""

Fields = Mapping[str, Sequence[tuple[str, str]]]
"""Members of structures, type and name, by the structure."""

_VECTOR = re.compile(r"(u?(?:char|short|int|longlong|long)|float|double)([1234])")
_DEEPEST = 8


def extents_of(kind: str) -> tuple[str, list[str]]:
    """Return a type's elements, and the extents of its arrays.

    >>> extents_of("float[4][N]"), extents_of("int")
    (('float', ['4', 'N']), ('int', []))
    """
    found = re.fullmatch(r"([^\[]*)((?:\[[^\]]*\])*)", kind)
    if found is None:
        return kind, []
    return found[1].strip(), re.findall(r"\[([^\]]*)\]", found[2])


@dataclass(frozen=True)
class Types:
    """What is known of a source's types."""

    aliases: Mapping[str, str]
    fields: Fields
    elements: Callable[[Sequence[str]], int | None]
    """Counts an array's elements by its extents; None where they are not known."""
    alignment: Callable[[str], int | None] = lambda name: 1
    """What `alignas` says of a structure, or of a member: "Structure.member"; 1 without it."""
    vectors: bool = True
    """Whether float4 and its like are aligned as a whole; else as their numbers are."""

    def plain(self, kind: str) -> str:
        """Return a structure's own name."""
        return plain_type(self.aliases.get(kind, kind))


def numbers_of(kind: str, types: Types) -> tuple[str, int] | None:
    """Return the numbers of a value: their type, and how many; None where they are not known.

    Those of a structure that mixes types are bytes; what pads it counts, too.

    >>> pair = {"Pair": [("float", "x"), ("float", "y")], "Mixed": [("char", "c"), ("Pair", "p")]}
    >>> types = Types({}, pair, lambda extents: 3)
    >>> [numbers_of(each, types) for each in ("Pair", "Pair[3]", "Mixed", "Other")]
    [('f32', 2), ('f32', 6), ('u8', 12), None]
    """
    found = _laid(kind, types, 0)
    return None if found is None else (found.kind, found.bytes // BYTES[found.kind])


def places_of(kind: str, types: Types) -> Sequence[tuple[int, int]] | None:
    """Return the first byte of each member of a structure, and the one behind its last.

    What is behind all of them is the last pair. None where they are not known.

    >>> points = {"Mixed": [("char", "c"), ("float3", "p")]}
    >>> places_of("Mixed", Types({}, points, lambda extents: None, lambda name: 16))
    [(0, 1), (16, 28), (32, 32)]
    """
    found = _members(types.plain(kind), types, 0)
    return None if found is None else found.places


def unpadded(kind: str, types: Types) -> Sequence[tuple[int, int]] | None:
    """Return what `places_of` does if nothing were aligned beyond what its numbers need."""
    return places_of(kind, replace(types, alignment=lambda name: 1, vectors=False))


def holds_pointers(kind: str, types: Types, depth: int = 0) -> bool:
    """Whether a structure has pointers among its members: no array of numbers stands for it.

    >>> holds_pointers("Pair", Types({}, {"Pair": [("float*", "p")]}, lambda extents: None))
    True
    """
    members = types.fields.get(types.plain(kind), ())
    return depth < _DEEPEST and any(
        own.endswith("*") or holds_pointers(extents_of(own)[0], types, depth + 1)
        for own, _ in members
    )


class _Laid(NamedTuple):
    """How a type lies in memory; `alignment` is in bytes."""

    kind: str
    bytes: int
    alignment: int
    places: Sequence[tuple[int, int]] = ()


def _laid(kind: str, types: Types, depth: int) -> _Laid | None:
    kind, extents = extents_of(plain_type(kind))
    count = types.elements(extents) if extents else 1
    short = ("u64", 1) if kind.endswith("*") else short_type(kind, types.aliases)
    if count is None or depth > _DEEPEST:
        return None
    if short is not None:
        one, many = BYTES[short[0]], short[1]
        # float4 is read at once: CUDA C++ Programming Guide, "Built-in Vector Types".
        alignment = one if many == 3 or not types.vectors else min(one * many, 16)
        return _Laid(short[0], one * many * count, alignment)
    found = _members(types.plain(kind), types, depth)
    return None if found is None else found._replace(bytes=found.bytes * count)


def _members(name: str, types: Types, depth: int) -> _Laid | None:
    """Return how a structure's members lie."""
    end, widest = 0, types.alignment(name)
    places, kinds = [], set()
    for kind, member in types.fields.get(name, ()):
        each, own = _laid(kind, types, depth + 1), types.alignment(f"{name}.{member}")
        if each is None or own is None or widest is None:
            return None
        if kind == member and each.places[-2][1] < each.bytes and not _is_plain(kind, types):
            return None  # members may lie in what pads such a base class
        start = -(-end // max(each.alignment, own)) * max(each.alignment, own)
        end, widest = start + each.bytes, max(widest, each.alignment, own)
        places.append((start, end))
        kinds.add(each.kind)
    if not places or widest is None:
        return None
    whole = -(-end // widest) * widest
    kind = kinds.pop() if len(kinds) == 1 else "u8"
    return _Laid(kind, whole, widest, [*places, (whole, whole)])


def _is_plain(name: str, types: Types, depth: int = 0) -> bool:
    """Whether nothing aligns a structure, and neither it nor a member has a base class."""
    name = types.plain(extents_of(plain_type(name))[0])
    return depth <= _DEEPEST and all(
        kind != member
        and types.alignment(name) == types.alignment(f"{name}.{member}") == 1
        and _is_plain(kind, types, depth + 1)
        for kind, member in types.fields.get(name, ())
    )


def short_type(name: str, aliases: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the element type that arguments have for a C++ type, and how many of it.

    >>> short_type("float4", {}), short_type("unsigned int", {}), short_type("Params", {})
    (('f32', 4), ('u32', 1), None)
    """
    name = plain_type(name)
    for _ in range(8):
        short = name.rsplit("::", 1)[-1]
        if name in SIZES or short in SIZES or (name not in aliases and short not in aliases):
            break
        name = plain_type(aliases.get(name, aliases.get(short, "")))
    name = name if name in SIZES else name.rsplit("::", 1)[-1]
    if found := _VECTOR.fullmatch(name):
        inner = {"longlong": "long long", "ulonglong": "unsigned long long"}.get(found[1], found[1])
        inner = inner if inner in SIZES else f"unsigned {inner[1:]}"
        one = short_type(inner, {})
        return (one[0], int(found[2])) if one else None
    if name in SHORT_TYPES:
        pair = name in ("half2", "__half2", "nv_bfloat162", "__nv_bfloat162", "cuComplex",
                        "cufftComplex", "cuDoubleComplex")  # fmt: skip
        kind = {"e4m3": "f8e4m3", "e5m2": "f8e5m2"}.get(SHORT_TYPES[name], SHORT_TYPES[name])
        return kind, 2 if pair else 1
    if name in SIZES and name != "dim3":
        unsigned = name.startswith(("u", "size_t"))
        return f"{'u' if unsigned else 'i'}{8 * SIZES[name]}", 1
    return None
