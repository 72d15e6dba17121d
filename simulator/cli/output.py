"""Printing results: a table for people, or JSON, CSV or Markdown for what reads them next."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click

from simulator.results.tables import Result
from simulator.results.text import (
    FORMATS,
    Format,
    Table,
    as_csv,
    as_json,
    as_text,
    by_rule,
)

__all__ = ["FORMATS", "Format", "Table", "on_terminal", "show", "show_results"]


def on_terminal() -> bool:
    """Return whether somebody is there to see progress: on standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def show(table: Table, output: Format) -> None:
    """Print one table."""
    if output == "json":
        click.echo(as_json(table))
    elif output == "csv":
        click.echo(as_csv(table), nl=False)
    else:
        _show([table], output)


def show_results(results: Mapping[str, Result], output: Format) -> None:
    """Print one result, or several by their rule, as `str` does."""
    if output in ("json", "csv"):
        show(by_rule({rule: each.table() for rule, each in results.items()}), output)
        return
    shown = {rule: each.shown() for rule, each in results.items()}
    if all(len(tables) == 1 for tables in shown.values()):
        _show([by_rule({rule: tables[0] for rule, tables in shown.items()})], output)
    else:
        every = [table for tables in shown.values() for table in tables]
        _show(every if len(shown) == 1 else [table.with_rule() for table in every], output)


def _show(tables: Sequence[Table], output: Format) -> None:
    plain = output == "md" or bool(os.environ.get("NO_COLOR"))
    texts = (as_text(table, markdown=output == "md", color=not plain) for table in tables)
    # Unless `plain`, click leaves the colours out where there is no terminal.
    click.echo("\n\n".join(texts), color=False if plain else None)
