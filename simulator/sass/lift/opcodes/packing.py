"""Two floats into a pair of 16 or 8 bits, pairs of 8 bits into halves, and tfloat32."""

from __future__ import annotations

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Line
from simulator.sass.lift.numbers import (
    NEAREST,
    TO_ZERO,
    directed16,
    from8,
    halves,
    packed,
    to8,
    to16,
    to_tf32,
)
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []

_EIGHT = ("E4M3", "E5M2")


@lifts(
    "F2FP",
    "UF2FP",
    says="Two floats to a pair of 16 or 8 bits; 8-bit floats to halves; a float to tfloat32.",
)
def _f2fp(line: Line) -> Emit:
    line.only(
        "F16", "BF16", "F32", "TF32", *_EIGHT, "PACK_AB", "PACK_AB_MERGE_C", "PACK_B", "UNPACK_B",
        "UNPACK_B_MERGE_C", "MERGE_C", "RELU", "SATFINITE", "RZ",
    )  # fmt: skip
    types = {each for each in line.modifiers if each in ("F16", "BF16", "F32", "TF32", *_EIGHT)}
    rest = {each for each in line.modifiers if each not in types and each != "RELU"}
    is_eight = len(types & set(_EIGHT)) == 1 and len(types) == 2
    # Without types, as for sm_80, they are half from float; BF16 alone is from float, too.
    is_pair = types in (set(), {"BF16"}, {"F16", "F32"}, {"BF16", "F32"})
    if is_pair and "PACK_AB" in rest and rest <= {"PACK_AB", "RZ", "SATFINITE"}:
        return _pair(line)
    if is_pair and rest in ({"MERGE_C"}, {"MERGE_C", "RZ"}, {"MERGE_C", "SATFINITE"}):
        return _low_half(line)
    if rest == {"PACK_AB_MERGE_C", "SATFINITE"} and is_eight and "F32" in types:
        return _bytes(line)
    if rest == {"UNPACK_B_MERGE_C", "SATFINITE"} and is_eight and "F16" in types:
        return _bytes_of_halves(line)
    if rest == {"UNPACK_B"} and is_eight and "F16" in types:
        return _halves_of_bytes(line)
    if rest in ({"PACK_B"}, {"PACK_B", "RZ"}) and types == {"TF32", "F32"}:
        return _tfloat(line)
    raise DecodeProblem(f"types of {line.instruction.opcode}")


def _limited(line: Line, value: Value) -> Value:
    """Return a value, or with RELU zero where it is below."""
    return (value <= 0).choose(0, value) if line.has("RELU") else value


def _pair(line: Line) -> Emit:
    target = line.target()
    high, low = line.source("float"), line.source("float")

    def emit(block: Block) -> None:
        found = [_sixteen(line, block.floats(each)) for each in (low, high)]
        block.write(target, packed(*found))

    return emit


def _low_half(line: Line) -> Emit:
    """Convert one float; beside a register that is zero, so is the half above."""
    target, a, beside = line.target(), line.source("float"), line.source()
    if not beside.is_zero:  # no compiler was seen to keep a half
        raise DecodeProblem("packing of F2FP")
    return lambda block: block.write(target, _sixteen(line, block.floats(a)))


def _sixteen(line: Line, value: Value) -> Value:
    """Round a float to 16 bits; SATFINITE: what is larger than the greatest becomes that."""
    value, is_bfloat = _limited(line, value), line.has("BF16")
    if line.has("RZ"):
        found = directed16(value.double, TO_ZERO, is_bfloat)
    else:
        found = to16(value, is_bfloat)
    if line.has("SATFINITE"):
        endless = 0x7F80 if is_bfloat else 0x7C00
        found = ((found & 0x7FFF) == endless).choose(found - 1, found)
    return found


def _bytes(line: Line) -> Emit:
    """Pack two floats of 8 bits; above them stand the low bits of a third register."""
    target = line.target()
    high, low, above = line.source("float"), line.source("float"), line.source()

    def emit(block: Block) -> None:
        h, f = (to8(_limited(line, block.floats(each)), line.has("E5M2")) for each in (high, low))
        block.write(target, block.read(above) << 16 | h << 8 | f)

    return emit


def _bytes_of_halves(line: Line) -> Emit:
    target, pair, above = line.target(), line.source("half"), line.source()

    def emit(block: Block) -> None:
        low, high = (
            to8(_limited(line, each), line.has("E5M2"))
            for each in halves(block.read(pair), is_bfloat=False)
        )
        block.write(target, block.read(above) << 16 | high << 8 | low)

    return emit


def _halves_of_bytes(line: Line) -> Emit:
    target = line.target()
    part = line.take_part("H1", "H1_H1")
    pair = line.source()

    def emit(block: Block) -> None:
        word = block.read(pair) >> (16 if part else 0)
        found = [from8(each, line.has("E5M2")) for each in (word, word >> 8)]
        if line.has("RELU"):
            found = [((each & 0x8000) != 0).choose(0, each) for each in found]
        block.write(target, packed(*found))

    return emit


def _tfloat(line: Line) -> Emit:
    target, source = line.target(), line.source("float")
    how = TO_ZERO if line.has("RZ") else NEAREST
    return lambda block: block.write(target, to_tf32(_limited(line, block.floats(source)), how))
