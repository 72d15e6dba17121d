"""Compiled: loads of global memory.

Their lines are looked up, two loads side by side at half the rate each, while the data pipe may be
busy with conflicts. The L2 is asked for what L1 does not have. What L1 has takes the data pipe in
the order of the pool. Other data come behind all that is in the pool when they are there
(gpu_check/data/h100_lookups.csv, h100_overtaking.csv, h100_crowded.csv). L1 sets lines aside for
what it asks for. When it has none left, loads wait. So does all that is behind them in their
queues, also what goes to shared memory (h100_outstanding.csv, h100_behind_loads.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.data_pipe import occupy, turned
from simulator.timing.machine import NUMBERS
from simulator.timing.queues import ask, leave
from simulator.timing.scoreboards import settle
from simulator.timing.state import MOST_ASKED, NEVER, PARTITIONS, QUEUE, WAYS, Kind

__all__ = ["bring", "land", "look_up"]

_ROOM, _SERVED = NUMBERS.index("shared_ahead"), NUMBERS.index("shared_warp")
_L1 = NUMBERS.index("l1_latency")
_LOCAL_LATENCY, _LOCAL_CYCLE = NUMBERS.index("local_latency"), NUMBERS.index("local_cycle")
_OUTSTANDING = NUMBERS.index("outstanding")
_LOAD = int(Kind.LOAD)


@jit()
def look_up(code: Any, trace: Any, state: Any, machine: Any, without: bool, now: int) -> int:
    """Look up the lines of loads, the oldest first; when there may be something to do.

    It looks at four of them, and serves two side by side. It goes on while the data pipe is busy.
    """
    least = NEVER
    if state.admitted.sum() == 0:
        state.is_full = 0
    left = min(int(machine[_ROOM]), MOST_ASKED - state.are_asking - state.are_there)
    state.looked[:] = 0
    while left > 0:
        found, found_place, first = -1, 0, NEVER
        for queue in range(PARTITIONS):
            if state.looked[queue] == state.admitted[queue]:
                continue
            place = _load_of(code, state, queue, state.looked[queue])
            entry = state.entry[queue, (state.head[queue] + place) % QUEUE]
            if entry[6] < first:
                found, found_place, first = queue, place, entry[6]
        if found < 0:
            return int(least)
        left -= 1
        entry = state.entry[found, (state.head[found] + found_place) % QUEUE]
        at = max(now, state.tagged[entry[0]], min(state.tag_lane[0, 0], state.tag_lane[1, 0]))
        if at > now:
            least = min(least, at)
            state.looked[found] += 1
            continue
        room = min(state.sets * WAYS, int(machine[_OUTSTANDING]))
        if state.lines_asked and state.lines_asked + _lines(trace, state, entry) > room:
            state.is_full = 1
            return int(least)
        _look_at(code, trace, state, machine, without, entry, now)
        leave(state, found, found_place, now)
        state.admitted[found] -= 1
        state.passed[found] -= 1
    return int(least)


@jit()
def _lines(trace: Any, state: Any, entry: Any) -> int:
    """Return the lines of global memory that a load accesses."""
    found = 0
    for each in range(entry[2], entry[2] + entry[3]):
        at = state.accesses + 6 * each
        if not trace[at + 1]:
            found += trace[at + 5] - trace[at + 4]
    return int(found)


@jit()
def _load_of(code: Any, state: Any, queue: int, count: int) -> int:
    """Return the place, from 0, of a load of those that a queue has passed on, also from 0."""
    place = -1
    for _ in range(count + 1):
        place += 1
        while code[state.entry[queue, (state.head[queue] + place) % QUEUE, 1]].kind != _LOAD:
            place += 1
    return place


@jit()
def land(state: Any, machine: Any, now: int) -> None:
    """Let those loads wait for the data pipe whose data are there.

    What L1 had keeps its place in the order of the pool. Others come behind all that is in the
    pool now; of those that come at once, the oldest goes first.
    """
    state.arrives = NEVER
    place = 0
    while place < state.are_asking:
        at = state.asking[place, 4] - int(machine[_L1])
        if at > now:
            state.arrives = min(state.arrives, at)
            place += 1
            continue
        state.lines_asked -= state.asking[place, 7]
        number, came = state.asking[place, 0], state.asking[place, 8]
        if came < 0:
            came = state.pooled
        to = state.are_there
        while to > 0:
            before = state.there[to - 1]
            if before[8] < came or (before[8] == came and before[0] < number):
                break
            state.there[to, :] = before
            to -= 1
        state.there[to, :] = state.asking[place, :]
        state.there[to, 8] = came
        state.are_there += 1
        state.are_asking -= 1
        state.asking[place, :] = state.asking[state.are_asking, :]


@jit()
def _look_at(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, entry: Any, now: int
) -> None:
    """Look up the lines of a load, and ask the L2 for those that L1 does not have."""
    before = state.counts[5]
    held, done, extra = ask(code, trace, state, machine, without, entry, now)
    lane = int(state.tag_lane[1, 0] < state.tag_lane[0, 0])
    until = now + int(machine[_SERVED] * held)
    state.tag_lane[lane, 0], state.tag_lane[lane, 1] = until, entry[6]
    state.tagged[entry[0]] = until
    row = state.asking[state.are_asking]
    row[0], row[1], row[2], row[3] = entry[6], entry[0], entry[1], held
    row[4], row[5], row[6] = done + extra, int(state.counts[5] > before), entry[8]
    row[7] = _lines(trace, state, entry) if row[5] else 0
    state.lines_asked += row[7]
    row[8] = entry[9] if row[4] - int(machine[_L1]) <= now else -1
    state.are_asking += 1
    state.arrives = min(state.arrives, row[4] - int(machine[_L1]))


@jit()
def bring(code: Any, state: Any, machine: Any, place: int, now: int) -> None:
    """Let the data pipe bring a load's data."""
    row = state.there[place]
    age, warp, number, held = row[0], row[1], row[2], row[3]
    latency = machine[_L1]
    if code[number].sectors:  # of local memory
        latency = machine[_LOCAL_LATENCY] + machine[_LOCAL_CYCLE] * (held - 1)
    done = max(row[4], now + code[number].latency + int(latency))
    if held == 0:  # no lane takes part
        done = row[4]
    else:
        held += turned(state, machine, False, row[5] > 0, False, False)
        state.counts[2] += held
        done += occupy(state, machine, _LOAD, warp, age, held, now)
    # Its warp may have ended without it, and another one have its place.
    if state.trace[warp] >= 0 and state.block[warp // state.warps_of_block] == row[6]:
        state.asked[warp] -= 1
        settle(code, state, warp, number, -1, done)
    state.are_there -= 1
    for at in range(place, state.are_there):
        state.there[at, :] = state.there[at + 1, :]
