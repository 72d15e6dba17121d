"""`parity`: what the model says against what the chip did, and what is left between them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import plotly.graph_objects as go

from layouts.errors import accepted, plural
from viz.errors import DrawError
from viz.figure import titled
from viz.sweep_heatmap import columns_of, named, outcomes
from viz.theme import KINDS, SMALL, Theme, plain, template

__all__ = ["parity", "quantities"]

_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
_MOST_KINDS = 5
_MOST_POINTS = 2000


def quantities(comparison: object) -> list[str]:
    """List what a comparison can show: each NAME with columns `NAME` and `measured_NAME`."""
    table = columns_of(comparison)
    return [name for name in table if f"measured_{name}" in table]


def parity(
    comparison: object,
    quantity: str | None = None,
    *,
    by: str = "op",
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw simulated figures across and measured ones up, with the residue below.

    `comparison` is a mapping of equal-length columns, or an object whose method `points` (or
    `columns`) gives them. For the `quantity`, such as "wavefronts" or "cycles" (None: the first
    there is), they are `quantity` and `measured_quantity`; for cycles perhaps `spread`, of the
    measured value; and perhaps `by`, which tells kinds of rows apart. Rows with the same pair of
    figures are one point, the larger the more they are. A row without either figure (None, NaN or
    "") stays out.

    >>> rows = {"op": ["LDS", "STS"], "wavefronts": [1, 32], "measured_wavefronts": [1, 32]}
    >>> parity(rows).layout.title.text
    'wavefronts: all 2 rows equal'

    Raises DrawError where columns are missing or hold no numbers.
    """
    table = columns_of(comparison)
    found = quantities(comparison)
    quantity = found[0] if quantity is None and found else quantity
    if quantity not in found:
        raise DrawError(
            f"no quantity {quantity!r} in columns {', '.join(table)}"
            f" ({accepted(quantity, found) if found else 'accepted: NAME and measured_NAME'})"
        )
    pairs = [outcomes(table, name) for name in (quantity, f"measured_{quantity}")]
    kept = [row for row, pair in enumerate(zip(*pairs, strict=True)) if None not in pair]
    table = {name: [column[row] for row in kept] for name, column in table.items()}
    simulated, measured = ([column[row] for row in kept] for column in pairs)
    spread = []
    if quantity == "cycles" and "spread" in table:
        spread = [each or 0 for each in outcomes(table, "spread")]
    kinds = _kinds(table.get(by, ["all"] * len(simulated)))
    top = 1.04 * max((*simulated, *measured), default=0) or 1
    figure = go.Figure([_line([0, top], [0, top], "y"), _line([0, top], [0, 0], "y2")])
    left_out = 0
    for number, (kind, rows) in enumerate(kinds.items()):
        points = _points(rows, simulated, measured, spread)
        left_out += max(0, len(points) - _MOST_POINTS)
        _draw(figure, kind, number, points[:_MOST_POINTS])
    subtitle = (
        f"Only the {_MOST_POINTS:,} most frequent points of a kind are drawn: {left_out:,} are not."
        if left_out
        else "A point is larger the more rows it stands for."
    )
    finding = _finding(quantity, simulated, measured) if title is None else title
    residue = 1.2 * max((abs(b - a) for a, b in zip(simulated, measured, strict=True)), default=0)
    _lay_out(figure, quantity, (top, residue or 1), finding, subtitle, theme)
    return figure


