"""What lanes do one after the other, for many accesses at once, in NumPy: see `copies`.

Like `numpy_engine` it counts *slots*: aligned vectors of an access's width, whose banks move
together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.law import specification
from simulator.law.accesses import ALL_LANES, NO_SOURCE, Rows, active_lanes
from simulator.law.copies import LINE, MOST_PIECES, PIECE, TAG_PARITIES
from simulator.law.instructions import Instruction

__all__ = ["count_copies", "phase_of"]

_CHUNK = 1 << 13  # accesses worked on at a time
_NOTHING = np.int64(-1)


def phase_of(instruction: Instruction) -> NDArray[np.int64]:
    """Return the phase of each lane that counts, before fusing: (lanes,)."""
    phases = np.zeros(instruction.lanes, dtype=np.int64)
    for phase, group in enumerate(instruction.phase_lanes):
        phases[list(group)] = phase
    return phases


def count_copies(
    instruction: Instruction, addresses: Rows, sources: Rows, masks: NDArray[np.uint32] | None
) -> NDArray[np.uint8]:
    """Count n copies: destinations and sources (n, 32), masks (n,) or None for all lanes.

    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles.
    """
    found = np.zeros((6, len(addresses)), dtype=np.uint8)
    for start in range(0, len(addresses), _CHUNK):
        part = slice(start, start + _CHUNK)
        to, source = (rows[part][:, : instruction.lanes] for rows in (addresses, sources))
        bits = np.full(len(to), ALL_LANES) if masks is None else masks[part]
        active = active_lanes(bits)[:, : instruction.lanes]
        found[:, part] = _count_chunk(
            instruction,
            np.where(active, to, 0).astype(np.int64),
            np.where(active, source, NO_SOURCE).astype(np.int64),
            active,
        )
    return found


def _count_chunk(
    instruction: Instruction,
    to: NDArray[np.int64],
    source: NDArray[np.int64],
    active: NDArray[np.bool_],
) -> NDArray[Any]:
    worst = _longest_chains(instruction, to, source, active)
    number = active.sum(axis=1, dtype=np.int32)
    phases = instruction.phases * (number > 0)
    served, busy = worst.sum(axis=1, dtype=np.int32), (worst > 0).sum(axis=1, dtype=np.int32)
    *costs, cycles = specification.figures(
        instruction, phases, served, busy, number, np.minimum, np.maximum
    )
    if instruction.phases:
        lines, written = source // LINE, np.where(active, to // PIECE, _NOTHING)
        found = np.minimum(MOST_PIECES, _fullest(written, lambda piece: piece % 4))
        cycles = np.maximum(cycles, _fullest(lines, _tag_banks) + found)
    return np.stack([*costs, cycles])


def _longest_chains(
    instruction: Instruction,
    to: NDArray[np.int64],
    source: NDArray[np.int64],
    active: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Return the last turn of each phase, (n, phases)."""
    unit = max(instruction.width, specification.WORD)
    slots = specification.BANKS * specification.WORD // unit
    room = slots * instruction.phases
    own = slots * phase_of(instruction)
    # The last turn on each slot, of each side; behind them a place for lanes that have none.
    last = np.zeros((len(to), 2 * room + 1), dtype=np.uint8)
    writes = np.where(active, own + to // unit % slots, 2 * room)
    reads = np.where(source != NO_SOURCE, room + own + source // unit % slots, 2 * room)
    worst = np.zeros((len(to), instruction.phases), dtype=np.uint8)
    if instruction.phases == 0:
        return worst
    rows = np.arange(len(to))
    for lane, phase in enumerate(phase_of(instruction)):
        write, read = writes[:, lane], reads[:, lane]
        turn = (1 + np.maximum(last[rows, write], last[rows, read])) * active[:, lane]
        last[rows, write] = last[rows, read] = turn
        last[:, -1] = 0
        np.maximum(worst[:, phase], turn, out=worst[:, phase])
    return worst


def _tag_banks(lines: NDArray[np.int64]) -> NDArray[np.int64]:
    low, high = (_parity(lines & bits) for bits in TAG_PARITIES)
    return low + 2 * high


def _parity(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ numbers >> shift
    return numbers & 1


def _fullest(numbers: NDArray[np.int64], bank_of: Any) -> NDArray[np.int64]:
    """Return the distinct numbers in the fullest of four banks: (n, lanes) → (n,); -1 is none."""
    numbers = np.sort(numbers, axis=1)
    fresh = numbers != _NOTHING
    fresh[:, 1:] &= numbers[:, 1:] != numbers[:, :-1]
    banks = bank_of(numbers)
    held = [(fresh & (banks == bank)).sum(axis=1) for bank in range(4)]
    most: NDArray[np.int64] = np.max(held, axis=0)
    return most
