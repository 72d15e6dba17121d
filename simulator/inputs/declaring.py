"""Declarations of a question in C: arrays, their sizes, structs, and how a text is parsed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NoReturn

from layouts.c_parser import Token, Tree
from layouts.expression import nested, parsed, without_comments
from simulator.errors import ExpressionError
from simulator.inputs.macros import expanded
from simulator.inputs.place import Array, PlaceCompiler, Scope
from simulator.inputs.place_parser import PlaceParser
from simulator.inputs.refusals import why
from simulator.inputs.types import CType, first_word, type_at
from simulator.law.accesses import SHARED_BYTES

__all__ = ["Declarations"]

_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_DECLARATOR = re.compile(r"\s*([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)+)")


class Declarations:
    """A text, and what it has declared so far."""

    def __init__(
        self,
        source: str,
        element: CType,
        constants: Mapping[str, int],
        *,
        laid: bool,
        most: int,
    ) -> None:
        plain = without_comments(source)
        self.text = expanded(plain)
        self.source = source if self.text == plain else self.text
        self.laid = laid
        self.most = most
        self.constants = constants
        self.scope = Scope(element)
        self.names: dict[str, int] = {}

    def refuse(self, problem: str, column: int) -> NoReturn:
        """Raise ExpressionError at a column."""
        raise ExpressionError(f"{problem} at column {column + 1}", self.source, column)

    def first(self, start: int) -> int:
        """Return where the first character that is not blank stands."""
        blank = re.compile(r"\s*").match(self.text, start)
        return blank.end() if blank else start

    def declares(self, start: int, end: int) -> bool:
        """Read a declaration, if it is one. Refuses `mytype s[32]`, whose type is not known."""
        text = self.text[:end]
        found = type_at(text, start, self.scope.types)
        if found is None:
            word = first_word(text, start)
            if word and re.match(r"\s+[A-Za-z_]\w*\s*[\[,]", text[word.end() :]):
                self.refuse(
                    f"{word[1]} is not a type known here (accepted: float, half, int, double,"
                    " float4, half2, int8_t, ...)",
                    word.start(1),
                )
            return False
        type_, at = found
        if pointer := re.match(r"\s*[*&]+\s*(\w+)\s*$", text[at:]):
            self.refuse(
                f"{pointer[1]} is a pointer: the size of its array is not known (accepted: an"
                " array, such as"
                f" {type_.name} {pointer[1]}[32][32])",
                at + pointer.start(1),
            )
        if not _NAME.match(text, at):
            if (odd := text[at:].lstrip()[:1]) and not odd.isascii():
                self.refuse(
                    f"{odd!r} is not allowed in a name (accepted: English letters, digits and _)",
                    text.index(odd, at),
                )
            return False
        self.declared(type_, at, end, scalars="__shared__" in text[start:at])
        return True

    def declared(self, type_: CType, at: int, end: int, *, scalars: bool = False) -> None:
        """Read the names that a declaration declares, which begin here."""
        while self.text[at:end].strip():
            at = self._declare(type_, at, end, scalars=scalars)
            if self.text[at:end].strip():
                if self.text[at] != ",":
                    self.refuse(f"unexpected {self.text[at]!r}", at)
                at += 1

    def _tree(self, start: int, end: int) -> Tree:
        if not self.text[start:end].strip():
            self.refuse("an access is missing, such as s[threadIdx.x],", start)
        try:
            return parsed(" " * start + self.text[start:end], self.source, PlaceParser)
        except ExpressionError as error:
            known = why(self.text[:end], error.column)
            if known is None:
                raise
            problem, column, then = known
            raise ExpressionError(
                f"{problem} at column {column + 1}{then}", self.source, column
            ) from None

    def _declare(self, type_: CType, start: int, end: int, *, scalars: bool = False) -> int:
        """Read one array of a declaration; return where it ends."""
        found = _DECLARATOR.match(self.text, start, end)
        if found is None:
            word = _NAME.match(self.text, start, end)
            if word and type_.members:
                self.scope.records[word[1]] = type_
                return word.end()
            if word and scalars:
                self.scope.arrays[word[1]] = Array(word[1], type_, ())
                return word.end()
            self.refuse(
                "the size of an array is missing (accepted:"
                f" {type_.name} {word[1] if word else 's'}[32][32])",
                word.end() if word else start,
            )
        name, column = found[1], found.start(1)
        spans = [each.span(1) for each in re.finditer(r"\[([^\]]*)\]", found[2])]
        first = found.start(2)
        dims = [self.size(first + a, first + b, k == 0) for k, (a, b) in enumerate(spans)]
        bytes_ = type_.bytes * math.prod(dim or 1 for dim in dims)
        if bytes_ > self.most:
            self.refuse(
                f"{name} takes {bytes_:,} bytes (accepted: up to {self.most:,}, which a block"
                " can have)",
                column,
            )
        self.scope.arrays[name] = Array(name, type_, tuple(dims))
        return found.end()

    def size(self, start: int, end: int, first: bool) -> int | None:
        """Read the size of a dimension, which may be left open for the first one."""
        column = start - 1
        inner = self.text[start:end].strip()
        if not inner:
            if not first:
                self.refuse("only the first dimension may be empty (accepted: [32])", column)
            return None
        found = int(inner) if inner.isdecimal() and len(inner) < 9 else self._sized(start, end)
        if not 1 <= found <= SHARED_BYTES:
            self.refuse(f"a dimension of {found} (accepted: 1 to {SHARED_BYTES})", column)
        return found

    def _sized(self, start: int, end: int) -> int:
        compiler, trees = self.indices(start, end)
        if len(trees) > 1:
            comma = self.commas[0].start
            self.refuse("a comma is not allowed inside brackets (accepted: s[row][column])", comma)
        evaluate = nested(self.source, lambda: compiler.index(trees[0]))
        for name, at in compiler.names.items():
            if name not in self.constants:
                own = name.isidentifier()
                given = name if own else "n"
                there = "" if own else f"{given} for {name} in the brackets, with "
                self.refuse(
                    f"a dimension must be a number, and {name} is not one (accepted: {there}const"
                    f" int {given} = 32; before the array, or -D {given}=32)",
                    at,
                )
        try:
            return int(nested(self.source, lambda: evaluate(self.constants)))
        except KeyError as error:  # a name that the text defines by a thread's numbers
            self.refuse(f"a dimension must be a number, and {error} differs by thread", start)

    def use(self, compiler: PlaceCompiler) -> None:
        """Remember the names that were read."""
        for name, column in compiler.names.items():
            self.names.setdefault(name, column)

    def indices(self, start: int, end: int) -> tuple[PlaceCompiler, list[Tree]]:
        """Return the trees of expressions with commas between them, and what reads them."""
        tree = self._tree(start, end)
        self.commas: list[Token] = tree.parts[1::2]
        compiler = PlaceCompiler(self.source, self.scope)
        return compiler, tree.parts[::2]
