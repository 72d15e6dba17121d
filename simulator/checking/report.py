"""What `bankwise check` found: a row per access or launch, and the limits that are broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from layouts.errors import plural
from simulator.checking.figures import LIMITS, TIME_LIMITS
from simulator.checking.judging import Finding, Outcome
from simulator.checking.measured import SourcePlace
from simulator.checking.printing import printable
from simulator.results.tables import Result
from simulator.results.text import Table

__all__ = ["CheckReport"]

_MOST_LINES = 20
"""Broken limits that people read of one entry; the other formats hold all."""
_GAIN = "gain: how much faster a launch would be without bank conflicts."


@dataclass(frozen=True, eq=False)
class CheckReport(Result):
    """The outcome of each entry of a file."""

    config: Path
    outcomes: tuple[Outcome, ...]
    baseline: Path | None = None
    stale: tuple[str, ...] = ()
    """Names in the baseline that the file has no entry for."""

    @property
    def code(self) -> int:
        """The command's exit code: 0 all limits hold, 1 one is broken, 2 an entry is in error."""
        if self.count("error"):
            return 2
        return int(self.count("broken") > 0)

    def count(self, status: str) -> int:
        """Return how many entries have a status: holds, broken or error."""
        return sum(1 for each in self.outcomes if each.status == status)

    @property
    def verdict(self) -> str:
        """What came out, in a line."""
        said = []
        if broken := self.count("broken"):
            said.append(f"{broken} of {len(self.outcomes)} break a limit")
        if errors := self.count("error"):
            said.append(f"{errors} of {len(self.outcomes)} cannot be checked")
        return "; ".join(said) or f"All limits hold: {_entries(len(self.outcomes))}"

    def to_dict(self) -> dict[str, Any]:
        """Return `{"entries": {column: list}, "totals": {…}}`: a row per access or launch."""
        rows = [self._row(each) for each in self.outcomes]
        columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
        statuses = {name: self.count(name) for name in ("holds", "broken", "error")}
        return {"entries": columns, "totals": {**statuses, "code": self.code}}

    def _worst_first(self) -> list[Outcome]:
        order = ("error", "broken", "holds")
        return sorted(self.outcomes, key=lambda each: order.index(each.status))

    def _stale(self) -> list[str]:
        if not self.stale:
            return []
        names = ", ".join(map(printable, self.stale[:_MOST_LINES]))
        return [f"In the baseline alone (--update removes them): {names}"]

    def _row(self, outcome: Outcome) -> dict[str, Any]:
        figures = outcome.measured.figures
        return {
            "entry": outcome.measured.name,
            "kind": outcome.measured.entry.kind,
            "status": outcome.status,
            "file": outcome.measured.place.file,
            "line": outcome.measured.place.line,
            **{name: None if outcome.error else getattr(figures, name) for name in LIMITS},
            **{name: getattr(outcome.measured.time, name, None) for name in TIME_LIMITS},
            "findings": [
                {
                    "scope": one.scope,
                    "limit": one.limit,
                    "message": one.message,
                    "file": one.place.file,
                    "line": one.place.line,
                }
                for one in outcome.findings
            ],
            "error": outcome.error,
            "notes": list(outcome.measured.notes),
        }

    def table(self) -> Table:
        """Return a row per entry, then what is broken, line by line."""
        shown = self.to_dict()
        rows = [
            {
                **row,
                "entry": printable(row["entry"]),
                **{
                    name: None if row[name] is None else round(row[name], 3)
                    for name in ("ways", "speedup_without_conflicts")
                },
            }
            for row in self.rows()
        ]
        untimed = TIME_LIMITS if all(row["cycles"] is None for row in rows) else ()
        limited = {one.limit for outcome in self.outcomes for one in outcome.findings}
        unasked = () if "excessive" in limited else ("excessive",)
        return Table(
            rows,
            shown["totals"],
            sums=[],
            title=self.verdict,
            text=[*filter(None, map(said, self._worst_first())), *self._stale()],
            hidden=("kind", "file", "line", "findings", "error", "notes", *untimed, *unasked),
        )

    def shown(self) -> list[Table]:
        """Return the table as it fits a page, with a short word for what conflicts cost."""
        from simulator.results.fitting import with_short_names

        table, long = self.table(), "speedup_without_conflicts"
        gains = [row[long] for row in table.rows]
        rows = [
            {**row, "gain": "" if gain is None else f"×{gain:.2f}"}
            for row, gain in zip(table.rows, gains, strict=True)
        ]
        is_timed = long not in table.hidden
        text = [_GAIN, *table.text] if is_timed else table.text
        hidden = [*table.hidden, long if is_timed else "gain"]
        return [with_short_names(replace(table, rows=rows, text=text, hidden=hidden))]


def said(outcome: Outcome) -> str:
    """Return what is to be said of an outcome, in lines; nothing where all is well."""
    name, lines = outcome.measured.name, []
    if outcome.error:
        lines.append(f"{name}: {outcome.error}")
    findings = outcome.findings
    lines += [f"{name}: {each.place.name}: {each.message}" for each in findings[:_MOST_LINES]]
    if len(findings) > _MOST_LINES:
        lines.append(f"{name}: {plural(len(findings) - _MOST_LINES, 'more place')}")
    if outcome.better:
        lines.append(f"{name}: costs less than the baseline says (--update keeps that)")
    lines += [f"{name}: {note}" for note in outcome.measured.notes]
    lines += [f"{name}: {text}" for text in _allowed(outcome)]
    return "\n".join(printable(line, lines=True) for line in lines)


def _allowed(outcome: Outcome) -> list[str]:
    return [
        f"{_name(line.place)}: allowed {line.allowance.said}, has"
        f" {plural(line.figures.conflicts, 'bank conflict')}, {line.figures.ways:.4g}-way"
        for line in outcome.measured.lines
        if line.allowance is not None
    ]


def _name(place: SourcePlace | None) -> str:
    return place.name if place else "?"


def _entries(number: int) -> str:
    return f"{number} entr{'y' if number == 1 else 'ies'}"


def by_place(findings: Sequence[Finding]) -> dict[SourcePlace, list[Finding]]:
    """Return the findings of each line."""
    found: dict[SourcePlace, list[Finding]] = {}
    for each in findings:
        found.setdefault(each.place, []).append(each)
    return found
