"""Linear algebra over GF(2): a vector is an integer, its bits are the entries, and XOR is plus.

Everything here follows from one elimination. An `Echelon` keeps vectors of which no two have the
same leading bit. A vector is reduced by XORing onto it the one that has its leading bit, until
none has, or nothing is left: then it is a sum of those that are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Echelon", "apart", "basis", "coordinates", "kernel", "rank"]


class Echelon:
    """Independent vectors in echelon form, each with an integer attached that is added alongside.

    >>> echelon = Echelon()
    >>> echelon.add(0b110, attached=1), echelon.add(0b011, attached=2)
    ((6, 1), (3, 2))
    >>> echelon.reduced(0b101)  # it is the sum of both
    (0, 3)
    """

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, int]] = {}
        """By their number of bits: the vectors, and what is attached to each."""

    @classmethod
    def of(cls, vectors: Iterable[int]) -> Echelon:
        """Return the echelon form of vectors; what is attached says which: bit j for vector j."""
        echelon = cls()
        for j, vector in enumerate(vectors):
            echelon.add(vector, 1 << j)
        return echelon

    def reduced(self, vector: int, attached: int = 0) -> tuple[int, int]:
        """Return what is left of a vector, 0 where it is a sum of those kept; and of `attached`."""
        while vector and (row := self.rows.get(vector.bit_length())):
            vector, attached = vector ^ row[0], attached ^ row[1]
        return vector, attached

    def add(self, vector: int, attached: int = 0) -> tuple[int, int]:
        """Return what `reduced` returns, and keep it where it is independent (not 0)."""
        left = self.reduced(vector, attached)
        if left[0]:
            self.rows[left[0].bit_length()] = left
        return left


def apart(vectors: Iterable[int]) -> bool:
    """Whether no two vectors share a bit, so that their sums are their XORs.

    >>> apart([4, 8, 3]), apart([4, 8, 6])
    (True, False)
    """
    seen = 0
    for vector in vectors:
        if seen & vector:
            return False
        seen |= vector
    return True


def basis(vectors: Iterable[int]) -> list[int]:
    """Return those vectors, in order, that are not a sum of the ones before.

    >>> basis([6, 0, 3, 5, 8])
    [6, 3, 8]
    """
    echelon = Echelon()
    return [vector for vector in vectors if echelon.add(vector)[0]]


def rank(vectors: Iterable[int]) -> int:
    """Return the number of independent vectors: 2**rank different sums can be made of them.

    >>> rank([6, 3, 5])
    2
    """
    return len(basis(vectors))


def kernel(vectors: Iterable[int]) -> list[int]:
    """Return independent choices of vectors that add up to 0; bit j chooses vector j.

    >>> kernel([6, 3, 5, 0])
    [7, 8]
    """
    echelon = Echelon()
    left = [echelon.add(vector, 1 << j) for j, vector in enumerate(vectors)]
    return [chosen for rest, chosen in left if not rest]


def coordinates(vectors: Sequence[int], vector: int) -> int | None:
    """Return which independent vectors add up to `vector`, bit j for vector j; None if none do.

    >>> coordinates([6, 3, 8], 13), coordinates([6, 3, 8], 1)
    (7, None)
    """
    rest, chosen = Echelon.of(vectors).reduced(vector)
    return None if rest else chosen
