"""`time_parity`: bounds and estimates of kernels' times against what a chip took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import plotly.graph_objects as go

from layouts.errors import plural
from viz.errors import DrawError
from viz.figure import titled
from viz.theme import KINDS, SMALL, Theme, plain, template

__all__ = ["time_parity"]

_SERIES = {"estimate": ("blue", "circle", 1), "bound": ("orange", "triangle-down", 0)}
"""Colour, symbol, and what is drawn above what: of many kernels, bounds would hide estimates."""

_WIDTH = 720
_MOST = 100
"""Percent: what is further off stands at the upper edge. A model is at most so much too low."""


def time_parity(
    table: Mapping[str, Sequence[Any]], *, title: str | None = None, theme: Theme = "light"
) -> go.Figure:
    """Draw the cycles of kernels on logarithmic scales, and below by how much they are off.

    `table` has the columns case, measured (cycles) and one or both of estimate and bound; None
    where there is no figure.

    >>> rows = {"case": ["copy", "sum"], "measured": [1000, 2000], "estimate": [1100, 1900]}
    >>> time_parity(rows).layout.title.text
    '2 kernels: the estimate is off by 7.5 % on average, by 10 % at most'

    Raises DrawError where columns are missing or nothing was measured.
    """
    series = [name for name in _SERIES if name in table]
    if "case" not in table or "measured" not in table or not series:
        raise DrawError(
            f"columns {', '.join(table)} (accepted: case, measured, and estimate or bound)"
        )
    errors = {
        name: [
            (str(case), float(measured), float(model), 100 * (model / measured - 1))
            for case, measured, model in zip(
                table["case"], table["measured"], table[name], strict=True
            )
            if measured and model is not None
        ]
        for name in series
    }
    drawn = [point for points in errors.values() for point in points]
    if not drawn:
        raise DrawError("no kernel was measured and modelled (accepted: positive cycles)")
    figure = go.Figure()
    for name in series:
        _draw(figure, name, errors[name])
    low = min(measured for _, measured, _, _ in drawn) / 1.3
    high = max(max(measured, model) for _, measured, model, _ in drawn) * 1.3
    figure.add_trace(_line([low, high], [low, high], "y"))
    figure.add_trace(_line([low, high], [0, 0], "y2"))
    finding = _finding(errors) if title is None else title
    subtitle = "Cycles of whole kernels, with their launches; the second launch of a process."
    if any(off > _MOST for _, _, _, off in drawn):
        subtitle += f" Below, what is off by more than {_MOST} % stands at the edge."
    text, above = titled(finding, subtitle, _WIDTH)
    axis = {"type": "log", "fixedrange": True}
    figure.update_layout(
        template=template(theme), title=text, width=_WIDTH, height=above + 560,
        margin={"l": 70, "r": 12, "t": above, "b": 96, "autoexpand": False},
        xaxis={**axis, "title": {"text": "measured cycles"}, "anchor": "y2"},
        yaxis={**axis, "title": {"text": "modelled cycles"}, "domain": [0.4, 1]},
        yaxis2={
            "title": {"text": "off by, %"}, "domain": [0, 0.32], "fixedrange": True,
            "zeroline": False,
        },
        legend={
            "orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom",
            "font": {"size": SMALL},
        },
        meta={"bankwise": {"kind": "time_parity", "title": finding, "subtitle": subtitle}},
    )  # fmt: skip
    return figure


def _draw(figure: go.Figure, name: str, points: list[tuple[str, float, float, float]]) -> None:
    color, symbol, above = _SERIES[name]
    for axis in ("y", "y2"):
        figure.add_trace(
            go.Scatter(
                x=[point[1] for point in points],
                y=[point[2] if axis == "y" else min(point[3], _MOST) for point in points],
                yaxis=axis,
                mode="markers",
                name=name,
                showlegend=axis == "y",
                zorder=above,
                marker={"color": KINDS[color], "symbol": symbol, "size": 6, "opacity": 0.8},
                customdata=[[plain(case), f"{model:,.0f}", f"{off:+.1f}"]
                            for case, _, model, off in points],
                hovertemplate=(
                    f"<b>%{{customdata[0]}}</b><br>measured %{{x:,}}, {name} %{{customdata[1]}}"
                    " (%{customdata[2]} %)<extra></extra>"
                ),
            )
        )  # fmt: skip


def _line(x: Sequence[float], y: Sequence[float], axis: str) -> go.Scatter:
    return go.Scatter(
        x=x, y=y, yaxis=axis, mode="lines", name="equal", showlegend=axis == "y",
        line={"width": 1, "dash": "dot", "color": "#808c9b"}, hoverinfo="skip", zorder=2,
    )  # fmt: skip


def _finding(errors: Mapping[str, list[tuple[str, float, float, float]]]) -> str:
    name = "estimate" if errors.get("estimate") else "bound"
    off = [abs(point[3]) for point in errors[name]]
    return (
        f"{plural(len(off), 'kernel')}: the {name} is off by {_percent(fmean(off))} on average,"
        f" by {_percent(max(off))} at most"
    )


def _percent(share: float) -> str:
    """Return two digits, or all before the point.

    >>> _percent(9.46), _percent(752.7)
    ('9.5 %', '753 %')
    """
    return f"{share:.2g} %" if share < 99.5 else f"{share:.0f} %"
