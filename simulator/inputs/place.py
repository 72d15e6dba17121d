"""The element that an access in C goes to: subscripts of an array, casts, and pointers moved.

*(float4*)&s[ty][4*tx]        reinterpret_cast<float4&>(s[ty][4*tx])        s[ty] + 4*tx
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from layouts.c_arithmetic import unsigned
from layouts.c_parser import Token, Tree
from layouts.expression import Compiler, Evaluate
from simulator.inputs.refusals import not_of_a_thread
from simulator.inputs.types import CType, member_of, type_at

__all__ = ["Array", "ArrayPlace", "Index", "PlaceCompiler", "Scope", "kept"]


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
    raise TypeError("a copy of an index only names its place in the text, and has no value")


def kept(evaluate: Evaluate, narrow: Callable[[int], int] | None) -> Evaluate:
    """Return a name's value, narrowed to its type: calculated once for a thread's numbers.

    Else `a = a & a;` twenty times over would calculate it a million times.
    """
    last: Mapping[str, int] | None = None
    found = 0

    def again(values: Mapping[str, int]) -> int:
        nonlocal last, found
        if values is not last:
            found = evaluate(values)
            found = narrow(found) if narrow else found
            last = values
        return found

    return again


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
    inner: tuple[int, ...] = ()
    """Sizes of an array that is a member, as far as they are not indexed."""

    def copy(self) -> ArrayPlace:
        """Return it for another use: a pointer's name may stand twice in a text."""
        return replace(self, subscripts=[*self.subscripts], offsets=[*self.offsets])


@dataclass
class Scope:
    """What a text has declared so far."""

    element: CType
    """The type of an array that is not declared."""
    arrays: dict[str, Array] = field(default_factory=dict)
    locals: dict[str, Evaluate] = field(default_factory=dict)
    kinds: dict[str, CType] = field(default_factory=dict)
    """Types that the locals were declared with."""
    unsigned: set[str] = field(default_factory=set)
    """The locals of an unsigned type."""
    pointers: dict[str, ArrayPlace] = field(default_factory=dict)
    """Pointers and references, and what they lead to."""
    records: dict[str, CType] = field(default_factory=dict)
    """Variables of a struct's or a union's type: each member is an array of its own."""
    types: dict[str, CType] = field(default_factory=dict)

    def knows(self, name: str) -> bool:
        """Return whether a name leads to memory."""
        return name in self.arrays or name in self.pointers or name in self.records


