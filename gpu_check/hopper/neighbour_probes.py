"""Accesses to a neighbour that are built, not drawn: what decides their time, one thing at a time.

A family varies one thing and holds the rest. `measure` returns them with their cycles, and fresh
drawn accesses of every kind that has a bound, for the law to be held against.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.hopper.neighbours import MORE, OPS, drawn, trial
from gpu_check.hopper.runner import Runner, compile_all
from simulator.law.copies import tag_bank
from simulator.law.masks import active_table

__all__ = ["DRAWN", "FAMILIES", "FRESH_SEED", "built", "measure"]

FAMILIES = {
    "line": ("st.async.32", "red.add.32", "st.8"),
    "far": ("st.async.32", "red.add.32"),
    "other": ("st.async.32",),
    "word": ("st.async.32", "st.async.64", "st.async.128", "red.add.32", "atom.add.32",
             "atom.exch.32"),
    "bank": ("st.8", "st.async.32", "red.add.32", "atom.exch.32", "st.32"),
    "words": ("st.async.32", "st.async.128", "red.add.32", "atom.exch.32"),
    "lines": ("st.8", "st.async.32", "red.add.32", "atom.exch.32"),
    "five": ("red.add.32", "st.async.32"),
    "six": ("red.add.32",),
    "three": ("red.add.32",),
}  # fmt: skip
"""Which accesses each family has; `built` says what the families are."""

DRAWN = ("st.async.32", "st.async.64", "st.async.128", "st.8", "st.16", "red.add.32",
         "atom.add.32", "atom.exch.32")  # fmt: skip
FRESH_SEED = 47
_FRESH = 120
_LINES = 384
_LINE = 128
_WORD = 4
_WAVES = 1000
_FIRST_LINE = 16  # of the dynamic shared memory of these kernels


def built(family: str, width: int) -> Iterator[list[int]]:
    """Yield the addresses of each access of a family, one per lane; -1 for one that takes no part.

    line: a lane in line 0, one in another line and the same bank, one on the next word there;
    far: the same from a drawn line and bank; other: the same, in another bank; word: some lanes on
    one word; bank: some lines in one bank, 1 to 8 lines apart; words: lanes on few words of one
    line, in turn or in blocks; lines: the same with the words in lines of their own.
    """
    rng = np.random.default_rng(17)
    if family == "line":
        yield from ([64, _LINE * line + 64, _LINE * line + 68] for line in range(1, _LINES))
    if family == "far":
        for _ in range(160):
            first, second = rng.choice(_LINES, 2, replace=False) * _LINE
            word = int(rng.integers(0, 8)) * 16
            yield [int(first) + word, int(second) + word, int(second) + word + 4]
    if family == "other":
        for _ in range(320):
            first, second = rng.choice(_LINES, 2, replace=False) * _LINE
            here, there = rng.choice(32, 2, replace=False) * _WORD
            near = int(there) ^ _WORD
            yield [int(first) + int(here), int(second) + int(there), int(second) + near]
    if family == "word":
        yield from ([256] * lanes for lanes in range(1, 33))
    if family == "bank":
        for step in (1, 3, 8):
            yield from ([_LINE * step * lane for lane in range(lanes)] for lanes in range(2, 33, 2))
    if family in ("five", "six", "three"):
        yield from _waves(family, rng)
    if family in ("words", "lines"):
        step = max(width, _WORD) if family == "words" else _LINE * 5 + max(width, _WORD)
        for words in (2, 3, 4, 6, 8):
            for lanes in (8, 16, 24, 32):
                yield [step * (lane % words) for lane in range(lanes)]
                yield [step * (lane * words // lanes) for lane in range(lanes)]


def _waves(family: str, rng: np.random.Generator) -> Iterator[list[int]]:
    """Yield accesses of few lanes, others at -1: lines of different tag banks, one twice."""
    lines = {"five": 4, "six": 4, "three": 2}[family]
    twice = 2 if family == "six" else 1
    by_bank = [[x for x in range(_LINES) if tag_bank(x + _FIRST_LINE) == bank] for bank in range(4)]
    for number in range(_WAVES):
        banks = rng.permutation(4)[:lines]
        chosen = [int(rng.choice(by_bank[bank])) for bank in banks]
        chosen += chosen[:twice]
        near = number % 4 == 0  # all words within one sector
        words = rng.permutation(8 if near else 32)
        lanes = rng.permutation(32)[: len(chosen)]
        given = [-1] * 32
        for place, (lane, line) in enumerate(zip(lanes, chosen, strict=True)):
            # Lanes of one line have different words; other lines may meet them.
            word = words[place] if place in (0, lines) or twice == 2 else rng.choice(words)
            given[lane] = line * _LINE + int(word) * _WORD
        yield given


def measure(folder: Path, few: int = 0, device: int = 0) -> dict[str, NDArray[Any]]:
    """Return columns, a row per access: family, op, address, mask, cycles of it, their spread.

    The family of accesses drawn by chance is `drawn`. Raises DeviceError where a launch moves the
    wrong bytes.
    """
    ops = OPS | MORE
    tables: list[tuple[str, str, NDArray[np.uint32], NDArray[np.uint32]]] = []
    for family, names in FAMILIES.items():
        for name in names:
            lists = list(built(family, ops[name].width))
            whole = np.array([given + [-1] * (32 - len(given)) for given in lists])
            places = np.where(whole < 0, 0, whole).astype(np.uint32)
            masks = ((whole >= 0) << np.arange(32)).sum(axis=1).astype(np.uint32)
            tables.append((family, name, places, masks))
    tables += [("drawn", name, *drawn(name, _FRESH, FRESH_SEED)) for name in DRAWN]
    compile_all([trial(name, 0, "neighbour", (a, b)) for _, name, a, b in tables], folder)
    runner, rows = Runner(folder, device), []
    for family, name, places, masks in tables:
        active = active_table(masks)
        for row in range(0, len(masks), max(1, len(masks) // few) if few else 1):
            case = trial(name, row, "neighbour", (places, masks))
            if family == "drawn":
                runner.check(case)
            each = runner.ticks(case) / case.executions
            spread = np.subtract(*np.quantile(each, [0.75, 0.25]))
            place = np.where(active[row], places[row], 0)
            rows.append((family, name, place, masks[row], np.median(each), spread))
    families, names, found, bits, cycles, spreads = zip(*rows, strict=True)
    return {
        "family": np.array(families), "op": np.array(names),
        "address": np.array(found, np.uint32), "mask": np.array(bits, np.uint32),
        "neighbour": np.array(cycles, np.float32), "spread": np.array(spreads, np.float32),
    }  # fmt: skip
