"""What to change in a compiled kernel's arrays, as a part of its section."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from simulator.errors import BankwiseError
from viz.page.section import copied, table

if TYPE_CHECKING:
    from simulator.fixing.fix import Fix
    from simulator.sass.report import CompiledReport

__all__ = ["cure_of", "fixes_markup", "fixes_of"]

_COLUMNS = (
    "array", "bank_conflicts_before", "bank_conflicts", "wavefronts_before", "wavefronts",
    "array_bytes_before", "array_bytes",
)  # fmt: skip


def fixes_of(report: CompiledReport) -> Sequence[Fix]:
    """Return the fixes of a report; none where its launch cannot run again."""
    if report.rerun is None:
        return ()
    try:
        return report.fixes()
    except BankwiseError:
        return ()


def cure_of(fixes: Sequence[Fix]) -> str:
    """Return what to write first, in a line; empty where there is nothing."""
    return next((each.text for each in fixes if each.text), "")


def fixes_markup(fixes: Sequence[Fix]) -> list[str]:
    """Return the fixes as HTML: what to write, what it saves, how that is known.

    Nothing where there are none.
    """
    if not fixes:
        return []
    rows: list[dict[str, Any]] = [
        {name: each.summary()[name] for name in _COLUMNS} for each in fixes if each.text
    ]
    parts = ["<h3>What to change</h3>"]
    for each in fixes:
        _, *said = each.sentences
        if each.text:
            parts.append(copied(each.text, f"the change of {each.array}"))
        title = "" if each.text else f"<b>{escape(each.array)}</b>: nothing to change. "
        parts.append(f"<p>{title}{escape(' '.join(said))}</p>")
    return [*parts, table(rows)] if rows else parts
