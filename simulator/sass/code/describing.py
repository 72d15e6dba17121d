"""A launch's values as text: what the command line takes for each of a kernel's parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from simulator.sass.code.hostvalues import (
    LAMBDA,
    SIZES,
    Allocation,
    Cell,
    Dim3,
    Reference,
    Type,
    Unknown,
    plain_type,
)
from simulator.sass.code.records import (
    BYTES,
    Types,
    extents_of,
    holds_pointers,
    places_of,
    short_type,
    unpadded,
)

if TYPE_CHECKING:
    from simulator.sass.code.hostreader import HostReader
    from simulator.sass.code.signatures import Signature

__all__ = ["MOST_MEMBERS", "Described", "Shared", "braced", "describe", "padded", "symbol_text"]

MOST_MEMBERS = 256
_DEEPEST = 4  # structures and arrays, one inside the other
_MOVED = re.compile(r"[+?[]|-(?!>)|\w\(")  # in what is made of a pointer: it may be another one
_CALLED = re.compile(r"[(…]")  # each call may give another pointer
_LET = re.compile(r"[A-Za-z_][\w.>-]*")  # a name that has its value by --let
_MEMBER_CALL = re.compile(r"(?:\.|->)\w+(?:<[^()]*>)?\(\)")  # but x.data() gives the same
_LAMBDA = (
    "a lambda, which only its own function can name: compile with --compiler nvcc and"
    " --extended-lambda after --, and give --kernel and what it captures, '{…}'"
)
_TEXTURES = {
    "cudaTextureObject_t": "a texture", "CUtexObject": "a texture",
    "cudaSurfaceObject_t": "a surface", "CUsurfObject": "a surface",
}  # fmt: skip


@dataclass
class Shared:
    """An array that several pointers of a launch point into."""

    origin: int | str
    """The allocation's identity, or the variable whose value is not known."""
    name: str
    text: str
    size: int
    """Bytes of an element; 0 where they are not known."""


@dataclass
class Described:
    """Texts of values, and the names of those that are not known."""

    unknown: list[str] = field(default_factory=list)
    met: list[int | str] = field(default_factory=list)
    """What each pointer points into."""
    several: set[int | str] = field(default_factory=set)
    """Of these, what more than one pointer points into."""
    shared: list[Shared] = field(default_factory=list)
    """Arrays that have a name, because several pointers may point into them."""
    tables: list[Allocation] = field(default_factory=list)
    """Arrays of pointers."""

    @property
    def arrays(self) -> tuple[tuple[str, str], ...]:
        """Their names and texts."""
        return tuple((each.name, each.text) for each in self.shared)

    def text(self, value: Any) -> str:
        """Return a number, a type, or the name of what is not known."""
        if isinstance(value, Type):
            return value.name
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(int(value))
        if isinstance(value, Unknown):
            return self.ask(value.name, value.expression)
        return self.ask(str(value))

    def name(self, value: Any) -> str:
        """Return a template argument; of what is not known its name alone, and it is asked for."""
        return self.text(value)[1:-1] if isinstance(value, Unknown) else self.text(value)

    def ask(self, name: str, expression: str = "") -> str:
        """Take note of a name that is asked for; give it, or what is made of it, as one word."""
        self.unknown.append(name)
        word = re.sub(r"\s+", "", re.sub(r"(?<=\w)\s+(?=\w)", "_", expression or name))
        return f"<{word if len(word) <= 60 else word[:59] + '…'}>"

    def shape(self, value: Any) -> str:
        """Return a grid's or a block's extents."""
        if isinstance(value, Dim3):
            parts = [value.x, value.y, value.z]
            while len(parts) > 1 and parts[-1] == 1:
                parts.pop()
            return "x".join(self.text(each) for each in parts)
        return self.text(value)


def describe(
    values: list[Any], signature: Signature | None, table: Mapping[str, Any], reader: HostReader,
    described: Described,
) -> tuple[str, ...]:  # fmt: skip
    """Return the arguments of a launch as text; `table` are the kernel's template arguments."""
    if signature is None:
        return tuple(described.ask(f"argument {i}") for i in range(len(values)))

    def listed(described: Described) -> tuple[str, ...]:
        arguments, found = _Arguments(table, reader, described), []
        for index, (kind, name) in enumerate(signature.parameters):
            value = values[index] if index < len(values) else Unknown(name)
            found.append(arguments.text(value, kind, name))
        return tuple(found)

    before = Described()  # which pointers lead to one allocation is known when all are described
    listed(before)
    described.several = {each for each, count in Counter(before.met).items() if count > 1}
    return listed(described)


