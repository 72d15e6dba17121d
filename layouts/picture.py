"""Pictures in plain text: a grid of whatever a function says about (row, column)."""

from __future__ import annotations

from collections.abc import Callable

from layouts.errors import LayoutError
from layouts.shapes import Shape, parse_shape

__all__ = ["LARGEST_PICTURE", "picture"]

LARGEST_PICTURE = 2**16
"""No picture has more cells."""


def picture(shape: Shape, cell: Callable[[int, int], object]) -> str:
    """Draw a grid of `shape`, cell (row, col) holding the text of `cell(row, col)`.

    >>> print(picture("2x4", lambda row, col: row * 10 + col))
     0  1  2  3
    10 11 12 13

    Raises LayoutError for more than 65536 cells.
    """
    rows, cols = parse_shape(shape, "RC", "picture")
    if rows * cols > LARGEST_PICTURE:
        raise LayoutError(f"picture {shape!r} has {rows * cols} cells (accepted: up to 65536)")
    cells = [[str(cell(row, col)) for col in range(cols)] for row in range(rows)]
    width = max(len(text) for line in cells for text in line)
    return "\n".join(" ".join(text.rjust(width) for text in line) for line in cells)
