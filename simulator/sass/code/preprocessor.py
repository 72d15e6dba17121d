"""Preprocessor lines of a source file: where they stand, which macros and headers they name.

Nothing is expanded here; the compiler does that. What is needed before it: the lines that must
survive when host code is hidden, the macros that only qualify a function, and the headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from simulator.inputs.macros import Macro, macro_of

__all__ = ["QUALIFIERS", "Directive", "Macro", "attribute_calls", "blank",
           "branches", "definitions", "directives", "includes",
           "left_out", "macros", "plain", "qualifiers", "rows_of"]  # fmt: skip

_TOKENS = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r"|(?:\b(?:u8|[uUL])?R\"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)\"|\Z))"
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'"
    r"|(?m:^)[ \t]*\#(?:\\\r?\n|/\*.*?\*/|//[^\n]*|[^\n])*",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)

_DEFINED = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?")

_OPERATORS = re.compile(r"[;{}=+*/<>?!&|^%~]")
_TELLS = re.compile(r"\b(?:constexpr|consteval|__device__|__global__)\b")

QUALIFIERS = re.compile(
    r"\s+|extern\s*\"C\"|\[\[[^\]]*\]\]|__(?:attribute|declspec|launch_bounds)__?\s*\([^()]*"
    r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)|\b(?:__host__|__device__|__global__|__inline__"
    r"|__inline|_Noreturn|__extension__|extern|inline|__forceinline__|__forceinline|__noinline__|static|constexpr|const|volatile"
    r"|__restrict__|__restrict|restrict|__grid_constant__|__managed__|__constant__|__shared__"
    r"|__align__\s*\(\s*\w+\s*\)|alignas\s*\(\s*\w+\s*\)|noexcept|explicit|friend)(?!\w)"
)
"""What may stand before a function's type without being a part of it."""


@dataclass(frozen=True)
class Directive:
    """A preprocessor line, with its continuations."""

    start: int
    end: int
    keyword: str
    rest: str
    """What follows the keyword, on one line and without comments."""


def plain(text: str) -> str:
    r"""Return the text with comments, strings and preprocessor lines as spaces.

    >>> plain('int a; // b\n#define C\nf("x");')
    'int a;     \n         \nf(   );'
    """
    return _TOKENS.sub(lambda found: blank(found[0]), text)


def blank(text: str) -> str:
    """Return as many spaces, and the same line ends."""
    return re.sub(r"[^\n]", " ", text)


def directives(text: str) -> tuple[Directive, ...]:
    r"""Return the preprocessor lines in order.

    >>> [each.rest for each in directives("/*\n#if 0\n*/\n#define A \\\n  3 // three\n")]
    ['A    3']
    """
    found = []
    for token in _TOKENS.finditer(text):
        line = _DIRECTIVE.match(token[0])
        if line and token[0].lstrip().startswith("#"):
            rest = re.sub(r"\\\r?\n", " ", line[2])
            rest = re.sub(r"/\*.*?\*/|//[^\n]*", " ", rest, flags=re.DOTALL)
            found.append(Directive(token.start(), token.end(), line[1], rest.strip()))
    return tuple(found)


def macros(lines: Iterable[Directive]) -> dict[str, Macro]:
    r"""Return the macros that are defined: of several definitions of one the last that says most.

    One that makes a function constexpr, or the device's, is not undone by one that does not.

    >>> macros(directives("#if A\n#define C constexpr\n#else\n#define C\n#endif"))["C"].body
    'constexpr'
    """
    found: dict[str, Macro] = {}
    for macro in definitions(lines):
        before = found.get(macro.name)
        if before is None or _TELLS.search(macro.body) or not _TELLS.search(before.body):
            found[macro.name] = macro
    return found


def definitions(lines: Iterable[Directive]) -> Iterator[Macro]:
    """Yield the macro of each `#define`."""
    for line in lines:
        if line.keyword == "define" and (macro := macro_of(line.rest)):
            yield macro


def includes(lines: Iterable[Directive]) -> Iterator[tuple[Directive, str, bool]]:
    """Yield each `#include` that names its header: the line, the name, whether it is quoted."""
    for line in lines:
        if line.keyword in ("include", "include_next") and (
            named := re.match(r"\"([^\"]+)\"|<([^>]+)>", line.rest)
        ):
            yield line, named[1] or named[2], bool(named[1])


def rows_of(text: str, line: Directive) -> range:
    r"""Return the rows of a text, from 0, that a directive stands on.

    >>> text = "int a;\n\n#include \\\n  HEADER\nint b;"
    >>> rows_of(text, directives(text)[0])
    range(2, 4)
    """
    own = text[line.start : line.end]
    first = text.count("\n", 0, line.start + len(own.split("#", 1)[0]))
    return range(first, first + 1 + own.lstrip().count("\n"))


def qualifiers(known: Mapping[str, Macro]) -> dict[str, str]:
    r"""Return the macros that only qualify a function, such as HOST_DEVICE, with what they say.

    >>> qualifiers(macros(directives("#define HD __host__ __device__\n#define N 32")))
    {'HD': '__host__ __device__'}
    """
    found = {}
    calls = attribute_calls(known)
    bodies = {
        name: macro.body
        for name, macro in known.items()
        if macro.parameters is None
        and not QUALIFIERS.fullmatch(name)  # what stands for an old compiler's lack
    }
    for name, body in bodies.items():
        if _OPERATORS.search(body):  # it says more, whatever the rest stands for
            continue
        for _ in range(8):  # macros of macros
            wider = _expanded(body, bodies, name)
            if wider == body or len(wider) > 2000:
                break
            body = wider
        if calls:
            body = calls.sub(" ", body)
        if not QUALIFIERS.sub("", body):
            found[name] = body
    return found


