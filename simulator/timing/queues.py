"""Compiled: what goes into the queues and out of them, and what an entry does."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.banks import brought
from simulator.timing.constant_caches import read_table
from simulator.timing.copying import crowd, is_copy, note_copy, own_sectors
from simulator.timing.data_pipe import occupy, turned
from simulator.timing.events import arrive, ask_phase, copy_tile
from simulator.timing.far import access, from_l2, load_local, store_local
from simulator.timing.kept import COMMON
from simulator.timing.machine import NUMBERS
from simulator.timing.scoreboards import settle
from simulator.timing.state import GLOBALS, GROUPS, NEVER, PARTITIONS, QUEUE, Kind, Stall
from simulator.timing.traces import SECTORS
from simulator.timing.ways import OF_L2, OF_STORES, serve

__all__ = ["ask", "enqueue", "leave", "overtake", "send"]

_REQUEST, _L2_RATE = NUMBERS.index("request"), NUMBERS.index("l2_rate")
_L2_BURST = NUMBERS.index("l2_burst")
_CONSTANT_WORD = NUMBERS.index("constant_word")
_L2 = NUMBERS.index("l2_latency")
_READ, _DRAM_SHARE = NUMBERS.index("read_latency"), NUMBERS.index("dram_share")
_ASYNC = NUMBERS.index("neighbour_async")
_OWN_RATE, _HOT_RATE = NUMBERS.index("l2_own"), NUMBERS.index("hot_rate")
_SERVED, _COPY_WAY = NUMBERS.index("shared_warp"), NUMBERS.index("copy_way")
_LOCAL_LATENCY = NUMBERS.index("local_latency")

_TAG_BANKS = 4
_MOST_LINES = 63
"""Of local memory, that an access may have: above it stands whether sectors are whole."""

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
    entry[8] = state.block[warp // state.warps_of_block]
    state.entered += 1
    state.size[queue] += 1
    # The profiler counts waits for mbarriers as it does those for global memory
    # (gpu_check/data/h100_timed_third.csv: bulk sums).
    kind = code[number].kind
    is_global = kind in GLOBALS
    if queue < PARTITIONS:
        state.waiting[queue] += 1
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
def leave(state: Any, queue: int, place: int, now: int) -> None:
    """Take an entry out of its queue, and wake the sub-partition: a warp may wait for room."""
    overtake(state, queue, place)
    state.head[queue] = (state.head[queue] + 1) % QUEUE
    state.size[queue] -= 1
    state.sleep[queue & 3] = min(state.sleep[queue & 3], now)


@jit()
def overtake(state: Any, queue: int, place: int) -> None:
    """Let an entry of a queue overtake all before it."""
    for at in range(place, 0, -1):
        here, there = (state.head[queue] + at) % QUEUE, (state.head[queue] + at - 1) % QUEUE
        for each in range(state.entry.shape[2]):
            entry = state.entry[queue, here, each]
            state.entry[queue, here, each] = state.entry[queue, there, each]
            state.entry[queue, there, each] = entry


@jit()
def ask(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, entry: Any, now: int
) -> tuple[int, int, int]:
    """Ask memory for what an entry accesses.

    Return the cycles for which it holds the data pipe, when its data are there, and how much later
    its scoreboard is free.
    """
    warp, number, row, rows, base = entry[0], entry[1], entry[2], entry[3], entry[4]
    kind = code[number].kind
    held, extra, sent, asked = code[number].data, 0, 0, 0
    share = machine[_DRAM_SHARE]
    state.asker = entry[8]
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
            if kind == _COPY or code[number].sectors:
                asked = trace[at + 5]
            elif code[number].adu > 0:
                if trace[at + 5]:
                    extra += read_table(state, machine, trace[at + 5], now) - now
            else:
                extra += trace[at + 5]
        else:
            own = again = 0
            parted = 0.0
            if is_copy(code, number):  # L1 looks its lines up, and no more
                lines = trace[at + 5] - trace[at + 4]
                held += -(-lines // _TAG_BANKS)
                # What goes to two lines of shared memory is sent to this SM alone, and those of its
                # sectors that do so are sent twice (gpu_check/data/h100_shared_tiles.csv).
                own = own_sectors(trace, state, at)
                again = sent - own
                state.took[OF_STORES] += (
                    asked * machine[_REQUEST] + max(again, 0) * machine[_COPY_WAY]
                )
                if asked > lines:
                    parted = 1.0 if again > 0 else min((asked - lines) / lines, 1.0)
            else:
                held += trace[at + 2]
            # What all blocks touch is the same for one that stands for another, and in the L2.
            first = trace[state.bases + base]
            of = COMMON if first < 0 else share
            rate = machine[_L2_RATE]
            if parted > 0:
                alone = machine[_HOT_RATE if first < 0 else _OWN_RATE]
                rate = 1 / (parted / alone + (1 - parted) / rate)
            bypasses = rate if code[number].bypasses else 0.0
            first = ~first if first < 0 else first + state.apart[warp]
            before = state.took[OF_L2]
            there = access(trace, state, machine, code[number], at, first, bypasses, of, now)
            base += 1
            if parted > 0:
                # Each line of shared memory asks anew for a line.
                cycles = max(32 * sent / rate, asked * machine[_REQUEST])
                state.counts[9] += max(round(cycles - 32 * sent / machine[_L2_RATE]), 0)
                cycles -= state.took[OF_L2] - before
                if cycles > 0 and again == 0:
                    part = rate / machine[_L2_BURST]
                    done = serve(state, machine, OF_L2, cycles, float(now), min(part, 1.0))
                    there = max(there, int(done + machine[_L2]))
                elif cycles > 0:
                    more = from_l2(
                        state, machine, again, machine[_REQUEST], 0.0, 32 * again / cycles, now
                    )
                    there = max(there, more)
                if of == COMMON and again > 0:
                    there = max(there, crowd(trace, state, machine, at, first, sent / own, now))
            done = max(done, there + (code[number].latency if kind in (_LOAD, _ATOMIC) else 0))
    if code[number].adu > 0 and sent > 1:  # lanes read so many words of a constant bank
        state.adu_free += code[number].adu * (sent - 1)
        done += int(machine[_CONSTANT_WORD] * (sent - 1))
    sectors = code[number].sectors
    if sectors and sent > 0:  # of local memory: L1 holds what is stored
        lines, words = max(asked & _MOST_LINES, 1), sectors // SECTORS
        if kind == _STORE:
            held += -(-sent // SECTORS) * words
            store_local(state, machine, words * lines, words * sent, asked > _MOST_LINES, now)
        else:
            held += words * (min(lines, _TAG_BANKS) + max(lines - _TAG_BANKS, 0) // _TAG_BANKS)
            there = load_local(state, machine, words, lines, sent, now)
            done = max(done, now + int(machine[_LOCAL_LATENCY]), there)
    return int(held), int(done), int(extra)


@jit()
def send(
    code: Any, trace: Any, state: Any, machine: Any, without: bool, queue: int, now: int
) -> None:
    """Send the first entry of a queue."""
    entry = state.entry[queue, state.head[queue]]
    warp, number = entry[0], entry[1]
    kind = code[number].kind
    share = machine[_DRAM_SHARE]
    held, done, extra = ask(code, trace, state, machine, without, entry, now)
    if is_copy(code, number):
        note_copy(trace, state, entry, done)
    accesses = held > 0 and not code[number].aside
    idle = code[number].idle and held == 0
    if kind in (_SHARED, _STORE):
        held = max(held, 1)
    if held:
        held += turned(state, machine, kind == _SHARED, False, is_copy(code, number), idle)
    if accesses and code[number].brings:
        brought(state, machine, queue & 3, now)
    if kind == _FORGET:
        state.valid[:, :] = 0
    state.counts[2] += held
    if held:  # what needs no data leaves the pipe to others
        extra += occupy(state, machine, kind, warp, entry[6], held, now, accesses)
    # Its block may have ended without it, and another one have its place.
    if state.block[warp // state.warps_of_block] != entry[8]:
        return
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
    read = -1 if queue < PARTITIONS else now + int(machine[_READ])
    event = entry[5]
    if kind == _PHASE and event >= 0:
        done = ask_phase(trace, state, machine, warp, number, event, done)
        if done >= NEVER:
            return
    elif kind == _AT_PHASE and event >= 0:
        late = int(machine[_ASYNC]) if code[number].number else 0
        arrive(code, trace, state, machine, warp, event, now + late)
    elif kind == _TILE and event >= 0:
        copy_tile(code, trace, state, machine, warp, number, event, share, now)
    if kind in (_STORE, _ATOMIC):
        state.stores[warp] -= 1
        state.drained[warp] = now
    state.asked[warp] -= int(kind in GLOBALS)
    settle(code, state, warp, number, read, done + extra)
