"""`simulate`: the shared-memory reads that one warp of a GEMM kernel makes for one k step.

A block computes BM×BN elements of C. For each k it holds a column of A (BM elements) and a
row of B (BN elements) in shared memory; every thread reads the TM elements of A and the TN
elements of B that its thread tile needs: its fragments. Which lanes read what follows from
the warp's shape and lane order; where it lies follows from the tile's layout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

from layouts.fragment import FragmentKind
from layouts.shapes import Shape
from layouts.swizzle import Swizzle, SwizzleLike
from layouts.tile import Tile
from layouts.warp import LaneOrder
from simulator.errors import OptionError
from simulator.gemm.geometry import A_LAYOUTS, LDS_WIDTHS, by_step, count_reads, lower
from simulator.law.accesses import WarpAccess
from simulator.law.counting import Counts, n_way
from simulator.law.explaining import Explanation, explain
from simulator.law.instructions import Rule
from simulator.results.tables import Result

__all__ = ["A_LAYOUTS", "LDS_WIDTHS", "Fragment", "FragmentReport", "simulate"]


class _Figures(ABC):
    """The sums that a fragment and a whole report have in common."""

    @abstractmethod
    def _counts(self) -> list[Counts]: ...

    @property
    def instructions(self) -> int:
        """Instructions that the warp issues."""
        return sum(counts.wavefronts.size for counts in self._counts())

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all instructions."""
        return sum(int(counts.wavefronts.sum()) for counts in self._counts())

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond one a (non-empty) phase."""
        return sum(int(counts.bank_conflicts.sum()) for counts in self._counts())

    @property
    def ideal(self) -> int:
        """Wavefronts that the bytes alone would need, as the profiler reckons."""
        return sum(int(counts.ideal.sum()) for counts in self._counts())

    @property
    def excessive(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    @property
    def cycles(self) -> int:
        """Cycles that the pipe is busy."""
        return sum(int(counts.cycles.sum()) for counts in self._counts())

    @property
    def n_way(self) -> float:
        """Wavefronts an instruction."""
        return n_way(self.wavefronts, self.instructions)


@dataclass(frozen=True, eq=False)
class Fragment(_Figures, Result):
    """The reads of one operand's fragment, one instruction after the other."""

    name: str
    """"A" or "B"."""
    op: str
    accesses: tuple[WarpAccess, ...]
    counts: Counts
    """One entry an access."""
    rule: Rule
    tile: Tile
    """Where the operand lies in shared memory, from byte 0 on."""

    def _counts(self) -> list[Counts]:
        return [self.counts]

    def to_dict(self) -> dict[str, Any]:
        """Give `{"accesses": {column: list}, "totals": {…}}`, a row for each instruction."""
        columns = self.counts.to_dict()
        return {
            "accesses": {"op": [self.op] * self.instructions, **columns["accesses"]},
            "totals": columns["totals"],
        }

    def explain(self) -> list[Explanation]:
        """Explain each access."""
        return [explain(*access, rule=self.rule) for access in self.accesses]

    @property
    def reason(self) -> str:
        """Why the fragment costs what it costs, by its most expensive instruction."""
        worst = max(self.explain(), key=lambda explanation: explanation.wavefronts)
        return f"{self.instructions} {self.op}. {worst.reason}"


