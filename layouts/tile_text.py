"""What tiles are made of, read from text: CuTe's, Triton's, or a C expression of row and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from layouts import c_text
from layouts.algebra import coalesce
from layouts.errors import LayoutError, short
from layouts.fitting import fit
from layouts.layout import Layout, make_layout
from layouts.notation import Notation, read_layout
from layouts.shapes import Shape, parse_shape
from layouts.swizzle import Swizzle
from layouts.term import Term
from layouts.triton import is_triton, read_triton

__all__ = ["MOST_COMPARED", "Parts", "is_c", "of_layout", "read_tile", "split_shape"]

MOST_COMPARED = 2**18
"""Elements of a tile that are compared one by one: more than any shared memory has bytes."""


class Parts(NamedTuple):
    """The fields of a `Tile`."""

    rows: int
    cols: int
    pad: int = 0
    swizzle: tuple[Swizzle, ...] | None = None
    terms: tuple[Term, ...] = ()
    layout: Layout | None = None
    element: int | None = None


def split_shape(text: str, shape: Shape | None = None) -> tuple[str, Shape | None]:
    """Return a text without the shape that it may begin with, and that shape.

    >>> split_shape("32x32: row*33 + col")
    ('row*33 + col', (32, 32))

    Raises LayoutError where another shape is given.
    """
    found = re.match(r"\s*(\d{1,9}\s*[xX×]\s*\d{1,9})\s*:\s*", text)
    if not found:
        return text, shape
    said = parse_shape(found[1], "RC", "tile")
    if shape is not None and parse_shape(shape, "RC", "tile") != said:
        raise LayoutError(
            f"tile {short(text)} has another shape than {shape!r} (accepted: only one of them)"
        )
    return text[found.end() :], said


def is_c(text: str) -> bool:
    """Whether a text is a C expression, and no layout of CuTe or Triton.

    >>> is_c("row*33 + col"), is_c("(8,4):(4,1)")
    (True, False)
    """
    return ":" not in text and not is_triton(text)


def read_tile(text: str, shape: Shape | None) -> Parts:
    """Read a text; see `Tile.parse`."""
    if is_triton(text):
        shared = read_triton(text, shape)
        try:
            return of_notation(shared.notation())
        except LayoutError:
            if len(shared.shape) != 2:
                raise
            return _of_function(shared.offset, shared.shape, text)._replace(element=shared.element)
    if not is_c(text):
        return of_notation(read_layout(text))
    if shape is None:
        raise LayoutError(
            f"{short(text)} does not say the shape of its tile (accepted: shape='64x64')"
        )
    rows, cols = parse_shape(shape, "RC", "tile")
    return _of_function(c_text.function(text, rows), (rows, cols), text)


def of_layout(layout: Layout) -> Parts:
    """Return the tile of a layout with two modes, or one, which is a row."""
    swizzles = (layout.swizzle,) if layout.swizzle else ()
    return of_notation(Notation(layout.shape, layout.stride, swizzles, layout.offset))


def of_notation(read: Notation) -> Parts:
    """Return the tile of a layout with two modes, or one, as it was read.

    Raises LayoutError for another number of modes, and an offset before several swizzles.
    """
    layout = Layout(read.shape, read.stride)
    if layout.rank == 1:
        layout = make_layout(Layout(1, 0), layout[0])
    if layout.rank != 2:
        raise LayoutError(
            f"layout {layout} has {layout.rank} modes (accepted for a tile: rows and columns;"
            " of a pipelined buffer, the layout of one stage)"
        )
    rows, cols = (mode.size for mode in layout.modes)
    if read.offset:
        if len(read.swizzles) > 1:
            raise LayoutError(
                f"an offset of {read.offset} before {len(read.swizzles)} swizzles is not read"
                " (accepted: one swizzle, or no offset)"
            )
        whole = Layout(layout.shape, layout.stride, read.swizzles[0], read.offset)
        return Parts(rows, cols, layout=whole, element=read.element)
    (height, pitch), (width, step) = (coalesce(mode).digits[0] for mode in layout.modes)
    whole_modes = height == rows and width == cols
    if whole_modes and (step == 1 or cols == 1) and (pitch >= cols or rows == 1):
        pad = pitch - cols if rows > 1 else 0
        return Parts(rows, cols, pad, read.swizzles, element=read.element)
    return Parts(rows, cols, 0, read.swizzles, layout=layout, element=read.element)


def _of_function(function: Callable[[int, int], int], shape: Sequence[int], text: str) -> Parts:
    rows, cols = shape
    if rows * cols > MOST_COMPARED:
        raise LayoutError(
            f"tile of {rows}x{cols} elements is too large to be compared element by element"
            f" (accepted: up to {MOST_COMPARED})"
        )
    offsets: NDArray[np.int64] = np.array(
        [[function(row, col) for col in range(cols)] for row in range(rows)], dtype=np.int64
    )
    found = fit(offsets, text)
    layout = None if found.layout is None else Layout(*found.layout)
    return Parts(rows, cols, found.pad, found.swizzles, found.terms, layout)
