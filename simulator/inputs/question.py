"""What is asked, in C: declarations of arrays, and one access to one of them.

    float s[32][33]; s[threadIdx.x][threadIdx.y]
    half2 t[128][33]; t[tid / 4][tid % 4] = x;              a store
    float s[64][64]; *(float4*)&s[tid / 16][tid % 16 * 4]   16 bytes per lane
    int r = tid / 8; float s[32][32]; s[r][tid % 8]         a name of one's own
    float s[32][33]; lane, 0                                row and column of the last array
    lane * 33                                               an index of elements

What stands to the right of a store's `=` is not read. Nothing is ever evaluated as Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from layouts.errors import short
from layouts.expression import GRAMMAR, Evaluate, nested, parsed, without_comments
from simulator.errors import ExpressionError
from simulator.inputs.place import Array, ArrayPlace, Index, PlaceCompiler
from simulator.inputs.refusals import why
from simulator.inputs.types import CType, first_word, type_at
from simulator.law.accesses import SHARED_BYTES

if TYPE_CHECKING:
    from lark import Token

__all__ = ["FLOAT", "Question", "is_question", "read_question"]

FLOAT = CType("float", 4)
"""The type of an element that no declaration names."""

_GRAMMAR = rf"""
    {GRAMMAR}
    indices: ternary (COMMA ternary)*
    %extend unary: BAND unary -> address | STAR unary -> follow | RETYPE unary -> retype
    %extend postfix: postfix LSQ ternary RSQ -> subscript
    %extend atom: RETYPED "(" ternary ")" -> retype
    COMMA: ","
    LSQ: "["
    RSQ: "]"
    RETYPE.5: /\(\s*[A-Za-z_][\w:\s]*[*&]\s*(?:(?:const|__restrict__)\s*)*\)/
    RETYPED.5: /(?:reinterpret|static)_cast\s*<[\w:\s]*[*&]\s*>/
"""

_SET = re.compile(r"(?P<by>[-+*/%&|^]|<<|>>)?(?<![=!<>])=(?!=)")
_KEYWORD = re.compile(r"\s*(if|for|while|do|return|switch|else)(?!\w)")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_DECLARATOR = re.compile(r"\s*([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)+)")


@dataclass(frozen=True)
class Question:
    """An access to an array, as it was read."""

    source: str
    array: Array
    type: CType
    """What is moved: the array's element, or the type that it is cast to."""
    subscripts: tuple[Index, ...]
    offsets: tuple[tuple[Index, int], ...]
    """What is added to the address, each with the bytes of its unit."""
    store: bool
    names: Mapping[str, int]
    """The names that it uses, with the column of their first use."""
    flat: bool
    """Whether only indices were given, and no element of an array."""


def is_question(text: str) -> bool:
    """Return whether a text cannot be a plain index: it declares, indexes or has two parts.

    >>> is_question("float s[32]; s[lane]"), is_question("lane, 0"), is_question("(lane%8)*4")
    (True, True, False)
    """
    return bool(re.search(r"[\[;,]", text))


def read_question(
    source: str,
    element: CType | None = None,
    names: Mapping[str, int] | None = None,
    array: Array | None = None,
    *,
    laid: bool = False,
    most: int = SHARED_BYTES,
) -> Question:
    """Return what a text asks.

    `element` is the type of elements where nothing is declared, `float` by default. `names` are
    constants that the sizes of arrays may use. `array` is what a row and a column are of where
    nothing is declared; where it is `laid`, a layout that the reader does not know is. `most` is
    the bytes that an array may take. Raises ExpressionError, which shows the column and says how
    it would be written.
    """
    if not isinstance(source, str):
        raise ExpressionError(
            f"expression of type {type(source).__name__} (accepted: text, such as"
            " 'float s[32][32]; s[threadIdx.x][threadIdx.y]')",
            short(source),
            0,
        )
    reader = _Reader(source, element or FLOAT, names or {}, laid=laid, most=most)
    if array is not None:
        reader.arrays[array.name] = array
    return reader.read()


