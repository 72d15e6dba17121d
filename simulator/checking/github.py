"""Workflow commands of GitHub Actions: an annotation per line where a limit is broken.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from pathlib import Path

from simulator.checking.measured import SourcePlace
from simulator.checking.printing import printable, relative
from simulator.checking.report import CheckReport, by_place

__all__ = ["problem", "workflow_commands"]


def workflow_commands(report: CheckReport, root: Path) -> list[str]:
    """Return a command per line of source that breaks a limit, and per entry in error.

    Paths are those from `root`. What breaks several limits on one line is one annotation.
    """
    said: dict[tuple[SourcePlace, str], list[str]] = {}
    for outcome in report.outcomes:
        name = outcome.measured.name
        if outcome.error:
            said.setdefault((outcome.measured.place, "cannot be checked"), []).append(
                f"{name}: {outcome.error}"
            )
        for place, findings in by_place(outcome.findings).items():
            key = (place, "bank conflicts")
            said.setdefault(key, []).extend(f"{name}: {each.message}" for each in findings)
    return [
        f"::error file={_property(relative(place.file, root))},line={place.line},"
        f"title={_property(f'bankwise: {title}')}::{_data(chr(10).join(dict.fromkeys(messages)))}"
        for (place, title), messages in said.items()
    ]


def problem(message: str) -> str:
    """Return the command that says why nothing was checked."""
    return f"::error title={_property('bankwise: cannot be checked')}::{_data(message)}"


def _data(text: str) -> str:
    """Escape a message as the runner's toolkit does."""
    safe = printable(text, lines=True)
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
