"""What lanes do one after the other, for many at once, in NumPy: see `copies` and `loops`.

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
from simulator.law.loops import is_round, loop_slots

__all__ = ["count_turns", "phase_of"]

_CHUNK = 1 << 13  # accesses worked on at a time
_NOTHING = np.int64(-1)


def phase_of(instruction: Instruction) -> NDArray[np.int64]:
    """Return the phase of each lane that counts, before fusing: (lanes,)."""
    phases = np.zeros(instruction.lanes, dtype=np.int64)
    for phase, group in enumerate(instruction.phase_lanes):
        phases[list(group)] = phase
    return phases


def count_turns(
    instruction: Instruction,
    addresses: Rows,
    sources: Rows | None,
    masks: NDArray[np.uint32] | None,
) -> NDArray[np.uint8]:
    """Count n copies, where `sources` are given, or else n loops: (n, 32), masks (n,) or None.

    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles.
    """
    found = np.zeros((6, len(addresses)), dtype=np.uint8)
    lanes = instruction.lanes
    for start in range(0, len(addresses), _CHUNK):
        part = slice(start, start + _CHUNK)
        bits = np.full(len(found[0, part]), ALL_LANES) if masks is None else masks[part]
        active = active_lanes(bits)[:, :lanes]
        to = np.where(active, addresses[part][:, :lanes], 0).astype(np.int64)
        if sources is None:
            found[:, part] = _count_loops(instruction, to, active)
        else:
            source = np.where(active, sources[part][:, :lanes], NO_SOURCE).astype(np.int64)
            found[:, part] = _count_copies(instruction, to, source, active)
    return found


def _count_loops(
    instruction: Instruction, at: NDArray[np.int64], active: NDArray[np.bool_]
) -> NDArray[Any]:
    slots = at // instruction.width % loop_slots(instruction)
    pending, served = active.copy(), np.zeros(len(at), dtype=np.int32)
    phase_lanes = phase_of(instruction)
    left = np.flatnonzero(pending.any(axis=1))
    while left.size:
        won = np.zeros((left.size, at.shape[1]), dtype=bool)
        rows = np.arange(left.size)
        for phase in range(instruction.phases):
            group, earlier = (
                np.flatnonzero(phase_lanes == phase),
                np.flatnonzero(phase_lanes < phase),
            )
            tried = np.zeros((left.size, loop_slots(instruction)), dtype=bool)
            for lane in group:
                slot = slots[left, lane]
                tries = pending[left, lane] & ~tried[rows, slot]
                tried[rows, slot] |= tries
                same = at[np.ix_(left, earlier)] == at[left, lane, None]
                won[:, lane] = tries & ~(won[:, earlier] & same).any(axis=1)
            served[left] += pending[np.ix_(left, group)].any(axis=1)
        pending[left] &= ~won
        left = left[:0] if is_round(instruction) else left[pending[left].any(axis=1)]
    number = active.sum(axis=1, dtype=np.int32)
    phases = instruction.phases * (number > 0)
    figures = specification.figures(
        instruction, phases, served, served, number, np.minimum, np.maximum
    )
    return np.stack(figures)


def _count_copies(
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
    """Return the distinct numbers in the fullest of four banks: (n, lanes) → (n,), without -1."""
    numbers = np.sort(numbers, axis=1)
    fresh = numbers != _NOTHING
    fresh[:, 1:] &= numbers[:, 1:] != numbers[:, :-1]
    banks = bank_of(numbers)
    held = [(fresh & (banks == bank)).sum(axis=1) for bank in range(4)]
    most: NDArray[np.int64] = np.max(held, axis=0)
    return most
