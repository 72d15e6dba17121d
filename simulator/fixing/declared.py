"""Declarations of shared arrays in the source, with the places of their sizes in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from simulator.inputs.types import type_at
from simulator.sass.code.demangling import demangled
from simulator.sass.code.evaluation import Evaluator
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.code.preprocessor import Macro, directives, macros, plain

__all__ = [
    "Declared", "brackets", "constants", "declarations", "is_subscripted", "line_of", "lines_of",
    "named", "resolved", "scope_of",
]  # fmt: skip

_SHARED = re.compile(r"\b__shared__\b")
_ALIGNED = re.compile(r"\b(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)")
_RECORD = re.compile(
    r"(?:\busing\s+(\w+)\s*=\s*|\b(typedef)\s+)?\b(union|struct|class)\b([^;{}()]*)\{"
)
_TYPE = re.compile(
    r"\s*(?:(?:volatile|const|static|typename|struct|union|class)\b\s*)*([A-Za-z_][\w:]*)"
)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)*)")
_DIM = re.compile(r"\[([^\[\]]*)\]")
_CONSTANT = re.compile(
    r"\b(?:constexpr|const)\s+(?:static\s+|inline\s+|unsigned\s+|long\s+)*(?:int|unsigned|auto|short|char|long|"
    r"size_t|std::size_t|u?int\d+_t)\s+([^;{}()]*(?:\([^;{}]*?\))?[^;{}]*);"
)
_ENUM = re.compile(r"\benum\b[^{};]*\{([^}]*)\}")
_ALIAS = re.compile(
    r"\busing\s+(\w+)\s*=\s*([^;]+);|\btypedef\s+([\w:\s]+?)\s+(\w+)\s*((?:\[[^\[\];]*\]\s*)*);"
)
_SIZED = re.compile(r"(.*?)\s*((?:\[[^\[\]]*\]\s*)+)")
_TEMPLATE = re.compile(r"\btemplate\s*<([^<>]*)>\s*(?=[^;{}]*?\b(\w+)\s*\()")


@dataclass(frozen=True)
class Declared:
    """A shared array as the source declares it."""

    file: str
    line: int
    type: str
    name: str
    dims: tuple[str, ...]
    """The text of each size."""
    places: tuple[tuple[int, int], ...]
    """Where each size stands in the file: first character, and behind the last. The sizes of a
    type come last, and have none; nor has what a macro declares."""
    element: int | None
    """Bytes of an element; None: not known."""
    sizes: tuple[int | None, ...] = ()
    """The sizes' values, where they are known."""
    is_dynamic: bool = False
    """Whether the launch gives its size."""
    in_union: bool = False
    """Whether it is one of several views of the same memory."""
    start: int = -1
    """Where its name stands in the file; of what a macro declares, where the macro stands."""
    owner: str = ""
    """What has sizes that do not stand in the declaration: a type, or a macro."""

    @property
    def bytes(self) -> int | None:
        """Bytes of the array; None where a size is not known."""
        known = [each for each in self.sizes if each is not None]
        whole = len(known) == len(self.sizes) and self.element
        return prod(known) * self.element if whole and self.element else None

    @property
    def has_rows(self) -> bool:
        """Whether the lengths of its rows are known: of the sizes all but the first."""
        return len(self.sizes) > 1 and None not in self.sizes[1:]

    @property
    def pitch(self) -> int:
        """Bytes of a row; 0: not known."""
        return (self.sizes[-1] or 0) * (self.element or 0) if self.sizes else 0

    def said(self, dims: Sequence[str] | None = None) -> str:
        """Return it as C, with these sizes."""
        return self.name + "".join(f"[{each}]" for each in (self.dims if dims is None else dims))


def declarations(
    sources: Mapping[str, tuple[str, ...]], given: Mapping[str, Macro] | None = None
) -> list[Declared]:
    """List the shared arrays that sources declare, in order; `given`: macros from elsewhere."""
    return [
        each
        for file, lines in sources.items()
        for each in _of_file(file, "\n".join(lines), given or {})
    ]


