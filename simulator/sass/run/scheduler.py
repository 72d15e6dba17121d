"""Which warp runs when: the loop around the compiled blocks of instructions.

Warps that stand at the same instruction run one after the other, from the least instruction on, so
that those behind catch up. The loop comes back to Python where the trace is full, the budget is
used up, or a block of instructions is not compiled yet. So it does after a fault, and when the
block is done.
"""

from __future__ import annotations

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I32, I64, POINTER
from simulator.sass.lift.layout import ALIVE, FAULTED, NUMBER, STAY, Fault, State, Status
from simulator.sass.lift.state import count, field, fill, note, pointer, record
from simulator.sass.lift.subwarps import Subwarps
from simulator.sass.lift.values import Value

__all__: list[str] = []

_OFTEN = 64  # choices, after which another subwarp has its turn
_SELDOM = 1 << 16  # and after which those have it, too, that were to go second


@helper(I64, POINTER)
def choose(at: Emitter) -> None:
    """Choose the instruction to run: the least; -1: no subwarp is ready.

    Now and then it is another subwarp's turn: one that waits in a loop for what the others do
    would starve them. `joined` becomes how many are ready.
    """
    (block,) = at.arguments
    warps, size = pointer(at, block, "warps"), field(at, block, "warp_bytes")
    number = field(at, block, "warp_count")
    count(at, block, "turn", 1)
    with at.when((field(at, block, "turn") & (_OFTEN - 1)) == 0, likely=False):
        start = field(at, block, "steps")
        with at.when((field(at, block, "turn") & (_SELDOM - 1)) == 0), at.loop(number) as w:
            call(at, "let_in", at.beside(warps, w * size))
        with at.loop(number * 32) as step:
            place = (start + step) % (number * 32)
            subwarps = Subwarps(at, at.beside(warps, (place >> 5) * size))
            lane = (place & 31).resized(32)
            with at.when(subwarps.get(2, lane) == int(State.READY)):
                fill(at, block, "steps", place + 1)
                fill(at, block, "joined", number * 32)  # not counted here
                at.give(subwarps.get(0, lane).resized(64))
    least, ready = at.variable(at.i32(-1)), at.variable(at.i32(0))
    with at.loop(number) as w:
        subwarps = Subwarps(at, at.beside(warps, w * size))
        with at.when(_must_wake(subwarps), likely=False):
            call(at, "wake", subwarps.warp)
        are = subwarps.are(State.READY)
        lowest = are.choose(subwarps.row(0), -1).reduced("umin")
        ready.set(ready.get() + are.ballot.ones)
        least.set((lowest < least.get()).choose(lowest, least.get()))
    fill(at, block, "joined", ready.get().resized(64))
    at.give(least.get().resized(64, signed=True))


def _must_wake(subwarps: Subwarps) -> Value:
    """Return whether a warp's lanes wait for none but those that were to go first."""
    later = subwarps.row(2) > int(State.SERVED)
    return (later.ballot != 0) & (subwarps.are(State.READY).ballot == 0)


@helper(I64, POINTER, I64)
def gather_group(at: Emitter) -> None:
    """List the group: of every warp the first subwarp that stands at an instruction; their number.

    An entry of `group` is 32 times the warp's number and the lane under which it is filed.
    """
    block, pc = at.arguments
    warps, size = pointer(at, block, "warps"), field(at, block, "warp_bytes")
    group = pointer(at, block, "group")
    found = at.variable(at.i64(0))
    with at.loop(field(at, block, "warp_count")) as w:
        subwarps = Subwarps(at, at.beside(warps, w * size))
        these = (subwarps.are(State.READY) & (subwarps.row(0) == pc.resized(32))).ballot
        with at.when(these != 0):
            at.store(w * 32 + these.lowest.resized(64), group, found.get() * 8)
            found.set(found.get() + 1)
    at.give(found.get())


@helper(I64, POINTER)
def run(at: Emitter) -> None:
    """Run the block; why it came back, a Status."""
    (block,) = at.arguments
    with at.forever():
        pc = at.variable(field(at, block, "resume"))
        with at.when(pc.get() == -1, likely=True):
            pc.set(call(at, "choose", block))
        fill(at, block, "resume", -1)
        with at.when(pc.get() == -1, likely=False), at.when(~call(at, "release", block)):
            at.give(call(at, "deadlock", block))
        with at.when(pc.get() != -1, likely=True):
            members = call(at, "gather_group", block, pc.get())
            with at.forever() as others:
                _ready(at, block, pc.get(), members)
                after = call(at, "run_group", block, pc.get(), members)
                with at.when(after == FAULTED, likely=False):
                    at.give(at.i64(int(Status.FAULT)))
                # All went the same way, and nobody else is ready: no choice to make.
                alone = field(at, block, "joined") == members
                with at.when((after == STAY) | ~alone):
                    others()
                pc.set(after)


