"""Compiled: what goes on beside warps: phases of mbarriers, and what TMA copies."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.far import AHEAD, from_l2, to_l2
from simulator.timing.kept import spread_over
from simulator.timing.machine import NUMBERS
from simulator.timing.scoreboards import settle
from simulator.timing.state import NEVER
from simulator.timing.traces import SECTORS

__all__ = ["arrive", "ask_phase", "copy_tile", "expect", "next_event"]

_DRAM_STORED = NUMBERS.index("dram_stored")
_PHASE_LATENCY, _TMA_LATENCY = NUMBERS.index("phase_latency"), NUMBERS.index("tma_latency")
_COPY_RATE, _COPY_REQUEST = NUMBERS.index("tma_l2_rate"), NUMBERS.index("tma_request")
_TMA_RATE, _TMA_ROW = NUMBERS.index("tma_rate"), NUMBERS.index("tma_row")


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
def ask_phase(
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
def arrive(
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
def copy_tile(
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
            away = spread_over(state, sectors, machine[_DRAM_STORED])
            there = to_l2(state, machine, sectors, away, int(begin), False)
        else:
            rate, lines = machine[_COPY_RATE], max(rows, -(-sectors // SECTORS))
            asks = lines * machine[_COPY_REQUEST]
            there = from_l2(state, machine, sectors, asks, share, rate, int(begin), AHEAD)
        done = max(done, there)
    done += int(machine[_TMA_LATENCY])
    if is_store:
        state.copies[warp] = max(state.copies[warp], done)
    else:
        arrive(code, trace, state, machine, warp, event, done)
