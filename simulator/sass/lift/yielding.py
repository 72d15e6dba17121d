"""Lanes that give way: the helpers of control instructions in kernels that execute YIELD.

Found from an H100's notes and counts (tests/silicon/sass/paths.py), and named as in US10067768:

- Where lanes part, the side with fewer goes first, of two alike the one that falls through.
- A YIELD lets the warp's other lanes go on first. If none can, the convergence barriers clear whose
  lanes all are blocked or have yielded, and that one of those at a BSYNC is in. So does the barrier
  of a BSYNC, if none but lanes that have yielded could go on.
- A barrier that clears is clear for its other lanes too: they pass its BSYNC without a wait.
- Lanes that have yielded go on last, and together where they stand at the same instruction.
- Where a barrier that was cleared so is set again, one YIELD that others wait for clears nothing.

A barrier's lanes are those whose own word of its row has their own bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I1, I32, POINTER
from simulator.sass.lift.layout import ALIVE, BARRIERS, CLEARED, ROW, SET_AGAIN, State
from simulator.sass.lift.spaces import WORDS
from simulator.sass.lift.subwarps import Subwarps
from simulator.sass.lift.values import Value

__all__: list[str] = []

_VOID = ir.VoidType()


@helper(_VOID, POINTER, I32, I32, I32, I32)
def split_fewer(at: Emitter) -> None:
    """Let some lanes go to one instruction, and the others to another: the fewer go first."""
    warp, mask, taken, there, after = at.arguments
    subwarps, others = Subwarps(at, warp), mask & ~taken
    subwarps.take(mask)
    ready, deferred = at.i32(int(State.READY)), at.i32(int(State.DEFERRED))
    fewer = taken.ones < others.ones
    subwarps.put(taken, there, fewer.choose(ready, deferred), 0)
    subwarps.put(others, after, fewer.choose(deferred, ready), 0)
    at.give()


@helper(_VOID, POINTER, I32, I32)
def add_to_barrier(at: Emitter) -> None:
    """BSSY: some lanes are in a convergence barrier, beside those that are in it still."""
    warp, taken, which = at.arguments
    lanes = _lanes(at, warp, which) | taken
    _set_row(at, warp, which, lanes)
    bit = at.i32(1) << which
    cleared = at.load(warp, I32, CLEARED)
    at.store(at.load(warp, I32, SET_AGAIN) | cleared & bit, warp, SET_AGAIN)
    at.store(cleared & ~bit, warp, CLEARED)
    at.give()


@helper(_VOID, POINTER, I32, I32, I32, I32)
def arrive(at: Emitter) -> None:
    """BSYNC of some lanes at the instruction `pc`; the others go on behind it."""
    warp, mask, taken, pc, which = at.arguments
    subwarps = Subwarps(at, warp)
    lanes = _lanes(at, warp, which)
    subwarps.take(mask)
    with at.when((lanes & taken) == 0):
        subwarps.put(mask, pc + 1, State.READY, 0)
        at.give()
    _set_row(at, warp, which, lanes | taken)
    subwarps.put(mask & ~taken, pc + 1, State.READY, 0)
    subwarps.put(taken, pc, State.AT_BSYNC, which)
    call(at, "reconverge", warp, options=(1,))
    with at.when(_none_ready(subwarps) & _may_clear(subwarps)):
        still = _is_clear(at, subwarps, _lanes(at, warp, which), _still(subwarps))
        with at.when(still):
            _clear(at, subwarps, which)
            _turn(at, subwarps, State.YIELDED, State.RESUMED)
    at.give()


@helper(_VOID, POINTER, I32, I32, I32)
def give_way(at: Emitter) -> None:
    """YIELD of some lanes, which go on at `after` when no others of the warp can."""
    warp, mask, taken, after = at.arguments
    subwarps = Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(mask & ~taken, after, State.READY, 0)
    subwarps.put(taken, after, State.YIELDED, 0)
    waiting = _masks(subwarps, State.AT_BSYNC)
    with at.when(~_none_ready(subwarps)):
        at.give()
    again = at.load(warp, I32, SET_AGAIN)
    resumed = subwarps.are(State.RESUMED).ballot
    with at.when((again != 0) & ((waiting != 0) | (resumed != 0))):
        at.store(again & (again - 1), warp, SET_AGAIN)
        at.give()
    with at.when(waiting == 0):
        at.give()
    still = _still(subwarps)
    freed = at.variable(at.bit(False))
    with at.loop(at.i64(16)) as barrier:
        which = barrier.resized(32)
        lanes = _lanes(at, warp, which)
        with at.when(((lanes & waiting) != 0) & _is_clear(at, subwarps, lanes, still)):
            here = subwarps.are(State.AT_BSYNC) & (subwarps.row(3) == which)
            freed.set(freed.get() | (here.ballot != 0))
            _clear(at, subwarps, which)
    with at.when(freed.get()):
        _turn(at, subwarps, State.YIELDED, State.RESUMED)
    at.give()


@helper(I1, POINTER)
def wake(at: Emitter) -> None:
    """Let lanes go on that came second, else those that yielded; whether there were any."""
    (warp,) = at.arguments
    subwarps = Subwarps(at, warp)
    with at.when(subwarps.are(State.READY).ballot != 0):
        at.give(at.bit(False))
    deferred = subwarps.are(State.DEFERRED)
    yielded = subwarps.are(State.YIELDED) | subwarps.are(State.RESUMED)
    these = (deferred.ballot != 0).choose(deferred.ballot, yielded.ballot)
    with _together(at, subwarps, these) as (mask, pc):
        subwarps.put(mask, pc, State.READY, 0)
    at.give(these != 0)


@helper(_VOID, POINTER)
def let_in(at: Emitter) -> None:
    """Let lanes go on that came second, though the first still go: they may wait for these."""
    (warp,) = at.arguments
    _turn(at, Subwarps(at, warp), State.DEFERRED, State.READY)
    at.give()


# ---- Barriers. ---------------------------------------------------------------------------------
def _row(which: Value) -> Value:
    return which.resized(64) * ROW + BARRIERS


def _lanes(at: Emitter, warp: Value, which: Value) -> Value:
    """Return the lanes in a barrier."""
    own = at.each([1 << lane for lane in range(32)])
    return ((at.load(warp, WORDS, _row(which)) & own) != 0).ballot


def _set_row(at: Emitter, warp: Value, which: Value, lanes: Value) -> None:
    """Set which lanes are in a barrier."""
    own = at.each([1 << lane for lane in range(32)])
    each = ((own & lanes.spread()) != 0).choose(lanes.spread(), 0)
    at.store(each, warp, _row(which))


def _is_clear(at: Emitter, subwarps: Subwarps, lanes: Value, still: Value) -> Value:
    """Return whether a barrier's lanes are all among those that are still."""
    return (lanes != 0) & ((lanes & at.load(subwarps.warp, I32, ALIVE) & ~still) == 0)


