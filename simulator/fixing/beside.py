"""Changed sources that were compiled: what a launch of them costs, and the launches beside it.

Kernels may be compiled from the same lines: other instantiations of a template, other launches of
a kernel, callers of one function. A change of these lines is a change of them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.errors import SassError
from simulator.fixing.declared import Declared, lines_of
from simulator.fixing.fix import Fix
from simulator.results.tables import equal
from simulator.sass.report import CompiledReport

__all__ = [
    "OTHER_OUTPUTS", "does_not_run", "harmed", "kernel_names", "same_sums",
    "shares", "worse",
]  # fmt: skip

OTHER_OUTPUTS = "the changed source leaves other outputs"


def worse(made: CompiledReport, known: CompiledReport, saved: int | None = None) -> str:
    """Return why a changed source is not taken: where a launch of it goes; "" where it is.

    `known` is the launch before. `saved`: the bank conflicts that were to go, of which at least
    half must; None: there must be no more than before.
    """
    if made.extrapolated != known.extrapolated:
        return "has figures of other blocks, which cannot be compared"
    now, was = (each.totals()["all"] for each in (made, known))
    fewer = was["bank_conflicts"] - now["bank_conflicts"]
    more = now["wavefronts"] > was["wavefronts"]
    helps = fewer >= 0 if saved is None else 0 < saved <= 2 * fewer
    if helps and not more:
        return ""
    said = f"goes {_from_to(was, now, 'bank_conflicts')}"
    if more:
        return f"{said}, {'but' if fewer > 0 else 'and'} {_from_to(was, now, 'wavefronts')}"
    return said if saved is None else f"{said}; {saved:,} fewer were predicted"


def same_sums(made: CompiledReport, known: CompiledReport, fix: Fix) -> bool:
    """Whether a compiled fix saves in the whole launch what it saved of its array."""
    now, was = (each.totals()["all"] for each in (made, known))
    return all(
        was[name] - now[name] == getattr(fix.before, name) - getattr(fix.after, name)
        for name in ("bank_conflicts", "wavefronts")
    )


def _from_to(was: Mapping[str, Any], now: Mapping[str, Any], name: str) -> str:
    return f"from {was[name]:,} to {now[name]:,} {name.replace('_', ' ')}"


def does_not_run(error: SassError) -> str:
    """Return an error's first line, and the next where that only announces it."""
    first, *rest = str(error).splitlines()
    said = f"{first} {rest[0].strip()}" if first.endswith(":") and rest else first
    return f"the changed source does not run: {said}"


def shares(report: CompiledReport, declared: Declared, text: str) -> bool:
    """Whether a kernel accesses memory in the lines in which an array can be named."""
    found, lines = report.instructions, lines_of(declared, text)
    places = zip(found["file"], found["line"], strict=True)
    return any(file == declared.file and line in lines for file, line in places)


def harmed(text: str, others: Sequence[CompiledReport], names: Sequence[str]) -> str:
    """Return which of other launches a changed source makes worse, and how; "" for none."""
    for known, name in zip(others, names, strict=True):
        try:
            made = known.relaunch().recompiled(text)
        except SassError as error:
            why = does_not_run(error)
        else:
            same = equal(made.outputs, known.outputs)
            why = worse(made, known) if same else OTHER_OUTPUTS
        if why:
            return f"{name} is compiled from the same lines, and {why}"
    return ""


def kernel_names(reports: Sequence[CompiledReport]) -> list[str]:
    """Return the kernel of each launch, with grid and block where several launches have it."""
    titles = [each.title for each in reports]
    return [
        title
        if titles.count(title) == 1
        else f"{title} (grid {_shape(each.grid)}, block {_shape(each.block)})"
        for title, each in zip(titles, reports, strict=True)
    ]


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))
