"""Fragments: which elements along one edge of a warp tile belong to which thread."""

from __future__ import annotations

from layouts.errors import LayoutError, accepted
from layouts.layout import Layout
from layouts.shapes import is_integer
from layouts.warp import check_bijection

__all__ = ["FRAGMENTS", "FragmentKind", "check_fragment", "fragment_elements"]

FRAGMENTS = ("contiguous", "split")
"""`contiguous`: neighbouring elements. `split`: two half tiles, half a warp tile apart."""

FragmentKind = str | Layout
"""One of `FRAGMENTS`, or a layout (thread, element) -> position, as text too."""


def fragment_elements(
    threads: int, size: int, kind: FragmentKind = "contiguous"
) -> list[list[int]]:
    """List, for each thread along an edge, the positions of its `size` elements.

    >>> fragment_elements(threads=2, size=4)
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    >>> fragment_elements(threads=2, size=4, kind="split")
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    >>> fragment_elements(threads=2, size=4, kind="(2,4):(1,2)")
    [[0, 2, 4, 6], [1, 3, 5, 7]]

    Raises LayoutError for an unknown kind, a split of an odd size, a layout that is not a
    bijection of (threads, size) to the edge.
    """
    for what, number in (("threads", threads), ("elements per thread", size)):
        if not is_integer(number) or number < 1:
            raise LayoutError(f"{number!r} {what} (accepted: a positive integer)")
    if isinstance(kind, str) and ":" in kind:
        kind = Layout.parse(kind)
    if isinstance(kind, Layout):
        return _by_layout(threads, size, kind)
    if not isinstance(kind, str) or kind not in FRAGMENTS:
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


def check_fragment(kind: FragmentKind) -> None:
    """Raise LayoutError for a kind that fits no edge.

    >>> check_fragment("(2,4):(1,2)")
    >>> check_fragment("splitt")
    Traceback (most recent call last):
    layouts.errors.LayoutError: unknown fragment 'splitt': did you mean split? (accepted: \
contiguous, split)
    """
    if isinstance(kind, Layout) or (isinstance(kind, str) and ":" in kind):
        Layout.of(kind)  # for which threads and elements, the others say
    else:
        fragment_elements(1, 2, kind)


def _by_layout(threads: int, size: int, layout: Layout) -> list[list[int]]:
    if layout.rank != 2 or [mode.size for mode in layout.plain] != [threads, size]:
        raise LayoutError(
            f"fragment {layout} is not (thread, element) -> position for {threads} threads of"
            f" {size} elements (accepted: two modes of sizes {threads} and {size})"
        )
    check_bijection(layout.offsets(), f"fragment {layout}", "element")
    return [[layout(thread, i) for i in range(size)] for thread in range(threads)]
