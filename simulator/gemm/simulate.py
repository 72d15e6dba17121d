"""`simulate`: the shared-memory reads that one warp of a GEMM kernel makes for one k step.

A block computes BM×BN elements of C. For each k it holds a column of A (BM elements) and a
row of B (BN elements) in shared memory; every thread reads the TM elements of A and the TN
elements of B that its thread tile needs: its fragments. Which lanes read what follows from
the warp's shape and lane order; where it lies follows from the tile's layout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from layouts.errors import plural
from layouts.fragment import FragmentKind
from layouts.shapes import Shape, parse_shape
from layouts.swizzle import SwizzleLike
from layouts.tile import Tile, TileLike
from layouts.warp import LaneOrder
from simulator.errors import OptionError
from simulator.gemm.geometry import A_LAYOUTS, LDS_WIDTHS, PARAMETERS, ALayout, Geometry
from simulator.gemm.loads import Loads, count_loads, totals
from simulator.law.accesses import WarpAccess
from simulator.law.chips import Chip, ChipLike
from simulator.law.counting import Counts
from simulator.law.explaining import Explanation, explain
from simulator.law.instructions import Rule
from simulator.results.columns import law_columns
from simulator.results.tables import Result
from simulator.results.text import Table

if TYPE_CHECKING:
    from simulator.timing.pipes import TimeBound

__all__ = [
    "A_LAYOUTS",
    "LDS_WIDTHS",
    "OPERANDS",
    "Fragment",
    "FragmentReport",
    "Operand",
    "simulate",
]

Operand = Literal["A", "B"]
OPERANDS: tuple[Operand, Operand] = ("A", "B")


class _Figures(ABC):
    """The sums that a fragment and a whole report have in common."""

    @abstractmethod
    def _counts(self) -> list[Counts]: ...

    def totals(self) -> dict[str, int | float]:
        """Return the sums over all instructions, by name."""
        return totals(self._counts())

    @property
    def instructions(self) -> int:
        """Instructions that the warp issues."""
        return int(self.totals()["instructions"])

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all instructions."""
        return int(self.totals()["wavefronts"])

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond one per (non-empty) phase."""
        return int(self.totals()["bank_conflicts"])

    @property
    def ideal(self) -> int:
        """Wavefronts that the bytes alone would need, as the profiler reckons."""
        return int(self.totals()["ideal"])

    @property
    def excessive(self) -> int:
        """Wavefronts beyond the ideal."""
        return int(self.totals()["excessive"])

    @property
    def cycles(self) -> int:
        """Cycles that the pipe is busy."""
        return int(self.totals()["cycles"])

    @property
    def n_way(self) -> float:
        """Wavefronts per instruction."""
        return self.totals()["n_way"]


@dataclass(frozen=True, eq=False)
class Fragment(_Figures, Result):
    """The reads of one operand's fragment, one instruction after the other."""

    name: Operand
    op: str
    accesses: tuple[WarpAccess, ...] = field(repr=False)
    counts: Counts = field(repr=False)
    """One entry per access."""
    rule: Rule
    tile: Tile
    """Where the operand lies in shared memory, from byte 0 on."""
    chip: Chip | None = None
    """Whose law counted; None: the H200's."""

    def _counts(self) -> list[Counts]:
        return [self.counts]

    def to_dict(self) -> dict[str, Any]:
        """Return `{"accesses": {column: list}, "totals": {…}}`, a row for each instruction."""
        columns = self.counts.to_dict()
        return {
            "accesses": {"op": [self.op] * self.instructions, **columns["accesses"]},
            "totals": columns["totals"],
        }

    def table(self) -> Table:
        """Return a row per instruction, and why they cost what they cost."""
        return Table(self.rows(), self.to_dict()["totals"], text=[f"{self.name}: {self.reason}"])

    def explain(self) -> list[Explanation]:
        """Return the explanation of each access."""
        return [explain(*access, rule=self.rule, chip=self.chip) for access in self.accesses]

    @property
    def reason(self) -> str:
        """Why the fragment costs what it costs, by its most expensive instruction."""
        worst = max(self.explain(), key=lambda explanation: explanation.wavefronts)
        return f"{self.instructions} {self.op}. {worst.reason}"


