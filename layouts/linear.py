"""Layouts and swizzles over GF(2): bits in, bits out, XOR for plus.

A layout whose sizes and strides are powers of two moves bits of the index to bits of
the offset; an XOR swizzle adds bits to bits without carry. Both are linear maps over
the field of two elements, so one small matrix says everything about them: column j is
the offset that index bit j alone produces, and

    f(x) = XOR of the columns of x's set bits.

Rank and kernel then answer what enumeration would: the rank is the number of address
bits that really vary, and the kernel holds the index differences that land on the same
offset. Banks, phases and ldmatrix rows are sets of such bits.
Source of the idea: Triton, include/triton/Tools/LinearLayout.h
(https://github.com/triton-lang/triton/blob/main/include/triton/Tools/LinearLayout.h).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layouts import gf2
from layouts.algebra import coalesce
from layouts.errors import LayoutError
from layouts.layout import LARGEST, Layout
from layouts.shapes import is_integer
from layouts.swizzle import Swizzle, swizzles

__all__ = ["LinearMap", "is_linear"]


@dataclass(frozen=True)
class LinearMap:
    """The bits-to-bits map whose bit j goes to `columns[j]`.

    >>> swizzled = LinearMap.of(Layout.parse("Sw<2,0,2> o 0 o (4,4):(4,1)"))
    >>> swizzled.columns
    (5, 10, 1, 2)
    >>> print(swizzled)  # lowest bit first, in both directions
    1 . 1 .
    . 1 . 1
    1 . . .
    . 1 . .
    >>> swizzled(0b0110), swizzled.rank, swizzled.kernel
    (11, 4, ())

    Raises LayoutError for columns that are not integers in 0..2**63 - 1.
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        fits = isinstance(self.columns, tuple | list) and len(self.columns) < 64
        if not fits or not all(is_integer(c) and 0 <= c <= LARGEST for c in self.columns):
            raise LayoutError(
                f"columns {self.columns!r} are not up to 63 integers in 0..2**63 - 1"
                " (accepted: for each bit of the index the offset that it makes, such as (4, 8, 1))"
            )
        object.__setattr__(self, "columns", tuple(map(int, self.columns)))

    @classmethod
    def of(cls, source: Layout | str | Swizzle, bits: int | None = None) -> LinearMap:
        """Return the map of a layout, or of a swizzle on offsets of `bits` bits.

        >>> LinearMap.of(Swizzle(2, 0, 3)).columns
        (1, 2, 4, 9, 18)

        Raises LayoutError for a layout that is not linear over GF(2).
        """
        if isinstance(source, Swizzle):
            least = source.bits + source.base + abs(source.shift)
            if bits is None:
                bits = least
            if not is_integer(bits) or not least <= bits <= 63:
                raise LayoutError(f"{bits!r} bits do not fit {source} (accepted: {least}..63)")
            return cls(tuple(source(1 << bit) for bit in range(bits)))
        columns = _columns(Layout.of(source))
        if columns is None:
            raise LayoutError(
                f"layout {source} is not linear over GF(2) (accepted: sizes that are powers of"
                " two, strides that set different bits, and no offset)"
            )
        return cls(columns)

    @classmethod
    def identity(cls, bits: int) -> LinearMap:
        """Return the map of every one of up to 63 bits to itself."""
        if not is_integer(bits) or not 0 <= bits <= 63:
            raise LayoutError(f"{bits!r} bits do not make a map (accepted: 0..63)")
        return cls(tuple(1 << bit for bit in range(bits)))

    def __call__(self, index: int) -> int:
        """Return where one index goes, of `in_bits` bits."""
        if not is_integer(index) or index < 0 or index >> self.in_bits:
            raise LayoutError(f"index {index!r} is not in 0..{(1 << self.in_bits) - 1}, {self!r}")
        return _xor(column for j, column in enumerate(self.columns) if index >> j & 1)

    def __matmul__(self, inner: LinearMap) -> LinearMap:
        """Compose: `(a @ b)(x) = a(b(x))`; LayoutError where b reaches past a's bits."""
        return LinearMap(tuple(map(self, inner.columns)))

    @property
    def in_bits(self) -> int:
        """Bits of the index."""
        return len(self.columns)

    @property
    def out_bits(self) -> int:
        """Bits that hold every offset."""
        return max((column.bit_length() for column in self.columns), default=0)

    @property
    def rank(self) -> int:
        """Number of independent columns: 2**rank different offsets occur."""
        return gf2.rank(self.columns)

    @property
    def kernel(self) -> tuple[int, ...]:
        """Independent indices that map to 0; XORing one onto an index keeps its offset.

        >>> LinearMap((1, 2, 3)).kernel
        (7,)
        """
        return tuple(gf2.kernel(self.columns))

    def inverse(self) -> LinearMap:
        """Return the map back.

        Raises LayoutError unless this is a bijection of bit strings of one length.
        """
        columns = [gf2.coordinates(self.columns, 1 << bit) for bit in range(self.in_bits)]
        solved = tuple(column for column in columns if column is not None)
        if len(solved) < self.in_bits or self.out_bits != self.in_bits:
            raise LayoutError(
                f"{self!r} of {self.in_bits} bits to {self.out_bits} has rank {self.rank}"
                " and no inverse (accepted: maps to the same number of bits, with full rank)"
            )
        return LinearMap(solved)

    def to_layout(self) -> Layout:
        """Return the map as a layout, behind the swizzle of fewest bits where it needs one.

        >>> str(LinearMap((5, 10, 1, 2)).to_layout())
        'Sw<2,0,2> o 0 o (4,4):(4,1)'

        Raises LayoutError for a map that is not a layout behind one swizzle.
        """
        if gf2.apart(self.columns):
            return _joined(self.columns)
        for swizzle in swizzles(self.out_bits):
            columns = [swizzle(column) for column in self.columns]
            if gf2.apart(columns):
                return _joined(columns).swizzled(swizzle)
        raise LayoutError(
            f"{self!r} is not a layout behind one XOR swizzle (accepted: columns that share no bit,"
            " or share none after some Sw<B,M,S>)"
        )

    def __str__(self) -> str:
        rows = range(self.out_bits)
        return "\n".join(
            " ".join("1" if column >> row & 1 else "." for column in self.columns) for row in rows
        )


def is_linear(layout: Layout | str | Swizzle) -> bool:
    """Whether the layout is a linear map over GF(2): L(x ^ y) = L(x) ^ L(y) for all x, y.

    >>> is_linear(Layout.row_major("8x64")), is_linear(Layout.row_major("8x64", ld=68))
    (True, False)
    """
    return isinstance(layout, Swizzle) or _columns(Layout.of(layout)) is not None


def _columns(layout: Layout) -> tuple[int, ...] | None:
    # A sum of strides is their XOR, for every subset of bits, exactly if no two share a bit.
    # A swizzle is linear itself and a bijection, so it changes nothing about that.
    if layout.offset or layout.size & (layout.size - 1):
        return None
    columns = [
        step << bit for digits, step in layout.digits for bit in range(digits.bit_length() - 1)
    ]
    if not gf2.apart(columns):
        return None
    return tuple(layout.swizzle(c) for c in columns) if layout.swizzle else tuple(columns)


def _xor(values: Iterable[int]) -> int:
    result = 0
    for value in values:
        result ^= value
    return result


def _joined(columns: Iterable[int]) -> Layout:
    strides = tuple(columns)
    return coalesce(Layout((2,) * len(strides), strides)) if strides else Layout(1, 0)
