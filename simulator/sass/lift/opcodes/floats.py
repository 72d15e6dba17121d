"""Floats of 32 bits."""

from __future__ import annotations

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Line
from simulator.sass.lift.opcodes.comparisons import compare_floats, comparison, join_outcome
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__ = ["NEAREST", "clamped", "directed", "fused", "rounding"]

ROUNDINGS = {"RN": 0, "RM": 1, "RP": 2, "RZ": 3}
NEAREST, DOWN, UP, TO_ZERO = range(4)


def rounding(line: Line) -> int:
    """Read a rounding."""
    named = [value for name, value in ROUNDINGS.items() if line.has(name)]
    return named[0] if named else NEAREST


def fused(a: Value, b: Value, c: Value) -> Value:
    """Give a·b + c, rounded once."""
    a, b = a.at.alike(a, b)
    a, c = a.at.alike(a, c)
    b, c = a.at.alike(b, c)
    return a.at.intrinsic("fma", a.type, a, b, c)


def directed(exact: Value, how: int) -> Value:
    """Round a float64 to float32 in one of four directions."""
    value = exact.single
    if how == NEAREST:
        return value
    bits, back = value.as_bits, value.double
    down = exact > 0 if how == TO_ZERO else exact.at.bit(how == DOWN)
    lower = (value > 0).choose(bits - 1, (value < 0).choose(bits + 1, 0x80000001))
    higher = (value > 0).choose(bits + 1, (value < 0).choose(bits - 1, 1))
    bits = (down & (back > exact)).choose(lower, bits)
    return (~down & (back < exact)).choose(higher, bits).as_float


def clamped(value: Value) -> Value:
    """Give the value within 0 and 1; 0 for what is not a number."""
    zero = value.at.constant(value.type, 0)
    return (value > 0).choose((value > 1).choose(1, value), zero)


@lifts("FADD", "FMUL", "FFMA", says="Arithmetic of 32 bits, in four roundings.")
def _float(line: Line) -> Emit:
    line.only(*ROUNDINGS, "FTZ", "SAT")
    how, saturates = rounding(line), line.has("SAT")
    target = line.target()
    inputs = line.sources("float", 3 if line.name == "FFMA" else 2)

    def calculated(values: list[Value]) -> Value:
        a, b = values[:2]
        if line.name == "FFMA":
            return fused(a, b, values[2])
        return a + b if line.name == "FADD" else a * b

    def emit(block: Block) -> None:
        values = [block.floats(each) for each in inputs]
        if how == NEAREST and not saturates:
            block.write(target, calculated(values))
            return
        found = directed(calculated([each.double for each in values]), how)
        block.write(target, clamped(found) if saturates else found)

    return emit


@lifts("FMNMX", says="Least or greatest of two floats.")
def _fmnmx(line: Line) -> Emit:
    line.only("FTZ", "NAN")
    target, a, b = line.target(), line.source("float"), line.source("float")
    least, nan_wins = line.condition(), line.has("NAN")

    def emit(block: Block) -> None:
        f, g = block.at.alike(block.floats(a), block.floats(b))
        # -0 is less than +0.
        less = (f < g) | (f == g) & (f.as_bits > g.as_bits)
        found = (less ^ ~block.condition(least)).choose(f, g).as_bits
        if nan_wins:
            found = (f.is_nan | g.is_nan).choose(0x7FFFFFFF, found)
        else:
            found = f.is_nan.choose(g.as_bits, g.is_nan.choose(f.as_bits, found))
            found = (f.is_nan & g.is_nan).choose(0x7FFFFFFF, found)
        block.write(target, found)

    return emit


@lifts("FSETP", says="Compares floats.")
def _fsetp(line: Line) -> Emit:
    how, boolean = comparison(line, "FTZ")
    first, second = line.predicate_targets()
    a, b, others = line.source("float"), line.source("float"), line.condition()

    def emit(block: Block) -> None:
        found = compare_floats(block.floats(a), block.floats(b), how)
        join_outcome(block, boolean, found, others, first, second)

    return emit
