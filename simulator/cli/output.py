"""Printing results: a table for people, or JSON, CSV or Markdown for what reads them next."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

__all__ = ["FORMATS", "Table", "show"]

FORMATS = ("table", "json", "csv", "md")

_MOST_ROWS = 40  # in a table that people read; the other formats hold all

_HEADINGS = {
    "bank_conflicts": "bank conflicts",
    "n_way": "n-way",
    "width": "bytes a lane",
    "merges": "merges equal words",
    "passes": "wavefronts a word",
    "least_cycles": "least cycles",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows, their totals, and the words around them."""

    rows: list[Row]
    totals: Row
    """One object, or one a rule where rules are compared: for JSON."""
    sums: Sequence[tuple[str, Row]] | None = None
    """Labelled rows below a table of several; by default those of `totals`."""
    title: str = ""
    text: Sequence[str] = ()
    """Paragraphs below the table."""
    hidden: Sequence[str] = ()
    """Columns that only JSON and CSV show."""
    columns: Sequence[str] = ()
    """Names of the columns, for CSV without rows; by default those of the first row."""


def show(table: Table, form: str) -> None:
    """Print `table` as `form`, one of FORMATS."""
    if form == "json":
        click.echo(json.dumps({"rows": table.rows, "totals": table.totals}, indent=2))
    elif form == "csv":
        click.echo(_csv(table.rows, table.columns or list(table.rows[0])), nl=False)
    else:
        plain = form == "md" or bool(os.environ.get("NO_COLOR"))
        click.echo(_text(table, form), color=False if plain else None)


def _csv(rows: list[Row], columns: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        # A list becomes one cell, its numbers apart by spaces.
        writer.writerow(
            {key: " ".join(map(str, v)) if isinstance(v, list) else v for key, v in row.items()}
        )
    return text.getvalue()


def _text(table: Table, form: str) -> str:
    from tabulate import tabulate

    shown = table.rows if form == "md" else table.rows[:_MOST_ROWS]
    names = [name for name in (table.rows[0] if table.rows else {}) if name not in table.hidden]
    cells = [[_cell(name, row[name]) for name in names] for row in shown]
    if len(table.rows) > 1:
        for label, sums in _sums(table.totals) if table.sums is None else table.sums:
            last = [_cell(name, sums.get(name, "")) for name in names]
            cells.append([_bold(label), *last[1:]])
    headings = [_bold(_HEADINGS.get(name, name)) for name in names]
    parts = [
        _bold(table.title),
        tabulate(cells, headings, tablefmt="github" if form == "md" else "simple", intfmt=","),
    ]
    if len(shown) < len(table.rows):
        left = len(table.rows) - len(shown)
        parts.append(f"{left} more rows: --format csv, json or md shows all.")
    return "\n\n".join(filter(None, [*parts, *table.text]))


def _sums(totals: Row) -> list[tuple[str, Row]]:
    if totals and all(isinstance(value, dict) for value in totals.values()):
        return [("total", {**total, "rule": rule}) for rule, total in totals.items()]
    return [("total", totals)] if totals else []


def _bold(text: str) -> str:
    return click.style(text, bold=True) if text else ""


def _cell(name: str, value: Any) -> Any:
    if name in ("bank_conflicts", "excessive") and isinstance(value, int):
        return click.style(str(value), fg="red" if value else "green")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
