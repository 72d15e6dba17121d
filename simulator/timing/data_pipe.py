"""Compiled: the pipe to shared memory and L1, whom it serves, and when.

It serves two accesses side by side, each at half the rate, and no two of one warp. Nor does it
serve a shuffle beside an access of its warp: results come in order
(gpu_check/data/h100_in_order.csv). Of those in the pool it looks at the four that came first: one
that has to wait lets others by. Behind a barrier that opened, or a fence, no access begins before
all that came before it are done, whosever they are; no load of global memory before the lines of
all older ones are looked up (h100_overtaking.csv, h100_barrier_loops.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import LANES, MOST_GONE, NEVER, PARTITIONS, QUEUE, Kind

__all__ = ["admitted_at", "fence_off", "free_at", "free_for", "occupy", "turned"]

_SERVED, _DRAINED = NUMBERS.index("shared_warp"), NUMBERS.index("shared_drained")
_DATA_TURN, _DATA_MISSED = NUMBERS.index("data_turn"), NUMBERS.index("data_missed")
_BACKLOG = NUMBERS.index("backlog")
_DATA_COPIED, _DATA_IDLE = NUMBERS.index("data_copied"), NUMBERS.index("data_idle")

_SHARED, _LOAD, _STORE = int(Kind.SHARED), int(Kind.LOAD), int(Kind.STORE)
_COPY, _ATOMIC, _QUEUED = int(Kind.COPY), int(Kind.ATOMIC), int(Kind.QUEUED)


@jit()
def _needs_data(code: Any, queue: int, number: int) -> bool:
    """Say whether an instruction takes the data pipe."""
    kind = code[number].kind
    if kind in (_SHARED, _LOAD, _STORE, _COPY, _ATOMIC):
        return True
    return bool(code[number].data > 0 and queue < 4)


@jit()
def free_at(code: Any, state: Any, machine: Any, queue: int, place: int, now: int) -> int:
    """Return when what an entry needs is free, as far as is known now; NEVER: others go before."""
    entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
    number = entry[1]
    at, kind = now, code[number].kind
    if code[number].adu > 0:
        at = max(at, int(-(-state.adu_free // 1)))
    if _needs_data(code, queue, number):
        at = max(at, state.served[entry[0]], min(state.lane[0, 0], state.lane[1, 0]))
    if kind in (_STORE, _ATOMIC):
        most = min(int(machine[_BACKLOG]), MOST_GONE)
        at = max(at, int(state.gone_at[(state.gone - most) % MOST_GONE]))
    if kind == _SHARED and entry[7] > 0 and at <= now:
        at = _fenced_until(code, state, machine, entry[7], entry[9], now)
    return int(at)


@jit()
def free_for(state: Any, warp: int, now: int) -> int:
    """Return when the pipe is free for a load of a warp whose data are there."""
    return int(max(now, state.served[warp], min(state.lane[0, 0], state.lane[1, 0])))


@jit()
def _fenced_until(code: Any, state: Any, machine: Any, before: int, pooled: int, now: int) -> int:
    """Return when all older accesses to shared memory are done that came to the pool before one.

    NEVER: some of them still wait.
    """
    for queue in range(PARTITIONS):
        for place in range(state.passed[queue]):
            entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
            if entry[6] < before and entry[9] < pooled and code[entry[1]].kind == _SHARED:
                return NEVER
    at = now
    for lane in range(LANES):
        if state.lane[lane, 1] == _SHARED and state.lane[lane, 2] < before:
            at = max(at, state.lane[lane, 0] + int(machine[_DRAINED]))
    return int(at)


@jit()
def admitted_at(code: Any, state: Any, machine: Any, queue: int, entry: Any, now: int) -> int:
    """Return when a load of global memory may wait where lines are looked up.

    NEVER: older ones, behind a barrier or fence, still wait for that.
    """
    at = int(state.queue_free[queue])
    if entry[7] == 0 or at > now:
        return at
    before = entry[7]
    for other in range(PARTITIONS):
        for place in range(state.size[other]):
            older = state.entry[other, (state.head[other] + place) % QUEUE]
            if older[6] < before and code[older[1]].kind == _LOAD:
                return NEVER
    at = now
    for lane in range(LANES):
        if state.tag_lane[lane, 1] < before:
            at = max(at, state.tag_lane[lane, 0] + int(machine[_DRAINED]))
    return int(at)


@jit()
def occupy(
    state: Any, machine: Any, kind: int, warp: int, number: int, held: int, now: int,
    accesses: bool = True,
) -> int:  # fmt: skip
    """Let an access take the pipe for so many of its cycles; how many more it takes.

    It has what the operands of a warpgroup's products leave (h200_products_beside.csv). Copies do
    not wait for those (h200_product_loops.csv), nor does what no lane `accesses`.
    """
    waits = accesses and kind != _COPY
    if kind in (_SHARED, _LOAD):
        more = _beside_products(state, machine[_SERVED] * held, now) if waits else 0
        lane = int(state.lane[1, 0] < state.lane[0, 0])
        until = now + int(machine[_SERVED] * held) + more
        state.served[warp] = until
        state.lane[lane, 0], state.lane[lane, 1], state.lane[lane, 2] = until, kind, number
    else:  # both lanes
        more = _beside_products(state, float(held), now) if waits else 0
        for lane in range(LANES):
            state.lane[lane, 0] = max(state.lane[lane, 0], now) + held + more
        if kind == _QUEUED:
            state.served[warp] = now + int(machine[_SERVED] * held) + more
    return more


@jit()
def _beside_products(state: Any, cycles: float, now: int) -> int:
    """Return how much longer so many cycles of the pipe last while products read operands."""
    left = state.operands - now
    if left <= 0:
        return 0
    return int(min(left, cycles / max(1 - state.operand_rate, 1e-9)) * state.operand_rate)


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
