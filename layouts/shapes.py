"""Shapes such as "4x8" or "128x128x8", as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError, short

__all__ = [
    "Index",
    "Shape",
    "interleaving",
    "is_integer",
    "is_number",
    "leading_dimension",
    "listed",
    "parse_shape",
    "shape_text",
    "together",
    "widened",
]

Shape = str | Sequence[int]
"""A shape as text ("4x8") or as positive integers ((4, 8))."""

Index = TypeVar("Index", int, NDArray[np.int64])
"""A coordinate or an offset, or an array of them."""


def is_integer(value: object) -> bool:
    """Whether `value` is an integer of any kind, NumPy's too; a bool is not.

    >>> is_integer(3), is_integer(3.0), is_integer(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether `value` is an integer, or another number that is finite; a bool is not.

    >>> is_number(3), is_number(0.5), is_number(float("inf")), is_number(True)
    (True, True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return is_integer(value) or isfinite(value)


def widened(index: Index) -> Index:
    """Return an integer as Python's, an array as int64, so that arithmetic cannot wrap around.

    >>> widened(np.int8(100)) * 100
    10000
    """
    if isinstance(index, np.ndarray):
        return index.astype(np.int64, copy=False)
    return int(index)


def together(row: Any, col: Any) -> tuple[Any, Any]:
    """Return a row and a column as arrays of one shape where one is an array, else as they are.

    >>> together(np.arange(2), 1)
    (array([0, 1]), array([1, 1]))
    """
    if isinstance(row, np.ndarray) or isinstance(col, np.ndarray):
        row, col = np.broadcast_arrays(np.asarray(row), np.asarray(col))
    return row, col


def listed(value: Any) -> Any:
    """Return a NumPy array as lists of Python numbers, anything else as it is.

    >>> listed(np.arange(3)), listed("4x8")
    ([0, 1, 2], '4x8')
    """
    return value.tolist() if isinstance(value, np.ndarray) else value


def parse_shape(shape: Shape, modes: str, what: str) -> tuple[int, ...]:
    """Return the sizes in `shape`, one positive integer for each letter of `modes`.

    >>> parse_shape("128x128x8", "MNK", "block tile")
    (128, 128, 8)
    >>> parse_shape((4, 8), "MN", "warp shape")
    (4, 8)

    Raises LayoutError, naming `what`, for anything else.
    """
    sizes: list[int] | None = None
    shape = listed(shape)
    if isinstance(shape, str):
        if re.fullmatch(r"\s*[0-9]+(\s*[xX×]\s*[0-9]+)*\s*", shape):
            texts = [size.strip().lstrip("0") for size in re.split("[xX×]", shape)]
            if most := next((size for size in texts if len(size) > 9), None):
                raise LayoutError(
                    f"{what} {short(shape)} has a size of {len(most)} digits (accepted: up to 9)"
                )
            sizes = [int(size or 0) for size in texts]
    elif isinstance(shape, Sequence) and all(map(is_integer, shape)):
        sizes = [int(size) for size in shape]
    if sizes is None or len(sizes) != len(modes) or min(sizes) < 1:
        form = "x".join(modes)
        raise LayoutError(
            f"{what} {shape!r} is not {form} with positive integers"
            f" (accepted: a string such as {shape_text((4, 8, 16)[: len(modes)])!r},"
            f" or {len(modes)} integers)"
        )
    return tuple(sizes)


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as text, the way `parse_shape` reads it.

    >>> shape_text((4, 8))
    '4x8'
    """
    return "x".join(map(str, shape))


def leading_dimension(ld: int | None, least: int, what: str) -> int:
    """Return `ld`, by default `least`; LayoutError where it is shorter than a `what`."""
    if ld is None:
        return least
    if not is_integer(ld) or ld < least:
        raise LayoutError(
            f"leading dimension {ld!r} is shorter than a {what} of {least} elements"
            f" (accepted: {least}, {least + 1}, ...)"
        )
    return ld


def interleaving(interleave: int) -> int:
    """Return a number of rows or columns; LayoutError for anything else."""
    if not is_integer(interleave) or interleave < 1:
        raise LayoutError(f"interleave {interleave!r} is not a positive number of rows or columns")
    return interleave
