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
from html import escape
from importlib.resources import files

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs, get_plotlyjs_version

from simulator.results.columns import heading
from simulator.results.html import LANE_COLORS, ink
from viz.page.section import Section, is_bad, rendered, shown
from viz.theme import THEMES, Theme, template

__all__ = ["page"]

_MISSING = (
    "The figures need Plotly, which this page loads from the network; written without --cdn, a"
    " report carries it."
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SCRIPTS = ("page.js", "pictures.js")


def page(title: str | None, sections: Sequence[Section], made: Sequence[str], *, cdn: bool) -> str:
    """Write the page; `made` says how: the command, then versions.

    Without a title, that of a page on one result is its verdict.
    """
    numbered = [
        (f"{figure.layout.meta['bankwise']['kind']}-{number}", figure)
        for number, figure in enumerate(figure for part in sections for figure in part.figures)
    ]
    alone = len(sections) == 1
    headline = title or (sections[0].title if alone else f"{len(sections)} results")
    style = "".join([*map(_source, ("colors.css", "page.css", "time.css")), _lane_rules()])
    ids = iter(numbered)
    body = "\n".join(
        rendered(part, number, [next(ids) for _ in part.figures], alone=alone and not title)
        for number, part in enumerate(sections, 1)
    )
    scripts = [_source(name) for name in _SCRIPTS]
    if 'class="code-view' in body:
        scripts.append(_source("kernel.js"))
    loaded, allowed = _plotly(cdn=cdn) if numbered else ("", [])
    allowed = [*(f"'{_hash(script)}'" for script in scripts), *allowed]
    # Plotly sets styles and exports pictures through blobs; nothing else is allowed.
    policy = (
        f"default-src 'none'; script-src {' '.join(allowed)}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    command, *versions = made
    headed = f"<h1>{escape(headline)}</h1>" if title or not alone else ""
    html = "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',  # else a browser asks a server for one
            f"<title>{escape(headline)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            _bar(body),
            f'<p class="missing">{_MISSING}</p>',
            f"<main>\n{headed}\n{_summary(sections)}\n{body}\n</main>",
            f"<footer>\n<h2>How this was made</h2>\n<pre>{escape(command)}</pre>",
            f"<p>{escape(', '.join(versions))}</p>\n</footer>",
            f'<script type="application/json" id="figures">{_json(numbered)}</script>',
            loaded,
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
        ]
    )
    # Bytes of an argument that are no UTF-8 reach Python as surrogates, which no file can hold.
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", html)


def _bar(body: str) -> str:
    """Return the bar at the top: what marks lanes and phases in all pictures, and the theme."""
    theme = '<button type="button" id="theme" aria-label="Dark or light">Dark</button>'
    controls = ""
    if 'class="picture' in body:
        phases = sorted(set(map(int, re.findall(r'<td[^>]* data-phase="(\d+)"', body))))
        lanes = "".join(
            f'<button type="button" data-lanes="{lane}" tabindex="{0 if lane == 0 else -1}"'
            f' aria-label="Lane {lane}">{lane}</button>'
            for lane in range(32)
        )
        chosen = "".join(
            f'<button type="button" role="radio" aria-checked="{str(not number).lower()}"'
            f' tabindex="{-1 if number else 0}" data-phase="{phase}">{name}</button>'
            for number, (phase, name) in enumerate(
                [("", "all"), *((str(phase), str(phase)) for phase in phases)]
            )
        )
        controls = (
            f'<div id="phases" role="radiogroup" aria-label="Phase">phase {chosen}</div>'
            if len(phases) > 1
            else ""
        ) + (
            '<button type="button" id="hue" aria-pressed="false">Colour by lane</button>'
            '<div id="lanes" role="toolbar" aria-label="Lanes: point at one, or step with arrows,'
            f' to mark it in every picture">{lanes}</div>'
        )
    return f'<header class="bar"><b class="brand">bankwise</b>{controls}{theme}</header>'


def _summary(sections: Sequence[Section]) -> str:
    """Return a table of the results of a report, each with a link to its part."""
    if len(sections) < 2:
        return ""
    names = ("wavefronts", "ideal", "bank_conflicts")
    heads = "".join(f'<th scope="col">{heading(name)}</th>' for name in names)
    lines = []
    for number, part in enumerate(sections, 1):
        cells = "".join(
            f'<td class="bad">{shown(value)}</td>'
            if name in part.numbers and is_bad(name, part.numbers)
            else f"<td>{escape(shown(value))}</td>"
            for name in names
            for value in [part.numbers.get(name)]
        )
        called = part.asked or part.title
        lines.append(
            f'<tr><td class="word long"><a href="#part-{number}">{escape(called)}</a></td>'
            f'<td class="word long said" data-level="{part.level}">'
            f"{escape(part.title if part.asked else '')}</td>{cells}"
            f'<td class="word long">{escape(part.cure)}</td></tr>'
        )
    return (
        '<nav class="scroll" tabindex="0" aria-label="Results"><table class="rows summary">'
        f'<thead><tr><th scope="col" class="word">result</th><th scope="col" class="word">verdict'
        f'</th>{heads}<th scope="col" class="word">cure</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></nav>"
    )


def _lane_rules() -> str:
    """Return the colours of lanes, for readers who ask for them."""
    return "\n".join(
        f'.hue td[data-lanes="{lane}"], .hue td[data-lanes^="{lane} "]'
        f" {{ background: {color} !important; color: {ink(color)} !important; }}"
        for lane, color in enumerate(LANE_COLORS)
    )


def _source(name: str) -> str:
    return (files("viz.page") / name).read_text(encoding="utf-8")


def _plotly(*, cdn: bool) -> tuple[str, list[str]]:
    """Return what loads Plotly, and which scripts the page's policy allows for it."""
    plotly_js = get_plotlyjs()
    if not cdn:
        return f"<script>{plotly_js}</script>", [f"'{_hash(plotly_js)}'"]
    source = f"https://cdn.plot.ly/plotly-{get_plotlyjs_version()}.min.js"
    loaded = (
        f'<script src="{source}" integrity="{_hash(plotly_js)}" crossorigin="anonymous"></script>'
    )
    return loaded, [source]


def _json(figures: Sequence[tuple[str, go.Figure]]) -> str:
    """Figures as JSON that no HTML parser mistakes for markup; their template comes once."""
    listed = []
    for name, figure in figures:
        bare = go.Figure(figure)
        bare.layout.template = None
        # Not escaped, so that the page sees every character.
        plain = json.loads(bare.to_json(engine="json"))
        drawn = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        listed.append(f'{{"id": "{name}", "figure": {drawn}}}')
    # Where no figure is drawn, nothing has a theme.
    templates = ", ".join(f'"{theme}": {_template(theme)}' for theme in THEMES if figures)
    text = f'{{"figures": [{", ".join(listed)}], "templates": {{{templates}}}}}'
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _template(theme: Theme) -> str:
    return str(go.Figure(layout={"template": template(theme)}).layout.template.to_json())


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
