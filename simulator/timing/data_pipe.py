"""Compiled: the pipe to shared memory and L1, whom it serves, and when.

It serves two accesses side by side, each at half the rate, and no two of one warp. Of those that
wait it looks at the four that came first: one that has to wait lets others by, more than that do
not pass. Behind a barrier that opened, or a fence, no access begins before all older ones are done,
whosever they are; no load of global memory before the lines of all older ones are looked up
(gpu_check/data/h100_overtaking.csv, h100_barrier_loops.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import LANES, MOST_GONE, NEVER, QUEUE, Kind

__all__ = ["fence_off", "free_at", "free_for", "leaves_at", "occupy", "turned"]

_SERVED, _DRAINED = NUMBERS.index("shared_warp"), NUMBERS.index("shared_drained")
_DATA_TURN, _DATA_MISSED = NUMBERS.index("data_turn"), NUMBERS.index("data_missed")
_BACKLOG = NUMBERS.index("backlog")
_DATA_COPIED, _DATA_IDLE = NUMBERS.index("data_copied"), NUMBERS.index("data_idle")

_SHARED, _LOAD, _STORE = int(Kind.SHARED), int(Kind.LOAD), int(Kind.STORE)
_COPY, _ATOMIC = int(Kind.COPY), int(Kind.ATOMIC)


@jit()
def _needs_data(code: Any, queue: int, number: int) -> bool:
    """Say whether an instruction takes the data pipe."""
    kind = code[number].kind
    if kind in (_SHARED, _LOAD, _STORE, _COPY, _ATOMIC):
        return True
    return bool(code[number].data > 0 and queue < 4)


@jit()
def free_at(code: Any, state: Any, machine: Any, queue: int, place: int, now: int) -> int:
    """Return when what an entry needs is free, as far as is known now."""
    entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
    number = entry[1]
    at, kind = now, code[number].kind
    if code[number].adu > 0:
        at = max(at, int(-(-state.adu_free // 1)))
    if kind == _SHARED:
        at = max(at, state.served[entry[0]])
    if _needs_data(code, queue, number):
        at = max(at, min(state.lane[0, 0], state.lane[1, 0]))
    if kind in (_STORE, _ATOMIC):
        most = min(int(machine[_BACKLOG]), MOST_GONE)
        at = max(at, int(state.gone_at[(state.gone - most) % MOST_GONE]))
    return int(at)


@jit()
def free_for(state: Any, warp: int, now: int) -> int:
    """Return when the pipe is free for a load of a warp whose data are there."""
    return int(max(now, state.served[warp], min(state.lane[0, 0], state.lane[1, 0])))


@jit()
def passes_at(code: Any, state: Any, machine: Any, kind: int, before: int, now: int) -> int:
    """Return when all accesses of a kind are done that came before one; NEVER: some still wait."""
    if kind not in (_SHARED, _LOAD):
        return now
    for queue in range(4):
        for place in range(state.size[queue]):
            entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
            if entry[6] < before and code[entry[1]].kind == kind:
                return NEVER
    at = now
    for lane in range(LANES):
        if kind == _LOAD and state.tag_lane[lane, 1] < before:
            at = max(at, state.tag_lane[lane, 0] + int(machine[_DRAINED]))
        if kind == _SHARED and state.lane[lane, 1] == kind and state.lane[lane, 2] < before:
            at = max(at, state.lane[lane, 0] + int(machine[_DRAINED]))
    return int(at)


@jit()
def leaves_at(code: Any, state: Any, machine: Any, queue: int, entry: Any, now: int) -> int:
    """Return when an entry may leave its queue: its way is free, and what it waits for is done."""
    at = int(state.queue_free[queue])
    if entry[7] > 0 and at <= now:
        at = passes_at(code, state, machine, code[entry[1]].kind, entry[7], now)
    return at


@jit()
def occupy(
    state: Any, machine: Any, kind: int, warp: int, number: int, held: int, now: int
) -> None:
    """Let an access take the pipe for so many of its cycles."""
    if kind in (_SHARED, _LOAD):
        lane = int(state.lane[1, 0] < state.lane[0, 0])
        until = now + int(machine[_SERVED] * held)
        state.served[warp] = until
        state.lane[lane, 0], state.lane[lane, 1], state.lane[lane, 2] = until, kind, number
    else:
        for lane in range(LANES):
            state.lane[lane, 0] = max(state.lane[lane, 0], now) + held


@jit()
def fence_off(state: Any) -> None:
    """Let what will be accessed wait for all that is older."""
    state.fence = state.entered


@jit()
def turned(
    state: Any, machine: Any, is_shared: bool, missed: bool, copies: bool, idle: bool
) -> int:
    """Return the whole cycles more that the data pipe takes between shared memory and others.

    `missed`: whether it will be asked again for what comes from the L2; `copies`: for what comes to
    shared memory; `idle`: whether it is a load that the compiler puts before such copies.
    """
    if is_shared != state.was_shared:
        state.was_shared = is_shared
        state.data_rest += machine[_DATA_TURN]
    if missed:
        state.data_rest += machine[_DATA_MISSED]
    if copies:
        state.data_rest += machine[_DATA_COPIED]
    if idle:
        state.data_rest += machine[_DATA_IDLE]
    more = int(state.data_rest)
    state.data_rest -= more
    return more
