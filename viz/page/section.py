"""One part of a page: verdict, pictures with the cure, figures, and what a reader unfolds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import plotly.graph_objects as go

from simulator.asking.pictures import Picture
from simulator.asking.words import Level
from simulator.results.columns import COLUMNS, heading, profiler_heading

__all__ = ["Section", "copied", "details", "rendered", "table"]

_LONG = 24  # characters of a table's cell that may be broken


@dataclass
class Section:
    """One result of a page."""

    title: str
    """The verdict: what was found, in a line."""
    rows: Sequence[Mapping[str, Any]] = ()
    """A table, by the names of its columns; a row that begins with "total" is one."""
    sentences: Sequence[str] = ()
    figures: Sequence[go.Figure] = field(default_factory=list)
    folded: Sequence[tuple[str, Sequence[Mapping[str, Any]]]] = ()
    """Tables that a reader unfolds, by what is said of them."""
    level: Level = "nothing"
    asked: str = ""
    """What the result is of, in code: a question, a geometry, a kernel's name."""
    about: Sequence[str] = ()
    """How it was asked: instruction, block, law."""
    cause: Sequence[str] = ()
    """Sentences below the verdict."""
    first: Sequence[str] = ()
    """HTML, safe already, of the first screen: pictures before and after, with the cure."""
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
    """Figures in one row, by the names of columns."""
    after: Sequence[str] = ()
    """HTML, safe already, after the figures."""
    below: Sequence[str] = ()
    """HTML, safe already, after the table."""
    cure: str = ""
    """The cure in a line, for the summary."""
    pictures: Sequence[Picture] = ()
    """What `first` draws, for other forms than a page."""
    bars: Sequence[tuple[str, int, int]] = ()
    """Where there are no pictures: names with their wavefronts and their heat."""


def rendered(
    part: Section, place: int, figures: Sequence[tuple[str, go.Figure]], *, alone: bool
) -> str:
    """Return the HTML of a section; `alone` says whether its verdict is the page's heading."""
    head = "h1" if alone else "h2"
    asked = f"<code>{escape(part.asked)}</code>" if part.asked else ""
    about = f"<span>{escape(' · '.join(part.about))}</span>" if part.about else ""
    causes = "".join(f"<p>{escape(said)}</p>" for said in part.cause)
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in part.sentences)
    return "\n".join(
        filter(
            None,
            [
                f'<section class="part" id="part-{place}" aria-labelledby="verdict-{place}">',
                f'<div class="verdict" data-level="{part.level}">',
                f'<p class="asked">{asked}{about}</p>' if asked or about else "",
                f'<{head} id="verdict-{place}">{escape(part.title)}</{head}>{causes}</div>',
                *part.first,
                *(_drawn(part, name, figure) for name, figure in figures),
                _numbers(part.numbers),
                *part.after,
                table(part.rows),
                f"<ul>{said}</ul>" if said else "",
                *part.below,
                *(details(words, table(rows)) for words, rows in part.folded),
                "</section>",
            ],
        )
    )


def details(summary: str, markup: str) -> str:
    """Return what a reader unfolds; `markup` is safe already."""
    return f"<details><summary>{escape(summary)}</summary>{markup}</details>"


def copied(code: str, label: str) -> str:
    """Return code with a button that copies it."""
    button = f'<button type="button" class="copy" aria-label="Copy {escape(label)}">Copy</button>'
    return f'<div class="code"><code>{escape(code)}</code>{button}</div>'


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as HTML that scrolls in its box where the page is too narrow."""
    if not rows:
        return ""
    names = list(rows[0])
    words = {
        name for name in names if 2 * sum(isinstance(row[name], str) for row in rows) > len(rows)
    }
    long = {name for name in words if any(len(str(row[name])) > _LONG for row in rows)}

    def kind(name: str, row: Mapping[str, Any] | None = None) -> str:
        bad = row is not None and is_bad(name, row)
        kinds = ["word"] * (name in words) + ["long"] * (name in long) + ["bad"] * bool(bad)
        return f' class="{" ".join(kinds)}"' if kinds else ""

    head = "".join(
        f'<th scope="col"{kind(name)}{_told(name)}>{_unbroken(heading(name))}</th>'
        for name in names
    )
    lines = []
    for row in rows:
        total = ' class="total"' if row[names[0]] == "total" else ""
        cells = "".join(f"<td{kind(name, row)}>{escape(shown(row[name]))}</td>" for name in names)
        lines.append(f"<tr{total}>{cells}</tr>")
    body = "\n".join(lines)
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="rows">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def is_bad(name: str, row: Mapping[str, Any]) -> bool:
    """Return whether a figure tells of a conflict that costs; one that is not excessive does not.

    >>> is_bad("bank_conflicts", {"bank_conflicts": 4, "excessive": 0})
    False
    """
    costs = row.get("excessive") != 0
    return name in ("bank_conflicts", "conflicts", "excessive") and bool(row[name]) and costs


def shown(value: Any) -> str:
    """Return a value as a reader sees it.

    >>> shown(None), shown(1234), shown(0.333333333), shown(-0.0)
    ('', '1,234', '0.333333', '0')
    """
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value + 0.0:,.6g}"  # no -0
    return str(value)


def _numbers(figures: Mapping[str, int | float | str]) -> str:
    if not figures:
        return ""
    parts = []
    for name, value in figures.items():
        bad = ' class="bad"' if is_bad(name, figures) else ""
        label = _unbroken(heading(name))
        parts.append(
            f"<div{bad}{_told(name)}><dt>{label}</dt><dd>{escape(shown(value))}</dd></div>"
        )
    return f'<dl class="numbers">{"".join(parts)}</dl>'


def _told(name: str) -> str:
    """Return what pointing at a figure's name tells: the profiler's name, and its unit."""
    named = profiler_heading(name)
    words = [] if named == heading(name) else [named]
    words += [COLUMNS[name].unit] if name in COLUMNS and COLUMNS[name].unit else []
    return f' title="{escape(": ".join(words))}"' if words else ""


def _unbroken(name: str) -> str:
    """Return a heading whose hyphens do not end a line: "n-way" stays one word."""
    return escape(name.replace("-", "\N{NON-BREAKING HYPHEN}"))


def _drawn(part: Section, name: str, figure: go.Figure) -> str:
    meta = figure.layout.meta["bankwise"]
    more = f"<span>{escape(meta['subtitle'])}</span>" if meta["subtitle"] else ""
    # What stands above the section already is not said again.
    caption = ("" if meta["title"] == part.title else f"<b>{escape(meta['title'])}</b>") + more
    said = f"<figcaption>{caption}</figcaption>" if caption else ""
    return (
        f'<figure class="plot">{said}<div id="{name}" role="img"'
        f' aria-label="{escape(meta["title"])}"></div></figure>'
    )
