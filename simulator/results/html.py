"""Pictures of one access in HTML: its banks, and its words in memory, as coloured cells.

A colour tells how long a lane waits: the first wavefront of a phase is calm, each later one is
hotter. Notebooks show the pictures as they are; a page replaces the colours by its theme's. The
colours of lanes are defined here, too, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

__all__ = [
    "HEAT", "LANE_COLORS", "bank_table", "figure", "heat", "ink", "memory_table", "side_by_side",
]  # fmt: skip

BANKS = 32

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

HEAT: Sequence[tuple[str, str]] = (
    ("#93c1ec", "#10202f"),
    ("#ffd873", "#2a1f00"),
    ("#fbb03b", "#2a1600"),
    ("#ea7a22", "#1d0b00"),
    ("#bd3f16", "#ffffff"),
    ("#791f12", "#ffffff"),
)
"""Background and ink of what is served at once, after 1 wavefront, 2-3, 4-7, 8-15 and 16 or more:
from blue to dark red, and darker with each step."""


def heat(wait: int) -> int:
    """Return the place in `HEAT` of a lane that waits for so many wavefronts.

    >>> [heat(wait) for wait in (0, 1, 2, 3, 4, 8, 31)]
    [0, 1, 2, 2, 3, 4, 5]
    """
    return min(wait.bit_length(), len(HEAT) - 1)


def ink(background: str) -> str:
    """Choose black or white text for a background `#rrggbb`, by luma (ITU-R BT.601).

    >>> ink("#f4d35e"), ink("#352a87")
    ('#000000', '#ffffff')
    """
    red, green, blue = (int(background[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


class _Cell(NamedTuple):
    """Neighbouring banks that one wavefront serves for the same lanes."""

    bank: int
    banks: int
    word: int
    lanes: tuple[int, ...]
    phase: int
    wavefront: int


def bank_table(served: Mapping[str, Sequence[Any]], *, passes: int = 1, label: str = "") -> str:
    """Return a table with a row per wavefront: 32 banks across, in a cell the first lane served.

    `served`: the columns phase, wavefront, bank, word and lanes of an `Explanation`; `passes`: the
    wavefronts that its instruction takes for each word. A cell ends in + where it serves more
    lanes than it names. Pointing at it tells its lanes and words. `label` says what it shows.
    """
    rows = []
    several = len(set(served["phase"])) > 1
    for (phase, number), wavefront in groupby(_cells(served), key=lambda one: one[4:]):
        first = f"phase {phase}" if several else "wavefront 0"
        name = str(number) if number else first
        head = f'<th scope="row" title="phase {phase}, wavefront {number}">{name}</th>'
        cells = _placed(wavefront, passes)
        rows.append(f'<tr data-phase="{phase}" data-wavefront="{number}">{head}{cells}</tr>')
    return _table(rows, "banks", label)


def memory_table(served: Mapping[str, Sequence[Any]], *, passes: int = 1, label: str = "") -> str:
    """Return a table of the words in memory, 32 across: in a cell the first lane that wants it.

    A row begins with its address in bytes; rows that no lane wants are left out. The columns are
    those of `bank_table`. A word's colour is that of its last wavefront.
    """
    words: dict[int, _Cell] = {}
    for cell in _each(served):
        known = words.get(cell.word)
        lanes = () if known is None else known.lanes
        more = tuple(lane for lane in cell.lanes if lane not in lanes)
        late = cell if known is None or cell.wavefront >= known.wavefront else known
        words[cell.word] = late._replace(lanes=(*lanes, *more))
    rows = []
    before = None
    for row, cells in groupby(
        _joined(words[word] for word in sorted(words)), key=lambda cell: cell.word // BANKS
    ):
        skipped = before is not None and row > before + 1
        before = row
        begin = f"{row * BANKS * 4:,}"
        head = f'<th scope="row" title="from byte {begin} on">{begin}</th>'
        rows.append(f"<tr{' class=skips' if skipped else ''}>{head}{_placed(cells, passes)}</tr>")
    return _table(rows, "memory", label)


def _each(served: Mapping[str, Sequence[Any]]) -> Iterator[_Cell]:
    names = ("bank", "word", "lanes", "phase", "wavefront")
    for bank, word, lanes, phase, number in zip(*(served[name] for name in names), strict=True):
        yield _Cell(bank, 1, word, tuple(lanes), phase, number)


def _cells(served: Mapping[str, Sequence[Any]]) -> Iterator[_Cell]:
    return _joined(sorted(_each(served), key=lambda cell: (cell.phase, cell.wavefront, cell.bank)))


def _joined(cells: Iterator[_Cell] | Sequence[_Cell]) -> Iterator[_Cell]:
    """Join neighbours that go to the same lanes and lie side by side in memory."""
    last: _Cell | None = None
    for cell in cells:
        if (
            last is not None
            and cell.bank == last.bank + last.banks
            and cell.word == last.word + last.banks
            and cell[3:] == last[3:]
        ):
            last = last._replace(banks=last.banks + 1)
            continue
        if last is not None:
            yield last
        last = cell
    if last is not None:
        yield last


def _placed(cells: Iterator[_Cell], passes: int) -> str:
    """Return the cells of a row; the banks between them are empty."""
    parts = []
    at = 0
    for cell in cells:
        parts.append("<td></td>" * (cell.bank - at))
        at = cell.bank + cell.banks
        parts.append(_drawn(cell, passes))
    return "".join([*parts, "<td></td>" * (BANKS - at)])


def _drawn(cell: _Cell, passes: int) -> str:
    first, *more = cell.lanes
    step = heat(cell.wavefront // passes)
    paper, text = HEAT[step]
    lanes = ", ".join(map(str, cell.lanes))
    told = (
        f"{_span('bank', cell.bank, cell.banks)}, {_span('word', cell.word, cell.banks)},"
        f" lane{'s' if more else ''} {lanes}"
    )
    span = f' colspan="{cell.banks}"' if cell.banks > 1 else ""
    return (
        f'<td{span} data-lanes="{" ".join(map(str, cell.lanes))}"'
        f' data-phase="{cell.phase}" data-wavefront="{cell.wavefront}"'
        f' style="background:var(--h{step},{paper});color:var(--t{step},{text})"'
        f' title="{told}">{first}{"+" if more else ""}</td>'
    )


def _span(noun: str, first: int, many: int) -> str:
    return f"{noun} {first}" if many == 1 else f"{noun}s {first}-{first + many - 1}"


def _table(rows: Sequence[str], kind: str, label: str) -> str:
    heads = "".join(f"<th>{bank}</th>" for bank in range(BANKS))
    named = f' aria-label="{escape(label)}"' if label else ""
    columns = f'<col class="begin"><col span="{BANKS}">'
    size = "large" if len(rows) <= 4 else "medium" if len(rows) <= 12 else "small"
    return (
        f'<table class="picture {kind} {size}"{named}><colgroup>{columns}</colgroup>'
        f'<thead><tr><th scope="col">{"bank" if kind == "banks" else "byte"}</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def figure(
    heading: str, tables: Sequence[tuple[str, str]], *, code: str = "", said: str = ""
) -> str:
    """Return tables, each below its name, with a heading, what to write, and what it costs.

    The tables are HTML already; all other text is escaped.
    """
    written = f" <code>{escape(code)}</code>" if code else ""
    told = f" <small>{escape(said)}</small>" if said else ""
    drawn = "".join(
        f"{f'<small>{escape(name)}</small>' if name else ''}{table}" for name, table in tables
    )
    head = f"<figcaption><b>{escape(heading)}</b>{written}{told}</figcaption>"
    return f"<figure>{head}{drawn}</figure>"


def side_by_side(figures: Sequence[str]) -> str:
    """Return figures as a notebook shows them: with their style, without scripts.

    The first stands on the left, the others below each other on the right.
    """
    if not figures:
        return ""
    first, *others = figures
    rest = f"<div>{''.join(others)}</div>" if others else ""
    return f'{_STYLE}<div class="bankwise-pictures">{first}{rest}</div>'


_ROOT = ".bankwise-pictures"
_STYLE = (
    "<style>"
    f"{_ROOT}{{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-start}}"
    f"{_ROOT} figure{{margin:0 0 8px;min-width:0}}{_ROOT}>*{{flex:1 1 420px;min-width:0}}"
    f"{_ROOT} table{{border-collapse:separate;border-spacing:1px;table-layout:fixed;width:100%;"
    "max-width:640px;margin:4px 0;font-size:10px}"
    f"{_ROOT} col.begin{{width:56px}}"
    f"{_ROOT} th,{_ROOT} td{{padding:0!important;height:11px;line-height:11px;text-align:center;"
    "overflow:hidden;white-space:nowrap;border:0;font-weight:400}"
    f"{_ROOT} tbody td{{background:rgba(128,128,128,.16)}}"
    f"{_ROOT} .large td,{_ROOT} .large tbody th{{height:22px;line-height:22px}}"
    "</style>"
)
