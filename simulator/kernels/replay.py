"""`replay`: every memory instruction of a whole kernel, counted.

Each site becomes the warp accesses that it executes; equal ones are counted once and
multiplied. That this is the same as running every block, turn and warp is a property test
(tests/property/test_replay.py), not an assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from operator import mul
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from layouts.errors import accepted, short
from layouts.shapes import is_integer, listed
from simulator.errors import KernelError, OptionError
from simulator.kernels.global_memory import LINE, SECTOR, operation, suffix, touched
from simulator.kernels.lowering import lower_global, lower_shared
from simulator.kernels.sites import (
    AS_WRITTEN,
    ASSUMED,
    ASSUMED_PRESENT,
    FORMS,
    Form,
    GlobalSite,
    Kernel,
    Launch,
    SharedSite,
)
from simulator.kernels.sizes import require
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.counting import check_rule, count
from simulator.law.instructions import Rule, instruction
from simulator.results.columns import law_columns
from simulator.results.sites import SiteReport, SiteTable
from simulator.results.text import Table

if TYPE_CHECKING:
    from simulator.timing.pipes import TimeBound

__all__ = ["FORMS", "Form", "KernelReport", "check_value", "replay"]

_LARGEST = 2**31 - 1  # of m, n and k: the documents' kernels take them as int
_LARGEST_TILE = 2**16


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelReport(SiteTable):
    """What `replay` counted: a row for each site of the kernel, and totals for the grid."""

    m: int
    """Rows of C."""
    n: int
    """Columns of C."""
    k: int
    """Columns of A, rows of B."""
    form: Form
    parameters: Mapping[str, Any]
    """Every tile parameter, given or by default; read-only."""
    instructions: tuple[tuple[str, int, int, int], ...]
    """(opcode, executed, wavefronts, ideal) of each shared-memory instruction, site by site."""
    about: str
    """What the kernel does, and the document that has it."""
    element: int = 4
    """Bytes of an element of A and B, as they lie in shared memory."""

    def time(self, chip: ChipLike | None = None) -> TimeBound:
        """Return a lower bound of the kernel's time, and what removing bank conflicts can gain.

        `chip`: None for the report's, or an H100. Index arithmetic and latencies are left out.

        >>> bound = replay("junstar92.warptiling", m=4096, n=4096, k=4096).time("H100")
        >>> bound.limiter, round(bound.cycles)
        ('issue', 4718848)

        Raises ChipError for a chip whose pipes are not known.
        """
        from simulator.timing.described import bound_of_gemm

        return bound_of_gemm(
            self.sites, self.grid, prod(self.block), (self.m, self.n, self.k), self.element,
            chip or self.chip or "H100",
        )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __getstate__(self) -> dict[str, Any]:
        # A read-only view can be neither pickled nor deep-copied: its dictionary can.
        return {**self.__dict__, "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def title(self) -> str:
        """The kernel, and the size of its matrices."""
        return f"{self.kernel}, {self.m}×{self.n}×{self.k}"

    def table(self) -> Table:
        """Return a row per site, the sums of shared memory, and where the sites come from."""
        grid, block = ("x".join(map(str, shape)) for shape in (self.grid, self.block))
        chosen = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        evidence = "; ".join(dict.fromkeys(site.evidence for site in self.sites))
        law = law_columns(self.rule, self.chip)
        on = "" if self.chip is None else f", {self.chip}"
        return Table(
            [{**row, **law} for row in self.rows()],
            {**self.totals(), **({"notes": list(self.notes)} if self.notes else {})},
            sums=[
                ("shared" if kind == "all" else f"shared {kind}s", {**sums, **law})
                for kind, sums in self.totals().items()
            ],
            title=f"{self.kernel} ({self.form}{on}), {self.m}x{self.n}x{self.k}, grid {grid} of"
            f" {block} threads{f'; {chosen}' if chosen else ''}",
            text=[self.about, f"Sites: {evidence}.", *self.notes],
            hidden=("memory", "kind", "lines", "evidence", *law),
        )


def replay(
    kernel: str | Kernel,
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    form: Form = "compiled",
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    progress: Callable[[int, int], None] | None = None,
    **parameters: Any,
) -> KernelReport:
    """Count what a GEMM kernel of the catalogue, or one of yours, does to memory.

    Parameters
    ----------
    kernel
        A kernel, or its name in the catalogue.
    m, n, k
        C is m×n, the inner dimension k.
    form
        "compiled" (loads merged as nvcc does) or "written" (the source as it stands).
    rule, chip
        Those of `count`.
    progress
        Told, after each site, how many are done and how many there are.
    **parameters
        The kernel's tile sizes; by default the document's.

    Returns
    -------
    KernelReport
        A row for each site, and totals for the whole grid.

    Raises
    ------
    KernelError
        For an unknown name, sizes that the kernel cannot run with, unknown or impossible tile
        parameters.
    OptionError
        For an unknown form or rule.

    Examples
    --------
    >>> report = replay("junstar92.2d")
    >>> report.totals()["load"]["bank_conflicts"]
    402653184
    """
    if not isinstance(kernel, Kernel):
        from simulator.kernels import get

        kernel = get(kernel)
    sizes = {"m": m, "n": n, "k": k}
    for name, value in {"form": form, "rule": rule, **sizes}.items():
        check_value(kernel, name, value)
    chosen = optional_chip(chip)
    parameters = {**kernel.parameters, **_checked(kernel, parameters)}
    launch = kernel.launch(int(m), int(n), int(k), **parameters)
    require(
        isinstance(launch, Launch),
        f"kernel {kernel.name!r} gives {short(launch)} (accepted: a Launch)",
    )
    require(
        chosen is None or launch.shared_bytes <= chosen.shared_bytes,
        f"{kernel.name} takes {launch.shared_bytes} bytes of shared memory (accepted: up to"
        f" {chosen.shared_bytes if chosen else 0} on {chosen}; next: smaller tiles)",
    )
    of_document = parameters == kernel.parameters
    counted: list[SiteReport] = []
    instructions: list[tuple[str, int, int, int]] = []
    for done, site in enumerate(launch.sites, start=1):
        if site.only in (None, form) and site.runs:
            evidence = _evidence(site, form, of_document)
            if isinstance(site, SharedSite):
                row, copies = _shared(site, launch, form, rule, chosen, evidence)
                instructions += copies
            else:
                row = _global(site, launch, form, evidence)
            counted.append(row)
        if progress is not None:
            progress(done, len(launch.sites))
    return KernelReport(
        kernel=kernel.name,
        m=int(m),
        n=int(n),
        k=int(k),
        form=form,
        rule=rule,
        parameters=parameters,
        grid=launch.grid,
        block=launch.block,
        sites=tuple(counted),
        instructions=tuple(instructions),
        about=f"{kernel.title}. {kernel.document}",
        element=min(
            (site.element for site in launch.sites if isinstance(site, SharedSite)), default=4
        ),
        chip=None if chosen is None else chosen.name,
        notes=() if chosen is None else chosen.law_notes,
    )


def check_value(kernel: Kernel, name: str, value: Any) -> None:
    """Raise the error of `replay` for a value that is wrong with any other parameters."""
    if name == "form":
        if value not in FORMS:
            raise OptionError(f"unknown form {value!r}: {accepted(value, FORMS)}")
    elif name == "rule":
        check_rule(value)
    elif name == "chip":
        optional_chip(value)
    elif name in ("m", "n", "k"):
        if not is_integer(value) or not 1 <= value <= _LARGEST:
            raise KernelError(
                f"{name} = {value!r} is not a matrix size (accepted: 1 to {_LARGEST})"
            )
    else:
        plain = _checked(kernel, {name: value})
        if name in kernel.checks:
            kernel.checks[name](plain[name])


def _checked(kernel: Kernel, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as plain Python values: NumPy's integers would overflow silently.

    The default of a parameter says of which kind its values are. A value that is not a number
    names a layout. Layouts have more forms than a default shows, so `layouts` judges them itself.
    """
    known = kernel.parameters
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in known:
            raise KernelError(
                f"{kernel.name} has no parameter {name!r}:"
                f" {accepted(name, known) if known else 'it has none'}"
            )
        if isinstance(known[name], bool):
            require(
                isinstance(value, bool | np.bool_),
                f"{name} = {short(value)} is not a truth value (accepted: True, False)",
            )
            plain[name] = bool(value)
        elif is_integer(known[name]):
            least = 0 if name.startswith("pad") else 1
            if not is_integer(value) or not least <= value <= _LARGEST_TILE:
                raise KernelError(
                    f"{name} = {short(value)} is not a size (accepted: {least} to {_LARGEST_TILE})"
                )
            plain[name] = int(value)
        else:
            value = listed(value)
            plain[name] = tuple(value) if isinstance(value, list) else value
    return plain


def _shared(
    site: SharedSite, launch: Launch, form: Form, rule: Rule, chip: Chip | None, evidence: str
) -> tuple[SiteReport, list[tuple[str, int, int, int]]]:
    accesses = lower_shared(site, launch, form)
    if site.op is None:
        op = f"{'LDS' if site.kind == 'load' else 'STS'}{suffix(accesses.width)}"
    else:
        op = instruction(site.op).name
    masks = (accesses.active << np.arange(32)).sum(axis=-1)
    costs = count(op, accesses.addresses, masks, rule=rule, chip=chip)
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


def _global(site: GlobalSite, launch: Launch, form: Form, evidence: str) -> SiteReport:
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


def _evidence(site: SharedSite | GlobalSite, form: Form, of_document: bool) -> str:
    changed = bool(site.hoisted) or (isinstance(site, SharedSite) and site.merges is not None)
    if form == "written" or not (changed or site.only):
        return site.assumed or AS_WRITTEN
    if of_document and site.evidence != AS_WRITTEN:
        compiled = site.evidence
    elif changed:
        compiled = ASSUMED
    else:
        return site.assumed or ASSUMED_PRESENT
    return f"{site.assumed}; {compiled}" if site.assumed else compiled
