"""Fragments: which elements along one edge of a warp tile belong to which thread."""

from __future__ import annotations

from layouts.errors import LayoutError, accepted

__all__ = ["FRAGMENTS", "fragment_elements"]

FRAGMENTS = ("contiguous", "split")
"""`contiguous`: neighbouring elements. `split`: two half tiles, half a warp tile apart."""


def fragment_elements(threads: int, size: int, kind: str = "contiguous") -> list[list[int]]:
    """List, for each thread along an edge, the positions of its `size` elements.

    >>> fragment_elements(threads=2, size=4)
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    >>> fragment_elements(threads=2, size=4, kind="split")
    [[0, 1, 4, 5], [2, 3, 6, 7]]

    Raises LayoutError for an unknown kind, and for a split of an odd size.
    """
    if kind not in FRAGMENTS:
        raise LayoutError(f"unknown fragment {kind!r}: {accepted(kind, FRAGMENTS)}")
    if kind == "contiguous":
        return [[thread * size + i for i in range(size)] for thread in range(threads)]
    half, odd = divmod(size, 2)
    if odd:
        raise LayoutError(
            f"a thread tile of {size} elements along an edge cannot be split in two halves"
            " (accepted: even sizes, or fragment='contiguous')"
        )
    apart = threads * half
    return [
        [part * apart + thread * half + i for part in range(2) for i in range(half)]
        for thread in range(threads)
    ]
