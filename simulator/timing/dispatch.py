"""Compiled: which entries the queues send in a cycle.

A sub-partition has one queue for all that goes to memory, shared or global. The queues pass their
first entries on in turn, each of them one every few cycles, to a pool that all of them share: of
19, and of 32 words that a lane stores (gpu_check/data/h100_pool.csv, h100_full_queues.csv). The
data pipe looks at the four that came there first. Loads of global memory leave the pool as soon as
their lines are looked up.
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.copying import begin_copy, copy_begins, is_copy
from simulator.timing.data_pipe import admitted_at, free_at, free_for
from simulator.timing.loads import bring, land, look_up
from simulator.timing.machine import NUMBERS
from simulator.timing.queues import leave, overtake, send
from simulator.timing.scoreboards import settle
from simulator.timing.state import LANES, NEVER, PARTITIONS, QUEUE, Kind

__all__ = ["dispatch"]

_AHEAD = NUMBERS.index("shared_ahead")
_ROOM, _WORDS = NUMBERS.index("pool_room"), NUMBERS.index("pool_words")
_LG_ROOM, _READ = NUMBERS.index("lg_room"), NUMBERS.index("read_latency")
_BESIDE = NUMBERS.index("beside_product")
_LOAD = int(Kind.LOAD)
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
                is_xu = code[state.entry[queue, state.head[queue], 1]].is_xu
                at = _take(code, trace, state, machine, without, queue, 0, now)
                if is_xu and state.accumulated[queue - PARTITIONS] > now:
                    at += round(machine[_BESIDE])
                state.queue_free[queue] = at
            least = min(least, at)
    _pass_on(code, trace, state, machine, now)
    least = min(least, look_up(code, trace, state, machine, without, now))
    if state.arrives <= now:
        land(state, machine, now)
        if state.is_full:
            least = min(least, look_up(code, trace, state, machine, without, now))
    least = min(least, state.arrives)
    state.looked[:] = 0
    there = before = sent = waiting = 0
    while waiting < machine[_AHEAD]:
        queue = _oldest(code, state, there)
        before += 1
        if queue == _THERE:
            if before > machine[_AHEAD]:
                there = state.are_there
                continue
            at = free_for(state, state.there[there, 1], now)
            if at <= now:
                before -= int(state.there[there, 3] == 0)  # no lane loads: the next one may, too
                bring(code, state, machine, there, now)
                sent += 1
            else:
                there += 1
                least = min(least, at)
            continue
        if queue < 0:
            break
        place = state.looked[queue]
        at = free_at(code, state, machine, queue, place, now)
        if at <= now:  # the next one of its queue has its place now
            _leave_pool(code, state, queue, place)
            _take(code, trace, state, machine, without, queue, place, now)
            sent += 1
        else:
            state.looked[queue] = place + 1
            waiting += 1
            least = min(least, at)
    if sent:  # a load may have waited for it, or for its room
        least = min(least, look_up(code, trace, state, machine, without, now))
    return int(min(least, _pass_on(code, trace, state, machine, now), max(state.arrives, now + 1)))


@jit()
def _pass_on(code: Any, trace: Any, state: Any, machine: Any, now: int) -> int:
    """Pass entries on, sub-partitions in turn, while there is room; when that may go on."""
    any_passed = False
    while True:
        found, first, least = -1, PARTITIONS, NEVER
        for queue in range(PARTITIONS):
            if state.passed[queue] == state.size[queue]:
                continue
            at = _passes_at(code, trace, state, machine, queue, now)
            turn = (queue - state.last_passed - 1) % PARTITIONS
            if at > now:
                least = min(least, at)
            elif turn < first:
                found, first = queue, turn
        if found < 0:
            return now + 1 if any_passed else int(least)
        any_passed = True
        entry = state.entry[found, (state.head[found] + state.passed[found]) % QUEUE]
        warp, number, block = entry[0], entry[1], entry[8]
        entry[9] = state.pooled
        state.pooled += 1
        if code[number].kind == _LOAD:
            state.admitted[found] += 1
        else:
            state.pool_words += code[number].puts
        if is_copy(code, number):
            begin_copy(trace, state, machine, entry, now)
        state.last_passed = found
        state.waiting[found] -= 1
        state.passed[found] += 1
        state.queue_free[found] = now + code[number].local
        state.sleep[found] = min(state.sleep[found], now)  # a warp may wait for room
        if state.block[warp // state.warps_of_block] == block:
            settle(code, state, warp, number, now + int(machine[_READ]), -1)


@jit()
def _passes_at(code: Any, trace: Any, state: Any, machine: Any, queue: int, now: int) -> int:
    """Return when a queue may pass on the first entry that waits; NEVER: there is no room for it.

    What is in the pool leaves loads of global memory less room where lines are looked up
    (gpu_check/data/h100_lookups.csv). Where L1 has no line left for a queue's loads, what is behind
    them waits.
    """
    if state.is_full and state.admitted[queue] > 0:
        return NEVER
    entry = state.entry[queue, (state.head[queue] + state.passed[queue]) % QUEUE]
    number, looked_up = entry[1], state.admitted.sum()
    pooled = state.passed.sum() - looked_up
    if code[number].kind == _LOAD:
        if looked_up >= max(int(machine[_LG_ROOM]) - pooled, LANES):
            return NEVER
        return int(admitted_at(code, state, machine, queue, entry, now))
    if pooled >= machine[_ROOM] or state.pool_words + code[number].puts > machine[_WORDS]:
        return NEVER
    at = int(state.queue_free[queue])
    if is_copy(code, number):
        at = max(at, int(state.copy_free))
        if at <= now:
            at = int(copy_begins(trace, state, machine, entry, now))
    return at


@jit()
def _leave_pool(code: Any, state: Any, queue: int, place: int) -> None:
    """Say that an entry of a queue is in the pool no more."""
    number = state.entry[queue, (state.head[queue] + place) % QUEUE, 1]
    state.passed[queue] -= 1
    state.pool_words -= code[number].puts


@jit()
def _oldest(code: Any, state: Any, there: int) -> int:
    """Return the queue of the entry that came first to the pool and was not looked at; or -1.

    `_THERE`: the load of that place among those whose data are there came before.
    """
    found, first = -1, NEVER
    for queue in range(PARTITIONS):
        place = state.looked[queue]
        while place < state.passed[queue]:
            entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
            if code[entry[1]].kind != _LOAD:  # a load's lines are to be looked up yet
                if entry[9] < first:
                    found, first = queue, entry[9]
                break
            place += 1
        state.looked[queue] = place
    if there < state.are_there and state.there[there, 8] <= first:
        return _THERE
    return found


@jit()
def _take(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, place: int, now: int
) -> int:
    """Send an entry of a queue, and return when its way is free again."""
    overtake(state, queue, place)
    number = state.entry[queue, state.head[queue], 1]
    if code[number].adu > 0:
        state.adu_free = max(state.adu_free, now - 1.0) + code[number].adu
    send(code, trace, state, machine, without, queue, now)
    leave(state, queue, 0, now)
    return int(now + code[number].local)
