"""Compiled: the way from a sub-partition to memory: its queues, the data pipe, L1, L2, DRAM."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.state import GROUPS, NEVER, PLACES, QUEUE, WAYS, Kind, Stall

__all__ = ["NUMBERS", "OF_ATOMICS", "OF_STORES", "dispatch", "enqueue", "evaluate", "settle"]

NUMBERS = (
    "mio_room", "lg_room", "l1_latency", "l2_latency", "dram_latency", "l2_rate", "dram_rate",
    "dram_share", "store_rate", "barrier_interval", "barrier_latency", "launch_interval",
    "launch_latency", "read_latency", "branch", "fence", "youngest", "copy_rate", "l2_wait",
    "dram_wait", "atom_rate", "atom_latency", "constants", "code_held", "code_near", "code_rate",
    "code_far_rate", "lost", "request", "atom_hot",
)  # fmt: skip
"""Names of the machine's numbers, in order: cycles, bytes per cycle, shares."""

_L1, _L2, _DRAM, _L2_RATE, _DRAM_RATE, _DRAM_SHARE, _STORE_RATE = 2, 3, 4, 5, 6, 7, 8
_READ, _COPY_RATE = NUMBERS.index("read_latency"), NUMBERS.index("copy_rate")
_REQUEST = NUMBERS.index("request")
_L2_WAIT, _DRAM_WAIT = NUMBERS.index("l2_wait"), NUMBERS.index("dram_wait")
_ATOM_HOT = NUMBERS.index("atom_hot")
_ATOM_RATE, _ATOM_LATENCY = NUMBERS.index("atom_rate"), NUMBERS.index("atom_latency")
_OF_L2, OF_STORES, _OF_DRAM, OF_ATOMICS = range(PLACES)
_MEMORY = 1000.0
"""Cycles over which a place's load is taken."""
_MOST_LOAD = 0.97

_QUEUED, _SHARED, _LOAD = int(Kind.QUEUED), int(Kind.SHARED), int(Kind.LOAD)
_STORE, _COPY, _COPIES_END = int(Kind.STORE), int(Kind.COPY), int(Kind.COPIES_END)
_COPIES_WAIT, _ATOMIC = int(Kind.COPIES_WAIT), int(Kind.ATOMIC)
_WAIT, _SHORT, _LONG = int(Stall.WAIT), int(Stall.SHORT_SCOREBOARD), int(Stall.LONG_SCOREBOARD)
_NO_INSTRUCTION = int(Stall.NO_INSTRUCTION)


@jit()
def evaluate(code: Any, state: Any, warp: int) -> None:
    """Say when a warp may issue its next instruction, as far as it is known."""
    number = state.instruction[warp]
    ready = state.ready[warp]
    best, why = ready, _WAIT
    if state.fetched[warp] > best:
        best, why = state.fetched[warp], _NO_INSTRUCTION
    waits = code[number].waits
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
    if code[number].kind == _COPIES_WAIT:
        left = state.groups[warp] - code[number].number
        if left > 0:
            done = state.group_time[warp, (left - 1) % GROUPS]
            if done >= NEVER:
                state.next[warp] = NEVER
                state.why[warp] = _LONG
                return
            if done > best:
                best, why = done, _LONG
    state.next[warp] = best
    state.why[warp] = why


@jit()
def enqueue(code: Any, state: Any, queue: int, warp: int, number: int, rows: int) -> None:
    """Put an instruction into a queue; `rows`: how many accesses are its own.

    Parameters
    ----------
    code, state
        The code's table, and the state of the SM.
    queue
        The queue's number.
    warp, number
        Which warp, and which instruction of its trace.
    rows
        How many accesses are its own.
    """
    place = (state.head[queue] + state.size[queue]) % QUEUE
    entry = state.entry[queue, place]
    entry[0], entry[1], entry[2] = warp, number, state.at_row[warp]
    entry[3], entry[4] = rows, state.at_base[warp]
    state.size[queue] += 1
    source = _LONG if queue >= 4 else _SHORT
    write, read = code[number].write, code[number].read
    if write >= 0:
        state.pending[warp, write] += 1
        state.source[warp, write] = source
    if read >= 0:
        state.pending[warp, read] += 1
        state.source[warp, read] = source
    if code[number].kind == _COPIES_END:
        state.group_time[warp, state.groups[warp] % GROUPS] = NEVER
        state.groups[warp] += 1


@jit()
def settle(code: Any, state: Any, warp: int, number: int, read: int, done: int) -> None:
    """Release the scoreboards of an instruction: operands are read then, results written then.

    Parameters
    ----------
    code, state
        The code's table, and the state of the SM.
    warp, number
        Which warp, and which instruction of its trace.
    read
        The cycle in which its operands are read.
    done
        The cycle in which its results are written.
    """
    sb = code[number].read
    if sb >= 0:
        state.pending[warp, sb] = max(state.pending[warp, sb] - 1, 0)
        state.time[warp, sb] = max(state.time[warp, sb], read)
    sb = code[number].write
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
    turn = state.turn
    for each in range(8):
        queue = (each + turn) & 7
        if state.size[queue] == 0:
            continue
        if state.queue_free[queue] > now:
            if state.queue_free[queue] < least:
                least = state.queue_free[queue]
            continue
        number = state.entry[queue, state.head[queue], 1]
        kind = code[number].kind
        needs = kind in (_SHARED, _LOAD, _STORE, _COPY, _ATOMIC)
        needs = needs or code[number].data > 0
        if needs and state.data_free > now:
            if state.data_free < least:
                least = state.data_free
            continue
        _send(code, trace, state, machine, without, queue, now)
        state.head[queue] = (state.head[queue] + 1) % QUEUE
        state.size[queue] -= 1
        state.queue_free[queue] = now + code[number].local
        state.sleep[queue & 3] = min(state.sleep[queue & 3], now)
        if needs:
            state.turn = (queue + 1) & 7
        if state.size[queue] and state.queue_free[queue] < least:
            least = state.queue_free[queue]
    return least


