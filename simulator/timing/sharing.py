"""What several blocks read: how much of it, and how fast the L2 gives what they read together.

Blocks whose numbers follow one another lie on SMs that share their way to the L2. What several of
them read comes faster; two further apart gain little (gpu_check/data/h100_late_reads.csv).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct
from simulator.timing.footprint import Footprint
from simulator.timing.moving import number_of
from simulator.timing.population import FEWEST
from simulator.timing.traces import SECTOR, BlockTrace
from simulator.timing.work import Work

__all__ = [
    "in_common",
    "kept_twice",
    "l2_rate",
    "rate_apart",
    "read_at_once",
    "read_together",
    "readers",
]

_FARTHEST = 16
"""Blocks away on an axis of the grid, or by their numbers."""
_GPC = 16
"""SMs of a GPC, or 18."""
_MOST_TURNS = 256
"""Of copies: of more, as many tell what is copied together."""
_FAR_PAIRS = 16
"""Pairs of blocks that tell what those far apart have in common, at most."""


def kept_twice(work: Work, found: Footprint) -> tuple[float, float]:
    """Return the share of what the grid reads that several blocks do, and how many, on average.

    The first block stands for all: what no other one reads that ran, or lies around it as those do,
    is taken to be its own. `found` is what the grid touches. Without probes nothing is known to be
    shared.
    """
    if not work.probes:
        return 0.0, 1.0
    stores = set(work.stores)
    blocks = {trace.block: _read(trace, stores) for trace in work.probes}
    mine = blocks.pop((0, 0, 0), _union(()))
    common = int(_held(mine, _union([*blocks.values(), *_around(mine, blocks)])).sum())
    every = found.reads
    shared = every - SECTOR * (len(mine) - common) * work.blocks
    if not common or shared <= 0:
        return 0.0, 1.0
    # What the first block shares, others may not: no more blocks than there are read it.
    sharers = SECTOR * common * work.blocks / shared
    return shared / every, min(max(1.0, sharers), float(work.blocks))


def _around(
    mine: NDArray[np.int64], blocks: Mapping[tuple[int, int, int], NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Return what blocks around the first one read, where the next one on an axis reads as it does.

    `mine`: the sectors of the first block. They move by a constant from block to block then.
    """
    found = []
    for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        following = blocks.get(unit)
        if following is None or not len(mine) or len(following) != len(mine):
            continue
        step = int(following[0] - mine[0])
        if not step or (following - mine != step).any():
            continue
        for away in range(1, min(_FARTHEST, int(mine[-1] - mine[0]) // abs(step)) + 1):
            found += [mine - away * step, mine + away * step]
    return found


def readers(work: Work, found: Footprint) -> float:
    """Return how many blocks read the same bytes, on average over what the grid reads."""
    stores = set(work.stores)
    asked = SECTOR * float(np.mean([len(_read(trace, stores)) for trace in work.traces]))
    return max(1.0, asked * work.blocks / max(found.reads, SECTOR))


def in_common(work: Work) -> float:
    """Return the part of the grid's blocks that touch what those that ran have in common.

    Blocks that ran may all have the same place on an axis. Then blocks at other places are taken
    to touch something else, unless a probe is there that touches it all, too.
    """
    part = 1.0
    if not len(work.common):
        return part
    for axis, size in enumerate(work.grid):
        places = {each.block[axis] for each in work.traces}
        if size == 1 or len(places) > 1:
            continue
        elsewhere = (each for each in work.probes if each.block[axis] not in places)
        touched = (each.sectors_of(each.touched) for each in elsewhere)
        if not any(_held(work.common, sectors).all() for sectors in touched):
            part /= size
    return part


def l2_rate(own: float, shared: float, part: float, reach: int) -> float:
    """Return bytes per cycle of an SM, where it reads a part of them together with others.

    `own`: the rate where all read their own; `shared`: the most. What the next block reads, too,
    `reach` blocks are taken to read, and the L2 sends it once.

    >>> l2_rate(30.5, 50, 0, 6), l2_rate(30.5, 50, 1, 6)
    (30.5, 50)
    """
    return min(shared, own / (1 - part * (1 - 1 / reach)))


def rate_apart(own: float, shared: float, readers: float, sms: int) -> float:
    """Return bytes per cycle of an SM, where so many SMs read the same, wherever they are.

    The L2 sends once what several SMs of a GPC read at about the same time
    (gpu_check/data/h100_gpc_reads.csv). Of regions that `readers` SMs read each, 16 SMs have so
    many different ones. `own` and `shared`: as for `l2_rate`.

    >>> [round(rate_apart(30.5, 50, readers, 132), 1) for readers in (1, 2, 3, 8, 132)]
    [30.5, 32.2, 34.1, 44.2, 50]
    """
    if readers <= 1:
        return own
    regions = max(sms / readers, 1.0)
    of_gpc = min(_GPC, sms)
    different = regions * (1 - (1 - 1 / regions) ** of_gpc)
    alone = sms * (1 - (1 - 1 / sms) ** of_gpc)
    return min(shared, own * alone / different)


def read_together(work: Work, reach: int, l1_bytes: int, of_sm: float) -> float:
    """Return the part of what a block reads that blocks up to `reach` numbers away read, too.

    What all blocks read and L1 holds is asked for once by each SM, which has `of_sm` blocks at a
    time. What TMA copies, others copy in the same turn: those that follow lists of tiles read the
    same rows at other times, too.
    """
    stores = set(work.stores)
    traces = {number_of(each.block, work.grid): each for each in (*work.probes, *work.traces)}
    loads = {
        number: each.sectors_of(each.touched.keys() - stores - each.copied.keys())
        for number, each in traces.items()
    }
    loads = {number: sectors for number, sectors in loads.items() if len(sectors)}
    asked, together = _together(loads, reach, l1_bytes, of_sm)
    tiles = {
        number: [some for load, some in each.copied_in_turn.items() if load not in stores]
        for number, each in traces.items()
    }
    tiles = {number: each for number, each in tiles.items() if each}
    turns = max((len(some) for each in tiles.values() for some in each), default=0)
    for turn in range(0, turns, -(-turns // _MOST_TURNS) or 1):
        now = {
            number: _union(some[turn] for some in each if turn < len(some))
            for number, each in tiles.items()
        }
        more, alike = _together(now, reach)
        asked, together = asked + more, together + alike
    return together / asked if asked else 0.0


def _together(
    blocks: Mapping[int, NDArray[np.int64]], reach: int, l1_bytes: int = 0, of_sm: float = 1.0
) -> tuple[float, float]:
    """Return the sectors that blocks ask for, and those that others near them read, too.

    `blocks`: sectors by the block's number. Those of one alone tell nothing.
    """
    is_told = l1_bytes > 0 and len(blocks) >= FEWEST
    common = reduce(_common, blocks.values()) if is_told else _union(())
    held = common if len(common) * SECTOR <= l1_bytes else common[:0]
    asked = together = 0.0
    for number, mine in blocks.items():
        near = [
            sectors for other, sectors in blocks.items()
            if other != number and abs(other - number) <= reach
        ]  # fmt: skip
        if not near:
            continue
        others = _union(near)
        for sectors, weight in (
            (_common(mine, held), 1 / of_sm),
            (mine[~_held(mine, held)], 1.0),
        ):
            asked += weight * len(sectors)
            together += weight * int(_held(sectors, others).sum())
    return asked, together


def read_at_once(work: Work, loads: frozenset[int]) -> float:
    """Return how many blocks read the same at about the same time, by these loads: one and more.

    Blocks that ran tell by their distance how much of it they have in common; what those far apart
    have is chance. Distances that no two of them have lie between the others, or share nothing.
    """
    blocks = {
        number_of(each.block, work.grid): each.sectors_of(loads)
        for each in (*work.probes, *work.traces)
    }
    numbers = sorted(number for number, sectors in blocks.items() if len(sectors))
    shared: dict[int, list[float]] = {}
    chance: list[float] = []
    for place, number in enumerate(numbers):
        for other in numbers[place + 1 :]:
            away = other - number
            if away > _FARTHEST and (len(chance) >= _FAR_PAIRS or place % 2):
                break
            held = float(_held(blocks[number], blocks[other]).mean())
            if away <= _FARTHEST:
                shared.setdefault(away, []).append(held)
            else:
                chance.append(held)
                break
    if not shared:
        return 1.0
    known = sorted(shared)
    each = [float(np.mean(shared[away])) for away in known]
    found = np.interp(np.arange(1, _FARTHEST + 1), [0, *known], [1.0, *each], right=0.0)
    more = 2 * np.maximum(found - np.mean(chance or [0.0]), 0).sum()
    return float(min(1 + more, work.blocks))


def _read(trace: BlockTrace, stores: set[int]) -> NDArray[np.int64]:
    """Return the sectors that a block reads."""
    return trace.sectors_of(trace.touched.keys() - stores)


def _common(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sectors that are in both; in each, once."""
    return np.intersect1d(first, second, assume_unique=True)


def _held(sectors: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say of each sector whether it is among others; in both, each is there once."""
    return np.isin(sectors, others, assume_unique=True)


def _union(sectors: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    return distinct(np.concatenate([np.zeros(0, np.int64), *sectors]))
