"""Compiled: what goes into the queues, and what an entry does: memory, TMA, mbarriers."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.constant_caches import read_table
from simulator.timing.data_pipe import occupy, turned
from simulator.timing.far import OF_L2, access, from_l2, to_l2
from simulator.timing.machine import NUMBERS
from simulator.timing.scoreboards import settle
from simulator.timing.state import GLOBALS, GROUPS, NEVER, QUEUE, Kind, Stall

__all__ = ["enqueue", "expect", "next_event", "send"]

_REQUEST = NUMBERS.index("request")
_READ, _DRAM_SHARE = NUMBERS.index("read_latency"), NUMBERS.index("dram_share")
_DRAM_STORED, _CONSTANT_WORD = NUMBERS.index("dram_stored"), NUMBERS.index("constant_word")
_PHASE_LATENCY, _TMA_LATENCY = NUMBERS.index("phase_latency"), NUMBERS.index("tma_latency")
_ASYNC = NUMBERS.index("neighbour_async")
_OWN_RATE = NUMBERS.index("l2_own")
_SERVED = NUMBERS.index("shared_warp")
_L2_RATE, _COPY_RATE = NUMBERS.index("l2_rate"), NUMBERS.index("tma_l2_rate")
_COPY_REQUEST = NUMBERS.index("tma_request")
_L1, _LOCAL_MISSED = NUMBERS.index("l1_latency"), NUMBERS.index("local_missed")
_LOCAL_FAR, _LOCAL_STORED = NUMBERS.index("local_far"), NUMBERS.index("local_stored")
_TMA_RATE, _TMA_ROW = NUMBERS.index("tma_rate"), NUMBERS.index("tma_row")

_TAG_BANKS = 4
_LINE = 4
"""Sectors."""

_SHARED, _LOAD, _STORE = int(Kind.SHARED), int(Kind.LOAD), int(Kind.STORE)
_COPY, _COPIES_END, _ATOMIC = int(Kind.COPY), int(Kind.COPIES_END), int(Kind.ATOMIC)
_FORGET, _TILE = int(Kind.FORGET), int(Kind.TILE)
_PHASE, _AT_PHASE = int(Kind.PHASE), int(Kind.AT_PHASE)
_SHORT, _LONG = int(Stall.SHORT_SCOREBOARD), int(Stall.LONG_SCOREBOARD)


@jit()
def enqueue(
    code: Any, state: Any, queue: int, warp: int, number: int, rows: int, event: int
) -> None:
    """Put an instruction into a queue.

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
    event
        Its first one beside the warp, or -1.
    """
    place = (state.head[queue] + state.size[queue]) % QUEUE
    entry = state.entry[queue, place]
    entry[0], entry[1], entry[2] = warp, number, state.at_row[warp]
    entry[3], entry[4], entry[5] = rows, state.at_base[warp], event
    entry[6], entry[7] = state.entered, state.fence
    state.entered += 1
    state.size[queue] += 1
    # The profiler counts waits for mbarriers as it does those for global memory
    # (gpu_check/data/h100_timed_third.csv: bulk sums).
    kind = code[number].kind
    is_global = kind in GLOBALS
    state.globals[queue & 3] += int(is_global)
    state.asked[warp] += int(is_global)
    source = _LONG if is_global or kind == _PHASE else _SHORT
    for sb in (code[number].write, code[number].read):
        if sb >= 0:
            # Where several share a scoreboard, memory is what is waited for longest.
            is_idle = state.pending[warp, sb] == 0 and state.time[warp, sb] <= state.issued[warp]
            if is_idle or source == _LONG:
                state.source[warp, sb] = source
            state.pending[warp, sb] += 1
    if kind in (_STORE, _ATOMIC):
        state.stores[warp] += 1
    if kind == _COPIES_END:
        state.group_time[warp, state.groups[warp] % GROUPS] = NEVER
        state.groups[warp] += 1


@jit()
def send(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, now: int
) -> None:
    """Send the first entry of a queue."""
    entry = state.entry[queue, state.head[queue]]
    warp, number, row, rows, base = entry[0], entry[1], entry[2], entry[3], entry[4]
    kind = code[number].kind
    held, extra, sent, asked = code[number].data, 0, 0, 0
    share = machine[_DRAM_SHARE]
    state.asker = state.block[warp // state.warps_of_block]
    before = state.counts[5]
    done = now + code[number].latency
    if code[number].constant:
        done = max(done, state.constants + code[number].latency)
    for each in range(row, row + rows):
        at = state.accesses + 6 * each
        if trace[at + 1]:
            cycles = trace[at + 3] if without else trace[at + 2]
            held += cycles
            more = cycles - trace[at + 3]
            extra += int(machine[_SERVED] * more) if kind == _SHARED else more
            sent = trace[at + 4]
            if kind == _COPY:
                asked = trace[at + 5]
            elif code[number].adu > 0:
                if trace[at + 5]:
                    extra += read_table(state, machine, trace[at + 5], now) - now
            else:
                extra += trace[at + 5]
        else:
            if kind == _COPY and code[number].bypasses:  # L1 looks its lines up, and no more
                held += -(-(trace[at + 5] - trace[at + 4]) // _TAG_BANKS)
            else:
                held += trace[at + 2]
            # Sectors that go to two places of shared memory are sent twice, to this SM alone.
            is_sent = kind == _COPY and code[number].bypasses
            again = sent - _sectors(trace, state, at) if is_sent else 0
            rate = machine[_OWN_RATE if again > 0 else _L2_RATE]
            bypasses = rate if code[number].bypasses else 0.0
            first = trace[state.bases + base] + state.apart[warp]
            busy = state.free[OF_L2]
            there = access(trace, state, machine, at, first, kind, bypasses, share, now)
            base += 1
            if again > 0:
                # Each line of shared memory asks anew for a line.
                taken = state.free[OF_L2] - max(busy, now)
                cycles = max(32 * sent / rate, asked * machine[_REQUEST]) - taken
                if cycles > 0:
                    more = from_l2(
                        state, machine, again, machine[_REQUEST], 0.0, 32 * again / cycles, now
                    )
                    there = max(there, more)
            done = max(done, there + (code[number].latency if kind in (_LOAD, _ATOMIC) else 0))
    if code[number].adu > 0 and sent > 1:  # lanes read so many words of a constant bank
        state.adu_free += code[number].adu * (sent - 1)
        done += int(machine[_CONSTANT_WORD] * (sent - 1))
    sectors = code[number].sectors
    if sectors and sent > 0:  # of local memory: L1 holds what is stored
        several = sent > 4  # lanes have several indices
        if several:
            sectors = sectors // 4 * sent
        held += -(-sectors // 4)
        if kind == _STORE:
            each, share = 1 if several else _LINE, machine[_LOCAL_STORED]
            for _ in range(sectors // each):
                to_l2(state, machine, each, share, not several, now)
        else:
            done = max(done, now + int(machine[_L1]))
            # L1 holds all that lanes with one index load, or nothing of it.
            each, share = 1 if several else _LINE, machine[_LOCAL_FAR]
            unit = 1 if several else sectors
            state.local_rest += sectors / unit * machine[_LOCAL_MISSED]
            missing = int(state.local_rest)
            state.local_rest -= missing
            for _ in range(missing * unit // each):
                there = from_l2(
                    state, machine, each, machine[_REQUEST], share, machine[_L2_RATE], now
                )
                done = max(done, there)
    idle = code[number].idle and held == 0
    if kind in (_SHARED, _STORE):
        held = max(held, 1)
    if held:
        misses = kind == _LOAD and state.counts[5] > before
        copies = kind == _COPY and code[number].bypasses > 0
        held += turned(state, machine, kind == _SHARED, misses, copies, idle)
    if kind == _FORGET:
        state.valid[:, :] = 0
    state.counts[2] += held
    if held:  # what needs no data leaves the pipe to others
        occupy(state, machine, kind, warp, entry[6], held, now)
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
    event = entry[5]
    if kind == _PHASE and event >= 0:
        done = _ask_phase(trace, state, machine, warp, number, event, done)
        if done >= NEVER:
            return
    elif kind == _AT_PHASE and event >= 0:
        late = int(machine[_ASYNC]) if code[number].number else 0
        _arrive(code, trace, state, machine, warp, event, now + late)
    elif kind == _TILE and event >= 0:
        _copy(code, trace, state, machine, warp, number, event, share, now)
    partition = state.partition[warp]
    for bank in range(2):  # what it brings is written where operands are read
        if code[number].written[bank]:
            free = max(state.bank[partition, bank], now)
            state.bank[partition, bank] = free + code[number].written[bank]
    if kind in (_STORE, _ATOMIC):
        state.stores[warp] -= 1
        state.drained[warp] = now
    state.asked[warp] -= int(kind in GLOBALS)
    settle(code, state, warp, number, read, done + extra)


@jit()
def _sectors(trace: Any, state: Any, at: int) -> int:
    """Return the sectors of an access to global memory."""
    found = 0
    for place in range(trace[at + 4], trace[at + 5]):
        mask = trace[state.lines + 2 * place + 1]
        found += (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
    return int(found)


@jit()
def expect(trace: Any, state: Any, slot: int, block: int) -> None:
    """Begin a block's phases of mbarriers: what each needs, and nothing of it is there."""
    for each in range(state.most_phases):
        place = state.phases + 2 * (slot * state.most_phases + each)
        trace[place] = trace[state.needs + block * state.most_phases + each]
        trace[place + 1] = 0


