"""How much longer a grid of unlike blocks lasts than the mean SM works.

An SM gets its next block when one of its own has ended. Blocks that do more may come last, or
together: so a chip is gone through with the grid's blocks, each as long as its nearest that ran,
and begun where the chip begins it. Which GPC is first is not known: each is as likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import prod

import numpy as np
from numpy.typing import NDArray

from simulator.timing.places import GPCS, first_places
from simulator.timing.population import FEWEST
from simulator.timing.work import Work

__all__ = ["UNLIKE", "begun", "first_ends", "is_unlike", "last_end", "lengths", "most_to_do"]

UNLIKE = 0.02
"""Of what they do: blocks that differ by less are alike."""
_MOST = 1 << 16
"""Blocks: of more, the last ones are a small part."""
_AT_A_TIME = 1 << 12
_FEW = 8
"""Waves: of more, where the first blocks begin hardly matters."""


def is_unlike(work: Work) -> bool:
    """Whether blocks that ran differ in what they do, and the grid is not too large."""
    each = [trace.busy for trace in work.traces]
    if len(each) < min(FEWEST, work.blocks) or work.blocks > _MOST:
        return False
    return max(each) > (1 + UNLIKE) * min(each)


def lengths(work: Work, ran: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return how much each block has to do beside the mean of those that ran.

    `ran`: which of those that ran; None: all blocks of the grid, each as the nearest that ran.
    """
    did = np.array([trace.busy for trace in work.traces], np.float64)
    mean: float = did.mean()
    found: NDArray[np.float64] = did[_nearest(work) if ran is None else ran] / mean
    return found


def begun(work: Work, sms: int) -> list[list[int]]:
    """Return the SM of each block until every slot is taken, by the GPC that is first.

    Of a grid of many waves, one of them stands for all: it hardly matters.
    """
    firsts = range(GPCS if work.blocks <= _FEW * work.resident * sms else 1)
    cluster = prod(work.cluster)
    return [first_places(work.blocks, work.resident, sms, cluster, first) for first in firsts]


def most_to_do(work: Work, sms: int) -> NDArray[np.int64]:
    """Return the blocks of the SM that has most to do, where all begin at once.

    They are places among `work.traces`: blocks that ran, each the nearest to one of the SM's. The
    median is taken of the GPCs that may be first.
    """
    did = np.array([trace.busy for trace in work.traces], np.float64)
    nearest = _nearest(work)
    found = []
    for places in begun(work, sms):
        sums = np.bincount(places, weights=did[nearest])
        sm = int(sums.argmax())
        found.append((float(sums[sm]), nearest[np.array(places) == sm]))
    found.sort(key=lambda each: each[0])
    blocks: NDArray[np.int64] = found[len(found) // 2][1]
    return blocks


def _nearest(work: Work) -> NDArray[np.int64]:
    """Return for each block of the grid the nearest one that ran, in shares of the grid's axes."""
    size = np.array(work.grid, np.float64)
    ran = np.array([trace.block for trace in work.traces]) / size
    x, y, _ = work.grid
    found = np.empty(work.blocks, np.int64)
    for begin in range(0, work.blocks, _AT_A_TIME):
        number = np.arange(begin, min(begin + _AT_A_TIME, work.blocks))
        place = np.stack([number % x, number // x % y, number // (x * y)], axis=1) / size
        away = ((place[:, None] - ran[None]) ** 2).sum(axis=2)
        found[number] = away.argmin(axis=1)
    return found


def last_end(
    work: Sequence[float], slow: Sequence[float], places: Sequence[int], firsts: Sequence[float],
    fastest: float,
) -> float:  # fmt: skip
    """Return when the last block ends, in units of what a block of 1.0 takes with all slots taken.

    `slow`: the time of each SM beside the mean one's. An SM's blocks share it; of few, each goes
    `fastest` times as fast as among all. `places`: the SMs of the first blocks. `firsts`: by slot,
    how much of its first block is to be done. Blocks that begin together do not end together where
    a scheduler prefers some, and then an SM's next ones come one by one.

    >>> two, like = [0, 1, 0, 1], [1.0, 1.0]
    >>> last_end([1.0] * 8, like, two, [1, 1], 2.0)
    2.0
    >>> last_end([1.0] * 7 + [5.0], like, two, [1, 1], 2.0)
    4.0
    >>> last_end([3.0, 1.0, 3.0, 1.0], [1.1, 0.9], two, [1, 1], 2.0)
    3.3000000000000003
    >>> last_end([1.0] * 6, [1.0], [0, 0], [0.5, 1], 2.0)
    2.75
    """
    sms = len(slow)
    done = [0.0] * sms  # what a block that was there from the beginning has had
    held: list[list[float]] = [[] for _ in range(sms)]
    resident, place = len(firsts), len(places)
    for sm, each in zip(places, work, strict=False):
        heappush(held[sm], firsts[len(held[sm])] * each)

    def speed(sm: int) -> float:
        return min(resident / len(held[sm]), fastest) / slow[sm]

    ends: list[tuple[float, int]] = []
    for sm in range(sms):
        if held[sm]:
            heappush(ends, (held[sm][0] / speed(sm), sm))
    now = 0.0
    while ends:
        now, sm = heappop(ends)
        done[sm] = heappop(held[sm])
        if place < len(work):
            heappush(held[sm], done[sm] + work[place])
            place += 1
        if held[sm]:
            heappush(ends, (now + (held[sm][0] - done[sm]) / speed(sm), sm))
    return now


def first_ends(work: Sequence[float], fastest: float) -> NDArray[np.float64]:
    """Return when blocks end that begin together on an SM and are all that it has, by `last_end`.

    >>> first_ends([1.0, 3.0], 2.0).tolist(), first_ends([1.0, 3.0], 1.0).tolist()
    ([1.0, 2.0], [1.0, 3.0])
    """
    found = np.zeros(len(work))
    now = done = 0.0
    order = np.argsort(work, kind="stable")
    for place, block in enumerate(order.tolist()):
        now += (work[block] - done) / min(len(work) / (len(work) - place), fastest)
        found[block], done = now, work[block]
    return found
