"""A tile: where the elements of a matrix of `rows` × `cols` lie in shared memory.

An element goes through at most three steps, each of which may be absent:

    (row, col)  ──XOR terms──▶  (row, col)  ──pitch or layout──▶  offset  ──swizzle──▶  offset

Terms move bits of (row, col), written side by side as one word; a swizzle moves bits of the
offset, padding included:

    word    row ........ col ........
            r r r r r r  c c c c c c       a term (shift, mask): the masked bits receive the
              │ │ │        ▲ ▲ ▲            bits that lie `shift` places higher
              └─┴─┴────────┴─┴─┘

So `tile[row][col ^ row]` with padded rows is terms and a pitch; CuTe's `Sw<3,3,3> o 0 o …` is a
layout and a swizzle. Terms read bits that no term writes, so they commute.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from layouts import c_text
from layouts.algebra import is_injective
from layouts.errors import LayoutError, short
from layouts.layout import Layout
from layouts.shapes import Index, Shape, is_integer, parse_shape, together, widened
from layouts.swizzle import Swizzle, one_or_several
from layouts.term import Term, swizzles_of
from layouts.tile_text import Parts, of_layout, read_tile, split_shape

__all__ = ["ELEMENT_BYTES", "LARGEST_TILE", "Term", "Tile", "TileLike"]

ELEMENT_BYTES = (1, 2, 4, 8, 16)
"""Sizes that an element may have."""

LARGEST_TILE = 2**24
"""No tile has more elements: far beyond any shared memory."""


@dataclass(frozen=True)
class Tile:
    """`rows` × `cols` elements, row by row, `pad` unused elements after each row.

    `terms` move elements before that, `swizzle` moves offsets after it: a Swizzle, or several,
    of which the last is applied first. Instead of a padding, `layout` says in CuTe's terms where
    (row, col) lies. `element` is the bytes of an element, where they are known.

    >>> Tile(rows=8, cols=128, pad=4)(2, 5)
    269
    >>> Tile(rows=8, cols=64, swizzle=Swizzle(3, 3, 3))(1, 0)
    72
    >>> tile = Tile(32, 32, pad=1, terms=(Term(5, 3),))
    >>> tile.c()
    'row*33 + (col ^ (row & 3))'
    >>> Tile.parse(tile.c(), shape="32x32") == tile
    True

    Raises LayoutError for sizes, padding or elements that are not such numbers. So it does for
    terms that would move an element out of its row or tile, and for two elements in one place.
    """

    rows: int
    cols: int
    pad: int = 0
    swizzle: Swizzle | tuple[Swizzle, ...] | None = None
    terms: tuple[Term, ...] = ()
    layout: Layout | None = field(default=None, kw_only=True)
    element: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not is_integer(self.pad) or self.pad < 0:
            raise LayoutError(
                f"padding {short(self.pad)} is not a number of elements (accepted: 0, 1, 2, ...)"
            )
        sizes = (self.rows, self.cols)
        if not all(map(is_integer, sizes)) or min(sizes) < 1:
            raise LayoutError(
                f"tile of {short(self.rows)}x{short(self.cols)} elements is empty or has no such"
                " shape (accepted: at least one row and one column)"
            )
        if self.element is not None and self.element not in ELEMENT_BYTES:
            raise LayoutError(
                f"element {short(self.element)} is not a size in bytes (accepted: 1, 2, 4, 8, 16)"
            )
        if not type(self.rows) is type(self.cols) is type(self.pad) is int:  # NumPy's wrap around
            for name in ("rows", "cols", "pad"):
                object.__setattr__(self, name, int(getattr(self, name)))
        if self.swizzle is not None and not isinstance(self.swizzle, Swizzle):
            object.__setattr__(self, "swizzle", one_or_several(self.swizzle))
        if self.terms:
            self._check_terms()
        if self.layout is not None:
            self._check_layout(self.layout)

    def _check_terms(self) -> None:
        written = reduce(or_, (term.mask for term in self.terms))
        for term in self.terms:
            if term.shift < 1 or term.mask < 1 or term.mask << term.shift & written:
                raise LayoutError(
                    f"{term} reads bits that a term writes, or no bits (accepted: positive shifts"
                    " and masks, and bits read apart from bits written)"
                )
        block = 1 << written.bit_length()  # terms move elements within blocks of this many
        power = self.pad == 0 and self.layout is None and self._by_bits
        within = self.rows * self.cols if power else self.cols
        if within % block:
            raise LayoutError(
                f"XOR terms {self.terms} move elements within blocks of {block}, which do not"
                f" divide {within} {'elements' if power else 'columns'} (accepted: tiles"
                " that are multiples of it; beyond a row only without padding, and with columns"
                " that are a power of two)"
            )

    def _check_layout(self, layout: Layout) -> None:
        if self.pad:
            raise LayoutError(
                f"pad {self.pad} has no effect on layout {layout} (accepted: strides that hold the"
                " padding, and pad 0)"
            )
        sizes = [mode.size for mode in layout.plain.modes] if layout.rank == 2 else []
        if sizes != [self.rows, self.cols] or layout.size > LARGEST_TILE:
            raise LayoutError(
                f"layout {layout} is not one of {self.rows}x{self.cols} elements (accepted: two"
                f" modes, of sizes {self.rows} and {self.cols}, at most {LARGEST_TILE} elements)"
            )
        if not is_injective(layout):
            raise LayoutError(
                f"layout {layout} puts several elements in one place (accepted: strides at which no"
                " two elements overlap)"
            )

    @classmethod
    def of(cls, tile: TileLike, shape: Shape | None = None) -> Tile:
        """Take a tile as it is, a Layout of two modes (or one, a row), or a text as `parse` does.

        Raises LayoutError for anything else, and where the tile has another `shape`.
        """
        if isinstance(tile, str):
            return cls.parse(tile, shape)
        if isinstance(tile, Layout):
            tile = cls._of_parts(of_layout(tile))
        if not isinstance(tile, Tile):
            raise LayoutError(
                f"{short(tile)} is not a tile (accepted: a Tile, a Layout, or a text such as"
                " 'Sw<3,3,3> o 0 o (64,64):(64,1)' or 'row*33 + col')"
            )
        if shape is not None and parse_shape(shape, "RC", "tile") != (tile.rows, tile.cols):
            raise LayoutError(
                f"tile {tile} has {tile.rows}x{tile.cols} elements, not {shape!r} (accepted: a tile"
                " of that shape)"
            )
        return tile

    @classmethod
    def parse(cls, text: str, shape: Shape | None = None) -> Tile:
        """Read what `cute` and `c` write, what kernels print, and Triton's layouts.

        C text, and some of Triton's, says no `shape`, rows×columns: give it, or begin with it, as
        `str` does. C text is any expression of `row` and `col` that a tile is equal to.

        >>> Tile.parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)")
        Tile(rows=8, cols=64, pad=0, swizzle=Swizzle(bits=3, base=3, shift=3), terms=(), \
layout=None, element=2)
        >>> Tile.parse("8x32: (row << 5) + (row << 2) + col").pad
        4

        Raises LayoutError, and ExpressionError for malformed C.
        """
        if not isinstance(text, str):
            raise LayoutError(f"tile {short(text)} is not a text such as '(8,64):(64,1)'")
        text, shape = split_shape(text, shape)
        return cls.of(cls._of_parts(read_tile(text, shape)), shape)

    @classmethod
    def _of_parts(cls, parts: Parts) -> Tile:
        return cls(*parts[:5], layout=parts.layout, element=parts.element)

    @property
    def leading_dimension(self) -> int:
        """Elements from the start of one row to the start of the next."""
        if self.layout is not None:
            return self.layout.plain(1, 0) if self.rows > 1 else self.cols
        return self.cols + self.pad

    @property
    def elements(self) -> int:
        """Elements of memory that the tile takes without a swizzle that moves some past its end."""
        if self.layout is not None:
            return self.layout.plain.cosize + self.layout.offset
        return self.rows * self.leading_dimension

    @property
    def size(self) -> int:
        """Elements from the first to the last place used, a swizzle's too."""
        if self.swizzle is None and (self.layout is None or self.layout.swizzle is None):
            return self.elements
        if self.rows * self.cols > LARGEST_TILE:
            raise LayoutError(
                f"tile {self} is too large to list its offsets (accepted: up to"
                f" {LARGEST_TILE} elements)"
            )
        rows, cols = np.ogrid[: self.rows, : self.cols]
        return int(self.offset(rows, cols).max()) + 1

    @property
    def swizzles(self) -> tuple[Swizzle, ...]:
        """All XORs in CuTe's terms, the last one applied first: of the offset, then of the word."""
        return (*self.outer, *swizzles_of(self.terms))

    @property
    def outer(self) -> tuple[Swizzle, ...]:
        """The swizzles of the offset, the last one applied first."""
        if self.swizzle is None:
            return ()
        return self.swizzle if isinstance(self.swizzle, tuple) else (self.swizzle,)

    @overload
    def __call__(self, row: int, col: int | None = None) -> int: ...
    @overload
    def __call__(self, row: NDArray[Any], col: Any = None) -> NDArray[np.int64]: ...
    def __call__(self, row: Any, col: Any = None) -> Any:
        """Return the element offset of (row, col), or of one number that counts row by row.

        Arrays broadcast. Raises LayoutError for elements outside of the tile.
        """
        inside = np.all((np.asarray(row) >= 0) & (np.asarray(row) < self.rows))
        if col is None:
            last = self.rows * self.cols - 1
            inside = np.all((np.asarray(row) >= 0) & (np.asarray(row) <= last))
        else:
            inside &= np.all((np.asarray(col) >= 0) & (np.asarray(col) < self.cols))
        if not inside:
            raise LayoutError(
                f"({short(row)}, {short(col)}) is not in a tile of {self.rows}x{self.cols}"
                " (accepted: rows and columns from 0)"
            )
        return self.offset(row, col)

    def offset(self, row: Index, col: Index | None = None) -> Index:
        """Return the offset as a call does, without a look at the bounds."""
        if col is None and self.layout is None and (not self.terms or self._by_bits):
            place = moved = widened(row)
            for term in self.terms:
                moved = moved ^ term(place)
            if self.pad:
                moved = moved + moved // self.cols * self.pad
        else:
            if self.terms:
                row, col = self._moved(row, col)
            elif col is None:
                row, col = divmod(widened(row), self.cols)
            if self.layout is None:
                moved = widened(row) * self.leading_dimension + widened(col)
            else:
                moved = self.layout(*together(row, col))
        for swizzle in reversed(self.outer):
            moved = swizzle(moved)
        return moved

    @property
    def _by_bits(self) -> bool:
        """Whether a place, which counts row by row, is a word."""
        return self.cols & (self.cols - 1) == 0

    def _moved(self, row: Any, col: Any) -> tuple[Any, Any]:
        """Return the row and column to which the terms move an element."""
        bits = (self.cols - 1).bit_length()
        if col is None and not self._by_bits:
            row, col = divmod(widened(row), self.cols)
        word = widened(row) if col is None else widened(row) << bits | widened(col)
        moved = word
        for term in self.terms:
            moved = moved ^ term(word)
        return moved >> bits, moved & (1 << bits) - 1

    def sized(self, element: int | None) -> Tile:
        """Return the tile with elements of so many bytes (None: as it is).

        Raises LayoutError where it has others.
        """
        if element is None or element == self.element:
            return self
        if self.element is not None:
            raise LayoutError(
                f"element {element} is not the {self.element} bytes of {self} (accepted: one size)"
            )
        return replace(self, element=element)

    def check_inside(self) -> None:
        """Raise LayoutError where a swizzle moves elements past the end of the tile's memory.

        That is whole rows, or steps of the largest stride. A layout with an offset is a part of a
        larger one, and may leave its own.
        """
        if not self.outer or (self.layout is not None and self.layout.offset):
            return
        step = max([1, *(step for _, step in self.layout.digits)]) if self.layout else 1
        memory = -(-self.elements // step) * step
        if self.size > memory:
            blocks = max(each.written.bit_length() for each in self.outer)
            raise LayoutError(
                f"the swizzle of {self} moves elements to offset {self.size - 1}, past the tile's"
                f" {memory} elements (accepted: tiles of whole blocks of {1 << blocks} elements, or"
                " fewer bits)"
            )

    def c(self, row: str = "row", col: str = "col") -> str:
        """Return the offset as a C expression of a row and a column.

        >>> Tile(64, 64, terms=(Term(3, 0b111000),)).c()
        'row*64 + (col ^ ((row & 7) << 3))'
        >>> Tile.parse("((8,8),64):((64,512),1)").c("ty", "tx")
        'ty*64 + tx'
        >>> Tile.parse("((8,8),64):((64,1024),1)").c("ty", "tx")
        'ty%8*64 + ty/8*1024 + tx'
        """
        return c_text.of_tile(self.as_terms(), row, col)

    def as_terms(self) -> Tile:
        """Return the same tile, its swizzle as terms where it can be: C text is shorter so."""
        if self.swizzle is None or self.pad or self.layout or self.terms or not self._by_bits:
            return self
        if any(each.shift < 0 for each in self.outer):
            return self
        try:
            terms = tuple(Term(each.shift, each.written) for each in self.outer)
            return replace(self, swizzle=None, terms=terms)
        except LayoutError:
            return self

    @property
    def operations(self) -> int:
        """XOR, AND and shift operations of `c`."""
        text = self.c()
        return text.count("^") + text.count("&") + text.count(">>") + text.count("<<")

    expression = c  # its former name

    @property
    def why_not_cute(self) -> str:
        """Why CuTe's notation cannot say the tile; empty where it can."""
        if self.terms and (self.pad or self.layout is not None):
            return (
                "CuTe's swizzles move offsets, after padding or strides; these XOR terms move rows"
                " and columns before"
            )
        if self.terms and self.cols & (self.cols - 1):
            return (
                "CuTe's swizzles move offsets; these XOR terms move columns of rows that are not"
                " a power of two long"
            )
        if self.layout is not None and self.layout.swizzle is not None and self.outer:
            return "CuTe adds an offset before one swizzle only"
        return ""

    @property
    def notation(self) -> str | None:
        """The tile in CuTe's notation; None where it has none, and `why_not_cute` says why."""
        if self.why_not_cute:
            return None
        plain = self.layout or f"({self.rows},{self.cols}):({self.leading_dimension},1)"
        written = "".join(f"{each} o " for each in self.swizzles)
        return f"{written}0 o {plain}" if written else str(plain)

    def cute(self) -> str:
        """Return the tile in CuTe's notation.

        >>> Tile(64, 64, terms=(Term(3, 0b111000),)).cute()
        'Sw<3,3,3> o 0 o (64,64):(64,1)'

        Raises LayoutError, saying why, where CuTe has none.
        """
        notation = self.notation
        if notation is None:
            raise LayoutError(f"{self} has no notation of CuTe: {self.why_not_cute}")
        return notation

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols}: {self.c()}"

    @property
    def xors(self) -> tuple[Term, ...]:
        """All XORs, of the word or of the offset; those of several kinds by ascending shift."""
        if self.swizzle is None:
            return self.terms
        masks: dict[int, int] = {}
        for each in (*self.terms, *(Term(each.shift, each.written) for each in self.outer)):
            masks[each.shift] = masks.get(each.shift, 0) ^ each.mask
        return tuple(Term(shift, masks[shift]) for shift in sorted(masks) if masks[shift])


TileLike = Tile | Layout | str
"""A Tile, a Layout of two modes, or a text that `Tile.parse` reads."""