def _kinds(column: Sequence[Any]) -> dict[str, list[int]]:
    """Rows by kind, the most frequent kinds first; rare ones are "others"."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for row, kind in enumerate(column):
        by_kind[str(kind)].append(row)
    ordered = sorted(by_kind, key=lambda kind: -len(by_kind[kind]))
    kinds = {kind: by_kind[kind] for kind in ordered[:_MOST_KINDS]}
    others = [row for kind in ordered[_MOST_KINDS:] for row in by_kind[kind]]
    return {**kinds, "others": others} if others else kinds


class _Point(NamedTuple):
    simulated: float
    measured: float
    rows: int
    spread: float


def _points(
    rows: Sequence[int],
    simulated: Sequence[float],
    measured: Sequence[float],
    spread: Sequence[float],
) -> list[_Point]:
    """Put rows with the same figures together, the most frequent first."""
    spreads: dict[tuple[float, float], list[float]] = defaultdict(list)
    for row in rows:
        spreads[simulated[row], measured[row]].append(spread[row] if spread else 0)
    points = [_Point(*pair, len(each), max(each)) for pair, each in spreads.items()]
    return sorted(points, key=lambda point: -point.rows)


def _draw(figure: go.Figure, kind: str, number: int, points: Sequence[_Point]) -> None:
    marker = {
        "symbol": _SYMBOLS[number % len(_SYMBOLS)],
        "color": list(KINDS.values())[number % len(KINDS)],
        "size": [6 + 2 * math.log10(point.rows) for point in points],
        "opacity": 0.8,
        "line": {"width": 0},
    }
    for axis, up in (
        ("y", [point.measured for point in points]),
        ("y2", [point.measured - point.simulated for point in points]),
    ):
        figure.add_trace(
            go.Scatter(
                x=[point.simulated for point in points],
                y=up,
                yaxis=axis,
                mode="markers",
                name=plain(kind),
                legendgroup=str(number),
                showlegend=axis == "y",
                marker=marker,
                error_y={
                    "array": [point.spread for point in points],
                    "visible": any(point.spread for point in points),
                    "thickness": 1,
                    "width": 2,
                },
                customdata=[[point.rows, *_told(point)] for point in points],
                hovertemplate=(
                    f"<b>{plain(kind)}</b><br>simulated %{{customdata[1]}}, measured"
                    " %{customdata[2]}<br>measured − simulated: %{customdata[3]}"
                    "<br>rows: %{customdata[0]}<extra></extra>"
                ),
            )
        )


def _told(point: _Point) -> list[str]:
    """Return both figures and their difference in words, the measured one with its spread."""
    left = point.measured - point.simulated
    spread = f" (spread {_figure(point.spread)})" if point.spread else ""
    return [_figure(point.simulated), _figure(point.measured) + spread, _figure(left)]


def _figure(value: float) -> str:
    """Write whole numbers as they are, and four digits behind the point of others.

    >>> _figure(23624), _figure(63.996826171875)
    ('23,624', '63.9968')
    """
    return f"{value:,}" if value == int(value) else f"{value:,.4f}"


def _line(x: Sequence[float], y: Sequence[float], axis: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y,
        yaxis=axis,
        mode="lines",
        name="equal",
        showlegend=axis == "y",
        line={"width": 1, "dash": "dot", "color": "#808c9b"},
        hoverinfo="skip",
    )


def _finding(quantity: str, simulated: Sequence[float], measured: Sequence[float]) -> str:
    name = named(quantity)
    apart = [abs(b - a) for a, b in zip(simulated, measured, strict=True)]
    if not apart:
        return f"{name}: no row has both figures"
    different = sum(map(bool, apart))
    if not different:
        return f"{name}: all {plural(len(apart), 'row')} equal"
    if quantity == "cycles":  # a clock is never exact
        return (
            f"{name}: {plural(len(apart), 'row')}, half of them within {median(apart):.3g},"
            f" all within {max(apart):.3g}"
        )
    return f"{name}: {different:,} of {plural(len(apart), 'row')} differ, by up to {max(apart):g}"


def _lay_out(
    figure: go.Figure,
    quantity: str,
    reach: tuple[float, float],
    finding: str,
    subtitle: str,
    theme: Theme,
) -> None:
    top, residue = reach
    text, above = titled(finding, subtitle, 720)
    name = named(quantity)
    figure.update_layout(
        template=template(theme),
        title=text,
        height=above + 540,
        width=720,
        margin={"l": 62, "r": 12, "t": above, "b": 96, "autoexpand": False},
        xaxis={
            "title": {"text": f"simulated {plain(name)}"},
            "range": [0, top],
            "anchor": "y2",
            "fixedrange": True,
            "ticklabelstandoff": 7,  # below the least label of the other axis, at the corner
        },
        yaxis={
            "title": {"text": f"measured {plain(name)}"},
            "range": [0, top],
            "domain": [0.36, 1],
            "fixedrange": True,
        },
        yaxis2={
            "title": {"text": "measured − simulated"},
            "domain": [0, 0.28],
            "fixedrange": True,
            # Around zero even where nothing is left: an exact model is a line.
            "range": [-residue, residue],
        },
        legend={
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "font": {"size": SMALL},
        },
        meta={"bankwise": {"kind": "parity", "title": finding, "subtitle": subtitle}},
    )
