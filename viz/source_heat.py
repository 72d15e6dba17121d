"""`source_heat`: a source file with what its lines cost, as HTML that a page shows."""

from __future__ import annotations

from html import escape

from simulator.results.columns import COLUMNS, COSTS, TRAFFIC, profiler_heading
from simulator.results.text import Listing

__all__ = ["source_heat"]

_CONTEXT = 6  # lines shown around one with figures; what is further off is folded
_SHOWN = ("wavefronts", "bank_conflicts")
_TOLD = ("instructions", "executed", *COSTS, *TRAFFIC)
_FAINTEST = 0.1
_STRONGEST = {"conflicts": 0.55, "free": 0.25}  # opacity of the shade


def source_heat(listing: Listing) -> str:
    """Return one file as HTML: wavefronts, conflicts, number and text of each line.

    A line with figures is shaded the stronger the more wavefronts it takes, in one colour if it
    has bank conflicts and in another if not. Pointing at it tells all its figures. Stretches
    without figures are folded. All text is escaped.
    """
    near = set(listing.near(_CONTEXT))
    most = max((figures["wavefronts"] or 0 for figures in listing.figures.values()), default=0)
    parts: list[str] = []
    folded: list[str] = []
    for number, text in enumerate(listing.lines, 1):
        line = _line(listing, number, text, most)
        if number in near:
            parts += _fold(folded, number - 1)
            folded = []
            parts.append(line)
        else:
            folded.append(line)
    parts += _fold(folded, len(listing.lines))
    heads = "".join(f"<span>{escape(profiler_heading(name))}</span>" for name in _SHOWN)
    head = f'<div class="line head">{heads}<span></span><span></span></div>'
    return (
        f"<h3>{escape(listing.name)}</h3>\n"
        f'<div class="source" tabindex="0">{head}{"".join(parts)}</div>'
    )


def _fold(lines: list[str], last: int) -> list[str]:
    if len(lines) < 3:  # folding would save nothing
        return lines
    first = last - len(lines) + 1
    return [f"<details><summary>lines {first} to {last}</summary>{''.join(lines)}</details>"]


def _line(listing: Listing, number: int, text: str, most: int) -> str:
    figures = listing.figures.get(number)
    if figures is None:
        cells, told, style = "<span></span><span></span>", "", ""
    else:
        wavefronts = figures["wavefronts"] or 0
        kind = "conflicts" if figures["bank_conflicts"] else "free"
        heat = _FAINTEST + (_STRONGEST[kind] - _FAINTEST) * (wavefronts / most if most else 0)
        cells = "".join(f"<span>{_number(figures[name])}</span>" for name in _SHOWN)
        said = ", ".join(f"{_number(figures[name])} {COLUMNS[name].heading}" for name in _TOLD)
        told = f' title="line {number}: {escape(said)}"'
        style = f' data-heat="{kind}" style="--heat: {heat:.2f}"'
    return (
        f'<div class="line"{style}{told}>{cells}<span class="number">{number}</span>'
        f"<code>{escape(text)}</code></div>"
    )


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
