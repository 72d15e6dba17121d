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

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from layouts.c_arithmetic import narrowed
from layouts.errors import short
from layouts.expression import Evaluate, nested
from layouts.triton import is_triton
from simulator.errors import ExpressionError
from simulator.inputs.declaring import Declarations
from simulator.inputs.functions import Called, called_on
from simulator.inputs.place import Array, ArrayPlace, Index, kept
from simulator.inputs.records import record_at
from simulator.inputs.statements import alone, assignment, closing, parts, statements
from simulator.inputs.types import CType, is_unsigned, type_at
from simulator.law.accesses import SHARED_BYTES

__all__ = ["FLOAT", "Question", "by_thread", "is_question", "read_question"]

FLOAT = CType("float", 4)
"""The type of an element that no declaration names."""

_KEYWORD = re.compile(r"\s*(if|for|while|do|return|switch|else)(?!\w)")
_OPTION = re.compile(r"(block|chip|op|element|rule|warp)\b\s*[:=]?\s*([\w.]+)")
"""What is asked beside the question, written as a part of it."""
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_VALUE = re.compile(
    r"(?P<sign>(?:[*&\s]|(?:const|volatile|__restrict__|__restrict)(?!\w))*)(?P<name>[A-Za-z_]\w*)\s*"
    r"|\s*\(\s*[*&]\s*(?P<row>[A-Za-z_]\w*)\s*\)\s*(?:\[[^\[\]]*\]\s*)+"
)
_LAYOUT = re.compile(r"\s*(?:(?:Sw|S|Swizzle)\s*<\s*\d|\([\d_,\s()]*\)\s*:\s*[\d_(])")
_AUTO = re.compile(r"\s*(?:(?:static|const|constexpr)\s+)*auto(?!\w)")
_ATOMIC = re.compile(
    r"\s*atomic(Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_block|_system)?\s*(?=\()"
)


def by_thread(dimensions: int) -> str:
    """Return subscripts as a block has them: threads side by side read elements side by side."""
    axes = [f"threadIdx.{axis}" for axis in "zyx"[max(3 - dimensions, 0) :]]
    return "".join(f"[{each}]" for each in ["0"] * (dimensions - 3) + axes)


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
    atomic: str = ""
    """What an atomic function does: ADD, MAX, ...; COUNT adds 1, and the old value is not used."""
    loads: bool = False
    """Whether a store's `=` has an array to its right, which is another access."""
    called: tuple[Called, ...] = ()
    """Functions and macros that are called on the element."""


def is_question(text: str) -> bool:
    """Return whether a text cannot be a plain index: it declares, indexes or has two parts.

    >>> is_question("float s[32]; s[lane]"), is_question("lane, 0"), is_question("(lane%8)*4")
    (True, True, False)
    """
    return bool(re.search(r"[\[;,]", text))


