"""Compiled: which entries the queues send in a cycle."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.data_pipe import free_at, needs_data, oldest
from simulator.timing.far import NUMBERS
from simulator.timing.queues import send
from simulator.timing.state import GLOBALS, NEVER, QUEUE, Kind

__all__ = ["dispatch"]

_AHEAD = NUMBERS.index("shared_ahead")
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
            at = free_at(code, state, machine, queue, 0, now)
            if at <= now:
                at = _take(code, trace, state, machine, without, queue, 0, now)
            least = min(least, at)
    # By age: accesses to shared memory, and loads of global memory, of which L1 has a list apart.
    state.looked[:] = 0
    state.first[:] = NEVER
    shared = loads = int(machine[_AHEAD])
    while shared > 0:
        queue = oldest(state)
        if queue < 0:
            break
        place = state.looked[queue]
        entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
        number, age = entry[1], entry[6]
        kind = code[number].kind
        passes = kind == _SHARED or (kind == _LOAD and loads > 0)
        at = NEVER
        if place == 0 or passes:
            at = free_at(code, state, machine, queue, place, now)
        if at <= now:  # the next one of its queue has its place now
            at = _take(code, trace, state, machine, without, queue, place, now)
        elif passes:  # others of its queue may overtake it
            is_load = int(kind == _LOAD)
            state.first[is_load] = min(state.first[is_load], age)
            shared -= 1 - is_load
            loads -= is_load
            state.looked[queue] = place + 1
        else:
            shared -= int(place == 0 and needs_data(code, queue, number))
            state.looked[queue] = QUEUE
        least = min(least, at)
    return least


@jit()
def _take(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, place: int, now: int
) -> int:
    """Send an entry of a queue; when the queue may send the next one."""
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
    state.queue_free[queue] = now + code[number].local
    state.sleep[queue & 3] = min(state.sleep[queue & 3], now)
    return int(state.queue_free[queue]) if state.size[queue] else NEVER
