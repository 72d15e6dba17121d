"""`report`: results as one HTML file that needs nothing else."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import plotly.graph_objects as go

from simulator.gemm.simulate import FragmentReport
from simulator.kernels.replay import KernelReport
from simulator.law.explaining import Explanation
from simulator.results.sites import SiteTable
from viz.bank_heatmap import bank_heatmap
from viz.compare import compare
from viz.errors import DrawError
from viz.kernel_bars import kernel_bars
from viz.page.page import Section, page
from viz.parity import parity, quantities
from viz.strips import strips
from viz.sweep_heatmap import FIGURES, columns_of, outcomes, sweep_heatmap
from viz.timeline import timeline
from viz.warp_map import warp_map
from viz.word_map import word_map
from viz.writing import check_target, write_page

__all__ = ["report"]

# What the columns of results are called in Nsight Compute's source view and raw page.
_WORDS = {
    "requests": "Requests",
    "instructions": "Instructions Executed",
    "wavefronts": "Wavefronts Shared",
    "ideal": "Wavefronts Shared Ideal",
    "excessive": "Wavefronts Shared Excessive",
    "bank_conflicts": "Bank conflicts",
    "n_way": "n-way",
    "cycles": "Cycles",
    "phases": "Phases",
    "sectors": "Sectors",
    "op": "Instruction",
    "source": "Source",
    "memory": "Memory",
    "fragment": "Fragment",
    "evidence": "Evidence",
    "rule": "Rule",
}

_MOST_ROWS = 12  # of a table in the page: the pictures show all


def report(
    *results: object,
    file: str | os.PathLike[str] | None = None,
    title: str | None = None,
    command: str | None = None,
    cdn: bool = False,
    force: bool = False,
) -> str:
    """Give an HTML page on results, and write it to `file`: tables, sentences, figures.

    A result is what `explain`, `simulate` or `replay` returned, the columns of a sweep, or a
    comparison with a GPU (see `viz.parity`); two of the same kind are compared, too. The page
    works without a network; with `cdn` it is small and loads Plotly from Plotly's server.
    `command` is what the page names as its origin. The same results give the same bytes.

    >>> from simulator import explain
    >>> html = report(explain("LDS", range(0, 128, 4)), cdn=True)
    >>> html.splitlines()[0], len(html) < 300_000
    ('<!doctype html>', True)

    Raises ReportError for a file that cannot be written (an existing one needs `force`), and
    DrawError for something that is no result, or for none.
    """
    if file is not None:
        check_target(file, force=force)
    if not results:
        raise DrawError("nothing to report (accepted: one or more results)")
    sections = [_section(result) for result in results]
    if len(results) == 2:
        sections[1].figures = [*sections[1].figures, *_compared(*results)]
    heading = title
    if heading is None:
        heading = sections[0].title if len(sections) == 1 else f"{len(sections)} results"
    made = command
    if made is None:
        made = f"viz.report({', '.join(type(result).__name__ for result in results)})"
    html = page(heading, sections, [made, *_versions()], cdn=cdn)
    if file is not None:
        write_page(file, html, force=force)
    return html


def _section(result: object) -> Section:
    if isinstance(result, Explanation):
        return Section(
            strips(result).finding,
            [_named({"op": result.op, **result.to_dict()["totals"], "rule": result.rule})],
            result.sentences[1:],
            [bank_heatmap(result), word_map(result), timeline(result)],
        )
    if isinstance(result, FragmentReport):
        rows = [*result.rows(), {"fragment": "total", "op": "", **result.to_dict()["totals"]}]
        sentences = [f"{part.name}: {part.reason}" for part in result.fragments]
        return Section(
            f"{result.title}; {result.rule} rule",
            [_named(row) for row in rows],
            [*sentences, *result.notes],
            _of_fragments(result),
        )
    if isinstance(result, SiteTable):
        return _of_kernel(result)
    table = columns_of(result)
    if found := quantities(table):
        figures = [parity(table, quantity) for quantity in found]
    else:
        figures = [sweep_heatmap(table, value=_value(table))]
    return _of_table(table, figures)


def _of_fragments(result: FragmentReport) -> list[go.Figure]:
    figures = [warp_map(result)]
    for part in result.fragments:
        figures += [
            bank_heatmap(result, fragment=part.name),
            word_map(result, fragment=part.name),
        ]
    worst = max(result.fragments, key=lambda part: part.bank_conflicts)
    return [*figures, timeline(result, fragment=worst.name)]


def _of_kernel(result: SiteTable) -> Section:
    figures = ("wavefronts", "ideal", "excessive", "bank_conflicts", "sectors")
    costs = {"shared": figures[:-1], "global": figures[-1:]}  # what either memory is charged
    rows: list[dict[str, Any]] = [
        {
            **{name: row[name] for name in ("source", "memory", "op", "requests")},
            **{name: row[name] if name in costs[row["memory"]] else None for name in figures},
            "evidence": row["evidence"],
        }
        for row in result.rows()
    ]
    for memory, sums in (("shared", result.totals()), ("global", result.global_totals())):
        last = {name: sums["all"].get(name) for name in ("requests", *figures)}
        rows.append({"source": "total", "memory": memory, "op": "", **last, "evidence": ""})
    sentences = []
    for kind, total in result.totals().items():
        if kind != "all" and total["requests"]:
            sentences.append(
                f"Shared-memory {kind}s: {total['wavefronts'] / total['requests']:.3g} wavefronts"
                f" a request, {total['bank_conflicts']:,} bank conflicts."
            )
    form, chosen = "as compiled", ""
    if isinstance(result, KernelReport):
        form = f"as {result.form}"
        chosen = ", ".join(f"{name} = {value}" for name, value in result.parameters.items())
    grid, block = ("×".join(map(str, size)) for size in (result.grid, result.block))
    sentences.append(f"Grid of {grid} blocks of {block} threads{f'; {chosen}' if chosen else ''}.")
    return Section(
        f"{result.title}, {form}, {result.rule} rule",
        [_named(row) for row in rows],
        sentences,
        [kernel_bars(result)],
    )


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
        said = f"The rows with the least {value.replace('_', ' ')} come first. "
    if number > _MOST_ROWS:
        said += f"{_MOST_ROWS} of {number:,} rows are listed."
    rows = [{name: table[name][row] for name in table} for row in order[:_MOST_ROWS]]
    meta = figures[0].layout.meta["bankwise"]
    return Section(meta["title"], [_named(row) for row in rows], [said.strip()], figures)


def _apart(simulated: float | None, measured: float | None) -> float:
    return 0 if simulated is None or measured is None else abs(measured - simulated)


def _value(table: Mapping[str, Sequence[Any]]) -> str:
    for name in ("wavefronts", *FIGURES):
        if name in table:
            return name
    raise DrawError(f"columns {', '.join(table)} hold no outcome (accepted: {', '.join(FIGURES)})")


def _compared(first: object, second: object) -> list[go.Figure]:
    drawn = (Explanation, FragmentReport)
    both_drawn = isinstance(first, drawn) and isinstance(second, drawn)
    both_kernels = isinstance(first, SiteTable) and isinstance(second, SiteTable)
    if not (both_drawn or both_kernels):
        return []
    rules = [getattr(each, "rule", "") for each in (first, second)]
    names = ("First", "Second")
    if rules[0] != rules[1]:
        names = (f"First, {rules[0]} rule", f"Second, {rules[1]} rule")
    return [compare(first, second, names=names)]


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_WORDS.get(name, name): value for name, value in row.items()}


def _versions() -> list[str]:
    found = []
    for name in ("bankwise", "plotly", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from a checkout
            found.append(f"{name} (not installed)")
    return [*found, f"Python {platform.python_version()}"]
