"""Lanes that part and meet: the helpers of control instructions.

A *subwarp* is a set of lanes with one program counter. It is filed under its lowest lane, in four
rows of its warp: program counter, mask, state, argument. Subwarps meet again where the compiler
says so (BSYNC, WARPSYNC) and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I1, I32, I64, POINTER, vector
from simulator.sass.lift.layout import ALIVE, BARRIERS, NUMBER, ROW, SUBWARPS, Fault, State
from simulator.sass.lift.spaces import WORDS
from simulator.sass.lift.state import context, count, field, fill, pointer, record
from simulator.sass.lift.values import Value

__all__ = ["Subwarps", "barrier_row"]

_VOID = ir.VoidType()


@dataclass(frozen=True)
class Subwarps:
    """The subwarps of a warp."""

    at: Emitter
    warp: Value

    def row(self, part: int) -> Value:
        """Return a part of all: 0 program counters, 1 masks, 2 states, 3 arguments."""
        return self.at.load(self.warp, WORDS, SUBWARPS + part * ROW)

    def are(self, state: State) -> Value:
        """Return a bit for each lane under which a subwarp in that state is filed."""
        return self.row(2) == int(state)

    def get(self, part: int, lane: Value) -> Value:
        """Read a part of the one that is filed under a lane."""
        return self.at.load(self.warp, I32, lane.resized(64) * 4 + SUBWARPS + part * ROW)

    def set(self, part: int, lane: Value, value: Value | int) -> None:
        """Write a part of the one that is filed under a lane."""
        given = value if isinstance(value, Value) else self.at.i32(value)
        self.at.store(given, self.warp, lane.resized(64) * 4 + SUBWARPS + part * ROW)

    def take(self, mask: Value) -> None:
        """Remove the one with these lanes."""
        self.set(2, mask.lowest, 0)

    def put(self, mask: Value, pc: Value, state: Value | int, argument: Value | int) -> None:
        """File one, where it has lanes."""
        with self.at.when(mask != 0):
            lane = mask.lowest
            for part, value in enumerate((pc, mask, state, argument)):
                self.set(part, lane, value)


def barrier_row(which: int) -> int:
    """Return the place of a convergence barrier in a warp's memory: each lane has its own copy."""
    return BARRIERS + which * ROW


@helper(_VOID, POINTER, I32, I32, I32, I32)
def split(at: Emitter) -> None:
    """Let some lanes go to one instruction, and the others to another."""
    warp, mask, taken, there, after = at.arguments
    subwarps = Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(taken, there, State.READY, 0)
    subwarps.put(mask & ~taken, after, State.READY, 0)
    at.give()


@helper(_VOID, POINTER, I32, I32, I32)
def leave(at: Emitter, clears: int = 0) -> None:
    """EXIT of some lanes; the others go on at `after`. `clears`: see `reconverge`."""
    warp, mask, taken, after = at.arguments
    subwarps = Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(mask & ~taken, after, State.READY, 0)
    at.store(at.load(warp, I32, ALIVE) & ~taken, warp, ALIVE)
    call(at, "reconverge", warp, options=(1,) if clears else ())
    if clears:
        call(at, "defer_others", warp, mask & ~taken)
    at.give()


@helper(_VOID, POINTER, I32, I32, I32, I32, I32)
def wait(at: Emitter) -> None:
    """BSYNC, WARPSYNC: some lanes wait in a state, with an argument, at the instruction `pc`."""
    warp, mask, taken, pc, state, argument = at.arguments
    subwarps = Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(mask & ~taken, pc + 1, State.READY, 0)
    subwarps.put(taken, pc, state, argument)
    call(at, "reconverge", warp)
    at.give()


