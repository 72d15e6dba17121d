"""How many sectors the blocks that did not run are likely to touch, by those that did."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct

__all__ = ["FEWEST", "Population", "population"]

FEWEST = 3
"""Blocks that ran, at least, that tell something of the others."""
_IN_ORDER = 5
"""Blocks, at least, that tell that all lie in their order: five draws do once in 60 times."""
_DEVIATIONS = 2.0
"""Blocks that share fewer runs of sectors than draws would, by so many of their standard
deviations, are not draws: none where draws would share four."""
_SELDOM = 0.5
"""Nor do they share more than this part of what draws would."""
_HALVINGS = 50

Numbers = NDArray[np.int64]


class Population(NamedTuple):
    """What a grid is likely to touch."""

    size: int
    """Sectors, pairs or lines: what was given."""
    is_drawn: bool
    """Whether blocks draw from it; else each has its own."""


def population(blocks: Sequence[Numbers], count: int, is_own: bool = False) -> Population:
    """Return what a grid of `count` blocks is likely to touch, by `blocks` of it, in their order.

    Blocks are taken to draw from a population of sectors, each as many as the mean one did. How
    much those that ran have in common tells how large it is: n draws of s out of P have a union of
    P (1 - (1 - s / P)^n). It is no larger than the range that they lie in.

    Where blocks lie in their order, each has its own: so do the others. So it is where they share
    fewer runs of sectors than draws from all of that range would, but for what they share: tiles
    of a picture whose rows end amid a sector share that with their neighbours alone. `is_own`:
    where blocks that ran have nothing in common, none do.

    >>> far, near = ([np.arange(100) + by * k for k in range(4)] for by in (100_000, 1000))
    >>> population(far, 8).size, population(near, 8).size, population([np.arange(9)] * 4, 8).size
    (799, 715, 9)
    >>> population([np.arange(100) + 1000 * k for k in range(5)], 8)
    Population(size=800, is_drawn=False)
    """
    some = [block for block in blocks if len(block)]
    union = distinct(np.concatenate([np.zeros(0, np.int64), *some]))
    ran = len(blocks)
    size = sum(map(len, some)) / max(ran, 1)
    if ran < FEWEST or ran >= count or size < 1:
        return Population(len(union), False)

    def of(population: float, draws: int) -> float:
        return population * float(1 - (1 - size / population) ** draws)

    low, high = float(len(union)), float(union[-1] - union[0] + 1)
    runs = sum(1 + int(np.count_nonzero(np.diff(block) > 1)) for block in some) / ran
    by_chance, shared = (
        (ran * size - every) * runs / size for every in (of(high, ran), len(union))
    )
    few = shared < _SELDOM * by_chance and by_chance - shared > _DEVIATIONS * sqrt(by_chance)
    if few or (is_own and not shared) or _lie_in_order(some):
        more = (ran * size - len(union)) * (count / ran) ** 2 if few else 0.0
        return Population(max(len(union), min(round(size * count - more), int(high))), False)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if of(middle, ran) > len(union) else (middle, high)
    return Population(max(len(union), round(of(high, count))), True)


def _lie_in_order(blocks: Sequence[Numbers]) -> bool:
    """Say whether each block begins and ends behind the one before it, or each before it."""
    steps = np.diff([[block[0], block[-1]] for block in blocks], axis=0)
    return len(blocks) >= _IN_ORDER and bool((steps > 0).all() or (steps < 0).all())
