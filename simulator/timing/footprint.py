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
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct
from simulator.timing.moving import (
    MOST,
    UNITS,
    Dim3,
    Parts,
    from_end,
    joined,
    moved,
    moved_inside,
    number_of,
    overlap,
    united,
)
from simulator.timing.population import FEWEST, population
from simulator.timing.traces import SECTOR, SECTORS, BlockTrace

__all__ = ["Footprint", "Pool", "footprint", "own_bytes", "probe_blocks"]

Numbers = NDArray[np.int64]
_PAIR = 2
"""Sectors."""


class Pool(NamedTuple):
    """Memory of which no rule tells what the next block touches."""

    numbers: frozenset[int]
    """The instructions that read it, or write it."""
    sectors: int
    """That the grid is likely to touch."""
    pairs: int
    lines: int
    """The same of pairs of sectors, which DRAM brings, and of lines."""
    changed: float
    """The share of it that the grid is likely to write, too."""


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
    drawn: tuple[Pool, ...] = ()
    """What loads draw of it, whose sectors follow no rule from block to block."""
    irregular_writes: tuple[Pool, ...] = ()
    """What stores and atomics write of it whose sectors follow none, drawn or each block's own."""
    spread: float = 1.0
    """Bytes of all lines that are touched, beside those of their sectors: 1 to 4."""
    fetched: float = 1.0
    """Sectors that DRAM brings for one that is read: it brings pairs."""

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
    next_ones = [unit for unit, size in zip(UNITS, grid, strict=True) if size > 1]
    ends = [from_end(grid, 2), from_end(grid, 1)]
    return list(dict.fromkeys([(0, 0, 0), *next_ones, *ends]))


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
    of, lines, place = trace.lines(rows, bases)
    which = np.stack([warps, trace.rows.number[rows]], axis=1)[of]
    of_line = trace.rows.mask[place][:, None] >> np.arange(4) & 1 != 0
    at, part = np.nonzero(of_line)
    _, first = np.unique(
        np.stack([which[at, 0], lines[at] * 4 + part], axis=1), axis=0, return_index=True
    )
    begun = {int(number) for number in distinct(which[at[first], 1])}
    return (begun | set(trace.copied)) & stores


