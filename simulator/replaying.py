"""`replay`: every memory instruction of a whole kernel, counted.

Each site becomes the warp accesses that it executes; equal ones are counted once and
multiplied. That this is the same as running every block, turn and warp is a property test
(tests/property/test_replay.py), not an assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import mul
from typing import Any, Literal

import numpy as np

from layouts.errors import accepted
from layouts.shapes import is_integer
from simulator.counting import OptionError, check_rule, count
from simulator.global_memory import LINE, SECTOR, operation, suffix, touched
from simulator.instructions import instruction
from simulator.lowering import lower_global, lower_shared
from simulator.sites import (
    AS_WRITTEN,
    ASSUMED,
    ASSUMED_PRESENT,
    GlobalSite,
    Kernel,
    KernelError,
    Launch,
    SharedSite,
)
from simulator.tables import Result

__all__ = ["FORMS", "GemmReport", "KernelReport", "SiteReport", "replay"]

FORMS = ("compiled", "written")
"""`written`: the source as it stands. `compiled`: with loads merged and hoisted by nvcc."""

_LARGEST = 2**31 - 1  # of m, n and k: the documents' kernels take them as int
_LARGEST_TILE = 2**16


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
    wavefronts: int | None
    """None, as the next three: not known. Only compiled code has instructions never measured."""
    ideal: int | None
    excessive: int | None
    bank_conflicts: int | None
    sectors: int
    lines: int
    evidence: str

    @property
    def sectors_per_request(self) -> float:
        """Sectors that a request moves on average, Nsight Compute's measure of coalescing."""
        return self.sectors / self.requests if self.requests else 0.0


@dataclass(frozen=True, eq=False)
class KernelReport(Result):
    """A row for each site of a kernel, and totals for the grid."""

    kernel: str
    rule: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    sites: tuple[SiteReport, ...]

    def totals(self) -> dict[str, dict[str, int]]:
        """Sum over the shared-memory sites: loads, stores, all of them."""
        return self._totals(
            "shared", ("requests", "wavefronts", "ideal", "excessive", "bank_conflicts")
        )

    def global_totals(self) -> dict[str, dict[str, int]]:
        """Sum over the global-memory sites: loads, stores, all of them."""
        return self._totals("global", ("requests", "sectors", "lines"))

    def to_dict(self) -> dict[str, Any]:
        """Give `{"sites": {column: list}, "totals": {"load": {…}, "store": {…}, "all": {…}}}`.

        The totals are those of shared memory; `global_totals` gives the others.
        """
        names = [each.name for each in fields(SiteReport)]
        columns = {name: [getattr(site, name) for site in self.sites] for name in names}
        return {"sites": columns, "totals": self.totals()}

    def _totals(self, memory: str, figures: tuple[str, ...]) -> dict[str, dict[str, int]]:
        def summed(*kinds: str) -> dict[str, int]:
            chosen = [s for s in self.sites if s.memory == memory and s.kind in kinds]
            return {name: sum(getattr(site, name) or 0 for site in chosen) for name in figures}

        return {"load": summed("load"), "store": summed("store"), "all": summed("load", "store")}


@dataclass(frozen=True, eq=False)
class GemmReport(KernelReport):
    """A kernel of the catalogue, or a `Kernel` of yours, for one size of matrices."""

    m: int
    n: int
    k: int
    form: str
    parameters: Mapping[str, Any]
    instructions: tuple[tuple[str, int, int, int], ...]
    """(opcode, executed, wavefronts, ideal) of each shared-memory instruction, site by site."""


def replay(
    kernel: str | Kernel,
    *,
    m: int,
    n: int,
    k: int,
    form: str = "compiled",
    rule: str = "silicon",
    progress: Callable[[int, int], None] | None = None,
    **parameters: Any,
) -> GemmReport:
    """Count what a GEMM kernel of the catalogue, or one of yours, does to memory.

    C is m×n, the inner dimension k. `form` is "compiled" (loads merged as nvcc does) or
    "written" (the source as it stands), `rule` that of `count`; `parameters` are the kernel's
    tile sizes, by default the document's. `progress` is told the sites done and their number.

    >>> report = replay("junstar92.2d", m=4096, n=4096, k=4096)
    >>> report.totals()["load"]["bank_conflicts"]
    402653184

    Raises KernelError for an unknown name, sizes that the kernel cannot run with, unknown or
    impossible tile parameters; OptionError for an unknown form or rule.
    """
    if not isinstance(kernel, Kernel):
        from simulator.kernels import get

        kernel = get(kernel)
    if form not in FORMS:
        raise OptionError(f"unknown form {form!r}: {accepted(form, FORMS)}")
    check_rule(rule)
    for name, size in (("m", m), ("n", n), ("k", k)):
        if not is_integer(size) or not 1 <= size <= _LARGEST:
            raise KernelError(f"{name} = {size!r} is no matrix size (accepted: 1 to {_LARGEST})")
    _check_parameters(kernel, parameters)
    parameters = {**kernel.parameters, **parameters}
    launch = kernel.launch(int(m), int(n), int(k), **parameters)
    of_document = parameters == kernel.parameters
    counted: list[SiteReport] = []
    instructions: list[tuple[str, int, int, int]] = []
    for done, site in enumerate(launch.sites, start=1):
        if progress is not None:
            progress(done, len(launch.sites))
        if site.only not in (None, form) or not site.runs:
            continue
        evidence = _evidence(site, form, of_document)
        if isinstance(site, SharedSite):
            row, copies = _shared(site, launch, form, rule, evidence)
            instructions += copies
        else:
            row = _global(site, launch, form, evidence)
        counted.append(row)
    return GemmReport(
        kernel.name, rule, launch.grid, launch.block, tuple(counted),
        int(m), int(n), int(k), form, parameters, tuple(instructions),
    )  # fmt: skip


