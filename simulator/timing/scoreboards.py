"""Compiled: when a warp may issue: scoreboards, and groups of copies and products."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.state import GROUPS, NEVER, Kind, Stall

__all__ = ["evaluate", "settle"]

_COPIES_WAIT, _PRODUCTS_WAIT = int(Kind.COPIES_WAIT), int(Kind.PRODUCTS_WAIT)
_EXIT, _FENCE = int(Kind.EXIT), int(Kind.FENCE)
_WAIT, _LONG, _BARRIER = int(Stall.WAIT), int(Stall.LONG_SCOREBOARD), int(Stall.BARRIER)
_NO_INSTRUCTION, _MEMBAR = int(Stall.NO_INSTRUCTION), int(Stall.MEMBAR)
_DRAIN = int(Stall.DRAIN)


@jit()
def evaluate(code: Any, state: Any, warp: int) -> None:
    """Say when a warp may issue its next instruction, as far as it is known."""
    number = state.instruction[warp]
    ready = state.ready[warp]
    best, why = ready, _WAIT
    if not (state.defers[warp] and code[number].passes):
        if state.arrived_at[warp] >= 0:
            state.next[warp], state.why[warp] = NEVER, _BARRIER
            return
        if state.opens[warp] > best:
            best, why = state.opens[warp], _BARRIER
    if state.fetched[warp] > best:
        best, why = state.fetched[warp], _NO_INSTRUCTION
    if state.fenced[warp] > best:
        best, why = state.fenced[warp], _MEMBAR
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
    elif code[number].kind == _EXIT:
        if state.stores[warp] > 0:
            state.next[warp] = NEVER
            state.why[warp] = _DRAIN
            return
        if state.drained[warp] > best:
            best, why = state.drained[warp], _DRAIN
    elif code[number].kind == _FENCE:
        # Beyond its block others see its accesses: it waits for stores that are in a queue, and
        # for loads whose data are not there.
        if code[number].number and state.asked[warp] > 0:
            state.next[warp] = NEVER
            state.why[warp] = _MEMBAR
            return
    elif code[number].kind == _PRODUCTS_WAIT:
        left = state.products[warp] - code[number].number
        if left > 0 and state.product_time[warp, (left - 1) % GROUPS] > best:
            best, why = state.product_time[warp, (left - 1) % GROUPS], _BARRIER
    state.next[warp] = best
    state.why[warp] = why


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
        The cycle in which its operands are read; -1: it was said, or is not known.
    done
        The cycle in which its results are written; -1: it is not known.
    """
    sb = code[number].read
    if sb >= 0 and read >= 0:
        state.pending[warp, sb] = max(state.pending[warp, sb] - 1, 0)
        state.time[warp, sb] = max(state.time[warp, sb], read)
    sb = code[number].write
    if sb >= 0 and done >= 0:
        state.pending[warp, sb] = max(state.pending[warp, sb] - 1, 0)
        state.time[warp, sb] = max(state.time[warp, sb], done)
    if state.trace[warp] >= 0 and state.next[warp] >= NEVER:
        evaluate(code, state, warp)
        if state.next[warp] < NEVER:
            partition = state.partition[warp]
            if state.next[warp] < state.sleep[partition]:
                state.sleep[partition] = state.next[warp]