def attribute_calls(known: Mapping[str, Macro]) -> re.Pattern[str] | None:
    r"""Return what finds macros with parameters that only qualify; None where there are none.

    >>> text = "#define PRINTS(...) __attribute__((format(printf, __VA_ARGS__)))"
    >>> attribute_calls(macros(directives(text))).sub("", "PRINTS(3, 4) void f();")
    ' void f();'
    """
    names = [
        re.escape(name)
        for name, macro in known.items()
        if macro.parameters is not None and macro.body and not QUALIFIERS.sub("", macro.body)
    ]
    if not names:
        return None
    return re.compile(rf"\b(?:{'|'.join(names)})\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")


def _expanded(text: str, bodies: Mapping[str, str], but: str) -> str:
    """Put macros' bodies in, but for one macro, which cannot stand in its own."""
    return re.sub(
        r"\b[A-Za-z_]\w*",
        lambda word: word[0] if word[0] == but else bodies.get(word[0], word[0]),
        text,
    )


def branches(text: str, lines: tuple[Directive, ...], last: bool) -> str:
    r"""Return the text without preprocessor lines, with one branch of each conditional.

    It is the first branch (the second of `#if 0`), or with `last` the last one. What is left out
    is spaces, so every character keeps its place.

    >>> text = "#if A\nint a;\n#else\nint b;\n#endif"
    >>> branches(text, directives(text), True)
    '     \n      \n     \nint b;\n      '
    """
    taken: list[bool] = []  # by open conditional: whether its current branch is read
    around: list[bool] = []  # whether the conditional itself is
    seen: list[bool] = []  # whether one was read already
    ends = _last_branches(lines) if last else set()
    out: list[str] = []
    place = 0
    for line, following in pairwise([*lines, Directive(len(text), len(text), "", "")]):
        if not out:
            out.append(text[: line.start])
        never = line.rest in ("0", "false")
        if line.keyword in ("if", "ifdef", "ifndef"):
            around.append(not taken or (around[-1] and taken[-1]))
            taken.append(not never and (not last or line.start in ends))
            seen.append(taken[-1])
        elif line.keyword in ("elif", "else", "elifdef", "elifndef") and taken:
            wanted = line.start in ends if last else not seen[-1]
            taken[-1] = wanted and not never
            seen[-1] = seen[-1] or taken[-1]
        elif line.keyword == "endif" and taken:
            taken.pop()
            around.pop()
            seen.pop()
        out.append(blank(text[line.start : line.end]))
        piece = text[line.end : following.start]
        out.append(piece if not taken or (around[-1] and taken[-1]) else blank(piece))
        place = following.start
    return "".join(out) + text[place:]


def left_out(text: str, lines: tuple[Directive, ...], known: Mapping[str, Macro]) -> str:
    r"""Return the text with spaces for branches that ask whether macros are defined in vain.

    Branches that ask anything else stay, all of them.

    >>> text = "#ifdef A\nint a;\n#elif B > 2\nint b;\n#else\nint c;\n#endif"
    >>> re.findall(r"\w;", left_out(text, directives(text), {"A": Macro("A", None, "")}))
    ['a;']
    >>> re.findall(r"\w;", left_out(text, directives(text), {}))
    ['b;', 'c;']
    """
    out, place = [], 0
    open_: list[tuple[bool, bool]] = []  # whether a branch was sure, whether this one is read
    around: list[bool] = []  # whether the conditional itself is
    for line, following in pairwise([*lines, Directive(len(text), len(text), "", "")]):
        if line.keyword in ("if", "ifdef", "ifndef"):
            answer = _asked(line, known)
            around.append(not open_ or (around[-1] and open_[-1][1]))
            open_.append((answer is True, answer is not False))
        elif line.keyword in ("elif", "else", "elifdef", "elifndef") and open_:
            answer = True if line.keyword == "else" else _asked(line, known)
            before = open_.pop()[0]
            open_.append((before or answer is True, not before and answer is not False))
        elif line.keyword == "endif" and open_:
            open_.pop()
            around.pop()
        piece = text[line.end : following.start]
        is_read = not open_ or (around[-1] and open_[-1][1])
        out += [text[place : line.end], piece if is_read else blank(piece)]
        place = following.start
    return "".join(out) + text[place:]


def _asked(line: Directive, known: Mapping[str, Macro]) -> bool | None:
    """Answer a condition that asks whether macros are defined; None where it asks more.

    What the compiler defines itself (__CUDA_ARCH__) is not known here.
    """
    if line.keyword.endswith("def"):
        if line.rest.startswith("_"):
            return None
        return (line.rest in known) == line.keyword.endswith("ifdef")
    for joint, all_of in (("&&", all), ("||", any)):
        parts = [_DEFINED.fullmatch(part.strip()) for part in line.rest.split(joint)]
        found = [
            (part[2] in known) != bool(part[1]) for part in parts if part and part[2][0] != "_"
        ]
        if len(found) == len(parts):
            return all_of(found)
    return None


def _last_branches(lines: tuple[Directive, ...]) -> set[int]:
    """Where the last branch of each conditional begins."""
    found, open_ = set(), []
    for line in lines:
        if line.keyword in ("if", "ifdef", "ifndef"):
            open_.append(line.start)
        elif line.keyword in ("elif", "else", "elifdef", "elifndef") and open_:
            if line.rest not in ("0", "false"):
                open_[-1] = line.start
        elif line.keyword == "endif" and open_:
            found.add(open_.pop())
    return found | set(open_)