def _shown(char: str) -> bool:
    return char.isprintable() or char in "\t\n\r"


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

    Raises ExpressionError, which shows the column and says how it would be written.

    Parameters
    ----------
    source
        The text.
    element
        The type of elements where nothing is declared, by default `float`.
    names
        Constants that the sizes of arrays may use.
    array
        What a row and a column are of, where nothing is declared.
    laid
        Whether a layout, which this reader does not know, says where they lie.
    most
        Bytes that an array may take.
    """
    if not isinstance(source, str):
        raise ExpressionError(
            f"expression of type {type(source).__name__} (accepted: text, such as"
            " 'float s[32][32]; s[threadIdx.x][threadIdx.y]')",
            short(source),
            0,
        )
    odd = next((at for at, each in enumerate(source) if not _shown(each)), None)
    if odd is not None:  # in a comment, too: a terminal would obey it
        said = f"unexpected {source[odd]!r} at column {odd + 1} (accepted: text without controls)"
        raise ExpressionError(said, source, odd)
    if _LAYOUT.match(source) or is_triton(source):
        raise ExpressionError(
            "a layout alone does not say which elements the lanes access (accepted: bankwise"
            " explain"
            f" 'lane%16, lane/16*8' --layout {shlex.quote(source.strip())} --op ldmatrix.x4; in"
            " Python layout=) at column 1",
            source,
            0,
        )
    reader = _Reader(source, element or FLOAT, names or {}, laid=laid, most=most)
    if array is not None:
        reader.scope.arrays[array.name] = array
    return reader.read()


class _Reader(Declarations):
    def read(self) -> Question:
        found: Question | None = None
        spans = statements(self.text)
        for number, (start, end) in enumerate(spans, 1):
            if found is not None:
                self._refuse_second(self.first(start), self.text[:start], self.text[start:])
            found = self._statement(start, end, last=number == len(spans))
        if found is None:
            last = next(reversed(self.scope.arrays.values()), None)
            example = (
                last.name + by_thread(len(last.sizes))
                if last
                else "float s[32][32]; s[threadIdx.x][threadIdx.y]"
            )
            self.refuse(f"an access is missing, such as {example},", len(self.text.rstrip()))
        return found

    def _statement(self, start: int, end: int, *, last: bool) -> Question | None:
        """Read a statement; None for a declaration."""
        text = self.text[:end]
        if keyword := _KEYWORD.match(text, start):
            ways = (
                "the access alone, and a value for the variable of the loop, such as -D k=0"
                if keyword[1] in ("for", "while", "do")
                else "the access alone; choose its lanes by --active or --mask"
            )
            self.refuse(f"{keyword[1]!r} is not accepted here (accepted: {ways})", keyword.start(1))
        record = nested(
            self.source, lambda: record_at(self.text, start, end, self.scope.types, self)
        )
        if record is not None:
            self.declared(record.type, record.end, end)
            return None
        found = type_at(text, start, self.scope.types)
        auto = _AUTO.match(text, start)
        if found is not None or auto:
            at = found[1] if found else auto.end() if auto else start
            pieces = parts(self.text, at, end)
            settings = [assignment(self.text[a:b]) for a, b in pieces]
            if any(settings) and _VALUE.match(text, at):
                return self._values(found and found[0], pieces, settings, last=last)
        setting = assignment(self.text[start:end])
        if setting is None:
            if self.declares(start, end):
                return None
            return self._access(start, end, store=False)
        at = start + setting.start()
        if _NAME.fullmatch(self.text[:at], start) and not self._is_scalar(start, at):
            return self._value(start, end, setting, last=last)
        if not self._leads(start, at) and self._leads(start + setting.end(), end):
            return self._access(start + setting.end(), end, store=False)  # out[i] = s[lane]
        if setting["by"]:
            self._refuse_both(at)
        question = self._access(start, at, store=True)
        return replace(question, loads=self._leads(start + setting.end(), end))

    def _refuse_both(self, column: int) -> NoReturn:
        self.refuse(
            "a load and a store at once (accepted: s[...] for the load, s[...] = x for the store)",
            column,
        )

    def _refuse_second(self, column: int, first: str, second: str) -> NoReturn:
        """Refuse a second access, with the command that weighs both; or an option as one."""
        option = _OPTION.fullmatch(second.strip(" \t\n,;-"))
        if option is not None:
            self.refuse(
                f"{option[0]!r} is not an access (accepted: as an option behind the question,"
                f" --{option[1]} {option[2]})",
                column,
            )
        accesses = (shlex.quote(" ".join(each.split()).strip(" ,;")) for each in (first, second))
        command = " ".join(f"--access {each}" for each in accesses)
        self.refuse(
            f"this is a second access (accepted: one; bankwise optimize {command}"
            " finds a layout for both)",
            column,
        )

    def _leads(self, start: int, end: int) -> bool:
        """Return whether a part of the text names something in shared memory."""
        return any(
            map(self.scope.knows, re.findall(r"(?<![\w.])[A-Za-z_]\w*", self.text[start:end]))
        )

    def _is_scalar(self, start: int, end: int) -> bool:
        """Return whether a name is that of one element: a scalar, or a reference to an element."""
        name = self.text[start:end].strip()
        array, place = self.scope.arrays.get(name), self.scope.pointers.get(name)
        return (array is not None and not array.sizes) or (place is not None and not place.pointer)

    def _values(
        self,
        type_: CType | None,
        pieces: Sequence[tuple[int, int]],
        settings: Sequence[re.Match[str] | None],
        *,
        last: bool,
    ) -> Question | None:
        """Read `int x = tid % 8, y = tid / 8`."""
        found: Question | None = None
        for (start, end), setting in zip(pieces, settings, strict=True):
            if setting is None:
                if type_ is not None and "[" in self.text[start:end]:
                    self.declared(type_, start, end)
                continue
            one = self._value(start, end, setting, type_, last=last)
            if one is not None and found is not None:
                self._refuse_second(self.first(start), self.text[:start], self.text[start:end])
            found = found or one
        return found

    def _value(
        self,
        start: int,
        end: int,
        setting: re.Match[str],
        type_: CType | None = None,
        *,
        last: bool,
    ) -> Question | None:
        """Read a name that is given a value: a number, a pointer, or what is loaded."""
        at, value = start + setting.start(), start + setting.end()
        named = _VALUE.fullmatch(self.text, start, at)
        if named is None:
            self.refuse("a name is missing before =", at)
        name, sign = named["name"] or named["row"], named["sign"] or "&"
        if name in self.scope.arrays:
            self.refuse(
                f"{name} is an array: which element? (accepted: {name}[...])", self.first(start)
            )
        try:
            compiler, trees = self.indices(value, end)
            read = nested(self.source, lambda: [compiler.read(each) for each in trees])
        except ExpressionError:
            if not self._leads(value, end):
                raise
            return self._access(value, end, store=False)  # it calculates with what is loaded
        one = read[0]
        place = one if isinstance(one, ArrayPlace) else None
        if len(read) > 1 or (place and (last or not (place.pointer or "&" in sign))):
            return self._access(value, end, store=False)
        if setting["by"]:
            self.refuse(
                f"{setting[0]} is not accepted here (accepted: = alone, such as {name} = {name}"
                f" {setting['by']} ...)",
                at,
            )
        self.use(compiler)
        for names in (self.scope.pointers, self.scope.locals):
            names.pop(name, None)
        self.scope.unsigned.discard(name)
        if isinstance(one, ArrayPlace):
            self.scope.pointers[name] = one
            return None
        if type_ := type_ or self.scope.kinds.get(name):  # a name that is set again keeps its type
            self.scope.kinds[name] = type_
        self.scope.locals[name] = kept(one, narrowed(type_.name) if type_ else None)
        if is_unsigned(type_.name) if type_ else compiler.is_unsigned(trees[0]):
            self.scope.unsigned.add(name)
        return None

    def _access(self, start: int, end: int, *, store: bool) -> Question:
        if atomic := _ATOMIC.match(self.text, start, end):
            return self._atomic(atomic, end)
        if step := re.search(r"^\s*(\+\+|--)|(\+\+|--)\s*$", self.text[start:end]):
            self._refuse_both(start + step.start(step.lastindex or 0))
        try:
            compiler, trees = self.indices(start, end)
            read = nested(self.source, lambda: [compiler.read(tree) for tree in trees])
        except ExpressionError:
            found = alone(self.text, start, end, self.scope.knows)
            if not found or self.text[slice(*found[0])] == self.text[start:end].strip():
                raise
            if len(found) > 1:
                (a, b), (c, d), *_ = found
                self._refuse_second(c, self.text[:start] + self.text[a:b], self.text[c:d])
            question = self._access(*found[0], store=store)
            return replace(question, called=called_on(self.text, start, found[0][0]))
        self.use(compiler)
        places = [each for each in read if isinstance(each, ArrayPlace)]
        if not places:
            if store:
                self.refuse(
                    "the left side of = is not an element of an array (accepted: s[...] = x)",
                    self.first(start),
                )
            return self._row_and_column(read, start, end)
        if len(read) > 1:
            comma = self.commas[0].start
            self._refuse_second(comma + 1, self.text[:comma], self.text[comma + 1 : end])
        return self._element(places[0], store)

    def _atomic(self, called: re.Match[str], end: int) -> Question:
        """Read `atomicAdd(&s[...], 1)`."""
        close = closing(self.text, called.end(), end)
        given = parts(self.text, called.end() + 1, end if close is None else close)
        question = self._access(*given[0], store=False)
        rest = [self.text[a:b].strip() for a, b in given[1:]]
        alone_ = not self.text[: called.start()].rpartition(";")[2].strip()
        counts = called[1] == "Add" and rest in (["1"], ["1u"], ["1U"]) and alone_
        return replace(question, store=True, atomic="COUNT" if counts else called[1].upper())

    def _element(self, place: ArrayPlace, store: bool) -> Question:
        array, given = place.array, len(place.subscripts)
        column = place.token.start
        if self.laid:
            self._refuse_array(array, column)
        decays = place.moved or place.cast
        if not decays and given < len(array.sizes):
            wanted = array.name + "[...]" * len(array.sizes)
            if not given:
                self.refuse(
                    f"{array.name} is an array: which element? (accepted: {wanted})", column
                )
            self.refuse(
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
        self.refuse(
            f"a layout and an array were given: {array.name} (accepted:"
            " a row and a column of the layout, such as lane%16, lane/16*8)",
            column,
        )

    def _row_and_column(self, read: list[Evaluate], start: int, end: int) -> Question:
        """Return the element of the array declared last at these subscripts."""
        bounds = [start, *(comma.end for comma in self.commas)]
        ends = [*(comma.start for comma in self.commas), end]
        array = next(reversed(self.scope.arrays.values()), None)
        if self.laid:
            if array is not None:
                self._refuse_array(array, self.first(start))
            array = Array("layout", self.scope.element, (None,) * len(read), assumed=True)
        if array is None:
            array = Array("s", self.scope.element, (None,), assumed=True)
        if len(read) != len(array.sizes):
            problem = (
                "a row and a column need a declaration (accepted: float s[32][32]; before them,"
                " or a layout)"
                if array.assumed
                else f"{array.name} has {len(array.sizes)} dimensions, and {len(read)}"
                f" {'index is' if len(read) == 1 else 'indices are'} given (accepted:"
                f" {array.name}{'[...]' * len(array.sizes)})"
            )
            self.refuse(problem, self.first(start))
        subscripts = tuple(map(Index, read, bounds, ends))
        return Question(self.source, array, array.type, subscripts, (), False, self.names, True)
