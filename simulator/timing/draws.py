"""What blocks read at random, all over the same memory: hashes, tables, neighbours of a graph.

In between, others read so much that the L2 no longer has it: each such read finds there what the L2
has room for, not only the first one. DRAM brings pairs of sectors, and they read one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.law.chips import Chip
from simulator.timing.distinct import distinct
from simulator.timing.footprint import Footprint
from simulator.timing.rates import interpolated, table
from simulator.timing.sharing import read_at_once
from simulator.timing.traces import SECTOR, SECTORS
from simulator.timing.work import Work

__all__ = ["Draws", "drawn"]


@dataclass(frozen=True)
class Draws:
    """What a grid reads at random of a footprint that does not fit the L2."""

    part: float = 0.0
    """Of the sectors that it asks the L2 for."""
    missed: float = 0.0
    """The share of them that the L2 does not have."""
    fetched: float = 1.0
    """Sectors that DRAM brings for one of them."""
    crossed: float = 0.0
    """The share of them that comes from the other part of the L2."""
    alone: float = 0.0
    """The share of these whose line's other half is not read with them."""
    sectors: int = 0
    """That the grid reads at random, each once."""


def drawn(
    work: Work, footprint: Footprint, sectors: int, lost: float, chip: Chip,
    machine: Mapping[str, float],
) -> Draws:  # fmt: skip
    """Return what is read at random.

    So are the loads whose sectors no rule tells, where blocks draw them from the same memory.
    Between two reads of a line, the others go on, each at its own pace: so a small table stays,
    though rows beside it go through the L2. Measured where nothing else is read
    (`data/random_reads.csv`). What the grid writes, too, lies in one part of the L2 alone, and is
    lost later.

    Parameters
    ----------
    work
        The launch.
    footprint
        What its grid touches.
    sectors
        All that the blocks that ran read, each once.
    lost
        The share of what is read for the first time that the L2 does not have.
    chip, machine
        Whose L2, and its numbers.
    """
    held = chip.l2_bytes
    if not held or not footprint.drawn:
        return Draws()
    asked, pairs, lines = (
        [_asked(work, each.numbers, every) for each in footprint.drawn] for every in (1, 2, SECTORS)
    )

    def _written(touched: float) -> float:
        ends = machine["kept_from"], machine["kept_to"]
        return float(np.interp(touched / held, ends, (0, 1)))

    size = (footprint.reads + footprint.writes - footprint.both) * footprint.spread
    others = max(0.0, 1 - sum(asked) / max(sectors, 1)) * sectors / SECTORS  # lines of streams
    missed = fetched = alone = crossed = 0.0
    for place, each in enumerate(footprint.drawn):
        if not asked[place]:
            continue
        turns = each.lines / lines[place]
        room = sum(
            min(other.lines, lines[at] * turns) for at, other in enumerate(footprint.drawn)
        ) + others * turns  # fmt: skip
        filled = each.pairs / max(each.lines, 1) - 1
        # Each sector is read a first time, too.
        first = min(1.0, each.sectors / (asked[place] / len(work.traces) * work.blocks))
        found = _missed(SECTORS * SECTOR * room / held, filled)
        if found:  # of those that read it at once, one asks DRAM for it
            found /= read_at_once(work, each.numbers)
        found = max(found, lost * first)
        written = max(_written(room * SECTORS * SECTOR), first * _written(size))
        share = each.changed * written + (1 - each.changed) * found
        missed += asked[place] * share
        # What DRAM brings to one part crosses to the other, and half of what is changed does.
        crossed += each.changed * asked[place] / 2 + (1 - each.changed) * 2 * pairs[place] * share
        fetched += 2 * pairs[place] * share
        alone += 2 * (2 * lines[place] - pairs[place]) * share
    return Draws(
        min(1.0, sum(asked) / max(sectors, 1)), missed / max(sum(asked), 1),
        fetched / missed if missed else 1.0, min(1.0, crossed / max(sum(asked), 1)),
        alone / fetched if fetched else 0.0,
        sum(each.sectors for each in footprint.drawn),
    )  # fmt: skip


def _asked(work: Work, loads: frozenset[int], every: int) -> int:
    """Return how many sectors, pairs or lines the blocks that ran read by these loads, each once.

    `every`: the sectors of one.
    """
    return sum(len(distinct(trace.sectors_of(loads) // every)) for trace in work.traces)


def _missed(size: float, filled: float = 1.0) -> float:
    """Return the share of random reads that the L2 does not have.

    `size`: of the lines that are read, beside that of the L2; `filled`: in how many of them both
    halves are, each a pair of sectors.

    >>> _missed(0.48), _missed(0.8), _missed(0.8, 0)
    (0.0, 0.4, 0.247)
    """
    found = interpolated(table("random_reads"), "share", size)
    return float(np.interp(filled, (0, 1), (found["missed_sparse"], found["missed"])))
