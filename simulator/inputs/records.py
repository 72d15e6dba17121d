"""Structs and unions that a text defines, laid out as C does."""

from __future__ import annotations

import math
import re
from typing import NamedTuple, NoReturn, Protocol

from simulator.inputs.statements import closing, parts, statements
from simulator.inputs.types import CType, Member, type_at

__all__ = ["Record", "record_at"]

_HEAD = re.compile(
    r"\s*(?:(?:extern|static|const|volatile|__shared__)\s+)*(struct|union)\b"
    r"((?:\s*(?:__align__|alignas)\s*\(\s*\d+\s*\))?)\s*([A-Za-z_]\w*)?\s*(?=\{)"
)
_MEMBER = re.compile(r"\s*([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)*)$")


class Reads(Protocol):
    """Reads parts of the text, or refuses them."""

    def size(self, start: int, end: int, first: bool) -> int | None:
        """Return the number that stands between two places."""

    def refuse(self, problem: str, column: int) -> NoReturn:
        """Raise ExpressionError at a column."""


class Record(NamedTuple):
    """A struct or union, and where its definition ends."""

    type: CType
    end: int


def record_at(
    text: str, start: int, end: int, types: dict[str, CType], reader: Reads
) -> Record | None:
    """Return the struct or union that is defined here, and add it to the `types`.

    None where none is. The reader refuses a member that is not of a type known here.
    """
    head = _HEAD.match(text, start, end)
    close = closing(text, head.end(), end) if head else None
    if head is None or close is None:
        return None
    members: list[Member] = []
    at, most, align = 0, 0, int(re.sub(r"\D", "", head[2]) or 1)
    for first, last in statements(text[head.end() + 1 : close]):
        span = head.end() + 1 + first, head.end() + 1 + last
        inner = record_at(text, *span, types, reader)
        found = (inner.type, inner.end) if inner else type_at(text[: span[1]], span[0], types)
        if found is None:
            reader.refuse(
                "the type of this member is not known here (accepted: float, int, half2, ..., or a"
                " struct before it)",
                span[0] + len(text[slice(*span)]) - len(text[slice(*span)].lstrip()),
            )
        type_, after = found
        align = max(align, type_.alignment)
        for piece in parts(text, after, span[1]):
            named = _MEMBER.match(text[: piece[1]], piece[0])
            at = 0 if head[1] == "union" else -(-at // type_.alignment) * type_.alignment
            if named is None:
                if text[slice(*piece)].strip() or not type_.members:
                    reader.refuse("a member has a name and sizes", piece[0])
                members += [Member(m.name, m.type, at + m.offset, m.sizes) for m in type_.members]
                sizes: tuple[int, ...] = ()
            else:
                dims = re.finditer(r"\[([^\]]*)\]", named[2])
                begin = named.start(2)
                sizes = tuple(
                    reader.size(begin + d.start(1), begin + d.end(1), False) or 1 for d in dims
                )
                members.append(Member(named[1], type_, at, sizes))
            at += type_.bytes * math.prod(sizes)
            most = max(most, at)
    whole = -(-most // align) * align
    name = head[3] or head[1]
    type_ = CType(name, whole, members=tuple(members), align=align)
    if head[3]:
        types[name] = type_
    return Record(type_, close + 1)
