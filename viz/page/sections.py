"""The sections of a report: what the page shows of each kind of result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from layouts.errors import plural
from simulator.asking.answer import Answer
from simulator.asking.compare import InputComparison, compare
from simulator.asking.words import Level
from simulator.checking.report import CheckReport
from simulator.gemm.simulate import FragmentReport
from simulator.kernels.replay import KernelReport
from simulator.law.explaining import Explanation
from simulator.results.columns import COSTS, OUTCOMES, law_columns
from simulator.results.sites import SiteTable
from simulator.results.text import Table
from simulator.search.optimum import Optimum
from simulator.timing.kernel_time import KernelTime
from viz.errors import DrawError
from viz.kernel_bars import kernel_bars
from viz.page.access import of_access
from viz.page.compared import of_comparison, of_geometry, of_optimum
from viz.page.compiled import of_compiled
from viz.page.listed import of_check, of_listing
from viz.page.section import Section
from viz.page.time_view import of_time
from viz.parity import parity, quantities
from viz.sweep_heatmap import columns_of, named, outcomes, sweep_heatmap

__all__ = ["compared", "section"]

_MOST_ROWS = 12  # of a table in the page: the pictures show all


def section(result: object) -> Section:
    """Return what a page shows of one result; raises DrawError for something else."""
    if isinstance(result, Explanation):
        return of_access(result)
    if isinstance(result, FragmentReport):
        return of_geometry(result)
    if isinstance(result, InputComparison):
        return of_comparison(result)
    if isinstance(result, KernelReport):
        return _of_kernel(result)
    if isinstance(result, SiteTable):
        return of_compiled(result)
    if isinstance(result, Optimum):
        return of_optimum(result)
    if isinstance(result, CheckReport):
        return of_check(result)
    if isinstance(result, Table):
        return of_listing(result)
    if isinstance(result, KernelTime):
        return of_time(result)
    table = columns_of(result)
    if found := quantities(table):
        figures = [parity(table, quantity) for quantity in found]
    else:
        figures = [sweep_heatmap(table, value=_value(table))]
    return _of_table(table, figures)


def _law(result: Any) -> str:
    """Name the law that counted: the rule, and the chip where one was chosen."""
    return ", ".join(
        f"{key} {value}" if key == "chip" else f"{value} rule"
        for key, value in law_columns(result.rule, result.chip).items()
    )


def _of_kernel(result: KernelReport) -> Section:
    figures = (*COSTS, "sectors")
    costs = {"shared": COSTS, "global": ("sectors",)}  # what either memory is charged
    hottest = sorted(result.rows(), key=_hotness)
    rows: list[dict[str, Any]] = [
        {
            **{name: row[name] for name in ("source", "memory", "op", "requests")},
            **{name: row[name] if name in costs[row["memory"]] else None for name in figures},
            "evidence": row["evidence"],
        }
        for row in hottest
    ]
    for memory, sums in (("shared", result.totals()), ("global", result.global_totals())):
        last = {name: sums["all"].get(name) for name in ("requests", *figures)}
        rows.append({"source": "total", "memory": memory, "op": "", **last, "evidence": ""})
    sentences = []
    for kind, total in result.totals().items():
        if kind != "all" and total["requests"]:
            each = total["wavefronts"] / total["requests"]
            noun = "wavefront" if each == 1 else "wavefronts"
            sentences.append(
                f"Shared-memory {kind}s: {each:.3g} {noun} per request,"
                f" {plural(total['bank_conflicts'], 'bank conflict')}."
            )
    chosen = [f"{name} = {value}" for name, value in result.parameters.items()]
    grid, block = ("×".join(map(str, size)) for size in (result.grid, result.block))
    total = result.totals()["all"]
    waves, conflicts = total["wavefronts"], total["bank_conflicts"]
    level: Level = "conflict" if total["excessive"] else "harmless" if conflicts else "free"
    if not conflicts:
        title = f"Conflict-free: {plural(waves, 'wavefront')} of shared memory"
    elif level == "harmless":
        title = f"{plural(conflicts, 'bank conflict')} that cost nothing"
    else:
        worst = hottest[0]
        ways = worst["wavefronts"] / (worst["requests"] or 1)
        title = (
            f"{worst['op']} at {worst['source']} takes {ways:.3g} wavefronts per request,"
            f" {worst['wavefronts'] / waves:.0%} of the kernel's"
        )
    return Section(
        title,
        rows,
        sentences,
        [kernel_bars(result)],
        level=level,
        asked=result.title,
        about=[
            f"as {result.form}",
            _law(result),
            f"grid of {grid} blocks of {block} threads",
            *chosen,
        ],
        numbers={**{name: total[name] for name in COSTS}, "requests": total["requests"]},
        bars=[
            (f"{row['op']} {row['source']}", row["wavefronts"], 3 if row["excessive"] else 0)
            for row in hottest
            if row["wavefronts"]
        ][:_MOST_ROWS],
    )


def _hotness(row: Mapping[str, Any]) -> tuple[int, ...]:
    return -row["excessive"], -row["wavefronts"], -row["sectors"]


def _of_table(table: Mapping[str, Sequence[Any]], figures: list[go.Figure]) -> Section:
    """Show a sweep's best rows, or a comparison's worst ones; all would drown the page."""
    number = len(next(iter(table.values())))
    order = list(range(number))
    if found := quantities(table):
        pairs = [(outcomes(table, name), outcomes(table, f"measured_{name}")) for name in found]
        order.sort(key=lambda row: -max(_apart(a[row], b[row]) for a, b in pairs))
        said = "The rows where model and chip are furthest apart come first. "
    else:
        value = _value(table)
        numbers = outcomes(table, value)
        order.sort(key=lambda row: (numbers[row] is None, numbers[row] or 0))
        said = f"The rows with the least {named(value)} come first. "
    if number > _MOST_ROWS:
        said += f"{_MOST_ROWS} of {number:,} rows are listed."
    rows = [{name: table[name][row] for name in table} for row in order[:_MOST_ROWS]]
    meta = figures[0].layout.meta["bankwise"]
    return Section(meta["title"], rows, [said.strip()], figures)


def _apart(simulated: float | None, measured: float | None) -> float:
    return 0 if simulated is None or measured is None else abs(measured - simulated)


def _value(table: Mapping[str, Sequence[Any]]) -> str:
    for name in ("wavefronts", *OUTCOMES):
        if name in table:
            return name
    raise DrawError(f"columns {', '.join(table)} hold no outcome (accepted: {', '.join(OUTCOMES)})")


def compared(first: object, second: object) -> list[Section]:
    """Return the section of two results of one kind side by side, or none for other pairs.

    Compiled kernels are compared where they have one name or a file of source in common: figures
    of others say nothing of each other.
    """
    accesses = (Explanation, FragmentReport)
    kinds = [accesses, (SiteTable,)]
    if not any(isinstance(first, kind) and isinstance(second, kind) for kind in kinds):
        return []
    if isinstance(first, FragmentReport) is not isinstance(second, FragmentReport):
        return []
    if isinstance(first, KernelReport) is not isinstance(second, KernelReport):
        return []
    if not _have_in_common(first, second):
        return []
    names = [_name(first, "First"), _name(second, "Second")]
    if names[0] == names[1]:
        names = [f"First: {names[0]}", f"Second: {names[1]}"]
    return [of_comparison(compare(first, second, names=names))]


def _have_in_common(first: Any, second: Any) -> bool:
    are_compiled = isinstance(first, SiteTable) and not isinstance(first, KernelReport)
    if not are_compiled:
        return True
    files = set(first.instructions["file"]) & set(second.instructions["file"])
    return first.title == second.title or any(files)


def _name(result: Any, otherwise: str) -> str:
    """Name a result by what was asked."""
    if isinstance(result, Answer) and result.text:
        return result.text
    return getattr(result, "title", "") or f"{otherwise}: {getattr(result, 'op', '')}"
