"""What the wavefronts of one access serve, phase by phase, and how lanes are listed in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from simulator.law.copies import Turn

__all__ = ["Phase", "Served", "listed", "ranges"]


@dataclass(frozen=True)
class Served:
    """A word that a bank serves in one wavefront, and the lanes that want it."""

    bank: int
    word: int
    """Address // 4."""
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Phase:
    """Lanes served together, and how many wavefronts that takes.

    Which word goes into which wavefront is a convention: the k-th wavefront serves the k-th
    distinct word of each bank, in lane order. Of a copy whose sources were given it serves the
    lanes of the k-th turn. The chip's own order is not observable; the number of wavefronts is.
    """

    index: int
    lanes: Sequence[int]
    """The lanes of this phase, active or not."""
    active: tuple[int, ...]
    wavefronts: tuple[tuple[Served, ...], ...]
    """What each wavefront serves, bank by bank."""
    banks: dict[int, tuple[Served, ...]]
    """What each bank serves, in order: one entry per wavefront."""
    sentence: str
    chain: tuple[Turn, ...] = ()
    """Of a copy whose sources were given: the longest chain of lanes that wait for one another."""

    @property
    def worst_bank(self) -> int | None:
        """The bank with the longest queue (the lowest such bank); None in an empty phase."""
        return max(self.banks, key=lambda bank: (len(self.banks[bank]), -bank), default=None)


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending integers as text, with runs shortened.

    >>> ranges([0, 1, 2, 3, 8, 10, 11])
    '0-3, 8, 10-11'
    """
    runs = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        first, *rest = (number for _, number in run)
        runs.append(f"{first}-{rest[-1]}" if rest else f"{first}")
    return ", ".join(runs)


def listed(lanes: Sequence[int]) -> str:
    """Return "0 and 4", "0, 4 and 8", or runs where there are many."""
    if len(lanes) > 4:
        return ranges(lanes)
    *most, last = map(str, lanes)
    return f"{', '.join(most)} and {last}" if most else last
