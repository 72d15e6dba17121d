"""Compiled: the SM's ways to the L2, and to DRAM behind it."""

from __future__ import annotations

import math
from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import PLACES

__all__ = [
    "OF_ATOMICS",
    "OF_DRAM",
    "OF_L2",
    "OF_PARTS",
    "OF_SENT",
    "OF_STORES",
    "ask",
    "depart",
    "farther",
    "farthest",
    "hold",
    "serve",
    "stand_behind",
    "until",
]

_MEMORY, _MOST_LOAD = NUMBERS.index("load_memory"), NUMBERS.index("load_most")
_WAIT_WRITTEN, _WRITTEN_LOAD = NUMBERS.index("dram_wait_written"), NUMBERS.index("dram_wait_load")
_L2 = NUMBERS.index("l2_latency")
_L2_SPREAD, _DRAM_SPREAD = NUMBERS.index("l2_spread"), NUMBERS.index("dram_spread")
_DRAM_TAIL = NUMBERS.index("dram_tail")
_NEAR = 0.9
"""The part of all lines that lie evenly between the nearest and the farthest but for the tail."""
OF_L2, OF_STORES, OF_DRAM, OF_ATOMICS, OF_PARTS, OF_SENT = range(PLACES)


@jit()
def ask(
    state: Any, machine: Any, place: int, cycles: float, wait: float, now: int, sent: int = -1,
    alone: float = 1.0, uneven: float = 1.0,
) -> float:  # fmt: skip
    """Ask a place for some cycles of its work; when it is done, but for the latency.

    The busier it was lately, the longer a request waits before: `wait` cycles where it is half
    busy, and more by how little time is free (gpu_check/data/h100_flight.csv). `uneven`: what this
    one waits beside the mean one; `alone`: see `serve`.
    """
    done = serve(state, machine, place, cycles, float(max(now, sent)), alone)
    # TMA asks ahead, for when it comes to a copy: who asks after that is at no earlier time.
    at = max(float(now), state.load_at[place])
    memory = machine[_MEMORY] + state.spread[place]
    past = min((at - state.load_at[place]) / memory, 1.0)
    state.load[place] = state.load[place] * (1 - past) + cycles
    state.load_at[place] = at
    load = min(state.load[place] / memory, machine[_MOST_LOAD])
    wait *= load / (1 - load)
    if place == OF_DRAM:  # reads wait longer among writes
        load = min(load, machine[_WRITTEN_LOAD])
        wait += machine[_WAIT_WRITTEN] * load / (1 - load)
    return float(max(done, now + uneven * wait + alone * cycles))


@jit()
def serve(
    state: Any, machine: Any, place: int, cycles: float, begin: float, alone: float = 1.0
) -> float:
    """Let a place do some cycles of its work from `begin` on; when it is done.

    `cycles` are those of the SM's share, all SMs asking; where it asks alone, it takes the part
    `alone` of them. An SM that asks a little earlier than others is alone for so long, and then
    ends earlier by more. So SMs come apart, burst by burst, until each asks while most others do
    not (gpu_check/data/h100_rounds.csv). A burst ends where all was served, and nothing is asked
    for in the time that the L2 takes to answer. If SMs begin evenly, one after the other, the first
    has 1 - log(alone) times its share when the last one begins. So their distances grow by as much.
    """
    if begin > state.quick[place] + machine[_L2]:
        late = max(state.free[place] - state.quick[place], 0.0)
        state.spread[place] += min(-state.spread[place] * math.log(alone), late)
        state.ahead[place] = state.spread[place]
    ahead = state.ahead[place]
    state.free[place] = max(begin - ahead, state.free[place]) + cycles
    state.ahead[place] = max(min(ahead, begin - state.free[place]), 0.0)
    state.quick[place] = max(begin, state.quick[place]) + alone * cycles
    state.took[place] += cycles
    return float(until(state, place))


@jit()
def until(state: Any, place: int) -> float:
    """Return until when a place is busy."""
    return float(max(state.free[place], state.quick[place]))


@jit()
def hold(state: Any, machine: Any, cycles: float, now: int) -> None:
    """Keep the way on which stores go busy for some cycles."""
    serve(state, machine, OF_STORES, cycles, float(now))


@jit()
def depart(state: Any, machine: Any, cycles: float, now: int, alone: float = 1.0) -> float:
    """Let something of a warp go behind what the SM sent before; when it has left."""
    return float(serve(state, machine, OF_SENT, cycles, float(now), alone))


@jit()
def farther(machine: Any, is_dram: bool, drawn: float) -> float:
    """Return how much later than the mean line one comes; `drawn`: 0, the nearest, to 1.

    The last tenth of the lines of DRAM come late (gpu_check/data/h100_spread.csv).
    """
    spread, tail = _lies(machine, is_dram)
    mean = spread * _NEAR * (1 - _NEAR / 2) + tail * (1 - _NEAR) / 2
    late = max(drawn - _NEAR, 0.0) / (1 - _NEAR)
    return float(min(drawn, _NEAR) * spread + late * tail - mean)


@jit()
def farthest(machine: Any, is_dram: bool, lines: int) -> float:
    """Return how much later than the mean line the last of so many comes, on average."""
    spread, tail = _lies(machine, is_dram)
    late = tail / (1 - _NEAR)
    near, all_near = _NEAR**lines, lines / (lines + 1)
    found = spread * all_near * near * _NEAR + (spread - late) * _NEAR * (1 - near)
    found += late * all_near * (1 - near * _NEAR)
    return float(found + farther(machine, is_dram, 0.0))


@jit()
def stand_behind(met: float, own: float, power: float) -> float:
    """Return the cycles of what takes `met` where most meet, and `own` elsewhere, behind those.

    The lower the power, the more both count; 1: their sum.
    """
    most = max(met, own)
    return float(most * (1 + (min(met, own) / most) ** power) ** (1 / power))


@jit()
def _lies(machine: Any, is_dram: bool) -> tuple[float, float]:
    """Return how far the lines lie apart, but for the last tenth, and how far those do."""
    if is_dram:
        return machine[_DRAM_SPREAD], machine[_DRAM_TAIL]
    return machine[_L2_SPREAD], machine[_L2_SPREAD] * (1 - _NEAR)
