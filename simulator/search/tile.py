"""The layouts that are searched: a `Tile` with XOR terms and padding, by its former name."""

from __future__ import annotations

from layouts.errors import LayoutError
from layouts.term import Term, swizzles_of
from layouts.tile import Tile
from simulator.errors import SearchError

__all__ = ["Term", "TileLayout"]


def TileLayout(  # noqa: N802 - the name of a type that `Tile` has taken in
    rows: int, cols: int, pad: int = 0, terms: tuple[Term, ...] = ()
) -> Tile:
    """Return the tile whose terms move elements counted row by row, before padding.

    >>> layout = TileLayout(64, 64, terms=(Term(3, 0b111000),))
    >>> layout.c(), layout.notation
    ('row*64 + (col ^ ((row & 7) << 3))', 'Sw<3,3,3> o 0 o (64,64):(64,1)')
    >>> layout.offset(1 * 64 + 0), TileLayout(64, 64, pad=8).offset(1 * 64 + 0)
    (72, 72)

    Raises SearchError for terms that would move an element out of the tile, or that, with padding,
    cannot be said by row and column.
    """
    try:
        if not terms or rows == 1 or not cols & (cols - 1):
            return Tile(rows, cols, pad, terms=terms)
        # An element's count is no word of row and column here; without padding it is its offset.
        Tile(1, rows * cols, terms=terms)
        if pad:
            raise LayoutError(
                f"XOR terms and padding {pad} of {cols} columns (accepted: columns that are a power"
                " of two)"
            )
        return Tile(rows, cols, swizzle=swizzles_of(terms))
    except LayoutError as error:
        raise SearchError(str(error)) from None