@jit()
def next_event(trace: Any, state: Any, warp: int, number: int) -> int:
    """Return the event beside the warp that an instruction makes, and go on to the next; or -1."""
    event = state.at_event[warp]
    last = trace[state.warps + 3 * state.trace[warp] + 5]
    if event >= last or trace[state.events + 5 * event] != number:
        return -1
    state.at_event[warp] += 1
    while state.at_event[warp] < last and trace[state.events + 5 * state.at_event[warp]] == -1:
        state.at_event[warp] += 1
    return int(event)


@jit()
def _ask_phase(
    trace: Any, state: Any, machine: Any, warp: int, number: int, event: int, done: int
) -> int:
    """Ask whether phases of mbarriers are complete; when the answer is there, NEVER: not known."""
    first = state.phases + 2 * (warp // state.warps_of_block) * state.most_phases
    which = trace[state.events + 5 * event + 1]
    if which < 0:
        return done
    if trace[first + 2 * which] > 0:
        if state.phase[warp] >= 0:  # it asks for two phases at a time: one is enough to wait for
            return done
        state.phase[warp], state.asks[warp] = which, number
        return NEVER
    return int(max(done, trace[first + 2 * which + 1] + int(machine[_PHASE_LATENCY])))


@jit()
def _arrive(
    code: Any, trace: Any, state: Any, machine: Any, warp: int, event: int, when: int
) -> None:
    """Arrive at phases of mbarriers; who waits for one that is complete then goes on."""
    slot = warp // state.warps_of_block
    at = state.events + 5 * event
    while True:
        which = trace[at + 1]
        if which >= 0:
            place = state.phases + 2 * (slot * state.most_phases + which)
            trace[place] -= 1
            trace[place + 1] = max(trace[place + 1], when)
            if trace[place] == 0:
                _complete(code, state, slot, which, trace[place + 1] + int(machine[_PHASE_LATENCY]))
        at += 5
        if at >= state.needs or trace[at] != -1:
            return


@jit()
def _complete(code: Any, state: Any, slot: int, which: int, at: int) -> None:
    """Let those go on who wait for a phase."""
    warps = state.warps_of_block
    for warp in range(slot * warps, slot * warps + warps):
        if state.trace[warp] >= 0 and state.phase[warp] == which:
            state.phase[warp] = -1
            settle(code, state, warp, state.asks[warp], at, at)


@jit()
def _copy(
    code: Any, trace: Any, state: Any, machine: Any, warp: int, number: int, event: int,
    share: float, now: int,
) -> None:  # fmt: skip
    """Copy a tile: TMA takes rows one after the other, and the L2 its sectors."""
    at = state.events + 5 * event
    size, sectors, rows = trace[at + 2], trace[at + 3], trace[at + 4]
    begin = max(state.tma_free, float(now))
    state.tma_free = begin + max(rows * machine[_TMA_ROW], size / machine[_TMA_RATE])
    done = int(state.tma_free)
    is_store = code[number].number > 0
    if sectors:
        if is_store:
            there = to_l2(state, machine, sectors, machine[_DRAM_STORED], True, int(begin))
        else:
            rate, lines = machine[_COPY_RATE], max(rows, -(-sectors // _LINE))
            asks = lines * machine[_COPY_REQUEST]
            there = from_l2(state, machine, sectors, asks, share, rate, int(begin))
        done = max(done, there)
    done += int(machine[_TMA_LATENCY])
    if is_store:
        state.copies[warp] = max(state.copies[warp], done)
    else:
        _arrive(code, trace, state, machine, warp, event, done)
