"""`--time`: the time of launches that were replayed, in place of their conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from simulator.results.text import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulator.sass.report import By, CompiledReport

__all__ = ["table_of", "time_option"]

_SHOWN = "simulator.time"


def _remember(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_SHOWN] = value


def time_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--time`, which is remembered for `table_of`."""
    return click.option(
        "--time", is_flag=True, expose_value=False, callback=_remember,
        help="Show how long it takes on --chip, by default an H100, and where warps wait, in place"
        " of conflicts.",
    )(command)  # fmt: skip


def table_of(report: CompiledReport, by: By) -> Table:
    """Return a report's table, or with `--time` that of its time."""
    if not click.get_current_context().meta.get(_SHOWN):
        return report.table(by=by)
    found = report.time()
    table = found.table(by)
    return replace(table, title=f"{report.title} on {found.chip}: {_size(report)}")


def _size(report: CompiledReport) -> str:
    grid, block = ("x".join(map(str, shape)) for shape in (report.grid, report.block))
    return f"grid {grid}, block {block}"
