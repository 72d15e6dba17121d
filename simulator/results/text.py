"""Results as text: a table for people, Markdown, CSV, JSON; and the same table for a notebook.

`str(result)`, the command line and notebooks print by this module, and so say the same.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, get_args

from layouts.errors import plural
from simulator.results.columns import heading

__all__ = [
    "FORMATS",
    "MOST_ROWS",
    "Format",
    "Listing",
    "Table",
    "as_csv",
    "as_html",
    "as_json",
    "as_text",
    "by_rule",
    "drawn",
]

Format = Literal["table", "json", "csv", "md"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""How the command line prints a result."""

MOST_ROWS = 40
"""Rows of a table that people read; the other formats hold all."""

Row = dict[str, Any]

_BOLD, _RED, _GREEN = "1", "31", "32"
_FIGURE = 12  # characters of a figure beside a source line, at least


@dataclass(frozen=True)
class Listing:
    """A source file with the figures of its lines."""

    file: str
    lines: Sequence[str]
    figures: Mapping[int, Mapping[str, int | None]]
    """The figures of a line by name, by the line's number (from 1); None: not known."""

    @property
    def name(self) -> str:
        """The file's name without its folders, those of Windows too."""
        return _base(self.file)

    def near(self, context: int) -> list[int]:
        """Return the numbers of the lines with figures, and of `context` lines around each."""
        found = {n for at in self.figures for n in range(at - context, at + context + 1)}
        return sorted(number for number in found if 1 <= number <= len(self.lines))


@dataclass(frozen=True)
class Table:
    """Rows, their totals, and the words around them."""

    rows: Sequence[Row]
    totals: Row
    """One object, or one per rule where rules are compared: for JSON."""
    sums: Sequence[tuple[str, Row]] | None = None
    """Labelled rows below a table of several; by default those of `totals`."""
    title: str = ""
    answer: Sequence[str] = ()
    """Paragraphs above the table: what it comes to."""
    text: Sequence[str] = ()
    """Paragraphs below the table."""
    hidden: Sequence[str] = ()
    """Columns that only JSON and CSV show."""
    columns: Sequence[str] = ()
    """Names of the columns, for CSV without rows; by default those of the first row."""
    more: int = 0
    """Rows of the result that are not among `rows`."""
    listings: Sequence[Listing] = ()
    """Sources, shown last."""
    pictures: Sequence[tuple[str, Sequence[str]]] = ()
    """Drawings of text, each below its name."""
    unknown: str = ""
    """What people read where there is no value."""

    def with_rule(self) -> Table:
        """Return the table with its column `rule` shown, where it has one."""
        return replace(self, hidden=[name for name in self.hidden if name != "rule"])


def by_rule(tables: Mapping[str, Table]) -> Table:
    """Return one table for the results of several rules, whose rows have a column `rule`.

    Totals are those of the one rule, or by rule. A paragraph that not all have in common is
    preceded by its rule.
    """
    if len(tables) == 1:
        return next(iter(tables.values()))
    first = next(iter(tables.values()))
    return replace(
        first.with_rule(),
        rows=[row for each in tables.values() for row in each.rows],
        totals={rule: each.totals for rule, each in tables.items()},
        sums=[
            (label, {**sums, "rule": rule})
            for rule, each in tables.items()
            for label, sums in _sums(each)
        ],
        answer=_said_by({rule: each.answer for rule, each in tables.items()}),
        text=_said_by({rule: each.text for rule, each in tables.items()}),
    )


def _said_by(rules: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the paragraphs that are a rule's own, with its name, then what all have in common."""
    texts = [*rules.values()]
    common = [words for words in texts[0] if all(words in each for each in texts)]
    own = [
        f"{rule} rule, {words}"
        for rule, text in rules.items()
        for words in text
        if words not in common
    ]
    return [*own, *common]


def as_json(table: Table) -> str:
    """Return `{"rows": […], "totals": {…}}`, a line per row, and no blanks in it.

    >>> print(as_json(Table([{"op": "LDS", "n": 1}, {"op": "STS", "n": 2}], {"n": 3})))
    {"rows":[
    {"op":"LDS","n":1},
    {"op":"STS","n":2}
    ],"totals":{"n":3}}
    """
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in table.rows)
    totals = json.dumps(table.totals, separators=(",", ":"))
    return f'{{"rows":[\n{rows}\n],"totals":{totals}}}'


def as_csv(table: Table) -> str:
    """Return a line of names, then a line per row; a list is one cell, its numbers by spaces."""
    text = io.StringIO()
    names = list(table.rows[0]) if table.rows else table.columns
    writer = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        writer.writerow(
            {key: " ".join(map(str, v)) if isinstance(v, list) else v for key, v in row.items()}
        )
    return text.getvalue()


def as_text(table: Table, *, markdown: bool = False, color: bool = False) -> str:
    """Return the table and the words around it; `color` adds a terminal's escape sequences.

    >>> print(as_text(Table([{"op": "LDS", "bank_conflicts": 31}], {})))
    op      bank conflicts
    ----  ----------------
    LDS                 31
    """
    figures, left_out = drawn(table, markdown=markdown, color=color)
    parts = [_painted(_tame(table.title), _BOLD, color), *table.answer, figures]
    if left_out:
        parts.append(f"{plural(left_out, 'more row')}: --format csv, json or md shows all.")
    parts += table.text
    for name, lines in table.pictures:
        picture = "\n".join(lines)
        parts.append(f"{name}\n\n```text\n{picture}\n```" if markdown else f"{name}\n{picture}")
    for listing in table.listings:
        lines = "\n".join(_listed(listing, color))
        parts.append(f"```\n{lines}\n```" if markdown else lines)
    return "\n\n".join(filter(None, parts))


