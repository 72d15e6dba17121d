"""`timeline`: shared memory, wavefront after wavefront, to be played or stepped through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from layouts.tile import TileLike
from simulator.gemm.simulate import Operand
from simulator.law.specification import BANKS, WORD
from simulator.results.html import LANE_COLORS, ink
from viz.bank_heatmap import bank_axis, label
from viz.figure import Panel, assemble, message, swatch
from viz.strips import Strip
from viz.theme import Theme
from viz.word_map import found_layers, ground, ground_legend, layer_axis, read_words, when

__all__ = ["timeline"]

# Codes of a cell; up to 31 it is the lane that is served now.
_EMPTY, _WAITING, _SERVED = -1, 32, 33
_MUTED = {"still to be served": "rgba(128,140,155,0.45)", "served before": "rgba(0,158,115,0.40)"}

_SCALE = [
    ((code + side + 1) / 35, color)
    for code, color in [
        (_EMPTY, "rgba(0,0,0,0)"),
        *enumerate(LANE_COLORS),
        *zip((_WAITING, _SERVED), _MUTED.values(), strict=True),
    ]
    for side in (0, 1)
]

_CONTROLS = 92  # pixels of the buttons and the slider


def timeline(
    result: object,
    *,
    fragment: Operand | None = None,
    tile: TileLike | None = None,
    element: int | None = None,
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Step through the wavefronts of an access with a slider, or play them.

    The cells are the words of shared memory, as in `word_map`. Those that the present wavefront
    serves are coloured by lane; the legend tells the colours of those still to be served, of those
    served before, and of the tile's other words. There is a frame per wavefront.

    Parameters
    ----------
    result
        What `explain` or `simulate` returned.
    fragment, tile, element, title, theme
        Those of `word_map`.

    Examples
    --------
    >>> from bankwise import explain
    >>> len(timeline(explain("LDS", [128 * lane for lane in range(32)])).frames)
    32
    """
    found, layers = found_layers(result, fragment, tile, element)
    words = read_words(found.strips)
    shape = (max(1, len(layers.layers)), BANKS)
    codes = np.full(shape, _EMPTY, np.int8)
    told: list[list[list[Any] | None]] = [[None] * BANKS for _ in range(shape[0])]
    for word, accesses in words.items():
        bank, row = layers.place(word)
        codes[row, bank] = _WAITING
        told[row][bank] = [
            word,
            "<br>".join(map(when, accesses[:4])),
        ]
    names: list[str] = []
    frames: list[go.Frame] = []
    for order, strip in enumerate(found.strips):
        for phase in strip.explanation.phases:
            for number, wavefront in enumerate(phase.wavefronts):
                served = [(layers.place(each.word), each.lanes) for each in wavefront]
                for (bank, row), lanes in served:
                    codes[row, bank] = lanes[0]
                which = f"{order + 1}: " if len(found.strips) > 1 else ""
                names.append(f"{which}phase {phase.index} · {number}")
                frames.append(
                    go.Frame(
                        name=str(len(frames)),
                        traces=[0, 1],
                        data=[{"type": "heatmap", "z": codes.copy()}, _labels(served)],
                    )
                )
                for (bank, row), _ in served:
                    codes[row, bank] = _SERVED
    first = frames[0].data if frames else [{"z": codes}, _labels([])]
    cells = go.Heatmap(
        z=first[0]["z"],
        customdata=told,
        zmin=_EMPTY - 0.5,
        zmax=_SERVED + 0.5,
        colorscale=_SCALE,
        showscale=False,
        xgap=1,
        ygap=1,
        hovertemplate=(
            f"bank %{{x}}, word %{{customdata[0]}} (of {WORD} bytes)"
            "<br>%{customdata[1]}<extra></extra>"
        ),
    )
    panel = Panel(
        columns=BANKS,
        rows=max(1, len(layers.layers)),
        traces=[
            cells,
            go.Scatter(first[1]),
            *ground(layers, words),
            *(swatch(*named) for named in _MUTED.items() if words),
            *ground_legend(layers, words),
        ],
        x=bank_axis(),
        y=layer_axis(layers),
        annotations=[] if words else [message("No word is accessed.")],
        left=64,
    )
    return assemble(
        "timeline",
        [panel],
        f"{found.finding}, one after the other" if title is None else title,
        f"Coloured, with the lane: served now. {_steps(found.strips)} {found.left_out}".strip(),
        theme=theme,
        bar=False,
        frames=frames,
        controls=_controls(names) if frames else None,
        control_pixels=_CONTROLS if frames else 0,
    )


def _steps(accesses: Sequence[Strip]) -> str:
    return f"Steps: {'instruction: ' if len(accesses) > 1 else ''}phase · wavefront."


def _labels(served: list[tuple[tuple[int, int], tuple[int, ...]]]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "text",
        "x": [bank for (bank, _), _ in served],
        "y": [row for (_, row), _ in served],
        "text": [label(lanes) for _, lanes in served],
        "textfont": {"size": 10, "color": [ink(LANE_COLORS[lanes[0]]) for _, lanes in served]},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _controls(names: list[str]) -> dict[str, Any]:
    at_once = {"mode": "immediate", "transition": {"duration": 0}}
    return {
        "updatemenus": [
            {
                "type": "buttons",
                "direction": "right",
                "showactive": False,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 56, "r": 0},
                "buttons": [
                    {
                        "label": "▶",
                        "method": "animate",
                        "args": [
                            None,
                            {
                                "fromcurrent": True,
                                "transition": {"duration": 0},
                                "frame": {"duration": 700, "redraw": True},
                            },
                        ],
                    },
                    {
                        "label": "❚❚",
                        "method": "animate",
                        "args": [
                            [None],
                            {**at_once, "frame": {"duration": 0, "redraw": False}},
                        ],
                    },
                ],
            }
        ],
        "sliders": [
            {
                "x": 0,
                "xanchor": "left",
                "len": 1,
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 48, "l": 96, "r": 30, "b": 0},
                "ticklen": 4,
                "font": {"size": 11},
                "currentvalue": {"prefix": "now: ", "font": {"size": 12}},
                "steps": [
                    {
                        "label": name,
                        "method": "animate",
                        "args": [
                            [str(number)],
                            {**at_once, "frame": {"duration": 0, "redraw": True}},
                        ],
                    }
                    for number, name in enumerate(names)
                ],
            }
        ],
    }
