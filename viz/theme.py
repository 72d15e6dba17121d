"""One look for all figures, light and dark: colours, fonts, and text that cannot be markup.

Colours that carry meaning are the same in both themes, so a figure can change its theme
without being drawn again: the page of a report swaps the template and nothing else.

* lanes: the cyclic scale of `simulator.results.html`
* counts: Viridis, which runs evenly in lightness, also for colour-blind readers (van der Walt
  and Smith, "A better default colormap for Matplotlib", SciPy 2015)
* kinds of things: the palette of Okabe and Ito, "Color Universal Design" (2008)
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Literal

import plotly.graph_objects as go

from layouts.errors import accepted
from simulator.results.html import LANE_COLORS
from viz.errors import DrawError

__all__ = [
    "COUNTS",
    "FONT",
    "KINDS",
    "LANES",
    "SMALL",
    "THEMES",
    "Theme",
    "plain",
    "template",
]

FONT = '"Helvetica Neue", Arial, "Liberation Sans", sans-serif'
SMALL = 11
"""Pixels of the smallest text but for cells, which may go down to 10."""

KINDS: Mapping[str, str] = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
}

COUNTS = "Viridis"

# A step for each lane: no colour lies between two lanes.
LANES = [[(lane + side) / 32, color] for lane, color in enumerate(LANE_COLORS) for side in (0, 1)]

Theme = Literal["light", "dark"]

THEMES: Mapping[Theme, Mapping[str, str]] = {
    "light": {"paper": "#ffffff", "plot": "#f0f2f5", "ink": "#1c2128", "faint": "#59636e"},
    "dark": {"paper": "#14171c", "plot": "#22272e", "ink": "#e8ebef", "faint": "#a3adb8"},
}
"""Background, empty cells, text and secondary text of each theme."""


def template(theme: Theme) -> go.layout.Template:
    """Return the Plotly template of a theme; raises DrawError for an unknown one."""
    if theme not in THEMES:
        raise DrawError(f"unknown theme {theme!r}: {accepted(theme, THEMES)}")
    colors = THEMES[theme]
    axis: dict[str, Any] = {
        "gridcolor": colors["paper"],
        "linecolor": colors["faint"],
        "tickcolor": colors["faint"],
        "zeroline": False,
        "tickfont": {"size": SMALL},
        "title": {"font": {"size": 12}, "standoff": 6},
        "minor": {"gridcolor": colors["paper"]},
    }
    button = {"bgcolor": colors["plot"], "bordercolor": colors["faint"], "font": {"size": 12}}
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 12, "color": colors["ink"]},
            "paper_bgcolor": colors["paper"],
            "plot_bgcolor": colors["plot"],
            "title": {
                "font": {"size": 17},
                "subtitle": {"font": {"size": 12, "color": colors["faint"]}},
            },
            "colorway": list(KINDS.values()),
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "align": "left",
                "font": {"family": FONT, "size": 12, "color": colors["ink"]},
                "bgcolor": colors["paper"],
                "bordercolor": colors["faint"],
            },
            "annotationdefaults": {"font": {"size": 12, "color": colors["ink"]}},
            "shapedefaults": {"line": {"color": colors["ink"]}},
            "updatemenudefaults": button,
            "sliderdefaults": {**button, "activebgcolor": colors["faint"]},
        }
    )


def plain(text: object) -> str:
    """Make a text safe for Plotly, which reads tags and entities in what it draws.

    >>> plain("a < b & <script>")
    'a &lt; b &amp; &lt;script&gt;'
    """
    return html.escape(str(text), quote=False)
