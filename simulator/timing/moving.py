"""What a grid's blocks touch where that moves by constants from block to block.

The sectors of an instruction may move by a constant from block to block along each axis of the
grid: then the grid touches the union of those of all blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import gcd

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct
from simulator.timing.population import FEWEST

__all__ = [
    "MOST",
    "UNITS",
    "Dim3",
    "Parts",
    "from_end",
    "joined",
    "moved",
    "moved_inside",
    "number_of",
    "overlap",
    "united",
]

MOST = 1 << 28
"""Sectors of a range: 8 GiB, in as many bytes."""

Numbers = NDArray[np.int64]
Dim3 = tuple[int, int, int]
Parts = dict[tuple[tuple[int, int], ...], list[Numbers]]
"""By how far and how often it moves: sectors at the origin."""
_EDGES = 2
"""Blocks of an axis that are all at its edges."""
_WORDS = 8
"""Of a sector: addresses move by whole words."""
UNITS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
"""One block further on each axis."""


def moved(
    blocks: Mapping[Dim3, Numbers], grid: Dim3
) -> tuple[tuple[tuple[int, int], ...], Numbers]:
    """Return what moves by a constant from block to block: how far, and the sectors at the origin.

    For each axis by how many sectors the next block's lie further, and how many blocks. `blocks`:
    the sectors of each that ran; each holds what is returned, moved to its place.
    """
    empty = np.zeros(0, np.int64)
    common = blocks.get((0, 0, 0), empty)
    steps = [0, 0, 0]
    for axis, unit in enumerate(UNITS):
        if grid[axis] > 1:
            following = blocks.get(unit, empty)
            if not len(common) or not len(following):
                return (), empty
            steps[axis] = int(following[0] - common[0])
    edges = []
    for block, sectors in blocks.items():
        here = sectors - sum(step * at for step, at in zip(steps, block, strict=True))
        if any(at and at == size - 1 for at, size in zip(block, grid, strict=True)):
            edges.append(here)
        else:
            common = common[np.isin(common, here, assume_unique=True)]
    left_out = 0
    if not all(np.isin(common, here, assume_unique=True).all() for here in edges):
        if from_end(grid, 2) not in blocks:
            return (), empty
        left_out = 1
    found = zip(steps, (size - left_out for size in grid), strict=True)
    return tuple((step, count) for step, count in found if step and count > 1), common


def moved_inside(
    blocks: Mapping[Dim3, Numbers], grid: Dim3
) -> list[tuple[tuple[tuple[int, int], ...], Numbers]]:
    """Return what moves by constants among blocks that are at no edge; nothing: it does not.

    Addresses that wrap around or are held within bounds do so at the grid's edges alone. As
    `moved` has it, but bounds do without: the blocks at the edges touch something else. Where a
    step is some sectors and a part of one, every second, fourth or eighth block is a whole number
    of sectors further: an element for each of those that one in so many begins with.

    >>> wraps = {(x, 0, 0): np.array([8 * x, 8 * x + 7]) for x in (2, 3, 5)}
    >>> moved_inside(wraps | {(0, 0, 0): np.array([0, 63])}, (8, 1, 1))
    [(((8, 8),), array([0, 7]))]
    >>> halves = {(x, 0, 0): np.array([5 * x // 2, 5 * x // 2 + 1]) for x in (2, 3, 5, 6)}
    >>> moved_inside(halves, (8, 1, 1))
    [(((5, 4),), array([0, 1])), (((5, 4),), array([3, 4]))]
    """
    axes = [axis for axis in range(3) if grid[axis] > 1]
    inner = {
        block: sectors for block, sectors in blocks.items()
        if len(sectors)
        and not any(grid[axis] > _EDGES and block[axis] in (0, grid[axis] - 1) for axis in axes)
    }  # fmt: skip
    if len(inner) < max(FEWEST, len(axes) + 1):
        return []
    places = np.array([[block[axis] for axis in axes] for block in inner], np.int64)
    means = np.array([float(sectors.mean()) for sectors in inner.values()])
    known = np.column_stack([places, np.ones(len(places))])
    solved, _, rank, _ = np.linalg.lstsq(known, means - means[0])
    if rank <= len(axes):
        return []
    nearest = np.rint(_WORDS * solved[:-1]).astype(np.int64)
    # What begins or ends within a sector makes the steps uncertain by a word.
    for beside in product((0, -1, 1), repeat=len(axes)):
        steps = nearest + np.array(beside, np.int64)
        mine = _moves_by(steps, places, [*inner.values()])
        if mine is not None:
            break
    else:
        return []
    every = [int(_WORDS // gcd(step, _WORDS)) for step in steps.tolist()]
    found = []
    for first in product(*map(range, every)):
        begin = mine + ((np.array(first) - places[0]) @ steps + _WORDS // 2) // _WORDS
        moves = zip(steps.tolist(), every, [grid[axis] for axis in axes], first, strict=True)
        moved = [(step * by // _WORDS, -(-(size - at) // by)) for step, by, size, at in moves]
        found.append((tuple((step, count) for step, count in moved if step), begin))
    return found


def _moves_by(
    steps: NDArray[np.int64], places: NDArray[np.int64], blocks: Sequence[Numbers]
) -> Numbers | None:
    """Return what the first block touches, if all touch that so many words further by axis."""
    mine, *others = blocks
    away = (places - places[0]) @ steps // _WORDS
    # Where steps are whole, all blocks' are alike; else one may begin or end a sector later.
    late = (0,) if not (steps % _WORDS).any() else (-1, 0, 1)
    near = distinct(np.array([mine + by for by in late]))
    if len(late) == 1 and any(len(each) != len(mine) for each in others):
        return None
    moved = (each - by for each, by in zip(others, away[1:], strict=True))
    return mine if all(np.isin(each, near, assume_unique=True).all() for each in moved) else None


def united(parts: Parts, every: int = 1) -> int:
    """Return how many sectors the union of all blocks' sectors has; `every`: or pairs, or lines."""
    spans = []
    for steps, sectors in parts.items():
        found = np.concatenate([np.zeros(0, np.int64), *sectors])
        if not len(found):
            continue
        low = int(found.min()) + sum(min(0, step * (blocks - 1)) for step, blocks in steps)
        high = int(found.max()) + sum(max(0, step * (blocks - 1)) for step, blocks in steps)
        spans.append((low, high, steps, found))
    if not spans:
        return 0
    first = min(low for low, *_ in spans)
    size = max(high for _, high, *_ in spans) + 1 - first
    if size > MOST:  # what was executed is still touched
        return len(distinct(np.concatenate([found for *_, found in spans]) // every))
    first -= first % every
    size = -(-(size + every) // every) * every
    whole = np.zeros(size, dtype=np.bool_)
    for low, high, steps, found in spans:
        part = np.zeros(high + 1 - low, dtype=np.bool_)
        start = low - sum(min(0, step * (blocks - 1)) for step, blocks in steps)
        part[found - start - (low - start)] = True
        for step, blocks in steps:
            _repeat(part, step, blocks)
        whole[low - first : high + 1 - first] |= part
    return int(np.count_nonzero(whole.reshape(-1, every).any(axis=1) if every > 1 else whole))


def _repeat(part: NDArray[np.bool_], step: int, blocks: int) -> None:
    """Mark in `part` what lies up to `blocks` - 1 steps further, too."""
    done = 1
    while done < blocks:
        more = min(done, blocks - done)
        away = abs(step) * more
        if step > 0:
            part[away:] |= part[:-away].copy()
        else:
            part[:-away] |= part[away:].copy()
        done += more


def joined(first: Parts, second: Parts) -> Parts:
    """Return what either has."""
    return {key: first.get(key, []) + second.get(key, []) for key in {**first, **second}}


def overlap(sectors: Numbers, parts: Parts) -> int:
    """Return how many sectors others have, too."""
    return len(sectors) + united(parts) - united(joined(parts, {(): [sectors]}))


def from_end(grid: Dim3, back: int) -> Dim3:
    """Return the block that is the last but so many on each axis: 1 is the last one."""
    x, y, z = (max(size - back, 0) for size in grid)
    return x, y, z


def number_of(block: Dim3, grid: Dim3) -> int:
    """Return which block it is, in the grid's order.

    >>> number_of((1, 2, 0), (8, 4, 1))
    17
    """
    x, y, z = block
    return x + grid[0] * (y + grid[1] * z)
