"""What the L2 still holds of a footprint when a kernel runs again, and where it lies.

The L2 has two parts. Each line belongs to one of them; the other keeps a copy of what its SMs read,
as long as there is room. What is in neither comes from DRAM.

What SMs of both parts read lies in both, and so less of it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

import numpy as np

from simulator.law.chips import Chip
from simulator.timing.rates import between, table

__all__ = ["Residency", "residency", "shared_residency"]

_MEASURED = "H100"
"""Whose tables stand for chips that were not measured, by the share of their L2."""


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
    (0.0, 0.29)
    >>> residency(28 << 20, 0.5, True, h100).stored, residency(28 << 20, 1, True, h100).stored
    (0.1, 0.689)
    """
    if not chip.l2_bytes:
        return Residency()
    rows = _rows("residency", chip)
    found = between(rows, "written", written, "share", size / chip.l2_bytes)
    last = "_again" if several else ""
    return Residency(found["lost" + last], found["crossed" + last], found["stored" + last])


def shared_residency(
    kept: Residency, size: float, part: float, sharers: float, several: bool, chip: Chip
) -> Residency:
    """Return what is where, when several blocks read the same.

    Measured where all is shared by 2, 8 or 64 blocks (`data/residency_shared.csv`), which lie side
    by side and go in several waves. By straight lines in between, and where a part is shared: that,
    and one wave, are assumed.

    Parameters
    ----------
    kept
        What is where when each block reads its own.
    size
        Bytes that the kernel touches.
    part
        The share of what it reads that several blocks do.
    sharers
        How many.
    several
        Whether blocks follow one another.
    chip
        Whose L2.

    Examples
    --------
    >>> h100 = Chip.of("H100")
    >>> kept = residency(28 << 20, 0, True, h100)
    >>> kept.lost, shared_residency(kept, 28 << 20, 1.0, 64.0, True, h100).lost
    (0.016, 0.831)
    """
    if not chip.l2_bytes or not part:
        return kept
    rows, size = _rows("residency_shared", chip), size / chip.l2_bytes
    counts = sorted({float(row["sharers"]) for row in rows})

    def of(name: str, alone: float, least: float) -> float:
        found = [alone]
        for count in counts:
            chosen = [row for row in rows if float(row["sharers"]) == count]
            shares = [float(row["share"]) for row in chosen]
            each = float(np.interp(size, shares, [float(row[name]) for row in chosen]))
            found.append(max(each, least))
        shared = float(np.interp(log2(sharers), [0.0, *map(log2, counts)], found))
        return alone + part * (shared - alone)

    lost = of("lost", kept.lost, kept.lost)
    crossed = of("crossed", kept.crossed, 0.0) if several else max(kept.crossed, lost / 2)
    return replace(kept, lost=lost, crossed=crossed)


def _rows(name: str, chip: Chip) -> list[dict[str, str]]:
    """Return the rows of a table that are a chip's."""
    rows = table(name)
    own = chip.name if any(row["chip"] == chip.name for row in rows) else _MEASURED
    return [row for row in rows if row["chip"] == own]
