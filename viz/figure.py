"""Figures made of cells: one or several panels, with square cells and text where it fits.

A panel is drawn in cells (one unit of its axes is one cell); `assemble` turns panels into a
figure whose size makes the cells square. How a figure may be resized is kept with it, in
`layout.meta["bankwise"]`: that is what the page of a report uses when it knows its width.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from viz.theme import KINDS, LANES, SMALL, Theme, plain, template

__all__ = [
    "Panel", "assemble", "framed", "heading", "lane_scale", "message", "scale_below", "swatch",
    "titled",
]  # fmt: skip

_WIDTH = 1024  # pixels of a panel's cells: 32 of 32
_LARGEST = 56
_RIGHT = 12
_NARROWEST = 620  # pixels of a figure, so that titles have room
_AXIS, _LEGEND, _BAR = 46, 26, 46  # pixels below the cells
_ASCENT = 12  # pixels of a title's letters above their baseline


@dataclass
class Panel:
    """Cells with their axes, drawn on `x` and `y` whatever their number in the figure."""

    columns: float
    rows: float
    traces: list[Any]
    x: dict[str, Any]
    y: dict[str, Any]
    left: int = 84
    """Pixels for the labels of the rows."""
    below: int = _AXIS
    annotations: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    heading: str = ""
    """Above the cells, where there are several panels."""


def titled(title: str, subtitle: str, width: int) -> tuple[dict[str, Any], int]:
    """Wrap a title and the line below it to a width; give them and the pixels they need."""
    lines = textwrap.wrap(title, max(20, width // 9)) or [""]
    below = textwrap.wrap(subtitle, max(30, width // 6))
    pixels = 24 + 22 * len(lines) + 16 * len(below)
    # Plotly puts the baseline of a first of several lines where it puts the top of a single one.
    ascent = _ASCENT if len(lines) > 1 else 0
    text: dict[str, Any] = {
        "text": "<br>".join(map(plain, lines)),
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"t": 12 + ascent, "l": 12},
    }
    if below:
        text["subtitle"] = {"text": "<br>".join(map(plain, below))}
    return text, pixels


def assemble(
    kind: str,
    panels: Sequence[Panel],
    title: str,
    subtitle: str = "",
    *,
    theme: Theme,
    bar: bool = True,
    widest: int = _WIDTH,
    least: float = 29,
    short: float = 17,
    frames: Sequence[go.Frame] = (),
    controls: Mapping[str, Any] | None = None,
    control_pixels: int = 0,
) -> go.Figure:
    """Put panels side by side, all on the same scale.

    Parameters
    ----------
    kind
        What kind of figure it is.
    panels
        What is put together.
    title, subtitle
        Above the panels.
    theme
        "light" or "dark".
    bar
        Whether there is a colour bar.
    widest
        The most pixels that the cells take across.
    least
        The size of a cell, in pixels, from which on it holds its whole text.
    short
        The same for a number alone.
    frames, controls, control_pixels
        Those of an animation, and the height of its controls.
    """
    columns = max(panel.columns for panel in panels)
    rows = max(panel.rows for panel in panels)
    left = max(panel.left for panel in panels)
    cell = min(_LARGEST, widest / columns)
    wide = columns * cell
    width = max(_NARROWEST, round(len(panels) * (left + wide) + _RIGHT))
    text, top = titled(title, subtitle, width)
    legend = any(trace.showlegend for panel in panels for trace in panel.traces)
    above = 24 if any(panel.heading for panel in panels) else 0
    axis = max(panel.below for panel in panels)
    below = axis + control_pixels + _LEGEND * legend + _BAR * bar
    height = round(rows * cell + top + above + below)
    figure = go.Figure(frames=list(frames))
    # Wider than few cells are, so that the scale and the legend have room.
    inner = width - left - _RIGHT
    settings: dict[str, Any] = {}
    annotations, shapes = [], []
    named: set[str] = set()
    for number, panel in enumerate(panels):
        suffix = "" if number == 0 else str(number + 1)
        x, y = f"x{suffix}", f"y{suffix}"
        for trace in panel.traces:
            if getattr(trace, "texttemplate", None) and cell < least:
                trace.texttemplate = "%{z}" if cell >= short else ""
            # Panels have the same kinds of marks: the legend names each once.
            trace.showlegend = bool(trace.showlegend) and trace.name not in named
            named |= {trace.name} if trace.showlegend else set()
            if number and trace.type == "heatmap":
                trace.showscale = False
            elif trace.type == "heatmap" and trace.colorbar.len is not None:
                # In pixels: a share of the width is of the cells' or of the whole, as Plotly's
                # passes over the layout happen to end.
                trace.colorbar.update(lenmode="pixels", len=inner)
            figure.add_trace(trace.update(xaxis=x, yaxis=y))
        start = number * (left + wide) / inner
        settings[f"xaxis{suffix}"] = {
            "range": [-0.5, columns - 0.5],
            "domain": [start, min(1, start + wide / inner)],
            "anchor": y,
            "constrain": "domain",
            "fixedrange": True,
            "showgrid": False,
            **panel.x,
        }
        settings[f"yaxis{suffix}"] = {
            "range": [rows - 0.5, -0.5],
            "anchor": x,
            "scaleanchor": x,
            "constrain": "domain",
            "constraintoward": "top",
            "fixedrange": True,
            "showgrid": False,
            **panel.y,
        }
        annotations += [{**each, "xref": x, "yref": y} for each in panel.annotations]
        shapes += [
            {**each, "xref": each.get("xref", "x").replace("x", x), "yref": y}
            for each in panel.shapes
        ]
        if panel.heading:
            annotations.append(heading(panel.heading, x, y))
    figure.update_layout(
        template=template(theme),
        title=text,
        width=width,
        height=height,
        margin={
            "l": left,
            "r": _RIGHT,
            "t": top + above,
            "b": below,
            "autoexpand": False,
        },
        legend={
            "orientation": "h",
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": _BAR * bar / height,
            "yref": "container",
            "yanchor": "bottom",
            "font": {"size": SMALL},
        },
        showlegend=legend,
        annotations=annotations,
        shapes=shapes,
        meta={
            "bankwise": {
                "kind": kind,
                "title": title,
                "subtitle": subtitle,
                "panels": len(panels),
                "columns": columns,
                "rows": rows,
                "cell": cell,
                "narrowest": _NARROWEST,
                "above": above,
                "under": below - axis,
                "legend": _BAR * bar if legend else None,
                "least": least,
                "short": short,
            }
        },
        **settings,
        **(controls or {}),
    )
    return figure


def heading(text: str, x: str, y: str) -> dict[str, Any]:
    """Put a bold line above a panel, wherever the panel lies."""
    return {
        "text": f"<b>{plain(text)}</b>",
        "xref": f"{x} domain",
        "x": 0,
        "xanchor": "left",
        "yref": f"{y} domain",
        "y": 1,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def lane_scale() -> dict[str, Any]:
    """Return the settings of a heat map whose values are lanes, with its scale at the bottom."""
    return {
        "zmin": -0.5,
        "zmax": 31.5,
        "colorscale": LANES,
        "colorbar": scale_below([0, 8, 16, 24, 31], ["lane 0", "8", "16", "24", "31"]),
    }


def scale_below(
    ticks: Sequence[float] | None = None, labels: Sequence[str] | None = None, unit: str = ""
) -> dict[str, Any]:
    """Lay a colour scale along the lower edge of the figure; the unit stands at its first tick."""
    return {
        "orientation": "h",
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "thickness": 9,
        "len": 1,
        "ypad": 7,
        "xpad": 0,
        "outlinewidth": 0,
        "tickfont": {"size": SMALL},
        "tickvals": ticks,
        "ticktext": labels,
        "ticksuffix": f" {unit}" if unit else "",
        "showticksuffix": "first",
        "showexponent": "all",  # else it is shown where the unit is: 350M, 400, 450
        "nticks": 6,
    }


def message(text: str) -> dict[str, Any]:
    """Say something in the middle of a panel that has nothing to show."""
    return {"text": plain(text), "x": 15.5, "y": 0, "showarrow": False}


def framed(cells: Sequence[tuple[int, int]], name: str, *, width: int) -> go.Scatter:
    """Draw a frame around each cell (column, row); `width` is the line's, in pixels."""
    x: list[float | None] = []
    y: list[float | None] = []
    for column, row in cells:
        x += [column - 0.46, column + 0.46, column + 0.46, column - 0.46, column - 0.46, None]
        y += [row - 0.46, row - 0.46, row + 0.46, row + 0.46, row - 0.46, None]
    return go.Scatter(
        x=x or [None],
        y=y or [None],
        mode="lines",
        name=name,
        line={"width": width, "color": KINDS["vermilion"]},
        hoverinfo="skip",
        showlegend=bool(cells),
    )


def swatch(name: str, color: str) -> go.Scatter:
    """Name a colour of cells in the legend, and draw nothing else."""
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=name,
        marker={
            "symbol": "square",
            "size": 11,
            "color": color,
            "line": {"width": 1, "color": "#808c9b"},
        },
        hoverinfo="skip",
        showlegend=True,
    )
