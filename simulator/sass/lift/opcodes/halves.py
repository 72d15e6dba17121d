"""Pairs of 16-bit floats: half, or bfloat16 (BF16_V2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Condition, Line, Named, SourceOperand
from simulator.sass.lift.numbers import (
    clamped,
    halves,
    packed,
    single_to_odd,
    sum_to_odd,
    to16,
)
from simulator.sass.lift.opcodes.comparisons import compare_floats, comparison, joined
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


@lifts("HADD2", "HMUL2", "HFMA2", says="Arithmetic on pairs of 16-bit floats.")
def _half(line: Line) -> Emit:
    line.only("MMA", "BF16_V2", "F32", "SAT", "RELU", "FTZ", "BF16")
    target = line.target()
    inputs = line.sources("half", 3 if line.name == "HFMA2" else 2)
    is_bfloat = line.has("BF16_V2")
    if line.name == "HFMA2" and not line.has("BF16_V2", "SAT", "RELU", "F32"):
        a, b, c = inputs
        if _is_zero(a) and _is_zero(b) and not c.changed:
            # -0·0 + c is c: how compilers load a constant.
            return lambda block: block.write(target, block.read(c))

    def calculated(values: list[Value]) -> Value:
        """Calculate in one half of the words; float32."""
        if line.name == "HADD2":
            found = values[0] + values[1]
        else:
            a, b, *more = (each.double for each in values)  # the product is exact in them
            found = sum_to_odd(a * b, more[0]) if more else a * b
            found = found.single if line.has("F32") else single_to_odd(found)
        if line.has("SAT"):
            found = clamped(found)
        if line.has("RELU"):
            found = (found <= 0).choose(0, found)
        return found

    def emit(block: Block) -> None:
        low, high = zip(*(halves(block.read(each), is_bfloat) for each in inputs), strict=True)
        found = calculated(list(low))
        if line.has("F32"):
            block.write(target, found)
            return
        parts = [to16(each, is_bfloat) for each in (found, calculated(list(high)))]
        block.write(target, packed(*parts))

    return emit


def _is_zero(source: SourceOperand) -> bool:
    """Whether it is RZ, whatever its sign."""
    return isinstance(source.place, Named) and source.place.number < 0


@lifts("HMNMX2", "VHMNMX", says="Minimum or maximum of two or three pairs of 16-bit floats.")
def _hmnmx2(line: Line) -> Emit:
    line.only("BF16_V2", "NAN", "FTZ", "XORSIGN")
    target, inputs = line.target(), line.sources("half", 3 if line.name == "VHMNMX" else 2)
    least, is_bfloat, of_sizes = line.condition(), line.has("BF16_V2"), line.has("XORSIGN")
    plain = len(inputs) == 2 and all(each == replace(each, **_SIZE) for each in inputs)
    if of_sizes and not plain:
        raise DecodeProblem(f"sign of {line.name}.XORSIGN")  # no compiler was seen to write it

    def emit(block: Block) -> None:
        parts = []
        words = [halves(block.read(each), is_bfloat) for each in inputs]
        for found, *others in zip(*words, strict=True):
            for other in others:
                found = _extreme(block, found, other, least, line.has("NAN"))
            parts.append(to16(found, is_bfloat))
        if of_sizes:  # its sign is that of the product, but for what is not a number
            a, b = inputs
            signs = block.word(a, 0) ^ block.word(b, 0)
            number = [(each & 0x7FFF) <= (0x7F80 if is_bfloat else 0x7C00) for each in parts]
            parts = [
                fine.choose(each | signs >> shift & 0x8000, each)
                for fine, each, shift in zip(number, parts, (0, 16), strict=True)
            ]
        block.write(target, packed(*parts))

    return emit


def _extreme(block: Block, f: Value, g: Value, least: Condition, keeps_nan: bool) -> Value:
    """Return the least or the greatest of two floats; of a number and none the number, or none."""
    f, g = block.at.alike(f, g)
    less = (f < g) | (f == g) & (f.as_bits > g.as_bits)  # -0 is less than +0
    found = (less ^ ~block.condition(least)).choose(f, g)
    if keeps_nan:
        return f.is_nan.choose(f, g.is_nan.choose(g, found))
    return f.is_nan.choose(g, g.is_nan.choose(f, found))


_SIZE: dict[str, Any] = {"absolute": True, "negative": False, "half": ""}


@lifts("HSETP2", says="Compares pairs of 16-bit floats.")
def _hsetp2(line: Line) -> Emit:
    both = line.modifiers.count("AND") == 2 or line.has("H_AND")
    line.modifiers = tuple(each for each in dict.fromkeys(line.modifiers) if each != "H_AND")
    how, boolean = comparison(line, "BF16_V2", "FTZ")
    first, second = line.predicate_targets()
    a, b, others = line.source("half"), line.source("half"), line.condition()

    def emit(block: Block) -> None:
        low, high = _compared(block, line, a, b, how)
        if both:
            low, high = low & high, ~(low & high)
        outcomes = [joined(block, boolean, each, others) for each in (low, high)]
        for target, found in zip((first, second), outcomes, strict=True):
            block.write_condition(target, found)

    return emit


@lifts("HSET2", says="Compares pairs of 16-bit floats into a register.")
def _hset2(line: Line) -> Emit:
    how, boolean = comparison(line, "BF16_V2", "FTZ", "BF")
    if boolean:
        raise DecodeProblem("HSET2 with OR or XOR")
    target, a, b = line.target(), line.source("half"), line.source("half")
    others, yes = line.condition(), 0xFFFF
    if line.has("BF"):
        yes = 0x3F80 if line.has("BF16_V2") else 0x3C00

    def emit(block: Block) -> None:
        parts = [
            (found & block.condition(others)).choose(block.at.i32(yes), 0)
            for found in _compared(block, line, a, b, how)
        ]
        block.write(target, packed(*parts))

    return emit


def _compared(
    block: Block, line: Line, a: SourceOperand, b: SourceOperand, how: int
) -> list[Value]:
    """Compare both halves, the low ones first."""
    words = block.at.alike(block.read(a), block.read(b))
    pairs = zip(*(halves(each, line.has("BF16_V2")) for each in words), strict=True)
    return [compare_floats(f, g, how) for f, g in pairs]
