"""Macros that make kernels: `DEFINE_KERNEL(add, +)` stands for a whole `__global__` function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simulator.inputs.statements import closing, parts
from simulator.sass.code.preprocessor import Macro

__all__ = ["Making", "makings"]

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_DEEPEST = 6  # macros one inside the other
_LONGEST = 4 << 20


@dataclass(frozen=True)
class Making:
    """A use of a macro that makes a kernel."""

    start: int
    end: int
    """Behind its semicolon, if it has one."""
    text: str
    """What it stands for."""


def makings(bare: str, known: Mapping[str, Macro]) -> list[Making]:
    """Return the uses of such macros in a text without preprocessor lines, in order.

    >>> add = Macro("MAKE", ("N",), "__global__ void N ## _k(float *a) { }")
    >>> [each.text for each in makings("MAKE(add) MAKE(mul);", {"MAKE": add})]
    ['__global__ void add_k(float *a) { }', '__global__ void mul_k(float *a) { }']
    """
    names = _makers(known)
    return list(_uses(bare, names, known, 0)) if names else []


def _makers(known: Mapping[str, Macro]) -> set[str]:
    found = {name for name, macro in known.items() if "__global__" in macro.body}
    while (
        more := {name for name, macro in known.items() if found & set(_WORD.findall(macro.body))}
        - found
    ):
        found |= more
    return {name for name in found if known[name].parameters is not None}


def _uses(text: str, names: set[str], known: Mapping[str, Macro], depth: int) -> Iterator[Making]:
    end = 0
    if not names or len(text) > _LONGEST:
        return
    for call in re.finditer(rf"\b({'|'.join(map(re.escape, sorted(names)))})\s*\(", text):
        close = closing(text, call.end() - 1)
        if close is None or call.start() < end:
            continue
        given = [text[a:b].strip() for a, b in parts(text, call.end(), close)]
        put = re.sub(r"\s*##\s*", "", known[call[1]].put(given))
        inner = list(_uses(put, names - {call[1]}, known, depth + 1)) if depth < _DEEPEST else []
        for each in reversed(inner):
            put = put[: each.start] + each.text + put[each.end :]
        end = close + 1
        if "{" not in put:  # KERNEL(name)(float *a) { … }
            head = re.match(r"[^;{}]*(?=\{)", text[end:])
            body = closing(text, end + head.end()) if head is not None else None
            if head is None or body is None:
                continue
            put, end = f"{put}{head[0]}{{}}", body + 1
        elif behind := re.match(r"[ \t]*;", text[end:]):
            end += behind.end()
        if put.count("{") == put.count("}"):
            yield Making(call.start(), end, put)
