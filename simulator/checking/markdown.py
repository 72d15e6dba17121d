"""The outcome as Markdown: a job's summary on GitHub, or a comment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from simulator.checking.figures import LIMITS, TIME_LIMITS
from simulator.checking.judging import Outcome
from simulator.checking.printing import printable, relative
from simulator.checking.report import CheckReport
from simulator.results.columns import heading

__all__ = ["as_markdown", "escaped"]

_MARKS = {"holds": "✅ holds", "broken": "❌ broken", "error": "⚠️ error"}
_MOST = 200
"""Broken limits that are listed; a summary may have 1 MiB."""


def as_markdown(report: CheckReport, root: Path) -> str:
    """Return the verdict, a row per entry, and a line per broken limit; paths from `root`."""
    head = ["entry", "status", "bank conflicts", *(name for name in LIMITS if name != "conflicts")]
    is_timed = any(each.measured.time for each in report.outcomes)
    times = tuple(TIME_LIMITS) if is_timed else ()
    head += map(heading, times)
    lines = [
        f"### bankwise: {escaped(report.verdict)}",
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- | --- |' + ' ---: |' * (len(LIMITS) + len(times))}",
        *(_row(each, times) for each in report.outcomes),
    ]
    places = [
        f"* **{escaped(each.measured.name)}**, {_code(relative(one.place.file, root))} line"
        f" {one.place.line}: {escaped(one.message)}"
        for each in report.outcomes
        for one in each.findings
    ]
    places += [
        f"* **{escaped(each.measured.name)}** cannot be checked: {escaped(each.error)}"
        for each in report.outcomes
        if each.error
    ]
    more = [f"* and {len(places) - _MOST} more"] if len(places) > _MOST else []
    return "\n".join([*lines, *([""] * bool(places)), *places[:_MOST], *more]) + "\n"


def _row(outcome: Outcome, times: Sequence[str]) -> str:
    figures = outcome.measured.figures
    values = ["" if outcome.error else f"{getattr(figures, name):,.4g}" if name == "ways"
              else f"{getattr(figures, name):,}" for name in LIMITS]  # fmt: skip
    found = [getattr(outcome.measured.time, name, None) for name in times]
    values += ["" if value is None else f"{value:,.4g}" if isinstance(value, float)
               else f"{value:,}" for value in found]  # fmt: skip
    return f"| {' | '.join([escaped(outcome.measured.name), _MARKS[outcome.status], *values])} |"


def escaped(text: str) -> str:
    r"""Return a text in which Markdown sees no mark-up, no link, no HTML, and no end of a cell.

    >>> print(escaped("a|b <img> [x](y)"))
    a\|b \<img\> \[x\]\(y\)
    """
    safe = re.sub(r"([\\`*_{}\[\]()<>#+!|~&@$^=])", r"\\\1", printable(text))
    return safe.replace("://", "\\:\\/\\/").replace("www.", "www\\.")


def _code(text: str) -> str:
    """Return a path as code, which its own back-ticks cannot end."""
    safe = printable(text).replace("|", "\\|")
    return escaped(text) if "`" in safe else f"`{safe}`"
