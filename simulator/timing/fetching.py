"""Compiled: where a sub-partition's machine code comes from, and when it is there."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.state import CODE_LINE, CODE_LINES

__all__ = ["fetch"]

_HELD, _NEAR = NUMBERS.index("code_held"), NUMBERS.index("code_near")
_CODE_RATE, _FAR_RATE = NUMBERS.index("code_rate"), NUMBERS.index("code_far_rate")


@jit()
def fetch(state: Any, machine: Any, partition: int, line: int, now: int) -> int:
    """Fetch a line of machine code; when it is there.

    A cache is taken to hold the lines that were fetched last. The line behind the one before is
    fetched ahead. What runs for the first time is fetched ahead, too: that was not to be seen
    (gpu_check/data/h100_fetch.csv, cold).
    """
    line &= CODE_LINES - 1
    if state.fetches[partition] - state.fetch[partition, line] < machine[_HELD]:
        return now
    of_sm = state.fetches.shape[0] - 1
    is_new = state.fetch[of_sm, line] < 0
    if state.fetches[of_sm] - state.fetch[of_sm, line] >= machine[_NEAR]:
        there = _stream(
            state, of_sm, line, 0.0 if is_new else 16 * CODE_LINE / machine[_FAR_RATE], now
        )
        state.fetch_at[line] = there
    there = _stream(
        state, partition, line, 0.0 if is_new else 16 * CODE_LINE / machine[_CODE_RATE], now
    )
    return int(max(there, state.fetch_at[line]))


@jit()
def _stream(state: Any, cache: int, line: int, cycles: float, now: int) -> float:
    """Fetch a line into a cache; when it is there."""
    state.fetches[cache] += 1
    state.fetch[cache, line] = state.fetches[cache]
    earliest = now - cycles if line == state.fetch_line[cache] + 1 else float(now)
    state.fetch_line[cache] = line
    state.fetch_free[cache] = max(state.fetch_free[cache], earliest) + cycles
    return float(state.fetch_free[cache])