def footprint(
    probes: Sequence[BlockTrace], traces: Sequence[BlockTrace], grid: Dim3,
    stores: Iterable[int], cluster: Dim3 = (1, 1, 1), *, alone: bool = False,
) -> Footprint:  # fmt: skip
    """Return the bytes that a grid reads and writes at least.

    Parameters
    ----------
    probes
        The blocks of `probe_blocks`, in that order, or none; of a grid of clusters, all blocks of
        the clusters there.
    traces
        Other blocks that were executed.
    grid, cluster
        Blocks of the grid, and of a cluster.
    stores
        The instructions that write.
    alone
        Look at no other instructions.
    """
    if not probes and not traces:
        return Footprint(0, 0, True)
    grid = _divided(grid, cluster)
    places = [_divided(trace.block, cluster) for trace in (*probes, *traces)]
    written, covers = set(stores), True
    each = [trace.touched for trace in (*probes, *traces)]
    if alone:
        each = [{key: block[key] for key in block.keys() & written} for block in each]
    if prod(cluster) > 1:
        places, each = _of_clusters(places, each)
    numbers = sorted(set().union(*each))
    empty = np.zeros(0, np.int64)
    irregular: dict[bool, list[_Irregular]] = {True: [], False: []}
    parts: dict[bool, Parts] = {True: {}, False: {}}
    likely: dict[bool, Parts] = {True: {}, False: {}}
    rules: dict[bool, Parts] = {True: {}, False: {}}
    of_one: dict[int, Parts] = {}
    for number in numbers:
        blocks = [block.get(number, empty) for block in each]
        of_kind = parts[number in written]
        of_kind.setdefault((), []).extend(blocks)
        common = empty
        steps: tuple[tuple[int, int], ...] = ()
        if probes:
            steps, common = moved(dict(zip(places, blocks, strict=True)), grid)
            of_kind.setdefault(steps, []).append(common)
        of_one[number] = joined({(): blocks}, {steps: [common]})
        # The first block may touch much less than the others do: a triangle's rows grow.
        whole = len(blocks[0]) and len(common) == len(blocks[0])
        whole = whole and max(map(len, blocks)) < 2 * len(common)
        covers = covers and (bool(whole) or all(size == 1 for size in grid))
        if not whole:
            ran = dict(sorted(zip(places, blocks, strict=True), key=lambda at: at[0][::-1]))
            inside = moved_inside(ran, grid)
            for moves, shape in inside:
                likely[number in written].setdefault(moves, []).append(shape)
                of_one[number] = joined(of_one[number], {moves: [shape]})
            if not inside:
                irregular[number in written].append(
                    _Irregular(frozenset({number}), [*ran.values()], of_one[number])
                )
                continue
        rules[number in written] = joined(rules[number in written], of_one[number])
    groups = {kind: _groups(irregular[kind]) for kind in (False, True)}
    if probes:
        order = sorted(set(places), key=lambda at: at[::-1])
        for kind, some in groups.items():
            groups[kind] = [_moved_together(one, order, grid, parts[kind]) for one in some]
    all_of = {kind: joined(parts[kind], likely[kind]) for kind in (False, True)}
    writes = joined(all_of[True], {(): [one for each in irregular[True] for one in each.blocks]})
    foreign = _foreign(irregular[False], irregular[True])
    found, apart = {}, _apart(places, grid)
    for kind in (False, True):
        known = united(parts[kind])
        more = united(all_of[kind]) - known if likely[kind] else 0
        drawn = [
            _drawn(one, apart, prod(grid), all_of[kind], writes, foreign) for one in groups[kind]
        ]
        found[kind] = known, more, drawn
    (read, likely_read, drawn_read), (touched, likely_written, drawn_written) = found.values()
    every = united(joined(all_of[False], all_of[True]))
    both = read + likely_read + touched + likely_written - every
    both += sum(round(one.unseen * one.pool.changed) for one in drawn_read)
    first_read = read
    if both:  # of what is written, but was not read before, the grid reads what it made
        made = set().union(*(_written_first(trace, written) for trace in (*probes, *traces)))
        own: Parts = reduce(joined, (of_one[number] for number in sorted(made)), {})
        first_read = max(0, united(joined(parts[False], own)) - united(own))
    unseen_read = sum(one.unseen for one in drawn_read)
    unseen_written = sum(one.unseen for one in drawn_written)
    spread, fetched = (
        _filled(every, rule, some)
        for every, rule, some in (
            (SECTORS, joined(rules[False], rules[True]), [*drawn_read, *drawn_written]),
            (_PAIR, rules[False], drawn_read),
        )
    )
    return Footprint(
        read=read * SECTOR,
        written=touched * SECTOR,
        covers_grid=covers,
        unseen_read=(likely_read + unseen_read) * SECTOR,
        unseen_written=(likely_written + unseen_written) * SECTOR,
        both=both * SECTOR,
        first_read=first_read * SECTOR,
        drawn=tuple(one.pool for one in drawn_read if one.is_drawn),
        irregular_writes=tuple(one.pool for one in drawn_written),
        spread=spread,
        fetched=fetched,
    )


def own_bytes(trace: BlockTrace, stores: Sequence[int]) -> tuple[int, int]:
    """Return the bytes that one block first reads, and those that it writes.

    They are those of the `footprint` of a grid of one block.
    """
    written = trace.sectors_of(stores)
    read = trace.sectors_of(trace.touched.keys() - set(stores))
    first = len(read)
    if np.isin(read, written, assume_unique=True).any():
        made = trace.sectors_of(_written_first(trace, set(stores)))
        first -= int(np.isin(read, made, assume_unique=True).sum())
    return first * SECTOR, len(written) * SECTOR


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


class _Irregular(NamedTuple):
    """Instructions whose sectors follow no rule from block to block."""

    numbers: frozenset[int]
    blocks: list[Numbers]
    """The sectors of each block that ran."""
    known: Parts
    """What is known of the whole grid."""


class _Likely(NamedTuple):
    pool: Pool
    is_drawn: bool
    unseen: int
    """Sectors that blocks that did not run are likely to touch beside what is known."""


def _filled(every: int, rule: Parts, drawn: Sequence[_Likely]) -> float:
    """Return the sectors of all pairs or lines that are touched, beside those that are.

    `every`: sectors of one; `rule`: what follows a rule; `drawn`: what does not.
    """
    wholes = [one.pool.pairs if every == _PAIR else one.pool.lines for one in drawn]
    touched = united(rule) + sum(one.pool.sectors for one in drawn)
    return min(max(every * (united(rule, every) + sum(wholes)) / max(touched, 1), 1.0), every)