def line_of(code: SassInstruction, sources: Mapping[str, tuple[str, ...]]) -> str:
    """Return the source line of an instruction without comments and texts; "" if not known."""
    line, lines = code.line or 0, sources.get(code.file, ())
    return plain(lines[line - 1]) if 0 < line <= len(lines) else ""


def named(text: str, name: str) -> Iterator[re.Match[str]]:
    """Yield where a text names an array: not a member of that name, as in `p->t` or `s.t`."""
    for found in re.finditer(rf"(->\s*|\.\s*)?\b{re.escape(name)}\b", text):
        if found[1] is None:
            yield found


def brackets(bare: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the insides of the brackets that follow a name."""
    while (opened := re.compile(r"\s*\[").match(bare, at)) is not None:
        depth, place = 1, opened.end()
        while depth and place < len(bare):
            depth += {"[": 1, "]": -1}.get(bare[place], 0)
            place += 1
        yield opened.end(), place - 1
        at = place


def is_subscripted(line: str, name: str) -> bool:
    """Whether a line has an array's name with a subscript."""
    return any(re.match(r"\s*\[", line[found.end() :]) for found in named(line, name))


def scope_of(bare: str, place: int) -> tuple[int, int]:
    """Return the innermost braces around a place."""
    depth, start = 0, place
    while start > 0 and depth >= 0:
        start -= 1
        depth += {"}": 1, "{": -1}.get(bare[start], 0)
    depth, end = 1, start + 1
    while depth and end < len(bare):
        depth += {"{": 1, "}": -1}.get(bare[end], 0)
        end += 1
    return start, end


def lines_of(declared: Declared, text: str) -> range:
    """Return the lines in which an array can be named: those of the braces around it, or all."""
    start, end = scope_of(plain(text), declared.start)
    return range(text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 2)


def _of_file(file: str, text: str, given: Mapping[str, Macro]) -> Iterator[Declared]:
    bare = plain(text)
    known = macros(directives(text))
    shared = {"__shared__", *(each.name for each in known.values() if each.body == "__shared__")}
    names = re.compile(rf"\b(?:{'|'.join(sorted(shared))})\b")
    reader = _Reader(file, bare, names, _evaluator(text, bare, given))
    yield from reader.declared(bare)
    for macro in known.values():
        if "__shared__" not in macro.body or macro.name in shared:
            continue
        for used in re.finditer(rf"\b{macro.name}\b(?:\s*\(([^()]*)\))?", bare):
            arguments = [part.strip() for part in (used[1] or "").split(",")]
            body = macro.body
            for name, value in zip(macro.parameters or (), arguments, strict=False):
                body = re.sub(rf"(?:##\s*)?\b{name}\b", value.replace("\\", r"\\"), body)
            line = text.count("\n", 0, used.start()) + 1
            for each in reader.declared(f"{body};"):
                owner = f"the macro {macro.name}"
                yield replace(each, line=line, places=(), start=used.start(), owner=owner)


class _Reader:
    """Reads declarations of a file."""

    def __init__(self, file: str, bare: str, shared: re.Pattern[str], evaluator: Evaluator) -> None:
        self.file, self.shared, self.evaluator = file, shared, evaluator
        self.aliases = {
            (one or other): f"{(of or kind).strip()}{dims}"
            for one, of, kind, other, dims in _ALIAS.findall(bare)
        }
        self.unions = _unions(bare, self.aliases)

    def declared(self, bare: str) -> Iterator[Declared]:
        """Yield what a text without comments declares."""
        for found in self.shared.finditer(bare):
            before = max(bare.rfind(mark, 0, found.start()) for mark in ";{}") + 1
            is_dynamic = "extern" in bare[before : found.start()]
            record = _record(self.file, bare, found.end(), self.unions)
            if record is not None:
                yield replace(record, is_dynamic=is_dynamic)
            else:
                yield from self._arrays(bare, found.end(), is_dynamic)

    def _arrays(self, bare: str, at: int, is_dynamic: bool) -> Iterator[Declared]:
        """Yield the arrays of the declaration whose type follows."""
        end = bare.find(";", at)
        if end < 0 or "(" in _DIM.sub("", _ALIGNED.sub("", bare[at:end])).split("=")[0]:
            return  # a function
        rest = _ALIGNED.sub(lambda each: " " * len(each[0]), bare[at:end])
        is_dynamic |= re.match(r"\s*extern\b", rest) is not None
        rest = re.sub(
            r"\b(?:volatile|const|static|extern)\b", lambda each: " " * len(each[0]), rest
        )
        kind = re.match(
            r"\s*((?:unsigned\s+|signed\s+|long\s+)*[A-Za-z_][\w:]*(?:<[^;]*?>)?)\s", rest
        )
        if kind is None:
            return
        name_at, declared_type = kind.end(), " ".join(kind[1].split())
        element, of_type = self._typed(declared_type)
        while (name := _NAME.match(rest, name_at)) is not None:
            offset = at + name.start(2)
            own = tuple(_DIM.finditer(name[2]))
            dims = (*(each[1].strip() for each in own), *of_type)
            yield Declared(
                self.file, bare.count("\n", 0, at + name.start(1)) + 1, declared_type, name[1],
                dims, tuple(_stripped(offset + each.start(1), each[1]) for each in own), element,
                tuple(_whole(self.evaluator.from_text(each)) if each else None for each in dims),
                is_dynamic, is_dynamic and self._seen_as_union(name[1], bare), at + name.start(1),
                f"the type {declared_type}" if of_type or not dims else "",
            )  # fmt: skip
            comma = rest.find(",", name.end())
            if comma < 0:
                break
            name_at = comma + 1

    def _seen_as_union(self, name: str, bare: str) -> bool:
        """Whether a statement has raw memory and the type of a union, as a cast of it does."""
        said = (each for each in re.split(r"[;{}]", bare) if _has(each, {name}))
        return any(_has(each, self.unions) for each in said)

    def _typed(self, kind: str) -> tuple[int | None, tuple[str, ...]]:
        """Return the bytes of a type's elements, None where not known, and the type's sizes."""
        dims: list[str] = []
        for _ in range(8):
            sized = _SIZED.fullmatch(kind)
            if sized is not None:
                kind = sized[1]
                dims += (each[1].strip() for each in _DIM.finditer(sized[2]))
            found = type_at(kind + " ")
            if found is not None:
                return found[0].bytes, tuple(dims)
            if kind not in self.aliases:
                break
            kind = self.aliases[kind]
        return None, tuple(dims)


def _stripped(start: int, text: str) -> tuple[int, int]:
    """Return where a text stands without the spaces around it."""
    start += len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _unions(bare: str, aliases: Mapping[str, str]) -> set[str]:
    """Return the types of a file that are a union, or hold one."""
    found, bare = set[str](), _ALIGNED.sub("", bare)
    for record in _RECORD.finditer(bare):
        end = _closing(bare, record.end())
        if record[3] != "union" and not _has(bare[record.end() : end], {"union", *found}):
            continue
        found.update(re.findall(r"(\w+)\s*(?::.*)?$", record[4].strip(), re.DOTALL))
        found.update(filter(None, [record[1]]))
        if record[2]:
            found.update(re.findall(r"\w+", bare[end : bare.find(";", end)]))
    for _ in range(2):  # an alias may be of one that stands behind it
        found.update(name for name, kind in aliases.items() if _has(kind, found))
    return found


def _has(text: str, words: set[str]) -> bool:
    return not words.isdisjoint(re.findall(r"\w+", text))


def _closing(bare: str, at: int) -> int:
    """Return the place behind the brace that closes what is open at a place."""
    depth = 1
    while depth and at < len(bare):
        depth += {"{": 1, "}": -1}.get(bare[at], 0)
        at += 1
    return at


def _record(file: str, bare: str, at: int, unions: set[str]) -> Declared | None:
    """Return what is declared behind `__shared__`: a union, what holds one, or a struct in place.

    The members of a struct stand there, and have the sizes.
    """
    rest = _ALIGNED.sub(lambda each: " " * len(each[0]), bare[at:])
    opened = re.match(r"\s*(?:union|struct)\b[^;{}()]*\{", rest)
    if opened is not None:
        end = _closing(rest, opened.end())
        holds = _has(rest[:end], {"union", *unions})
        name = re.compile(r"\s*([A-Za-z_]\w*)").match(rest, end)
    else:
        end = rest.find(";")
        kind = _TYPE.match(rest)
        holds = kind is not None and kind[1].rpartition("::")[2] in unions
        name = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)*$", rest[:end])
    line = bare.count("\n", 0, at) + 1
    if opened is not None and not holds and name is not None:
        owner, start = f"the struct in line {line}", at + name.start(1)
        return Declared(file, line, "struct", name[1], (), (), None, start=start, owner=owner)
    if not holds or name is None:
        return None
    return Declared(file, line, "union", name[1], (), (), None, in_union=True)


