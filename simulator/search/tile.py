"""The layouts that are searched: a padded tile whose index bits are XORed.

Elements of a tile have a *place*, row·cols + col, however they are laid out. A layout moves
places in two steps: XOR terms first, then padding.

    place   row ........ col ........
            r r r r r r  c c c c c c       a term (shift, mask): the masked bits receive the
              │ │ │        ▲ ▲ ▲            bits that lie `shift` places higher
              └─┴─┴────────┴─┴─┘
    offset  row·(cols + pad) + col

Terms read bits that no term writes, so they commute, and the whole is its own inverse before
padding. A term whose mask is one run of B bits from bit M is CuTe's Sw<B,M,shift>.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from layouts.shapes import Index, is_integer
from layouts.swizzle import Swizzle
from simulator.errors import SearchError

__all__ = ["Term", "TileLayout"]


@dataclass(frozen=True, order=True)
class Term:
    """XOR onto the bits of `mask` the bits that lie `shift` places above them."""

    shift: int
    mask: int

    def __call__(self, place: Index) -> Index:
        """Return what is XORed onto a place."""
        return place >> self.shift & self.mask


@dataclass(frozen=True)
class TileLayout:
    """Where the elements of a `rows` × `cols` tile lie, in elements from its start.

    >>> layout = TileLayout(64, 64, terms=(Term(3, 0b111000),))
    >>> layout.expression(), layout.notation
    ('row*64 + (col ^ ((row & 7) << 3))', 'Sw<3,3,3> o 0 o (64,64):(64,1)')
    >>> layout.offset(1 * 64 + 0), TileLayout(64, 64, pad=8).offset(1 * 64 + 0)
    (72, 72)

    Raises SearchError for terms that would move an element out of the tile, or that cannot be
    said by row and column where there is padding.
    """

    rows: int
    cols: int
    pad: int = 0
    terms: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        if not all(map(is_integer, (self.rows, self.cols, self.pad))) or not (
            self.rows > 0 and self.cols > 0 and self.pad >= 0
        ):
            raise SearchError(
                f"tile {self.rows!r}x{self.cols!r} with padding {self.pad!r} is not a layout"
                " (accepted: positive sizes, and padding 0, 1, 2, ... elements)"
            )
        written = reduce(int.__or__, (term.mask for term in self.terms), 0)
        for term in self.terms:
            if term.shift < 1 or term.mask < 1 or term.mask << term.shift & written:
                raise SearchError(
                    f"{term} reads bits that a term writes, or no bits (accepted: positive shifts"
                    " and masks, and bits read apart from bits written)"
                )
        block = 1 << written.bit_length()  # terms move elements within blocks of this many
        within = self.cols if self.pad else self.rows * self.cols
        power = not self.pad or self.cols & (self.cols - 1) == 0
        if self.terms and (within % block or not power):
            raise SearchError(
                f"XOR terms move elements within blocks of {block}, which do not divide"
                f" {within} {'columns' if self.pad else 'elements'} (accepted: tiles that are"
                " multiples of it; with padding, columns that are a power of two)"
            )

    @property
    def leading_dimension(self) -> int:
        """Elements from the start of a row to the start of the next."""
        return self.cols + self.pad

    @property
    def elements(self) -> int:
        """Elements of shared memory that the tile takes."""
        return self.rows * self.leading_dimension

    def offset(self, place: Index) -> Index:
        """Move a place (row·cols + col), or an array of them."""
        moved = place
        for term in self.terms:
            moved = moved ^ term(place)
        return moved + moved // self.cols * self.pad if self.pad else moved

    @property
    def swizzles(self) -> tuple[Swizzle, ...]:
        """The terms as CuTe swizzles, which are applied one after the other, in any order."""
        found = []
        for term in self.terms:
            mask, start = term.mask, 0
            while mask:
                start += (mask & -mask).bit_length() - 1
                mask = term.mask >> start
                bits = (~mask & (mask + 1)).bit_length() - 1
                found.append(Swizzle(bits, start, term.shift))
                start += bits
                mask = term.mask >> start
        return tuple(found)

    @property
    def notation(self) -> str | None:
        """The layout in CuTe's notation; None with both padding and terms, where it has none."""
        plain = f"({self.rows},{self.cols}):({self.leading_dimension},1)"
        if not self.terms:
            return plain
        if self.pad:
            return None
        return " o ".join([*map(str, self.swizzles), "0", plain])

    @property
    def operations(self) -> int:
        """XOR, AND and shift operations of `expression`."""
        return sum(cost for _, cost in self._pieces("row", "col"))

    def expression(self, row: str = "row", col: str = "col") -> str:
        """Return the offset as a C expression.

        >>> TileLayout(32, 32, pad=1).expression()
        'row*33 + col'
        >>> TileLayout(32, 32, terms=(Term(5, 31),)).expression("ty", "tx")
        'ty*32 + (tx ^ ty)'
        """
        pieces = "".join(f" ^ {text}" for text, _ in self._pieces(row, col))
        if self.rows == 1:
            return f"{col}{pieces}"
        if not pieces:
            return f"{row}*{self.leading_dimension} + {col}"
        if self._by_row_and_col:
            return f"{row}*{self.leading_dimension} + ({col}{pieces})"
        return f"({row}*{self.cols} + {col}){pieces}"

    @property
    def _by_row_and_col(self) -> bool:
        power = self.cols & (self.cols - 1) == 0
        return self.rows > 1 and power and all(term.mask < self.cols for term in self.terms)

    def _pieces(self, row: str, col: str) -> list[tuple[str, int]]:
        """Return what is XORed, each with its number of operations, the XOR too."""
        if not self._by_row_and_col:
            place = col if self.rows == 1 else f"({row}*{self.cols} + {col})"
            whole = self.rows * self.cols
            return [_piece(place, whole, term.shift, term.mask) for term in self.terms]
        pieces = []
        col_bits = self.cols.bit_length() - 1
        for term in self.terms:
            # Bits of the mask from here on are fed by the row.
            first = 1 << max(col_bits - term.shift, 0)
            by_row, by_col = term.mask & -first, term.mask & (first - 1)
            if by_row:
                pieces.append(_piece(row, self.rows, term.shift - col_bits, by_row))
            if by_col:
                pieces.append(_piece(col, self.cols, term.shift, by_col))
        return pieces


def _piece(name: str, size: int, shift: int, mask: int) -> tuple[str, int]:
    """Return `name` shifted right (left if negative) and masked; no mask where it changes nothing.

    `name` counts to below `size`: below it any bit may be set, though not in the last of them.
    """
    bits = (1 << (size - 1).bit_length()) - 1
    if shift < 0:
        kept = mask >> -shift
        masked = bits & ~kept != 0
        text = f"({name} & {kept})" if masked else name
        return f"({text} << {-shift})", 2 + masked
    masked = bits >> shift & ~mask != 0
    text = f"({name} >> {shift})" if shift else name
    return (f"({text} & {mask})" if masked else text), 1 + (shift > 0) + masked
