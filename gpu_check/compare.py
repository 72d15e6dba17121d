"""The model beside the chip: which accesses differ, by how much, and why.

Counts must be equal. Cycles are the pipe's alone in the model; the chip adds a little, which the
instructions' `residues` hold as data where it repeats. A measured figure differs if it is further
from both together than `tolerance` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.clocks import Measurements
from gpu_check.probe.ops import LOOPS, probe_op
from gpu_check.probe.probe import coalesced
from simulator.law.accesses import ALL_LANES
from simulator.law.counting import Counts, count
from simulator.law.explaining import explain
from simulator.law.instructions import Rule, instruction
from simulator.results.tables import Result
from simulator.results.text import Table

__all__ = ["LEGEND", "Comparison", "compare", "expected_cycles", "simulated", "tolerance"]

_WORST = 3
LEGEND = (
    "least to most: measured cycles per access, minus those of the model. equal: accesses whose"
    " hardware counters are the model's."
)
"""What the columns of a comparison mean."""
_QUANTILES = {"over_least": 0.0, "over_5": 0.05, "over_50": 0.5, "over_95": 0.95, "over_most": 1.0}


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """What model and chip say of the same accesses of one instruction."""

    op: str
    accesses: int
    wavefronts_equal: int | None
    """None where no counters were read."""
    conflicts_equal: int | None
    over: NDArray[np.float64] | None
    """Measured less expected cycles, (n,); None where no clocks were read."""
    correlation: float | None
    """Of measured and expected cycles; None where either never changes."""
    differing: tuple[int, ...]
    """Accesses whose counts are not equal, or whose cycles are too far off."""
    worst: tuple[str, ...]
    """The worst of them, explained."""
    counts: Counts
    """The model's figures, access by access."""
    measured: Measurements
    """The chip's."""

    @property
    def equal(self) -> bool:
        """Whether no access differs."""
        return not self.differing

    def points(self) -> dict[str, list[Any]]:
        """Return each access's figures beside the chip's, as `viz.parity` draws them."""
        figures: dict[str, list[Any]] = {"op": [self.op] * self.accesses}
        if self.measured.wavefronts is not None:
            figures["wavefronts"] = self.counts.wavefronts.tolist()
            figures["measured_wavefronts"] = self.measured.wavefronts.tolist()
        if self.over is not None and self.measured.cycles is not None:
            figures["cycles"] = expected_cycles(self.op, self.counts).tolist()
            figures["measured_cycles"] = self.measured.cycles.tolist()
            if self.measured.spread is not None:
                figures["spread"] = self.measured.spread.tolist()
        return figures

    def table(self) -> Table:
        """Return the row of `to_dict`, and the worst accesses explained."""
        return Table(self.rows(), self.to_dict()["totals"], text=[LEGEND, *self.worst])

    def to_dict(self) -> dict[str, Any]:
        """Return one row, and the same as totals."""
        row: dict[str, Any] = {
            "op": self.op,
            "accesses": self.accesses,
            "differing": len(self.differing),
        }
        if self.wavefronts_equal is not None:
            row |= {
                "wavefronts_equal": self.wavefronts_equal, "conflicts_equal": self.conflicts_equal
            }  # fmt: skip
        if self.over is not None:
            spread = np.quantile(self.over, list(_QUANTILES.values())).tolist()
            row |= {name: round(value, 3) for name, value in zip(_QUANTILES, spread, strict=True)}
            row["correlation"] = None if self.correlation is None else round(self.correlation, 6)
        return {"comparison": {name: [value] for name, value in row.items()}, "totals": row}


def simulated(measured: Measurements, rule: Rule = "silicon") -> Counts:
    """Count the measured accesses, or loops, by the model; copies with their sources."""
    probed = probe_op(measured.op)
    masks = ALL_LANES if probed.is_matrix else measured.masks
    sources = measured.sources
    if sources is None and probed.is_copy:
        sources = coalesced(probed.name, 1)[0]
    return count(probed.name, measured.addresses, masks, sources=sources, rule=rule)


def expected_cycles(op: str, counts: Counts) -> NDArray[np.float64]:
    """Return the model's cycles, and what the chip was measured to add to them."""
    extra = np.zeros(counts.cycles.shape)
    residues = () if op in LOOPS else instruction(op).residues
    for wavefronts, phases, cycles in residues:
        extra[(counts.wavefronts <= wavefronts) & (counts.phases == phases)] = cycles
    return counts.cycles + extra


def tolerance(op: str) -> tuple[float, float]:
    """Cycles that a measurement may be off, and the share of the cycles on top.

    >>> tolerance("STS"), tolerance("LDS")
    ((0.1, 0.01), (0.5, 0.01))

    A copy takes up to 0.1 more than the model.
    """
    if probe_op(op).is_copy:
        return 0.2, 0.01
    return (0.1 if probe_op(op).kind == "st" else 0.5), 0.01


def compare(counts: Counts, measured: Measurements) -> Comparison:
    """Compare the model's figures with the chip's, access by access."""
    n = len(measured)
    differs = np.zeros(n, dtype=bool)
    wavefronts = conflicts = over = correlation = None
    distance = np.zeros(n)
    if measured.wavefronts is not None and measured.bank_conflicts is not None:
        wrong = counts.wavefronts != measured.wavefronts
        other = counts.bank_conflicts != measured.bank_conflicts
        wavefronts, conflicts = int((~wrong).sum()), int((~other).sum())
        differs |= wrong | other
        distance += np.abs(counts.wavefronts - measured.wavefronts)
    if measured.cycles is not None and not probe_op(measured.op).bypasses:
        expected = expected_cycles(measured.op, counts)
        over = measured.cycles - expected
        flat, share = tolerance(measured.op)
        differs |= np.abs(over) > flat + share * expected
        distance += np.abs(over)
        if expected.std() and measured.cycles.std():
            correlation = float(np.corrcoef(expected, measured.cycles)[0, 1])
    differing = np.flatnonzero(differs)
    worst = differing[np.argsort(-distance[differing], kind="stable")][:_WORST]
    return Comparison(
        op=measured.op,
        accesses=n,
        wavefronts_equal=wavefronts,
        conflicts_equal=conflicts,
        over=over,
        correlation=correlation,
        differing=tuple(differing.tolist()),
        worst=tuple(_explained(measured[int(row) : int(row) + 1], int(row)) for row in worst),
        counts=counts,
        measured=measured,
    )


def _explained(one: Measurements, row: int) -> str:
    figures = one.to_dict()["accesses"]
    seen = ", ".join(
        f"{name} {values[0]:.6g}"
        for name, values in figures.items()
        if name not in ("mask", "spread")
    )
    sources = None if one.sources is None else one.sources[0]
    found = explain(one.op, one.addresses[0], int(one.masks[0]), sources=sources)
    said = "\n".join(found.sentences)
    return f"access {row}, mask {int(one.masks[0]):#010x}: the chip says {seen}; {said}"
