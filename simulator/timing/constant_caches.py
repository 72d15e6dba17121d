"""Compiled: the caches of tables in constant memory, and the one behind that SMs share.

A sub-partition has a cache of constants that instructions name, and a smaller one of words at a
uniform register. LDC has one of the SM. Behind them is one that the SMs of a GPC share: it sends
each of them half a line in turn, and the other half to where the line is kept.

A line takes the place of the one that was used longest ago as soon as it is asked for. Who waits
for a line gets it, kept or not. While as many are on their way as there are places, they have all
of them. Then a line that comes is gone at once. Once another was asked for, only warps of its block
still join who waits for it. So a warp among many asks for each word
(gpu_check/data/h100_constant_misses.csv, eight and sixteen blocks).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import CONSTANT_LINES

__all__ = ["NAMED", "UNIFORM", "find_constants", "read_table"]

NAMED, UNIFORM, _TABLE = 0, 4, 8
"""The first cache of each kind: four, four and one."""

_FIRST, _NEAR = NUMBERS.index("constants"), NUMBERS.index("constant_near")
_HELD, _UNIFORM_HELD = NUMBERS.index("constant_held"), NUMBERS.index("constant_uniform_held")
_ASK, _REST = NUMBERS.index("constant_ask"), NUMBERS.index("constant_rest")
_STAYS = NUMBERS.index("constant_stays")
_FAR_LINES = 4
"""Lines that the cache behind gets from the L2 at once (h100_constant_lanes.csv)."""


@jit()
def find_constants(state: Any, machine: Any, cache: int, line: int, block: int, now: int) -> int:
    """Return when a line is there for a warp; ask for it where the cache does not hold it.

    `block`: the warp's, by its place on the SM.
    """
    last = state.table_last[cache]
    if state.table_line[cache, last] == line and state.table_until[cache] <= now:
        return int(_use(state, machine, cache, last, now))  # as it was last time
    held = int(machine[_UNIFORM_HELD if UNIFORM <= cache < _TABLE else _HELD])
    found, oldest, coming = -1, 0, 0
    for place in range(CONSTANT_LINES):
        is_coming = state.table_at[cache, place] > now
        coming += int(is_coming)
        if state.table_line[cache, place] == line:
            found = place
            if is_coming and state.table_block[cache, place] == block:
                break
        if state.table_used[cache, place] < state.table_used[cache, oldest]:
            oldest = place
    if found >= 0 and _is_held(state, machine, cache, found, block, coming, held, now):
        return int(_use(state, machine, cache, found, now))
    if found >= 0 and state.table_at[cache, found] <= now:
        oldest = found
    begin = max(state.table_free, float(now))
    state.table_free = begin + machine[_ASK]
    if state.table_first[line // _FAR_LINES] < 0:
        state.table_first[line // _FAR_LINES] = now + int(machine[_FIRST])
    there = max(int(begin + machine[_NEAR]), state.table_first[line // _FAR_LINES])
    state.table_line[cache, oldest], state.table_at[cache, oldest] = line, there
    state.table_block[cache, oldest], state.table_rest[cache, oldest] = block, 1
    state.table_until[cache] = max(state.table_until[cache], there)
    _use(state, machine, cache, oldest, now)
    return int(there)


@jit()
def _is_held(
    state: Any, machine: Any, cache: int, found: int, block: int, coming: int, held: int, now: int
) -> bool:
    """Say whether a line that is at a place, or was, is there or can be waited for."""
    there, later = state.table_at[cache, found], 0
    for place in range(CONSTANT_LINES):
        later += int(state.table_used[cache, place] > state.table_used[cache, found])
    if there > now:
        return bool(
            state.table_block[cache, found] == block or later < (held if coming < held else 1)
        )
    return bool(now - there <= machine[_STAYS] or (coming < held and later < held))


@jit()
def _use(state: Any, machine: Any, cache: int, place: int, now: int) -> int:
    """Use a line; when it is there."""
    state.table_asks += 1
    state.table_used[cache, place], state.table_last[cache] = state.table_asks, place
    there = state.table_at[cache, place]
    if there <= now and state.table_rest[cache, place]:
        state.table_rest[cache, place] = 0
        state.table_free = max(state.table_free, float(now)) + machine[_REST]
    return int(max(there, now))


@jit()
def read_table(state: Any, machine: Any, table: int, now: int) -> int:
    """Return when LDC has read its lines, one after the other. `table`: see `AccessRows`."""
    first = (table & 4095) - 1
    for line in range(first, min(first + (table >> 12), _FAR_LINES * state.table_first.shape[0])):
        now = find_constants(state, machine, _TABLE, line, -1, now)
    return now
