"""The page of a report: HTML around the figures, safe for any text that users give.

Whatever a user typed reaches the page as escaped text or inside JSON whose `<`, `>` and `&` are
escaped; and should that ever fail, the page's content security policy names the hashes of its
own scripts, so that no other script runs. The page asks for nothing from the network, unless
Plotly is to come from its own server, pinned by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs, get_plotlyjs_version

from simulator.results.columns import COLUMNS, profiler_heading
from viz.theme import THEMES, Theme, template

__all__ = ["Section", "page"]

_MISSING = (
    "The figures need Plotly, which this page loads from the network; written without --cdn, a"
    " report carries it."
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHORT = 20  # characters of a table's cell that are not broken


@dataclass
class Section:
    """One result of a report."""

    title: str
    rows: Sequence[dict[str, Any]] = ()
    """A table, by the names of its columns; a row that begins with "total" is one."""
    sentences: Sequence[str] = ()
    figures: Sequence[go.Figure] = field(default_factory=list)
    markup: Sequence[str] = ()
    """HTML, safe already, that comes before the figures."""
    folded: Sequence[tuple[str, Sequence[dict[str, Any]]]] = ()
    """Tables that a reader unfolds, by what is said of them."""


def page(title: str, sections: Sequence[Section], made: Sequence[str], *, cdn: bool) -> str:
    """Write the page; `made` says how: the command, then versions."""
    numbered = [
        (f"{figure.layout.meta['bankwise']['kind']}-{number}", figure)
        for number, figure in enumerate(figure for part in sections for figure in part.figures)
    ]
    script = (files("viz.page") / "page.js").read_text(encoding="utf-8")
    style = (files("viz.page") / "page.css").read_text(encoding="utf-8")
    plotly_js = get_plotlyjs()
    if not numbered:
        loaded, allowed = "", f"'{_hash(script)}'"
    elif cdn:
        source = f"https://cdn.plot.ly/plotly-{get_plotlyjs_version()}.min.js"
        loaded = (
            f'<script src="{source}" integrity="{_hash(plotly_js)}"'
            ' crossorigin="anonymous"></script>'
        )
        allowed = f"'{_hash(script)}' {source}"
    else:
        loaded = f"<script>{plotly_js}</script>"
        allowed = f"'{_hash(script)}' '{_hash(plotly_js)}'"
    # Plotly sets styles and exports pictures through blobs; nothing else is allowed.
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    ids = iter(numbered)
    body = "\n".join(_section(title, part, [next(ids) for _ in part.figures]) for part in sections)
    command, *versions = made
    html = "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            f'<header><h1>{escape(title)}</h1><button id="theme">Dark</button></header>',
            f'<p class="missing">{_MISSING}</p>',
            f"<main>\n{body}\n</main>",
            f"<footer>\n<h2>How this was made</h2>\n<pre>{escape(command)}</pre>",
            f"<p>{escape(', '.join(versions))}</p>\n</footer>",
            f'<script type="application/json" id="figures">{_json(numbered)}</script>',
            loaded,
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )
    # Bytes of an argument that are no UTF-8 reach Python as surrogates, which no file can hold.
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", html)


def _section(heading: str, part: Section, figures: Sequence[tuple[str, go.Figure]]) -> str:
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in part.sentences)
    pictures = []
    for name, figure in figures:
        meta = figure.layout.meta["bankwise"]
        more = f"<span>{escape(meta['subtitle'])}</span>" if meta["subtitle"] else ""
        # What stands above the section already is not said again.
        named = meta["title"] in (heading, part.title)
        caption = ("" if named else f"<b>{escape(meta['title'])}</b>") + more
        pictures.append(
            f"<figure>{f'<figcaption>{caption}</figcaption>' if caption else ''}"
            f'<div id="{name}"></div></figure>'
        )
    return "\n".join(
        [
            "<section>",
            f"<h2>{escape(part.title)}</h2>" if part.title != heading else "",
            _table(part.rows),
            f"<ul>{said}</ul>" if said else "",
            *part.markup,
            *pictures,
            *(
                f"<details><summary>{escape(said)}</summary>{_table(rows)}</details>"
                for said, rows in part.folded
            ),
            "</section>",
        ]
    )


def _table(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    names = list(rows[0])
    words = {name for name in names if any(isinstance(row[name], str) for row in rows)}

    long = {name for name in words if any(len(str(row[name])) > _SHORT for row in rows)}

    def kind(name: str, value: Any = None) -> str:
        bad = name in ("bank_conflicts", "excessive") and value
        kinds = ["word"] * (name in words) + ["long"] * (name in long) + ["bad"] * bool(bad)
        return f' class="{" ".join(kinds)}"' if kinds else ""

    def titled(name: str) -> str:
        unit = COLUMNS[name].unit if name in COLUMNS else ""
        told = f' title="{escape(unit)}"' if unit else ""
        return f"<th{kind(name)}{told}>{escape(profiler_heading(name))}</th>"

    def cell(name: str, value: Any) -> str:
        shown = "" if value is None else str(value)
        if isinstance(value, int | float):
            shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
        label = escape(profiler_heading(name))
        return f'<td{kind(name, value)} data-label="{label}">{escape(shown)}</td>'

    head = "".join(map(titled, names))
    lines = []
    for row in rows:
        total = ' class="total"' if row[names[0]] == "total" else ""
        lines.append(f"<tr{total}>{''.join(cell(name, row[name]) for name in names)}</tr>")
    body = "\n".join(lines)
    width = ' class="wide"' if long else ""
    rest = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f"<table{width}>\n{rest}"


def _json(figures: Sequence[tuple[str, go.Figure]]) -> str:
    """Figures as JSON that no HTML parser mistakes for markup; their template comes once."""
    listed = []
    known: dict[str, list[int]] = {}
    for number, (name, figure) in enumerate(figures):
        bare = go.Figure(figure)
        bare.layout.template = None
        plain = json.loads(bare.to_json(engine="json"))
        for frame, changed in zip(plain.get("frames", ()), _changes(figure), strict=True):
            frame["data"][0]["z"] = changed
        # The tile below several figures is told once.
        plain["data"] = [
            trace if first == [number, place] else {"as": first}
            for place, trace in enumerate(plain["data"])
            if (first := known.setdefault(json.dumps(trace), [number, place]))
        ]
        # Not escaped, so that the page sees every character.
        drawn = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        listed.append(f'{{"id": "{name}", "figure": {drawn}}}')
    templates = ", ".join(f'"{theme}": {_template(theme)}' for theme in THEMES)
    text = f'{{"figures": [{", ".join(listed)}], "templates": {{{templates}}}}}'
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _changes(figure: go.Figure) -> list[list[int]]:
    """Tell for each frame which cells of its heat map change: the place and code of each in turn.

    Whole ones would be most of a page. The first starts from the trace; `page.js` reads them.
    """
    found: list[list[int]] = []
    if figure.frames:
        before = np.asarray(figure.data[0].z)
        for frame in figure.frames:
            now = np.asarray(frame.data[0].z)
            places = np.flatnonzero(now != before)
            found.append(np.stack([places, now.ravel()[places]], axis=1).ravel().tolist())
            before = now
    return found


def _template(theme: Theme) -> str:
    return str(go.Figure(layout={"template": template(theme)}).layout.template.to_json())


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
