"""Global memory by the plain rule: 32-byte sectors, 128-byte lines.

A request (one instruction of one warp) moves every sector that an active lane touches once,
and looks up every line once. Source: CUDA C++ Best Practices Guide, "Coalesced Access to
Global Memory": concurrent accesses of a warp coalesce into the 32-byte transactions needed to
serve them all. What caches then do is not modelled.

Which block and which turn of the k loop a warp is in only moves its pattern. The number of sectors
depends on that move modulo 128 bytes, which comes back after at most 128 turns. It also depends on
the lanes that the edge of the matrix cuts off, which only the last tiles have. So the cost of
counting does not grow with the matrices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from simulator.errors import KernelError

__all__ = ["LINE", "SECTOR", "Bound", "Linear", "moves", "operation", "suffix", "touched"]

SECTOR = 32
LINE = 128

_SUFFIXES = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}


def suffix(width: int) -> str:
    """End a load's or store's mnemonic for `width` bytes per lane.

    >>> suffix(16), suffix(4)
    ('.128', '')

    Raises KernelError for a width that no instruction has.
    """
    if width not in _SUFFIXES:
        raise KernelError(
            f"no instruction moves {width} bytes per lane"
            f" (accepted: {', '.join(map(str, _SUFFIXES))})"
        )
    return _SUFFIXES[width]


def operation(kind: str, width: int) -> str:
    """Name the instruction that moves `width` bytes per lane.

    >>> operation("load", 16)
    'LDG.E.128'
    """
    return f"{'LDG' if kind == 'load' else 'STG'}.E{suffix(width)}"


class Bound(NamedTuple):
    """A bounds check: `within + turn * step < limit`."""

    within: NDArray[np.int64]
    step: int
    limit: int


Turn = tuple[int, tuple[int, ...]]
"""A move in bytes modulo 128, and a limit for each bounds check (none: all lanes pass)."""


class Linear:
    """Integers plus a multiple of each of some named ones: `by * 64 + tid // 8`, by unknown.

    >>> row = 64 * Linear.variable("by") + 5
    >>> row.constant, row.steps
    (5, {'by': 64})
    """

    __array_ufunc__ = None  # NumPy leaves array + Linear to __radd__

    def __init__(self, constant: Any, steps: dict[str, int]) -> None:
        self.constant = constant
        self.steps = steps

    @classmethod
    def variable(cls, name: str) -> Linear:
        """Return the named integer itself."""
        return cls(0, {name: 1})

    @classmethod
    def of(cls, value: Any) -> Linear:
        """Take a Linear as it is, and anything else as a constant."""
        return value if isinstance(value, Linear) else cls(value, {})

    # Without these, `by == 0` and `if by` would be answered, and wrongly.
    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(f"{self._named()} cannot be compared")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self._named()} cannot be a condition")

    def _named(self) -> str:
        return ", ".join(self.steps) or "a coordinate"

    def __add__(self, other: Any) -> Linear:
        term = Linear.of(other)
        steps = Counter(self.steps)
        steps.update(term.steps)
        return Linear(self.constant + term.constant, dict(steps))

    __radd__ = __add__

    def __mul__(self, factor: int) -> Linear:
        if not isinstance(factor, int | np.integer):
            return NotImplemented
        factor = int(factor)
        return Linear(self.constant * factor, {n: s * factor for n, s in self.steps.items()})

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Linear:
        return self + Linear.of(other) * -1

    def __rsub__(self, other: Any) -> Linear:
        return Linear.of(other) + self * -1


def moves(step: int, trips: int, bounds: Sequence[Bound] = ()) -> Counter[Turn]:
    """Sum up the turns of one loop, which moves addresses by `step` bytes per turn.

    Gives how often each (move modulo 128, limits) occurs: with limits, only lanes whose
    `within` is below them take part in such a turn; without, all of them.

    >>> moves(32, 4, [Bound(np.arange(8), step=8, limit=30)])
    Counter({(0, ()): 1, (32, ()): 1, (64, ()): 1, (96, (6,)): 1})
    """
    inside = outside = trips  # turns in which all lanes take part, and in which some do
    for bound in bounds:
        low, high = int(bound.within.min()), int(bound.within.max())
        inside = min(inside, max(0, (bound.limit - 1 - high) // bound.step + 1))
        outside = min(outside, max(0, -((low - bound.limit) // bound.step)))
    turns: Counter[Turn] = Counter()
    for first in range(min(LINE, inside)):
        turns[first * step % LINE, ()] += -((first - inside) // LINE)
    for turn in range(inside, outside):
        limits = tuple(bound.limit - turn * bound.step for bound in bounds)
        turns[turn * step % LINE, limits] += 1
    if outside < trips:
        turns[0, tuple(int(bound.within.min()) for bound in bounds)] += trips - outside
    return turns


def touched(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], unit: int
) -> NDArray[np.int64]:
    """Count the distinct units of `unit` bytes that each warp's active lanes touch.

    Shapes (..., 32) in, (...) out. No address may be negative.
    """
    units = np.sort(np.where(active, addresses // unit, -1), axis=-1)
    fresh = np.diff(units, axis=-1, prepend=-1) != 0
    counted: NDArray[np.int64] = fresh.sum(axis=-1)
    return counted