@dataclass(frozen=True)
class _Arguments:
    """The arguments of one launch as text, by the types of the kernel's parameters."""

    table: Mapping[str, Any]
    """The kernel's template arguments."""
    reader: HostReader
    described: Described

    def text(self, value: Any, kind: str, name: str, depth: int = 0) -> str:
        """Return a value of a type; `depth`: how many structures and arrays it is inside of."""
        kind = self._resolved(kind)
        if kind.endswith("**"):
            return _table(value, kind[:-1], name, self.reader, self.described)
        if kind.endswith("*") and self._leads_to_pointers(value, kind[:-1], depth):
            return f"[{self._structure({}, kind[:-1], name, depth + 1)}]"
        if kind.endswith("*"):
            return _pointer(value, kind[:-1], name, self.reader, self.described)
        if extents_of(kind)[1]:
            return self._array(value, kind, name, depth)
        if isinstance(value, Cell):
            value = value.value
        if isinstance(value, dict) or (kind in self.reader.fields and depth < _DEEPEST):
            return self._structure(value, kind, name, depth)
        if kind in _TEXTURES:
            return self.described.ask(f"{name}: {_TEXTURES[kind]}, which is not replayed")
        return self._numbers(value, kind, name)

    def _leads_to_pointers(self, value: Any, kind: str, depth: int) -> bool:
        """Whether a pointer leads to a structure with pointers, which random bytes are not."""
        is_null = isinstance(value, int) and value == 0
        return not is_null and depth < _DEEPEST and holds_pointers(kind, self.reader.types)

    def _resolved(self, kind: str) -> str:
        """Return the type that a template's parameter, a variable or an alias stands for."""
        kind = plain_type(kind).removesuffix("&")
        bare = kind.rstrip("*")
        if isinstance(self.table.get(bare), Type | Unknown):
            kind = kind.replace(bare, self.table[bare].name)
        elif (cell := self.reader.find(bare)) is not None and isinstance(cell.value, Type):
            kind = kind.replace(bare, cell.value.name)
        for _ in range(8):
            if kind.endswith("*") or kind in SIZES or kind not in self.reader.aliases:
                break
            kind = plain_type(self.reader.aliases[kind])
        return kind

    def _array(self, value: Any, kind: str, name: str, depth: int) -> str:
        """Return the elements of an array that a structure holds."""
        element, extents = extents_of(kind)
        count = self.reader.elements(extents)
        if count is None or count > MOST_MEMBERS:
            return self.described.ask(f"{name}: {kind}")
        inside = value.pointers if isinstance(value, Allocation) else {}
        names = [f"{name}[{i}]" for i in range(count)]
        own = [inside[i].value if i in inside else Unknown(names[i]) for i in range(count)]
        return braced(
            self.text(each, element, its, depth + 1) for each, its in zip(own, names, strict=True)
        )

    def _structure(self, value: Any, kind: str, name: str, depth: int) -> str:
        """Return the members of a structure."""
        members = value if isinstance(value, dict) else {}
        texts = [
            self.text(
                members[own].value if own in members else Unknown(f"{name}.{own}"),
                member, own, depth + 1,
            )
            for member, own in self.reader.fields.get(kind, [])
        ]  # fmt: skip
        return braced(padded(texts, kind, self.reader.types))

    def _numbers(self, value: Any, kind: str, name: str) -> str:
        """Return a number with its type, or the numbers of a vector such as float4."""
        short = short_type(kind, self.reader.aliases)
        if short is None:
            held = self.reader.find(value.name) if isinstance(value, Unknown) else None
            is_lambda = isinstance(value, Unknown) and value.name.startswith("[")
            is_lambda = is_lambda or (held is not None and held.type == LAMBDA)
            what = _LAMBDA if is_lambda else kind
            return self.described.ask(f"{name}: {what}", f"{name}: {kind}")
        number, count = short
        value = self.reader.assume(value)
        if count == 1:
            told = self.reader.convert(value, kind) if isinstance(value, int | float) else value
            return f"{number}={_scalar(told, number, self.described, name)}"
        parts = value if isinstance(value, list) else [Unknown(f"{name}.{i}") for i in range(count)]
        return braced(f"{number}={_scalar(each, number, self.described)}" for each in parts)


def braced(texts: Iterable[str]) -> str:
    """Return a structure of members, as arguments are written."""
    return "{" + ", ".join(texts) + "}"


def padded(members: list[str], kind: str, types: Types) -> list[str]:
    """Return a structure's members, with zeros where it has more room than their numbers need.

    `alignas` and vectors such as float4 make room that the text does not tell.
    """
    places = places_of(kind, types)
    if places is None or places == unpadded(kind, types):
        return members
    found, end = [], 0
    for text, (start, behind) in zip([*members, ""], places, strict=True):
        while end < start:
            size = next(each for each in (8, 4, 2, 1) if end % each == 0 and end + each <= start)
            found.append(f"u{8 * size}=0")
            end += size
        found += [text] if text else []
        end = behind
    return found


def _scalar(value: Any, kind: str, described: Described, name: str = "") -> str:
    if isinstance(value, bool | int | float):
        return repr(float(value)) if "f" in kind else str(int(value))
    if isinstance(value, Unknown):
        return described.ask(value.name, value.expression)
    return described.ask(name)


