"""Warp accesses to measure: the families that a law of the banks could get wrong.

Every family is random in its parameters and drawn from a seed, a third of the rows of
instructions that allow it with a mask. Sizes are in units of the instruction's width, a word
at least, so that all lanes are aligned; everything lies in the first 48 KiB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.law.accesses import ALL_LANES
from simulator.law.instructions import Instruction

__all__ = ["PATTERNS", "Drawn", "draw"]

_BYTES = 48 * 1024
_LANES = np.arange(32)
_Row = NDArray[np.int64]
_Make = Callable[[np.random.Generator, int], _Row]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Accesses of one instruction: addresses (n, 32), masks (n,), the family of each (n,)."""

    addresses: NDArray[np.uint32]
    masks: NDArray[np.uint32]
    patterns: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.addresses)


# A family gives the unit that each lane accesses; `units` is how many there are.


def _linear(rng: np.random.Generator, units: int) -> _Row:
    order = rng.permutation(32) if rng.random() < 0.5 else _LANES
    return order + int(rng.integers(units - 32))


def _strided(rng: np.random.Generator, units: int) -> _Row:
    stride = int(rng.integers(1, 34)) if rng.random() < 0.7 else int(2 ** rng.integers(0, 7))
    return _LANES * stride


def _tiled(rng: np.random.Generator, units: int) -> _Row:
    """Rows and columns of lanes with a pitch each: the tiles of a GEMM, padded or not."""
    rows = int(2 ** rng.integers(0, 6))
    row, col = _LANES // (32 // rows), _LANES % (32 // rows)
    if rng.random() < 0.5:
        row, col = _LANES % rows, _LANES // rows
    pitch = int(rng.choice([0, 1, 2, 4, 8, 16, 32, 33, 36, 64]))
    return row * pitch + col * int(rng.choice([0, 1, 2, 4, 8]))


def _paired(rng: np.random.Generator, units: int) -> _Row:
    """Lanes i and i^1, or i and i^2, on one unit: phases fuse."""
    partner = int(rng.choice([1, 2]))
    return _shared(rng, units, partner)


def _shared(rng: np.random.Generator, units: int, partner: int) -> _Row:
    few = int(rng.choice([4, 16, 64, 512]))
    row: _Row = rng.integers(0, min(units, few), 32)[_LANES & ~partner]
    return row


def _nearly_paired(rng: np.random.Generator, units: int) -> _Row:
    """Draw the same with one lane astray, or with the halves of the warp paired differently."""
    if rng.random() < 0.5:
        row = _shared(rng, units, int(rng.choice([1, 2])))
        row[rng.integers(32)] = rng.integers(units)
        return row
    first, second = _shared(rng, units, 1), _shared(rng, units, 2)
    return np.where(_LANES < 16, first, second)


def _few(rng: np.random.Generator, units: int) -> _Row:
    return rng.integers(0, int(rng.choice([1, 2, 4, 8, 32])), 32)


def _one_bank(rng: np.random.Generator, units: int) -> _Row:
    """All lanes on a few banks, on many rows."""
    rows = units // 32
    return rng.integers(0, rows, 32) * 32 + rng.integers(0, int(rng.choice([1, 2, 4])), 32)


def _random(rng: np.random.Generator, units: int) -> _Row:
    return rng.integers(0, units, 32)


PATTERNS: dict[str, _Make] = {
    "linear": _linear,
    "strided": _strided,
    "tiled": _tiled,
    "paired": _paired,
    "nearly paired": _nearly_paired,
    "few words": _few,
    "one bank": _one_bank,
    "random": _random,
}


def _mask(rng: np.random.Generator) -> int:
    kind = rng.integers(4)
    if kind == 0:  # a prefix, as at the edge of a matrix
        return (1 << int(rng.integers(1, 33))) - 1
    if kind == 1:  # every second lane, or pair of lanes, and some more
        base = int(rng.choice([0x55555555, 0xAAAAAAAA, 0x33333333, 0xCCCCCCCC]))
        return base | 1 << int(rng.integers(32))
    density = rng.choice([0.1, 0.5, 0.9])
    bits = sum(1 << int(lane) for lane in np.flatnonzero(rng.random(32) < density))
    return bits or 1 << int(rng.integers(32))


def draw(instruction: Instruction, n: int, seed: int) -> Drawn:
    """Draw n accesses of an instruction, family after family.

    >>> from simulator.law.instructions import instruction
    >>> drawn = draw(instruction("LDS.64"), 80, seed=1)
    >>> len(drawn), sorted(set(drawn.patterns.tolist())) == sorted(PATTERNS)
    (80, True)
    """
    rng = np.random.default_rng([seed, *instruction.name.encode()])
    unit = max(instruction.width, 4)
    units = _BYTES // unit
    names = list(PATTERNS)
    addresses = np.zeros((n, 32), dtype=np.uint32)
    masks = np.full(n, ALL_LANES, dtype=np.uint32)
    for row in range(n):
        offsets = PATTERNS[names[row % len(names)]](rng, units) % units * unit
        if instruction.width < 4:
            offsets = offsets + rng.integers(0, 4 // instruction.width, 32) * instruction.width
        addresses[row] = offsets
        if not instruction.is_matrix and row // len(names) % 3 == 0:
            masks[row] = _mask(rng)
    patterns = np.array([names[row % len(names)] for row in range(n)])
    return Drawn(addresses, masks, patterns)
