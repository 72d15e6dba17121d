"""`bank_heatmap`: which lane each bank serves in which wavefront."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import plotly.graph_objects as go

from layouts.errors import accepted, plural
from simulator.gemm.simulate import Operand
from simulator.law.explaining import Explanation, Served, ranges
from simulator.law.specification import BANKS, WORD
from viz.errors import DrawError
from viz.figure import Panel, assemble, lane_scale, message, scale_below
from viz.strips import Strip, strips
from viz.theme import COUNTS, KINDS, Theme

__all__ = [
    "COLORINGS",
    "Coloring",
    "bank_axis",
    "bank_heatmap",
    "bank_panel",
    "dots",
    "label",
    "who",
]

Coloring = Literal["lane", "word"]
COLORINGS: tuple[Coloring, ...] = get_args(Coloring)
"""What the colour of a cell tells."""

_CONVENTION = (
    "Rows: phase · wavefront. Within a phase, wavefront k serves the k-th distinct word of each"
    " bank: a convention, as the chip's own order cannot be seen."
)


def bank_heatmap(
    result: object,
    *,
    fragment: Operand | None = None,
    color: Coloring = "lane",
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw banks 0 to 31 across and wavefronts down, grouped by phase; a cell names its lanes.

    `result` is what `explain` or `simulate` returned; of the latter, `fragment` chooses "A" or
    "B" (None: both). A dot marks a word that several lanes share. Pointing at a cell tells
    lanes, addresses, word and phase. Cells are coloured by "lane" or by "word".

    >>> from bankwise import simulate
    >>> report = simulate("2x16", 128, lane_order="row-major")
    >>> bank_heatmap(report, fragment="B").layout.title.text
    'LDS.128, 2×16 row-major, B: 16 wavefronts, 8 ideal, 8 bank conflicts'

    Raises DrawError for another result, fragment, color or theme.
    """
    if color not in COLORINGS:
        raise DrawError(f"unknown color {color!r}: {accepted(color, COLORINGS)}")
    found = strips(result, fragment)
    panel = bank_panel(found.strips, color)
    subtitle = f"{found.left_out} {_CONVENTION}".strip()
    return assemble(
        "bank_heatmap",
        [panel],
        found.finding if title is None else title,
        subtitle,
        theme=theme,
        short=17 if color == "lane" else 29,
    )


def bank_axis() -> dict[str, Any]:
    """Return the axis of the 32 banks."""
    return {"title": {"text": "bank"}, "tickvals": [*range(0, BANKS, 4), 31], "tickangle": 0}


def bank_panel(accesses: Sequence[Strip], color: Coloring) -> Panel:
    """Draw accesses one below the other."""
    values: list[list[int | None]] = []
    texts: list[list[str]] = []
    told: list[list[list[Any] | None]] = []
    ticks: dict[float, str] = {}
    lines: list[float] = []
    shared: list[tuple[float, float]] = []
    headings = []
    for strip in accesses:
        if len(accesses) > 1:
            # Two rows, so that the words fit when cells are small.
            headings.append((len(values) + 0.5, strip.heading, strip.explanation))
            for _ in range(2):
                values.append([None] * BANKS)
                texts.append([""] * BANKS)
                told.append([None] * BANKS)
        for phase in strip.explanation.phases:
            if phase.index and phase.wavefronts:
                lines.append(len(values) - 0.5)
            for number, wavefront in enumerate(phase.wavefronts):
                ticks[len(values)] = f"{'' if number else f'phase {phase.index} · '}{number}"
                by_bank = {served.bank: served for served in wavefront}
                shared += [(bank, len(values)) for bank in by_bank if len(by_bank[bank].lanes) > 1]
                row = [by_bank.get(bank) for bank in range(BANKS)]
                values.append([_value(served, color) for served in row])
                texts.append(["" if served is None else label(served.lanes) for served in row])
                told.append(
                    [
                        None
                        if served is None
                        else [
                            *who(strip.explanation, served.lanes),
                            served.word,
                            served.word * WORD,
                            phase.index,
                            number,
                        ]
                        for served in row
                    ]
                )
    if color == "lane":
        scale = lane_scale()
    else:
        scale = {"colorscale": COUNTS, "colorbar": scale_below(unit="(word)")}
    cells = go.Heatmap(
        z=values or [[None] * BANKS],
        text=texts or [[""] * BANKS],
        customdata=told or [[None] * BANKS],
        texttemplate="%{text}",
        textfont={"size": 10},
        hovertemplate=(
            "<b>%{customdata[0]}</b><br>%{customdata[1]}"
            "<br>bank %{x}, word %{customdata[2]} (bytes from %{customdata[3]})"
            "<br>phase %{customdata[4]}, wavefront %{customdata[5]}<extra></extra>"
        ),
        hoverongaps=False,
        xgap=1,
        ygap=1,
        showlegend=False,
        **scale,
    )
    annotations = [
        {
            "text": f"<b>{said}</b>: {plural(explanation.wavefronts, 'wavefront')},"
            f" {explanation.ideal} ideal",
            "x": -0.4,
            "y": y,
            "xanchor": "left",
            "showarrow": False,
        }
        for y, said, explanation in headings
    ]
    if not ticks:
        annotations.append(message("No wavefront: nothing is served."))
    return Panel(
        columns=BANKS,
        rows=max(1, len(values)),
        traces=[cells, dots(shared)],
        x=bank_axis(),
        y={
            "tickvals": list(ticks),
            "ticktext": list(ticks.values()),
        },
        annotations=annotations,
        shapes=[
            {"type": "line", "x0": -0.5, "x1": BANKS - 0.5, "y0": y, "y1": y, "line": {"width": 2}}
            for y in lines
        ],
        left=94,
    )


def dots(places: Sequence[tuple[float, float]]) -> go.Scatter:
    """Mark cells whose word goes to several lanes."""
    x: list[float | None] = [x + 0.36 for x, _ in places]
    y: list[float | None] = [y - 0.36 for _, y in places]
    return go.Scatter(
        x=x or [None],
        y=y or [None],
        mode="markers",
        name="broadcast: one word, several lanes",
        marker={"size": 5, "color": "#ffffff", "line": {"width": 1, "color": KINDS["vermilion"]}},
        hoverinfo="skip",
        showlegend=bool(places),
    )


def label(lanes: Sequence[int]) -> str:
    """Name lanes in a cell: the first, and how many share its word."""
    return f"{lanes[0]}" if len(lanes) == 1 else f"{lanes[0]}<br>×{len(lanes)}"


def who(explanation: Explanation, lanes: Sequence[int]) -> list[str]:
    """Say in two lines which lanes, and which bytes they access."""
    width = explanation.width
    bases = dict.fromkeys(explanation.addresses[lane] for lane in lanes)
    spans = ", ".join(f"{base}-{base + width - 1}" if width > 1 else f"{base}" for base in bases)
    named = f"lane{'s' if len(lanes) > 1 else ''} {ranges(lanes)}"
    return [named, f"address {', '.join(map(str, bases))} (bytes {spans})"]


def _value(served: Served | None, color: Coloring) -> int | None:
    if served is None:
        return None
    return served.lanes[0] if color == "lane" else served.word
