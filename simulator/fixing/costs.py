"""What an array's accesses cost: counted by the law at the addresses that were executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.law.accesses import NO_SOURCE
from simulator.law.chips import Chip
from simulator.law.counting import count
from simulator.law.instructions import Rule
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.witness import Touched

__all__ = ["Cost", "Pricer"]

_TURN = 128


@dataclass(frozen=True)
class Cost:
    """Figures of an array's accesses, of all warps."""

    wavefronts: int
    bank_conflicts: int
    """Those that the places in shared memory cause."""
    unremovable: int = 0
    """Those that the sources of copies cause in any layout: they are not among the others."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.wavefronts + other.wavefronts,
            self.bank_conflicts + other.bank_conflicts,
            self.unremovable + other.unremovable,
        )

    def scaled(self, times: int, of: int) -> Cost:
        """Return the cost of `times` blocks from that of `of`."""
        parts = (self.wavefronts, self.bank_conflicts, self.unremovable)
        return Cost(*(part * times // of for part in parts))


@dataclass(frozen=True)
class Pricer:
    """Counts accesses of a replay."""

    sites: Sequence[MemorySite]
    rule: Rule
    chip: Chip | None

    def figures(self, touched: Touched) -> NDArray[np.int64]:
        """Return wavefronts, bank conflicts and unremovable ones of each access, (n, 3).

        Accesses whose cost was never measured have zeros.
        """
        found = np.zeros((len(touched.sites), 3), dtype=np.int64)
        ops = np.array([site.op or "" for site in self.sites] or [""])[touched.sites]
        for op in np.unique(ops).tolist():
            if not op:
                continue
            chosen = np.flatnonzero(ops == op)
            places, masks = touched.places[chosen], touched.masks[chosen]
            places = places - (places.min(axis=1, keepdims=True) & -_TURN)
            if not op.startswith("LDGSTS"):
                wavefronts, conflicts = self._counted(op, places, masks, None)
                found[chosen, 0], found[chosen, 1] = wavefronts, conflicts
                continue
            sources = touched.sources[chosen]
            wavefronts, conflicts = self._counted(op, places, masks, sources)
            # Side by side, the destinations cause none.
            width = next(site.width for site in self.sites if site.op == op)
            apart = np.broadcast_to(np.arange(32) * width, places.shape)
            _, fixed = self._counted(op, apart, masks, sources)
            found[chosen, 0], found[chosen, 2] = wavefronts, np.minimum(fixed, conflicts)
            found[chosen, 1] = conflicts - found[chosen, 2]
        return found

    def _counted(
        self, op: str, places: NDArray[np.int64], masks: NDArray[np.uint32],
        sources: NDArray[np.int64] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
        reads = None if sources is None else np.where(sources < 0, NO_SOURCE, sources)
        counts = count(op, places, masks, sources=reads, rule=self.rule, chip=self.chip)
        return counts.wavefronts.astype(np.int64), counts.bank_conflicts.astype(np.int64)


def total(figures: NDArray[np.int64], weights: NDArray[np.int64], rows: NDArray[np.int64]) -> Cost:
    """Sum the figures of some accesses, each by its executions."""
    sums = (figures[rows] * weights[rows, None]).sum(axis=0)
    return Cost(*(int(value) for value in sums))
