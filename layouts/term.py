"""An XOR term: some bits of a word receive those that lie higher by a fixed number of places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layouts.shapes import Index
from layouts.swizzle import Swizzle

__all__ = ["Term", "swizzles_of"]


@dataclass(frozen=True, order=True)
class Term:
    """XOR onto the bits of `mask` the bits that lie `shift` places above them.

    A term whose mask is one run of B bits from bit M is CuTe's Sw<B,M,shift>.
    """

    shift: int
    mask: int

    def __call__(self, word: Index) -> Index:
        """Return what is XORed onto a word."""
        return word >> self.shift & self.mask


def swizzles_of(terms: Iterable[Term]) -> tuple[Swizzle, ...]:
    """Return terms as CuTe's swizzles, one for each run of bits; they may be applied in any order.

    >>> [str(swizzle) for swizzle in swizzles_of([Term(3, 0b101000)])]
    ['Sw<1,3,3>', 'Sw<1,5,3>']
    """
    found = []
    for term in terms:
        mask, start = term.mask, 0
        while mask:
            start += (mask & -mask).bit_length() - 1
            mask = term.mask >> start
            bits = (~mask & (mask + 1)).bit_length() - 1
            found.append(Swizzle(bits, start, term.shift))
            start += bits
            mask = term.mask >> start
    return tuple(found)