@helper(_VOID, POINTER, I32, I32, I32, vector(I32))
def wait_for_own(at: Emitter) -> None:
    """WARPSYNC of some lanes at the instruction `pc`: each waits for the lanes that it names."""
    warp, mask, taken, pc, needed = at.arguments
    subwarps = Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(mask & ~taken, pc + 1, State.READY, 0)
    left = at.variable(taken)
    with at.forever() as done:
        with at.when(left.get() == 0):
            done()
        named = needed.lane(left.get().lowest)
        alike = (needed == named).ballot & left.get()
        subwarps.put(alike, pc, State.AT_WARPSYNC, named)
        left.set(left.get() & ~alike)
    call(at, "reconverge", warp)
    at.give()


@helper(_VOID, POINTER)
def reconverge(at: Emitter, clears: int = 0) -> None:
    """Let the waiting subwarps go on together whose others have all come.

    `clears`: a barrier is one for all of the warp's lanes in it, wherever they wait. Those that
    meet are in it no more.
    """
    (warp,) = at.arguments
    subwarps = Subwarps(at, warp)
    alive = at.load(warp, I32, ALIVE)
    again = at.variable(at.bit(True))
    with at.forever() as done:
        with at.when(~again.get()):
            done()
        again.set(0)
        waiting = (subwarps.are(State.AT_BSYNC) | subwarps.are(State.AT_WARPSYNC)).ballot
        with at.bits_of(waiting) as lane, at.when(~again.get()):
            _meet(at, subwarps, alive, lane, again, clears)
    at.give()


def _meet(  # type: ignore[no-untyped-def]
    at: Emitter, subwarps: Subwarps, alive: Value, lane: Value, again, clears: int
) -> None:
    """Release those that wait for what the subwarp under `lane` waits for, if all have come."""
    pc, state, which = (subwarps.get(part, lane) for part in (0, 2, 3))
    at_bsync = state == int(State.AT_BSYNC)
    # Recursion waits for the same barrier at the same instruction, but for other lanes.
    barrier = at_bsync.choose(which, 0).resized(64)
    held = at.load(subwarps.warp, WORDS, barrier * ROW + BARRIERS)
    meant = at_bsync.choose(held, subwarps.row(3))
    named = meant.lane(lane)
    same = (subwarps.row(2) == state) & (subwarps.row(3) == which) & (meant == named)
    here = same & (subwarps.row(0) == pc)
    there = same if clears else at_bsync.choose(here, same)
    come = there.choose(subwarps.row(1), 0).reduced("or")
    with at.when((named & alive & ~come) == 0):
        # At WARPSYNC the lanes may have come by several instructions: each goes its way.
        together = here.choose(subwarps.row(1), 0).reduced("or")
        with at.bits_of(there.ballot) as other:
            mask, after = subwarps.get(1, other), subwarps.get(0, other)
            subwarps.set(2, other, 0)
            with at.when(after != pc):
                subwarps.put(mask, after + 1, State.READY, 0)
        subwarps.put(together, pc + 1, State.READY, 0)
        if clears:
            with at.when(at_bsync):
                own = at.each([1 << lane for lane in range(32)])
                left = ((own & come.spread()) != 0).choose(0, held & ~come.spread())
                at.store(left, subwarps.warp, barrier * ROW + BARRIERS)
        again.set(1)


@helper(_VOID, POINTER, I32, I32, I32, I32, I32, I32, I32)
def block_barrier(at: Emitter, arrives: int, votes: int) -> None:
    """BAR: some lanes wait until the block's others have come; the others go on.

    `arrives`: BAR.ARV, which does not wait. `votes`: BAR.RED, with the lanes whose predicate holds.
    """
    warp, mask, taken, after, which, needed, yes, _ = at.arguments
    block, subwarps = context(at, warp), Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(mask & ~taken, after, State.READY, 0)
    which = which & 15
    if votes:
        count(at, block, "votes_yes", (yes & taken).ones.resized(64))
        count(at, block, "votes_no", (taken & ~yes).ones.resized(64))
    with at.when(needed != 0):
        at.store(needed.resized(64), pointer(at, block, "needed"), which.resized(64) * 8)
    if arrives:
        extra, place = pointer(at, block, "extra"), which.resized(64) * 8
        at.store(at.load(extra, I64, place) + 32, extra, place)
        subwarps.put(taken, after, State.READY, 0)
    else:
        subwarps.put(taken, after, State.AT_BARRIER, which)
    at.give()


