"""Inside a replayed kernel: its machine code, each instruction's worst access, and the cures.

The launch runs again under a witness, which sees where every access goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.errors import BankwiseError, LaunchError
from simulator.fixing.costs import Pricer
from simulator.fixing.fix import Fix
from simulator.law.accesses import NO_SOURCE
from simulator.law.explaining import Explanation, explain
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.report import CompiledReport
from simulator.sass.run.witness import Witness
from simulator.sass.sampling import Relaunch

__all__ = [
    "MOST_THREAD_INSTRUCTIONS", "CuredKernel", "KernelView", "look_inside", "worst_accesses",
]  # fmt: skip

MOST_THREAD_INSTRUCTIONS = 500_000_000
"""A launch that executed more is not run again for its cures: a page is not to take minutes."""

_MOST_CURES = 3  # fixes whose accesses are drawn


@dataclass(frozen=True)
class CuredKernel:
    """A fix, and the worst accesses of the launch that ran with it."""

    fix: Fix
    worst: dict[int, Explanation]


@dataclass(frozen=True)
class KernelView:
    """What a page shows of a kernel beside its report."""

    instructions: Sequence[SassInstruction]
    worst: dict[int, Explanation]
    """The access with most bank conflicts of each instruction, by the instruction's address."""
    cures: tuple[CuredKernel, ...]
    fixes: tuple[Fix, ...]
    """All that were looked for, those without a change too."""
    why: str = ""
    """Why no cure was looked for; often empty."""

    def cure(self, address: int) -> CuredKernel | None:
        """Return the cure of the array that an instruction accesses."""
        for each in self.cures:
            before, after = self.worst.get(address), each.worst.get(address)
            if before and after and after.bank_conflicts < before.bank_conflicts:
                return each
        return None


def look_inside(report: CompiledReport) -> KernelView | None:
    """Run a launch again and return what it shows; None where it is no longer known.

    A report that was pickled, or that an error stopped, has no launch.
    """
    try:
        again = report.relaunch()
    except LaunchError:
        return None
    worst = _worst(again)
    fixes: list[Fix] = []
    why = ""
    if report.thread_instructions > MOST_THREAD_INSTRUCTIONS:
        why = "not looked for in a launch of this size: bankwise sass --fix does"
    else:
        try:
            fixes = report.fixes()
        except BankwiseError as error:
            why = f"not looked for: {str(error).splitlines()[0]}"
    chosen = [each for each in fixes if each.text][:_MOST_CURES]
    cures = tuple(CuredKernel(each, _worst(report.fixed([each]).relaunch())) for each in chosen)
    return KernelView(again.program.instructions, worst, cures, tuple(fixes), why)


def worst_accesses(report: CompiledReport) -> dict[int, Explanation]:
    """Return the worst access of each instruction, by its address; the launch runs again.

    Empty for a report that was pickled, or that an error stopped: it has no launch.
    """
    try:
        return _worst(report.relaunch())
    except LaunchError:
        return {}


def _worst(again: Relaunch) -> dict[int, Explanation]:
    """Return the worst access of each instruction, by its address."""
    launch = again.launch()
    sites = again.program.sites
    witness = Witness(sites)
    again.replay(None, witness)
    touched = witness.touched()
    priced = Pricer(sites, launch.rule, launch.chip).figures(touched)
    cost = (priced[:, 1] + priced[:, 2]) * 256 + priced[:, 0]
    found: dict[int, tuple[int, Explanation]] = {}
    for number in np.unique(touched.sites).tolist():
        site = sites[number]
        if site.op is None:
            continue
        rows = np.flatnonzero(touched.sites == number)
        row = int(rows[np.argmax(cost[rows])])
        options: dict[str, Any] = {"rule": launch.rule, "chip": launch.chip}
        if site.op.startswith("LDGSTS"):
            sources = touched.sources[row]
            options["sources"] = np.where(sources < 0, NO_SOURCE, sources)
        try:
            one = explain(site.op, touched.places[row], int(touched.masks[row]), **options)
        except BankwiseError:  # such as a place that the law alone would refuse
            continue
        address = site.instruction.address
        if address not in found or int(cost[row]) > found[address][0]:
            found[address] = int(cost[row]), one
    return {address: one for address, (_, one) in found.items()}
