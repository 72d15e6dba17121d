"""Floats of 32 bits."""

from __future__ import annotations

from dataclasses import replace

from simulator.sass.lift.block import Block
from simulator.sass.lift.functions import FUNCTIONS
from simulator.sass.lift.helpers import call
from simulator.sass.lift.line import Condition, Line, SourceOperand, TargetOperand
from simulator.sass.lift.numbers import (
    NEAREST,
    ROUNDINGS,
    clamped,
    directed,
    from16,
    fused,
    rounding,
    sum_to_odd,
    to16,
)
from simulator.sass.lift.opcodes.comparisons import compare_floats, comparison, join_outcome
from simulator.sass.lift.operands import DecodeProblem, Number, Register
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


@lifts(
    "FADD", "FMUL", "FFMA", "UFADD", "UFMUL", "UFFMA",
    says="Arithmetic of 32 bits, in four roundings; FMUL scales, too (`.D2`, `.M4`, …).",
)  # fmt: skip
def _float(line: Line) -> Emit:
    name = line.name.removeprefix("U")
    line.only(*ROUNDINGS, *(_SCALES if name == "FMUL" else ()), "FTZ", "SAT")
    how, scale, saturates = rounding(line), _scale(line), line.has("SAT")
    target, inputs = line.target(), line.sources("float", 3 if name == "FFMA" else 2)

    def emit(block: Block) -> None:
        values = [block.floats(each) for each in inputs]
        block.write(target, _calculated(name, how, values, saturates, scale))

    return emit


# What FMUL and UFMUL multiply their product by: `0.5f * (a * b)` becomes FMUL.D2.
# Known by what ptxas 13.0 merges: a scaled product may saturate, but a saturated one is not scaled,
# so SAT comes last; FTZ is that of the outer product. Products of mul.rn, which may not be
# contracted, are not scaled: as if the results differed from those of two roundings.
# Assumed, as no chip was asked: the exact product is scaled and rounded once, in all four roundings
# (compilers scale to nearest only). Two differ only where a·b is subnormal or too large.
_SCALES = {"D8": 0.125, "D4": 0.25, "D2": 0.5, "M2": 2.0, "M4": 4.0, "M8": 8.0}


def _scale(line: Line) -> float:
    """Read a scale; 1 where there is none."""
    named = [_SCALES[each] for each in line.modifiers if each in _SCALES]
    if len(named) > 1:
        raise DecodeProblem(f"scales of {line.name}")
    return named[0] if named else 1.0


@lifts("FADD2", "FMUL2", "FFMA2", says="As FADD, FMUL and FFMA, of the two floats of a pair.")
def _two_floats(line: Line) -> Emit:
    line.only(*ROUNDINGS, "FTZ")
    name, how, target = line.name.removesuffix("2"), rounding(line), line.target(2)
    inputs = [_two_sources(line) for _ in range(3 if name == "FFMA" else 2)]

    def emit(block: Block) -> None:
        found = [
            _calculated(name, how, [block.floats(each[which]) for each in inputs])
            for which in range(2)
        ]
        for which, value in enumerate(found):
            block.write(target, value, which)

    return emit


def _two_sources(line: Line) -> tuple[SourceOperand, SourceOperand]:
    """Read the two floats of an operand, the lower first; an immediate is both."""
    if line.peek(Number):
        both = line.source("float")
        return both, both
    operand = line.take()
    if not isinstance(operand, Register) or operand.signs.half not in ("F32", *_ORDERS):
        raise DecodeProblem(f"operand {line.next} of {line.name}")
    if operand.signs.half == "F32":  # one float for both
        one = replace(operand.signs, half="")
        both = line.changed(line.named(operand, 1), one, "float")
        return both, both
    pair, signs = line.named(operand, 2), replace(operand.signs, half="")
    low, high = (
        line.changed(
            pair if pair.number < 0 else replace(pair, number=pair.number + word), signs, "float"
        )
        for word in _ORDERS[operand.signs.half]
    )
    return low, high


_ORDERS = {
    "F32x2.HI_LO": (0, 1),
    "F32x2.LO_HI": (1, 0),
    "F32x2.HI_HI": (1, 1),
    "F32x2.LO_LO": (0, 0),
}
"""Which words of a pair its lower and its upper float are; the upper is named first."""


def _calculated(
    name: str, how: int, values: list[Value], saturates: bool = False, scale: float = 1.0
) -> Value:
    """Return what FADD, FMUL or FFMA makes of its values, rounded; `scale`: of a product."""
    a, b, *added = values
    if how == NEAREST and not saturates and scale == 1:
        if added:
            return fused(a, b, added[0])
        return a + b if name == "FADD" else a * b
    # In float64, where products are exact; what is rounded once more.
    x, y = a.double, b.double
    if name == "FADD":
        found = sum_to_odd(x, y, how)
    else:
        found = sum_to_odd(x * y, added[0].double, how) if added else x * y * scale
    found = directed(found, how)
    return clamped(found) if saturates else found


@lifts("FMNMX", "UFMNMX", says="Minimum or maximum of two floats.")
def _fmnmx(line: Line) -> Emit:
    if line.has("XORSIGN"):
        return _least_size(line)
    return _least_of(line, 2)


