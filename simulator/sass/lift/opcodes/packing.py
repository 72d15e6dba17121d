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
        "UNPACK_B_MERGE_C", "RELU", "SATFINITE", "RZ",
    )  # fmt: skip
    types = {each for each in line.modifiers if each in ("F16", "BF16", "F32", "TF32", *_EIGHT)}
    rest = {each for each in line.modifiers if each not in types and each != "RELU"}
    is_eight = len(types & set(_EIGHT)) == 1 and len(types) == 2
    # Without types, as for sm_80, they are half from float.
    if rest in ({"PACK_AB"}, {"PACK_AB", "RZ"}) and types in (
        set(),
        {"F16", "F32"},
        {"BF16", "F32"},
    ):
        return _pair(line)
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
        values = [_limited(line, block.floats(each)) for each in (low, high)]
        is_bfloat = line.has("BF16")
        if line.has("RZ"):
            found = [directed16(each.double, TO_ZERO, is_bfloat) for each in values]
        else:
            found = [to16(each, is_bfloat) for each in values]
        block.write(target, packed(*found))

    return emit


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
