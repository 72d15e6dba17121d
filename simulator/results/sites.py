"""What a kernel costs, site by site: the table that a described and a compiled kernel share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from simulator.results.columns import COSTS
from simulator.results.tables import Result

__all__ = ["SiteReport", "SiteTable"]


@dataclass(frozen=True)
class SiteReport:
    """What one site costs in the whole launch.

    A global site costs sectors and lines and no wavefronts here; a shared site the reverse.
    """

    source: str
    memory: Literal["shared", "global"]
    kind: Literal["load", "store"]
    op: str
    instructions: int
    """Copies of the instruction in the unrolled code."""
    requests: int
    """Executions by a warp with at least one active lane."""
    wavefronts: int
    ideal: int
    excessive: int
    bank_conflicts: int
    sectors: int
    lines: int
    evidence: str

    @property
    def sectors_per_request(self) -> float:
        """Sectors that a request moves on average, Nsight Compute's measure of coalescing."""
        return self.sectors / self.requests if self.requests else 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteTable(Result):
    """A row for each site of a kernel, and totals for the grid."""

    kernel: str
    """Its name."""
    rule: str
    chip: str | None = None
    """Whose law counted, where a chip was chosen; None: the H200's."""
    grid: tuple[int, ...]
    block: tuple[int, ...]
    sites: tuple[SiteReport, ...]
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know."""

    @property
    def title(self) -> str:
        """What ran, in a line."""
        return self.kernel

    def totals(self) -> dict[str, dict[str, int]]:
        """Return the sums over the shared-memory sites: loads, stores, all of them."""
        return self._totals("shared", ("requests", *COSTS))

    def global_totals(self) -> dict[str, dict[str, int]]:
        """Return the sums over the global-memory sites: loads, stores, all of them."""
        return self._totals("global", ("requests", "sectors", "lines"))

    def to_dict(self) -> dict[str, Any]:
        """Return `{"sites": {column: list}, "totals": {"load": {…}, "store": {…}, "all": {…}}}`.

        The totals are those of shared memory; `global_totals` gives the others.
        """
        names = [each.name for each in fields(SiteReport)]
        columns = {name: [getattr(site, name) for site in self.sites] for name in names}
        return {"sites": columns, "totals": self.totals()}

    def _totals(self, memory: str, figures: tuple[str, ...]) -> dict[str, dict[str, int]]:
        def summed(*kinds: str) -> dict[str, int]:
            chosen = [s for s in self.sites if s.memory == memory and s.kind in kinds]
            return {name: sum(getattr(site, name) for site in chosen) for name in figures}

        return {"load": summed("load"), "store": summed("store"), "all": summed("load", "store")}