def _clear(at: Emitter, subwarps: Subwarps, which: Value) -> None:
    """Clear a barrier: who waits at it goes on."""
    waiting = subwarps.are(State.AT_BSYNC) & (subwarps.row(3) == which)
    with _together(at, subwarps, waiting.ballot) as (mask, pc):
        subwarps.put(mask, pc + 1, State.READY, 0)
    _set_row(at, subwarps.warp, which, at.i32(0))
    cleared = at.load(subwarps.warp, I32, CLEARED) | at.i32(1) << which
    at.store(cleared, subwarps.warp, CLEARED)


# ---- Subwarps. ---------------------------------------------------------------------------------
def _masks(subwarps: Subwarps, state: State) -> Value:
    """Return the lanes in a state."""
    return subwarps.are(state).choose(subwarps.row(1), 0).reduced("or")


def _still(subwarps: Subwarps) -> Value:
    """Return the lanes that are blocked or have yielded."""
    states = (State.AT_BSYNC, State.AT_WARPSYNC, State.AT_BARRIER, State.YIELDED)
    lanes = _masks(subwarps, states[0])
    for state in states[1:]:
        lanes = lanes | _masks(subwarps, state)
    return lanes


def _none_ready(subwarps: Subwarps) -> Value:
    """Return whether no lanes can go on but those that yielded."""
    return (subwarps.are(State.READY) | subwarps.are(State.DEFERRED)).ballot == 0


def _may_clear(subwarps: Subwarps) -> Value:
    """Return whether lanes have yielded, or all wait for one another."""
    states = subwarps.row(2)
    waits = (states == 0) | subwarps.are(State.AT_BSYNC) | subwarps.are(State.AT_WARPSYNC)
    return (subwarps.are(State.YIELDED).ballot != 0) | ((~waits).ballot == 0)


def _turn(at: Emitter, subwarps: Subwarps, old: State, new: State) -> None:
    """Put the subwarps in one state into another."""
    with at.bits_of(subwarps.are(old).ballot) as lane:
        subwarps.set(2, lane, int(new))


@contextmanager
def _together(at: Emitter, subwarps: Subwarps, these: Value) -> Iterator[tuple[Value, Value]]:
    """Take some subwarps, those at one instruction together: gives their lanes, and where."""
    left = at.variable(these)
    with at.forever() as done:
        with at.when(left.get() == 0):
            done()
        pc = subwarps.get(0, left.get().lowest)
        here = (subwarps.row(0) == pc).ballot & left.get()
        own = at.each([1 << lane for lane in range(32)])
        mask = ((own & here.spread()) != 0).choose(subwarps.row(1), 0).reduced("or")
        with at.bits_of(here) as lane:
            subwarps.set(2, lane, 0)
        left.set(left.get() & ~here)
        yield mask, pc
