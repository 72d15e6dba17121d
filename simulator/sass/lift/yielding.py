"""Lanes that give way: the helpers of control instructions in kernels that execute YIELD.

Found from what an H200 noted of random programs (tests/silicon/sass/turns.py), and named as in
US10067768:

- Where lanes part, the side with fewer goes first, of two alike the one that falls through. The
  other is deferred: it goes before lanes that have yielded, the last one deferred first.
- A YIELD lets the warp's other lanes go on. Lanes that have yielded take turns: the next lane by
  number, from the one that had a turn last, goes on with all that stand at its instruction.
- A barrier is *satisfied* if its lanes have all yielded or are blocked. Those that wait at it then
  take turns too, with those that have yielded. It clears when one of them has its turn, for its
  other lanes as well: they pass its BSYNC without a wait.
- Who yielded or was blocked before the last turn has his turn before those that did so since. They
  alone get past a barrier that the lanes that yield are not in.
- Once after each YIELD, lanes that come to a satisfied barrier pass it without a turn.

A barrier's lanes are those whose own word of its row has their own bit.
"""

from __future__ import annotations

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I1, I32, POINTER
from simulator.sass.lift.layout import (
    ALIVE,
    BARRIERS,
    DEFERRALS,
    MAY_PASS,
    NEXT_LANE,
    ROW,
    WAITED,
    State,
)
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
    order = at.load(warp, I32, DEFERRALS) + 1
    at.store(order, warp, DEFERRALS)
    ready, deferred = at.i32(int(State.READY)), at.i32(int(State.DEFERRED))
    fewer = taken.ones < others.ones
    subwarps.put(taken, there, fewer.choose(ready, deferred), order)
    subwarps.put(others, after, fewer.choose(deferred, ready), order)
    at.give()


@helper(_VOID, POINTER, I32, I32)
def add_to_barrier(at: Emitter) -> None:
    """BSSY: some lanes are in a convergence barrier, beside those that are in it still."""
    warp, taken, which = at.arguments
    _set_row(at, warp, which, _lanes(at, warp, which) | taken)
    at.give()


@helper(_VOID, POINTER, I32, I32, I32, I32)
def arrive(at: Emitter) -> None:
    """BSYNC of some lanes at the instruction `pc`; the others go on behind it."""
    warp, mask, taken, pc, which = at.arguments
    subwarps = Subwarps(at, warp)
    come = _lanes(at, warp, which) & taken
    subwarps.take(mask)
    subwarps.put(mask & ~come, pc + 1, State.READY, 0)
    with at.when(come == 0):
        at.give()
    subwarps.put(come, pc, State.AT_BSYNC, which)
    _set_waited(at, warp, come, False)
    call(at, "reconverge", warp, options=(1,))
    with at.when((_masks(subwarps, State.AT_BSYNC) & come) == 0):
        call(at, "defer_others", warp, come)
        at.give()
    with at.when(mask != come):
        at.give()
    passes = (at.load(warp, I32, MAY_PASS) != 0) & _none_ready(subwarps)
    with at.when(passes & ((_lanes(at, warp, which) & _moving(at, subwarps)) == 0)):
        at.store(at.i32(0), warp, MAY_PASS)
        _clear(at, subwarps, which, pc)
        at.give()
    call(at, "next_turn", warp, come, at.i32(0))
    at.give()


@helper(_VOID, POINTER, I32, I32, I32)
def give_way(at: Emitter) -> None:
    """YIELD of some lanes, which go on at `after` when they have a turn."""
    warp, mask, taken, after = at.arguments
    subwarps = Subwarps(at, warp)
    subwarps.take(mask)
    at.store(at.i32(1), warp, MAY_PASS)
    with at.when(~_none_ready(subwarps)):
        _set_waited(at, warp, _masks(subwarps, State.YIELDED), True)
    _set_waited(at, warp, taken, False)
    subwarps.put(mask & ~taken, after, State.READY, 0)
    subwarps.put(taken, after, State.YIELDED, 0)
    call(at, "next_turn", warp, taken, at.i32(1))
    at.give()


@helper(_VOID, POINTER, I32, I32)
def next_turn(at: Emitter) -> None:
    """Let the next lanes go on where none can: `those` just yielded, or came to a barrier."""
    warp, those, yields = at.arguments
    subwarps = Subwarps(at, warp)
    with at.when(subwarps.are(State.READY).ballot != 0):
        at.give()
    deferred = subwarps.are(State.DEFERRED)
    with at.when(deferred.ballot != 0):
        last = deferred.choose(subwarps.row(3), 0).reduced("umax")
        lane = (deferred & (subwarps.row(3) == last)).ballot.lowest
        _together(at, subwarps, deferred, subwarps.get(0, lane), 0)
        at.give()
    moving, waiting = _moving(at, subwarps), at.variable(at.i32(0))
    with at.loop(at.i64(16)) as barrier:
        lanes = _lanes(at, warp, barrier.resized(32))
        here = subwarps.are(State.AT_BSYNC) & (subwarps.row(3) == barrier.resized(32))
        these = here.choose(subwarps.row(1), 0).reduced("or") & ~those
        concerns = (yields == 0) | (lanes == 0) | ((lanes & those) != 0)
        these = concerns.choose(these, these & at.load(warp, I32, WAITED))
        with at.when((these != 0) & ((lanes & moving) == 0)):
            waiting.set(waiting.get() | these)
    all_these = waiting.get() | _masks(subwarps, State.YIELDED) & ~those
    before = all_these & at.load(warp, I32, WAITED)
    candidates = (before != 0).choose(before, all_these)
    with at.when(candidates == 0):
        call(at, "without_turn", warp)
        at.give()
    first = at.load(warp, I32, NEXT_LANE)
    behind = candidates & (at.i32(-1) << first)
    lane = (behind != 0).choose(behind, candidates).lowest
    at.store(lane + 1 & 31, warp, NEXT_LANE)
    _set_waited(at, warp, at.i32(-1), True)
    bit = (at.i32(1) << lane).spread()
    filed = ((subwarps.row(1) & bit) != 0) & (subwarps.row(2) != 0)
    under = filed.ballot.lowest
    pc = subwarps.get(0, under)
    with at.when(subwarps.get(2, under) == int(State.YIELDED)):
        _together(at, subwarps, subwarps.are(State.YIELDED), pc, 0)
        at.give()
    _clear(at, subwarps, subwarps.get(3, under), pc)
    at.give()


