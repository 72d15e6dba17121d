"""How much global memory a grid touches at least: bytes read and written, each sector once.

The sectors of an instruction may move by a constant from block to block along each axis of the
grid: then it touches the union of those of all blocks. Whether it does is seen in probes: the
blocks at the grid's origin, one further on each axis, the last one and the one before it on all
axes. What every block that ran has in common so is taken to be the whole grid's. Where a block at a
far edge of the grid touches less, the last blocks of each axis are left out. Else only what was
executed counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct
from simulator.timing.population import FEWEST, unseen
from simulator.timing.traces import BlockTrace

__all__ = ["SECTOR", "Footprint", "footprint", "probe_blocks", "sectors_by_instruction"]

SECTOR = 32
"""Bytes."""
_MOST = 1 << 28  # sectors: 8 GiB, in as many bytes

Numbers = NDArray[np.int64]
Dim3 = tuple[int, int, int]
Parts = dict[tuple[tuple[int, int], ...], list[Numbers]]
"""By how far and how often it moves: sectors at the origin."""
_EDGES = 2
"""Blocks of an axis that are all at its edges."""
_WORDS = 8
"""Of a sector: addresses move by whole words."""
_UNITS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


@dataclass(frozen=True)
class Footprint:
    """Bytes of global memory, each counted once."""

    read: int
    written: int
    covers_grid: bool
    """Whether every instruction's are the whole grid's, but for blocks at its far edges."""
    unseen_read: int = 0
    """What blocks that did not run are likely to read beside: no part of a bound."""
    unseen_written: int = 0
    """The same of what they write."""
    both: int = 0
    """What is read and written, or likely to be."""
    first_read: int = 0
    """Of what is read, what was there before: no warp wrote it without having read it."""
    irregular: frozenset[int] = frozenset()
    """The loads whose sectors follow no rule from block to block."""

    @property
    def reads(self) -> int:
        """What the grid is likely to read."""
        return self.read + self.unseen_read

    @property
    def writes(self) -> int:
        """What it is likely to write."""
        return self.written + self.unseen_written


def probe_blocks(grid: Dim3) -> list[Dim3]:
    """Return the blocks that tell how addresses depend on the block.

    >>> probe_blocks((8, 4, 1))
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (6, 2, 0), (7, 3, 0)]
    """
    next_ones = [unit for unit, size in zip(_UNITS, grid, strict=True) if size > 1]
    ends = [_from_end(grid, 2), _from_end(grid, 1)]
    return list(dict.fromkeys([(0, 0, 0), *next_ones, *ends]))


def _from_end(grid: Dim3, back: int) -> Dim3:
    x, y, z = (max(size - back, 0) for size in grid)
    return x, y, z


def sectors_by_instruction(trace: BlockTrace) -> dict[int, Numbers]:
    """Return the sectors that a block touches, by the number of the instruction; sorted."""
    counts = np.diff(trace.steps.row_begin)[trace.step]
    first = np.repeat(trace.steps.row_begin[trace.step], counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = trace.steps.row[first + within]
    rows = rows[~trace.rows.is_shared[rows]]
    found: dict[int, Numbers] = {}
    numbers = trace.rows.number[rows]
    for number in distinct(numbers).tolist():
        chosen = numbers == number
        found[number] = _sectors(trace, rows[chosen], trace.base[chosen])
    return found | dict(trace.copied)


def _sectors(trace: BlockTrace, rows: Numbers, bases: Numbers) -> Numbers:
    """Return the sectors of accesses: a row each, and the line of its first lane."""
    pairs = np.unique(np.stack([rows, bases], axis=1), axis=0)
    rows, bases = pairs[:, 0], pairs[:, 1]
    counts = np.diff(trace.rows.line_begin)[rows]
    first = np.repeat(trace.rows.line_begin[rows], counts)
    place = first + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    lines = np.repeat(bases, counts) + trace.rows.line[place]
    masks = trace.rows.mask[place]
    parts = [lines[masks >> part & 1 != 0] * 4 + part for part in range(4)]
    return distinct(np.concatenate(parts)).astype(np.int64)


def _written_first(trace: BlockTrace, stores: set[int]) -> set[int]:
    """Return the instructions by which warps write sectors that they did not read before.

    In which order the warps of a block, or blocks, come is not known. But where all that write a
    sector have read it, it was read before it was written. Of copies no order is known.
    """
    rows = trace.global_rows()
    warps = np.repeat(np.arange(len(trace.base_begin) - 1), np.diff(trace.base_begin))
    each = np.stack([warps, rows, trace.base], axis=1)
    _, first = np.unique(each, axis=0, return_index=True)
    warps, rows, bases = each[np.sort(first)].T
    counts = np.diff(trace.rows.line_begin)[rows]
    begin = np.repeat(trace.rows.line_begin[rows] - np.cumsum(counts) + counts, counts)
    place = begin + np.arange(counts.sum())
    lines = np.repeat(bases, counts) + trace.rows.line[place]
    which = np.repeat(np.stack([warps, trace.rows.number[rows]], axis=1), counts, axis=0)
    of_line = trace.rows.mask[place][:, None] >> np.arange(4) & 1 != 0
    at, part = np.nonzero(of_line)
    _, first = np.unique(
        np.stack([which[at, 0], lines[at] * 4 + part], axis=1), axis=0, return_index=True
    )
    begun = {int(number) for number in distinct(which[at[first], 1])}
    return (begun | set(trace.copied)) & stores


def footprint(
    probes: Sequence[BlockTrace], traces: Sequence[BlockTrace], grid: Dim3,
    stores: Iterable[int], cluster: Dim3 = (1, 1, 1),
) -> Footprint:  # fmt: skip
    """Return the bytes that a grid reads and writes at least.

    `probes`: the blocks of `probe_blocks`, in that order, or none; of a grid of clusters, all
    blocks of the clusters there. `traces`: other blocks that were executed. `stores`: the
    instructions that write.
    """
    if not probes and not traces:
        return Footprint(0, 0, True)
    grid = _divided(grid, cluster)
    places = [_divided(trace.block, cluster) for trace in (*probes, *traces)]
    each = [sectors_by_instruction(trace) for trace in (*probes, *traces)]
    if prod(cluster) > 1:
        places, each = _of_clusters(places, each)
    numbers = sorted(set().union(*each))
    empty = np.zeros(0, np.int64)
    written, covers = set(stores), True
    irregular: dict[bool, list[tuple[list[Numbers], int]]] = {True: [], False: []}
    loads: set[int] = set()
    parts: dict[bool, Parts] = {True: {}, False: {}}
    likely: dict[bool, Parts] = {True: {}, False: {}}
    of_one: dict[int, Parts] = {}
    for number in numbers:
        blocks = [block.get(number, empty) for block in each]
        of_kind = parts[number in written]
        of_kind.setdefault((), []).extend(blocks)
        common = empty
        steps: tuple[tuple[int, int], ...] = ()
        if probes:
            steps, common = _moved(dict(zip(places, blocks, strict=True)), grid)
            of_kind.setdefault(steps, []).append(common)
        of_one[number] = _joined({(): blocks}, {steps: [common]})
        whole = len(blocks[0]) and len(common) == len(blocks[0])
        covers = covers and (bool(whole) or all(size == 1 for size in grid))
        if not whole:
            ran = dict(zip(places, blocks, strict=True))  # one may have run twice
            inside = _moved_inside(ran, grid)
            for moves, shape in inside:
                likely[number in written].setdefault(moves, []).append(shape)
                of_one[number] = _joined(of_one[number], {moves: [shape]})
            if not inside:
                known = _united({steps: [common], (): blocks})
                irregular[number in written].append(([*ran.values()], known))
                loads |= {number} - written
    found, count = {}, prod(grid)
    for kind in (False, True):
        known, all_of = _united(parts[kind]), _joined(parts[kind], likely[kind])
        more = _united(all_of) - known if likely[kind] else 0
        others = _likely(irregular[kind], count, all_of)
        found[kind] = (known * SECTOR, (more + others) * SECTOR, all_of)
    (read, unseen_read, reads), (touched, unseen_written, writes) = found[False], found[True]
    both = max(0, _united(reads) + _united(writes) - _united(_joined(reads, writes))) * SECTOR
    first_read = read
    if both:  # of what is written, but was not read before, the grid reads what it made
        made = set().union(*(_written_first(trace, written) for trace in (*probes, *traces)))
        own: Parts = reduce(_joined, (of_one[number] for number in sorted(made)), {})
        first_read = max(0, _united(_joined(parts[False], own)) - _united(own)) * SECTOR
    return Footprint(
        read, touched, covers, unseen_read, unseen_written, both, first_read, frozenset(loads)
    )


def _divided(place: Dim3, cluster: Dim3) -> Dim3:
    x, y, z = (at // size for at, size in zip(place, cluster, strict=True))
    return x, y, z


def _of_clusters(
    places: Sequence[Dim3], each: Sequence[Mapping[int, Numbers]]
) -> tuple[list[Dim3], list[dict[int, Numbers]]]:
    """Return clusters, and what the blocks of each touch together, by instruction.

    One that touches nothing is among them: it tells that not all clusters do as the first ones.
    """
    found: dict[Dim3, dict[int, list[Numbers]]] = {place: {} for place in places}
    for place, touched in zip(places, each, strict=True):
        for number, sectors in touched.items():
            found[place].setdefault(number, []).append(sectors)
    together = [
        {number: distinct(np.concatenate(sectors)) for number, sectors in of_cluster.items()}
        for of_cluster in found.values()
    ]
    return list(found), together


def _joined(first: Parts, second: Parts) -> Parts:
    return {key: first.get(key, []) + second.get(key, []) for key in {**first, **second}}


def _likely(
    instructions: Sequence[tuple[Sequence[Numbers], int]], count: int, regular: Parts
) -> int:
    """Return the sectors that blocks that did not run are likely to touch beside what is known.

    `instructions`: for each the sectors of each block that ran, and how many are known of the
    grid. Together they are no more than lie between the first and the last sector; of these, other
    instructions may touch a part of which the rule is known (`regular`).
    """
    found = sum(
        max(0, unseen(blocks, count) + len(distinct(np.concatenate(blocks))) - known)
        for blocks, known in instructions
    )
    if not found:
        return 0
    union = distinct(np.concatenate([each for blocks, _ in instructions for each in blocks]))
    between = np.arange(union[0], union[-1] + 1)
    if len(between) > _MOST:
        return found
    free = _united(_joined(regular, {(): [between]})) - _united(regular)
    return min(found * free // len(between), len(between) - len(union))


def _moved(
    blocks: Mapping[Dim3, Numbers], grid: Dim3
) -> tuple[tuple[tuple[int, int], ...], Numbers]:
    """Return what moves by a constant from block to block: how far, and the sectors at the origin.

    For each axis by how many sectors the next block's lie further, and how many blocks. `blocks`:
    the sectors of each that ran; each holds what is returned, moved to its place.
    """
    empty = np.zeros(0, np.int64)
    common = blocks.get((0, 0, 0), empty)
    steps = [0, 0, 0]
    for axis, unit in enumerate(_UNITS):
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
        if _from_end(grid, 2) not in blocks:
            return (), empty
        left_out = 1
    found = zip(steps, (size - left_out for size in grid), strict=True)
    return tuple((step, count) for step, count in found if step and count > 1), common


def _moved_inside(
    blocks: Mapping[Dim3, Numbers], grid: Dim3
) -> list[tuple[tuple[tuple[int, int], ...], Numbers]]:
    """Return what moves by constants among blocks that are at no edge; nothing: it does not.

    Addresses that wrap around or are held within bounds do so at the grid's edges alone. As
    `_moved` has it, but bounds do without: the blocks at the edges touch something else. Where a
    step is some sectors and a part of one, every second, fourth or eighth block is a whole number
    of sectors further: an element for each of those that one in so many begins with.

    >>> wraps = {(x, 0, 0): np.array([8 * x, 8 * x + 7]) for x in (2, 3, 5)}
    >>> _moved_inside(wraps | {(0, 0, 0): np.array([0, 63])}, (8, 1, 1))
    [(((8, 8),), array([0, 7]))]
    >>> halves = {(x, 0, 0): np.array([5 * x // 2, 5 * x // 2 + 1]) for x in (2, 3, 5, 6)}
    >>> _moved_inside(halves, (8, 1, 1))
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
    steps = np.rint(_WORDS * solved[:-1]).astype(np.int64)
    mine, *others = [
        sectors - (at - places[0]) @ steps // _WORDS
        for sectors, at in zip(inner.values(), places, strict=True)
    ]
    # Where steps are whole, all blocks' are alike; else one may begin or end a sector later.
    late = (0,) if not (steps % _WORDS).any() else (-1, 0, 1)
    near = distinct(np.array([mine + by for by in late]))
    if not all(np.isin(each, near, assume_unique=True).all() for each in others):
        return []
    if len(late) == 1 and any(len(each) != len(mine) for each in others):
        return []
    every = [int(_WORDS // gcd(step, _WORDS)) for step in steps.tolist()]
    found = []
    for first in product(*map(range, every)):
        begin = mine + ((np.array(first) - places[0]) @ steps + _WORDS // 2) // _WORDS
        moves = zip(steps.tolist(), every, [grid[axis] for axis in axes], first, strict=True)
        moved = [(step * by // _WORDS, -(-(size - at) // by)) for step, by, size, at in moves]
        found.append((tuple((step, count) for step, count in moved if step), begin))
    return found


def _united(parts: Parts) -> int:
    """Return how many sectors the union of all blocks' sectors has."""
    spans = []
    for steps, sectors in parts.items():
        found = np.concatenate(sectors)
        if not len(found):
            continue
        low = int(found.min()) + sum(min(0, step * (blocks - 1)) for step, blocks in steps)
        high = int(found.max()) + sum(max(0, step * (blocks - 1)) for step, blocks in steps)
        spans.append((low, high, steps, found))
    if not spans:
        return 0
    first = min(low for low, *_ in spans)
    size = max(high for _, high, *_ in spans) + 1 - first
    if size > _MOST:  # what was executed is still touched
        return len(distinct(np.concatenate([found for *_, found in spans])))
    whole = np.zeros(size, dtype=np.bool_)
    for low, high, steps, found in spans:
        part = np.zeros(high + 1 - low, dtype=np.bool_)
        start = low - sum(min(0, step * (blocks - 1)) for step, blocks in steps)
        part[found - start - (low - start)] = True
        for step, blocks in steps:
            _repeat(part, step, blocks)
        whole[low - first : high + 1 - first] |= part
    return int(np.count_nonzero(whole))


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
