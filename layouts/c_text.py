"""Tiles as C text: an expression of a row and a column, written; and such text, made a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from layouts.errors import LayoutError, short
from layouts.expression import Expression
from layouts.layout import Layout

if TYPE_CHECKING:
    from layouts.tile import Tile

__all__ = ["column", "function", "of_tile", "operand", "subscript_names"]

_Piece = tuple[int, int]
"""(shift, mask): XOR onto the mask's bits those that lie `shift` places higher (lower if < 0)."""


def function(text: str, rows: int) -> Callable[[int, int], int]:
    """Return C text as a function of row and column; of a single row, `index` is the column.

    >>> function("row*33 + (col ^ row)", 32)(2, 3)
    67

    Raises ExpressionError for malformed text, and LayoutError for other names in it.
    """
    expression = Expression(text)
    known = ["row", "col", *(["index"] if rows == 1 else [])]
    unknown = sorted(set(expression.names) - set(known))
    if unknown:
        raise LayoutError(
            f"{unknown[0]} in {short(text)} has no value (accepted in a tile: {', '.join(known)})"
        )
    return lambda row, col: expression({"row": row, "col": col, "index": col})


def of_tile(tile: Tile, row: str, col: str) -> str:
    """Return the offset of (row, col) as C text; see `Tile.c`."""
    text = _before_swizzle(tile, operand(row), operand(col))
    if tile.swizzle is None and tile.layout is None:
        return text
    swizzles = list(tile.outer)
    if tile.layout is not None and tile.layout.swizzle is not None:
        text = f"{text} + {tile.layout.offset}" if tile.layout.offset else text
        swizzles.append(tile.layout.swizzle)
    pieces = [(each.shift, each.written) for each in swizzles]
    written = reduce(or_, (mask for _, mask in pieces), 0)
    if any(_read(*piece) & written for piece in pieces):  # each sees what the last one made
        size = tile.elements
        for piece in reversed(pieces):
            text = _xored(text, size, [piece])
            size = max(size, 1 << piece[1].bit_length())
        return text
    return _xored(text, tile.elements, _joined(pieces))


def column(tile: Tile, row: str, col: str) -> str | None:
    """Return the column that an element moves to as C text; None where it may leave its row.

    >>> from layouts.term import Term
    >>> from layouts.tile import Tile
    >>> column(Tile(32, 32, terms=(Term(5, 31),)), "x", "y")
    'y ^ x'
    """
    plain = tile.as_terms()
    within = reduce(or_, (term.mask for term in plain.terms), 0) < tile.cols
    if tile.rows == 1 or not within or plain.outer or plain.layout or tile.cols & (tile.cols - 1):
        return None
    text = f"{operand(col)}{_of_terms(plain, operand(row), operand(col))}"
    return text.removeprefix("0 ^ ")


def subscript_names(dimensions: int, text: str = "") -> list[str]:
    """Return a name for each subscript of an array: the last are row and col, or index alone.

    They get underscores where a text has one of them already.

    >>> subscript_names(3), subscript_names(1)
    (['q', 'row', 'col'], ['index'])
    >>> subscript_names(2, "int row = lane / 8;")
    ['row_', 'col_']
    """
    if dimensions == 1:
        names = ["index"]
    else:
        outer = [f"p{number}" for number in range(dimensions - 4)]
        names = [*outer, *("p", "q", "row", "col")[-dimensions:]]
    words = set(re.findall(r"\w+", text))
    while not words.isdisjoint(names):
        names = [f"{each}_" for each in names]
    return names


def operand(text: str) -> str:
    """Return C text in parentheses, unless it is a name, a number or in some already."""
    return text if re.fullmatch(r"[\w.]+|\([^()]*\)", text) else f"({text})"


def _before_swizzle(tile: Tile, row: str, col: str) -> str:
    if tile.layout is not None:
        rows, cols = tile.layout.plain.modes
        moved = f"({col}{_of_terms(tile, row, col)})" if tile.terms else col
        found = [_of_mode(row, rows), _of_mode(moved, cols)]
        return " + ".join(part for part in found if part) or "0"
    if tile.terms and reduce(or_, (term.mask for term in tile.terms)) >= tile.cols:
        if tile.rows == 1:
            return _xored(col, tile.cols, [(term.shift, term.mask) for term in tile.terms])
        place = f"{row}*{tile.cols} + {col}"
        pieces = [(term.shift, term.mask) for term in tile.terms]
        return _xored(place, tile.rows * tile.cols, pieces)
    pieces_text = _of_terms(tile, row, col)
    if tile.rows == 1:
        return f"{col}{pieces_text}"
    moved = f"({col}{pieces_text})" if pieces_text else col
    return f"{row}*{tile.leading_dimension} + {moved}"


def _of_terms(tile: Tile, row: str, col: str) -> str:
    """Return what is XORed onto the column, which is all that these terms write."""
    pieces = []
    col_bits = (tile.cols - 1).bit_length()
    for term in tile.terms:
        # Bits of the mask from here on are fed by the row.
        first = 1 << max(col_bits - term.shift, 0)
        by_row, by_col = term.mask & -first, term.mask & (first - 1)
        if by_row and tile.rows > 1:
            pieces.append(_piece(row, tile.rows, term.shift - col_bits, by_row))
        if by_col:
            pieces.append(_piece(col, tile.cols, term.shift, by_col))
    return "".join(f" ^ {piece}" for piece in pieces)


def _of_mode(name: str, mode: Layout) -> str:
    """Return the sum over a mode's digits, each by its stride."""
    parts, below = [], 1
    digits = [digit for digit in mode.digits if digit[0] > 1]
    for number, (size, step) in enumerate(digits):
        text = name if below == 1 else f"{name}/{below}"
        text = text if number == len(digits) - 1 else f"{text}%{size}"
        parts.append(text if step == 1 else f"{text}*{step}")
        below *= size
    return " + ".join(parts)


def _xored(text: str, size: int, pieces: Sequence[_Piece]) -> str:
    """Return a text that counts to below `size`, with these bits of itself XORed onto it."""
    if not pieces:
        return text
    place = text if re.fullmatch(r"[\w.]+", text) else f"({text})"
    return place + "".join(f" ^ {_piece(place, size, *piece)}" for piece in pieces)


def _read(shift: int, mask: int) -> int:
    return mask << shift if shift >= 0 else mask >> -shift


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    masks: dict[int, int] = {}
    for shift, mask in pieces:
        masks[shift] = masks.get(shift, 0) ^ mask
    return [piece for piece in masks.items() if piece[1]]


def _piece(name: str, size: int, shift: int, mask: int) -> str:
    """Return `name` shifted right (left if negative) and masked; no mask where it changes nothing.

    `name` counts to below `size`: below it any bit may be set, though not in the last of them.
    """
    bits = (1 << (size - 1).bit_length()) - 1
    if shift < 0:
        kept = mask >> -shift
        text = f"({name} & {kept})" if bits & ~kept else name
        return f"({text} << {-shift})"
    text = f"({name} >> {shift})" if shift else name
    return f"({text} & {mask})" if bits >> shift & ~mask else text
