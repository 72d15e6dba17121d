"""`svg`: the pictures of a result as one SVG file, for documents and pull requests.

It follows the reader's theme, needs no script and loads nothing.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from simulator.asking.pictures import Picture
from simulator.law.explaining import Explanation
from simulator.law.specification import BANKS
from simulator.results import files as results_files
from simulator.results.html import HEAT, heat
from viz.errors import DrawError, ReportError
from viz.page.section import Section
from viz.page.sections import section

__all__ = ["check_svg", "svg"]

_CELL, _LABEL, _GAP, _MARGIN = 15, 64, 28, 16
_PANEL = _LABEL + BANKS * _CELL
_LINE = 17
_ROW = {True: 22, False: 13}  # few rows are taller
_BARE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")  # XML has none of them


def svg(*results: object, file: str | os.PathLike[str] | None = None, force: bool = False) -> str:
    """Return the pictures of a result as SVG, and write it to `file`: before, and beside it after.

    A result is what `viz.report` takes; of several, those with pictures stand below each other.

    >>> from bankwise import explain
    >>> drawn = svg(explain("float s[32][32]; s[threadIdx.x][threadIdx.y]"))
    >>> drawn.startswith("<svg"), drawn.count("float s[32][33]")
    (True, 1)

    Raises ReportError for a file that cannot be written, and DrawError for results without
    pictures of banks: sweeps and comparisons with a GPU.
    """
    if file is not None:
        check_svg(file, force=force)
    parts = [part for part in map(section, results) if part.pictures or part.bars]
    if not parts:
        raise DrawError(
            "nothing to draw as SVG (accepted: accesses, geometries, comparisons, searches,"
            " kernels; of sweeps a page, --html)"
        )
    drawn, y = [], float(_MARGIN)
    for part in parts:
        body, height = _part(part, y)
        drawn.append(body)
        y += height + _GAP
    text = _whole("".join(drawn), parts[0].title, y - _GAP + _MARGIN)
    if file is not None:
        results_files.save(file, lambda place: place.write_text(text, encoding="utf-8"))
    return text


def check_svg(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse, before any work is done, a file that an SVG cannot be written to."""
    if not os.fsdecode(path).lower().endswith(".svg"):
        raise ReportError(f"{str(path)!r} does not end in .svg (accepted: a name that does)")
    results_files.check_target(path, force=force)


def _whole(body: str, title: str, height: float) -> str:
    width = 2 * _MARGIN + 2 * _PANEL + _GAP
    colors = (files("viz.page") / "colors.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--(\w[\w-]*): light-dark\((#\w+), (#\w+)\)", colors)
    rules = "".join(
        f":root{{{';'.join(f'--{name}:{each[theme]}' for name, *each in pairs)}}}"
        if theme == 0
        else "@media (prefers-color-scheme:dark){:root{"
        + ";".join(f"--{name}:{each[theme]}" for name, *each in pairs)
        + "}}"
        for theme in (0, 1)
    )
    style = (
        f"{rules}text{{font:12px Helvetica,Arial,sans-serif;fill:var(--ink)}}.t{{font-size:19px;"
        "font-weight:650}.b{font-weight:650}.f{fill:var(--faint);font-size:11px}.n{font-size:10px;"
        "text-anchor:middle}.c{font-family:ui-monospace,Menlo,Consolas,monospace}.s{fill:var(--slot)}"
        ".paper{fill:var(--paper)}.conflict{fill:var(--conflict)}.free,.harmless{fill:var(--free)}"
        + "".join(
            f".h{step}{{fill:var(--h{step})}}.t{step}{{fill:var(--t{step})}}"
            for step in range(len(HEAT))
        )
    )
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}"'
        f' height="{height:g}" role="img"><title>{escape(title)}</title><style>{style}</style>'
        f'<rect class="paper" width="{width}" height="{height:g}"/>{body}</svg>\n'
    )
    return _BARE.sub("\N{REPLACEMENT CHARACTER}", text)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{named}>{escape(text)}</text>'


