"""Floats of 16, 32 and 64 bits, and conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tests.sass_plain.comparing import INTEGERS, comparison, integer_of, join, limits, put_outcome
from tests.sass_plain.lane import (
    NAN32,
    WORD,
    Lane,
    bits_of,
    fit,
    float_of,
    plain,
    product,
    rounded,
    total,
)


# ---- Floats. -----------------------------------------------------------------------------------
def limited(x: Lane, value: float) -> float:
    """SAT: within 0 and 1, and 0 for what is not a number. RELU: 0 or more."""
    if x.has("SAT"):
        value = min(value, 1.0) if value > 0 else 0.0
    if x.has("RELU"):
        value = 0.0 if value <= 0 else value
    return value


SCALES = {f"{sign}{by}": by ** (1.0 if sign == "M" else -1.0) for sign in "DM" for by in (2, 4, 8)}


@plain("FADD", "FMUL", "FFMA", "UFADD", "UFMUL", "UFFMA")
def _float(x: Lane) -> None:
    target, how = x.take(), x.rounding
    a, b, name = x.float(), x.float(), x.name.removeprefix("U")
    if name == "FMUL":
        scale = next((number for each, number in SCALES.items() if x.has(each)), 1.0)
        found = product(a, b * scale, how)  # b * scale is exact: Python has float64
    else:
        found = total(a, b, x.float(), how) if name == "FFMA" else total(a, 1.0, b, how)
    x.put_float(target, limited(x, found))


@plain("DADD", "DMUL", "DFMA")
def _double(x: Lane) -> None:
    target, a, b, how = x.take(), x.float("F64"), x.float("F64"), x.rounding
    if x.name == "DMUL":
        found = product(a, b, how, "F64")
    else:
        a, b, c = (a, b, x.float("F64")) if x.name == "DFMA" else (a, 1.0, b)
        found = total(a, b, c, how, "F64")
    x.put_float(target, found, "F64")


def in_order(value: float) -> tuple[float, float]:
    """Return what sorts floats: -0 is less than +0."""
    return value, math.copysign(1, value)


def sign_of(x: Lane, place: int = 31) -> int:
    """Return whether the signs of two registers differ, which stand as |R…|."""
    return len({x.place(text.strip("|")) >> place & 1 for text in x.operands[1:3]}) - 1


@plain("FMNMX", "FMNMX3", "UFMNMX")
def _fmnmx(x: Lane) -> None:
    signs = sign_of(x) << 31 if x.has("XORSIGN") else 0
    target, words = x.take(), [x.bits() for _ in range(3 if x.name == "FMNMX3" else 2)]
    numbers = [each for each in words if float_of(each) == float_of(each)]
    if not numbers or (x.has("NAN") and len(numbers) < len(words)):
        x.put(target, NAN32)
        return
    x.put(target, x.least(numbers, key=lambda each: in_order(float_of(each))) | signs)


@plain("FSETP", "DSETP", "UFSETP")
def _fsetp(x: Lane) -> None:
    targets, kind = [x.take(), x.take()], "F64" if x.name == "DSETP" else "F32"
    if x.has("MIN", "MAX"):
        a, b = x.float(kind), x.float(kind)
        both = math.isnan(a) and math.isnan(b)
        is_less = in_order(a) < in_order(b)
        is_first = is_less if x.has("MIN") else not is_less  # of equals either is right
        x.put(targets[0], a == a if a != a or b != b else is_first)
        x.put(targets[1], both)
        return
    put_outcome(x, targets, comparison(x)(x.float(kind), x.float(kind)))


@plain("FSET")
def _fset(x: Lane) -> None:
    target, found = x.take(), comparison(x)(x.float(), x.float())
    x.put(target, (0x3F800000 if x.has("BF") else WORD) if found and x.condition() else 0)


@plain("FCHK")
def _fchk(x: Lane) -> None:
    """The fast path of a division needs exponents that leave it room."""
    target, a, b = x.take(), x.bits() >> 23 & 255, x.bits() >> 23 & 255
    x.put(target, not (25 <= a < 255 and 2 <= b < 253 and -124 <= a - b < 126))


def root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def reciprocal(value: float) -> float:
    return 1.0 / value if value else math.copysign(math.inf, value)


def power_of_two(value: float) -> float:
    return math.inf if value > 1100 else math.pow(2.0, value)


def logarithm(value: float) -> float:
    return math.log2(value) if value > 0 else -math.inf if value == 0 else math.nan


def turned(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: function(value * (2 * math.pi)) if math.isfinite(value) else math.nan


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "RCP": reciprocal, "RSQ": lambda value: reciprocal(root(value)), "SQRT": root,
    "EX2": power_of_two, "LG2": logarithm, "SIN": turned(math.sin), "COS": turned(math.cos),
    "TANH": math.tanh,
}  # fmt: skip


@plain("MUFU")
def _mufu(x: Lane) -> None:
    target, name = x.take(), x.modifiers[0]
    if name.endswith("64H"):
        word = x.bits()
        value = float_of(word << 32, "F64")
        if math.isnan(value):
            # A reciprocal keeps its bits, and makes it quiet.
            x.put(target, word | 1 << 19 if name == "RCP64H" else 0x7FF80000)
            return
        x.put(target, bits_of(FUNCTIONS[name.removesuffix("64H")](value), "F64") >> 32)
        return
    x.put_float(target, rounded(FUNCTIONS[name](x.float()), "F32"))


# ---- Pairs of 16-bit floats. -------------------------------------------------------------------
@plain("HADD2", "HMUL2", "HFMA2")
def _half(x: Lane) -> None:
    target, a, b = x.take(), x.halves(), x.halves()
    c = x.halves() if x.name == "HFMA2" else b
    kind = "F32" if x.has("F32") else x.half
    found = []
    for f, g, h in zip(a, b, c, strict=True):
        if x.name == "HMUL2":
            value = product(f, g, "even", kind)
        else:
            value = (
                total(f, g, h, "even", kind)
                if x.name == "HFMA2"
                else total(f, 1.0, g, "even", kind)
            )
        found.append(limited(x, value))
    if x.has("F32"):
        x.put_float(target, found[0])
    else:
        x.put_halves(target, *found)


@plain("HMNMX2", "VHMNMX")
def _hmnmx2(x: Lane) -> None:
    target, count = x.take(), 3 if x.name == "VHMNMX" else 2
    pairs = [*zip(*(x.halves() for _ in range(count)), strict=True)]
    least, found = x.least, []
    for place, each_of in zip((15, 31), pairs, strict=True):
        numbers = [each for each in each_of if each == each]
        whole = len(numbers) == count or (numbers and not x.has("NAN"))
        best = least(numbers, key=in_order) if whole else math.nan
        found.append(-best if x.has("XORSIGN") and sign_of(x, place) else best)
    x.put_halves(target, found[0], found[1])


@plain("HSETP2")
def _hsetp2(x: Lane) -> None:
    targets, compare = [x.take(), x.take()], comparison(x)
    low, high = (compare(f, g) for f, g in zip(x.halves(), x.halves(), strict=True))
    if x.modifiers.count("AND") == 2:
        put_outcome(x, targets, low and high)
        return
    other = x.condition()
    x.put(targets[0], join(x, low, other))
    x.put(targets[1], join(x, high, other))


@plain("HSET2")
def _hset2(x: Lane) -> None:
    target, compare = x.take(), comparison(x)
    outcomes = [compare(f, g) for f, g in zip(x.halves(), x.halves(), strict=True)]
    yes = bits_of(1.0, x.half) if x.has("BF") else 0xFFFF
    low, high = (yes if found and x.of(x.number).condition() else 0 for found in outcomes)
    x.put(target, low | high << 16)


@plain("F2FP", "UF2FP")
def _f2fp(x: Lane) -> None:
    target, first, second = x.take(), x.float(), x.float()
    found = []
    # The first is the high one; with MERGE_C there is one, and the second register is zero.
    for value in (first, 0.0) if x.has("MERGE_C") else (second, first):
        one = rounded(limited(x, value), x.half, x.rounding)
        if x.has("SATFINITE"):
            most = float_of(0x7F7F if x.half == "BF16" else 0x7BFF, x.half)
            one = max(-most, min(one, most)) if one == one else one
        found.append(one)
    x.put_halves(target, *found)


# ---- Conversions. ------------------------------------------------------------------------------
FLOATS = ("F16", "BF16", "F32", "F64")
WHOLE = {"FLOOR": math.floor, "CEIL": math.ceil, "TRUNC": math.trunc}


@plain("I2F", "I2FP", "UI2F", "UI2FP")
def _i2f(x: Lane) -> None:
    target = x.take()
    to = next((each for each in x.modifiers if each in FLOATS), "F32")
    kind = next((each for each in x.modifiers if each in INTEGERS), "S32")
    x.put_float(target, fit(Fraction(integer_of(x, kind)), x.rounding, to), to)


@plain("F2I", "F2IP", "UF2I")
def _f2i(x: Lane) -> None:
    target = x.take()
    if x.name == "F2IP":
        assert x.take() == x.operands[-1] == "RZ"  # what would be packed beside and above it
    kind = next((each for each in x.modifiers if each in INTEGERS), "S32")
    value = x.float(next((each for each in x.modifiers if each in FLOATS), "F32"))
    (least, most), bits = limits(kind), INTEGERS[kind][0]
    whole = next((WHOLE[each] for each in x.modifiers if each in WHOLE), round)
    if math.isnan(value):
        found = 1 << 63 if bits == 64 else 0
    else:
        found = (most if value > 0 else least) if math.isinf(value) else whole(Fraction(value))
        found = max(least, min(found, most))
    x.put(target, found, 2 if bits == 64 else 1)


@plain("F2F", "FRND", "UFRND")
def _f2f(x: Lane) -> None:
    target = x.take()
    kinds = [each for each in x.modifiers if each in FLOATS] or ["F32"]
    to, value = kinds[0], x.float(kinds[-1])
    minus = math.copysign(1, value) < 0
    if math.isfinite(value):
        exact = Fraction(value)
        if x.name.endswith("FRND"):
            exact = Fraction(
                next((WHOLE[each] for each in x.modifiers if each in WHOLE), round)(exact)
            )
        value = fit(exact, x.rounding, to, minus)
    x.put_float(target, value, to)
