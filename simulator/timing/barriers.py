"""Compiled: barriers of a block and of a cluster.

Behind BAR.SYNC.DEFER_BLOCKING a warp goes on with math, but for doubles, also of uniform registers,
until its next instruction is of another kind: an H100 lets it wait there
(gpu_check/data/h100_deferring.csv).
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.data_pipe import fence_off
from simulator.timing.machine import NUMBERS
from simulator.timing.scoreboards import evaluate
from simulator.timing.state import CLUSTER_BARRIER, Kind

__all__ = ["arrive", "open_barrier"]

_INTERVAL, _LATENCY = NUMBERS.index("barrier_interval"), NUMBERS.index("barrier_latency")
_CLUSTER_LATENCY = NUMBERS.index("cluster_latency")
_BARRIER = int(Kind.BARRIER)


@jit()
def arrive(
    code: Any, state: Any, machine: Any, name: int, warp: int, number: int, warps: int, now: int
) -> None:
    """Arrive at a barrier; open it where all have. `name`, if it is in registers: see layout.py."""
    slot = warp // warps
    barrier, needed = code[number].number, code[number].warps
    if name:
        barrier, needed = name - 1 & 15, name - 1 >> 4
    taken = max(state.barrier_free, float(now)) + machine[_INTERVAL]
    state.barrier_free = taken
    state.arrival[slot, barrier] = int(taken)
    state.arrived[slot, barrier] += 1
    if code[number].kind == _BARRIER:
        state.arrived_at[warp] = barrier
        state.defers[warp] = code[number].defers
    if state.arrived[slot, barrier] >= (needed if needed else state.alive[slot]):
        open_barrier(code, state, machine, slot, barrier, warps)


@jit()
def open_barrier(code: Any, state: Any, machine: Any, slot: int, barrier: int, warps: int) -> None:
    """Let those go on that wait at a barrier."""
    at = state.arrival[slot, barrier] + int(machine[_LATENCY])
    if barrier == CLUSTER_BARRIER:
        at += int(machine[_CLUSTER_LATENCY])
    state.arrived[slot, barrier] = 0
    fence_off(state)
    for warp in range(slot * warps, slot * warps + warps):
        if state.trace[warp] >= 0 and state.arrived_at[warp] == barrier:
            state.arrived_at[warp] = -1
            state.opens[warp] = at
            evaluate(code, state, warp)
            partition = state.partition[warp]
            state.sleep[partition] = min(state.sleep[partition], state.next[warp])
