"""Every access to shared memory of a replay: its instruction, its addresses, how often.

A replay counts a pattern once wherever it lies. A witness is told the places too: what it takes to
know which array an access touches, and what another layout of it would cost.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.sites import MemorySite

__all__ = ["Touched", "UnitAccess", "UnitKind", "Witness"]

UnitKind = Literal["tile", "bulk", "matrix", "store", "mbarrier"]
"""TMA's tiles, bulk copies, wgmma's operands, asynchronous stores, mbarriers."""

_MOST_ROWS = 1 << 17
"""Different accesses that are kept: data that scatters at random has no end of them."""


@dataclass(frozen=True, order=True)
class UnitAccess:
    """What a unit other than the load-store unit touches: bytes side by side."""

    number: int
    """The instruction, from 0."""
    kind: UnitKind
    start: int
    """The first byte, counted from the block's first."""
    size: int
    swizzle: int = 0
    """Of a tensor map: the bytes of its swizzle's span; 0: none."""
    row: int = 0
    """Of a tensor map: the bytes of a row of the box."""


@dataclass(frozen=True, eq=False)
class Touched:
    """The different accesses of the load-store unit to shared memory, n of them."""

    sites: NDArray[np.int64]
    """(n,): the number among the program's sites."""
    masks: NDArray[np.uint32]
    places: NDArray[np.int64]
    """(n, 32): each lane's byte, from the block's first; idle lanes have an active one's."""
    sources: NDArray[np.int64]
    """(n, 32): of copies each source's byte in its cache line, -1 for zeros; else 0."""
    weights: NDArray[np.int64]
    """(n,): executions, over the blocks that ran."""
    units: tuple[UnitAccess, ...] = ()
    whole: bool = True
    """Whether all different accesses are here: there may be too many."""


@dataclass
class Witness:
    """Collects accesses, from any thread."""

    sites: list[MemorySite]
    whole: bool = True
    units: set[UnitAccess] = field(default_factory=set)
    _rows: list[NDArray[np.int64]] = field(default_factory=list)
    _size: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._is_shared = np.array(
            [site.space == "shared" and site.unit == "lsu" for site in self.sites] or [False]
        )

    def see(
        self, heads: NDArray[np.int32], trace: NDArray[np.int32], weights: NDArray[np.int64],
        sources: NDArray[np.int32],
    ) -> None:  # fmt: skip
        """Take rows of a worker's trace: (site, mask, first place), offsets from it, how often."""
        chosen = self._is_shared[heads[:, 0]]
        if not chosen.any():
            return
        head = heads[chosen].astype(np.int64)
        copies = np.array(
            [site.op is not None and site.op.startswith("LDGSTS") for site in self.sites]
        )
        read = np.where(copies[head[:, :1]], sources[chosen], 0)
        # An idle lane has the offset 0 from the first active one.
        places = trace[chosen].astype(np.int64) + head[:, 2:3]
        rows = np.column_stack([head[:, :2], places, read, weights[chosen]])
        with self._lock:
            self._rows.append(rows)
            self._size += len(rows)
            if self._size > _MOST_ROWS:
                self._rows = [_joined(self._rows)]
                self._size = len(self._rows[0])
                if self._size > _MOST_ROWS // 2:
                    self.whole = False
                    self._rows = [self._rows[0][: _MOST_ROWS // 2]]
                    self._size = _MOST_ROWS // 2

    def see_unit(self, access: UnitAccess) -> None:
        """Take an access of another unit."""
        with self._lock:
            self.units.add(access)

    def touched(self) -> Touched:
        """Return what was collected, equal accesses once."""
        rows = _joined(self._rows)
        return Touched(
            rows[:, 0],
            (rows[:, 1] & 0xFFFFFFFF).astype(np.uint32),
            rows[:, 2:34],
            rows[:, 34:66],
            rows[:, 66],
            tuple(sorted(self.units)),
            self.whole,
        )


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join rows, equal ones once: their last column adds up."""
    if not parts:
        return np.zeros((0, 67), dtype=np.int64)
    rows = np.concatenate(parts)
    order = np.lexsort(rows[:, -2::-1].T)
    rows = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:, :-1] != rows[:-1, :-1]).any(axis=1)
    starts = np.flatnonzero(new)
    found = rows[starts]
    found[:, -1] = np.add.reduceat(rows[:, -1], starts)
    return found