def _pointer(value: Any, element: str, name: str, reader: HostReader, described: Described) -> str:
    """Return an array, or the name of one that more pointers point into, and the elements to it."""
    if isinstance(value, int) and value == 0:
        return "null"
    origin, offset = _origin(value, reader)
    if origin is not None:
        described.met.append(origin)
    moved = isinstance(offset, Unknown) or (isinstance(offset, int) and offset != 0)
    if origin is None or not (origin in described.several or moved):
        return _array(value, element, name, reader, described)[0]
    shared = next((each for each in described.shared if each.origin == origin), None)
    if shared is None:
        text, size = _array(value, element, name, reader, described)
        own = _free(name, [each.name for each in described.shared])
        shared = Shared(origin, own, text, size)
        described.shared.append(shared)
    reader.used.add(value.name if isinstance(value, Unknown) else name)
    if offset == 0:
        return shared.name
    if not isinstance(offset, int) or offset < 0 or not shared.size or offset % shared.size:
        asked = f"elements from {shared.name} to {name if name != shared.name else 'its place'}"
        cause = offset.name if isinstance(offset, Unknown) and offset.name else asked
        return f"{shared.name}+{described.ask(cause, asked)}"
    return f"{shared.name}+{offset // shared.size}"


def _origin(value: Any, reader: HostReader) -> tuple[int | str | None, int | Unknown | None]:
    """Return what a pointer points into, and by how many bytes; None where they are not known."""
    if isinstance(value, Allocation):
        return id(value.whole), value.offset
    if not isinstance(value, Unknown) or _CALLED.search(_MEMBER_CALL.sub("", value.name)):
        return None, 0
    name, bracket, _ = value.name.partition("[")
    cell = reader.find(name)
    if bracket and cell is not None and re.fullmatch(r"[^*]+\*", cell.type):
        return name, None  # &p[i]
    return value.name, None if _MOVED.search(value.expression) else 0


def _free(name: str, taken: list[str]) -> str:
    """Return a name for an array that no other one has."""
    name = re.sub(r"\W+", "_", name).strip("_")
    name = name if re.match(r"[^\W\d]", name) else f"a{name}"
    others = (f"{name}_{i}" for i in count(2))
    return next(each for each in chain((name,), others) if each not in taken)


def _array(
    value: Any, element: str, name: str, reader: HostReader, described: Described
) -> tuple[str, int]:
    """Return an array for a pointer, and the bytes of an element, 0 where not known."""
    numbers = reader.numbers(element)
    kind, each = numbers or ("u8", 1)
    size, what = BYTES[kind], "elements" if numbers else "bytes"
    if not numbers and element not in reader.fields and re.fullmatch(r"[A-Z]\w*", element):
        kind, size, what = described.ask(element), 0, "elements"  # a template's parameter
    fill = "random"
    if isinstance(value, Allocation):
        fill = "zeros" if value.whole.zero else "random"
        if value.whole.bytes and size:
            return f"{fill}:{kind}[{max(value.whole.bytes // size, 1)}]", size
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:  # --let 's->x=64'
        return f"{fill}:{kind}[{value * each}]", size
    own = value.name if isinstance(value, Unknown) else name
    if (many := reader.let(own, reader.assumed.get("*"))) is not None:
        if many < 1 or many % 1:
            reader.no_counts[own if own in reader.assumed else "*"] = name
        return f"{fill}:{kind}[{int(many) * each}]", size
    asked = f"{what} of {name}"
    if own != name and _LET.fullmatch(own):  # what --let takes, where host code calls it otherwise
        return f"{fill}:{kind}[{described.ask(f'{asked} ({own} in host code)', asked)}]", size
    return f"{fill}:{kind}[{described.ask(asked)}]", size


def _table(value: Any, element: str, name: str, reader: HostReader, described: Described) -> str:
    """Return an array of pointers: those that host code put there."""
    if isinstance(value, int) and value == 0:
        return "null"
    inside = value.pointers if isinstance(value, Allocation) else {}
    if isinstance(value, Allocation):
        if any(each is value.whole for each in described.tables):
            return described.ask(f"{name}: an array of pointers that is another argument, too")
        described.tables.append(value.whole)
    count = (value.bytes or 0) // 8 if inside else 0
    if not 0 < count <= MOST_MEMBERS or element.endswith("**"):
        return described.ask(f"{name}: an array of pointers, [random:f32[…], …]")
    whole = []
    for i in range(count):
        own = inside[i].value if i in inside else Unknown(f"{name}[{i}]")
        whole.append(_pointer(own, element[:-1], f"{name}[{i}]", reader, described))
    return f"[{', '.join(whole)}]"


def symbol_text(value: Any, size: Any, reader: HostReader) -> str | None:
    """Return what host code copies to a variable of the device; None where it is not known."""
    if isinstance(value, Reference):
        cell = value.cell
        short = short_type(cell.type, reader.aliases)
        if short is None or short[1] > 1 or not isinstance(cell.value, int | float):
            return None
        return f"{short[0]}={_scalar(cell.value, short[0], Described())}"
    if not isinstance(value, Allocation) or not isinstance(size, int):
        return None
    kind, _ = reader.numbers(value.element or "") or ("u8", 1)
    fill = "zeros" if value.zero else "random"
    return f"{fill}:{kind}[{max(size // BYTES[kind], 1)}]"
