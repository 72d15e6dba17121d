"""`sweep_heatmap`: the outcome of many configurations over two of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from layouts.errors import accepted, plural
from simulator.results.columns import OUTCOMES, heading
from viz.errors import DrawError
from viz.figure import Panel, assemble, framed, message, scale_below
from viz.kernel_bars import short
from viz.theme import COUNTS, Theme, plain

__all__ = ["MOST", "columns_of", "named", "outcomes", "sweep_heatmap"]

MOST = 64
"""Values along an axis; beyond, neighbours share a cell, which shows the best of them."""

_LETTERS = 18  # of a label, and of an axis' name: as long as one cell with its margins is
_DIGITS = 6  # of a cell's text
_LABELS = 20  # along an axis, so that they have room on a telephone, too


def sweep_heatmap(
    columns: object,
    *,
    x: str | None = None,
    y: str | None = None,
    value: str = "wavefronts",
    title: str | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Draw the least `value` for each pair of the parameters `x` and `y`.

    Where further parameters vary too, a cell shows its best configuration, and pointing at it tells
    which that is. The best cells are framed. More than 64 values along an axis are put together,
    and the line below the title says so.

    Raises DrawError for columns of unequal length, unknown names, or values that are not
    numbers.

    Parameters
    ----------
    columns
        A mapping of equal-length columns (a data frame is one), or a result that has them.
    x, y
        The parameters along the axes; by default the first two columns that vary and are not an
        outcome.
    value
        The column that is drawn. None, NaN or "" stay out.
    title
        The figure's, instead of the one that says what is seen.
    theme
        "light" or "dark".

    Examples
    --------
    >>> sweep = {"pad": [0, 0, 1, 1], "lds": [32, 64, 32, 64], "wavefronts": [32, 32, 1, 2]}
    >>> sweep_heatmap(sweep).layout.title.text
    '4 configurations: least wavefronts 1, at lds 32, pad 1'
    """
    table = columns_of(columns)
    x, y = _axes(table, x, y, value)
    numbers = table[value] = outcomes(table, value)
    across, down = _places(table[x]), _places(table[y])
    best: dict[tuple[int, int], int] = {}
    merged: dict[tuple[int, int], int] = {}
    for row, number in enumerate(numbers):
        if number is None:
            continue
        cell = (down.of(table[y][row]), across.of(table[x][row]))
        merged[cell] = merged.get(cell, 0) + 1
        if cell not in best or number < numbers[best[cell]]:
            best[cell] = row
    names = [name for name in table if name not in OUTCOMES]
    x_labels, y_labels = across.labels, down.labels
    x_title, y_title = _shortened([named(name) for name in (x, y)])
    values: list[list[Any]] = [[None] * len(x_labels) for _ in y_labels]
    told: list[list[Any]] = [[None] * len(x_labels) for _ in y_labels]
    texts = [[""] * len(x_labels) for _ in y_labels]
    for (i, j), row in best.items():
        values[i][j] = numbers[row]
        texts[i][j] = _brief(numbers[row])
        told[i][j] = _told(table, names, row, value, merged[i, j])
    least = min((numbers[row] for row in best.values()), default=None)
    longest = max((len(text) for line in texts for text in line), default=0) or 1
    winners = [cell for cell, row in best.items() if numbers[row] == least]
    traces = [
        go.Heatmap(
            z=values,
            customdata=told,
            text=texts,
            texttemplate="%{text}",
            textfont={"size": 11},
            colorscale=COUNTS,
            colorbar=scale_below(unit=plain(named(value))),
            hovertemplate="%{customdata}<extra></extra>",
            hoverongaps=False,
            xgap=1,
            ygap=1,
        ),
        framed(
            [(col, row) for row, col in winners],
            f"best: {_written(least)} {named(value)}",
            width=3,
        ),
    ]
    return assemble(
        "sweep_heatmap",
        [
            Panel(
                columns=max(1, len(x_labels)),
                rows=max(1, len(y_labels)),
                traces=traces,
                x={**_axis(x_title, x_labels), "autotickangles": [0, 90]},
                y=_axis(y_title, y_labels),
                annotations=[] if best else [{**message("No configuration."), "x": 0}],
                left=44 + 7 * min(_LETTERS, max(map(len, y_labels), default=0)),
                below=44 + 7 * min(_LETTERS, max(map(len, x_labels), default=0)),
            )
        ],
        _finding(table, x, y, value, best, numbers, least) if title is None else title,
        _said(x, y, across.step, down.step, max(merged.values(), default=0)),
        theme=theme,
        least=7.5 * longest + 4,
        short=7.5 * longest + 4,
    )