def _groups(irregular: Iterable[_Irregular]) -> list[_Irregular]:
    """Return those that lie in the same range of memory as one: so do loads of an array."""
    some = [each for each in irregular if any(map(len, each.blocks))]
    ends = [
        (min(int(block[0]) for block in each.blocks if len(block)),
         max(int(block[-1]) for block in each.blocks if len(block)))
        for each in some
    ]  # fmt: skip
    found: list[_Irregular] = []
    last = -1
    for (low, high), one in sorted(zip(ends, some, strict=True), key=lambda each: each[0]):
        if low <= last:
            before = found.pop()
            one = _Irregular(
                before.numbers | one.numbers,
                [distinct(np.concatenate(two))
                 for two in zip(before.blocks, one.blocks, strict=True)],
                joined(before.known, one.known),
            )  # fmt: skip
        found.append(one)
        last = max(last, high)
    return found


def _foreign(loads: Sequence[_Irregular], stores: Sequence[_Irregular]) -> Parts:
    """Return the sectors that blocks read, by instructions without a rule, and do not write."""
    none, found = np.zeros(0, np.int64), []
    for at in range(max((len(each.blocks) for each in loads), default=0)):
        read, written = (
            np.concatenate([none, *(each.blocks[at] for each in some)]) for some in (loads, stores)
        )
        found.append(read[~np.isin(read, written)])
    return {(): found}


def _moved_together(
    group: _Irregular, places: Sequence[Dim3], grid: Dim3, parts: Parts
) -> _Irregular:
    """Return a group with what moves by a constant of all that its instructions touch.

    Which of them touches a sector may depend on data, and all together read row after row.
    """
    if len(group.numbers) == 1:
        return group
    steps, common = moved(dict(zip(places, group.blocks, strict=True)), grid)
    parts.setdefault(steps, []).append(common)
    return group._replace(known=joined(group.known, {steps: [common]}))


def _apart(places: Sequence[Dim3], grid: Dim3) -> list[int]:
    """Return which of the blocks, by their order in the grid, follow no other one that ran.

    All, if too few do.

    >>> _apart([(0, 0, 0), (1, 0, 0), (7, 0, 0), (6, 0, 0)], (8, 1, 1))
    [0, 1, 2, 3]
    >>> _apart([(0, 0, 0), (1, 0, 0), (3, 0, 0), (7, 0, 0), (6, 0, 0)], (8, 1, 1))
    [0, 2, 3]
    """
    numbers = sorted({number_of(place, grid) for place in places})
    found = [at for at, each in enumerate(numbers) if not at or each - numbers[at - 1] > 1]
    return found if len(found) >= FEWEST else [*range(len(numbers))]


def _drawn(
    group: _Irregular, apart: Sequence[int], count: int, regular: Parts, writes: Parts,
    foreign: Parts,
) -> _Likely:  # fmt: skip
    """Return what the grid is likely to touch of what a group touches.

    What blocks side by side have in common does not tell what others have (`apart`). What is
    written, and read by none but the block that writes it (`foreign`: what blocks read and do not
    write), two blocks write seldom. Beside what is known of a group, it is no more than lies
    between the first and the last sector; of these, other instructions may touch a part of which
    the rule is known (`regular`).
    """
    union = distinct(np.concatenate(group.blocks))
    changed = overlap(union, writes)
    is_own = changed == len(union) and not overlap(union, foreign)
    of = {
        every: population([distinct(group.blocks[at] // every) for at in apart], count, is_own)
        for every in (1, _PAIR, SECTORS)
    }
    sectors, is_drawn = of[1]
    known = united(group.known)
    unseen = max(0, sectors - known)
    if unseen and union[-1] - union[0] < MOST:
        between = np.arange(union[0], union[-1] + 1)
        free, others = (
            united(joined(some, {(): [between]})) - united(some) for some in (regular, group.known)
        )
        unseen = min(unseen * free // max(others, 1), others)
    pool = Pool(group.numbers, sectors, of[_PAIR].size, of[SECTORS].size, changed / len(union))
    is_drawn &= known < sectors  # else more of it follows a rule
    return _Likely(pool, is_drawn, unseen)
