"""Nested tuples of integers: what CuTe's shapes, strides and coordinates are made of.

A nest is an integer, or a tuple of nests: `8`, `(8, 4)`, `((2, 4), 8)`. Two nests are
congruent when their parentheses agree.
"""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from layouts.errors import LayoutError, short
from layouts.shapes import is_integer

__all__ = [
    "DEEPEST",
    "Nested",
    "compact",
    "congruent",
    "depth",
    "flat",
    "nested",
    "nested_text",
    "product",
    "span",
]

Nested: TypeAlias = "int | tuple[Nested, ...]"

DEEPEST = 32
"""Parentheses inside one another, at most. CuTe's own layouts stay below ten."""


def nested(value: object, least: int, what: str) -> Nested:
    """Check a nest of integers that are each at least `least`; lists become tuples.

    >>> nested([[2, 4], 8], 1, "shape")
    ((2, 4), 8)

    Raises LayoutError, naming `what`, for anything else, an empty tuple included.
    """

    def checked(part: object, level: int) -> Nested:
        if isinstance(part, tuple | list) and part and level < DEEPEST:
            return tuple(checked(inner, level + 1) for inner in part)
        if not is_integer(part) or part < least:  # type: ignore[operator]  # it is an integer
            raise LayoutError(
                f"{what} {short(value, 200)} is not made of integers >= {least} and non-empty"
                f" tuples of them, at most {DEEPEST} deep (accepted: for instance {least + 7} or"
                f" (({least + 1}, {least + 3}), {least + 7}))"
            )
        return int(part)  # type: ignore[call-overload,no-any-return]  # it is an integer

    return checked(value, 0)


def congruent(a: Nested, b: Nested) -> bool:
    """Whether the parentheses of two nests agree.

    >>> congruent((2, (3, 4)), (1, (6, 2))), congruent((2, (3, 4)), (1, 6))
    (True, False)
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def flat(nest: Nested) -> tuple[int, ...]:
    """Return the integers of a nest from left to right.

    >>> flat(((2, 4), 8)), flat(8)
    ((2, 4, 8), (8,))
    """
    if isinstance(nest, tuple):
        return tuple(number for part in nest for number in flat(part))
    return (nest,)


def product(nest: Nested) -> int:
    """Return the product of all integers of a nest.

    >>> product(((2, 4), 8))
    64
    """
    return prod(flat(nest))


def span(shape: Nested, stride: Nested) -> int:
    """Return one more than the largest offset of a layout.

    >>> span((8, 4), (5, 1))
    39
    """
    return 1 + sum((s - 1) * d for s, d in zip(flat(shape), flat(stride), strict=True))


def compact(shape: Nested, step: int = 1) -> Nested:
    """Return strides without gaps, the leftmost mode fastest, from `step` on.

    >>> compact(((2, 4), 8))
    ((1, 2), 8)
    """
    if not isinstance(shape, tuple):
        return step
    strides = []
    for part in shape:
        strides.append(compact(part, step))
        step *= product(part)
    return tuple(strides)


def depth(nest: Nested) -> int:
    """Return the number of parentheses inside one another.

    >>> depth(8), depth((8, 4)), depth(((2, 4), 8))
    (0, 1, 2)
    """
    return 1 + max(map(depth, nest)) if isinstance(nest, tuple) else 0


def nested_text(nest: Nested) -> str:
    """Return a nest as CuTe prints it: no spaces, and no comma after a lone element.

    >>> nested_text(((2, 4), 8)), nested_text((8,))
    ('((2,4),8)', '(8)')
    """
    if isinstance(nest, tuple):
        return f"({','.join(nested_text(part) for part in nest)})"
    return str(nest)
