"""Compiled: what the L2 has of what a block asks for, and what DRAM moves for it.

Of most lines it is drawn whether the L2 has lost them since the last launch. Of those that a block
touched before it is known: it has them until the grid has touched enough since
(gpu_check/data/h100_read_back.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import TOUCHED_BITS
from simulator.timing.traces import SECTORS

__all__ = [
    "ALL",
    "BITS",
    "COMMON",
    "HERE",
    "MIX",
    "NEW",
    "count_sectors",
    "far_away",
    "is_across",
    "is_lost",
    "known",
    "spread_over",
    "touch",
]

_KEPT_FROM, _KEPT_TO = NUMBERS.index("kept_from"), NUMBERS.index("kept_to")
_KEPT_SECTOR, _CROSSED = NUMBERS.index("kept_sector"), NUMBERS.index("crossed")
_ENTRY_LINE, _ENTRY_BLOCK, _ENTRY_STORED, _ENTRY_LOADED, _ENTRY_SINCE = range(5)
"""Places of an entry: see `touched` of the state."""
NEW, HERE, _FORGOTTEN = range(3)
"""What a block asks for: it did not touch it before, the L2 has it since, or has lost it."""
COMMON = -1.0
"""In place of the share that comes from DRAM: all blocks touch it, so the L2 has it near by."""
MIX, ALL, BITS = 2654435761, 1 << 32, (1 << 30) - 1
"""Products of an odd number with others lie all over a range."""
_APART = 7919


@jit()
def count_sectors(mask: int) -> int:
    """Return the sectors of a line that a mask has."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@jit()
def is_lost(line: int, share: float) -> bool:
    """Say whether the L2 has lost a line. It keeps or loses neighbours together.

    Of 30 MiB it has lost 16 %. Of the four lines behind one that it lost, it has lost more than
    half, and of those 64 lines behind 17 % (gpu_check/data/h100_in_turn.csv). Half a kilobyte is
    drawn.
    """
    return bool((line // SECTORS & BITS) * MIX % ALL < share * ALL)


@jit()
def _place(state: Any, line: int) -> int:
    """Return where it stands which sectors of a line a block touched: one of two places.

    Where others have both, it takes that of the line that was touched less lately.
    """
    # Blocks that stand for others have the same lines, and are told apart by what is above.
    place = int((line + (line >> 32) * _APART & BITS) * MIX % ALL >> (32 - TOUCHED_BITS))
    mine, other = state.touched[place], state.touched[place ^ 1]
    if mine[_ENTRY_LINE] == line or mine[_ENTRY_LINE] < 0:
        return place
    older = other[_ENTRY_LINE] < 0 or other[_ENTRY_SINCE] < mine[_ENTRY_SINCE]
    return place ^ 1 if other[_ENTRY_LINE] == line or older else place


@jit()
def touch(state: Any, machine: Any, line: int, mask: int, is_store: bool) -> int:
    """Say that a block stores sectors of a line, or gets them from DRAM; which it had stored."""
    entry = state.touched[_place(state, line)]
    if entry[_ENTRY_LINE] != line or entry[_ENTRY_BLOCK] != state.asker:
        entry[_ENTRY_LINE], entry[_ENTRY_BLOCK] = line, state.asker
        entry[_ENTRY_STORED] = entry[_ENTRY_LOADED] = 0
    elif _is_forgotten(state, machine, entry):
        entry[_ENTRY_STORED] = entry[_ENTRY_LOADED] = 0
    before = int(entry[_ENTRY_STORED])
    entry[_ENTRY_STORED if is_store else _ENTRY_LOADED] |= mask
    entry[_ENTRY_SINCE] = int(state.moved)
    return before


@jit()
def _is_forgotten(state: Any, machine: Any, entry: Any) -> bool:
    """Say whether the L2 has lost what a block touched of a line.

    The more the grid touched since, the more likely (gpu_check/data/h100_read_back.csv).
    """
    since = (state.moved - entry[_ENTRY_SINCE]) * machine[_KEPT_SECTOR] - machine[_KEPT_FROM]
    share = since / (machine[_KEPT_TO] - machine[_KEPT_FROM])
    return bool(since > 0 and is_lost(entry[_ENTRY_LINE] + (entry[_ENTRY_SINCE] << 2), share))


@jit()
def _tells(machine: Any, share: float) -> bool:
    """Say whether it matters what blocks touched: something is lost, or in the L2's other part."""
    return bool(share > 0 or machine[_CROSSED] > 0 or machine[_KEPT_SECTOR] > 0)


@jit()
def known(state: Any, machine: Any, line: int, mask: int, share: float) -> int:
    """Say whether a block touched sectors of a line, and whether its part of the L2 has them.

    `line`: -1: they lie all over; `share`: of what comes from DRAM.
    """
    if share == COMMON:
        state.moved -= count_sectors(mask)
        return HERE
    if line < 0 or not _tells(machine, share):
        return NEW
    entry = state.touched[_place(state, line)]
    if entry[_ENTRY_LINE] != line or entry[_ENTRY_BLOCK] != state.asker:
        return NEW
    if mask & ~(entry[_ENTRY_LOADED] | entry[_ENTRY_STORED]):
        return NEW
    state.moved -= count_sectors(mask) / 2  # what comes again drives out less
    if _is_forgotten(state, machine, entry):
        return _FORGOTTEN
    entry[_ENTRY_SINCE] = int(state.moved)
    return HERE


@jit()
def far_away(
    state: Any, machine: Any, sectors: int, share: float, line: int, mask: int, known: int
) -> int:  # fmt: skip
    """Return how many sectors DRAM moves for this request, by the share of all that it moves.

    `line`: where they lie, and which of its sectors they are, -1: all over; `known`: as `known`
    has it. A request for a line finds all of its sectors in the L2, or none.
    """
    if line < 0:
        return int(spread_over(state, sectors, share))
    if known == HERE or not _tells(machine, share):
        return 0
    touch(state, machine, line, mask, False)
    if known == NEW and not is_lost(line, share):
        return 0
    state.counts[7] += sectors
    return sectors


@jit()
def spread_over(state: Any, sectors: int, share: float) -> int:
    """Return how many of many sectors DRAM moves, wherever they lie: whole lines."""
    if not sectors:
        return 0
    unit = min(sectors, SECTORS)
    state.dram_rest += sectors / unit * share
    lines = int(state.dram_rest)
    state.dram_rest -= lines
    state.counts[7] += lines * unit
    return lines * unit


@jit()
def is_across(state: Any, sectors: int, share: float, line: int) -> bool:
    """Say whether a line comes from the L2's other part, if a share of all do."""
    if line >= 0:  # which ones do is drawn: in turn, it would be those of the same instruction
        drawn = (line & BITS) * MIX >> 4 & BITS
        return bool(((drawn ^ drawn >> 15) * MIX >> 12 & 1023) < 1024 * share)
    state.cross_rest += sectors * share
    is_across = bool(state.cross_rest >= sectors)
    state.cross_rest -= sectors * is_across
    return is_across
