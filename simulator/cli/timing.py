"""`--time`: the time of launches that were replayed, in place of their conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from simulator.results.columns import law_columns
from simulator.results.text import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulator.sass.report import By, CompiledReport

__all__ = ["check_rules", "is_timed", "table_of", "time_option"]

_WARP_CYCLES = (
    "Warp cycles are those of all warps that one SM runs, by what keeps each from issuing; in"
    " `selected` it issues. --format json and csv also have the reasons below 1 %."
)


def time_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--time`, of which `is_timed` tells."""
    return click.option(
        "--time", is_flag=True,
        help="Show the time on --chip (default: an H100) and where warps wait, instead"
        " of conflicts.",
    )(command)  # fmt: skip


def is_timed() -> bool:
    """Return whether the running command was asked for the time."""
    return bool(click.get_current_context().params.get("time"))


def check_rules(rules: Sequence[str]) -> None:
    """Refuse --time by another rule than the chip's, which the time would not follow."""
    if is_timed() and "documented" in rules:
        raise click.UsageError(
            "--time is that of the chip, by the rule silicon, and was asked for by the rule"
            " documented (accepted: --time without --rule documented and without --both-rules)"
        )


def table_of(report: CompiledReport, by: By) -> Table:
    """Return a report's table, or with `--time` that of its time."""
    if not is_timed():
        return report.table(by=by)
    found = report.time()
    table = found.table(by)
    law = law_columns(report.rule, report.chip)
    return replace(
        table,
        rows=[{**row, **law} for row in table.rows],
        sums=[(label, {**sums, **law}) for label, sums in table.sums or ()],
        columns=[*table.columns, *law],
        hidden=[*table.hidden, *law],
        title=f"{report.title} on {found.chip}: {_size(report)}",
        text=[_WARP_CYCLES] if table.rows else (),
    )


def _size(report: CompiledReport) -> str:
    grid, block = ("x".join(map(str, shape)) for shape in (report.grid, report.block))
    return f"grid {grid}, block {block}"
