"""Compiled: which entries the queues send in a cycle.

Each sub-partition's queue passes one entry after the other to where the data pipe looks for what it
can serve: it has room for four. Loads of global memory leave their queue as soon as their lines are
looked up.
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.data_pipe import free_at, free_for, leaves_at
from simulator.timing.loads import bring, land, look_up
from simulator.timing.machine import NUMBERS
from simulator.timing.queues import leave, overtake, send
from simulator.timing.state import GLOBALS, NEVER, QUEUE, Kind

__all__ = ["dispatch"]

_ROOM = NUMBERS.index("shared_ahead")
_SHARED, _LOAD = int(Kind.SHARED), int(Kind.LOAD)
_THERE = 4
"""Behind the numbers of queues: loads whose data are there."""


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
            at = max(state.queue_free[queue], free_at(code, state, machine, queue, 0, now))
            if at <= now:
                state.queue_free[queue] = at = _take(
                    code, trace, state, machine, without, queue, 0, now
                )
            least = min(least, at)
    least = min(least, look_up(code, trace, state, machine, without, now))
    _pass_on(code, state, machine, now)
    if state.arrives <= now:
        land(state, machine, now)
    least = min(least, state.arrives)
    state.looked[:] = 0
    there = before = sent = 0
    while True:
        queue = _oldest(state, there)
        before += 1
        if queue == _THERE:
            if before > machine[_ROOM]:
                there = state.are_there
                continue
            at = free_for(state, state.there[there, 1], now)
            if at <= now:
                bring(code, state, machine, there, now)
                sent += 1
            else:
                there += 1
                least = min(least, at)
            continue
        if queue < 0:
            break
        place = state.looked[queue]
        kind = code[state.entry[queue, (state.head[queue] + place) % QUEUE, 1]].kind
        at = NEVER
        if place == 0 or kind == _SHARED:
            at = free_at(code, state, machine, queue, place, now)
        if at <= now:  # the next one of its queue has its place now
            _take(code, trace, state, machine, without, queue, place, now)
            state.passed[queue] -= 1
            sent += 1
        else:
            state.looked[queue] = place + 1
            least = min(least, at)
    if sent:  # a load may have waited for it, or for its room
        least = min(least, look_up(code, trace, state, machine, without, now))
    return int(min(least, _pass_on(code, state, machine, now), max(state.arrives, now + 1)))


@jit()
def _pass_on(code: Any, state: Any, machine: Any, now: int) -> int:
    """Pass entries on, the oldest first, while there is room; when there may be something to do."""
    room = int(machine[_ROOM])
    for queue in range(4):
        room -= state.passed[queue]
    any_passed = False
    while True:
        found, found_place, first, least = -1, 0, NEVER, NEVER
        for queue in range(4):
            place, behind = state.passed[queue], False
            while place < state.size[queue]:
                entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
                if code[entry[1]].kind != _LOAD:
                    break
                behind = True
                place += 1
            if place == state.size[queue] or room <= 0:
                continue
            kind = code[entry[1]].kind
            if behind and kind in GLOBALS:
                continue
            at = leaves_at(code, state, machine, queue, entry, now)
            if at > now:
                least = min(least, at)
            elif entry[6] < first:
                found, found_place, first = queue, place, entry[6]
        if found < 0:
            return now + 1 if any_passed else int(least)
        any_passed = True
        number = state.entry[found, (state.head[found] + found_place) % QUEUE, 1]
        overtake(state, found, found_place, state.passed[found])
        state.passed[found] += 1
        state.queue_free[found] = now + code[number].local
        room -= 1


@jit()
def _oldest(state: Any, there: int) -> int:
    """Return the queue of the oldest entry that was passed on and not looked at; or -1.

    `_THERE`: it is the load of that place among those whose data are there.
    """
    found, first = -1, NEVER
    for queue in range(4):
        place = state.looked[queue]
        if place < state.passed[queue]:
            number = state.entry[queue, (state.head[queue] + place) % QUEUE, 6]
            if number < first:
                found, first = queue, number
    if there < state.are_there and state.there[there, 0] < first:
        return _THERE
    return found


@jit()
def _take(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, place: int, now: int
) -> int:
    """Send an entry of a queue, and return when its way is free again."""
    overtake(state, queue, place, 0)
    number = state.entry[queue, state.head[queue], 1]
    if code[number].adu > 0:
        state.adu_free = max(state.adu_free, now - 1.0) + code[number].adu
    send(code, trace, state, machine, without, queue, now)
    leave(code, state, queue, 0, now)
    return int(now + code[number].local)
