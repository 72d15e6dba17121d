"""Compiled: what a warp waits for behind a branch that is taken, and where its lanes meet."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS

__all__ = ["resolve"]

_BRANCH, _MEETS = NUMBERS.index("branch"), NUMBERS.index("meets")
_GIVES_WAY, _WAY_HELD = NUMBERS.index("gives_way"), NUMBERS.index("gives_way_held")
_COLLECTS = NUMBERS.index("collects")
_MEETS_OTHERS, _CONVERGES = NUMBERS.index("meets_others"), NUMBERS.index("converges")


@jit()
def resolve(code: Any, state: Any, machine: Any, warp: int, number: int, now: int) -> None:
    """Let a warp wait until it is known where it goes on behind an instruction.

    At a BSYNC its lanes have met, or others of it come next (gpu_check/data/h100_parted.csv).
    """
    after, ready = state.instruction[warp], state.ready[warp]
    if code[number].converges or code[number].gives_way:
        partition, gives_way = state.partition[warp], code[number].gives_way
        begin = max(now, state.converging[partition])
        state.converging[partition] = begin + int(machine[_WAY_HELD if gives_way else _CONVERGES])
        ready += begin - now
        if gives_way:
            ready += int(machine[_GIVES_WAY])
    if code[number].collects:
        ready += int(machine[_COLLECTS])
    if code[number].meets:
        left_a_loop = after == number and code[number].meets > 1
        have_met = after == number + 1 or left_a_loop
        ready += int(machine[_MEETS if have_met else _MEETS_OTHERS])
    elif after != number + 1:
        ready = max(ready, now + int(machine[_BRANCH]))
    state.resolving[warp] = ready - state.ready[warp]
    state.ready[warp] = ready
