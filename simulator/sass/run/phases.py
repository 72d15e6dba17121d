"""What goes on beside warps, for the estimate of time: arrivals at mbarriers, waits, copies.

A phase of an mbarrier gets a number of its own in its block. An arrival, a copy and a wait name it:
so the estimate knows what a phase needs, and who waits for it, without the mbarriers' words.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct
from simulator.timing.traces import SECTOR

__all__ = ["FURTHER", "NO_PHASE", "Phases"]

NO_PHASE = -1
FURTHER = -1
"""Stands for the instruction of an event that the one before was made with."""

_TURN = 8
"""Copies of a block by one instruction: what others copy in the same turn comes at that time."""


@dataclass
class Phases:
    """Takes note of what the warps of one block do at mbarriers, and of copies."""

    warp_count: int
    _events: list[list[tuple[int, int, int, int, int]]] = field(default_factory=list)
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _turns: dict[int, int] = field(default_factory=dict)
    _parities: dict[int, int] = field(default_factory=dict)
    _waited: set[int] = field(default_factory=set)
    _copied: dict[int, list[NDArray[np.int64]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._begin()

    def _begin(self) -> None:
        self._events = [[] for _ in range(self.warp_count)]
        self._numbers, self._turns, self._parities, self._copied = {}, {}, {}, {}
        self._waited = set()

    def initialised(self, place: int) -> None:
        """Take note that an mbarrier is new: its phase has parity 0."""
        self._parities[place] = 0

    def changed(self, place: int, parity: int) -> None:
        """Take note of an mbarrier's parity after something happened there."""
        if parity != self._parities.get(place, 0):
            self._parities[place] = parity
            self._turns[place] = self._turns.get(place, 0) + 1

    def running(self, place: int) -> int:
        """Return the number of the phase of an mbarrier that is not complete."""
        return self._number(place, self._turns.get(place, 0))

    def ended(self, place: int) -> int:
        """Return the number of the phase that was completed last; NO_PHASE: none was."""
        turns = self._turns.get(place, 0)
        if not turns:
            return NO_PHASE
        ended = self._number(place, turns - 1)
        self._waited.add(ended)
        return ended

    def alike(self, place: int, other: Phases | None) -> int:
        """Return the phase here that stands for the one that runs at a neighbour's mbarrier.

        Blocks of a cluster go in step: it is the one of as many turns, unless a warp has waited for
        it. That one came without what is done now, so the phase that runs here does.
        """
        turns = other._turns.get(place, 0) if other else 0
        same = self._number(place, turns)
        return self.running(place) if same in self._waited else same

    def _number(self, place: int, turn: int) -> int:
        return self._numbers.setdefault((place, turn), len(self._numbers))

    def add(self, warp: int, instruction: int, phases: list[int]) -> None:
        """Take note of an instruction that arrives at phases, or waited for them."""
        for place, phase in enumerate(dict.fromkeys(phases)):
            self._events[warp].append((FURTHER if place else instruction, phase, 0, 0, 0))

    def copy(
        self, warp: int, instruction: int, phase: int, moved: tuple[int, int, int],
        rows: NDArray[np.int64], size: int,
    ) -> None:  # fmt: skip
        """Take note of a copy.

        Parameters
        ----------
        warp, instruction, phase
            Who copies, by which instruction, and the phase that ends with it.
        moved
            Bytes, sectors and rows.
        rows, size
            The first byte of each row in global memory, and bytes of a row.
        """
        self._events[warp].append((instruction, phase, *moved))
        if size > 0 and len(rows):
            begin = rows & 0xFFFFFFFF  # as lines of accesses are: from the device's first byte on
            first, last = begin // SECTOR, (begin + size - 1) // SECTOR
            most = int((last - first).max()) + 1
            every = first[:, None] + np.arange(most)
            found = distinct(every[every <= last[:, None]])
            self._copied.setdefault(instruction, []).append(found)

    def take(self) -> tuple[list[NDArray[np.int64]], dict[int, tuple[NDArray[np.int64], ...]]]:
        """Return each warp's events and the sectors that copies touched, and begin the next block.

        An event: instruction, phase, bytes, sectors, rows. Sectors are by instruction, in turns:
        of as many copies each.
        """
        events = [np.array(each, dtype=np.int64).reshape(-1, 5) for each in self._events]
        copied = {number: _in_turns(parts) for number, parts in self._copied.items()}
        self._begin()
        return events, copied


def _in_turns(parts: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
    """Join copies that follow one another."""
    return tuple(
        distinct(np.concatenate(parts[at : at + _TURN])) for at in range(0, len(parts), _TURN)
    )
