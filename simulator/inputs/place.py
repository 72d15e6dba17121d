"""The element that an access in C goes to: subscripts of an array, casts, and pointers moved.

*(float4*)&s[ty][4*tx]        reinterpret_cast<float4&>(s[ty][4*tx])        s[ty] + 4*tx
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layouts.expression import Compiler, Evaluate, by_precedence
from simulator.inputs.types import CType, type_at

if TYPE_CHECKING:
    from lark import Token

__all__ = ["Array", "ArrayPlace", "Index", "PlaceCompiler"]


@dataclass(frozen=True)
class Index:
    """An index expression, and where it stands in the text."""

    evaluate: Evaluate
    start: int
    end: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy where it stands; what it evaluated to is kept by those who asked."""
        return Index, (_evaluated, self.start, self.end)


def _evaluated(values: Mapping[str, int]) -> int:
    raise TypeError("a copy of an index says where it stands, and does not evaluate")


@dataclass(frozen=True)
class Array:
    """An array as it was declared."""

    name: str
    type: CType
    sizes: tuple[int | None, ...]
    """Elements of each dimension; None for the first of `extern float s[][32]`."""
    assumed: bool = False
    """Whether no declaration was given."""


@dataclass
class ArrayPlace:
    """What a part of an access leads to; `pointer` says that it is still an address."""

    array: Array
    type: CType
    token: Token
    subscripts: list[Index] = field(default_factory=list)
    offsets: list[tuple[Index, int]] = field(default_factory=list)
    """What is added, each with the bytes of its unit."""
    pointer: bool = True
    moved: bool = False
    cast: bool = False


class PlaceCompiler(Compiler):
    """Turns trees into places, and their indices into functions."""

    def __init__(
        self, source: str, locals_: Mapping[str, Evaluate], arrays: dict[str, Array], element: CType
    ) -> None:
        super().__init__(source, locals_)
        self.arrays = arrays
        self.element = element
        """The type of an array that is not declared."""

    def index(self, tree: Any) -> Evaluate:
        """Return the function that an index is. Raises ExpressionError for what memory holds."""
        return self._number(self.read(tree))

    def _number(self, found: ArrayPlace | Evaluate) -> Evaluate:
        if isinstance(found, ArrayPlace):
            name = found.array.name
            raise self.error(
                f"what {name} holds is not known here (accepted: an index of a thread's numbers)",
                found.token,
            )
        return found

    def read(self, tree: Any) -> ArrayPlace | Evaluate:
        """Return the place or the index that a tree is."""
        parts = tree.children
        match str(tree.data):
            case "name" if str(parts[0]) in self.arrays and str(parts[0]) not in self.locals:
                array = self.arrays[str(parts[0])]
                return ArrayPlace(array, array.type, parts[0])
            case "chain":
                return self.read(by_precedence(parts))
            case "subscript":
                return self._subscript(*parts)
            case "address":
                place = self._place(parts[1], parts[0], "&")
                if place.pointer:
                    raise self.error("& of an address", parts[0])
                place.pointer = True
                return place
            case "follow":
                place = self._place(parts[1], parts[0], "*")
                if not place.pointer:
                    raise self.error(
                        "* needs an address (accepted: *(float4*)&s[...], *(s + ...))", parts[0]
                    )
                place.pointer = False
                return place
            case "retype":
                return self._retype(parts[0], self._place(parts[1], parts[0], "a cast"))
            case "binary" if str(parts[1]) in "+-":
                first, second = self.read(parts[0]), self.read(parts[2])
                places = [each for each in (first, second) if isinstance(each, ArrayPlace)]
                if len(places) == 1 and places[0].pointer:
                    return self._moved(places[0], first, second, parts[1])
                # To read them again as numbers would take twice as long for each term of a sum.
                return self.operation(parts[1], self._number(first), self._number(second))
        return super().index(tree)

    def _place(self, tree: Any, token: Token, what: str) -> ArrayPlace:
        found = self.read(tree)
        if not isinstance(found, ArrayPlace):
            raise self.error(
                f"{what} is of an element of an array (accepted: *(float4*)&s[...],"
                " reinterpret_cast<float4&>(s[...]))",
                token,
            )
        return found

    def _subscript(self, base: Any, opening: Token, inner: Any, closing: Token) -> ArrayPlace:
        token = base.children[0] if base.data == "name" else None
        if token is not None and not self._known(token):
            self.arrays[str(token)] = Array(str(token), self.element, (None,), assumed=True)
        place = self._place(base, token or opening, "[]")
        array = place.array
        own = not (place.moved or place.cast) and len(place.subscripts) < len(array.sizes)
        if not own and not place.pointer:
            if array.assumed:
                raise self.error(
                    f"{array.name} is not declared (accepted: float {array.name}[32][32]; before"
                    " it)",
                    place.token,
                )
            raise self.error(
                f"{array.name} has no more dimensions (accepted:"
                f" {array.name}{'[...]' * len(array.sizes)})",
                opening,
            )
        start, end = int(opening.end_pos or 0), int(closing.start_pos or 0)
        found = Index(self.index(inner), start, end)
        if own:
            place.subscripts.append(found)
            place.pointer = len(place.subscripts) < len(array.sizes)
        else:
            place.offsets.append((found, place.type.bytes))
            place.pointer = False
        return place

    def _known(self, token: Token) -> bool:
        return str(token) in self.arrays or str(token) in self.locals

    def _retype(self, token: Token, place: ArrayPlace) -> ArrayPlace:
        start = re.match(r"\(|\w+\s*<", token)
        found = type_at(str(token), start.end()) if start else None
        if found is None or not re.match(r"\s*[*&]", token[found[1] :]):
            raise self.error(
                f"{token} is not a cast known here (accepted: float4, half2, int8_t, ...: types of"
                " CUDA)",
                token,
            )
        type_, sign = found[0], token[found[1] :].strip()[0]
        name, reference = type_.name, sign == "&"
        if place.pointer == reference:
            raise self.error(
                f"a cast to {name}{sign} is of {'an element' if reference else 'an address'}"
                f" (accepted: *({name}*)&s[...], reinterpret_cast<{name}&>(s[...]))",
                token,
            )
        place.type = type_
        place.cast = True
        return place

    def _moved(self, place: ArrayPlace, first: Any, second: Any, token: Token) -> ArrayPlace:
        array = place.array
        if not place.cast and len(array.sizes) - len(place.subscripts) > 1:
            raise self.error(
                f"{array.name} + ... moves by rows (accepted:"
                f" &{array.name}{'[0]' * len(array.sizes)} + ...)",
                token,
            )
        by = second if first is place else first
        if str(token) == "-":
            if first is not place:
                raise self.error("an address cannot be subtracted from a number", token)
            plus = by
            by = lambda values: -plus(values)  # noqa: E731
        at = int(token.start_pos or 0)
        place.offsets.append((Index(by, at, at + 1), place.type.bytes))
        place.moved = True
        return place
