"""How many sectors the blocks that did not run are likely to touch, by those that did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct

__all__ = ["FEWEST", "unseen"]

FEWEST = 3
"""Blocks that ran, at least, that tell something of the others."""
_BY_CHANCE = 4.0
"""Sectors that draws would share: where those of blocks share none, blocks are not draws."""
_HALVINGS = 50


def unseen(blocks: Sequence[NDArray[np.int64]], count: int) -> int:
    """Return the sectors that a grid of `count` blocks is likely to touch beside those of `blocks`.

    Blocks are taken to draw from a population of sectors, each as many as the mean one did. How
    much those that ran have in common tells how large it is: n draws of s out of P have a union of
    P (1 - (1 - s / P)^n). It is no larger than the range that they lie in. Where they have nothing
    in common, though draws from all of that range would, blocks keep apart: the others do, too.

    >>> far, near = ([np.arange(100) + by * k for k in range(4)] for by in (100_000, 1000))
    >>> unseen(far, 8), unseen(near, 8), unseen([np.arange(100)] * 4, 8)
    (399, 400, 0)
    """
    ran = len(blocks)
    size = sum(map(len, blocks)) / max(ran, 1)
    if ran < FEWEST or ran >= count or size < 1:
        return 0
    union = distinct(np.concatenate(blocks))

    def of(population: float, draws: int) -> float:
        return population * float(1 - (1 - size / population) ** draws)

    low, high = float(len(union)), float(union[-1] - union[0] + 1)
    if len(union) == ran * size and len(union) - of(high, ran) > _BY_CHANCE:
        return max(0, min(round(size * count), int(high)) - len(union))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if of(middle, ran) > len(union) else (middle, high)
    return max(0, round(of(high, count)) - len(union))