def columns_of(columns: object) -> dict[str, list[Any]]:
    """Take equal-length columns as lists, from a mapping or from a result that has them."""
    given = columns
    if not isinstance(given, Mapping):
        for name in ("points", "columns"):  # `points`: row by row, where columns sum up
            if callable(give := getattr(columns, name, None)):
                given = give()
                break
    if not isinstance(given, Mapping) and not hasattr(given, "keys"):
        raise DrawError(
            f"{type(columns).__name__} is not a table (accepted: a mapping of equal-length columns,"
            " or a result with them)"
        )
    table = {}
    for name in given.keys():  # noqa: SIM118 (a data frame iterates over its columns' names too)
        column = given[name]  # type: ignore[index]
        if isinstance(column, str | bytes) or not isinstance(column, Iterable):
            raise DrawError(f"column {name!r} is {column!r} (accepted: a list or an array)")
        listed = column.tolist() if hasattr(column, "tolist") else list(column)
        if not isinstance(listed, list):  # an array without a dimension
            raise DrawError(f"column {name!r} is {column!r} (accepted: a list or an array)")
        # Scalars of NumPy become Python's: they look and are written alike.
        table[str(name)] = [each.item() if hasattr(each, "item") else each for each in listed]
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) != 1:
        raise DrawError(f"columns of lengths {lengths} (accepted: one or more, equally long)")
    return table


def named(name: str) -> str:
    """Return a column's name as words.

    >>> named("n_way"), named("block_m")
    ('n-way', 'block m')
    """
    return heading(name).replace("_", " ")


def outcomes(table: Mapping[str, Sequence[Any]], name: str) -> list[Any]:
    """Return a column of numbers, with None wherever there is no outcome: None, NaN, an empty cell.

    >>> outcomes({"cycles": [1, None, "", float("nan"), 2.5]}, "cycles")
    [1, None, None, None, 2.5]

    Raises DrawError for anything else.
    """
    numbers: list[Any] = []
    for given in table[name]:
        number = None if isinstance(given, str) and not given.strip() else given
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise DrawError(f"column {name!r} holds {given!r} (accepted: numbers)")
        numbers.append(None if number != number else number)
    return numbers


def _axes(
    table: Mapping[str, Sequence[Any]], x: str | None, y: str | None, value: str
) -> tuple[str, str]:
    for name in (value, *filter(None, (x, y))):
        if name not in table:
            raise DrawError(f"no column {name!r}: {accepted(name, table)}")
    parameters = [name for name in table if name not in OUTCOMES and name != value]
    vary = [name for name in parameters if len({str(each) for each in table[name]}) > 1]
    free = [name for name in dict.fromkeys([*vary, *parameters]) if name not in (x, y)]
    y = y or (free.pop(0) if free else None)
    x = x or (free.pop(0) if free else y)
    if x is None or y is None:
        raise DrawError(
            f"columns {', '.join(table)} have no parameter (accepted: at least one column beside"
            f" {', '.join(OUTCOMES)})"
        )
    return x, y


class _Places(NamedTuple):
    """Where along an axis each value lies; values are told apart by what they look like."""

    cells: dict[str, int]
    labels: list[str]
    step: int
    """Values that share a cell."""

    def of(self, value: Any) -> int:
        return self.cells[str(value)]


