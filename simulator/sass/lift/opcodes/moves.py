"""Moves, choices and special registers."""

from __future__ import annotations

from contextlib import nullcontext

from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Condition, Line
from simulator.sass.lift.opcodes.pairs import choice_of_pairs, copy_of_pair
from simulator.sass.lift.operands import DecodeProblem, Number, Predicate, Word
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


@lifts("MOV", "UMOV", says="Copies 32 bits, or 64.")
def _mov(line: Line) -> Emit:
    if line.modifiers == ("64",):
        return copy_of_pair(line)
    line.only()
    target = line.target()
    operand = line.operands[line.next] if line.next < len(line.operands) else None
    is_float = isinstance(operand, Number) and isinstance(operand.value, float)
    a = line.source("float" if is_float else "int")
    if line.peek(Number) and line.immediate() != 0xF:  # `MOV R2, R3, 0xf`: a mask of bytes
        raise DecodeProblem("mask of MOV")
    return lambda block: block.write(target, block.read(a))


@lifts("SEL", "USEL", says="Chooses one of two, or of two pairs, by a predicate.")
def _sel(line: Line) -> Emit:
    if line.modifiers == ("64",):
        return choice_of_pairs(line)
    line.only()
    return _choice(line, "int")


@lifts("FSEL", "UFSEL", says="As SEL, for floats.")
def _fsel(line: Line) -> Emit:
    line.only("FTZ")
    return _choice(line, "float")


def _choice(line: Line, kind: str) -> Emit:
    target = line.target()
    a, b, condition = line.source(kind), line.source(kind), line.condition()

    def emit(block: Block) -> None:
        chosen = block.condition(condition).choose(block.read(a), block.read(b))
        block.write(target, chosen)

    return emit


# ---- Special registers. ------------------------------------------------------------------------
_ROWS = {"SR_TID.X": 0, "SR_TID.Y": 1, "SR_TID.Z": 2, "SR_TID": 3}
_BLOCK = {"SR_CTAID.X": "block_x", "SR_CTAID.Y": "block_y", "SR_CTAID.Z": "block_z",
          "SR_CgaCtaId": "rank", "SR_CgaSize": "blocks"}  # fmt: skip
_SAME = {
    "SRZ": 0, "SR_SWINHI": SHARED_WINDOW, "SR_LWINHI": LOCAL_WINDOW,
    "SR_VIRTUALSMID": 0, "SR_VIRTID": 0,
}  # fmt: skip
_BY_LANE = {
    "SR_LANEID": lambda lane: lane, "SR_EQMASK": lambda lane: 1 << lane,
    "SR_LTMASK": lambda lane: (1 << lane) - 1, "SR_LEMASK": lambda lane: (2 << lane) - 1,
    "SR_GTMASK": lambda lane: ~((2 << lane) - 1), "SR_GEMASK": lambda lane: ~((1 << lane) - 1),
}  # fmt: skip
_CLOCKS = ("SR_CLOCKLO", "SR_GLOBALTIMERLO", "SR_CLOCKHI", "SR_GLOBALTIMERHI")


def _special_value(block: Block, name: str) -> Value:
    if name in _ROWS:
        return block.special(_ROWS[name])
    if name in _CLOCKS:
        return (_clock(block) >> (32 if name.endswith("HI") else 0)).resized(32)
    if name in _BLOCK:
        return block.field(_BLOCK[name]).resized(32)
    if name in _BY_LANE:
        return block.at.each([_BY_LANE[name](lane) for lane in range(32)])
    return block.at.i32(_SAME[name])


@lifts("S2R", "S2UR", "CS2R", "CS2UR", says="Reads a special register.")
def _special(line: Line) -> Emit:
    line.only("32", "64")
    wide = line.name.startswith("CS2") and not line.has("32")
    target = line.target(2 if wide else 1)
    word = line.take()
    if not isinstance(word, Word):
        raise DecodeProblem(f"operand of {line.name}")
    name = word.text
    known = (*_ROWS, *_BLOCK, *_BY_LANE, *_SAME)
    if wide and name.endswith("HI") and name in _CLOCKS:
        raise DecodeProblem(f"width of {name}")
    if name not in _CLOCKS and (name not in known or (wide and name != "SRZ")):
        raise DecodeProblem(f"special register {name}")

    def emit(block: Block) -> None:
        if name in _CLOCKS and wide:
            with block.once() if line.writes_uniform else nullcontext():
                block.write_pair(target, _clock(block))
            return
        value = _special_value(block, name)
        if line.writes_uniform:
            block.write_first(target, value)
            if wide:
                with block.once():
                    block.write(target, block.at.i32(0), 1)
            return
        block.write(target, value)
        if wide:
            block.write(target, block.at.i32(0), 1)

    return emit


def _clock(block: Block) -> Value:
    """Return the instructions that threads have executed."""
    return block.field("threads") + block.mask.ones.resized(64) * block.steps


@lifts("R2UR", says="Copies from a lane to a uniform register, and says which lanes differ.")
def _r2ur(line: Line) -> Emit:
    line.only("OR", "BROADCAST")  # which only says that lanes may be missing
    differs = line.predicate_target() if line.peek(Predicate) else None
    target, a = line.target(), line.source()
    if line.has("OR") and differs is None:
        raise DecodeProblem("predicate of R2UR.OR")

    def emit(block: Block) -> None:
        word = block.read(a)
        first = word.lane(block.taken.lowest & 31)
        block.write_first(target, word)
        others = word != first
        if line.has("OR") and differs is not None:  # the next word of what lanes differ in
            others = others | block.condition(Condition(differs))
        block.write_condition(differs, others)

    return emit
