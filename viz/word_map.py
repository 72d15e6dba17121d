"""`word_map`: shared memory as rows of 32 words, and who reads each word when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from layouts.errors import plural
from layouts.tile import Tile, TileLike
from simulator.gemm.simulate import Operand
from simulator.law.explaining import ranges
from simulator.law.specification import BANKS, WORD
from viz.bank_heatmap import bank_axis, dots, label, who
from viz.errors import DrawError
from viz.figure import Panel, assemble, framed, lane_scale, message, swatch
from viz.strips import Strip, Strips, strips
from viz.theme import KINDS, Theme

__all__ = [
    "Layers",
    "found_layers",
    "ground",
    "ground_legend",
    "layer_axis",
    "layers_of",
    "read_words",
    "when",
    "word_map",
    "word_panel",
]

_MOST_LAYERS = 40  # in one piece; beyond, only layers that are touched are drawn
_OF_TILE = 16  # layers of a tile that are drawn if it has them, touched or not
_MOST_TILE_BYTES = 1 << 18
_OUTLINED = "conflict: its bank serves more in the same phase"
_UNREAD = ("of the tile, not accessed", "rgba(128,140,155,0.20)")
_PADDING = ("padding: holds nothing", "rgba(128,140,155,0.75)")


@dataclass(frozen=True)
class Service:
    """One service of a word: in which access, phase and wavefront, for whom."""

    heading: str
    phase: int
    wavefront: int
    lanes: tuple[int, ...]
    who: Sequence[str]
    conflicts: bool
    """Whether its bank serves another word, or this one again, in the same phase."""


@dataclass(frozen=True)
class Layers:
    """The rows that are drawn: row → layer (word // 32), and what the tile has in each word."""

    layers: Sequence[int]
    contents: Mapping[int, str]
    """word → its elements, for words of the tile."""
    padding: Sequence[int]
    """Words between the tile's first and last that hold no element."""
    starts: Sequence[tuple[int, int]]
    """(word, tile row) where a row of the tile begins."""

    def place(self, word: int) -> tuple[int, int]:
        """Return the cell of a word: bank, row."""
        return word % BANKS, self.layers.index(word // BANKS)


def word_map(
    result: object,
    *,
    fragment: Operand | None = None,
    tile: TileLike | None = None,
    element: int | None = None,
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw shared memory, 32 words per row, each word in the colour of the lane that reads it.

    The tile of a result is drawn below in two greys: what is not accessed, and padding; a mark
    shows where each row begins. Words are outlined where their bank has to serve another in the
    same phase.

    Raises DrawError for another result, fragment or theme, or a tile beyond 256 KiB.

    Parameters
    ----------
    result
        What `explain` or `simulate` returned.
    fragment
        "A" or "B" of what `simulate` returned, by default "B".
    tile, element
        What lies there: a Tile, a Layout or a text of one, and bytes of an element, by default 4.
    title
        The figure's, instead of the one that says what is seen.
    theme
        "light" or "dark".

    Examples
    --------
    >>> from bankwise import explain
    >>> figure = word_map(explain("LDS", [8 * lane for lane in range(32)]))
    >>> figure.layout.title.text
    'LDS: 2 wavefronts, 1 ideal, 1 bank conflict; 32 words in 2 layers, 32 of them in conflict'
    """
    found, layers = found_layers(result, fragment, tile, element)
    left_out = ["A layer is 32 words.", found.left_out]
    if layers.layers and len(layers.layers) <= layers.layers[-1] - layers.layers[0]:
        left_out.append("Layers that are not accessed are left out.")
    return assemble(
        "word_map",
        [word_panel(found, layers)],
        _finding(found) if title is None else title,
        " ".join(filter(None, left_out)),
        theme=theme,
    )


def _finding(found: Strips) -> str:
    words = read_words(found.strips)
    touched = plural(len({word // BANKS for word in words}), "layer")
    busy = sum(any(access.conflicts for access in accesses) for accesses in words.values())
    conflicts = f", {busy:,} of them in conflict" if busy else ""
    return f"{found.finding}; {plural(len(words), 'word')} in {touched}{conflicts}"


def found_layers(
    result: object, fragment: Operand | None, tile: TileLike | None, element: int | None
) -> tuple[Strips, Layers]:
    """Return the accesses of a result, and the layers that they and their tile lie in."""
    if fragment is None and hasattr(result, "fragments"):
        fragment = "B"
    found = strips(result, fragment)
    placed = found.tile if tile is None else Tile.of(tile)
    size = element or (placed.element if placed else None) or found.element
    asked = tile is not None or element is not None
    if not asked and placed is not None and not _drawable(placed, size):
        placed = None  # what was not asked for is no reason to draw nothing
    return found, layers_of(found.strips, placed, size)


def _drawable(tile: Tile, element: int) -> bool:
    return element in (1, 2, 4) and tile.elements * element <= _MOST_TILE_BYTES


def read_words(accesses: Iterable[Strip]) -> dict[int, list[Service]]:
    """List, for each word, when it is served and to whom."""
    words: dict[int, list[Service]] = {}
    for strip in accesses:
        for phase in strip.explanation.phases:
            busy = {
                bank
                for bank, queue in phase.banks.items()
                if len({(served.word, served.lanes) for served in queue}) > 1
            }
            for number, wavefront in enumerate(phase.wavefronts):
                for served in wavefront:
                    told = who(strip.explanation, served.lanes)
                    words.setdefault(served.word, []).append(
                        Service(
                            strip.heading,
                            phase.index,
                            number,
                            served.lanes,
                            told,
                            served.bank in busy,
                        )
                    )
    return words


def layers_of(accesses: Sequence[Strip], tile: Tile | None, element: int) -> Layers:
    """Choose the layers to draw, and say what the tile has there."""
    touched = sorted({word // BANKS for word in read_words(accesses)})
    if tile is None:
        return Layers(_rows(touched, None), {}, [], [])
    elements = tile.elements
    if not _drawable(tile, element):
        raise DrawError(
            f"a tile of {elements} elements of {element!r} bytes cannot be drawn (accepted: sizes"
            f" 4, 2, 1, and up to {_MOST_TILE_BYTES} bytes)"
        )
    row, col = np.indices((tile.rows, tile.cols))
    words = np.asarray(tile.offset(row, col)) * element // WORD
    last = int(words.max())
    layers = _rows(touched, last // BANKS)
    kept = set(layers)
    contents: dict[int, list[tuple[int, int]]] = {}
    inside = np.isin(words // BANKS, layers)
    for i, j, word in zip(row[inside], col[inside], words[inside], strict=True):
        contents.setdefault(int(word), []).append((int(i), int(j)))
    return Layers(
        layers,
        {word: _elements(cells) for word, cells in contents.items()},
        [
            word
            for layer in layers
            for word in range(layer * BANKS, layer * BANKS + BANKS)
            if word < last and word not in contents
        ],
        [(int(word), number) for number, word in enumerate(words[:, 0]) if word // BANKS in kept],
    )


def _rows(touched: Sequence[int], last_of_tile: int | None) -> list[int]:
    first, last = (touched[0], touched[-1]) if touched else (0, 0)
    if last_of_tile is not None:
        last = max(last, min(last_of_tile, first + _OF_TILE - 1))
    return list(range(first, last + 1)) if last - first < _MOST_LAYERS else list(touched)


def _elements(cells: Sequence[tuple[int, int]]) -> str:
    by_row: dict[int, list[int]] = {}
    for row, col in cells:
        by_row.setdefault(row, []).append(col)
    return "; ".join(
        f"row {row}, column{'s' if len(cols) > 1 else ''} {ranges(sorted(cols))}"
        for row, cols in by_row.items()
    )


def word_panel(found: Strips, layers: Layers) -> Panel:
    """Draw the layers with what is read from them."""
    words = read_words(found.strips)
    shape = (max(1, len(layers.layers)), BANKS)
    values = np.full(shape, None, object)
    texts = np.full(shape, "", object)
    told: list[list[list[Any] | None]] = [[None] * BANKS for _ in range(shape[0])]
    shared, outlined = [], []
    for word, accesses in words.items():
        bank, row = layers.place(word)
        lanes = sorted({lane for access in accesses for lane in access.lanes})
        values[row, bank] = lanes[0]
        texts[row, bank] = label(lanes)
        told[row][bank] = [
            f"lane{'s' if len(lanes) > 1 else ''} {ranges(lanes)}",
            accesses[0].who[1],
            word,
            f"bytes {word * WORD}-{word * WORD + WORD - 1}{_content(layers, word)}",
            "<br>".join(when(access) for access in accesses[:4])
            + ("<br>…" if len(accesses) > 4 else ""),
        ]
        if len(lanes) > 1:
            shared.append((bank, row))
        if any(access.conflicts for access in accesses):
            outlined.append((bank, row))
    cells = go.Heatmap(
        z=values.tolist(),
        text=texts.tolist(),
        customdata=told,
        texttemplate="%{text}",
        textfont={"size": 10},
        hovertemplate=(
            "<b>%{customdata[0]}</b><br>%{customdata[1]}"
            "<br>bank %{x}, word %{customdata[2]}, %{customdata[3]}"
            "<br>%{customdata[4]}<extra></extra>"
        ),
        hoverongaps=False,
        xgap=1,
        ygap=1,
        **lane_scale(),
    )
    traces = [*ground(layers, words), cells, dots(shared), framed(outlined, _OUTLINED, width=2)]
    if layers.starts:
        traces.append(_starts(layers))
    traces += ground_legend(layers, words)
    return Panel(
        columns=BANKS,
        rows=max(1, len(layers.layers)),
        traces=traces,
        x=bank_axis(),
        y=layer_axis(layers),
        annotations=[] if words else [message("No word is accessed.")],
        left=64,
    )


def layer_axis(layers: Layers) -> dict[str, Any]:
    """Return the axis of the layers."""
    return {
        "title": {"text": "layer"},
        "tickvals": list(range(len(layers.layers))),
        "ticktext": [f"{layer}" for layer in layers.layers],
    }


def ground(layers: Layers, words: Mapping[int, Any]) -> list[go.Heatmap]:
    """Draw the tile's words that nobody reads, and its padding, below everything else."""
    if not layers.contents:
        return []
    values = np.full((len(layers.layers), BANKS), None, object)
    texts = np.full(values.shape, "", object)
    for word in layers.contents:
        if word not in words:
            bank, row = layers.place(word)
            values[row, bank] = 0
            texts[row, bank] = layers.contents[word]
    for word in layers.padding:
        bank, row = layers.place(word)
        values[row, bank] = 1
        texts[row, bank] = "padding"
    return [
        go.Heatmap(
            z=values.tolist(),
            text=texts.tolist(),
            zmin=0,
            zmax=1,
            colorscale=[[0, _UNREAD[1]], [1, _PADDING[1]]],
            showscale=False,
            hovertemplate="bank %{x}: %{text}<br>not accessed here<extra></extra>",
            hoverongaps=False,
            xgap=1,
            ygap=1,
            name="tile",
        )
    ]


def ground_legend(layers: Layers, words: Mapping[int, Any]) -> list[go.Scatter]:
    """Say what the colours of `ground` mean, as far as it has them."""
    unread = any(word not in words for word in layers.contents)
    return [
        swatch(*named)
        for named, is_seen in ((_UNREAD, unread), (_PADDING, layers.padding))
        if is_seen
    ]


def _starts(layers: Layers) -> go.Scatter:
    x: list[float | None] = []
    y: list[float | None] = []
    for word, _ in layers.starts:
        bank, row = layers.place(word)
        x += [bank - 0.5, bank - 0.5, None]
        y += [row - 0.5, row + 0.5, None]
    return go.Scatter(
        x=x or [None],
        y=y or [None],
        mode="lines",
        name="a row of the tile begins",
        line={"width": 3, "color": KINDS["purple"]},
        hoverinfo="skip",
        showlegend=True,
    )


def _content(layers: Layers, word: int) -> str:
    return f"<br>{layers.contents[word]}" if word in layers.contents else ""


def when(access: Service) -> str:
    """Say in which instruction, phase and wavefront a word is served, and for whom."""
    where = f"{access.heading}, " if access.heading else ""
    return f"{where}phase {access.phase}, wavefront {access.wavefront}: {access.who[0]}"
