"""The swizzles that TMA can write: none, 32, 64 and 128 bytes, of an array that it fills.

Each permutes pieces of 16 bytes within rows of 128 by bits of the shared address (see
`simulator.sass.run.tma`). The kernel's own accesses have to follow, by the same XOR.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from layouts.c_text import subscript_names
from layouts.swizzle import Swizzle
from layouts.tile import Tile
from simulator.fixing.arrays import SharedArray
from simulator.fixing.costs import Pricer, total
from simulator.fixing.layouts import Candidate, Choice
from simulator.fixing.wording import Wording
from simulator.sass.run.tma import swizzled
from simulator.sass.run.witness import Touched

__all__ = ["MODES", "choose_mode", "mode_wording"]

MODES = (0, 32, 64, 128)
"""Bytes of the swizzle's span; 0: none."""

_PIECE, _ROW = 16, 128


def choose_mode(array: SharedArray, touched: Touched, pricer: Pricer, times: float) -> Choice:
    """Price the array's accesses under each mode that its boxes allow.

    `times`: blocks of the grid for each that ran.
    """
    tiles = [each for each in array.units if each.kind == "tile"]
    spans = {each.swizzle for each in tiles}
    start = array.starts[0]
    if len(spans) > 1:
        said = ", ".join(_named(span) for span in sorted(spans))
        return Choice(
            (), False, f"Not searched: tensor maps of several swizzles reach it ({said})."
        )
    if len(array.starts) > 1 or start % _ROW or array.size % _ROW:
        return Choice((), False, "Not searched: it does not lie in whole rows of 128 bytes.")
    (now,) = spans
    row = max(each.row for each in tiles)
    modes = [mode for mode in MODES if mode == 0 or mode >= row or mode == now]
    rows, places = array.rows, array.within(touched.places[array.rows])
    part = replace(
        touched, sites=touched.sites[rows], masks=touched.masks[rows], places=places,
        sources=touched.sources[rows], weights=touched.weights[rows],
    )  # fmt: skip
    costs, tables = dict[int, int](), dict[int, NDArray[np.int64]]()
    for mode in modes:
        tables[mode] = table = _table(array, now, mode)
        moved = replace(part, places=table[np.clip(places, 0, array.size - 1)])
        cost = total(pricer.figures(moved), moved.weights, np.arange(len(rows)))
        costs[mode] = round(cost.bank_conflicts * times)
    best = min(modes, key=lambda mode: (costs[mode], mode != now, mode))
    priced = ", ".join(f"{_named(mode)} {costs[mode]:,}" for mode in modes)
    text = f"TMA fills it, so of its swizzles these were priced, by bank conflicts: {priced}."
    if len(modes) < len(MODES):
        text += f" A box's row of {row} bytes allows no others."
    if costs[best] >= costs[now]:
        return Choice((), True, text)
    element = _element(array, touched)
    candidate = Candidate(
        "tma", _tile(array, best, element), element, tables[best], _ROW, mode=best
    )
    return Choice((candidate,), True, text)


def mode_wording(array: SharedArray, candidate: Candidate, source: str = "") -> Wording:
    """Return the mode of the tensor map, and the index that follows it.

    Where TMA is to mix nothing, the index is plain, and nothing is changed in it.
    """
    (index,) = subscript_names(1, source)
    mode = candidate.mode or 0
    name = array.called
    map_mode = f"CU_TENSOR_MAP_SWIZZLE_{f'{mode}B' if mode else 'NONE'}"
    if not mode:
        return Wording(f"{map_mode}, and {name}[{index}]")
    declared = array.declared.element if array.declared else None
    unit = (
        "" if declared == candidate.element else f", {index} counted in {candidate.element} bytes"
    )
    flat = Tile(1, candidate.tile.rows * candidate.tile.cols, swizzle=candidate.tile.swizzle)
    access = f"{map_mode}, and {name}[{flat.c(col=index)}]"
    return Wording(access, f"{name}[{index}]", unit=unit)


def _named(mode: int) -> str:
    return f"{mode} bytes" if mode else "none"


def _element(array: SharedArray, touched: Touched) -> int:
    """Return the bytes of what the kernel's accesses count."""
    places = array.within(touched.places[array.rows])
    bits = int(np.bitwise_or.reduce(places, axis=None)) | _PIECE
    unit = bits & -bits
    declared = array.declared.element if array.declared else None
    return declared if declared in (2, 4, 8) and declared <= unit else min(unit, 4)


def _tile(array: SharedArray, mode: int, element: int) -> Tile:
    cols = _ROW // element
    bits = (mode // _PIECE).bit_length() - 1 if mode else 0
    base = (_PIECE // element).bit_length() - 1
    swizzle = Swizzle(bits, base, 3) if bits else None
    return Tile(array.size // _ROW, cols, swizzle=swizzle)


def _table(array: SharedArray, now: int, mode: int) -> NDArray[np.int64]:
    """Return where each byte lies under a mode that lies under another one now."""
    first = array.starts[0] // _PIECE
    count = array.size // _PIECE
    # Both are their own inverses; the first piece's number decides where the pattern begins.
    plain = swizzled(first, count, now or None) - first
    then = swizzled(first, count, mode or None) - first
    pieces = then[plain]
    return (pieces[:, None] * _PIECE + np.arange(_PIECE)).ravel()