@helper(I1, POINTER, I32, I32, I32, vector(I64))
def scatter_lanes(at: Emitter) -> None:
    """RET and BRX: each lane goes to its own address; False after a branch out of the kernel."""
    warp, mask, taken, after, addresses = at.arguments
    block, subwarps = context(at, warp), Subwarps(at, warp)
    subwarps.take(mask)
    subwarps.put(mask & ~taken, after, State.READY, 0)
    left = at.variable(taken)
    with at.forever() as done:
        with at.when(left.get() == 0):
            done()
        lane = left.get().lowest
        address = addresses.lane(lane)
        wrong = ((address & 15) != 0) | (address >= field(at, block, "length") * 16)
        with at.when(wrong):
            thread = at.load(warp, I64, NUMBER) * 32 + lane.resized(64)
            record(at, block, Fault.BRANCH, thread, address)
            at.give(at.bit(False))
        together = (addresses == address).ballot & left.get()
        subwarps.put(together, (address >> 4).resized(32), State.READY, 0)
        left.set(left.get() & ~together)
    at.give(at.bit(True))


@helper(I1, POINTER)
def release(at: Emitter) -> None:
    """Open the barriers of the block at which all have arrived; whether one was.

    The operand is the context.
    """
    (block,) = at.arguments
    warps, size = pointer(at, block, "warps"), field(at, block, "warp_bytes")
    number = field(at, block, "warp_count")
    total = at.variable(at.i64(0))
    with at.loop(number) as w:
        alive = at.load(at.beside(warps, w * size), I32, ALIVE)
        total.set(total.get() + alive.ones.resized(64))
    opened = at.variable(at.bit(False))
    with at.loop(at.i64(16)) as which:
        needed = at.load(pointer(at, block, "needed"), I64, which * 8)
        arrived, waiting = at.variable(at.i64(0)), at.variable(at.bit(False))
        with at.loop(number) as w:
            subwarps = Subwarps(at, at.beside(warps, w * size))
            these = subwarps.are(State.AT_BARRIER) & (subwarps.row(3) == which.resized(32))
            with at.when(these.ballot != 0):
                waiting.set(1)
                # A barrier with a count counts whole warps.
                threads = these.choose(subwarps.row(1).ones, 0).reduced("add")
                whole = these.ballot.ones * 32
                arrived.set(arrived.get() + (needed != 0).choose(whole, threads).resized(64))
        extra = at.load(pointer(at, block, "extra"), I64, which * 8)
        enough = arrived.get() + extra >= (needed != 0).choose(needed, total.get())
        with at.when(waiting.get() & enough):
            opened.set(1)
            count(at, block, "barriers_opened", 1)
            count(at, block, "moment", 1)
            fill(at, block, "opened_at", field(at, block, "moment"))
            at.store(at.i64(0), pointer(at, block, "extra"), which * 8)
            at.store(at.i64(0), pointer(at, block, "needed"), which * 8)
            # What they voted is latched: the first to go on may vote before the last has read.
            fill(at, block, "result_yes", field(at, block, "votes_yes"))
            fill(at, block, "result_no", field(at, block, "votes_no"))
            fill(at, block, "votes_yes", 0)
            fill(at, block, "votes_no", 0)
            with at.loop(number) as w:
                subwarps = Subwarps(at, at.beside(warps, w * size))
                these = subwarps.are(State.AT_BARRIER) & (subwarps.row(3) == which.resized(32))
                ready = these.choose(at.i32(int(State.READY)), subwarps.row(2))
                at.store(ready, subwarps.warp, SUBWARPS + 2 * ROW)
    at.give(opened.get())
