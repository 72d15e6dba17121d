"""Macros and names of types, put into a text before it is read: `#define`, `typedef`, `using`.

    #define PAD 1
    #define AT(row, column) s[row][(column) ^ (row)]
    using T = float;
    __shared__ T s[32][32 + PAD]; AT(threadIdx.x, threadIdx.y)

Other lines that begin with # are not read: what they include or choose is the compiler's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from simulator.errors import ExpressionError
from simulator.inputs.statements import closing, parts

__all__ = ["expanded"]

_LINE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:\\\n|[^\n])*)", re.MULTILINE)
_DEFINE = re.compile(r"\s*([A-Za-z_]\w*)(\(([^()]*)\))?(.*)", re.DOTALL)
_RECORD = re.compile(r"\btypedef\s+(struct|union)\b([^{};]*)(\{[^{}]*\})\s*([A-Za-z_]\w*)\s*;")
_ALIAS = re.compile(
    r"\btypedef\s+([\w:\s]+?)\s+([A-Za-z_]\w*)\s*;|\busing\s+([A-Za-z_]\w*)\s*=\s*([\w:\s]+?)\s*;"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 4096
_DEEPEST = 16


class _Macro(NamedTuple):
    parameters: tuple[str, ...] | None
    """None where it is not called."""
    body: str


def expanded(text: str) -> str:
    r"""Return a text, without comments, in which every macro and name of a type is written out.

    Without one, each character stays at its place.

    >>> expanded("#define N 32\n#define AT(r, c) s[r][c]\nfloat s[N][N]; AT(lane, 0)").strip()
    'float s[32][32]; s[lane][0]'
    >>> expanded("typedef float T; T s[32]; s[lane]").strip()
    'float s[32]; s[lane]'

    Raises ExpressionError for a macro that grows without end or is called with other arguments
    than it has.
    """
    if not re.search(r"#|\btypedef\b|\busing\b", text):
        return text
    macros: dict[str, _Macro] = {}

    def define(line: re.Match[str]) -> str:
        rest = line[2].replace("\\\n", "  ")
        found = _DEFINE.fullmatch(rest) if line[1] == "define" else None
        if found:
            names = None if found[2] is None else tuple(map(str.strip, found[3].split(",")))
            macros[found[1]] = _Macro(names if found[3] != "" else (), found[4].strip())
        return re.sub(r"[^\n]", " ", line[0])

    def alias(found: re.Match[str]) -> str:
        macros[found[2] or found[3]] = _Macro(None, found[1] or found[4])
        return " " * len(found[0])

    rest = _RECORD.sub(r"\1\2 \4 \3;", _LINE.sub(define, text))
    return _written(_ALIAS.sub(alias, rest), macros, ())


def _written(text: str, macros: Mapping[str, _Macro], within: tuple[str, ...]) -> str:
    """Return a text with its macros written out; one is not written out within itself."""
    out: list[str] = []
    at = 0
    for word in _WORD.finditer(text):
        macro = macros.get(word[0])
        if word.start() < at or macro is None or word[0] in within or len(within) > _DEEPEST:
            continue
        end, body = word.end(), macro.body
        if macro.parameters is not None:
            called = _arguments(text, end)
            if called is None:  # named, and not called
                continue
            given, end = called
            if len(given) != len(macro.parameters):
                raise ExpressionError(
                    f"{word[0]} has {len(macro.parameters)} parameters, and {len(given)} arguments"
                    f" are given at column {word.start() + 1}",
                    text,
                    word.start(),
                )
            values = {
                name: _written(each, macros, within)
                for name, each in zip(macro.parameters, given, strict=True)
            }
            body = _put(values, body)
        out += [text[at : word.start()], _written(body, macros, (*within, word[0]))]
        at = end
        if sum(map(len, out)) > _LONGEST:
            raise ExpressionError(
                f"{word[0]} makes the text longer than {_LONGEST} characters", text, word.start()
            )
    return "".join([*out, text[at:]])


def _put(values: Mapping[str, str], body: str) -> str:
    return _WORD.sub(lambda name: values.get(name[0], name[0]), body)


def _arguments(text: str, start: int) -> tuple[list[str], int] | None:
    """Return the arguments in the parentheses that begin here, and where they end."""
    opening = re.compile(r"\s*\(").match(text, start)
    close = closing(text, opening.end() - 1) if opening else None
    if opening is None or close is None:
        return None
    given = [text[first:end].strip() for first, end in parts(text, opening.end(), close)]
    return ([] if given == [""] else given), close + 1