@dataclass(frozen=True, eq=False)
class FragmentReport(_Figures, Result):
    """What `simulate` found; `report["A"]` and `report["B"]` are the fragments."""

    warp_shape: str
    lds: int
    thread_tile: str
    block_tile: str
    lane_order: LaneOrder
    fragment: FragmentKind
    a_layout: str
    pad: tuple[int, int]
    swizzle: tuple[Swizzle | None, Swizzle | None]
    element: int
    rule: Rule
    k_step: int
    """The k step reported: 0, unless k steps differ; then the first of the most expensive."""
    fragments: tuple[Fragment, Fragment]
    notes: tuple[str, ...]
    """What a reader might not expect of these parameters."""

    def __getitem__(self, name: str) -> Fragment:
        for fragment in self.fragments:
            if fragment.name == name:
                return fragment
        raise OptionError(f"no fragment {name!r} (accepted: A, B)")

    def _counts(self) -> list[Counts]:
        return [fragment.counts for fragment in self.fragments]

    @property
    def title(self) -> str:
        """The geometry in a line."""
        order = self.lane_order if isinstance(self.lane_order, str) else "given lane order"
        parts = [
            f"{self.warp_shape} warp, {order}",
            f"{self.thread_tile} thread tile, {self.fragment}",
            f"{self.block_tile} block tile of {self.element}-byte elements",
            f"A {self.a_layout}",
        ]
        if any(self.pad):
            parts.append(f"padding {self.pad[0]} and {self.pad[1]}")
        if any(self.swizzle):
            parts.append(f"swizzle {self.swizzle[0]} and {self.swizzle[1]}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give `{"fragments": {column: list}, "totals": {…}}`."""
        figures = ("instructions", "wavefronts", "ideal", "excessive", "bank_conflicts", "n_way")
        columns = ("fragment", "op", *figures, "cycles")
        return {
            "fragments": {
                "fragment": [fragment.name for fragment in self.fragments],
                **{
                    column: [getattr(fragment, column) for fragment in self.fragments]
                    for column in columns[1:]
                },
            },
            "totals": {column: getattr(self, column) for column in columns[2:]},
        }

    def _repr_html_(self) -> str:
        from simulator.results.html import bank_table

        # The most expensive access of each fragment; all of them would bury the notebook.
        pictures = (
            f"<p>{fragment.name}: {fragment.reason}</p>"
            + bank_table(max(fragment.explain(), key=lambda each: each.wavefronts))
            for fragment in self.fragments
        )
        return super()._repr_html_() + "".join(pictures)


def simulate(
    warp_shape: Shape = "4x8",
    lds: int = 128,
    *,
    thread_tile: Shape = "8x8",
    block_tile: Shape = "128x128x8",
    lane_order: LaneOrder = "col-major",
    fragment: FragmentKind = "contiguous",
    a_layout: str = "transposed",
    pad: int | tuple[int, int] = (0, 0),
    swizzle: SwizzleLike | tuple[SwizzleLike | None, SwizzleLike | None] | None = None,
    element: int = 4,
    rule: Rule = "silicon",
) -> FragmentReport:
    """Count the shared-memory reads of warp 0 for one k step of a tiled GEMM.

    Shapes are rows×columns (M×N, and M×N×K for the block tile), `lds` is the width of a load
    in bits (32, 64, 128), `element` the bytes of an element (4, 2, 1). `pad` (elements after
    each row) and `swizzle` (on element offsets, after padding) are one value for both tiles or
    a pair (A, B). `lane_order` is "row-major", "col-major", "z-order", or 32 integers, entry l
    being row·C + col of lane l. `fragment` is "contiguous" or "split" (two half tiles, half a
    warp tile apart). `a_layout` is "transposed" (BK rows of BM) or "row-major" (BM rows of BK).

    >>> report = simulate("4x8", 128)
    >>> report["A"].wavefronts, report["B"].wavefronts, report.bank_conflicts
    (8, 4, 0)

    Every k step of the tile is checked and counted. Raises LayoutError for a geometry that
    does not exist or a load that would be misaligned or wider than a thread's contiguous
    run, OptionError for an unknown rule or choice; both are BankwiseError.
    """
    geometry = lower(
        warp_shape, lds, thread_tile, block_tile, lane_order, fragment, a_layout, pad, swizzle,
        element, rule,
    )  # fmt: skip
    (counts,) = count_reads([geometry])
    wavefronts = by_step(counts, "wavefronts")
    step = int(wavefronts.argmax())
    notes = geometry.notes
    if wavefronts.min() < wavefronts.max():
        said = (
            f"The k steps differ: {wavefronts.min()} to {wavefronts.max()} wavefronts. This is"
            f" k step {step}, the most expensive."
        )
        notes = (*notes, said)
    described = {
        field.name: getattr(geometry, field.name)
        for field in fields(geometry)
        if field.name not in ("reads", "notes")
    }
    first, second = (
        Fragment(
            name,
            reads.op,
            tuple(WarpAccess(reads.op, tuple(lanes)) for lanes in reads.addresses[step].tolist()),
            each[step],
            rule,
            reads.tile,
        )
        for name, reads, each in zip("AB", geometry.reads, counts, strict=True)
    )
    return FragmentReport(**described, k_step=step, fragments=(first, second), notes=notes)
