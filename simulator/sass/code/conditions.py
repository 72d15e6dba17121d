"""Which branches of `#if` a program has: those that its macros choose, in the files' own order.

Device code is left to the compiler, which preprocesses it itself. Host code is read here, so its
conditions are answered here, with the same macros. What only the compiler could answer stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from simulator.sass.code.calls import Caller
from simulator.sass.code.predefined import is_never_defined, predefined
from simulator.sass.code.preprocessor import Directive, Macro, blank, definitions
from simulator.sass.code.source import Source

__all__ = ["answered", "chosen"]

_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# What compilers and libraries define besides `predefined`; their values are not known here.
_COMPILERS = re.compile(
    r"_{1,2}(?:OPENMP|OPENACC|REENTRANT|THREAD_SAFE|CHAR_UNSIGNED|VERSION|DEPRECATED|AES|SHA|ABM"
    r"|(?:G(?:NU|CC|XX|LIBC)|LIBC|LIBSTD|STL|STD|PSTL|CPP|cpp|glibcxx|SIZEOF|U?INT|LONG|FLT|L?DBL"
    r"|DEC|FLOAT|SIG|CHAR|WCHAR|WINT|BYTE|ORDER|BIGGEST|REGISTER|WORDSIZE|OPTIMIZE|NO_|FAST_|FINITE"
    r"|FP|SSE|SSSE|AVX|BMI|FMA|F16C|MMX|POPCNT|SANITIZE|SSP|PIC|PIE|pic|pie|has_|builtin|HAVE_|USE_"
    r"|POSIX|XOPEN|ISOC|BSD|DEFAULT|LARGEFILE|FILE_|FORTIFY|ATOMIC|ATFILE|CUD|NV|CCCL|CUB|THRUST"
    r"|SM_|COUNTER|LINE|DATE|TIME)\w*)_*|_\w*_(?:H|HPP|CUH|INCLUDED)_*"
    r"|\w*VERSION\w*|NDEBUG|linux|unix|i386"
)
_FIRST = ("if", "ifdef", "ifndef")
_MORE = ("elif", "elifdef", "elifndef", "else")
_MOST_VISITS = 8  # of a header that is included again and again
_DEEPEST = 200
_MOST_MACROS = 16  # one inside the other
_LONGEST = 2000


class _State(IntEnum):
    """How a branch is read."""

    DEAD = 0
    OTHER = 1
    """The compiler chooses, and an earlier branch stands for all: its macros do not count."""
    LIVE = 2


@dataclass
class _Conditional:
    """An open conditional."""

    around: _State
    state: _State
    is_done: bool
    """Whether a branch was surely taken."""
    is_kept: bool = False
    """Whether its lines stay, because the compiler chooses."""


def answered(condition: Directive, known: Mapping[str, Macro]) -> bool | None:
    r"""Return whether a branch is taken in host code; None where only the compiler knows.

    >>> ask = lambda text: answered(Directive(0, 0, "if", text), {"N": Macro("N", None, "3")})
    >>> ask("N > 2 && !defined(M)"), ask("M"), ask("__CUDA_ARCH__ >= 800"), ask("defined(_OPENMP)")
    (True, False, False, None)
    """
    if condition.keyword == "else":
        return True
    if condition.keyword.endswith("def"):
        there = _is_defined(condition.rest.split(maxsplit=1)[0] if condition.rest else "", known)
        return there if there is None else there != condition.keyword.endswith("ndef")
    if len(condition.rest) > _LONGEST:
        return None
    sure = {_value(_put(condition.rest, known, unsure), known) for unsure in "01"}
    return sure.pop() if len(sure) == 1 else None


def _put(text: str, known: Mapping[str, Macro], unsure: str) -> str:
    """Put 0 or 1 where a text asks whether a macro is defined."""

    def answer(found: re.Match[str]) -> str:
        there = _is_defined(found[1] or found[2], known)
        return unsure if there is None else str(int(there))

    return _DEFINED.sub(answer, text)


def _is_defined(name: str, known: Mapping[str, Macro]) -> bool | None:
    if name in known:
        return True
    return None if not is_never_defined(name) and _COMPILERS.fullmatch(name) else False


def _value(text: str, known: Mapping[str, Macro]) -> bool | None:
    """Evaluate what is left; a name that nothing defines is 0, as for the compiler."""
    for _ in range(_MOST_MACROS):
        wider = _WORD.sub(lambda word: _plain_body(word[0], known), text)
        if wider == text or len(wider) > _LONGEST:
            break
        text = wider
    evaluator = Caller(dict(known), {})
    called = {*_WORD.findall(text)}
    called |= {word for name in called & known.keys() for word in _WORD.findall(known[name].body)}
    for word in called - known.keys() - {"true", "false"}:
        if is_never_defined(word) or not _COMPILERS.fullmatch(word):
            evaluator.declare(word, 0)
    found = evaluator.from_text(text)
    return bool(found) if isinstance(found, int | float) else None


def _plain_body(name: str, known: Mapping[str, Macro]) -> str:
    macro = known.get(name)
    return macro.body if macro is not None and macro.parameters is None else name


def chosen(main: Source, given: Mapping[str, Macro], files: Sequence[Source]) -> list[Source]:
    r"""Return a program's files without the branches that it does not take; `main` is the first.

    `given` are macros from the command line; the headers that files include are among `files`.

    >>> main = Source("#define A\n#ifdef A\nint a;\n#else\nint b;\n#endif")
    >>> chosen(main, {}, [])[0].text.split()
    ['#define', 'A', 'int', 'a;']
    """
    reader = _Preprocessor(given)
    reader.read(main)
    return [Source(reader.left(main).text, reader.ever), *map(reader.left, files)]


class _Preprocessor:
    """Follows includes in order, with the macros that are defined at each line."""

    def __init__(self, given: Mapping[str, Macro]) -> None:
        self.known = {**predefined(), **given}
        self.ever = dict(self.known)
        """Every macro that was defined, as it was last."""
        self.read_as: dict[int, list[list[str]]] = {}
        """Each file's text, piece by piece, as it was read each time."""
        self.depth = 0

    def left(self, source: Source) -> Source:
        """Return a file without what no reading took; one that was never read stays as it is."""
        readings = self.read_as.get(id(source))
        if not readings:
            return source
        text = "".join(
            max(each, key=lambda piece: len(piece.strip())) for each in zip(*readings, strict=True)
        )
        return source if text == source.text else Source(text, source.outside)

    def read(self, source: Source) -> None:
        """Read a file and what it includes."""
        readings = self.read_as.setdefault(id(source), [])
        if len(readings) >= _MOST_VISITS or self.depth >= _DEEPEST:
            return
        text, lines = source.text, source.lines
        if readings and any(each.keyword == "pragma" and each.rest == "once" for each in lines):
            return
        self.depth += 1
        for each in source.before:
            self.read(each)
        out: list[str] = []
        readings.append(out)
        open_: list[_Conditional] = []
        around_kernels = _around_kernels(source)
        out.append(text[: lines[0].start] if lines else text)
        for line, following in pairwise([*lines, Directive(len(text), len(text), "", "")]):
            said = text[line.start : line.end]
            out.append(self._line(line, said, open_, source, around_kernels))
            piece = text[line.end : following.start]
            state = open_[-1].state if open_ else _State.LIVE
            out.append(piece if state else blank(piece))
        self.depth -= 1

    def _line(
        self, line: Directive, said: str, open_: list[_Conditional], source: Source,
        around_kernels: set[int],
    ) -> str:  # fmt: skip
        """Read a preprocessor line; return what is left of it."""
        state = open_[-1].state if open_ else _State.LIVE
        if line.keyword in _FIRST:
            answer = answered(line, self.known) if state else False
            if state and line.start in around_kernels:
                answer = None
            taken = state if answer is not False else _State.DEAD
            open_.append(_Conditional(state, taken, answer is True, answer is None))
            return said if answer is None else blank(said)
        if line.keyword in _MORE and open_:
            return self._branch(line, said, open_[-1])
        if line.keyword == "endif" and open_:
            return said if open_.pop().is_kept else blank(said)
        if not state:
            return blank(said)
        for macro in definitions([line]):
            if state is _State.LIVE:
                self.known[macro.name] = self.ever[macro.name] = macro
            self.ever.setdefault(macro.name, macro)
        if state is _State.LIVE and line.keyword == "undef":
            self.known.pop(line.rest, None)
        elif state is _State.LIVE and (header := source.included.get(line.start)) is not None:
            self.read(header)
        return said

    def _branch(self, line: Directive, said: str, conditional: _Conditional) -> str:
        answer = answered(line, self.known) if conditional.around else False
        if conditional.is_done or answer is False:
            conditional.state = _State.DEAD
            return blank(said)
        conditional.is_done = answer is True
        if conditional.is_kept:  # an earlier branch stands for it
            conditional.state = min(conditional.around, _State.OTHER)
            return said
        conditional.state = conditional.around
        if answer is None:  # those before it are not taken: it is the first one now
            conditional.is_kept = True
            return said.replace("elif", "if", 1) + "  "
        return blank(said)


def _around_kernels(source: Source) -> set[int]:
    """Return where conditionals begin that choose kernels by the architecture.

    Host code launches what only device code has.
    """
    found: set[int] = set()
    if "__CUDA_ARCH__" not in source.text:
        return found
    open_: list[tuple[int, bool]] = []
    for line in source.lines:
        asks = "__CUDA_ARCH__" in line.rest
        if line.keyword in _FIRST:
            open_.append((line.start, asks))
        elif line.keyword in _MORE and open_:
            open_[-1] = (open_[-1][0], open_[-1][1] or asks)
        elif line.keyword == "endif" and open_:
            start, asked = open_.pop()
            if asked and "__global__" in source.text[start : line.start]:
                found.add(start)
    return found
