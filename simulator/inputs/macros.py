"""Macros and names of types, put into a text before it is read: `#define`, `typedef`, `using`.

    #define PAD 1
    #define AT(row, column) s[row][(column) ^ (row)]
    using T = float;
    __shared__ T s[32][32 + PAD]; AT(threadIdx.x, threadIdx.y)

Other lines that begin with # are not read: what they include or choose is the compiler's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simulator.errors import ExpressionError
from simulator.inputs.statements import closing, parts

__all__ = ["Macro", "expanded", "macro_of"]

_LINE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:\\\n|[^\n])*)", re.MULTILINE)
_DEFINE = re.compile(r"\s*([A-Za-z_]\w*)(\(([^()]*)\))?(.*)", re.DOTALL)
_RECORD = re.compile(r"\btypedef\s+(struct|union)\b([^{};]*)(\{[^{}]*\})\s*([A-Za-z_]\w*)\s*;")
_ALIAS = re.compile(
    r"\btypedef\s+([\w:\s]+?)\s+([A-Za-z_]\w*)\s*;|\busing\s+([A-Za-z_]\w*)\s*=\s*([\w:\s]+?)\s*;"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 4096
_DEEPEST = 16


class Macro(NamedTuple):
    """A `#define`; `parameters` is None where it takes none."""

    name: str
    parameters: tuple[str, ...] | None
    body: str

    @property
    def is_variadic(self) -> bool:
        """Whether it takes any number of arguments behind its named ones."""
        return bool(self.parameters) and (self.parameters or ("",))[-1] == "..."

    def put(self, arguments: Sequence[str]) -> str:
        """Return the body with arguments in the parameters' places."""
        names = self.parameters or ()
        values = dict(zip(names, arguments, strict=False))
        if self.is_variadic:
            values["__VA_ARGS__"] = ", ".join(arguments[len(names) - 1 :])
        return _WORD.sub(lambda name: values.get(name[0], name[0]), self.body)


def macro_of(line: str) -> Macro | None:
    """Return what a `#define` defines, by what stands behind that word; None: nothing.

    >>> macro_of("AT(r, c) s[r][c]")
    Macro(name='AT', parameters=('r', 'c'), body='s[r][c]')
    """
    found = _DEFINE.fullmatch(line)
    if found is None:
        return None
    listed = None
    if found[2]:
        listed = tuple(each.strip() for each in found[3].split(",") if each.strip())
    return Macro(found[1], listed, found[4].strip())


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
    macros: dict[str, Macro] = {}

    def define(line: re.Match[str]) -> str:
        rest = line[2].replace("\\\n", "  ")
        if line[1] == "define" and (macro := macro_of(rest)):
            macros[macro.name] = macro
        return re.sub(r"[^\n]", " ", line[0])

    def alias(found: re.Match[str]) -> str:
        name = found[2] or found[3]
        macros[name] = Macro(name, None, found[1] or found[4])
        return " " * len(found[0])

    rest = _RECORD.sub(r"\1\2 \4 \3;", _LINE.sub(define, text))
    return _written(_ALIAS.sub(alias, rest), macros, ())


def _written(text: str, macros: Mapping[str, Macro], within: tuple[str, ...]) -> str:
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
            least = len(macro.parameters) - macro.is_variadic
            if len(given) < least or (len(given) > least and not macro.is_variadic):
                raise ExpressionError(
                    f"{word[0]} has {len(macro.parameters)} parameters, and {len(given)} arguments"
                    f" are given at column {word.start() + 1}",
                    text,
                    word.start(),
                )
            body = macro.put([_written(each, macros, within) for each in given])
        out += [text[at : word.start()], _written(body, macros, (*within, word[0]))]
        at = end
        if sum(map(len, out)) > _LONGEST:
            raise ExpressionError(
                f"{word[0]} makes the text longer than {_LONGEST} characters", text, word.start()
            )
    return "".join([*out, text[at:]])


def _arguments(text: str, start: int) -> tuple[list[str], int] | None:
    """Return the arguments in the parentheses that begin here, and where they end."""
    opening = re.compile(r"\s*\(").match(text, start)
    close = closing(text, opening.end() - 1) if opening else None
    if opening is None or close is None:
        return None
    given = [text[first:end].strip() for first, end in parts(text, opening.end(), close)]
    return ([] if given == [""] else given), close + 1
