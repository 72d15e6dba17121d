"""A tile in shared memory: rows of elements, with padding and a swizzle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layouts.errors import LayoutError
from layouts.shapes import Index, is_integer, widened
from layouts.swizzle import Swizzle

__all__ = ["Tile"]


@dataclass(frozen=True)
class Tile:
    """`rows` × `cols` elements, row by row, `pad` unused elements after each row.

    The swizzle, if any, moves the padded offset.

    >>> Tile(rows=8, cols=128, pad=4).offset(2, 5)
    269
    >>> Tile(rows=8, cols=64, swizzle=Swizzle(3, 3, 3)).offset(1, 0)
    72

    Raises LayoutError for a padding that is not a non-negative integer.
    """

    rows: int
    cols: int
    pad: int = 0
    swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        if not is_integer(self.pad) or self.pad < 0:
            raise LayoutError(
                f"padding {self.pad!r} is not a number of elements (accepted: 0, 1, 2, ...)"
            )

    @property
    def leading_dimension(self) -> int:
        """Elements from the start of one row to the start of the next."""
        return self.cols + self.pad

    @property
    def size(self) -> int:
        """Elements from the first to the last place used, a swizzle's too."""
        if self.swizzle is None:
            return self.rows * self.leading_dimension
        rows, cols = np.ogrid[: self.rows, : self.cols]
        return int(self.offset(rows, cols).max()) + 1

    def offset(self, row: Index, col: Index) -> Index:
        """Element offset of (row, col) from the tile's start; arrays broadcast."""
        padded = widened(row) * self.leading_dimension + widened(col)
        return self.swizzle(padded) if self.swizzle else padded
