"""What a page shows of what has no picture: a project's limits, and lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from simulator.asking.words import Level
from simulator.checking.report import CheckReport
from simulator.results.text import Table
from viz.page.section import Section

__all__ = ["of_check", "of_listing"]

_LEVELS: tuple[Level, ...] = ("free", "conflict", "conflict")
"""By the exit code of a check."""


def of_check(report: CheckReport) -> Section:
    """Return the section of a project's limits: a row per entry, then what is broken."""
    table = report.table()
    totals = report.to_dict()["totals"]
    # An error shows a place in its text by a caret, which needs lines of its own.
    pointed = [words for words in table.text if re.search(r"\n *\^", words)]
    plain = [words for words in table.text if words not in pointed]
    named = {"holds": "hold", "broken": "broken", "error": "cannot be checked"}
    return Section(
        report.verdict,
        _visible(table),
        [line for words in plain for line in words.splitlines()],
        below=[f"<pre>{escape(words)}</pre>" for words in pointed],
        level=_LEVELS[report.code],
        asked=report.config.name,
        numbers={said: totals[name] for name, said in named.items()},
    )


def of_listing(table: Table) -> Section:
    """Return the section of a list, whose title is what it says; a result that differs is red."""
    differs = table.totals.get("differing")
    level: Level = "nothing" if differs is None else "conflict" if differs else "free"
    return Section(table.title, _visible(table), table.text, level=level)


def _visible(table: Table) -> list[Mapping[str, Any]]:
    """Return the rows without what only data formats hold, with words where nothing is known."""
    hidden = set(table.hidden)
    return [
        {
            name: table.unknown if value is None else _said(value)
            for name, value in row.items()
            if name not in hidden
        }
        for row in table.rows
    ]


def _said(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
