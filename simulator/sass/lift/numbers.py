"""Floats of 16 bits and of 8, roundings and the way between types, as values of LLVM IR.

Nothing here asks for instructions that only some processors have: 16-bit floats are converted with
integers, so results are the same everywhere. What is not a number becomes 0x7FFF in 16 bits, as on
the chip.
"""

from __future__ import annotations

from simulator.sass.lift.line import Line
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.values import Value

__all__ = [
    "DOWN",
    "NEAREST",
    "ROUNDINGS",
    "TO_ZERO",
    "UP",
    "clamped",
    "directed",
    "directed16",
    "from8",
    "from16",
    "fused",
    "halves",
    "packed",
    "rounded",
    "rounding",
    "single_to_odd",
    "sum_to_odd",
    "to8",
    "to16",
    "to_tf32",
]  # fmt: skip

NEAREST, DOWN, UP, TO_ZERO = range(4)
ROUNDINGS = {"RN": NEAREST, "RM": DOWN, "RP": UP, "RZ": TO_ZERO}
_TO_WHOLE = {NEAREST: "rint", DOWN: "floor", UP: "ceil", TO_ZERO: "trunc"}


def rounding(line: Line) -> int:
    """Read a rounding; to nearest where there is none."""
    named = [ROUNDINGS[each] for each in line.modifiers if each in ROUNDINGS]
    if len(named) > 1:
        raise DecodeProblem(f"roundings of {line.name}")
    return named[0] if named else NEAREST


def fused(a: Value, b: Value, c: Value) -> Value:
    """Give a·b + c, rounded once."""
    a, b = a.at.alike(a, b)
    a, c = a.at.alike(a, c)
    b, c = a.at.alike(b, c)
    return a.at.intrinsic("fma", a.type, a, b, c)


def clamped(value: Value) -> Value:
    """Give the value within 0 and 1; 0 for what is not a number."""
    zero = value.at.constant(value.type, 0)
    return (value > 0).choose((value > 1).choose(1, value), zero)


def sum_to_odd(a: Value, b: Value, how: int = NEAREST) -> Value:
    """Add float64 values; the sum rounds to a narrower float as the exact one does.

    A sum that is not exact gets an odd last bit (Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums", 2008), so no second rounding takes it for a tie. `how`: the direction
    in which it is rounded then; downward, a sum that is zero is -0 unless both are +0.
    """
    a, b = a.at.alike(a, b)
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)  # exact, by Knuth
    bits = total.as_bits
    grows = (error > 0) ^ (total < 0)
    odd = grows.choose(bits + 1, bits - 1)
    inexact = (error > 0) | (error < 0)
    bits = (inexact & ((bits & 1) == 0)).choose(odd, bits)
    if how == DOWN:
        sign = (a.as_bits | b.as_bits) & (1 << 63)
        bits = (total == 0).choose(sign, bits)
    return bits.as_float


def single_to_odd(exact: Value) -> Value:
    """Give a float64 as float32, whose last bit is odd where that is not exact."""
    value = directed(exact, TO_ZERO)
    back = value.double
    inexact = (back < exact) | (back > exact)
    return (value.as_bits | inexact.resized(32)).as_float


def rounded(value: Value, how: int) -> Value:
    """Give the next whole number in one of four directions, as a float."""
    return value.at.intrinsic(_TO_WHOLE[how], value.type, value)


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


# ---- Floats of 16 bits, each in a word. --------------------------------------------------------
def from16(bits: Value, is_bfloat: bool) -> Value:
    """Read the low 16 bits of words as half or bfloat16 floats; give float32."""
    if is_bfloat:
        return (bits << 16).as_float
    size = (bits & 0x7FFF) << 13
    endless = (bits & 0x7C00) == 0x7C00
    # The exponents' biases differ by 112; subnormal halves become normal so.
    value = endless.choose((size | 0x7F800000).as_float, size.as_float * 2.0**112)
    return (value.as_bits | (bits & 0x8000) << 16).as_float


