"""Traces: which instructions each warp of a block executed, in order, and what it accessed.

Nothing of it is specific to a compiled kernel's file: arrays of numbers, which hot loops read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct

__all__ = ["SECTOR", "SECTORS", "AccessRows", "BlockTrace", "Steps"]

Numbers = NDArray[np.int64]
SECTOR = 32
"""Bytes."""
SECTORS = 4
"""Of a line of memory."""
_SCHEDULERS = 4
"""Of an SM; each issues an instruction per cycle."""
_WIDE = 1 << 40
"""Lines of memory that a launch can touch, at most."""


@dataclass(frozen=True, eq=False)
class AccessRows:
    """Memory accesses of warps, each kind once: an element each."""

    number: Numbers
    """The instruction, from 0."""
    is_shared: NDArray[np.bool_]
    """Of shared memory; else of global memory."""
    cycles: Numbers
    """For which it holds the data pipe of L1 and shared memory."""
    floor: Numbers
    """The same without bank conflicts; of global memory the least, wherever its lines lie."""
    sectors: Numbers
    """Of 32 bytes, of global memory; of a copy into shared memory those that the L2 sends; of local
    memory what `local_memory.parted` takes apart."""
    bytes: Numbers
    """Of all lanes that take part."""
    line_begin: Numbers
    """Where its lines begin among `line`, one more than there are rows."""
    line: Numbers
    """Lines of 128 bytes of global memory, from that of the first lane on."""
    mask: Numbers
    """Which of a line's four sectors."""
    away: Numbers | None = None
    """Tenths of cycles that an access to another block of the cluster takes on its way, where that
    one does the same; 0: of shared memory at home. None: there are none."""
    asked: Numbers | None = None
    """Of a copy into shared memory: lines that it asks the L2 for, each as often as it asks.
    None: there are no copies."""
    table: Numbers | None = None
    """Of a table of constants: the first line of 64 bytes that lanes read, and one, and 4,096 times
    how many lines they read; 0: every cache holds the table. Of local memory: the lowest word that
    lanes access, and one, and 4,096 times the highest, and one; 0: not known. None: neither."""
    crowd: Numbers | None = None
    """Of each line that an atomic changes: how many lanes at most change the same word of each of
    its sectors, eight bits each. None: there are no atomics."""

    @property
    def filled(self) -> Numbers:
        """Of each line, how many bytes of each of its sectors its access takes, on average."""
        each = np.clip(self.bytes // np.maximum(self.sectors, 1), 1, SECTOR)
        return np.repeat(each, np.diff(self.line_begin))


@dataclass(frozen=True, eq=False)
class Steps:
    """Straight runs of instructions with what they access, each kind once: an element each."""

    start: Numbers
    """The first instruction, from 0."""
    length: Numbers
    lanes: Numbers
    """Lanes that are active."""
    row_begin: Numbers
    """Where its accesses begin among `row`, one more than there are steps."""
    row: Numbers
    """Places in `AccessRows`, in the order in which they are executed."""


@dataclass(frozen=True, eq=False)
class BlockTrace:
    """What the warps of one block did."""

    block: tuple[int, int, int]
    steps: Steps
    rows: AccessRows
    warp_begin: Numbers
    """Where a warp's steps begin among `step`, one more than there are warps."""
    step: Numbers
    """Places in `steps`, warp after warp."""
    base_begin: Numbers
    """Where a warp's places begin among `base`, one more than there are warps."""
    base: Numbers
    """For each access to global memory, in order: the line of its first lane."""
    event_begin: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Where a warp's events begin among `event`, one more than there are warps; empty: none has."""
    event: Numbers = field(default_factory=lambda: np.zeros((0, 5), np.int64))
    """What goes on beside warps, in each warp's order, shape (events, 5): instruction, phase of an
    mbarrier (-1: none of this block), bytes, sectors and rows that a copy moves. An instruction of
    -1 belongs to the event before."""
    copied_in_turn: Mapping[int, tuple[Numbers, ...]] = field(default_factory=dict)
    """The sectors of global memory that copies touch, by instruction, in turns of as many copies;
    sorted."""

    @cached_property
    def copied(self) -> dict[int, Numbers]:
        """The sectors of global memory that copies touch, by instruction; sorted."""
        each = self.copied_in_turn.items()
        return {number: distinct(np.concatenate(turns)) for number, turns in each}

    @cached_property
    def times(self) -> Numbers:
        """How often each step was executed."""
        return np.bincount(self.step, minlength=len(self.steps.start)).astype(np.int64)

    @cached_property
    def instructions(self) -> int:
        """Instructions that warps executed."""
        return int(self.times @ self.steps.length)

    @cached_property
    def longest_warp(self) -> int:
        """Instructions of the warp that executed most."""
        done = np.concatenate([[0], np.cumsum(self.steps.length[self.step])])
        return int(np.diff(done[self.warp_begin]).max(initial=0))

    @cached_property
    def busy(self) -> float:
        """Cycles for which it keeps an SM's schedulers busy, or its data pipe if that is longer.

        Without what local memory takes of the pipe.
        """
        return max(self.instructions / _SCHEDULERS, float(self.accesses() @ self.rows.cycles))

    def executed(self, count: int) -> Numbers:
        """Return executions by warps of each of `count` instructions."""
        ends = np.zeros(count + 1, dtype=np.int64)
        np.add.at(ends, self.steps.start, self.times)
        np.subtract.at(ends, self.steps.start + self.steps.length, self.times)
        return np.cumsum(ends)[:count]

    def threads(self, count: int) -> Numbers:
        """Return executions by threads of each of `count` instructions, predicated off or not."""
        ends = np.zeros(count + 1, dtype=np.int64)
        each = self.times * self.steps.lanes
        np.add.at(ends, self.steps.start, each)
        np.subtract.at(ends, self.steps.start + self.steps.length, each)
        return np.cumsum(ends)[:count]

    def accesses(self) -> Numbers:
        """Return how often each row was accessed."""
        counts = np.diff(self.steps.row_begin)
        found = np.zeros(len(self.rows.number), dtype=np.int64)
        np.add.at(found, self.steps.row, np.repeat(self.times, counts))
        return found

    def summed(self, figure: str, count: int, *, is_shared: bool) -> Numbers:
        """Return a figure of `AccessRows` by instruction: cycles, floor, sectors, bytes."""
        chosen = self.rows.is_shared == is_shared
        values = (getattr(self.rows, figure) * self.accesses())[chosen]
        found = np.zeros(count, dtype=np.int64)
        np.add.at(found, self.rows.number[chosen], values)
        return found

    @cached_property
    def touched(self) -> dict[int, Numbers]:
        """The sectors of global memory that the block touches, by instruction; sorted."""
        rows = self.global_rows()
        numbers = self.rows.number[rows]
        found = {
            number: self._sectors(rows[numbers == number], self.base[numbers == number])
            for number in distinct(numbers).tolist()
        }
        return found | self.copied

    def sectors_of(self, numbers: Iterable[int]) -> Numbers:
        """Return the sectors that any of some instructions touch, each once; sorted."""
        each = [self.touched[number] for number in numbers if number in self.touched]
        return distinct(np.concatenate([np.zeros(0, np.int64), *each]))

    def _sectors(self, rows: Numbers, bases: Numbers) -> Numbers:
        """Return the sectors of accesses: a row each, and the line of its first lane."""
        order = np.lexsort((bases, rows))
        rows, bases = rows[order], bases[order]
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = (rows[1:] != rows[:-1]) | (bases[1:] != bases[:-1])
        rows, bases = rows[is_first], bases[is_first]
        _, lines, place = self.lines(rows, bases)
        masks = self.rows.mask[place]
        parts = [lines[masks >> part & 1 != 0] * 4 + part for part in range(4)]
        return distinct(np.concatenate(parts)).astype(np.int64)

    def different(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return the accesses to global memory by some instructions, each that differs once.

        The row of each, the line of its first lane, and how often it was made.
        """
        rows = self.global_rows()
        mine = np.isin(self.rows.number[rows], numbers)
        rows, bases = rows[mine], self.base[mine]
        keys = rows * _WIDE + bases % _WIDE
        _, first, times = np.unique(keys, return_index=True, return_counts=True)
        return rows[first], bases[first], times

    def lines(self, rows: Numbers, bases: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return the lines of accesses: which access has each, the line, its place in `rows`.

        `rows`, `bases`: the row of each access, and the line of its first lane.
        """
        counts = np.diff(self.rows.line_begin)[rows]
        begin = np.repeat(self.rows.line_begin[rows] - np.cumsum(counts) + counts, counts)
        place, of = begin + np.arange(counts.sum()), np.repeat(np.arange(len(rows)), counts)
        return of, bases[of] + self.rows.line[place], place

    def lies_in(self, sectors: Numbers) -> NDArray[np.bool_]:
        """Say of each element of `base` whether its access touches no other sectors than some."""
        rows = self.global_rows()
        keys, which = np.unique(rows * _WIDE + self.base % _WIDE, return_inverse=True)
        first = np.zeros(len(keys), np.int64)
        first[which] = np.arange(len(which))
        rows, bases = rows[first], self.base[first]
        of, lines, place = self.lines(rows, bases)
        masks = self.rows.mask[place]
        parts = [(masks >> part & 1 != 0) & ~np.isin(lines * 4 + part, sectors)
                 for part in range(4)]  # fmt: skip
        others = np.bincount(of, weights=np.any(parts, axis=0), minlength=len(keys))
        found: NDArray[np.bool_] = (others == 0)[which]
        return found

    def global_rows(self) -> Numbers:
        """Return the row of each element of `base`."""
        counts = np.diff(self.steps.row_begin)[self.step]
        first = np.repeat(self.steps.row_begin[self.step], counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.steps.row[first + within]
        found: Numbers = rows[~self.rows.is_shared[rows]]
        return found
