"""What the L2 still holds of a footprint when a kernel runs again, and where it lies.

The L2 has two parts. Each line belongs to one of them; the other keeps a copy of what its SMs read,
as long as there is room. What is in neither comes from DRAM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.law.chips import Chip
from simulator.timing.rates import table

__all__ = ["Residency", "residency"]


@dataclass(frozen=True)
class Residency:
    """Shares of what is accessed for the first time."""

    lost: float = 0.0
    """Of what is read: comes from DRAM."""
    crossed: float = 0.0
    """Of what is read: comes from the other part of the L2."""
    stored: float = 0.0
    """Of what is written: drives out as much that goes to DRAM."""


def residency(size: float, written: float, several: bool, chip: Chip) -> Residency:
    """Return what is where when a kernel begins that touches `size` bytes, as it did before.

    `written`: the share of what it accesses that it writes: 0.5 where it copies. `several`: whether
    blocks follow one another. In one wave, each SM has the blocks that it had before, and its part
    of the L2 has what they read. Measured at some sizes and shares (`data/residency.csv`), and by
    straight lines in between.

    >>> h100 = Chip.of("H100")
    >>> residency(24 << 20, 0.5, False, h100).crossed, residency(24 << 20, 0.5, True, h100).crossed
    (0.0, 0.34)
    >>> residency(28 << 20, 0.5, True, h100).stored, residency(28 << 20, 1, True, h100).stored
    (0.1, 0.689)
    """
    if not chip.l2_bytes:
        return Residency()
    rows, size = table("residency"), size / chip.l2_bytes
    levels = sorted({float(row["written"]) for row in rows})
    last = "_again" if several else ""

    def of(name: str) -> float:
        found = []
        for level in levels:
            chosen = [row for row in rows if float(row["written"]) == level]
            shares = [float(row["share"]) for row in chosen]
            found.append(np.interp(size, shares, [float(row[name + last]) for row in chosen]))
        return float(np.interp(written, levels, found))

    return Residency(of("lost"), of("crossed"), of("stored"))
