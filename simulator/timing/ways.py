"""Compiled: the SM's ways to the L2, and to DRAM behind it."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import PLACES

__all__ = ["OF_ATOMICS", "OF_DRAM", "OF_L2", "OF_PARTS", "OF_STORES", "ask", "depart", "hold"]

_MEMORY, _MOST_LOAD = NUMBERS.index("load_memory"), NUMBERS.index("load_most")
_WAIT_WRITTEN, _WRITTEN_LOAD = NUMBERS.index("dram_wait_written"), NUMBERS.index("dram_wait_load")
OF_L2, OF_STORES, OF_DRAM, OF_ATOMICS, OF_PARTS = range(PLACES)


@jit()
def ask(
    state: Any, machine: Any, place: int, cycles: float, wait: float, now: int, sent: int = -1
) -> float:
    """Ask a place for some cycles of its work; when it is done, but for the latency.

    The busier it was lately, the longer a request waits before: `wait` cycles where it is half
    busy, and more by how little time is free (gpu_check/data/h100_flight.csv).
    """
    begin = max(float(max(now, sent)), state.free[place])
    state.free[place] = begin + cycles
    if place == OF_STORES:
        state.way += cycles
    # TMA asks ahead, for when it comes to a copy: who asks after that is at no earlier time.
    at = max(float(now), state.load_at[place])
    past = min((at - state.load_at[place]) / machine[_MEMORY], 1.0)
    state.load[place] = state.load[place] * (1 - past) + cycles
    state.load_at[place] = at
    load = min(state.load[place] / machine[_MEMORY], machine[_MOST_LOAD])
    wait *= load / (1 - load)
    if place == OF_DRAM:  # reads wait longer among writes
        load = min(load, machine[_WRITTEN_LOAD])
        wait += machine[_WAIT_WRITTEN] * load / (1 - load)
    return float(max(begin, now + wait) + cycles)


@jit()
def hold(state: Any, cycles: float, now: int) -> None:
    """Keep the way on which stores go busy for some cycles."""
    state.free[OF_STORES] = max(state.free[OF_STORES], float(now)) + cycles
    state.way += cycles


@jit()
def depart(state: Any, cycles: float, now: int) -> float:
    """Let something of a warp go behind what the SM sent before; when it has left."""
    state.sent = max(state.sent, float(now)) + cycles
    return float(state.sent)