@dataclass(frozen=True, eq=False)
class FragmentReport(_Figures, Result):
    """What `simulate` found; `report.A` and `report.B`, or `report["A"]`, are the fragments.

    The geometry's parameters are attributes of the report, too: `report.pad` is
    `report.geometry.pad`.
    """

    geometry: Geometry
    """What was asked, each parameter in one form."""
    k_step: int
    """The k step reported: 0, unless k steps differ; then the first of the most expensive."""
    fragments: tuple[Fragment, Fragment]
    notes: tuple[str, ...]
    """What a reader might not expect of these parameters."""

    def __getattr__(self, name: str) -> Any:
        if name in PARAMETERS:
            return getattr(self.geometry, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def A(self) -> Fragment:  # noqa: N802  (a matrix)
        """The fragment of A."""
        return self["A"]

    @property
    def B(self) -> Fragment:  # noqa: N802
        """The fragment of B."""
        return self["B"]

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
        return self.geometry.title

    def time(self, chip: ChipLike | None = None) -> TimeBound:
        """Return a lower bound of one k step of one warp, of an SM whose schedulers are all busy.

        `chip`: None for the report's, or an H100. Only fragments' reads and products count.

        >>> bound = simulate("4x8", thread_tile="8x8").time("H100")
        >>> bound.limiter, bound.cycles, bound.verdict()
        ('issue', 17.0, 'No gain: there are no bank conflicts to remove.')

        Raises ChipError for a chip whose pipes are not known.
        """
        from simulator.timing.described import bound_of_fragments

        rows, cols = parse_shape(self.geometry.thread_tile, "MN", "thread tile")
        return bound_of_fragments(
            self.totals(), (rows, cols), self.geometry.element, chip or self.chip or "H100"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return `{"fragments": {column: list}, "totals": {…}}`."""
        rows = [fragment.totals() for fragment in self.fragments]
        return {
            "fragments": {
                "fragment": [fragment.name for fragment in self.fragments],
                "op": [fragment.op for fragment in self.fragments],
                **{figure: [row[figure] for row in rows] for figure in rows[0]},
            },
            "totals": self.totals(),
        }

    def table(self) -> Table:
        """Return a row per fragment, why each costs what it costs, and the notes."""
        law = law_columns(self.rule, None if self.chip is None else self.chip.name)
        notes = () if self.chip is None else self.chip.law_notes
        return Table(
            [{**row, **law} for row in self.rows()],
            {**self.to_dict()["totals"], **({"notes": list(notes)} if notes else {})},
            title=f"{self.title}\nOne k step of one warp",
            text=[
                *(f"{part.name}: {part.reason}{_harmless(part)}" for part in self.fragments),
                *self.notes,
                *notes,
            ],
            hidden=tuple(law),
        )

    def _repr_html_(self) -> str:
        from simulator.results.html import bank_table, figure, side_by_side

        # The most expensive access of each fragment; all of them would bury the notebook.
        figures = []
        for fragment in self.fragments:
            worst = max(fragment.explain(), key=lambda each: each.wavefronts)
            table = bank_table(worst.columns(), passes=worst.instruction.passes)
            said = f"{fragment.op}, the worst of {fragment.instructions}"
            figures.append(figure(fragment.name, [("", table)], said=said))
        return super()._repr_html_() + side_by_side(figures)


def _harmless(part: Fragment) -> str:
    """Return what is to be said of conflicts that cost nothing; empty where there are none."""
    if not part.bank_conflicts or part.excessive:
        return ""
    costs = "costs" if part.bank_conflicts == 1 else "cost"
    return (
        f" Its {plural(part.bank_conflicts, 'bank conflict')} {costs} nothing:"
        f" {plural(part.wavefronts, 'wavefront')}, which is also the ideal number."
    )


def simulate(
    warp_shape: Shape = "4x8",
    lds: int = 128,
    *,
    thread_tile: Shape = "8x8",
    block_tile: Shape = "128x128x8",
    lane_order: LaneOrder = "col-major",
    fragment: FragmentKind = "contiguous",
    a_layout: ALayout = "transposed",
    pad: int | tuple[int, int] = (0, 0),
    swizzle: SwizzleLike | tuple[SwizzleLike | None, SwizzleLike | None] | None = None,
    layout: TileLike | tuple[TileLike | None, TileLike | None] | None = None,
    element: int = 4,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
) -> FragmentReport:
    """Count the shared-memory reads of warp 0 for one k step of a tiled GEMM.

    Every k step of the tile is checked and counted. Raises LayoutError for a geometry that does not
    exist, and for a load that would be misaligned or wider than a thread's contiguous run. Raises
    OptionError for an unknown rule or choice; both are BankwiseError.

    Parameters
    ----------
    warp_shape
        Rows×columns of lanes in the warp.
    lds
        Width of a load in bits: 32, 64 or 128.
    thread_tile, block_tile
        Rows×columns of elements of C that a thread computes (M×N), and M×N×K of the block.
    lane_order
        "row-major", "col-major", "z-order", or 32 integers, entry l being row·C + col of lane l.
    fragment
        "contiguous", or "split": two half tiles, half a warp tile apart.
    a_layout
        "transposed" (BK rows of BM) or "row-major" (BM rows of BK).
    pad
        Elements after each row: one number for both tiles, or a pair (A, B).
    swizzle
        Of element offsets, after padding: one for both tiles, or a pair.
    layout
        Padding and swizzle at once: a Tile, a Layout or its text, for both tiles or a pair. Its
        rows and columns are the tile's in shared memory.
    element
        Bytes of an element: 4, 2 or 1.
    rule, chip
        Those of `count`.

    Examples
    --------
    >>> report = simulate("4x8", 128)
    >>> report["A"].wavefronts, report["B"].wavefronts, report.bank_conflicts
    (8, 4, 0)
    >>> swizzled = "Sw<2,3,6> o 0 o (8,128):(128,1)"
    >>> simulate("8x4", fragment="split", layout=(None, swizzled))["B"].wavefronts
    4
    """
    geometry = Geometry.of(
        warp_shape=warp_shape,
        lds=lds,
        thread_tile=thread_tile,
        block_tile=block_tile,
        lane_order=lane_order,
        fragment=fragment,
        a_layout=a_layout,
        pad=pad,
        swizzle=swizzle,
        layout=layout,
        element=element,
        rule=rule,
        chip=chip,
    )
    loads = Loads.of(geometry)
    (step,) = count_loads([loads])
    notes = loads.notes
    if step.least < step.most:
        differ = (
            f"The k steps differ: {step.least} to {step.most} wavefronts. This is"
            f" k step {step.number}, the most expensive."
        )
        notes = (*notes, differ)
    first, second = (
        Fragment(
            name,
            operand.op,
            tuple(
                WarpAccess(operand.op, tuple(lanes))
                for lanes in operand.addresses[step.number].tolist()
            ),
            counts,
            geometry.rule,
            operand.tile,
            geometry.chip,
        )
        for name, operand, counts in zip(OPERANDS, loads.operands, step.counts, strict=True)
    )
    return FragmentReport(geometry, step.number, (first, second), notes)
