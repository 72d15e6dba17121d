"""`warp_map`: where a warp's lanes work in the block tile, and which fragments they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from layouts.errors import plural
from layouts.fragment import FragmentKind, fragment_elements
from layouts.shapes import Shape, parse_shape
from layouts.warp import WarpLayout
from simulator.gemm.simulate import FragmentReport
from simulator.law.explaining import ranges
from viz.errors import DrawError
from viz.figure import Panel, assemble, scale_below
from viz.theme import KINDS, Theme

__all__ = ["warp_map"]

_QUARTERS = ("#56B4E9", "#F0E442", "#009E73", "#CC79A7")  # Okabe and Ito
_STRIP = 0.06  # of the longer edge: the width of the strips that show the fragments
_MOST = 128  # pieces along an edge
_FLATTEST = 6  # beyond this ratio of the edges, elements are not drawn square


def warp_map(
    layout: WarpLayout | FragmentReport,
    *,
    thread_tile: Shape = "8x8",
    fragment: FragmentKind = "contiguous",
    block_tile: Shape | None = None,
    lane: int = 0,
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw a warp's lanes over the elements of C that each computes.

    A cell is the thread tile of the lane it names, shaded by quarter of the warp: the lanes that a
    128-bit access serves together. Along the edges lie the fragments of A (left) and B (above);
    those that `lane` reads, and its thread tile, are framed.

    Raises DrawError for another layout or theme, a lane that does not exist, and
    LayoutError for bad shapes.

    Parameters
    ----------
    layout
        A WarpLayout, or what `simulate` returned, which knows its own sizes.
    thread_tile, fragment
        Those of `simulate`, beside a WarpLayout.
    block_tile
        The block tile that the warp is part of.
    lane
        The lane that is framed.
    title
        The figure's, instead of the one that says what is seen.
    theme
        "light" or "dark".

    Examples
    --------
    >>> from layouts import WarpLayout
    >>> figure = warp_map(WarpLayout.of("2x16", "row-major"))
    >>> figure.layout.title.text
    '2×16 warp, 8×8 thread tiles: 16×128 elements of C'
    """
    if isinstance(layout, FragmentReport):
        order = layout.lane_order
        warp = WarpLayout.of(layout.warp_shape, order)
        thread_tile, fragment, block_tile = layout.thread_tile, layout.fragment, layout.block_tile
        order_name = order if isinstance(order, str) else "given lane order"
    elif isinstance(layout, WarpLayout):
        warp, order_name = layout, ""
    else:
        raise DrawError(
            f"{type(layout).__name__} has no lanes to draw (accepted: a WarpLayout, or what"
            " simulate returns)"
        )
    if isinstance(lane, bool) or not isinstance(lane, int) or not 0 <= lane < 32:
        raise DrawError(f"lane {lane!r} is not in a warp (accepted: 0 to 31)")
    thread_m, thread_n = parse_shape(thread_tile, "MN", "thread tile")
    rows = fragment_elements(warp.rows, thread_m, fragment)
    cols = fragment_elements(warp.cols, thread_n, fragment)
    height, width = warp.rows * thread_m, warp.cols * thread_n
    block = (height, width)
    if block_tile is not None:
        block_m, block_n, _ = parse_shape(block_tile, "MNK", "block tile")
        block = (max(block_m, height), max(block_n, width))
    shape = f"{warp.rows}×{warp.cols} warp"
    split = " split in four" if fragment == "split" else ""
    finding = (
        f"{shape}{f', {order_name}' if order_name else ''},"
        f" {thread_m}×{thread_n} thread tiles{split}: {height}×{width} elements of C"
    )
    read = height + width
    subtitle = (
        f"For each k the warp reads {plural(height, 'element')} of A and {width:,} of B,"
        f" for {height * width:,} products: {height * width / read:.3g} a read."
        f" Framed: lane {lane} and its fragments."
    )
    y_runs, x_runs = _cuts(rows), _cuts(cols)
    if max(len(y_runs), len(x_runs)) > _MOST:
        subtitle += f" Only the first {_MOST} pieces along an edge are drawn."
        y_runs, x_runs = y_runs[:_MOST], x_runs[:_MOST]
    panel = _panel(warp, (rows, cols), (y_runs, x_runs), block, lane)
    least = 16 / min(last - first for first, last, _ in (*y_runs, *x_runs))
    return assemble(
        "warp_map",
        [panel],
        finding if title is None else title,
        subtitle,
        theme=theme,
        widest=620,
        least=least,
        short=least,
    )


_Edge = Sequence[Sequence[int]]
"""For each thread along an edge, the elements that it owns."""

_Run = tuple[int, int, int]
"""Neighbouring elements of one thread: first, one past the last, thread."""


