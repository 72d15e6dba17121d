"""What a notebook shows of one access without JavaScript: its banks as coloured cells.

The colours of lanes are defined here, and nowhere else: `viz` draws with the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

__all__ = ["LANE_COLORS", "bank_table", "ink"]

# A loop through eight colours whose lightness rises to lane 14 and falls again, blue on the way
# up and orange on the way down, so that it can be read without telling red from green: lanes
# four or more apart differ under each of the colour-vision deficiencies, as
# tests/unit/viz/test_figures.py checks.
_LOOP = ["352a87", "2f6fc4", "6fb3e0", "cfe0cb", "f4d35e", "ee964b", "b8473c", "6d2a6b"]


def _loop(lane: int) -> str:
    step = 32 // len(_LOOP)
    first, second = _LOOP[lane // step], _LOOP[(lane // step + 1) % len(_LOOP)]
    share = lane % step / step
    channels = (
        round(int(first[i : i + 2], 16) * (1 - share) + int(second[i : i + 2], 16) * share)
        for i in (0, 2, 4)
    )
    return "#" + "".join(f"{channel:02x}" for channel in channels)


LANE_COLORS: Sequence[str] = tuple(map(_loop, range(32)))
"""A colour for each lane, `#rrggbb`; lane 31's is next to lane 0's."""


def ink(background: str) -> str:
    """Choose black or white text for a background `#rrggbb`, by luma (ITU-R BT.601).

    >>> ink("#f4d35e"), ink("#352a87")
    ('#000000', '#ffffff')
    """
    red, green, blue = (int(background[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def bank_table(served: Mapping[str, Sequence[Any]]) -> str:
    """Draw one row per wavefront, one cell per bank; a cell names its first lane, `+` for more.

    `served`: the columns phase, wavefront, bank, word and lanes of an `Explanation`. Pointing at a
    cell tells its lanes and its word.
    """
    head = "".join(f'<th style="{_CELL}">{bank}</th>' for bank in range(32))
    lines = [f"<tr><th>phase</th><th>wavefront</th>{head}</tr>"]
    names = ("phase", "wavefront", "bank", "word", "lanes")
    rows = zip(*(served[name] for name in names), strict=True)
    for (phase, number), wavefront in groupby(rows, key=lambda row: row[:2]):
        cells = [f'<td style="{_CELL}"></td>'] * 32
        for _, _, bank, word, lanes in wavefront:
            first, *more = lanes
            color = LANE_COLORS[first]
            cells[bank] = (
                f'<td style="{_CELL};background:{color};color:{ink(color)}"'
                f' title="bank {bank}, word {word},'
                f' lane{"s" if more else ""} {", ".join(map(str, lanes))}">'
                f"{first}{'+' if more else ''}</td>"
            )
        lines.append(f"<tr><td>{phase}</td><td>{number}</td>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


_CELL = "padding:0;width:1.9em;height:1.9em;text-align:center;font-size:80%"