def _ready(at: Emitter, block: Value, pc: Value, members: Value) -> None:
    """Come back to Python where something is missing for the group to run."""

    def back(status: Status, why: Value | int = 0) -> None:
        fill(at, block, "pc", pc)
        fill(at, block, "resume", pc)
        fill(at, block, "why", why)
        at.give(at.i64(int(status)))

    with at.when(pc >= field(at, block, "length"), likely=False):
        fill(at, block, "running", -1)
        fill(at, block, "pc", pc - 1)
        first = at.load(pointer(at, block, "group"), I64)
        record(at, block, Fault.BRANCH, first & -32, pc * 16)
        at.give(at.i64(int(Status.FAULT)))
    for name, is_masked in (("whole", 0), ("masked", 1)):
        table = pointer(at, block, name)
        missing = at.load(table, I64, pc * 8) == 0
        with at.when(missing, likely=False), at.when(_some(at, block, members, is_masked)):
            back(Status.COMPILE, is_masked)
    needed = at.load(pointer(at, block, "lengths"), I64, pc * 8) * members
    with at.when(needed > field(at, block, "budget"), likely=False):
        back(Status.PAUSE)
    rows = at.load(pointer(at, block, "sites"), I64, pc * 8) * members
    room = field(at, block, "trace_rows") - field(at, block, "traced")
    with at.when(rows > room, likely=False):
        back(Status.FLUSH)
    full = (rows + members) * 2 > field(at, block, "event_room") - field(at, block, "event_count")
    with at.when(full, likely=False):
        back(Status.FLUSH)


def _some(at: Emitter, block: Value, members: Value, is_masked: int) -> Value:
    """Return whether the group has a subwarp of that kind."""
    found = at.variable(at.bit(False))
    with at.loop(members) as place:
        _, _, mask = _member(at, block, place)
        whole = mask == 0xFFFFFFFF
        found.set(found.get() | (~whole if is_masked else whole))
    return found.get()


def _member(at: Emitter, block: Value, place: Value) -> tuple[Value, Value, Value]:
    """Return a member's warp, lane and mask."""
    entry = at.load(pointer(at, block, "group"), I64, place * 8)
    warp = at.beside(pointer(at, block, "warps"), (entry >> 5) * field(at, block, "warp_bytes"))
    lane = (entry & 31).resized(32)
    return warp, lane, Subwarps(at, warp).get(1, lane)


@helper(I64, POINTER, I64, I64)
def run_group(at: Emitter) -> None:
    """Run a block of instructions for the group; where all go on, STAY, or FAULTED."""
    block, pc, members = at.arguments
    length = at.load(pointer(at, block, "lengths"), I64, pc * 8)
    same = at.variable(at.i64(-3))
    signature = ir.FunctionType(I64, [POINTER, I32])
    with at.loop(members) as place:
        warp, lane, mask = _member(at, block, place)
        whole = mask == 0xFFFFFFFF
        table = whole.choose(field(at, block, "whole"), field(at, block, "masked"))
        address = at.load(at.pointer(table), I64, pc * 8)
        fill(at, block, "running", pc)
        fill(at, block, "lanes", mask.resized(64))
        number = at.load(warp, I64, NUMBER)
        note(at, block, number << 56 | pc << 32 | mask.resized(64) | (1 << 62))
        target = at.builder.inttoptr(address.ir, signature.as_pointer())
        after = Value(at, at.builder.call(target, [warp.ir, mask.ir]))
        with at.when(after == FAULTED, likely=False):
            at.give(after)
        counts = pointer(at, block, "counts")
        at.store(at.load(counts, I64, pc * 8) + 1, counts, pc * 8)
        count(at, block, "threads", mask.ones.resized(64) * length)
        count(at, block, "budget", 0 - length)
        with at.when(after != STAY):
            Subwarps(at, warp).set(0, lane, after.resized(32))
        first = same.get() == -3
        agree = first | (same.get() == after)
        same.set(agree.choose(after, STAY))
    at.give(same.get())


@helper(I64, POINTER)
def deadlock(at: Emitter) -> None:
    """Say how a block ended in which nothing is ready: done, or waiting for ever."""
    (block,) = at.arguments
    fill(at, block, "running", -1)
    warps, size = pointer(at, block, "warps"), field(at, block, "warp_bytes")
    status = at.variable(at.i64(int(Status.DONE)))
    with at.loop(field(at, block, "warp_count")) as w:
        subwarps = Subwarps(at, at.beside(warps, w * size))
        alive = at.load(subwarps.warp, I32, ALIVE) != 0
        with at.when(alive), at.bits_of((subwarps.row(2) != 0).ballot) as lane:
            # Those at a barrier have it behind them.
            behind = (subwarps.get(2, lane) == int(State.AT_BARRIER)).resized(64)
            fill(at, block, "pc", subwarps.get(0, lane).resized(64) - behind)
            record(at, block, Fault.DEADLOCK, w * 32 + lane.resized(64), at.i64(0))
            status.set(int(Status.FAULT))
    at.give(status.get())
