"""Compiled: the way from a sub-partition to memory: its queues, the data pipe, L1, L2, DRAM."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.state import NEVER, Kind, Stall

__all__ = ["NUMBERS", "dispatch", "enqueue", "evaluate", "settle"]

NUMBERS = (
    "mio_room", "lg_room", "l1_latency", "l2_latency", "dram_latency", "l2_rate", "dram_rate",
    "dram_share", "barrier_interval", "barrier_latency", "launch_interval", "launch_latency",
    "store_latency", "read_latency", "branch", "fence", "youngest",
)  # fmt: skip
"""Names of the machine's numbers, in order: cycles, bytes per cycle, shares."""

_L1, _L2, _DRAM, _L2_RATE, _DRAM_RATE, _DRAM_SHARE = 2, 3, 4, 5, 6, 7
_READ = NUMBERS.index("read_latency")
_DATA, _L2_FREE, _DRAM_FREE, _REST, _TURN = 0, 1, 2, 4, 5

_QUEUED, _SHARED, _LOAD = int(Kind.QUEUED), int(Kind.SHARED), int(Kind.LOAD)
_STORE, _COPY, _COPIES_END = int(Kind.STORE), int(Kind.COPY), int(Kind.COPIES_END)
_COPIES_WAIT = int(Kind.COPIES_WAIT)
_WAIT, _SHORT, _LONG = int(Stall.WAIT), int(Stall.SHORT_SCOREBOARD), int(Stall.LONG_SCOREBOARD)


@jit()
def evaluate(code: Any, state: Any, warp: int) -> None:
    """Say when a warp may issue its next instruction, as far as it is known."""
    number = state.instruction[warp]
    ready = state.ready[warp]
    best, why = ready, _WAIT
    waits = code.waits[number]
    scoreboard = 0
    while waits:
        if waits & 1:
            if state.pending[warp, scoreboard] > 0:
                state.next[warp] = NEVER
                state.why[warp] = state.source[warp, scoreboard]
                return
            if state.time[warp, scoreboard] > best:
                best = state.time[warp, scoreboard]
                why = state.source[warp, scoreboard]
        waits >>= 1
        scoreboard += 1
    if code.kind[number] == _COPIES_WAIT:
        left = state.groups[warp] - code.number[number]
        if left > 0:
            done = state.group_time[warp, (left - 1) % state.group_time.shape[1]]
            if done >= NEVER:
                state.next[warp] = NEVER
                state.why[warp] = _LONG
                return
            if done > best:
                best, why = done, _LONG
    state.next[warp] = best
    state.why[warp] = why


@jit()
def enqueue(
    code: Any, state: Any, queue: int, warp: int, number: int, rows: int, bases: int, now: int
) -> None:
    """Put an instruction into a queue; `rows` and `bases`: how many are its own."""
    place = (state.head[queue] + state.size[queue]) % state.entry.shape[1]
    entry = state.entry[queue, place]
    entry[0], entry[1], entry[2] = warp, number, state.at_row[warp]
    entry[3], entry[4], entry[5] = rows, state.at_base[warp], now
    state.size[queue] += 1
    source = _LONG if queue >= 4 else _SHORT
    write, read = code.write[number], code.read[number]
    if write >= 0:
        state.pending[warp, write] += 1
        state.source[warp, write] = source
    if read >= 0:
        state.pending[warp, read] += 1
        state.source[warp, read] = source
    if code.kind[number] == _COPIES_END:
        state.group_time[warp, state.groups[warp] % state.group_time.shape[1]] = NEVER
        state.groups[warp] += 1


@jit()
def settle(code: Any, state: Any, warp: int, number: int, read: int, done: int) -> None:
    """Release the scoreboards of an instruction: operands are read then, results written then."""
    sb = code.read[number]
    if sb >= 0:
        state.pending[warp, sb] = max(state.pending[warp, sb] - 1, 0)
        state.time[warp, sb] = max(state.time[warp, sb], read)
    sb = code.write[number]
    if sb >= 0:
        state.pending[warp, sb] = max(state.pending[warp, sb] - 1, 0)
        state.time[warp, sb] = max(state.time[warp, sb], done)
    if state.trace[warp] >= 0 and state.next[warp] >= NEVER and state.arrived_at[warp] < 0:
        evaluate(code, state, warp)
        if state.next[warp] < NEVER:
            partition = warp & 3
            if state.next[warp] < state.sleep[partition]:
                state.sleep[partition] = state.next[warp]


@jit()
def dispatch(
    code: Any, trace: Any, state: Any, machine: Any, out: Any, without: bool, now: int
) -> int:
    """Let the queues send what they can; when the next one may be sent, at the earliest."""
    least = NEVER
    turn = int(state.scalars[_TURN])
    for each in range(8):
        queue = (each + turn) & 7
        if state.size[queue] == 0:
            continue
        if state.free[queue] > now:
            if state.free[queue] < least:
                least = state.free[queue]
            continue
        entry = state.entry[queue, state.head[queue]]
        number = entry[1]
        kind = code.kind[number]
        needs = kind == _SHARED or kind == _LOAD or kind == _STORE or kind == _COPY
        needs = needs or code.data[number] > 0
        if needs and state.scalars[_DATA] > now:
            if state.scalars[_DATA] < least:
                least = int(state.scalars[_DATA])
            continue
        _send(code, trace, state, machine, out, without, queue, now)
        state.head[queue] = (state.head[queue] + 1) % state.entry.shape[1]
        state.size[queue] -= 1
        state.free[queue] = now + code.local[number]
        state.sleep[queue & 3] = min(state.sleep[queue & 3], now)
        if needs:
            state.scalars[_TURN] = (queue + 1) & 7
        if state.size[queue] and state.free[queue] < least:
            least = state.free[queue]
    return least