@jit()
def _send(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, now: int
) -> None:
    """Send the first entry of a queue."""
    entry = state.entry[queue, state.head[queue]]
    warp, number, row, rows, base = entry[0], entry[1], entry[2], entry[3], entry[4]
    kind = code[number].kind
    held, extra = code[number].data, 0
    share = machine[_DRAM_SHARE] if state.is_lost[warp // state.warps_of_block] else 0.0
    done = now + code[number].latency
    if code[number].constant:
        done = max(done, state.constants + code[number].latency)
    for each in range(row, row + rows):
        at = state.accesses + 6 * each
        if trace[at + 1]:
            cycles = trace[at + 3] if without else trace[at + 2]
            held += cycles
            extra += cycles - trace[at + 3]
        else:
            held += trace[at + 2]
            there = _global(trace, state, machine, at, base, warp, kind, share, now)
            base += 1
            done = max(done, there + (code[number].latency if kind in (_LOAD, _ATOMIC) else 0))
    if kind in (_SHARED, _STORE):
        held = max(held, 1)
    state.counts[2] += held
    if held:  # what needs no data leaves the pipe to others
        state.data_free = max(state.data_free, now) + held
    if kind == _COPY:
        state.copies[warp] = max(state.copies[warp], done)
    elif kind == _COPIES_END:
        done = max(done, state.copies[warp])
        slots = GROUPS
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
    trace: Any, state: Any, machine: Any, at: int, base: int, warp: int, kind: int,
    share: float, now: int,
) -> int:  # fmt: skip
    """Serve an access to global memory; when its data are there."""
    done = now + int(machine[_L1])
    first = trace[state.bases + base] + state.apart[warp]
    for place in range(trace[at + 4], trace[at + 5]):
        line = first + trace[state.lines + 2 * place]
        mask = trace[state.lines + 2 * place + 1]
        sectors = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
        if kind == _ATOMIC:
            state.counts[6] += sectors
            done = max(done, _atomic(state, machine, sectors, now))
            continue
        sets = state.sets
        index = (line ^ line // sets) % sets
        way = _find(state, index, line, kind == _STORE)
        if kind == _STORE:
            state.counts[6] += sectors
            _lower(state, machine, sectors, True, share, now)
            if way >= 0:  # L1 writes through, and keeps what it has
                state.used[index, way] = now
            continue
        state.counts[3] += sectors
        if state.tags[index, way] != line:
            state.tags[index, way] = line
            state.valid[index, way] = 0
        state.used[index, way] = now
        missing = mask & ~state.valid[index, way]
        some = (missing & 1) + (missing >> 1 & 1) + (missing >> 2 & 1) + (missing >> 3 & 1)
        state.counts[4] += sectors - some
        if some:
            there = _lower(state, machine, some, False, share, now)
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
    for way in range(WAYS):
        if state.tags[index, way] == line:
            return way
        if state.used[index, way] < state.used[index, oldest]:
            oldest = way
    return -1 if is_store else oldest


@jit()
def _ask(state: Any, place: int, cycles: float, wait: float, now: int) -> float:
    """Ask a place for some cycles of its work; when it is done, but for the latency.

    The busier it was lately, the longer a request waits before: `wait` cycles where it is half
    busy, and more by how little time is free (gpu_check/data/h100_flight.csv).
    """
    begin = max(float(now), state.free[place])
    state.free[place] = begin + cycles
    past = min((now - state.load_at[place]) / _MEMORY, 1.0)
    state.load[place] = state.load[place] * (1 - past) + cycles
    state.load_at[place] = now
    load = min(state.load[place] / _MEMORY, _MOST_LOAD)
    return float(max(begin, now + wait * load / (1 - load)) + cycles)


@jit()
def _lower(state: Any, machine: Any, sectors: int, is_store: bool, share: float, now: int) -> int:
    """Ask L2 for sectors, and DRAM for its share of them; when they are there."""
    state.counts[5] += sectors
    rate = machine[_COPY_RATE] if is_store else machine[_L2_RATE]
    cycles = max(32 * sectors / rate, machine[_REQUEST])
    there = _ask(state, _OF_L2, cycles, machine[_L2_WAIT], now)
    if is_store:
        cycles = max(32 * sectors / machine[_STORE_RATE], machine[_REQUEST])
        there = _ask(state, OF_STORES, cycles, 0.0, now)
    there += machine[_L2]
    state.dram_rest += sectors * share
    if state.dram_rest >= 1:
        some = int(state.dram_rest)
        state.dram_rest -= some
        state.counts[7] += some
        cycles = 32 * some / machine[_DRAM_RATE]
        far = _ask(state, _OF_DRAM, cycles, machine[_DRAM_WAIT], now)
        there = max(there, far + machine[_DRAM])
    return int(there)


@jit()
def _atomic(state: Any, machine: Any, sectors: int, now: int) -> int:
    """Ask L2 to change sectors; when the old values are there."""
    state.counts[5] += sectors
    cycles = sectors * max(32 / machine[_ATOM_RATE], machine[_ATOM_HOT])
    return int(_ask(state, OF_ATOMICS, cycles, 0.0, now) + machine[_ATOM_LATENCY])
