"""Compiled: which warp of a sub-partition issues.

A scheduler goes on with the warp that issued last, behind a pause of its control bits too, unless
they let others in (gpu_check/data/h100_yields.csv). While that one may not issue, it takes one of
the block that began first (h100_order.csv, h200_refills.csv). Of the block's warps it takes the one
that has waited longest for a queue or a pipe; else one that let nobody in when it issued, the last
of them first; else the one that issued longest ago (h100_turns.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.constant_caches import NAMED, UNIFORM, find_constants
from simulator.timing.machine import NUMBERS
from simulator.timing.state import GLOBALS, NEVER, PRODUCTS, Kind, Stall

__all__ = ["choose", "enter", "pipe_of"]

_CONSTANTS = NUMBERS.index("constants")
_MIO_ROOM = NUMBERS.index("mio_room")
_ASIDE_ROOM = NUMBERS.index("aside_room")
_PRODUCT_ROOM = NUMBERS.index("product_room")
_QUEUED, _SHARED, _PHASE = int(Kind.QUEUED), int(Kind.SHARED), int(Kind.PHASE)
_AT_PHASE, _TILE, _PRODUCT = int(Kind.AT_PHASE), int(Kind.TILE), int(Kind.PRODUCT)
_MIO, _LG = int(Stall.MIO_THROTTLE), int(Stall.LG_THROTTLE)
_MATH, _IMC = int(Stall.MATH_PIPE_THROTTLE), int(Stall.IMC_MISS)


@jit()
def enter(state: Any, partition: int, warp: int) -> None:
    """Put a warp behind those of its sub-partition, whose blocks began before."""
    state.order[partition, state.count[partition]] = warp
    state.count[partition] += 1


@jit()
def choose(code: Any, trace: Any, state: Any, machine: Any, partition: int, now: int) -> int:
    """Choose the warp that issues; -1: none can, and the partition sleeps until one may."""
    if state.port[partition] > now:
        state.sleep[partition] = state.port[partition]
        return -1
    last = state.last[partition]
    # A queue that was full takes who waits for it longest.
    goes_on = last >= 0 and (state.since[last] < 0 or state.throttle[last] == _MATH)
    goes_on = goes_on and state.next[last] <= now
    if goes_on and _can(code, trace, state, machine, partition, last, now):
        return int(last)
    least = NEVER
    count = state.count[partition]
    # Warps stand in the order in which their blocks began.
    end = 0
    while end < count:
        first, slot = end, state.order[partition, end] // state.warps_of_block
        found, least_turn = -1, NEVER
        while end < count and state.order[partition, end] // state.warps_of_block == slot:
            end += 1
        for place in range(end - 1, first - 1, -1):
            warp = state.order[partition, place]
            if state.next[warp] <= now and _can(code, trace, state, machine, partition, warp, now):
                since = state.since[warp]
                turn = since - NEVER if since >= 0 else state.turn[warp]
                if turn < least_turn:
                    found, least_turn = warp, turn
            if now < state.next[warp] < least:
                least = state.next[warp]
        if found >= 0:
            return int(found)
    # A queue that is full wakes its partition when it sends something.
    state.sleep[partition] = least
    return -1


@jit()
def _can(
    code: Any, trace: Any, state: Any, machine: Any, partition: int, warp: int, now: int
) -> bool:
    """Say whether a warp that may issue finds a place in the pipe or queue that it needs."""
    number = state.instruction[warp]
    kind = code[number].kind
    if code[number].constant and state.constants < 0:
        state.constants = now + int(machine[_CONSTANTS])
    if code[number].constant and state.constants > now and kind != _QUEUED:
        why = _IMC
        state.next[warp] = state.constants
    elif code[number].table and _misses(code, trace, state, machine, partition, warp, now):
        why = _IMC
    elif kind in GLOBALS or kind in (_QUEUED, _SHARED, _PHASE, _AT_PHASE, _TILE):
        if code[number].aside:
            if state.size[4 + partition] < machine[_ASIDE_ROOM]:
                return True
        elif state.waiting[partition] < machine[_MIO_ROOM]:
            return True
        why = _LG if kind in GLOBALS else _MIO
    else:
        if kind == _PRODUCT:
            at, why = _has_room_at(state, machine, partition), _MIO
        else:
            pipe, at = pipe_of(code, state, partition, number)
            at, why = at if pipe >= 0 else 0.0, _MATH
        if at <= now:
            return True
        state.next[warp] = int(-(-at // 1))
    if state.since[warp] < 0:
        state.since[warp] = now
        state.throttle[warp] = why
    return False


@jit()
def _has_room_at(state: Any, machine: Any, partition: int) -> float:
    """Return when a sub-partition takes one more product of a warpgroup: so many may wait."""
    before = state.multiplied[partition] - int(machine[_PRODUCT_ROOM])
    return float(state.begins[partition, before % PRODUCTS]) if before >= 0 else 0.0


@jit()
def _misses(
    code: Any, trace: Any, state: Any, machine: Any, partition: int, warp: int, now: int
) -> bool:
    """Say whether a warp waits for its line of a table of constants; it asks for it once."""
    line, cache = code[state.instruction[warp]].table - 1, NAMED + partition
    if line < 0:
        at = state.accesses + 6 * state.at_row[warp]
        step = state.steps + 4 * trace[state.did + state.at_step[warp]]
        if state.at_row[warp] >= trace[step + 3] or trace[at] != state.instruction[warp]:
            return False  # it is turned off, or the caches hold all of the table
        line, cache = (trace[at + 5] & 4095) - 1, UNIFORM + partition
    if state.table_given[warp] == line:
        return False
    state.table_given[warp] = line
    block = warp // state.warps_of_block
    there = find_constants(state, machine, cache, line, block, now)
    if there <= now:
        return False
    state.next[warp] = there
    return True


@jit()
def pipe_of(code: Any, state: Any, partition: int, number: int) -> tuple[int, float]:
    """Return the pipe that an instruction takes (-1: none), and when it is free.

    Of two it takes the one that the last sum or product did not take; a joint one waits for both.
    """
    pipe, other = code[number].pipe, code[number].other
    if pipe < 0:
        return -1, 0.0
    if code[number].joint:
        return pipe, max(state.pipe[partition, pipe], state.pipe[partition, other])
    if other >= 0 and state.last_pipe[partition] == pipe:
        pipe = other
    return pipe, state.pipe[partition, pipe]
