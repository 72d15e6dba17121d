"""What lanes do one after the other, compiled by Numba by the million.

`copies` and `loops` are the laws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit
from simulator.law.accesses import ALL_LANES, NO_SOURCE, Rows
from simulator.law.chunks import in_chunks, law_of
from simulator.law.copies import LINE, MOST_PIECES, PIECE, TAG_PARITIES
from simulator.law.instructions import Instruction
from simulator.law.loops import is_round
from simulator.law.numba_engine import cycles_of, ideal_of
from simulator.law.numpy_turns import phase_of

__all__ = ["count_turns"]

_ENDLESS = 1 << 30

_ONE, _OTHER = map(np.int64, TAG_PARITIES)


def count_turns(
    instruction: Instruction,
    addresses: Rows,
    sources: Rows | None,
    masks: NDArray[np.uint32] | None,
    threads: int | None = None,
) -> NDArray[np.uint8]:
    """Count n copies, where `sources` are given, or else n loops: (n, 32), masks (n,) or None.

    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles. At most
    `threads` work (None: one per processor).
    """
    law, phases = law_of(instruction, "silicon"), phase_of(instruction)
    rounds = 1 if is_round(instruction) else _ENDLESS

    def count_chunk(part: slice, figures: NDArray[np.uint8]) -> int:
        at, mine = _wide(addresses[part]), figures[:, part]
        bits = np.full(len(at), ALL_LANES) if masks is None else _wide(masks[part])
        if sources is None:
            _loops(at, bits, law, phases, rounds, mine)
        else:
            _copies(at, _wide(sources[part]), bits, law, phases, mine)
        return -1

    figures, _ = in_chunks(count_chunk, len(addresses), threads)
    return figures


def _wide(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return rows as one of the types for which the loops are compiled."""
    return np.ascontiguousarray(rows, dtype=np.int64)


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
        _write(law, served, (worst > 0).sum(), active, figures[:, row])
        if served:
            looked_up = _lookups(destinations[row], sources[row], masks[row], law.lanes)
            figures[5, row] = max(np.int64(figures[5, row]), looked_up)


@jit()
def _write(law, served, busy, active, figures):
    """Fill an access's figures."""
    wavefronts = np.uint16(served * law.passes)
    groups = np.uint16(law.phases if active else 0)
    ideal = ideal_of(law, wavefronts, np.uint16(active))
    figures[0] = groups
    figures[1] = wavefronts
    figures[2] = ideal
    figures[3] = wavefronts - ideal
    figures[4] = served - busy
    figures[5] = cycles_of(law, wavefronts, groups)


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
def _loops(addresses, masks, law, phases, rounds, figures):
    slots = 128 // law.width
    tried = np.zeros(slots, np.int64)  # the attempt at which a lane last tried each slot
    for row in range(len(masks)):
        tried[:] = 0
        left, active, attempt, served, done = masks[row], 0, 0, 0, 0
        for lane in range(law.lanes):
            active += masks[row] >> lane & 1
        while left and done < rounds:
            done += 1
            won = np.int64(0)
            for phase in range(law.phases):
                attempt += 1
                waiting, winners = False, np.int64(0)
                for lane in range(law.lanes):
                    if phases[lane] != phase or not left >> lane & 1:
                        continue
                    waiting = True
                    slot = addresses[row, lane] // law.width % slots
                    if tried[slot] == attempt:
                        continue
                    tried[slot] = attempt
                    free = True
                    for other in range(law.lanes):
                        if won >> other & 1 and addresses[row, other] == addresses[row, lane]:
                            free = False
                    if free:
                        winners |= np.int64(1) << lane
                won |= winners
                served += waiting
            left &= ~won
        _write(law, served, served, active, figures[:, row])


@jit()
def _parity(number):
    for shift in (16, 8, 4, 2, 1):
        number ^= number >> shift
    return number & 1
