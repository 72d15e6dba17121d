"""Compiled: what lies behind a sub-partition's queues: L1, the L2, DRAM."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.kept import (
    ALL,
    BITS,
    HERE,
    MIX,
    count_sectors,
    far_away,
    is_across,
    known,
    spread_over,
    touch,
)
from simulator.timing.machine import NUMBERS
from simulator.timing.state import IDLE_LINES, MOST_GONE, WAYS, Kind
from simulator.timing.traces import SECTOR, SECTORS
from simulator.timing.ways import (
    OF_ATOMICS,
    OF_DRAM,
    OF_L2,
    OF_PARTS,
    OF_STORES,
    ask,
    depart,
    farther,
    farthest,
    hold,
    stand_behind,
    until,
)

__all__ = ["AHEAD", "FILLED", "access", "from_l2", "load_local", "store_local", "to_l2"]

_L1, _L2 = NUMBERS.index("l1_latency"), NUMBERS.index("l2_latency")
_DRAM, _STORE_RATE = NUMBERS.index("dram_latency"), NUMBERS.index("store_rate")
_L2_RATE, _DRAM_RATE = NUMBERS.index("l2_rate"), NUMBERS.index("dram_rate")
_STORE_ASKED, _STORE_READ = NUMBERS.index("store_asked"), NUMBERS.index("store_read")
_CROSSED, _FAR = NUMBERS.index("crossed"), NUMBERS.index("far_latency")
_REQUEST, _DRAM_STORED = NUMBERS.index("request"), NUMBERS.index("dram_stored")
_DRAM_HOLDS, _FETCHED = NUMBERS.index("dram_holds"), NUMBERS.index("dram_fetched")
_L2_WAIT, _DRAM_WAIT = NUMBERS.index("l2_wait"), NUMBERS.index("dram_wait")
_DRAM_UNEVEN, _COURSE = NUMBERS.index("dram_uneven"), NUMBERS.index("course")
_MANY = 1_000_003
"""Lines by which what is accessed lies elsewhere in the next course."""
_KILOBYTE = 8
"""Lines that are as near in DRAM as each other. If each lay by itself, blocks that read 1 KiB would
take 16 and 15 % too long (gpu_check/data/h100_streams.csv, h200_streams.csv, 1 array of words)."""
_LAST = 8
"""Lines of a tile: those before are there by then (gpu_check/data/h100_rounds.csv, one SM)."""
_STORE_JOINS, _STORE_HOT = NUMBERS.index("store_joins"), NUMBERS.index("store_hot")
_ATOM_HOT, _ATOM_POWER = NUMBERS.index("atom_hot"), NUMBERS.index("atom_power")
_L2_BURST, _TMA_RATE = NUMBERS.index("l2_burst"), NUMBERS.index("tma_rate")
_STORE_ALONE = NUMBERS.index("store_alone")
_STORE_REQUEST, _STORE_LINE = NUMBERS.index("store_request"), NUMBERS.index("store_line")
_LOCAL_STORED, _LOCAL_FAR = NUMBERS.index("local_stored"), NUMBERS.index("local_far")
_LOCAL_MISSED, _LOCAL_LAST = NUMBERS.index("local_missed"), NUMBERS.index("local_last")
_ATOM_ASKED, _ATOM_MORE = NUMBERS.index("atom_asked"), NUMBERS.index("atom_more")
_ATOM_PACKET, _ATOM_GIVEN = NUMBERS.index("atom_packet"), NUMBERS.index("atom_given")
_ATOM_LATENCY, _ATOM_DRAM = NUMBERS.index("atom_latency"), NUMBERS.index("dram_atom")
_STORED_TAKEN, _ATOM_TAKEN = NUMBERS.index("dram_stored_taken"), NUMBERS.index("dram_atom_taken")
_LOADED = 16
"""Of a line of L1, behind the bits of its sectors: that something of it was loaded."""
AHEAD = -2
"""In place of a line: they lie all over, and are asked for before it is their turn."""
FILLED = 4
"""The bit of a line's mask behind its sectors': from there on, bytes of each that are accessed."""

_STORE, _ATOMIC = int(Kind.STORE), int(Kind.ATOMIC)


@jit()
def access(
    trace: Any, state: Any, machine: Any, one: Any, at: int, first: int, bypasses: float,
    share: float, now: int,
) -> int:  # fmt: skip
    """Serve an access to global memory; when its data are there.

    `one`: its instruction; `first`: the line of the first lane. `bypasses`: bytes per cycle from
    the L2, where L1 is not asked, and keeps nothing of it; 0: it is asked.
    """
    done, kind = now + int(machine[_L1]), one.kind
    for place in range(trace[at + 4], trace[at + 5]):
        line = first + trace[state.lines + 2 * place]
        given = trace[state.lines + 2 * place + 1]
        mask = given & 15
        sectors = count_sectors(mask)
        if kind == _ATOMIC:
            state.counts[6] += sectors
            fresh = count_sectors(mask & ~touch(state, machine, line, mask, True))
            filled = given >> FILLED
            done = max(done, _atomic(state, machine, one, sectors, fresh, filled, now))
            continue
        if bypasses and kind != _STORE:
            state.counts[3] += sectors
            done = max(done, _line(state, machine, line, mask, share, bypasses, now))
            continue
        sets = state.sets
        index = (line ^ line // sets) % sets
        way = _find(state, index, line)
        if state.tags[index, way] != line:
            state.tags[index, way] = line
            state.valid[index, way] = 0
        elif kind == _STORE and state.valid[index, way] & _LOADED:
            state.free[OF_STORES] += machine[_STORE_READ]
        state.used[index, way] = now
        if kind == _STORE:  # L1 writes through, and keeps it (gpu_check/data/h100_l1_holds.csv)
            state.counts[6] += sectors
            _store(state, machine, line, mask, given >> FILLED, now)
            if given >> FILLED >= SECTOR:
                for sector in range(4):
                    if mask & ~state.valid[index, way] & 1 << sector:
                        state.fill[index, way, sector] = now
                state.valid[index, way] |= mask
            continue
        state.counts[3] += sectors
        missing = mask & ~state.valid[index, way]
        some = count_sectors(missing)
        state.counts[4] += sectors - some
        if some:
            there = _line(state, machine, line, missing, share, machine[_L2_RATE], now)
            for sector in range(4):
                if missing >> sector & 1:
                    state.fill[index, way, sector] = there
            state.valid[index, way] |= missing | _LOADED
        for sector in range(4):
            if mask >> sector & 1 and state.fill[index, way, sector] > done:
                done = state.fill[index, way, sector]
    return done


@jit()
def _find(state: Any, index: int, line: int) -> int:
    """Find a line among a set's ways; else an empty one, or one of the 3/4 used less lately.

    Of what is read in turn, and is a sixth more than L1 holds, an H100 loses 38 %, of a third more
    62 % (gpu_check/data/h100_l1_holds.csv): more than of any, and less than of the very last.
    """
    tags, used = state.tags[index], state.used[index]
    ways = max(WAYS - (IDLE_LINES + index) // state.sets, 1)
    for way in range(ways):
        if tags[way] == line or tags[way] < 0:
            return way
    way = (((line & BITS) + int(state.counts[3])) * MIX % ALL >> 20) % ways
    for _ in range(ways):
        way = (way + 1) % ways
        older, last = 0, used[way]
        for other in range(ways):
            older += used[other] < last
        if 4 * older < 3 * ways:
            break
    return int(way)


@jit()
def from_l2(
    state: Any, machine: Any, sectors: int, asks: float, share: float, rate: float, now: int,
    line: int = -1, mask: int = 0,
) -> int:  # fmt: skip
    """Ask L2 for sectors, and DRAM for its share of them; when they are there.

    `asks`: cycles for which the L2 looks up lines; `rate`: bytes per cycle from it; `line`: where
    they lie, and which sectors of it they are, -1: all over, AHEAD: so, and TMA asks for them.
    """
    state.counts[5] += sectors
    state.counts[8] += sectors
    few = sectors <= SECTORS  # of a warp: how copies of many lines cross was not measured
    cycles = max(32 * sectors / rate, asks)
    # What is asked for takes the way on which stores go, behind those that went before.
    asked = -(-sectors // SECTORS) * machine[_STORE_ASKED]
    sent = now
    if line != AHEAD:
        sent = int(depart(state, machine, asked, now) - asked)
    burst = machine[_TMA_RATE if line == AHEAD else _L2_BURST]
    alone = min(1.0, rate / burst)
    there = ask(state, machine, OF_L2, cycles, machine[_L2_WAIT], now, sent, alone) + machine[_L2]
    # So does what comes from the other part of the L2 (gpu_check/data/h100_turnover.csv).
    hold(state, machine, asked, now)
    state.moved += sectors
    has = known(state, machine, line, mask, share)
    if few and has != HERE and is_across(state, sectors, machine[_CROSSED], line):
        hold(state, machine, 32 * sectors / machine[_STORE_RATE], now)
        there += machine[_FAR]
    away = far_away(state, machine, sectors, share, line, mask, has)
    if away:
        if few:  # it goes behind what the L2 was asked for before
            sent = max(sent, int(state.free[OF_L2]))
        each = machine[_DRAM_RATE] / machine[_FETCHED]
        cycles, alone = 32 * away / each, min(1.0, each / burst)
        wait, uneven = machine[_DRAM_WAIT], 1.0
        if line >= 0:  # what lies side by side waits together (gpu_check/data/h100_delays.csv)
            uneven += machine[_DRAM_UNEVEN] * (2 * _drawn(machine, line // SECTORS) - 1)
        far = ask(state, machine, OF_DRAM, cycles, wait, now, sent, alone, uneven)
        if few:  # and holds up what comes behind it
            held = max(cycles - 32 * away / rate, 0.0)
            state.free[OF_L2] += held * machine[_DRAM_HOLDS]
        there = max(there, far + machine[_DRAM])
    if line == AHEAD:  # a tile waits for the farthest of its last lines
        there += farthest(machine, away > 0, min(max(sectors // SECTORS, 1), _LAST))
    state.loaded = max(state.loaded, int(there))
    return int(there)


@jit()
def _drawn(machine: Any, line: int) -> float:
    """Return a number from 0 to 1 of a line, as if it were drawn: another one in each course."""
    drawn = (line + int(machine[_COURSE]) * _MANY & BITS) * MIX >> 8 & BITS
    return ((drawn ^ drawn >> 13) * MIX >> 16 & 255) / 255


@jit()
def _line(
    state: Any, machine: Any, line: int, mask: int, share: float, rate: float, now: int
) -> int:
    """Ask L2 for sectors of a line, as `from_l2`: how long that takes depends on where it lies.

    Which line is near in the L2, and which kilobyte in DRAM, is drawn
    (gpu_check/data/h100_spread.csv).
    """
    before = state.counts[7]
    there = from_l2(
        state, machine, count_sectors(mask), machine[_REQUEST], share, rate, now, line, mask
    )
    late = farther(machine, False, _drawn(machine, line))
    if state.counts[7] > before:
        late += farther(machine, True, _drawn(machine, line // _KILOBYTE))
    there += int(late)
    state.loaded = max(state.loaded, there)
    return int(there)


@jit()
def _store(state: Any, machine: Any, line: int, mask: int, filled: int, now: int) -> None:
    """Store sectors of a line, where none of the last stores that wait has them.

    `filled`: bytes of each. Those that are not whole when they go take the time of a sector more.
    """
    new, bytes_ = mask, filled * count_sectors(mask)
    for place in range(int(machine[_STORE_JOINS])):
        if state.joining[place, 0] == line:
            new = mask & ~state.joining[place, 1]
            state.joining[place, 1] |= mask
            state.joining[place, 2] += bytes_
            break
    else:
        place = state.joins % int(machine[_STORE_JOINS])
        sectors = count_sectors(state.joining[place, 1])
        if state.joining[place, 0] >= 0 and state.joining[place, 2] < SECTOR * sectors:
            _goes_in_part(state, machine, sectors, now)
        state.joining[place, 0], state.joining[place, 1] = line, mask
        state.joining[place, 2] = bytes_
        state.joins += 1
    if not new:
        return
    # DRAM gets a sector once, however often it is stored while the L2 has it.
    fresh = new & ~touch(state, machine, line, new, True)
    is_whole, once = filled >= SECTOR, count_sectors(fresh)
    sectors, met = count_sectors(new), 0.0
    if not is_whole and machine[_STORE_HOT] > 0:
        met = ask(state, machine, OF_PARTS, sectors * machine[_STORE_HOT], 0.0, now)
    away = spread_over(state, once, machine[_DRAM_STORED])
    to_l2(state, machine, sectors, away, now, True, met, machine[_STORED_TAKEN])


@jit()
def _goes_in_part(state: Any, machine: Any, sectors: int, now: int) -> None:
    """Take the time of a sector more for so many of a line that are not whole."""
    held = max(SECTOR * (sectors + 1) / machine[_STORE_RATE], machine[_STORE_REQUEST])
    more = max(held - _store_cycles(machine, sectors), 0.0)
    hold(state, machine, more, now)
    depart(state, machine, more, now)


@jit()
def load_local(state: Any, machine: Any, words: int, lines: int, sectors: int, now: int) -> int:
    """Load local memory; when what L1 lacks is there.

    `words`: of each lane; `lines` and `sectors`: of each of these words. L1 holds all that lanes
    with one index load, or nothing of it.
    """
    several = lines > 1
    state.local_rest += (words * lines if several else 1) * machine[_LOCAL_MISSED]
    missing = int(state.local_rest)
    state.local_rest -= missing
    there = now
    for line in range(missing * (1 if several else words)):
        each = sectors // lines + (line % lines < sectors % lines)
        share, rate = machine[_LOCAL_FAR], machine[_L2_RATE]
        there = max(there, from_l2(state, machine, each, machine[_REQUEST], share, rate, now))
    return int(there)


@jit()
def store_local(
    state: Any, machine: Any, lines: int, sectors: int, is_whole: bool, now: int
) -> None:
    """Store sectors of local memory that lie in so many lines (h100_local_memory.csv).

    The slowest SM is slower by these than by other stores (h100_local_sweeps.csv).
    """
    share, more = machine[_LOCAL_STORED], machine[_LOCAL_LAST] - 1
    for line in range(lines):
        each = sectors // lines + (line < sectors % lines)
        busy = max(state.free[OF_STORES], now - state.ahead[OF_STORES])
        to_l2(state, machine, each, spread_over(state, each, share), now)
        if not is_whole:
            _goes_in_part(state, machine, each, now)
        late = more * max(state.free[OF_STORES] - busy, 0.0)
        state.free[OF_STORES] += late
        depart(state, machine, late, now)


@jit()
def _store_cycles(machine: Any, sectors: int) -> float:
    """Return the cycles for which the way of stores is held by so many whole sectors of a line."""
    return float(max(SECTOR * sectors / machine[_STORE_RATE], machine[_STORE_LINE]))


@jit()
def _goes(state: Any, sectors: int, there: float) -> None:
    """Say when sectors of a store or an atomic are there: the last ones stand in that order."""
    for _ in range(sectors):
        place = state.gone
        while place > state.gone - MOST_GONE + 1 and state.gone_at[(place - 1) % MOST_GONE] > there:
            state.gone_at[place % MOST_GONE] = state.gone_at[(place - 1) % MOST_GONE]
            place -= 1
        state.gone_at[place % MOST_GONE] = there
        state.gone += 1


@jit()
def to_l2(
    state: Any, machine: Any, sectors: int, away: int, now: int, of_warp: bool = True,
    met: float = 0.0, taken: float = 1.0,
) -> int:  # fmt: skip
    """Store sectors to the L2; when they are there.

    `away`: as many as DRAM takes for them; `of_warp`: else TMA stores them, ahead; `met`: when the
    L2 has done those that they meet; `taken`: DRAM's time for one, beside that for one of a stream.
    """
    state.counts[5] += sectors
    state.moved += sectors
    cycles = _store_cycles(machine, sectors)
    part = min(1.0, machine[_STORE_RATE] / machine[_STORE_ALONE])
    there = ask(state, machine, OF_STORES, cycles, 0.0, now, -1, part) + machine[_L2]
    if of_warp:
        held = max(cycles, 32 * away * taken / machine[_DRAM_RATE])
        _goes(state, sectors, max(depart(state, machine, held, now, part), met))
    if away:
        there = max(there, _drive_out(state, machine, away, taken, now))
    state.stored = max(state.stored, until(state, OF_STORES), met)
    return int(max(there, met))


@jit()
def _drive_out(state: Any, machine: Any, sectors: int, taken: float, now: int) -> float:
    """Let DRAM take sectors that are driven out of the L2; when it has them."""
    cycles = 32 * sectors * taken / machine[_DRAM_RATE]
    far = ask(state, machine, OF_DRAM, cycles, machine[_DRAM_WAIT], now)
    # They go there before more is stored.
    state.free[OF_STORES] = max(state.free[OF_STORES], until(state, OF_DRAM))
    return float(far + machine[_DRAM])


@jit()
def _atomic(
    state: Any, machine: Any, one: Any, sectors: int, fresh: int, filled: int, now: int
) -> int:
    """Ask L2 to change sectors of a line; when the old values are there.

    `fresh`: those that the block changes first, of which DRAM brings and takes a share. `filled`:
    bytes of each. They take the way of stores: a packet for each sector and one before them, or one
    for a single word. Those that give the old value take longer, longer still where they compare;
    so do doubles that fill sectors, and not four singles of a lane (h100_atomic_sweeps.csv). The L2
    looks them up as it does loads (h100_atomic_lines.csv, h100_atomics_beside.csv). Those that meet
    in few words wait for each other there, and others for them (h200_skewed_rows.csv). Loads do
    not.
    """
    state.counts[5] += sectors
    is_word = sectors == 1 and filled <= one.word
    way = machine[_ATOM_PACKET] * (1 if is_word else 1 + sectors)
    is_whole = filled > SECTOR // 2
    if one.write >= 0:
        more = 1.5 if one.compares and not is_word else 1.0
        way = max(way, machine[_ATOM_GIVEN] * (sectors + 0.5 * is_whole) * more)
    elif is_whole and one.of_doubles:
        way = max(way, machine[_ATOM_GIVEN] * sectors)
    there = ask(state, machine, OF_STORES, way, 0.0, now)
    depart(state, machine, way, now)
    asked = machine[_ATOM_ASKED] + (sectors - 1) * machine[_ATOM_MORE]
    there = max(there, ask(state, machine, OF_L2, asked, 0.0, now))
    hot = sectors * machine[_ATOM_HOT]
    if hot > 0:  # those for other places stand behind them
        hot = stand_behind(hot, max(way, asked), machine[_ATOM_POWER])
    there = max(there, ask(state, machine, OF_ATOMICS, hot, 0.0, now))
    state.free[OF_ATOMICS] = max(state.free[OF_ATOMICS], there)
    away = spread_over(state, fresh, machine[_ATOM_DRAM])
    if away:
        there = max(there, _drive_out(state, machine, away, machine[_ATOM_TAKEN], now))
    _goes(state, sectors, there)
    return int(there + machine[_ATOM_LATENCY])
