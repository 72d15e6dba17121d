"""What 32-bit adds and exchanges in another block's shared memory take: a law and a bound.

The SM looks a warp's lines of 128 bytes up in four tag banks, as copies' lines are
(`simulator.law.copies.tag_bank`). A *wave* takes one line of each tag bank: that of the bank's
first waiting lane, with every waiting lane on it whose word is not taken yet. A wave of one lane
for each line sends a packet a line. Any other sends for each line one packet, and one for each
sector. A packet takes 1.5 cycles. At the other end a bank takes two cycles for each line of a wave
that has it.

Source: clocks and counters of an NVIDIA H100 (sm_90), gpu_check/data/h100_neighbours.npz and
h100_neighbour_counters.csv. It was held against h100_neighbour_probes.npz, measured afterwards.
Now and then the chip does not find the lanes of a line together, and why is not known. So `cycles`
are the law's, a few cycles off at times, and no access took less than `least`;
docs/explanation/validation.md has the figures.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simulator.law.accesses import ALL_LANES, check, warp_accesses
from simulator.law.copies import LINE, tag_bank
from simulator.law.instructions import instruction
from simulator.law.masks import active_table
from simulator.law.neighbours import CYCLES_PER_PACKET

__all__ = ["AtomicCosts", "price_neighbour_atomic"]

_SECTOR, _WORD = 32, 4
_PER_LINE, _AROUND, _FLOOR = 2.0, 1.0, 3.0  # cycles


class AtomicCosts(NamedTuple):
    """What one atomic of a warp costs whose lanes all go to one neighbour."""

    packets: int
    """Packets that ask for it, by the law."""
    cycles: float
    """Cycles per access where warps make nothing else, by the law."""
    least: float
    """Cycles that no measured access undercut by more than 0.6."""


def price_neighbour_atomic(addresses: ArrayLike, mask: int | None = None) -> AtomicCosts:
    """Return what a 32-bit add or exchange of 32 lanes costs in a neighbour's memory.

    Addresses, of shape (32,), are bytes of the shared window, as `cvta.to.shared` gives them: a
    block's dynamic memory does not begin at 0 there, and tag banks depend on it.

    >>> price_neighbour_atomic([2048] * 32).cycles  # one word: each lane on its own
    65.0
    >>> price_neighbour_atomic(range(2048, 2176, 4))  # one line: a packet, and one a sector
    AtomicCosts(packets=5, cycles=7.5, least=7.5)

    Raises what `count` raises for bad accesses.
    """
    known = instruction("ATOMS.ADD")
    array, masks = warp_accesses(known, addresses, mask)
    check(known, array, masks, addresses)
    active = active_table(np.array([ALL_LANES] if masks is None else masks).reshape(-1))[0]
    lanes = [int(place) for place, on in zip(array.reshape(-1), active, strict=True) if on]
    if not lanes:
        return AtomicCosts(0, 0.0, 0.0)
    packets, meetings = 0, Counter[int]()
    for wave in _waves(lanes):
        alone = all(len(line) == 1 for line in wave)
        packets += sum(1 if alone else 1 + _sectors(line) for line in wave)
        meetings.update(place // _WORD % (LINE // _WORD) for line in wave for place in line)
    there = max(_FLOOR, _PER_LINE * max(meetings.values()) + _AROUND)
    fewest = sum(min(len(line), 1 + _sectors(line)) for line in _rounds(lanes))
    return AtomicCosts(
        packets, max(CYCLES_PER_PACKET * packets, there), max(CYCLES_PER_PACKET * fewest, there)
    )


def _waves(lanes: list[int]) -> list[list[list[int]]]:
    """Return the waves of lanes in lane order: of each its lines, of each line its places."""
    found, waiting = [], lanes
    while waiting:
        first: dict[int, int] = {}
        for place in waiting:
            first.setdefault(tag_bank(place // LINE), place // LINE)
        taken: dict[int, list[int]] = {line: [] for line in first.values()}
        later = []
        for place in waiting:
            line = taken.get(place // LINE)
            if line is None or place in line:
                later.append(place)
            else:
                line.append(place)
        found.append(list(taken.values()))
        waiting = later
    return found


def _rounds(lanes: list[int]) -> list[list[int]]:
    """Return the lanes of each line by rounds: those on one word go one after the other."""
    before, found = Counter[int](), dict[tuple[int, int], list[int]]()
    for place in lanes:
        found.setdefault((place // LINE, before[place]), []).append(place)
        before[place] += 1
    return list(found.values())


def _sectors(line: list[int]) -> int:
    return len({place // _SECTOR for place in line})
