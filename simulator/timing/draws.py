"""What blocks read at random, all over the same memory: hashes, tables, neighbours of a graph.

In between, others read so much that the L2 no longer has it: each such read finds there what the L2
has room for, not only the first one. DRAM brings pairs of sectors, and they read one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.law.chips import Chip
from simulator.timing.distinct import distinct
from simulator.timing.footprint import SECTOR, Footprint, sectors_by_instruction
from simulator.timing.population import FEWEST, unseen
from simulator.timing.rates import table
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


def drawn(work: Work, footprint: Footprint, sectors: int, chip: Chip) -> Draws:
    """Return what is read at random. `sectors`: all that the blocks that ran ask the L2 for.

    So are the loads whose sectors no rule tells. Where blocks have nothing in common, they read
    memory of their own, once. Between two reads of a sector, as much is read as a part of all reads
    is at random: so a small table stays, though rows beside it go through the L2. Measured where
    nothing else is read (`data/random_reads.csv`).
    """
    if not chip.l2_bytes or len(work.traces) < FEWEST or not footprint.irregular:
        return Draws()
    blocks = []
    for trace in work.traces:
        touched = sectors_by_instruction(trace)
        parts = [touched[number] for number in footprint.irregular if number in touched]
        blocks.append(distinct(np.concatenate(parts)) if parts else np.zeros(0, np.int64))
    asked = sum(map(len, blocks))
    union = len(distinct(np.concatenate(blocks)))
    if union == asked:
        return Draws()
    part = min(1.0, asked / max(sectors, 1))
    population = min(SECTOR * (union + unseen(blocks, work.blocks)), footprint.reads)
    pairs = sum(len(distinct(block >> 1)) for block in blocks)
    return Draws(part, _missed(population / part / chip.l2_bytes), 2 * pairs / asked)


def _missed(size: float) -> float:
    """Return the share of random reads that the L2 does not have; `size`: beside that of the L2.

    >>> _missed(0.48), _missed(0.8)
    (0.0, 0.4)
    """
    rows = table("random_reads")
    sizes, shares = ([float(row[name]) for row in rows] for name in ("share", "missed"))
    return float(np.interp(size, sizes, shares))
