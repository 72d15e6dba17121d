"""Compiled: which entries the queues send in a cycle.

Each sub-partition's queue passes one entry after the other to where the data pipe looks for what it
can serve: it has room for four, and beside them for four loads of global memory.
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.data_pipe import free_at, passes_at
from simulator.timing.machine import NUMBERS
from simulator.timing.queues import send
from simulator.timing.state import GLOBALS, NEVER, QUEUE, Kind

__all__ = ["dispatch"]

_ROOM = NUMBERS.index("shared_ahead")
_SHARED, _LOAD = int(Kind.SHARED), int(Kind.LOAD)


@jit()
def dispatch(code: Any, trace: Any, state: Any, machine: Any, without: bool, now: int) -> int:
    """Let the queues send what they can; when the next one may be sent, at the earliest.

    Parameters
    ----------
    code, trace, state, machine
        Those of `simulate`.
    without
        Whether every access to shared memory costs its floor.
    now
        The cycle.
    """
    least = NEVER
    for queue in range(4, 8):
        if state.size[queue]:
            at = max(state.queue_free[queue], free_at(code, state, queue, 0, now))
            if at <= now:
                state.queue_free[queue] = at = _take(
                    code, trace, state, machine, without, queue, 0, now
                )
            least = min(least, at)
    _pass_on(code, state, machine, now)
    state.looked[:] = 0
    while True:
        queue = _oldest(state)
        if queue < 0:
            break
        place = state.looked[queue]
        kind = code[state.entry[queue, (state.head[queue] + place) % QUEUE, 1]].kind
        at = NEVER
        if place == 0 or kind in (_SHARED, _LOAD):
            at = free_at(code, state, queue, place, now)
        if at <= now:  # the next one of its queue has its place now
            _take(code, trace, state, machine, without, queue, place, now)
            state.passed[queue] -= 1
        else:
            state.looked[queue] = place + 1
            least = min(least, at)
    return int(min(least, _pass_on(code, state, machine, now)))


@jit()
def _pass_on(code: Any, state: Any, machine: Any, now: int) -> int:
    """Pass entries on, the oldest first, while there is room; when there may be something to do."""
    room = loads = int(machine[_ROOM])
    for queue in range(4):
        for place in range(state.passed[queue]):
            number = state.entry[queue, (state.head[queue] + place) % QUEUE, 1]
            if code[number].kind == _LOAD:
                loads -= 1
            else:
                room -= 1
    any_passed = False
    while True:
        found, first, is_load, least = -1, NEVER, False, NEVER
        for queue in range(4):
            place = state.passed[queue]
            if place == state.size[queue]:
                continue
            entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
            loading = code[entry[1]].kind == _LOAD
            if (loads if loading else room) <= 0:
                continue
            at = state.queue_free[queue]
            if entry[7] > 0 and at <= now:
                at = passes_at(code, state, machine, code[entry[1]].kind, entry[7], now)
            if at > now:
                least = min(least, at)
            elif entry[6] < first:
                found, first, is_load = queue, entry[6], loading
        if found < 0:
            return now + 1 if any_passed else int(least)
        any_passed = True
        number = state.entry[found, (state.head[found] + state.passed[found]) % QUEUE, 1]
        state.passed[found] += 1
        state.queue_free[found] = now + code[number].local
        if is_load:
            loads -= 1
        else:
            room -= 1


@jit()
def _oldest(state: Any) -> int:
    """Return the queue of the oldest entry that was passed on and not looked at; or -1."""
    found, first = -1, NEVER
    for queue in range(4):
        place = state.looked[queue]
        if place < state.passed[queue]:
            number = state.entry[queue, (state.head[queue] + place) % QUEUE, 6]
            if number < first:
                found, first = queue, number
    return found


@jit()
def _take(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, place: int, now: int
) -> int:
    """Send an entry of a queue, and return when its way is free again."""
    for at in range(place, 0, -1):  # it overtakes those before it
        here, there = (state.head[queue] + at) % QUEUE, (state.head[queue] + at - 1) % QUEUE
        for each in range(state.entry.shape[2]):
            entry = state.entry[queue, here, each]
            state.entry[queue, here, each] = state.entry[queue, there, each]
            state.entry[queue, there, each] = entry
    number = state.entry[queue, state.head[queue], 1]
    if code[number].adu > 0:
        state.adu_free = max(state.adu_free, now - 1.0) + code[number].adu
    send(code, trace, state, machine, without, queue, now)
    state.head[queue] = (state.head[queue] + 1) % QUEUE
    state.size[queue] -= 1
    state.globals[queue & 3] -= int(code[number].kind in GLOBALS)
    state.sleep[queue & 3] = min(state.sleep[queue & 3], now)
    return int(now + code[number].local)
