"""What to change in a compiled kernel's arrays, as a part of its section."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from viz.page.section import copied, table

if TYPE_CHECKING:
    from simulator.fixing.fix import Fix

__all__ = ["fixes_markup"]

_COLUMNS = (
    "array", "bank_conflicts_before", "bank_conflicts", "wavefronts_before", "wavefronts",
    "array_bytes_before", "array_bytes",
)  # fmt: skip


def fixes_markup(fixes: Sequence[Fix]) -> list[str]:
    """Return the fixes as HTML: what to write, what it saves, how that is known."""
    rows: list[dict[str, Any]] = [
        {name: each.summary()[name] for name in _COLUMNS} for each in fixes if each.text
    ]
    parts = []
    for each in fixes:
        _, *said = each.sentences
        if each.text:
            parts.append(copied(each.text, f"the change of {each.array}"))
        title = "" if each.text else f"<b>{escape(each.array)}</b>: nothing to change. "
        parts.append(f"<p>{title}{escape(' '.join(said))}</p>")
    return [*parts, table(rows)] if rows else parts
