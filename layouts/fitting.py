"""From the offsets of all elements to the tile that they are: how text of any spelling is read.

What is looked for, in this order: a pitch; a layout; XOR terms of the columns, and a pitch; XOR
terms of the whole word; swizzles of elements counted row by row; and what else is behind one
swizzle. A guess is made from a few offsets, and then compared with all of them, so a tile that is
found is the tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError, short
from layouts.nested import Nested
from layouts.swizzle import Swizzle, swizzles
from layouts.term import Term, swizzles_of

__all__ = ["Fit", "fit"]

_Offsets = NDArray[np.int64]


class Fit(NamedTuple):
    """What a tile is made of: see `Tile`; a layout is its shape and stride."""

    pad: int = 0
    terms: tuple[Term, ...] = ()
    layout: tuple[Nested, Nested] | None = None
    swizzles: tuple[Swizzle, ...] = ()


def fit(offsets: _Offsets, text: str) -> Fit:
    """Return the tile whose elements have these offsets, (rows, cols); `text` is for messages.

    >>> fit(np.array([[0, 1], [3, 2]]), "row*2 + (col ^ row)").terms
    (Term(shift=1, mask=1),)

    Raises LayoutError where two elements overlap, an offset is negative, and where no tile has
    these offsets.
    """
    least = int(offsets.min())
    if least < 0:
        row, col = np.unravel_index(int(offsets.argmin()), offsets.shape)
        raise LayoutError(
            f"{short(text)} puts element ({row}, {col}) at {least} (accepted: offsets from 0)"
        )
    ordered, places = np.unique(offsets, return_index=True)
    if len(ordered) < offsets.size:
        again = np.setdiff1d(np.arange(offsets.size), places)[0]
        first = places[np.searchsorted(ordered, offsets.flat[again])]
        (a, b), (c, d) = (np.unravel_index(int(place), offsets.shape) for place in (first, again))
        raise LayoutError(
            f"{short(text)} puts elements ({a}, {b}) and ({c}, {d}) at offset"
            f" {int(offsets.flat[again])} (accepted: a different offset for each element)"
        )
    found = _inner(offsets) or _counted(offsets) or _swizzled(offsets)
    if found is None:
        raise LayoutError(
            f"{short(text)} is not a tile known here (accepted: a pitch or a layout, with XOR terms"
            " of row and column or a swizzle Sw<B,M,S>; any other offset can be the index itself)"
        )
    return found


def _inner(offsets: _Offsets) -> Fit | None:
    return _plain(offsets) or _terms(offsets) or _word(offsets)


def _plain(offsets: _Offsets) -> Fit | None:
    rows, cols = offsets.shape
    if offsets[0, 0] or (offsets[:1] + offsets[:, :1] != offsets).any():
        return None
    pitch = int(offsets[1, 0]) if rows > 1 else cols
    by_row = (offsets[:, 0] == np.arange(rows) * pitch).all()
    if by_row and pitch >= cols and (offsets[0] == np.arange(cols)).all():
        return Fit(pad=pitch - cols)
    modes = [_digits(each.tolist()) for each in (offsets[:, 0], offsets[0])]
    if None in modes:
        return None
    shapes, strides = zip(*(each for each in modes if each), strict=True)
    return Fit(layout=(tuple(shapes), tuple(strides)))


def _digits(sequence: list[int]) -> tuple[Nested, Nested] | None:
    """Return the mode that gives a sequence, which begins with 0; None if there is none."""
    sizes: list[int] = []
    steps: list[int] = []
    while len(sequence) > 1:
        step, run = sequence[1], 1
        while run < len(sequence) and sequence[run] == run * step:
            run += 1
        size = max((each for each in range(2, run + 1) if len(sequence) % each == 0), default=1)
        if size == 1:
            return None
        heads = sequence[::size]
        if any(
            value != heads[place // size] + place % size * step
            for place, value in enumerate(sequence)
        ):
            return None
        sizes.append(size)
        steps.append(step)
        sequence = heads
    if len(sizes) < 2:
        return (sizes[0], steps[0]) if sizes else (1, 0)
    return tuple(sizes), tuple(steps)


def _terms(offsets: _Offsets) -> Fit | None:
    """Return terms that move columns within their row, and the pitch."""
    rows, cols = offsets.shape
    pitch = int(offsets[1].min()) if rows > 1 else cols
    moved = offsets - np.arange(rows)[:, None] * pitch
    if pitch < cols or moved.min() < 0 or moved.max() >= cols:
        return None
    terms = _linear(moved ^ np.arange(cols), rows, cols, cols)
    return None if terms is None else Fit(pad=pitch - cols, terms=terms)


def _word(offsets: _Offsets) -> Fit | None:
    """Return terms that move whole rows as well; there is no padding then."""
    rows, cols = offsets.shape
    if cols & (cols - 1):
        return None
    terms = _linear(offsets ^ np.arange(rows * cols).reshape(rows, cols), rows, cols, rows * cols)
    return None if terms is None else Fit(terms=terms)


def _counted(offsets: _Offsets) -> Fit | None:
    """Return swizzles of a tile without padding, whose rows need not be a power of two long."""
    flat = offsets.reshape(1, -1)
    terms = _linear(flat ^ np.arange(flat.size), 1, flat.size, flat.size)
    return None if terms is None else Fit(swizzles=swizzles_of(terms))


def _linear(xored: _Offsets, rows: int, cols: int, within: int) -> tuple[Term, ...] | None:
    """Return the terms that XOR this onto each element's word, in blocks that divide `within`."""
    bits = (cols - 1).bit_length()
    word = np.arange(rows)[:, None] << bits | np.arange(cols)
    seen = np.zeros_like(word)
    masks: dict[int, int] = {}
    written = read = 0
    for bit in range(bits + (rows - 1).bit_length()):
        row, col = divmod(1 << bit, 1 << bits)
        column = int(xored[row, col])  # a bit is set in some word, so its own word exists
        seen ^= np.where(word >> bit & 1, column, 0)
        if column >> bit:
            return None  # fed from below, or onto itself
        written |= column
        read |= 1 << bit if column else 0
        for target in range(bit):
            if column >> target & 1:
                masks[bit - target] = masks.get(bit - target, 0) | 1 << target
    if written & read or within % (1 << written.bit_length()) or (seen != xored).any():
        return None
    return tuple(Term(shift, masks[shift]) for shift in sorted(masks))


def _swizzled(offsets: _Offsets) -> Fit | None:
    """Return what else there is, behind one swizzle."""
    for swizzle in swizzles(int(offsets.max()).bit_length()):
        found = _inner(swizzle(offsets))
        if found is not None:
            return found._replace(swizzles=(swizzle,))
    return None
