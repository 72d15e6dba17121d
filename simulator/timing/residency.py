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


def residency(size: float, several: bool, chip: Chip) -> Residency:
    """Return what is where when a kernel begins that touches `size` bytes, as it did before.

    `several`: whether blocks follow one another. In one wave, each SM has the blocks that it had
    before, and its part of the L2 has what they read. Measured at some sizes
    (`data/residency.csv`), and by straight lines in between.

    >>> residency(24 << 20, False, Chip.of("H100")).crossed
    0.0
    >>> residency(24 << 20, True, Chip.of("H100")).crossed
    0.34
    """
    if not chip.l2_bytes:
        return Residency()
    rows, size = table("residency"), size / chip.l2_bytes
    shares = [float(row["share"]) for row in rows]
    last = "_again" if several else ""

    def of(name: str) -> float:
        found = [float(row[name + last]) for row in rows]
        return float(np.interp(size, shares, found))

    return Residency(of("lost"), of("crossed"), of("stored"))