def to16(value: Value, is_bfloat: bool) -> Value:
    """Round float32 to nearest 16-bit floats; give their bits, in words."""
    bits = value.as_bits
    size = bits & 0x7FFFFFFF
    if is_bfloat:
        found = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    else:
        normal = (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13
        # A unit of a subnormal half is one of a float32 between 0.5 and 1.
        small = (size.as_float + 0.5).as_bits - 0x3F000000
        found = (size < 0x38800000).choose(small, normal)
        found = (size >= 0x477FF000).choose(0x7C00, found) | bits >> 16 & 0x8000
    return (size > 0x7F800000).choose(0x7FFF, found)


def directed16(exact: Value, how: int, is_bfloat: bool) -> Value:
    """Round a float64 to 16 bits in one of four directions; give its bits, in words."""
    bits = to16(single_to_odd(exact), is_bfloat)
    if how == NEAREST:
        return bits
    back = from16(bits, is_bfloat).double
    down = exact > 0 if how == TO_ZERO else exact.at.bit(how == DOWN)
    is_zero, is_negative = (bits & 0x7FFF) == 0, (bits & 0x8000) != 0
    lower = is_zero.choose(0x8001, is_negative.choose(bits + 1, bits - 1))
    higher = is_zero.choose(1, is_negative.choose(bits - 1, bits + 1))
    bits = (down & (back > exact)).choose(lower, bits)
    return (~down & (back < exact)).choose(higher, bits)


def halves(word: Value, is_bfloat: bool) -> list[Value]:
    """Read both 16-bit floats of words, the low ones first; give float32."""
    if is_bfloat:
        return [(word << 16).as_float, (word & 0xFFFF0000).as_float]
    return [from16(word & 0xFFFF, False), from16(word >> 16, False)]


def packed(low: Value, high: Value) -> Value:
    """Give the bits of two 16-bit floats as one word."""
    return low | high << 16


# ---- Floats of 8 bits, each in a word, and of 19. ----------------------------------------------
def to8(value: Value, is_e5m2: bool) -> Value:
    """Round float32 to nearest floats of 8 bits, at most the greatest; give their bits, in words.

    What is not a number becomes 0x7F (CUDA's `cuda_fp8.hpp`).
    """
    # Digits of the fraction, the least normal exponent, and the bits of the greatest number.
    digits, least, most = (2, -14, 0x7B) if is_e5m2 else (3, -6, 0x7E)
    bits = value.as_bits
    size, shift = bits & 0x7FFFFFFF, 23 - digits
    normal = (size - (126 + least << 23) + (1 << shift - 1) - 1 + (size >> shift & 1)) >> shift
    # A unit of a subnormal number is one of this float32.
    unit = 2.0 ** (least - digits + 23)
    small = (size.as_float + unit).as_bits - value.at.constant(value.type, unit).as_bits
    found = (size < (127 + least << 23)).choose(small, normal)
    found = (found > most).choose(most, found) | bits >> 24 & 0x80
    return (size > 0x7F800000).choose(0x7F, found)


def from8(bits: Value, is_e5m2: bool) -> Value:
    """Read the low 8 bits of words as floats; give the bits of the half that each equals."""
    size = bits & 0x7F
    if is_e5m2:
        found, is_nan = size << 8, size > 0x7C
    else:  # the exponents' biases differ by 8
        found, is_nan = to16(from16(size << 7, False) * 256.0, False), size == 0x7F
    return is_nan.choose(0x7FFF, found | (bits & 0x80) << 8)


def to_tf32(value: Value, how: int = NEAREST) -> Value:
    """Round float32 to 10 bits of fraction; give the bits. To nearest: of two the even one."""
    bits = value.as_bits
    up = 0 if how == TO_ZERO else (bits >> 13 & 1) + 0xFFF
    return value.is_nan.choose(bits | 0x400000, bits + up) & ~0x1FFF