def _part(part: Section, y: float) -> tuple[str, float]:
    """Draw one result from `y` on; return it with its height."""
    start = y
    drawn = []
    wide = 2 * _PANEL + _GAP
    for words, kind, size, step in ((part.asked, "c", 7.3, _LINE), (part.title, "t", 10, 24)):
        for line in textwrap.wrap(words, int(wide / size)):
            y += step
            level = f" {part.level}" if kind == "t" else ""
            drawn.append(_text(_MARGIN, y - 4, line, f"{kind}{level}"))
    for words in part.cause:
        for line in textwrap.wrap(words, int(wide / 6)):
            y += _LINE
            drawn.append(_text(_MARGIN, y - 3, line))
    y += 10
    if part.bars:
        body, height = _bars(part.bars, y)
        return "".join([*drawn, body]), y + height - start
    first, *others = part.pictures
    body, left = _picture(first, _MARGIN, y)
    drawn.append(body)
    right = 0.0
    for each in others:
        body, height = _picture(each, _MARGIN + _PANEL + _GAP, y + right)
        drawn.append(body)
        right += height + 10
    return "".join(drawn), y + max(left, right) - start


def _picture(picture: Picture, x: float, y: float) -> tuple[str, float]:
    start = y
    drawn = []
    head = f"{picture.heading}: {', '.join((picture.cost, *picture.notes))}"
    for words, kind, size in ((head, "b", 6.4), (picture.code, "c", 7.3)):
        for line in textwrap.wrap(words, int(_PANEL / size)):
            y += _LINE
            drawn.append(_text(x, y - 4, line, kind))
    for name, one in picture.parts:
        if name:
            y += _LINE
            drawn.append(_text(x, y - 4, textwrap.shorten(name, 90), "f"))
        body, height = _banks(one, x, y)
        drawn.append(body)
        y += height
    return "".join(drawn), y - start


def _banks(one: Explanation, x: float, y: float) -> tuple[str, float]:
    rows = [(phase, number) for phase in one.phases for number in range(len(phase.wavefronts))]
    tall = _ROW[len(rows) <= 4]
    left = x + _LABEL
    drawn = [_text(x, y + 11, "bank", "f")]
    drawn += [
        _text(left + (bank + 0.5) * _CELL, y + 11, str(bank), "f n") for bank in range(0, 32, 4)
    ]
    y += 15
    for phase, number in rows:
        several = len(one.phases) > 1
        first = f"phase {phase.index}" if several else "wavefront 0"
        middle = y + tall / 2 + 3.5
        drawn.append(_text(x, middle, str(number) if number else first, "f"))
        slots = f'<path class="s" d="{_slots(left, y, tall)}"/>'
        drawn.append(slots)
        step = heat(number // one.instruction.passes)
        for served in phase.wavefronts[number]:
            place = left + served.bank * _CELL
            lanes = ", ".join(map(str, served.lanes))
            drawn.append(
                f"<g><title>bank {served.bank}, word {served.word}, lanes {lanes}</title>"
                f'<rect class="h{step}" x="{place:g}" y="{y:g}" width="{_CELL - 1}"'
                f' height="{tall - 1}" rx="2"/>'
                + _text(place + (_CELL - 1) / 2, middle, str(served.lanes[0]), f"n t{step}")
                + "</g>"
            )
        y += tall
    return "".join(drawn), 15 + len(rows) * tall + 8


def _slots(x: float, y: float, tall: float) -> str:
    return "".join(
        f"M{x + bank * _CELL:g} {y:g}h{_CELL - 1}v{tall - 1}h-{_CELL - 1}z" for bank in range(BANKS)
    )


def _bars(bars: Sequence[tuple[str, int, int]], y: float) -> tuple[str, float]:
    """Draw names with their wavefronts as bars; the third value is a bar's heat."""
    most = max(value for _, value, _ in bars) or 1
    room = _PANEL + _GAP
    drawn = []
    for number, (name, value, step) in enumerate(bars):
        top = y + number * 22
        drawn.append(_text(_MARGIN, top + 14, textwrap.shorten(name, 80), "c"))
        width = max(2.0, (room - 90) * value / most)
        drawn.append(
            f'<rect class="h{step}" x="{_MARGIN + _PANEL}" y="{top:g}" width="{width:.1f}"'
            ' height="16" rx="3"/>'
        )
        drawn.append(_text(_MARGIN + _PANEL + width + 8, top + 13, f"{value:,}"))
    return "".join(drawn), len(bars) * 22