@helper(_VOID, POINTER)
def without_turn(at: Emitter) -> None:
    """Let lanes go on that just yielded; if there are none, clear a barrier for which all wait."""
    (warp,) = at.arguments
    subwarps = Subwarps(at, warp)
    yielded = subwarps.are(State.YIELDED)
    with at.when(yielded.ballot != 0):
        _together(at, subwarps, yielded, subwarps.get(0, yielded.ballot.lowest), 0)
        at.give()
    waiting = subwarps.are(State.AT_BSYNC)
    others = (subwarps.row(2) == 0) | waiting | subwarps.are(State.AT_WARPSYNC)
    with at.when((waiting.ballot == 0) | ((~others).ballot != 0)):
        at.give()
    moving = _moving(at, subwarps)
    with at.loop(at.i64(16)) as barrier:
        which = barrier.resized(32)
        here = (subwarps.are(State.AT_BSYNC) & (subwarps.row(3) == which)).ballot
        with at.when((here != 0) & ((_lanes(at, warp, which) & moving) == 0)):
            _clear(at, subwarps, which, subwarps.get(0, here.lowest))
            at.give()
    at.give()


@helper(_VOID, POINTER, I32)
def defer_others(at: Emitter) -> None:
    """Let only the lanes go on that stand with the first of some, of all that could."""
    warp, those = at.arguments
    subwarps = Subwarps(at, warp)
    bit = (those & (at.i32(0) - those)).spread()
    others = subwarps.are(State.READY) & ((subwarps.row(1) & bit) == 0)
    with at.bits_of(others.ballot) as lane:
        subwarps.set(2, lane, int(State.DEFERRED))
        subwarps.set(3, lane, 0)
    at.give()


@helper(I1, POINTER)
def wake(at: Emitter) -> None:
    """Let lanes go on that were deferred, else those whose turn it is; whether there were any."""
    (warp,) = at.arguments
    call(at, "next_turn", warp, at.i32(0), at.i32(0))
    at.give(Subwarps(at, warp).are(State.READY).ballot != 0)


@helper(_VOID, POINTER)
def let_in(at: Emitter) -> None:
    """Let lanes go on that were deferred, though the first still go: they may wait for these."""
    (warp,) = at.arguments
    subwarps = Subwarps(at, warp)
    with at.bits_of(subwarps.are(State.DEFERRED).ballot) as lane:
        subwarps.set(2, lane, int(State.READY))
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


def _moving(at: Emitter, subwarps: Subwarps) -> Value:
    """Return the lanes that keep a barrier from being satisfied: not yielded, blocked or gone."""
    moving = at.load(subwarps.warp, I32, ALIVE)
    for state in (State.YIELDED, State.AT_BSYNC, State.AT_WARPSYNC, State.AT_BARRIER):
        moving = moving & ~_masks(subwarps, state)
    return moving


def _clear(at: Emitter, subwarps: Subwarps, which: Value, pc: Value) -> None:
    """Clear a barrier: who waits for it at the instruction `pc` goes on."""
    waiting = subwarps.are(State.AT_BSYNC) & (subwarps.row(3) == which)
    _together(at, subwarps, waiting, pc, 1)
    _set_row(at, subwarps.warp, which, at.i32(0))


# ---- Subwarps. ---------------------------------------------------------------------------------
def _masks(subwarps: Subwarps, state: State) -> Value:
    """Return the lanes in a state."""
    return subwarps.are(state).choose(subwarps.row(1), 0).reduced("or")


def _none_ready(subwarps: Subwarps) -> Value:
    """Return whether no lanes can go on but those that yielded."""
    return (subwarps.are(State.READY) | subwarps.are(State.DEFERRED)).ballot == 0


def _set_waited(at: Emitter, warp: Value, lanes: Value, waited: bool) -> None:
    """Say of some lanes whether they have waited since before the last turn."""
    known = at.load(warp, I32, WAITED)
    at.store(known | lanes if waited else known & ~lanes, warp, WAITED)


def _together(at: Emitter, subwarps: Subwarps, those: Value, pc: Value, behind: int) -> None:
    """Let those subwarps go on together, so far `behind` it, that stand at one instruction."""
    here = those & (subwarps.row(0) == pc)
    mask = here.choose(subwarps.row(1), 0).reduced("or")
    with at.bits_of(here.ballot) as lane:
        subwarps.set(2, lane, 0)
    subwarps.put(mask, pc + behind, State.READY, 0)