@jit()
def _send(
    code: Any, trace: Any, state: Any, machine: Any, out: Any, without: bool, queue: int, now: int
) -> None:
    """Send the first entry of a queue."""
    entry = state.entry[queue, state.head[queue]]
    warp, number, row, rows, base = entry[0], entry[1], entry[2], entry[3], entry[4]
    kind = code.kind[number]
    held, extra = code.data[number], 0
    done = now + code.latency[number]
    for each in range(row, row + rows):
        which = trace.row[each]
        if trace.row_shared[which]:
            cycles = trace.row_floor[which] if without else trace.row_cycles[which]
            held += cycles
            extra += cycles - trace.row_floor[which]
        else:
            lines = trace.line_begin[which + 1] - trace.line_begin[which]
            held += max(lines, (trace.row_bytes[which] + 127) // 128)
            there = _global(trace, state, machine, out, which, base, kind == _STORE, now)
            base += 1
            done = max(done, there)
    if kind == _SHARED or kind == _STORE:
        held = max(held, 1)
    out.counts[2] += held
    state.scalars[_DATA] = now + held
    if kind == _COPY:
        state.copies[warp] = max(state.copies[warp], done)
    elif kind == _COPIES_END:
        done = max(done, state.copies[warp])
        slots = state.group_time.shape[1]
        for group in range(slots):
            if state.group_time[warp, group] >= NEVER:
                # Groups end in order: the first that is open is this one.
                first = state.groups[warp] - 1
                while first > 0 and state.group_time[warp, (first - 1) % slots] >= NEVER:
                    first -= 1
                state.group_time[warp, first % slots] = done
                break
    read = now + int(machine[_READ])
    settle(code, state, warp, number, read, done + extra)


@jit()
def _global(
    trace: Any, state: Any, machine: Any, out: Any, row: int, base: int, is_store: bool, now: int
) -> int:
    """Serve an access to global memory; when its data are there."""
    done = now + int(machine[_L1])
    for place in range(trace.line_begin[row], trace.line_begin[row + 1]):
        line = trace.base[base] + trace.line[place]
        mask = trace.mask[place]
        sectors = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
        sets = state.tags.shape[0]
        index = (line ^ line // sets) % sets
        way = _find(state, index, line, is_store)
        if is_store:
            out.counts[6] += sectors
            _lower(state, machine, out, sectors, now)
            if way >= 0:  # L1 writes through, and keeps what it has
                state.used[index, way] = now
            continue
        out.counts[3] += sectors
        if state.tags[index, way] != line:
            state.tags[index, way] = line
            state.valid[index, way] = 0
        state.used[index, way] = now
        missing = mask & ~state.valid[index, way]
        some = (missing & 1) + (missing >> 1 & 1) + (missing >> 2 & 1) + (missing >> 3 & 1)
        out.counts[4] += sectors - some
        if some:
            there = _lower(state, machine, out, some, now)
            for sector in range(4):
                if missing >> sector & 1:
                    state.fill[index, way, sector] = there
            state.valid[index, way] |= missing
        for sector in range(4):
            if mask >> sector & 1 and state.fill[index, way, sector] > done:
                done = state.fill[index, way, sector]
    return done


@jit()
def _find(state: Any, index: int, line: int, is_store: bool) -> int:
    """Find a line among the ways of a set; else the way that was used least lately, or -1."""
    oldest = 0
    for way in range(state.tags.shape[1]):
        if state.tags[index, way] == line:
            return way
        if state.used[index, way] < state.used[index, oldest]:
            oldest = way
    return -1 if is_store else oldest


@jit()
def _lower(state: Any, machine: Any, out: Any, sectors: int, now: int) -> int:
    """Ask L2 for sectors, and DRAM for its share of them; when they are there."""
    out.counts[5] += sectors
    begin = max(float(now), state.scalars[_L2_FREE])
    state.scalars[_L2_FREE] = begin + 32 * sectors / machine[_L2_RATE]
    there = state.scalars[_L2_FREE] + machine[_L2]
    state.scalars[_REST] += sectors * machine[_DRAM_SHARE]
    if state.scalars[_REST] >= 1:
        some = int(state.scalars[_REST])
        state.scalars[_REST] -= some
        out.counts[7] += some
        first = max(begin, state.scalars[_DRAM_FREE])
        state.scalars[_DRAM_FREE] = first + 32 * some / machine[_DRAM_RATE]
        there = max(there, state.scalars[_DRAM_FREE] + machine[_DRAM])
    return int(there)
