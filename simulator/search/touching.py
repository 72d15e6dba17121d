"""Questions as accesses to a tile, for `optimize`: who reads and writes one array."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from layouts.tile import Tile
from simulator.errors import SearchError
from simulator.inputs.asked import AskedAccess, read
from simulator.inputs.statements import statements
from simulator.search.accesses import Access

__all__ = ["Touch", "access_of", "tile_of", "touch", "touches"]


@dataclass(frozen=True, eq=False)
class Touch:
    """An access of a question, and the array that it goes to."""

    access: Access
    array: str
    """The declaration, as text."""
    tile: Tile | None
    """None where the array has one dimension."""
    element: int


def touch(
    text: str,
    op: str | None = None,
    *,
    weight: int = 1,
    loops: Mapping[str, int] | None = None,
    **options: Any,
) -> Touch:
    """Return what a question in C does to its array; each turn of `loops` is an access per warp.

    Options are those of `inputs.asked.read`. Raises what that raises, and SearchError for an
    access that leaves its rows.
    """
    trips = loops or {}
    names = options.pop("names", None) or {}
    turns = [
        read(text, op, names={**names, **dict(zip(trips, turn, strict=True))}, **options)
        for turn in product(*map(range, trips.values()))
    ]
    for each in turns:
        each.check()
    first = turns[0]
    array = first.question.array
    tile = tile_of(turns)
    if tile is None and len(array.sizes) > 1:
        raise SearchError(
            f"{text} runs over the ends of rows of {array.name} (accepted: accesses that stay in"
            " a row)"
        )
    sizes = "".join(f"[{size or ''}]" for size in array.sizes)
    declared = f"{array.type.name} {array.name}{sizes}"
    return Touch(access_of(turns, tile, text.strip(), weight), declared, tile, first.element)


def touches(texts: Sequence[str], **options: Any) -> list[Touch]:
    """Return what questions do to the array that they have in common.

    Each text is a question, or WEIGHT*OP: QUESTION with one of both. One that declares nothing uses
    what the first declares. Options are those of `touch`.
    Raises what that raises, and SearchError where there are two arrays.
    """
    found: list[Touch] = []
    declared = ""
    for text in texts:
        parts = re.fullmatch(
            r"\s*(?:(\d{1,12})\s*\*\s*)?(?:([A-Za-z][\w.]*)\s*:(?!:))?(.*)", text, re.DOTALL
        )
        assert parts is not None  # noqa: S101 (it takes any text)
        weight, op, question = parts.groups()
        spans = statements(question)
        if len(spans) > 1 and not declared:
            declared = question[: spans[-1][0]]
        elif len(spans) == 1:  # s[tx][ty] is of the array that was declared before it
            question = f"{declared} {question.strip()}"
        found.append(touch(question, op, weight=int(weight or 1), **options))
    arrays = dict.fromkeys(each.array for each in found)
    if len(arrays) > 1:
        raise SearchError(
            f"{' and '.join(arrays)} are two arrays (accepted: one array, declared the same way in"
            " each access)"
        )
    return found


def tile_of(turns: Sequence[AskedAccess]) -> Tile | None:
    """Return the rows and columns that an access stays in; None where it has none to pad."""
    sizes = turns[0].question.array.sizes
    if len(sizes) < 2:
        return None
    cols = sizes[-1] or 1
    rows = 0
    for asked in turns:
        last = asked.indices[:, :, -1] * asked.element + asked.moved
        reach = max(asked.instruction.width, asked.element)
        within = (last >= 0) & (last + reach <= cols * asked.element)
        if not within.all() or (asked.moved % asked.element).any():
            return None
        rows = max(rows, int((asked.places() // cols).max()) + 1)
    return Tile(rows if None in sizes else math.prod(filter(None, sizes)) // cols, cols)


def access_of(
    turns: Sequence[AskedAccess], tile: Tile | None, name: str = "", weight: int = 1
) -> Access:
    """Return a question, or one per turn of its loops, as an access that `optimize` takes."""
    first = turns[0]
    place = np.concatenate([each.places() + each.moved // each.element for each in turns])
    index = place if tile is None else (place // tile.cols, place % tile.cols)
    whole = all(each.whole for each in turns)
    masks = None if whole else np.concatenate([each.masks for each in turns])
    return Access(first.instruction.name, index, weight=weight, name=name, masks=masks)
