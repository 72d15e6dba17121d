"""How much of what a grid reads several blocks read, by what blocks side by side have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.timing.footprint import SECTOR, Footprint, sectors_by_instruction
from simulator.timing.traces import BlockTrace
from simulator.timing.work import Work

__all__ = ["shared_part"]


def shared_part(work: Work, found: Footprint) -> tuple[float, float]:
    """Return the share of what the grid reads that several blocks do, and how many, on average.

    The first block stands for all: what no other one that ran reads is taken to be its own. `found`
    is what the grid touches. Without probes nothing is known to be shared.
    """
    if not work.probes:
        return 0.0, 1.0
    stores = set(work.stores)
    mine, *others = (_read(trace, stores) for trace in work.probes)
    common = int(np.isin(mine, np.concatenate([np.zeros(0, np.int64), *others])).sum())
    every = found.read + found.unseen
    shared = every - SECTOR * (len(mine) - common) * work.blocks
    if not common or shared <= 0:
        return 0.0, 1.0
    return shared / every, max(1.0, SECTOR * common * work.blocks / shared)


def _read(trace: BlockTrace, stores: set[int]) -> NDArray[np.int64]:
    """Return the sectors that a block reads."""
    found = [
        sectors for number, sectors in sectors_by_instruction(trace).items() if number not in stores
    ]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