def _panel(
    warp: WarpLayout,
    edges: tuple[_Edge, _Edge],
    runs: tuple[Sequence[_Run], Sequence[_Run]],
    block: tuple[int, int],
    lane: int,
) -> Panel:
    """Draw in elements of C: column along x, row along y; the fragments at negative places."""
    rows, cols = edges
    y_runs, x_runs = runs
    flat = max(block) > _FLATTEST * min(block)
    # As wide as high, unless the picture is stretched.
    across, down = (
        max(2.0, _STRIP * max(block)) if not flat or size == max(block) else size / 4
        for size in block[::-1]
    )
    lane_at = {place: each for each, place in enumerate(warp.coordinates)}
    lanes = [[lane_at[row, col] for _, _, col in x_runs] for _, _, row in y_runs]
    reads = [
        (ranges(sorted(rows[row])), ranges(sorted(cols[col]))) for row, col in warp.coordinates
    ]
    told = [[[each, *reads[each], each // 8] for each in line] for line in lanes]
    traces: list[Any] = []
    traces.append(
        go.Heatmap(
            x=[first - 0.5 for first, _, _ in x_runs] + [x_runs[-1][1] - 0.5],
            y=[first - 0.5 for first, _, _ in y_runs] + [y_runs[-1][1] - 0.5],
            z=[[each // 8 for each in line] for line in lanes],
            text=lanes,
            texttemplate="%{text}",
            textfont={"size": 11},
            customdata=told,
            zmin=-0.5,
            zmax=3.5,
            colorscale=[
                [(quarter + side) / 4, color]
                for quarter, color in enumerate(_QUARTERS)
                for side in (0, 1)
            ],
            colorbar=scale_below([0, 1, 2, 3], ["lanes 0-7", "lanes 8-15", "16-23", "24-31"]),
            hovertemplate=(
                "<b>lane %{customdata[0]}</b> (quarter %{customdata[3]})<br>reads A"
                " %{customdata[1]}<br>reads B %{customdata[2]}<extra></extra>"
            ),
            xgap=1,
            ygap=1,
            name="lanes",
        )
    )
    row, col = warp.coordinates[lane]
    shapes = [
        # The block tile, and the two operands along its edges.
        _box(0, 0, block[1], block[0], width=1),
        _box(-1.5 * across, 0, -0.5 * across, block[0], "rgba(213,94,0,0.15)", width=0),
        _box(0, -1.5 * down, block[1], -0.5 * down, "rgba(230,159,0,0.20)", width=0),
    ]
    for first, last in _runs(rows[row]):
        shapes.append(_box(-1.5 * across, first, -0.5 * across, last, KINDS["vermilion"]))
        for left, right in _runs(cols[col]):
            shapes.append(_box(left, first, right, last, width=3))
    for left, right in _runs(cols[col]):
        shapes.append(_box(left, -1.5 * down, right, -0.5 * down, KINDS["orange"]))
    marks = {"showarrow": False, "font": {"size": 13}}
    below = []
    if block[0] > sum(map(len, rows)):
        said = f"the block tile: {block[0]}×{block[1]}"
        corner = {"xanchor": "right", "yanchor": "bottom", "showarrow": False}
        below = [{"text": said, "x": block[1] - 1.5, "y": block[0] - 1.5, **corner}]
    wide, high = block[1] + 2 * across, block[0] + 2 * down
    return Panel(
        columns=max(wide, high / _FLATTEST),
        rows=max(high, wide / _FLATTEST),
        traces=traces,
        x={
            "range": [-2 * across - 0.5, block[1] - 0.5],
            "tickvals": _ticks(block[1]),
            "title": {"text": "column"},
        },
        y={
            "range": [block[0] - 0.5, -2 * down - 0.5],
            "tickvals": _ticks(block[0]),
            "title": {"text": "row"},
            **({"scaleanchor": False} if flat else {}),
        },
        annotations=[
            {"text": "<b>A</b>", "x": -across - 0.5, "y": block[0] - down, **marks},
            {"text": "<b>B</b>", "x": block[1] - across, "y": -down - 0.5, **marks},
            *below,
        ],
        shapes=shapes,
        left=58,
    )


def _cuts(fragments: _Edge) -> list[_Run]:
    """Cut an edge of the warp tile into runs, in order."""
    return sorted(
        (*run, thread) for thread, fragment in enumerate(fragments) for run in _runs(fragment)
    )


def _runs(elements: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring elements as (first, one past the last)."""
    runs: list[tuple[int, int]] = []
    for element in sorted(elements):
        if runs and runs[-1][1] == element:
            runs[-1] = (runs[-1][0], element + 1)
        else:
            runs.append((element, element + 1))
    return runs


def _box(
    x0: float, y0: float, x1: float, y1: float, fill: str = "rgba(0,0,0,0)", width: int = 2
) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": x0 - 0.5,
        "y0": y0 - 0.5,
        "x1": x1 - 0.5,
        "y1": y1 - 0.5,
        "fillcolor": fill,
        "line": {"width": width},
    }


def _ticks(size: int) -> list[int]:
    step = 8
    while size / step > 8:
        step *= 2
    return list(range(0, size, step))
