"""Atomics at a neighbour of all kinds, and accesses off the law reduced to the fewest lanes.

What is drawn and built says what each kind takes. What is reduced says why an access is off the
law: lanes are left out, by halves, as long as it stays off on the same side.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.hopper.neighbours import ATOMICS, EVERY, WINDOW, drawn, trial
from gpu_check.hopper.runner import Runner, compile_all
from simulator.law.masks import active_table
from simulator.law.neighbour_atomics import price_neighbour_atomic
from simulator.law.neighbours import count_neighbour

__all__ = ["SEED", "built", "measure", "reduced"]

SEED = 61
_ROWS = 64
_ALSO = ("red.add.32", "atom.exch.32", "atom.add.32")
_REDUCED = ("red.add.32", "st.async.32")
_OFF = 0.65  # cycles
_MOST = 140  # measurements of one access

Access = tuple[NDArray[np.uint32], int]


def built(width: int) -> Iterator[Access]:
    """Yield accesses whose first lanes are on one word, side by side, or a line or sector apart."""
    steps = {0: (1, 2, 3, 4, 8, 16, 32), width: (1, 2, 4, 8, 16, 32), 128: (2, 4, 8, 16, 32),
             32: (2, 4, 8, 16, 32)}  # fmt: skip
    for step, counts in steps.items():
        places = np.arange(32, dtype=np.uint32) * np.uint32(step) + np.uint32(0 if step else 256)
        yield from ((places, (1 << lanes) - 1) for lanes in counts)


def _law(op: str, places: NDArray[np.uint32], mask: int) -> float:
    given = places.astype(np.int64) + WINDOW
    if op.startswith("red"):
        return price_neighbour_atomic(given, mask).cycles
    return float(count_neighbour("STAS", given[None], np.uint32(mask)).cycles[0])


class _Clock:
    """Measures accesses, and keeps what it saw."""

    def __init__(self, folder: Path, device: int) -> None:
        self._runner = Runner(folder, device)
        self.rows: list[tuple[str, str, NDArray[np.uint32], int, float, float]] = []

    def __call__(self, family: str, op: str, places: NDArray[np.uint32], mask: int) -> float:
        case = trial(op, 0, "neighbour", (places[None], np.array([mask], np.uint32)))
        each = self._runner.ticks(case) / case.executions
        spread = float(np.subtract(*np.quantile(each, [0.75, 0.25])))
        on = active_table(np.array([mask], np.uint32))[0]
        cycles = float(np.median(each))
        self.rows.append((family, op, np.where(on, places, 0), mask, cycles, spread))
        return cycles


def reduced(clock: _Clock, op: str, places: NDArray[np.uint32], mask: int) -> None:
    """Measure an access, and if it is off the law, parts of it: the fewest lanes that are."""
    seen: dict[int, float] = {}

    def off(part: int) -> float:
        if part not in seen:
            seen[part] = clock("reduced", op, places, part) - _law(op, places, part)
        return seen[part]

    side = np.sign(off(mask)) if abs(off(mask)) >= _OFF else 0.0
    lanes, pieces = [lane for lane in range(32) if mask >> lane & 1], 2
    while side and len(lanes) > 1 and len(seen) < _MOST:
        size = -(-len(lanes) // pieces)
        rests = [lanes[:at] + lanes[at + size :] for at in range(0, len(lanes), size)]
        fewer = (
            rest for rest in rests if rest and off(sum(1 << lane for lane in rest)) * side > 0.6
        )
        if (rest := next(fewer, None)) is not None:
            lanes, pieces = rest, max(pieces - 1, 2)
        elif pieces >= len(lanes):
            return
        else:
            pieces = min(2 * pieces, len(lanes))


def measure(folder: Path, few: int = 0, device: int = 0) -> dict[str, NDArray[Any]]:
    """Return columns, a row per access: family, op, address, mask, cycles of it, their spread.

    Families are drawn, built and reduced.
    """
    names = [*ATOMICS, *_ALSO, *_REDUCED]
    compile_all([trial(name, 0, "neighbour", drawn(name, 2)) for name in names], folder)
    clock = _Clock(folder, device)
    for name in (*ATOMICS, *_ALSO):
        width = EVERY[name].width
        table = drawn("red.add.32" if width == 4 else "atom.exch.64", _ROWS, SEED)
        for places, mask in list(zip(*table, strict=True))[: few or None]:
            clock("drawn", name, places, int(mask))
        for places, part in list(built(width))[: few or None] if name in ATOMICS else ():
            clock("built", name, places, part)
    for name in _REDUCED:
        for places, mask in list(zip(*drawn(name, _ROWS, SEED), strict=True))[: few or None]:
            reduced(clock, name, places, int(mask))
    families, ops, places, masks, cycles, spreads = zip(*clock.rows, strict=True)
    return {
        "family": np.array(families), "op": np.array(ops), "address": np.array(places, np.uint32),
        "mask": np.array(masks, np.uint32), "neighbour": np.array(cycles, np.float32),
        "spread": np.array(spreads, np.float32),
    }  # fmt: skip
