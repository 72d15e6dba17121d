"""What lanes do one after the other, compiled by Numba for millions of accesses: see `copies`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit
from simulator.law.accesses import ALL_LANES, NO_SOURCE, Rows
from simulator.law.chunks import in_chunks, law_of
from simulator.law.copies import LINE, MOST_PIECES, PIECE, TAG_PARITIES
from simulator.law.instructions import Instruction
from simulator.law.numba_engine import cycles_of, ideal_of
from simulator.law.numpy_turns import phase_of

__all__ = ["count_copies"]

_ONE, _OTHER = map(np.int64, TAG_PARITIES)


def count_copies(
    instruction: Instruction,
    addresses: Rows,
    sources: Rows,
    masks: NDArray[np.uint32] | None,
    threads: int | None = None,
) -> NDArray[np.uint8]:
    """Count n copies: destinations and sources (n, 32), masks (n,) or None for all lanes.

    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles. At most
    `threads` work (None: one per processor).
    """
    law, phases = law_of(instruction, "silicon"), phase_of(instruction)

    def count_chunk(part: slice, figures: NDArray[np.uint8]) -> int:
        to, source = wide(addresses[part]), wide(sources[part])
        _copies(to, source, bits_of(masks, part, len(to)), law, phases, figures[:, part])
        return -1

    figures, _ = in_chunks(count_chunk, len(addresses), threads)
    return figures


def wide(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return rows as one of the types for which the loops are compiled."""
    return np.ascontiguousarray(rows, dtype=np.int64)


def bits_of(masks: NDArray[np.uint32] | None, part: slice, size: int) -> NDArray[np.int64]:
    """Return a chunk's masks, each in 64 bits."""
    return np.full(size, ALL_LANES) if masks is None else wide(masks[part])


@jit()
def _copies(destinations, sources, masks, law, phases, figures):
    unit = max(law.width, 4)
    slots = 128 // unit
    room = slots * law.phases
    last = np.zeros(2 * room, np.int64)  # turns on each slot of destinations, then of sources
    worst = np.zeros(32, np.int64)
    for row in range(len(masks)):
        last[:] = 0
        worst[:] = 0
        active = 0
        for lane in range(law.lanes):
            if not masks[row] >> lane & 1:
                continue
            active += 1
            if law.phases == 0:
                continue
            own = slots * phases[lane]
            source = sources[row, lane]
            write = own + destinations[row, lane] // unit % slots
            turn = last[write]
            if source != NO_SOURCE:
                read = room + own + source // unit % slots
                turn = max(turn, last[read])
                last[read] = turn + 1
            last[write] = turn + 1
            worst[phases[lane]] = max(worst[phases[lane]], turn + 1)
        served = worst.sum()
        wavefronts = np.uint16(served * law.passes)
        groups = np.uint16(law.phases if active else 0)
        cycles = np.int64(cycles_of(law, wavefronts, groups))
        if served:
            looked_up = _lookups(destinations[row], sources[row], masks[row], law.lanes)
            cycles = max(cycles, looked_up)
        ideal = ideal_of(law, wavefronts, np.uint16(active))
        figures[0, row] = groups
        figures[1, row] = wavefronts
        figures[2, row] = ideal
        figures[3, row] = wavefronts - ideal
        figures[4, row] = served - (worst > 0).sum()
        figures[5, row] = cycles


@jit()
def _lookups(destinations, sources, mask, lanes):
    """Return the cycles of the lookups: lines in the fullest tag bank, and pieces, at most 2."""
    lines, pieces = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for lane in range(lanes):
        if not mask >> lane & 1:
            continue
        line, piece = sources[lane] // LINE, destinations[lane] // PIECE
        new_line, new_piece = sources[lane] != NO_SOURCE, True
        for other in range(lane):
            if mask >> other & 1:
                new_line &= sources[other] // LINE != line
                new_piece &= destinations[other] // PIECE != piece
        if new_line:
            lines[_parity(line & _ONE) + 2 * _parity(line & _OTHER)] += 1
        if new_piece:
            pieces[piece % 4] += 1
    return lines.max() + min(pieces.max(), MOST_PIECES)


@jit()
def _parity(number):
    for shift in (16, 8, 4, 2, 1):
        number ^= number >> shift
    return number & 1