def _evaluator(text: str, bare: str, given: Mapping[str, Macro] | None = None) -> Evaluator:
    """Know the constants that a file defines, and the macros that it is given.

    Those count where the file defines them, too: it mostly does so for who gives none.
    """
    evaluator = Evaluator({**macros(directives(text)), **(given or {})}, {})
    for _ in range(2):  # a constant may use one that stands behind it
        for found in _CONSTANT.finditer(bare):
            for part in re.split(r",(?![^()]*\))", found[1]):
                name, equals, value = part.partition("=")
                number = _whole(evaluator.from_text(value.strip())) if equals else None
                if number is not None and name.strip().isidentifier():
                    evaluator.declare(name.strip(), number)
    for found in _ENUM.finditer(bare):
        next_value: int | None = 0
        for part in found[1].split(","):
            name, equals, value = part.partition("=")
            next_value = _whole(evaluator.from_text(value.strip())) if equals else next_value
            if next_value is not None and name.strip().isidentifier():
                evaluator.declare(name.strip(), next_value)
                next_value += 1
    return evaluator


def constants(text: str, bare: str) -> Callable[[str], int | None]:
    """Return what gives an expression's value by the constants that a file defines, or None."""
    evaluator = _evaluator(text, bare)
    return lambda said: _whole(evaluator.from_text(said))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def resolved(
    declared: Declared, size: int, kernel: str, sources: Mapping[str, tuple[str, ...]],
    given: Mapping[str, Macro] | None = None,
) -> Declared:  # fmt: skip
    """Return a declaration with all its sizes, where `size` bytes and the template tell them."""
    sizes = list(declared.sizes)
    if None in sizes:
        values = _template_values(kernel, sources)
        if values:
            text = "\n".join(sources[declared.file])
            evaluator = _evaluator(text, plain(text), given)
            for name, value in values.items():
                evaluator.declare(name, value)
            sizes = [_whole(evaluator.from_text(each)) if each else None for each in declared.dims]
    element = declared.element
    known = prod(each for each in sizes if each is not None)
    if None not in sizes and element and known * element != size:
        sizes = [None] * len(sizes)  # a macro was defined elsewhere
    if element is None and None not in sizes and sizes and size % prod(filter(None, sizes)) == 0:
        element = size // prod(each or 1 for each in sizes)
    unknown = [place for place, each in enumerate(sizes) if each is None]
    if element and unknown and len({declared.dims[place] for place in unknown}) == 1:
        known = prod(each for each in sizes if each is not None) * element
        root = round((size / known) ** (1 / len(unknown)))
        if root ** len(unknown) * known == size:
            sizes = [root if each is None else each for each in sizes]
    return replace(declared, sizes=tuple(sizes), element=element)


def _template_values(kernel: str, sources: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return the numbers that a kernel's template was given, by their names."""
    name = demangled(kernel)
    plain_name, angle, rest = name.partition("<")
    if not angle:
        return {}
    given = [part.strip() for part in rest.rstrip(">").split(",")]
    for lines in sources.values():
        for found in _TEMPLATE.finditer(plain("\n".join(lines))):
            if found[2] != plain_name.rpartition("::")[2]:
                continue
            names = [part.split("=")[0].split()[-1] for part in found[1].split(",") if part.strip()]
            return {
                key: int(value)
                for key, value in zip(names, given, strict=False)
                if re.fullmatch(r"-?\d+", value)
            }
    return {}
