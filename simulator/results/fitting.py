"""Tables that fit a terminal's width: columns go in a stated order, and no line is broken.

`DROPPED` go first, in their order. Then long texts are cut, then the other columns go from the
right, wavefronts and bank conflicts last. The first column stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from simulator.results.columns import heading
from simulator.results.text import Table, drawn

__all__ = ["DROPPED", "fitted", "with_short_names"]

DROPPED = (
    "rule", "phases", "requests", "instructions", "n_way", "cycles_before", "wavefronts_before",
    "bank_conflicts_before", "lines", "ideal_sectors", "sectors", "executed", "evidence",
    "least_cycles", "phase_cycles", "aliases", "file", "address", "ideal", "excessive", "cycles",
)  # fmt: skip
"""The columns that go first, in this order, where a table is wider than the terminal."""

_KEPT = ("wavefronts", "bank_conflicts")
_PAGE = 100  # columns of a table that is not of a terminal
_SHORTEST = 16  # characters that a text keeps


def fitted(table: Table, width: int) -> Table:
    """Return the table with as many of its columns as fit; a line below it names the others."""
    names = [name for name in (table.rows[0] if table.rows else {}) if name not in table.hidden]
    left: list[str] = []

    def without(dropped: Sequence[str]) -> Table:
        shown = table
        for name in (None, *dropped):
            if name is not None:
                left.append(name)
            shown = replace(table, hidden=[*table.hidden, *left])
            if _width(shown) <= width:
                break
        return shown

    first, rest = _order(names)
    shown = without(first)
    table = _cut(table, [name for name in names if name not in left], width, left)
    shown = without(rest) if _width(shown) > width else shown
    if left:
        listed = ", ".join(heading(name) for name in names if name in left)
        said = f"Left out, to fit {width} columns: {listed} (--format csv, json or md has all)."
        shown = replace(shown, text=[said, *shown.text])
    return shown


def with_short_names(table: Table) -> Table:
    r"""Return the table with its first column cut to a page's width; what is cut stands below.

    >>> long = Table([{"entry": "a" * 120, "ways": 1}], {})
    >>> short = with_short_names(long)
    >>> len(short.rows[0]["entry"]) < 100, short.text == ["In full:\n  " + "a" * 120]
    (True, True)
    """
    name = next(iter(table.rows[0]), "") if table.rows else ""
    names = [row[name] for row in table.rows] if name else []
    longest = max((len(each.strip()) for each in names), default=0)
    over = _width(table) - _PAGE
    if over <= 0 or longest <= _SHORTEST:
        return table
    most = max(_SHORTEST, longest - over)
    said = "\n".join(table.text)
    cut = dict.fromkeys(each for each in names if len(each) > most and each not in said)
    full = ["\n  ".join(["In full:", *cut])] if cut else []
    rows = [{**row, name: _short(row[name], most)} for row in table.rows]
    return replace(table, rows=rows, text=[*full, *table.text])


def _order(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what goes before texts are cut, and what goes after."""
    others = names[1:]
    rest = [name for name in reversed(others) if name not in DROPPED]
    kept = [name for name in rest if name in _KEPT]
    return [name for name in DROPPED if name in others], [
        *(name for name in rest if name not in _KEPT),
        *kept,
    ]


def _width(table: Table) -> int:
    return max(map(len, drawn(table)[0].splitlines()), default=0)


def _cut(
    table: Table,
    names: Sequence[str],
    width: int,
    left: Sequence[str],
) -> Table:
    """Shorten the longest texts of these columns until the others fit, or the texts are short."""
    lengths: dict[str, int] = {
        name: max((len(row[name]) for row in table.rows if isinstance(row[name], str)), default=0)
        for name in names
    }
    for name in sorted(lengths, key=lambda each: -lengths[each]):
        over = _width(replace(table, hidden=[*table.hidden, *left])) - width
        least = max(_SHORTEST, len(heading(name)) + 2)
        if over <= 0 or lengths[name] <= least:
            break
        most = max(least, lengths[name] - over)
        rows: list[dict[str, Any]] = [{**row, name: _short(row[name], most)} for row in table.rows]
        table = replace(table, rows=rows)
    return table


def _short(value: Any, most: int) -> Any:
    return f"{value[: most - 1]}…" if isinstance(value, str) and len(value) > most else value
