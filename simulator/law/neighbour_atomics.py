"""What atomics in another block's shared memory take: a law and a bound.

Lanes leave in waves (`simulator.law.neighbour_waves`). A wave of one lane for each line sends a
packet a line. Any other sends for each line one packet, and one for each sector. A packet takes
1.5 cycles. At the other end a wave takes two cycles for each of its lines that meet in its fullest
bank. All waves take one more.

It holds for add, min, max, inc, dec, and, or, xor and exchange of 32 bits. It holds for sums of 64
bits whose result nobody asks for, too. Compare-and-swap and 64 bits with a result are recorded and
have no law. Source: clocks and counters of an NVIDIA H100 (sm_90), which are in gpu_check/data:
h100_neighbours.npz, h100_neighbour_probes.npz, h100_neighbour_atomics.npz, and
h100_neighbour_counters.csv. Some accesses
take longer than the law says, for the way there and the other end do not quite overlap. No access
took less than `least`; docs/explanation/validation.md has the figures.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simulator.errors import InstructionError
from simulator.law.accesses import ALL_LANES, check, warp_accesses
from simulator.law.copies import LINE
from simulator.law.instructions import instruction
from simulator.law.masks import active_table
from simulator.law.neighbour_waves import waves
from simulator.law.neighbours import CYCLES_PER_PACKET, wave_packets

__all__ = ["BOUNDED", "AtomicCosts", "price_neighbour_atomic"]

BOUNDED = frozenset(
    f"ATOMS.{each}" for each in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH")
)
"""Atomics, as they are called at home, of which `least` says the least that they take."""

_SECTOR, _WORD = 32, 4
_PER_LINE, _AROUND = 2.0, 1.0  # cycles
_FLOORS = {4: 3.0, 8: 4.0}  # cycles, by bytes of a lane


class AtomicCosts(NamedTuple):
    """What one atomic of a warp costs whose lanes all go to one neighbour."""

    packets: int
    """Packets that ask for it, by the law."""
    cycles: float
    """Cycles per access where warps make nothing else, by the law."""
    least: float
    """Cycles that no measured access undercut by more than 0.6."""
    fewest: int
    """Packets of the bound."""


def price_neighbour_atomic(
    addresses: ArrayLike, mask: int | None = None, width: int = 4
) -> AtomicCosts:
    """Return what an atomic of 32 lanes, each of 4 or 8 bytes, costs in a neighbour's memory.

    Addresses, of shape (32,), are bytes of the shared window, as `cvta.to.shared` gives them: a
    block's dynamic memory does not begin at 0 there, and tag banks depend on it.

    >>> price_neighbour_atomic([2048] * 32).cycles  # one word: each lane on its own
    65.0
    >>> price_neighbour_atomic(range(2048, 2176, 4))  # one line: a packet, and one a sector
    AtomicCosts(packets=5, cycles=7.5, least=7.5, fewest=5)

    Raises InstructionError for another width, and what `count` raises for bad accesses.
    """
    if width not in _FLOORS:
        raise InstructionError(f"atomics of {width} bytes (accepted: 4 or 8)")
    known = instruction("ATOMS.ADD" if width == _WORD else "ATOMS.EXCH.64")
    array, masks = warp_accesses(known, addresses, mask)
    check(known, array, masks, addresses)
    active = active_table(np.array([ALL_LANES] if masks is None else masks).reshape(-1))[0]
    lanes = [int(place) for place, on in zip(array.reshape(-1), active, strict=True) if on]
    if not lanes:
        return AtomicCosts(0, 0.0, 0.0, 0)
    found = waves(lanes, width)
    packets = sum(map(wave_packets, found))
    there = max(_FLOORS[width], _PER_LINE * sum(map(_meeting, found)) + _AROUND)
    banks = Counter(place // _WORD % (LINE // _WORD) for wave in found for line in wave
                    for place in line)  # fmt: skip
    apart = max(_FLOORS[width], _PER_LINE * max(banks.values()) + _AROUND)
    fewest = sum(min(len(line), 1 + _sectors(line)) for line in _rounds(lanes))
    return AtomicCosts(
        packets, max(CYCLES_PER_PACKET * packets, there), max(CYCLES_PER_PACKET * fewest, apart),
        fewest,
    )  # fmt: skip


def _meeting(wave: list[list[int]]) -> int:
    """Return how many lines of a wave meet in one bank."""
    return max(
        Counter(place // _WORD % (LINE // _WORD) for line in wave for place in line).values()
    )


def _rounds(lanes: list[int]) -> list[list[int]]:
    """Return the lanes of each line by rounds: those on one word go one after the other."""
    before, found = Counter[int](), dict[tuple[int, int], list[int]]()
    for place in lanes:
        found.setdefault((place // LINE, before[place]), []).append(place)
        before[place] += 1
    return list(found.values())


def _sectors(line: list[int]) -> int:
    return len({place // _SECTOR for place in line})
