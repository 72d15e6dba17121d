"""A launch's values as text: what the command line takes for each of a kernel's parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.sass.code.hostvalues import (
    SHORT_TYPES,
    SIZES,
    Allocation,
    Cell,
    Dim3,
    Type,
    Unknown,
    plain_type,
    type_size,
)

if TYPE_CHECKING:
    from simulator.sass.code.hostreader import HostReader
    from simulator.sass.code.signatures import Signature

__all__ = ["Described", "describe", "placeholder", "short_type"]

_VECTOR = re.compile(r"(u?(?:char|short|int|longlong|long)|float|double)([1234])")


@dataclass
class Described:
    """Texts of values, and the names of those that are not known."""

    unknown: list[str] = field(default_factory=list)

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


def describe(
    values: list[Any], signature: Signature | None, table: Mapping[str, Any], reader: HostReader,
    described: Described,
) -> tuple[str, ...]:  # fmt: skip
    """Return the arguments of a launch as text; `table` are the kernel's template arguments."""
    if signature is None:
        return tuple(described.ask(f"argument {i}") for i in range(len(values)))
    found = []
    for index, (kind, name) in enumerate(signature.parameters):
        value = values[index] if index < len(values) else Unknown(name)
        found.append(_argument(value, kind, name, table, reader, described, 0))
    return tuple(found)


def _argument(
    value: Any, kind: str, name: str, table: Mapping[str, Any], reader: HostReader,
    described: Described, depth: int,
) -> str:  # fmt: skip
    kind = plain_type(kind).removesuffix("&")
    bare = kind.rstrip("*")
    if isinstance(table.get(bare), Type | Unknown):
        kind = kind.replace(bare, table[bare].name)
    elif (cell := reader.find(bare)) is not None and isinstance(cell.value, Type):
        kind = kind.replace(bare, cell.value.name)
    for _ in range(8):
        if kind.endswith("*") or kind in SIZES or kind not in reader.aliases:
            break
        kind = plain_type(reader.aliases[kind])
    if kind.endswith("**"):
        return described.ask(f"{name}: an array of pointers, {{random:f32[…], …}}")
    if kind.endswith("*"):
        return _pointer(value, kind[:-1], name, reader, described)
    if isinstance(value, Cell):
        value = value.value
    if isinstance(value, dict) or (kind in reader.fields and depth < 4):
        members = value if isinstance(value, dict) else {}
        inner = [
            _argument(
                members[n].value if n in members else Unknown(f"{name}.{n}"), k, n, table, reader,
                described, depth + 1,
            )
            for k, n in reader.fields.get(kind, [])
        ]  # fmt: skip
        return "{" + ", ".join(inner) + "}"
    short = short_type(kind, reader.aliases)
    if short is None:
        return described.ask(f"{name}: {kind}")
    if short[1] > 1:
        parts = (
            value if isinstance(value, list) else [Unknown(f"{name}.{i}") for i in range(short[1])]
        )
        return "{" + ", ".join(f"{short[0]}={_scalar(p, short[0], described)}" for p in parts) + "}"
    return f"{short[0]}={_scalar(value, short[0], described, name)}"


def _scalar(value: Any, kind: str, described: Described, name: str = "") -> str:
    if isinstance(value, bool | int | float):
        return repr(float(value)) if "f" in kind else str(int(value))
    if isinstance(value, Unknown):
        return described.ask(value.name, value.expression)
    return described.ask(name)


def _pointer(value: Any, element: str, name: str, reader: HostReader, described: Described) -> str:
    if isinstance(value, int) and value == 0:
        return "null"
    short = short_type(element, reader.aliases)
    kind, bytes_each, what = ("u8", 1, "bytes") if short is None else (short[0], 0, "elements")
    if short is not None:
        bytes_each = (type_size(element, reader.aliases) or 1) // short[1]
    elif re.fullmatch(r"[A-Z]\w*", element) and element not in reader.fields:
        kind, bytes_each, what = described.ask(element), 0, "elements"  # a template's parameter
    fill = "random"
    if isinstance(value, Allocation):
        fill = "zeros" if value.zero else "random"
        if value.bytes and bytes_each:
            return f"{fill}:{kind}[{max(value.bytes // bytes_each, 1)}]"
    own = value.name if isinstance(value, Unknown) else name
    if (count := reader.let(own, reader.assumed.get("*"))) is not None:
        return f"{fill}:{kind}[{max(int(count), 1)}]"
    return f"{fill}:{kind}[{described.ask(f'{what} of {name}')}]"


def placeholder(signature: Signature) -> tuple[str, ...]:
    """Return arguments to edit for a kernel that nothing launches."""
    found = []
    open_types = {each.split("=")[0].split()[-1] for each in signature.template}
    for kind, name in signature.parameters:
        plain = plain_type(kind)
        if plain.endswith("*"):
            element = plain[:-1].strip()
            short = short_type(element, {})
            kind = short[0] if short else f"<{element}>" if element in open_types else "u8"
            what = "bytes" if kind == "u8" else "elements"
            found.append(f"random:{kind}[<{what} of {name}>]")
        else:
            short = short_type(plain, {})
            found.append(f"{short[0]}=<{name}>" if short else f"{{<{name}: {plain}>}}")
    return tuple(found)
