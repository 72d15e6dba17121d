"""The two edges of a warp tile, and fragments that a thread reads as float4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import short
from layouts.fragment import FragmentKind, check_fragment, fragment_elements
from layouts.warp import WarpLayout
from simulator.kernels.sizes import multiple, require

__all__ = ["LAYOUT_CHECKS", "Fragments", "float4_elements", "kinds"]

Fragments = FragmentKind | tuple[FragmentKind, FragmentKind]
"""One kind for both edges of a warp tile, or (along m, along n)."""


def kinds(fragment: Fragments) -> tuple[FragmentKind, FragmentKind]:
    """Return the fragment along m and that along n.

    >>> kinds("split"), kinds(("split", "contiguous"))
    (('split', 'split'), ('split', 'contiguous'))

    Raises KernelError for a tuple that is not a pair.
    """
    if not isinstance(fragment, tuple):
        return fragment, fragment
    require(
        len(fragment) == 2,
        f"fragment = {short(fragment)} (accepted: one kind, or a pair: along m, along n)",
    )
    return fragment


def _check_fragments(fragment: Fragments) -> None:
    for kind in kinds(fragment):
        check_fragment(kind)


LAYOUT_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "warp": WarpLayout.of,
    "lane_order": partial(WarpLayout.of, "4x8"),  # of 32 lanes, whatever the shape
    "fragment": _check_fragments,
}
"""What refuses a value of these parameters that fits no others, for `Kernel.checks`."""


def float4_elements(threads: int, size: int, kind: FragmentKind, what: str) -> NDArray[np.int64]:
    """Position of every element of every thread along an edge, shape (threads, size).

    >>> float4_elements(2, 8, "split", "thread_m")[:, ::4].tolist()
    [[0, 8], [4, 12]]

    Raises KernelError, naming `what` for the size, unless each four elements are one float4;
    LayoutError where `fragment_elements` does.
    """
    multiple(size, 4, what, "vectors of 4")
    elements = np.array(fragment_elements(threads, size, kind))
    starts = elements[:, ::4]
    require(
        not (starts % 4).any()
        and np.array_equal(elements, starts.repeat(4, axis=1) + np.arange(size) % 4),
        f"fragment {kind!s} of {what} = {size} takes a thread's float4 apart (accepted: four"
        " neighbours from a multiple of 4, again and again)",
    )
    return elements