def drawn(table: Table, *, markdown: bool = False, color: bool = False) -> tuple[str, int]:
    """Return the table alone, and how many of its rows are left out."""
    from tabulate import tabulate

    names, cells, left_out = _cells(table, all_rows=markdown, color=color)
    if markdown:
        cells = [[_in_a_cell(each) for each in row] for row in cells]
    drawn = tabulate(
        cells,
        [_painted(heading(name), _BOLD, color) for name in names],
        tablefmt="github" if markdown else "simple",
        intfmt=",",
        missingval=table.unknown,
        disable_numparse=_texts(table, names),
    )
    return str(drawn), left_out


def as_html(table: Table) -> str:
    """Return an HTML table with a paragraph for each of the words around it, all escaped."""
    from tabulate import tabulate

    names, cells, left_out = _cells(table, all_rows=False, color=False)
    # The format "html" escapes its cells, "unsafehtml" would not.
    drawn = str(
        tabulate(
            cells,
            [*map(heading, names)],
            tablefmt="html",
            intfmt=",",
            missingval=table.unknown,
            disable_numparse=_texts(table, names),
        )
    )
    more = f"{plural(left_out, 'more row')}: rows() has all." if left_out else ""
    said = "".join(map(_paragraph, (more, *table.text)))
    answer = "".join(map(_paragraph, table.answer))
    listings = ("\n".join(_listed(each, color=False)) for each in table.listings)
    sources = "".join(f"<pre>{escape(lines)}</pre>" for lines in listings)
    drawings = "".join(
        f"{_paragraph(name)}<pre>{escape(chr(10).join(lines))}</pre>"
        for name, lines in table.pictures
    )
    return _paragraph(table.title) + answer + drawn + said + drawings + sources


def _paragraph(text: str) -> str:
    return f"<p>{escape(text).replace(chr(10), '<br>')}</p>" if text else ""


def _cells(table: Table, *, all_rows: bool, color: bool) -> tuple[list[str], list[list[Any]], int]:
    """Return the names of the columns, the cells below them, and how many rows are left out."""
    shown = table.rows if all_rows else table.rows[:MOST_ROWS]
    left_out = len(table.rows) - len(shown) + table.more
    if left_out == 1 and not table.more:  # the line that says so would take as much room
        shown, left_out = table.rows, 0
    names = [name for name in (table.rows[0] if table.rows else {}) if name not in table.hidden]
    cells = [[_cell(name, row[name], color) for name in names] for row in shown]
    if len(table.rows) > 1:
        for label, sums in _sums(table):
            last = [_cell(name, sums.get(name, ""), color) for name in names]
            cells.append([_painted(label, _BOLD, color), *last[1:]])
    return names, cells, left_out


def _texts(table: Table, names: Sequence[str]) -> list[int]:
    """Return the places of columns that hold text: "9.0" is not to become 9."""
    return [
        place
        for place, name in enumerate(names)
        if all(isinstance(row[name], str) for row in table.rows)
    ]


def _sums(table: Table) -> list[tuple[str, Row]]:
    if table.sums is not None:
        return [*table.sums]
    totals = table.totals
    if totals and all(isinstance(value, dict) for value in totals.values()):
        return [("total", {**total, "rule": rule}) for rule, total in totals.items()]
    return [("total", totals)] if totals else []


def _painted(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if text and color else text


def _cell(name: str, value: Any, color: bool) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if color and name == "bank_conflicts" and isinstance(value, int):
        return _painted(str(value), _RED if value else _GREEN, color)
    if name == "address" and isinstance(value, int):
        return f"{value:#06x}"
    if name == "file" and isinstance(value, str):
        return _tame(_base(value))
    return _tame(value) if isinstance(value, str) else value


def _in_a_cell(value: Any) -> Any:
    """Return a cell's text as Markdown takes it: a bar would end the cell."""
    return value.replace("|", "\\|") if isinstance(value, str) else value


def _tame(text: str) -> str:
    """Return a text of a file's without what a terminal would obey."""
    return "".join(each if each.isprintable() or each in "\t\n" else "?" for each in text)


def _base(path: str) -> str:
    # Not by pathlib, whose import takes longer than an answer.
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _listed(listing: Listing, color: bool) -> list[str]:
    """Return the lines that touch shared memory, those around them, and their figures beside."""
    names = ("wavefronts", "bank_conflicts")
    texts = {
        number: [_number(figures[name]) for name in names]
        for number, figures in listing.figures.items()
    }
    first, second = (
        max([_FIGURE, *(len(text[column]) + 2 for text in texts.values())]) for column in (0, 1)
    )
    shown = [_tame(listing.name), f"{'wavefronts':>{first}}{'conflicts':>{second}}"]
    before = 0
    for number in listing.near(1):
        if before and number > before + 1:
            shown.append(f"{'...':>{first + second + 3}}")
        before = number
        cells = " " * (first + second)
        if number in texts:
            wavefronts, conflicts = texts[number]
            code = _RED if listing.figures[number]["bank_conflicts"] else _GREEN
            cells = f"{wavefronts:>{first}}{_painted(f'{conflicts:>{second}}', code, color)}"
        shown.append(f"{cells} {number:>5}  {_tame(listing.lines[number - 1])}".rstrip())
    return shown


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
