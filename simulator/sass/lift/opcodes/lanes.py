"""Between the lanes of a warp: shuffles, votes, reductions."""

from __future__ import annotations

import simulator.sass.lift.lanes  # noqa: F401  the helpers
from simulator.sass.lift.block import Block
from simulator.sass.lift.helpers import call
from simulator.sass.lift.kinds import LANES
from simulator.sass.lift.line import Line
from simulator.sass.lift.opcodes.bits import fixed
from simulator.sass.lift.operands import DecodeProblem, Predicate, Register
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


# ---- Shuffles. ---------------------------------------------------------------------------------
_SHUFFLES = ("IDX", "UP", "DOWN", "BFLY")


@lifts("SHFL", says="Reads a register of another lane.")
def _shfl(line: Line) -> Emit:
    line.only(*_SHUFFLES)
    if len(line.modifiers) != 1:
        raise DecodeProblem("modifiers of SHFL")
    how = line.modifiers[0]
    found, target = line.predicate_target(), line.target()
    a, b, c = line.sources("int", 3)
    by, limit = fixed(b), fixed(c)

    def emit(block: Block) -> None:
        at, words = block.at, block.read(a)
        if by is not None and limit is not None:
            lanes = [_known(how, lane, by & 31, limit) for lane in range(LANES)]
            others = [lane if other is None else other for lane, other in enumerate(lanes)]
            block.write(target, words.from_lanes(others))
            inside = sum(1 << lane for lane, other in enumerate(lanes) if other is not None)
            block.write_condition(found, at.i32(inside).by_lane)
            return
        other, is_there = _asked(at.each(range(LANES)), how, block.read(b) & 31, block.read(c))
        block.write(target, call(at, "from_lanes", words.spread(), other))
        block.write_condition(found, is_there)

    return emit


def _known(how: str, lane: int, by: int, limit: int) -> int | None:
    """Return the lane that a lane asks; None: it is outside of its segment."""
    segment = limit >> 8 & 31
    least = lane & segment
    most = least | limit & 31 & ~segment
    if how == "UP":
        return lane - by if lane - by >= most else None
    other = least | by & ~segment if how == "IDX" else lane + by if how == "DOWN" else lane ^ by
    return other if other <= most else None


def _asked(lane: Value, how: str, by: Value, limit: Value) -> tuple[Value, Value]:
    """Return the lane that each asks, and whether it is in its segment; else it asks itself."""
    segment = limit >> 8 & 31
    least = lane & segment
    most = least | limit & 31 & ~segment
    if how == "UP":
        other = lane - by
        inside = other.compare(">=", most, signed=True)
    else:
        other = lane ^ by
        if how != "BFLY":
            other = lane + by if how == "DOWN" else least | by & ~segment
        inside = other <= most
    return inside.choose(other, lane), inside


# ---- Votes. ------------------------------------------------------------------------------------
@lifts("VOTE", "VOTEU", says="Ballot, any, all.")
def _vote(line: Line) -> Emit:
    line.only("ANY", "ALL", "EQ")
    target = line.target() if line.peek(Register) else None
    found, asked = line.predicate_target(), line.condition()

    def emit(block: Block) -> None:
        lanes = block.taken
        ballot = block.condition(asked).ballot & lanes
        answer = ballot == lanes if line.has("ALL", "EQ") else ballot != 0
        if line.has("EQ"):
            answer = answer | (ballot == 0)
        if line.name == "VOTEU":
            with block.once():
                block.write(target, ballot)
                block.write_condition(found, answer)
        else:
            block.write(target, ballot)
            block.write_condition(found, answer)

    return emit


@lifts("ELECT", says="Chooses one lane of the warp.")
def _elect(line: Line) -> Emit:
    line.only()
    found, target = line.predicate_target(), line.target()
    line.condition()

    def emit(block: Block) -> None:
        first = block.taken.lowest
        block.write_condition(found, block.at.each(range(LANES)) == first)
        with block.once():
            block.write(target, first)

    return emit


# ---- Reductions. -------------------------------------------------------------------------------
_REDUCTIONS = {
    "SUM": ("add", 0), "AND": ("and", -1), "OR": ("or", 0), "XOR": ("xor", 0),
    "MIN": ("umin", -1), "MAX": ("umax", 0), "MIN.S32": ("smin", 2**31 - 1),
    "MAX.S32": ("smax", -(2**31)),
}  # fmt: skip
"""LLVM's name, and what a lane that takes no part adds."""


@lifts("REDUX", says="Reduces a register over the warp.")
def _redux(line: Line) -> Emit:
    line.only("SUM", "AND", "OR", "XOR", "MIN", "MAX", "S32")
    named = [each for each in line.modifiers if each != "S32"]
    if len(named) > 1:
        raise DecodeProblem("modifiers of REDUX")
    name = named[0] if named else "AND"
    how, nothing = _REDUCTIONS[f"{name}.S32" if f"{name}.S32" in _REDUCTIONS and line.has("S32")
                               else name]  # fmt: skip
    target, a = line.target(), line.source()
    if target is None:
        raise DecodeProblem("destination of REDUX")

    def emit(block: Block) -> None:
        words = block.read(a).spread()
        if block.active is not None:
            words = block.active.choose(words, nothing)
        with block.once():
            block.write(target, words.reduced(how))

    return emit


@lifts("CREDUX", says="Minimum or maximum of a float, or of an integer, over the warp.")
def _credux(line: Line) -> Emit:
    """As `redux.sync.max.f32` of PTX: not-a-numbers lose, or win with NAN; -0 is below 0."""
    if not line.has("F32"):
        return _redux(line)
    line.only("MIN", "MAX", "MINABS", "MAXABS", "F32", "NAN")
    greatest, of_sizes = line.has("MAX", "MAXABS"), line.has("MINABS", "MAXABS")
    if greatest == line.has("MIN", "MINABS"):
        raise DecodeProblem("modifiers of CREDUX")
    how, nothing = _REDUCTIONS["MAX.S32" if greatest else "MIN.S32"]
    target, a = line.target(), line.source()

    def emit(block: Block) -> None:
        words = block.read(a).spread()
        if of_sizes:
            words = words & 0x7FFFFFFF
        odd = nothing ^ 0xFFFFFFFF if line.has("NAN") else nothing
        keys = ((words & 0x7FFFFFFF) > _INFINITY).choose(odd, _by_order(words))
        if block.active is not None:
            keys = block.active.choose(keys, nothing)
        found = _by_order(keys.reduced(how))
        is_number = (found & 0x7FFFFFFF) <= _INFINITY
        with block.once():
            block.write(target, is_number.choose(found, 0x7FFFFFFF))

    return emit


_INFINITY = 0x7F800000


def _by_order(bits: Value) -> Value:
    """Return floats' bits as integers of the same order, or back."""
    return bits ^ (bits.shift_signed(31) & 0x7FFFFFFF)


@lifts("MATCH", says="Finds the lanes with the same value.")
def _match(line: Line) -> Emit:
    line.only("ANY", "ALL", "U64")
    found = line.predicate_target() if line.peek(Predicate) else None
    target = line.target()
    a = line.source(words=2 if line.has("U64") else 1)

    def emit(block: Block) -> None:
        low = block.read(a).spread()
        high = block.word(a, 1).spread() if line.has("U64") else low
        same = block.help("alike", low, high, block.at.i64(block.number))
        lanes = block.taken
        whole = (same.lane(lanes.lowest & 31) == lanes).spread()
        if line.has("ALL"):
            same = whole.choose(same, 0)
        block.write(target, same)
        block.write_condition(found, whole)

    return emit
