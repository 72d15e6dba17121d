"""Stores and atomics that lie all over memory that the L2 does not hold: what DRAM takes for them.

A sector that leaves the L2 before all of its bytes are stored is read first; one that an atomic
changes is read where it is not in the L2. DRAM writes and reads such sectors one by one, and takes
longer for each than for those of a stream (`data/scattered_stores.csv`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.law.chips import Chip
from simulator.timing.code import ATOMICS
from simulator.timing.distinct import distinct
from simulator.timing.moving import number_of
from simulator.timing.rates import interpolated, table
from simulator.timing.traces import SECTOR, SECTORS, BlockTrace
from simulator.timing.work import Work

__all__ = ["Scattered", "scattered"]

Numbers = NDArray[np.int64]
_NEAR = 0.5
"""Of the lines of a block: if more of them are those of a block beside it, or lie beside them,
what is changed lies where others change it at the same time."""
_MORE = 1.1
"""What takes no more than so many times the time of a stream is one."""
_PIECES = (1, 2, 4, 16)
"""Sectors side by side that were measured."""


@dataclass(frozen=True)
class Scattered:
    """Of what blocks store, or change by atomics, what lies all over."""

    part: float = 0.0
    """Of the sectors that each block changes, each once."""
    cycles: float = 0.0
    """Of an SM that DRAM takes for one of them, all SMs at work."""


def scattered(work: Work, chip: Chip, machine: Mapping[str, float], *, atomics: bool) -> Scattered:
    """Return what a launch stores all over memory, or changes by atomics, that the L2 loses.

    It is what no rule tells from block to block, where a block and those beside it touch different
    lines. Copies by TMA that store, or add, are left out: they were not measured.
    """
    names = enumerate(each.name in ATOMICS for each in work.instructions)
    numbers = {number for number, is_atomic in names if is_atomic == atomics} & {*work.stores}
    numbers -= {number for trace in work.traces for number in trace.copied}
    sectors = sum(len(trace.sectors_of(numbers)) for trace in work.traces)
    if not sectors or not chip.l2_bytes:
        return Scattered()
    stream, rows = SECTOR / machine["dram_rate"], table("scattered_stores")
    part = cycles = 0.0
    for pool in work.footprint.irregular_writes:
        mine = pool.numbers & numbers
        each = {trace: some for trace in work.traces if len(some := trace.sectors_of(mine))}
        if not each:  # probes alone have some
            continue
        ends = [(some[0], some[-1]) for some in each.values()]
        between = max(last for _, last in ends) - min(first for first, _ in ends) + 1
        size = SECTOR * min(SECTORS * pool.lines, int(between)) / chip.l2_bytes
        if size < float(rows[0]["share"]) or not _lies_apart(work, mine, chip):
            continue
        known = interpolated(rows, "share", size)
        pairs = [_pairs(trace, mine, some, known, atomics) for trace, some in each.items()]
        taken = np.maximum(machine["dram_pair"] * np.concatenate(pairs), stream)
        if taken.mean() > _MORE * stream:
            part += len(taken) / sectors
            cycles += float(taken.sum()) / sectors
    return Scattered(part, cycles / part) if part else Scattered()


def _lies_apart(work: Work, numbers: frozenset[int], chip: Chip) -> bool:
    """Say whether a block touches other lines than those beside it that run at the same time.

    Of those that ran: the first block and the next on each axis, and some more by chance.
    """
    x, y, _ = work.grid
    lines = {
        number_of(trace.block, work.grid): distinct(trace.sectors_of(numbers) // SECTORS)
        for trace in (*work.traces, *work.probes)
    }
    at_once = work.resident * (chip.multiprocessors or 1)
    for step in {step for step in (1, x, x * y) if step < at_once}:
        near = [
            float(np.isin(lines[at + step], lines[at][:, None] + np.arange(-1, 2)).mean())
            for at in lines
            if at + step in lines and len(lines[at + step])
        ]
        if near and float(np.mean(near)) >= _NEAR:
            return False
    return True


def _pairs(
    trace: BlockTrace, numbers: frozenset[int], sectors: Numbers, known: Mapping[str, float],
    atomics: bool,
) -> NDArray[np.float64]:  # fmt: skip
    """Return for each sector that a block changes the pairs that DRAM could read at random.

    `known`: those of each column of the table.
    """
    begins = np.flatnonzero(np.diff(sectors, prepend=sectors[0] - 2) > 1)
    lengths = np.diff(begins, append=len(sectors))
    kind = "added" if atomics else "stored"
    each = np.interp(lengths, _PIECES, [known[f"{kind}_{count}"] for count in _PIECES])
    found: NDArray[np.float64] = np.repeat(each, lengths)
    if not atomics:  # what is not whole is read before it is written
        found[_filled(trace, numbers, sectors) < SECTOR] = known["stored_part"]
    return found


def _filled(trace: BlockTrace, numbers: frozenset[int], sectors: Numbers) -> Numbers:
    """Return the bytes of each sector that a block stores, those stored again counted again."""
    rows, bases, times = trace.different(np.array(sorted(numbers), np.int64))
    of, lines, place = trace.lines(rows, bases)
    filled, mask = trace.rows.filled[place] * times[of], trace.rows.mask[place]
    found = np.zeros(len(sectors), np.int64)
    for part in range(SECTORS):
        is_mine = mask >> part & 1 != 0
        np.add.at(found, np.searchsorted(sectors, lines[is_mine] * 4 + part), filled[is_mine])
    return found
