"""Printing results: a table for people, or JSON, CSV or Markdown for what reads them next."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

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

__all__ = [
    "FORMATS", "Format", "Table", "color", "drop_unprinted", "on_terminal", "show", "show_results",
    "show_tables",
]  # fmt: skip


def drop_unprinted() -> None:
    """Send what cannot be printed nowhere: Python would try again as it ends, and complain."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError), Path(os.devnull).open("wb") as nowhere:  # it may have no descriptor
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


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
        show_tables([table], output)


def show_results(results: Mapping[str, Result], output: Format) -> None:
    """Print one result, or several by their rule, as `str` does."""
    if output in ("json", "csv"):
        show(by_rule({rule: each.table() for rule, each in results.items()}), output)
        return
    shown = {rule: each.shown() for rule, each in results.items()}
    if all(len(tables) == 1 for tables in shown.values()):
        show_tables([by_rule({rule: tables[0] for rule, tables in shown.items()})], output)
    else:
        every = [table for tables in shown.values() for table in tables]
        show_tables(every if len(shown) == 1 else [table.with_rule() for table in every], output)


def show_tables(tables: Sequence[Table], output: Format) -> None:
    """Print tables for people, or as Markdown."""
    wanted = False if output == "md" else color()
    most = None if output == "md" else width()
    if most is not None:
        from simulator.results.fitting import fitted

        tables = [fitted(table, most) for table in tables]
    texts = (as_text(table, markdown=output == "md", color=wanted is not False) for table in tables)
    # Unless they are forced, click leaves the colours out where there is no terminal.
    click.echo("\n\n".join(texts), color=wanted)


def width() -> int | None:
    """Return the columns that a table may take: COLUMNS, or the terminal's; None in a pipe."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    if sys.stdout is not None and sys.stdout.isatty():
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    return None


def color() -> bool | None:
    """Return whether colours are wanted: None leaves it to whether there is a terminal.

    NO_COLOR and FORCE_COLOR decide, if they are set and not empty: https://no-color.org,
    https://force-color.org.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None