class _Reader:
    def __init__(
        self,
        source: str,
        element: CType,
        constants: Mapping[str, int],
        *,
        laid: bool,
        most: int,
    ) -> None:
        self.source = source
        self.laid = laid
        self.most = most
        self.constants = constants
        self.text = without_comments(source)
        self.element = element
        self.arrays: dict[str, Array] = {}
        self.locals: dict[str, Evaluate] = {}
        self.names: dict[str, int] = {}

    def read(self) -> Question:
        found: Question | None = None
        start = 0
        for statement in self.text.split(";"):
            end = start + len(statement)
            if statement.strip():
                if found is not None:
                    self._refuse("one access at a time: this is the second", self._first(start))
                found = self._statement(start, end)
            start = end + 1
        if found is None:
            last = next(reversed(self.arrays.values()), None)
            example = (
                last.name + "[threadIdx.x]" * len(last.sizes)
                if last
                else "float s[32][32]; s[threadIdx.x][threadIdx.y]"
            )
            self._refuse(f"an access is missing, such as {example},", len(self.text.rstrip()))
        return found

    def _refuse(self, problem: str, column: int) -> NoReturn:
        raise ExpressionError(f"{problem} at column {column + 1}", self.source, column)

    def _first(self, start: int) -> int:
        blank = re.compile(r"\s*").match(self.text, start)
        return blank.end() if blank else start

    def _statement(self, start: int, end: int) -> Question | None:
        """Read a statement; None for a declaration."""
        text = self.text[:end]
        if keyword := _KEYWORD.match(text, start):
            self._refuse(
                f"{keyword[1]!r} is not taken (accepted: the access alone; choose its lanes by"
                " --active or --mask)",
                keyword.start(1),
            )
        setting = _assignment(self.text[start:end])
        if setting is None:
            if self._declares(start, end):
                return None
            return self._access(start, end, store=False)
        at = start + setting.start()
        name = _defined(self.text[:at], start)
        if name is None:
            if setting["by"]:
                self._refuse(
                    "a load and a store at once (accepted: s[...] for the load, s[...] = x for the"
                    " store)",
                    at,
                )
            return self._access(start, at, store=True)
        if name[1] in self.arrays:
            self._refuse(f"{name[1]} is an array: which element? (accepted: {name[1]}[...])", start)
        value = start + setting.end()
        compiler, trees = self._indices(value, end)
        if len(trees) == 1:
            found = nested(self.source, lambda: compiler.read(trees[0]))
            if not isinstance(found, ArrayPlace):
                self.locals[name[1]] = found
                self._used(compiler)
                return None
        return self._access(value, end, store=False)

    def _declares(self, start: int, end: int) -> bool:
        """Read a declaration, if it is one. Refuses `mytype s[32]`, whose type is not known."""
        text = self.text[:end]
        found = type_at(text, start)
        if found is None:
            word = first_word(text, start)
            if word and re.match(r"\s+[A-Za-z_]\w*\s*[\[,]", text[word.end() :]):
                self._refuse(
                    f"{word[1]} is not a type known here (accepted: float, half, int, double,"
                    " float4, half2, int8_t, ...)",
                    word.start(1),
                )
            return False
        type_, at = found
        if pointer := re.match(r"\s*[*&]+\s*(\w+)\s*$", text[at:]):
            self._refuse(
                f"{pointer[1]} is a pointer, whose array is not known (accepted: an array, such as"
                f" {type_.name} {pointer[1]}[32][32])",
                at + pointer.start(1),
            )
        if not _NAME.match(text, at):
            return False
        while True:
            at = self._declare(type_, at, end)
            if not text[at:].strip():
                return True
            if text[at] != ",":
                self._refuse(f"unexpected {text[at]!r}", at)
            at += 1

    def _tree(self, start: int, end: int) -> Any:
        if not self.text[start:end].strip():
            self._refuse("an access is missing, such as s[threadIdx.x],", start)
        try:
            return parsed(" " * start + self.text[start:end], "indices", self.source, _GRAMMAR)
        except ExpressionError as error:
            column = str(error).rsplit("\n", 1)[1].index("^") - 2
            known = why(self.text[:end], column)
            if known is None:
                raise
            problem, column, then = known
            raise ExpressionError(
                f"{problem} at column {column + 1}{then}", self.source, column
            ) from None

    def _declare(self, type_: CType, start: int, end: int) -> int:
        """Read one array of a declaration; return where it ends."""
        found = _DECLARATOR.match(self.text, start, end)
        if found is None:
            word = _NAME.match(self.text, start, end)
            self._refuse(
                "the size of an array is missing (accepted:"
                f" {type_.name} {word[1] if word else 's'}[32][32])",
                word.end() if word else start,
            )
        name, column = found[1], found.start(1)
        spans = [each.span(1) for each in re.finditer(r"\[([^\]]*)\]", found[2])]
        first = found.start(2)
        dims = [self._size(first + a, first + b, k == 0) for k, (a, b) in enumerate(spans)]
        bytes_ = type_.bytes * math.prod(dim or 1 for dim in dims)
        if bytes_ > self.most:
            self._refuse(
                f"{name} takes {bytes_:,} bytes (accepted: up to {self.most:,}, which a block"
                " can have)",
                column,
            )
        self.arrays[name] = Array(name, type_, tuple(dims))
        return found.end()

    def _size(self, start: int, end: int, first: bool) -> int | None:
        """Read the size of a dimension, which may be left open for the first one."""
        column = start - 1
        inner = self.text[start:end].strip()
        if not inner:
            if not first:
                self._refuse("only the first dimension may be left open (accepted: [32])", column)
            return None
        found = int(inner) if inner.isdecimal() and len(inner) < 9 else self._sized(start, end)
        if not 1 <= found <= SHARED_BYTES:
            self._refuse(f"a dimension of {found} (accepted: 1 to {SHARED_BYTES})", column)
        return found

    def _sized(self, start: int, end: int) -> int:
        compiler, trees = self._indices(start, end)
        if len(trees) > 1:
            comma = int(self.commas[0].start_pos or 0)
            self._refuse("a comma in brackets (accepted: s[row][column])", comma)
        evaluate = nested(self.source, lambda: compiler.index(trees[0]))
        for name, at in compiler.names.items():
            if name not in self.constants:
                self._refuse(
                    f"a dimension must be a number, and {name} is not one (accepted: const int"
                    f" {name} = 32; before the array, or -D {name}=32)",
                    at,
                )
        try:
            return int(evaluate(self.constants))
        except KeyError as error:  # a name that the text defines by a thread's numbers
            self._refuse(f"a dimension must be a number, and {error} is a thread's", start)

    def _used(self, compiler: PlaceCompiler) -> None:
        for name, column in compiler.names.items():
            self.names.setdefault(name, column)

    def _indices(self, start: int, end: int) -> tuple[PlaceCompiler, list[Any]]:
        tree = self._tree(start, end)
        self.commas: list[Token] = tree.children[1::2]
        compiler = PlaceCompiler(self.source, self.locals, self.arrays, self.element)
        return compiler, tree.children[::2]

    def _access(self, start: int, end: int, *, store: bool) -> Question:
        compiler, trees = self._indices(start, end)
        read = nested(self.source, lambda: [compiler.read(tree) for tree in trees])
        self._used(compiler)
        places = [each for each in read if isinstance(each, ArrayPlace)]
        if not places:
            if store:
                self._refuse(
                    "what is stored to is not an element of an array (accepted: s[...] = x)",
                    self._first(start),
                )
            return self._row_and_column(read, start, end)
        if len(read) > 1:
            self._refuse(
                "one access at a time: this is the second", int(self.commas[0].start_pos or 0) + 1
            )
        return self._element(places[0], store)

    def _element(self, place: ArrayPlace, store: bool) -> Question:
        array, given = place.array, len(place.subscripts)
        column = int(place.token.start_pos or 0)
        if self.laid:
            self._refuse_array(array, column)
        decays = place.moved or place.cast
        if not decays and given < len(array.sizes):
            wanted = array.name + "[...]" * len(array.sizes)
            if not given:
                self._refuse(
                    f"{array.name} is an array: which element? (accepted: {wanted})", column
                )
            self._refuse(
                f"{array.name} has {len(array.sizes)} dimensions, of which {given}"
                f" {'is' if given == 1 else 'are'} indexed (accepted: {wanted})",
                column,
            )
        nothing = Index(lambda values: 0, column, column)
        filled = (*place.subscripts, *[nothing] * (len(array.sizes) - given))
        return Question(
            self.source, array, place.type, filled, tuple(place.offsets), store, self.names, False
        )

    def _refuse_array(self, array: Array, column: int) -> NoReturn:
        self._refuse(
            f"the layout says where elements lie, and {array.name} is an array beside it (accepted:"
            " a row and a column of the layout, such as lane%16, lane/16*8)",
            column,
        )

    def _row_and_column(self, read: list[Evaluate], start: int, end: int) -> Question:
        """Return the element of the array declared last at these subscripts."""
        bounds = [start, *(int(comma.end_pos or 0) for comma in self.commas)]
        ends = [*(int(comma.start_pos or 0) for comma in self.commas), end]
        array = next(reversed(self.arrays.values()), None)
        if self.laid:
            if array is not None:
                self._refuse_array(array, self._first(start))
            array = Array("layout", self.element, (None,) * len(read), assumed=True)
        if array is None:
            array = Array("s", self.element, (None,), assumed=True)
        if len(read) != len(array.sizes):
            problem = (
                "a row and a column need a declaration (accepted: float s[32][32]; before them,"
                " or a layout)"
                if array.assumed
                else f"{array.name} has {len(array.sizes)} dimensions, and {len(read)}"
                f" {'index is' if len(read) == 1 else 'indices are'} given (accepted:"
                f" {array.name}{'[...]' * len(array.sizes)})"
            )
            self._refuse(problem, self._first(start))
        subscripts = tuple(map(Index, read, bounds, ends))
        return Question(self.source, array, array.type, subscripts, (), False, self.names, True)


def _defined(text: str, start: int) -> re.Match[str] | None:
    """Return the name that a value is given to, with its type or without; None for an element."""
    found = type_at(text, start)
    at = found[1] if found else start
    if auto := re.compile(r"\s*(?:const\s+)?auto(?!\w)").match(text, start):
        at = auto.end()
    return (
        re.compile(r"\s*[&*]*\s*([A-Za-z_]\w*)\s*$").match(text, at)
        if (at > start or _NAME.fullmatch(text, start))
        else None
    )


def _assignment(statement: str) -> re.Match[str] | None:
    """Return the first `=`, `+=`, ... that no bracket encloses."""
    for found in _SET.finditer(statement):
        before = statement[: found.start()]
        if all(before.count(a) == before.count(b) for a, b in ("()", "[]")):
            return found
    return None
