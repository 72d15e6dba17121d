"""Compiled: copies of 16 bytes per lane past L1 (LDGSTS.BYPASS), and what they ask the L2 for.

They come from the sub-partitions' queues one at a time, and ask for their lines one after the
other: a line again for each line of shared memory that it goes to, and a sector again where it goes
to two (gpu_check/data/h100_copying.csv). An SM may have so much on its way. The next copy waits
until there is room, and what is behind it in its queue does, too (h100_outstanding.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.kept import count_sectors
from simulator.timing.machine import NUMBERS
from simulator.timing.state import CROWDED, MOST_COPIES, Kind
from simulator.timing.ways import OF_L2

__all__ = ["begin_copy", "copy_begins", "crowd", "is_copy", "note_copy", "own_sectors"]

_COPY = int(Kind.COPY)
_AGAIN = 4
"""Sectors asked for again that take as much room as a line."""
_COPY_LINE, _COPY_AGAIN = NUMBERS.index("copy_line"), NUMBERS.index("copy_again")
_OUTSTANDING = NUMBERS.index("outstanding")
_CROWD, _L2 = NUMBERS.index("crowd_sector"), NUMBERS.index("l2_latency")


@jit()
def is_copy(code: Any, number: int) -> bool:
    """Say whether an instruction is such a copy."""
    return bool(code[number].kind == _COPY and code[number].bypasses)


@jit()
def begin_copy(trace: Any, state: Any, machine: Any, entry: Any, now: int) -> None:
    """Let the next copy wait until this one has asked for its lines."""
    asked, again = _asks(trace, state, entry)
    cycles = asked * machine[_COPY_LINE] + again * machine[_COPY_AGAIN]
    state.copy_free = max(state.copy_free, float(now)) + cycles
    state.copies_ask += _room(asked, again)


@jit()
def _asks(trace: Any, state: Any, entry: Any) -> tuple[int, int]:
    """Return the lines that a copy asks for, and the sectors that it asks for again."""
    sent = asked = again = 0
    for each in range(entry[2], entry[2] + entry[3]):
        at = state.accesses + 6 * each
        if trace[at + 1]:
            sent, asked = trace[at + 4], trace[at + 5]
        else:
            again = max(0, sent - own_sectors(trace, state, at))
    return int(asked), int(again)


@jit()
def _room(asked: int, again: int) -> int:
    """Return how much room a copy takes among what is on its way, in lines."""
    return asked + again // _AGAIN


@jit()
def copy_begins(trace: Any, state: Any, machine: Any, entry: Any, now: int) -> int:
    """Return when there is room for what a copy asks for, among what is on its way."""
    while state.copies_came < state.copies_went:
        place = state.copies_came % MOST_COPIES
        if state.copy[place, 0] > now:
            break
        state.copies_ask -= state.copy[place, 1]
        state.copies_came += 1
    asked, again = _asks(trace, state, entry)
    more, at = state.copies_ask + _room(asked, again) - machine[_OUTSTANDING], now
    if more <= 0 or state.copies_ask == 0:
        return now
    for each in range(state.copies_came, state.copies_went):
        at = state.copy[each % MOST_COPIES, 0]
        more -= state.copy[each % MOST_COPIES, 1]
        if more <= 0:
            return int(at)
    return now + 1  # some that began are in the pool yet


@jit()
def note_copy(trace: Any, state: Any, entry: Any, there: int) -> None:
    """Note when what a copy asked for is there."""
    asked, again = _asks(trace, state, entry)
    place = state.copies_went
    while place > state.copies_came and state.copy[(place - 1) % MOST_COPIES, 0] > there:
        for each in range(2):
            earlier = state.copy[(place - 1) % MOST_COPIES, each]
            state.copy[place % MOST_COPIES, each] = earlier
        place -= 1
    state.copy[place % MOST_COPIES, 0] = there
    state.copy[place % MOST_COPIES, 1] = _room(asked, again)
    state.copies_went += 1


@jit()
def crowd(
    trace: Any, state: Any, machine: Any, at: int, first: int, often: float, now: int
) -> int:  # fmt: skip
    """Return when all lines of a copy are there that the SMs of a chip ask for at the same time.

    The L2 gives such a line to one SM after the other, if sectors are asked for again. What this SM
    asks for next waits, too. SMs are in step until the first of such lines are there: what is asked
    for later does not crowd.

    Parameters
    ----------
    trace, state, machine
        Those of `simulate`.
    at
        Where the access to global memory is in the trace.
    first
        The line of its first lane.
    often
        How often the L2 sends each of its sectors, on average.
    now
        The cycle.
    """
    each = often * machine[_CROWD]
    done = float(now)
    for place in range(trace[at + 4], trace[at + 5]):
        line = first + trace[state.lines + 2 * place]
        index = line % CROWDED
        if state.crowd_line[index] != line:
            if now >= state.crowd_until:
                continue
            state.crowd_line[index], state.crowd_free[index] = line, now
        elif now > state.crowd_free[index]:
            continue
        begin = state.crowd_free[index]
        state.free[OF_L2] = max(state.free[OF_L2], begin)
        cycles = count_sectors(trace[state.lines + 2 * place + 1]) * each
        state.crowd_free[index] = begin + cycles
        done = max(done, begin + cycles)
    done += machine[_L2]
    state.crowd_until = min(state.crowd_until, done)
    return int(done)


@jit()
def own_sectors(trace: Any, state: Any, at: int) -> int:
    """Return the sectors of an access to global memory."""
    found = 0
    for place in range(trace[at + 4], trace[at + 5]):
        found += count_sectors(trace[state.lines + 2 * place + 1])
    return int(found)