def _least_size(line: Line) -> Emit:
    """XORSIGN: of two sizes; its sign is that of the product, but for what is not a number."""
    line.only("FTZ", "NAN", "XORSIGN")
    target, a, b = line.target(), line.source("float"), line.source("float")
    least, nan_wins = line.condition(), line.has("NAN")
    if not (a.absolute and b.absolute) or a.negative or b.negative:
        raise DecodeProblem("sign of FMNMX.XORSIGN")  # no compiler was seen to write it

    def emit(block: Block) -> None:
        found = _either(block, block.floats(a), block.floats(b), least, nan_wins)
        sign = (block.word(a, 0) ^ block.word(b, 0)) & 0x80000000
        block.write(target, found.as_float.is_nan.choose(found, found | sign))

    return emit


@lifts("FMNMX3", says="Minimum or maximum of three floats.")
def _fmnmx3(line: Line) -> Emit:
    return _least_of(line, 3)


def _least_of(line: Line, count: int) -> Emit:
    line.only("FTZ", "NAN")
    target, inputs = line.target(), [line.source("float") for _ in range(count)]
    least, nan_wins = line.condition(), line.has("NAN")

    def emit(block: Block) -> None:
        best, *others = (block.floats(each) for each in inputs)
        for other in others:
            best = _either(block, best, other, least, nan_wins).as_float
        block.write(target, best.as_bits)

    return emit


def _either(block: Block, f: Value, g: Value, least: Condition, nan_wins: bool) -> Value:
    """Return the bits of the least or the greatest of two floats."""
    f, g = block.at.alike(f, g)
    # -0 is less than +0.
    less = (f < g) | (f == g) & (f.as_bits > g.as_bits)
    found = (less ^ ~block.condition(least)).choose(f, g).as_bits
    if nan_wins:
        return (f.is_nan | g.is_nan).choose(0x7FFFFFFF, found)
    found = f.is_nan.choose(g.as_bits, g.is_nan.choose(f.as_bits, found))
    return (f.is_nan & g.is_nan).choose(0x7FFFFFFF, found)


@lifts("FSETP", "UFSETP", says="Compares floats.")
def _fsetp(line: Line) -> Emit:
    how, boolean = comparison(line, "FTZ")
    first, second = line.predicate_targets()
    a, b, others = line.source("float"), line.source("float"), line.condition()

    def emit(block: Block) -> None:
        found = compare_floats(block.floats(a), block.floats(b), how)
        join_outcome(block, boolean, found, others, first, second)

    return emit


@lifts("FSET", says="Compares floats into a register.")
def _fset(line: Line) -> Emit:
    how, boolean = comparison(line, "FTZ", "BF")
    target, a, b = line.target(), line.source("float"), line.source("float")
    if boolean:
        raise DecodeProblem("FSET with OR or XOR")
    others, yes = line.condition(), 0x3F800000 if line.has("BF") else -1

    def emit(block: Block) -> None:
        found = compare_floats(block.floats(a), block.floats(b), how) & block.condition(others)
        block.write(target, found.choose(block.at.i32(yes), 0))

    return emit


@lifts("FCHK", says="Whether a division needs its slow path.")
def _fchk(line: Line) -> Emit:
    line.only("DIVIDE")
    target = line.predicate_target()
    a, b = line.source("float"), line.source("float")

    def emit(block: Block) -> None:
        f, g = (block.read(each) >> 23 & 255 for each in (a, b))
        # Wrapping differences: a number is within a range where it is so far above its least.
        fine = (f - 25 < 255 - 25) & (g - 2 < 253 - 2) & (f - g + 124 < 126 + 124)
        block.write_condition(target, ~fine)

    return emit


# ---- Functions. --------------------------------------------------------------------------------
@lifts("MUFU", says="Reciprocal, root, exponential, logarithm, sine: correctly rounded here.")
def _mufu(line: Line) -> Emit:
    line.only(*FUNCTIONS, "RCP64H", "RSQ64H", "FTZ", "F16", "BF16")
    named = [each for each in line.modifiers if each not in ("FTZ", "F16", "BF16")]
    if len(named) != 1:
        raise DecodeProblem("modifiers of MUFU")
    target = line.target()
    if line.has("F16", "BF16"):
        return _of_half(line, target, FUNCTIONS.index(named[0]))
    is_high = named[0].endswith("64H")  # of a double's high word
    # An immediate is a double then, of which the instruction takes the high word.
    is_double = is_high and line.peek(Number)
    a = line.source("double" if is_double else "float")
    function = FUNCTIONS.index(named[0].removesuffix("64H"))

    def emit(block: Block) -> None:
        word = block.word(a, 1) if is_double else block.read(a)
        name = "high_word" if is_high else "function"
        found = call(block.at, name, word.spread(), options=(function,))
        block.write(target, found)

    return emit


def _of_half(line: Line, target: TargetOperand | None, function: int) -> Emit:
    """Apply a function to a float of 16 bits; it is rounded from float32."""
    part, is_bfloat = line.take_part("H0", "H1"), line.has("BF16")
    a = line.source("half")

    def emit(block: Block) -> None:
        word = (block.read(a) >> (16 if part == "H1" else 0)).spread()
        given = from16(word & 0xFFFF, is_bfloat).as_bits
        found = call(block.at, "function", given, options=(function,))
        block.write(target, to16(found.as_float, is_bfloat))

    return emit