class PlaceCompiler(Compiler):
    """Turns trees into places, and their indices into functions."""

    def __init__(self, source: str, scope: Scope) -> None:
        super().__init__(source, scope.locals)
        self.unsigned = scope.unsigned
        self.scope = scope

    def index(self, tree: Tree) -> Evaluate:
        """Return the function that an index is. Raises ExpressionError for what memory holds."""
        return self._number(self.read(tree))

    def is_unsigned(self, tree: Tree) -> bool:
        """Return whether C gives an expression the type `unsigned`, as `sizeof` has."""
        if tree.kind == "least":
            return self.is_unsigned(tree.parts[1]) or self.is_unsigned(tree.parts[3])
        return tree.kind == "sizeof" or super().is_unsigned(tree)

    def _number(self, found: ArrayPlace | Evaluate) -> Evaluate:
        if isinstance(found, ArrayPlace):
            name = found.array.name
            raise self.error(
                f"the elements of {name} are not known here (accepted: an index made of threadIdx"
                " and numbers)",
                found.token,
            )
        return found

    def read(self, tree: Tree) -> ArrayPlace | Evaluate:
        """Return the place or the index that a tree is."""
        parts = tree.parts
        match tree.kind:
            case "name" if str(parts[0]) in self.scope.pointers:
                return self.scope.pointers[str(parts[0])].copy()
            case "name" if str(parts[0]) in self.scope.arrays and str(parts[0]) not in self.locals:
                return _whole(self.scope.arrays[str(parts[0])], parts[0])
            case "member":
                return self._member(*parts)
            case "sizeof":
                return self._sizeof(parts[0])
            case "least":
                choose: Callable[[int, int], int] = min if "min" in parts[0] else max
                if self.is_unsigned(tree):
                    choose = unsigned(choose)
                first_, second_ = self.index(parts[1]), self.index(parts[3])
                return lambda values: choose(first_(values), second_(values))
            case "subscript":
                return self._subscript(*parts)
            case "address":
                place = self._place(parts[1], parts[0], "&")
                if place.pointer:
                    raise self.error("& of an address", parts[0])
                place.pointer = True
                return place
            case "follow":
                if row := self._row(parts[1]):
                    return row
                place = self._place(parts[1], parts[0], "*")
                if not place.pointer:
                    raise self.error(
                        "* needs an address (accepted: *(float4*)&s[...], *(s + ...))", parts[0]
                    )
                inner = len(place.array.sizes) - len(place.subscripts)
                if inner and not (place.moved or place.cast):  # *row is row[0]
                    at = parts[0].start
                    place.subscripts.append(Index(lambda values: 0, at, at))
                    inner -= 1
                place.pointer = inner > 0 and not (place.moved or place.cast)
                return place
            case "retype":
                return self._retype(parts[0], self._place(parts[1], parts[0], "a cast"))
            case "binary" if str(parts[1]) in "+-":
                first, second = self.read(parts[0]), self.read(parts[2])
                places = [each for each in (first, second) if isinstance(each, ArrayPlace)]
                if len(places) == 1 and places[0].pointer:
                    return self._moved(places[0], first, second, parts[1])
                # To read them again as numbers would take twice as long for each term of a sum.
                return self.operation(parts, self._number(first), self._number(second))
        return super().index(tree)

    def _row(self, tree: Tree) -> ArrayPlace | None:
        """Return the row that `*(s + i)` is; None where what is followed is not a row's address."""
        if tree.kind != "binary" or tree.parts[1] != "+":
            return None
        base, _, index = tree.parts
        if base.kind not in ("name", "subscript", "follow"):
            return None
        place = self.read(base)
        if not isinstance(place, ArrayPlace) or place.moved or place.cast:
            return None
        if len(place.array.sizes) - len(place.subscripts) < 2:
            return None
        tokens = [*index.tokens()]
        start, end = tokens[0].start, tokens[-1].end
        place.subscripts.append(Index(self.index(index), start, end))
        return place

    def _place(self, tree: Tree, token: Token, what: str) -> ArrayPlace:
        found = self.read(tree)
        if not isinstance(found, ArrayPlace):
            raise self.error(
                f"{what} is of an element of an array (accepted: *(float4*)&s[...],"
                " reinterpret_cast<float4&>(s[...]))",
                token,
            )
        return found

    def _subscript(self, base: Tree, opening: Token, inner: Tree, closing: Token) -> ArrayPlace:
        token = base.parts[0] if base.kind == "name" else None
        if token is not None and not self._known(token):
            name = str(token)
            self.scope.arrays[name] = Array(name, self.scope.element, (None,), assumed=True)
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
        start, end = opening.end, closing.start
        found = Index(self.index(inner), start, end)
        if place.inner:
            size, *rest = place.inner
            within = replace(found, evaluate=self._within(found.evaluate, size, opening))
            place.offsets.append((within, place.type.bytes * math.prod(rest)))
            place.inner, place.pointer = tuple(rest), bool(rest)
        elif own:
            place.subscripts.append(found)
            place.pointer = len(place.subscripts) < len(array.sizes)
        else:
            place.offsets.append((found, place.type.bytes))
            place.pointer = False
        return place

    def _known(self, token: Token) -> bool:
        return self.scope.knows(str(token)) or str(token) in self.locals

    def _within(self, index: Evaluate, size: int, token: Token) -> Evaluate:
        def evaluate(values: Mapping[str, int]) -> int:
            found = index(values)
            if not 0 <= found < size:
                raise self.error(f"{found} is outside of [{size}]", token)
            return found

        return evaluate

    def _member(self, base: Tree, token: Token) -> ArrayPlace:
        name, arrow = re.sub(r"\W", "", token), token.startswith("-")
        owner = str(base.parts[0]) if base.kind == "name" else ""
        if owner in self.scope.records:
            of = self.scope.records[owner]
            found = member_of(of, name)
            if found is None:
                raise self._no_member(of, name, token)
            array = Array(f"{owner}.{name}", found.type, found.sizes)
            return _whole(array, base.parts[0])
        if owner and not self.scope.knows(owner):
            raise self.error(not_of_a_thread(owner, f".{name}"), base.parts[0])
        place = self._place(base, token, "a member")
        found = member_of(place.type, name)
        if found is None:
            raise self._no_member(place.type, name, token)
        if place.pointer != arrow:
            raise self.error(
                f"{'. needs an element' if place.pointer else '-> needs an address'} (accepted:"
                f" {'->' if place.pointer else '.'}{name})",
                token,
            )
        if found.offset:
            at, offset = token.start, found.offset
            place.offsets.append((Index(lambda values: offset, at, at + len(token)), 1))
        place.type, place.cast, place.inner = found.type, True, found.sizes
        place.pointer = bool(found.sizes)
        return place

    def _no_member(self, type_: CType, name: str, token: Token) -> Exception:
        known = [each.name for each in type_.members] or [
            each for each in "xyzw" if member_of(type_, each)
        ]
        if not known:
            return self.error(
                f"a member alone is not accepted: {type_.name} has none (accepted: the whole"
                " element, or a cast)",
                token,
            )
        return self.error(
            f"{type_.name} has no member {name} (accepted: {', '.join(known)})", token
        )

    def _sizeof(self, token: Token) -> Evaluate:
        inner = token[token.index("(") + 1 : -1].strip()
        name = re.match(r"\*?\s*(\w+)", inner)  # s, *s, s[0]
        array = self.scope.arrays.get(name[1]) if name else None
        found = type_at(inner, 0, self.scope.types)
        taken = inner.count("[") + inner.startswith("*")
        sizes = array.sizes[taken:] if array else ()
        if array is not None and None not in sizes and taken <= len(array.sizes):
            size = array.type.bytes * math.prod(filter(None, sizes))
        elif found is not None and found[1] == len(inner):
            size = found[0].bytes
        else:
            raise self.error(f"the bytes of {inner} are not known here", token)
        return lambda values: size

    def _retype(self, token: Token, place: ArrayPlace) -> ArrayPlace:
        start = re.match(r"\(|\w+\s*<", token)
        if start and re.match(r"\s*(?:const\s+|volatile\s+)*void\s*\*", token[start.end() :]):
            return place  # what it led to before decides
        found = type_at(str(token), start.end(), self.scope.types) if start else None
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
        place.type, place.inner = type_, ()
        place.cast = True
        return place

    def _moved(self, place: ArrayPlace, first: Any, second: Any, token: Token) -> ArrayPlace:
        array = place.array
        if not place.cast and len(array.sizes) - len(place.subscripts) > 1:
            raise self.error(
                f"{array.name} + ... would count whole rows (accepted:"
                f" &{array.name}{'[0]' * len(array.sizes)} + ...)",
                token,
            )
        by = second if first is place else first
        if str(token) == "-":
            if first is not place:
                raise self.error("an address cannot be subtracted from a number", token)
            plus = by
            by = lambda values: -plus(values)  # noqa: E731
        at = token.start
        place.offsets.append((Index(by, at, at + 1), place.type.bytes))
        place.moved = True
        return place


def _whole(array: Array, token: Token) -> ArrayPlace:
    return ArrayPlace(array, array.type, token, pointer=bool(array.sizes))
