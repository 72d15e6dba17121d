"""Compiled: the banks of registers from which an instruction's operands are read.

Registers of even and odd numbers lie in two banks, which read one operand per cycle each. Each
place of an instruction is read in cycles of its own. Where a bank has none left in them, the
instruction is dispatched later, and so is what comes behind it. What a warp keeps in the reuse
cache is not read (gpu_check/data/h100_banks.csv, h100_banks_beside.csv, h100_loop_ends.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import OF_DOUBLES, SLOTS

__all__ = ["brought", "read_operands"]

_BROUGHT = NUMBERS.index("load_port")
_FIRST, _LAST = (0, 1, 1), (2, 1, 2)
"""By place: the cycles of an instruction in which its register is read.

What pipes for products and sums do not execute may have its third one read in the first, too.
These windows alone, of all that begin within three cycles and end within four, give what those
tables say to a cycle of a loop, but for loops that uniform registers count: a cycle more.
"""
_MOST_DELAY = 8
_MATRIX = 4
"""Registers of an operand that is a matrix."""
_AHEAD = 2
"""Cycles by which others than sums and products may begin before a matrix is read."""


@jit()
def read_operands(
    code: Any, state: Any, partition: int, warp: int, number: int, now: int
) -> tuple[int, int]:
    """Read an instruction's operands; for how long that holds up it, and then what is behind it.

    Doubles are read in cycles that others leave, and hold their pipe until then. They have a reuse
    cache of their own: 32-bit instructions between them do not clear it, nor they theirs
    (gpu_check/data/h100_doubles.csv, beside; h100_dispatch.csv). What reads matrices is not held
    up: while it reads, no other begins to (h100_banks_beside.csv, H and J).
    """
    is_double = code[number].is_double
    needed = words = 0
    is_matrix = False
    for slot in range(SLOTS):
        register = code[number].source[slot]
        if register < 0:
            continue
        place = OF_DOUBLES if is_double else register & 1
        key = warp * 256 + register
        is_kept = state.kept[partition, slot, place] == key
        state.kept[partition, slot, place] = key if code[number].reuse >> slot & 1 else -1
        wide = code[number].wide[slot]
        is_matrix |= wide == _MATRIX
        if not is_kept or (wide > 1 and not is_double):
            needed |= 1 << slot
            words += wide
    if not (needed or is_double):
        return 0, 0
    if is_matrix:  # one that begins before another has been read is read beside it
        ends = max(state.matrix[partition], now) + words // 2
        state.matrix[partition] = min(ends, now + words)
        return 0, 0
    _go_on(state, partition, now)
    if is_double:
        state.behind[partition, :] += words // 2
        return 0, int(words == 2 * SLOTS)
    ahead = 0 if code[number].is_fma else _AHEAD
    delay = max(int(state.matrix[partition]) - now - ahead, 0)
    most = delay + _MOST_DELAY
    while not _find(code, state, partition, number, needed, delay) and delay < most:
        delay += 1
    return delay, 0


@jit()
def _find(code: Any, state: Any, partition: int, number: int, needed: int, delay: int) -> bool:
    """Find cycles for an instruction's operands, so many later, and take them if there are any."""
    even, odd = state.reading[partition, 0], state.reading[partition, 1]
    for slot in range(SLOTS):
        if not needed >> slot & 1:
            continue
        bank, is_wide = code[number].source[slot] & 1, code[number].wide[slot] > 1
        first = _FIRST[slot] if slot < 2 or code[number].is_fma else 0
        last = _LAST[slot] + delay
        if is_wide or bank == 0:
            even = _read(even, first + delay, last)
        if is_wide or bank == 1:
            odd = _read(odd, first + delay, last)
        if even < 0 or odd < 0:
            return False
    state.reading[partition, 0], state.reading[partition, 1] = even, odd
    return True


@jit()
def _read(cycles: int, first: int, last: int) -> int:
    """Return a bank's cycles with the first that is free; -1: none is free by `last`."""
    at = 1 << first
    while cycles & at:
        at <<= 1
    return cycles | at if at <= 1 << last else -1


@jit()
def _go_on(state: Any, partition: int, now: int) -> None:
    """Forget what was read before now."""
    passed = min(now - state.reading_at[partition], 62)
    if passed > 0:
        idle = now - state.reading_at[partition] - passed
        for bank in range(2):
            reads = state.reading[partition, bank]
            state.behind[partition, bank] = max(state.behind[partition, bank] - idle, 0)
            for cycle in range(passed):
                if state.behind[partition, bank] == 0:
                    break
                state.behind[partition, bank] -= 1 - (reads >> cycle & 1)
            state.reading[partition, bank] = reads >> passed
        state.reading_at[partition] = now


@jit()
def brought(state: Any, machine: Any, partition: int, now: int) -> None:
    """Let nothing else be dispatched while what a load of shared memory brings is written.

    It is a part of a cycle, on average (gpu_check/data/h100_ports.csv, LDS beside FFMA): what is
    left over counts with the next ones. Wide loads take more where many warps compute beside them
    (h200_wide_ports.csv), but not in products of few warps: that is left out.
    """
    state.port_rest[partition] += machine[_BROUGHT]
    whole = int(state.port_rest[partition])
    state.port_rest[partition] -= whole
    if whole:
        port = max(int(state.port[partition]), now)
        state.held_up[partition] = port - now + whole
        state.port[partition] = port + whole