def _places(column: Sequence[Any]) -> _Places:
    values = {str(each): each for each in column}
    if all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in values.values()
    ):
        keys = sorted(values, key=lambda key: values[key])
    else:
        keys = list(values)
    step = -(-len(keys) // MOST) or 1
    cells = {key: number // step for number, key in enumerate(keys)}
    groups = [keys[start : start + step] for start in range(0, len(keys), step)]
    labels = [group[0] if len(group) == 1 else f"{group[0]}…{group[-1]}" for group in groups]
    return _Places(cells, labels, step)


def _axis(title: str, labels: Sequence[str]) -> dict[str, Any]:
    every = -(-len(labels) // _LABELS) or 1
    return {
        "title": {"text": title},
        "tickvals": list(range(0, len(labels), every)),
        "ticktext": _shortened(labels)[::every],
    }


def _shortened(texts: Sequence[str]) -> list[str]:
    """Cut what does not fit beside one cell; pointing at a cell still tells it whole.

    Texts that differ are cut at their end, else in their middle, else numbered: they stay apart.

    >>> _shortened(["junstar92.vectorized", "junstar92.vectorized_128"])
    ['junstar92…ctorized', 'junstar92…ized_128']
    """
    letters = _LETTERS - 1
    half = letters // 2
    ways: tuple[Callable[[int, str], str], ...] = (
        lambda _, text: f"{text[:letters]}…",
        lambda _, text: f"{text[: letters - half]}…{text[-half:]}",
        lambda number, text: f"{f'{number}: {text}'[:letters]}…",
    )
    cut: list[str] = []
    for way in ways:
        cut = [
            text if len(text) <= _LETTERS else way(number, text)
            for number, text in enumerate(texts, start=1)
        ]
        if len(set(cut)) == len(set(texts)):
            break
    return [*map(plain, cut)]


def _written(number: float | None) -> str:
    """Write a figure whole, and four digits of what it has behind the point.

    >>> [_written(number) for number in (335544320.0, 10 / 3, 0.00123456, 12, None)]
    ['335,544,320', '3.3333', '0.001235', '12', '']
    """
    if number is None:
        return ""
    if number == number // 1:
        return f"{int(number):,}"
    return f"{number:,.4f}".rstrip("0") if abs(number) >= 1 else f"{number:.4g}"


def _brief(number: float) -> str:
    """Write a figure so that it fits into a cell.

    >>> [_brief(number) for number in (335544320, 12_345, 10 / 3)]
    ['336 M', '12,345', '3.3333']
    """
    written = _written(number)
    return written if len(written) <= _DIGITS else short(number)


def _told(
    table: Mapping[str, Sequence[Any]], names: Sequence[str], row: int, value: str, merged: int
) -> str:
    lines = [f"<b>{plain(named(value))} {_written(table[value][row])}</b>"]
    lines += [f"{plain(name)}: {plain(table[name][row])}" for name in names if name != value]
    lines += [
        f"{plain(name)}: {plain(table[name][row])}"
        for name in OUTCOMES
        if name in table and name != value
    ]
    if merged > 1:
        lines.append(f"the best of {merged} configurations here")
    return "<br>".join(lines)


def _finding(
    table: Mapping[str, Sequence[Any]],
    x: str,
    y: str,
    value: str,
    best: Mapping[tuple[int, int], int],
    numbers: Sequence[Any],
    least: Any,
) -> str:
    rows = [row for row in best.values() if numbers[row] == least]
    start = plural(len(numbers), "configuration")
    if not rows:
        return f"{start}, none with an outcome"
    first = min(rows)
    where = ", ".join(f"{named(name)} {table[name][first]}" for name in dict.fromkeys((x, y)))
    more = f" and in {plural(len(rows) - 1, 'other cell')}" if len(rows) > 1 else ""
    return f"{start}: least {named(value)} {_written(least)}, at {where}{more}"


def _said(x: str, y: str, x_step: int, y_step: int, merged: int) -> str:
    said = []
    for name, step in dict.fromkeys(((x, x_step), (y, y_step))):
        if step > 1:
            said.append(f"A cell holds {step} neighbouring values of {name}.")
    if merged > 1:
        said.append(
            f"A cell shows the best of the up to {merged:,} configurations that fall into it."
        )
    return " ".join(said)
