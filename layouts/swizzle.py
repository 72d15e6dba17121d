"""The XOR swizzle `Sw<B,M,S>` of CuTe.

An offset is read as bits. The B bits that start at bit M + S are XORed onto the B bits
that start at bit M:

    0b ... y y y ... z z z x x x x      B = 3, M = 4
           └─B─┘     └─B─┘ └──M──┘      z becomes z XOR y, S places lie between
              └────S────┘               a y and its z

With negative S the roles change: the upper bits receive the lower ones.
Source: CUTLASS, include/cute/swizzle.hpp, `struct Swizzle`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layouts.errors import LayoutError
from layouts.shapes import Index, is_integer, listed, widened

__all__ = ["Swizzle", "SwizzleLike", "one_or_several", "swizzles"]


@dataclass(frozen=True)
class Swizzle:
    """`Sw<bits, base, shift>`: a bijection of offsets, and its own inverse.

    >>> swizzle = Swizzle(3, 4, 3)
    >>> swizzle(0b1_0000_000), bin(swizzle(0b101_000_0000))
    (144, '0b1011010000')
    >>> all(swizzle(swizzle(x)) == x for x in range(4096))
    True

    Raises LayoutError for negative bits or base, for |shift| < bits (the two
    bit fields would overlap) and for fields beyond bit 30.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        given = (self.bits, self.base, self.shift)
        if not all(map(is_integer, given)) or not (
            0 <= self.bits <= abs(self.shift)
            and self.base >= 0
            and self.bits + self.base + abs(self.shift) <= 30
        ):
            raise LayoutError(
                f"swizzle {given!r} is not (B, M, S) with integers B >= 0, M >= 0, |S| >= B"
                " and B + M + |S| <= 30, as in CuTe's Swizzle<B,M,S>"
            )
        for field in ("bits", "base", "shift"):
            object.__setattr__(self, field, int(getattr(self, field)))

    @classmethod
    def of(cls, swizzle: SwizzleLike) -> Swizzle:
        """Return a Swizzle, from one, three integers (B, M, S), `Sw<B,M,S>` or `B,M,S`."""
        if isinstance(swizzle, Swizzle):
            return swizzle
        fields: Sequence[object] = ()
        swizzle = listed(swizzle)
        if isinstance(swizzle, str):
            number = r"\s*(-?[0-9]{1,3})\s*"
            triple = f"{number},{number},{number}"
            found = re.fullmatch(rf"\s*(?:S(?:w(?:izzle)?)?<{triple}>|{triple})\s*", swizzle)
            if found:
                fields = [int(field) for field in found.groups() if field is not None]
        elif isinstance(swizzle, Sequence):
            fields = swizzle
        if len(fields) != 3:
            raise LayoutError(
                f"swizzle {swizzle!r} is not three integers (B, M, S) or a text such as 'Sw<3,4,3>'"
            )
        return cls(*fields)  # type: ignore[arg-type]  # __post_init__ checks them

    def __call__(self, offset: Index) -> Index:
        """Move an element offset, or an array of them."""
        offset = widened(offset)
        field = (1 << self.bits) - 1
        if self.shift >= 0:
            return offset ^ (offset >> self.shift & field << self.base)
        return offset ^ ((offset & field << self.base) << -self.shift)

    @property
    def written(self) -> int:
        """The bits that it writes, as a mask.

        >>> bin(Swizzle(2, 3, 3).written), bin(Swizzle(2, 3, -3).written)
        ('0b11000', '0b11000000')
        """
        return (1 << self.bits) - 1 << self.base + max(-self.shift, 0)

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


SwizzleLike = Swizzle | Sequence[int] | str
"""A Swizzle, a triple (B, M, S) of integers, or the text `Sw<B,M,S>` or `B,M,S`."""


def swizzles(width: int) -> Iterator[Swizzle]:
    """List the swizzles of offsets of `width` bits that move something, those of few bits first.

    >>> [str(swizzle) for swizzle in swizzles(2)]
    ['Sw<1,0,1>', 'Sw<1,0,-1>']
    """
    width = min(width, 30)
    for bits in range(1, width // 2 + 1):
        for shift in range(bits, width - bits + 1):
            for base in range(width - bits - shift + 1):
                yield Swizzle(bits, base, shift)
                yield Swizzle(bits, base, -shift)


def one_or_several(given: object) -> Swizzle | tuple[Swizzle, ...] | None:
    """Return a swizzle of any spelling, or a sequence of them without those that move nothing.

    >>> one_or_several("3,3,3"), one_or_several([(0, 3, 3)])
    (Swizzle(bits=3, base=3, shift=3), None)
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        return Swizzle.of(given)  # type: ignore[arg-type]  # which refuses what it is not
    if given and all(map(is_integer, given)):
        return Swizzle.of(given)
    several = tuple(each for each in map(Swizzle.of, given) if each.bits)
    return several if len(several) > 1 else several[0] if several else None