def _check_parameters(kernel: Kernel, given: Mapping[str, Any]) -> None:
    known = kernel.parameters
    for name, value in given.items():
        if name not in known:
            raise KernelError(
                f"{kernel.name} has no parameter {name!r}:"
                f" {accepted(name, known) if known else 'it has none'}"
            )
        if not is_integer(known[name]):
            if type(value) is not type(known[name]):
                raise KernelError(
                    f"{name} = {value!r} is not like the default {known[name]!r} of {kernel.name}"
                )
            continue
        least = 0 if name.startswith("pad") else 1
        if not is_integer(value) or not least <= value <= _LARGEST_TILE:
            raise KernelError(
                f"{name} = {value!r} is no size (accepted: {least} to {_LARGEST_TILE})"
            )


def _shared(
    site: SharedSite, launch: Launch, form: str, rule: str, evidence: str
) -> tuple[SiteReport, list[tuple[str, int, int, int]]]:
    accesses = lower_shared(site, launch, form)
    if site.op is None:
        op = f"{'LDS' if site.kind == 'load' else 'STS'}{suffix(accesses.width)}"
    else:
        op = instruction(site.op).name
    masks = (accesses.active << np.arange(32)).sum(axis=-1)
    costs = count(op, accesses.addresses, masks, rule=rule)
    # By instruction: over the warps of a block first, then over the blocks and repeats.
    columns = [
        (figure.sum(axis=-1).astype(object).T @ np.array(accesses.weights, dtype=object)).tolist()
        for figure in (costs.phases > 0, costs.wavefronts, costs.ideal, costs.bank_conflicts)
    ]
    rows = list(zip(*columns, strict=True)) * accesses.copies
    requests, wavefronts, ideal, bank_conflicts = (sum(each) for each in zip(*rows, strict=True))
    report = SiteReport(
        source=site.source,
        memory="shared",
        kind=site.kind,
        op=op,
        instructions=len(rows),
        requests=requests,
        wavefronts=wavefronts,
        ideal=ideal,
        excessive=wavefronts - ideal,
        bank_conflicts=bank_conflicts,
        sectors=0,
        lines=0,
        evidence=evidence,
    )
    return report, [(op, *row[:3]) for row in rows]


def _global(site: GlobalSite, launch: Launch, form: str, evidence: str) -> SiteReport:
    accesses = lower_global(site, launch, form)
    figures = [
        accesses.active.any(axis=-1).astype(np.int64),
        touched(accesses.addresses, accesses.active, SECTOR),
        touched(accesses.addresses, accesses.active, LINE),
    ]
    # By pattern first; the weights are Python integers, and may exceed 64 bits.
    requests, sectors, lines = (
        accesses.copies * sum(map(mul, accesses.weights, figure.sum(axis=(1, 2)).tolist()))
        for figure in figures
    )
    return SiteReport(
        source=site.source,
        memory="global",
        kind=site.kind,
        op=operation(site.kind, site.width * site.matrix.element),
        instructions=accesses.active.shape[1] * accesses.copies,
        requests=requests,
        wavefronts=0,
        ideal=0,
        excessive=0,
        bank_conflicts=0,
        sectors=sectors,
        lines=lines,
        evidence=evidence,
    )


def _evidence(site: SharedSite | GlobalSite, form: str, of_document: bool) -> str:
    merges = isinstance(site, SharedSite) and site.merges is not None
    if form == "written" or not (merges or site.hoisted or site.only):
        return AS_WRITTEN
    if of_document and site.evidence != AS_WRITTEN:
        return site.evidence
    return ASSUMED if merges or site.hoisted else ASSUMED_PRESENT
