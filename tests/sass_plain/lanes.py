"""Between lanes: shuffles, votes, reductions, tensor cores."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.sass_plain.lane import Lane, bits_of, float_of, plain, rounded, signed, total


# ---- Lanes. ------------------------------------------------------------------------------------
@plain("SHFL")
def _shfl(x: Lane) -> None:
    found, target, source = x.take(), x.take(), x.take()
    by, limit = x.integer() & 31, x.integer()
    segment = limit >> 8 & 31
    least = x.number & segment
    most = least | limit & 31 & ~segment
    other = {
        "IDX": least | by & ~segment, "UP": x.number - by, "DOWN": x.number + by,
        "BFLY": x.number ^ by,
    }[x.modifiers[0]]  # fmt: skip
    inside = other >= most if x.has("UP") else other <= most
    other = other if inside else x.number
    x.put(target, x.of(other).place(source))
    x.put(found, inside)


@plain("VOTE", "VOTEU")
def _vote(x: Lane) -> None:
    target = x.take() if x.peek("U?R") else "RZ"
    (found,) = x.targets()[:1] or ["PT"]
    asked = x.operands[-1]
    yes = [lane for lane in x.lanes if x.of(lane).holds(asked)]
    is_all, is_none = len(yes) == len(x.lanes), not yes
    answer = not is_none if x.has("ANY") else is_all or (is_none and x.has("EQ"))
    x.put(target, sum(1 << lane for lane in yes))
    x.put(found, answer)


@plain("ELECT")
def _elect(x: Lane) -> None:
    found, target = x.take(), x.take()
    x.put(found, x.number == x.lanes[0])
    x.put(target, x.lanes[0])


@plain("REDUX")
def _redux(x: Lane) -> None:
    target, source = x.take(), x.take()
    words = [x.of(lane).place(source) for lane in x.lanes]
    if x.has("S32"):
        words = [*map(signed, words)]
    how: dict[str, Callable[[list[int]], int]] = {
        "SUM": sum, "MIN": min, "MAX": max, "AND": lambda v: _folded(v, int.__and__),
        "OR": lambda v: _folded(v, int.__or__), "XOR": lambda v: _folded(v, int.__xor__),
    }  # fmt: skip
    x.put(target, how[next((each for each in x.modifiers if each in how), "AND")](words))


def _folded(values: list[int], join_two: Callable[[int, int], int]) -> int:
    found = values[0]
    for value in values[1:]:
        found = join_two(found, value)
    return found


@plain("MATCH")
def _match(x: Lane) -> None:
    found = x.targets()
    target, source = x.take(), x.take()

    def value(lane: int) -> tuple[int, int]:
        one = x.of(lane)
        return one.place(source), one.place(source, 1) if x.has("U64") else 0

    same = [lane for lane in x.lanes if value(lane) == value(x.number)]
    whole = len(same) == len(x.lanes)
    x.put(target, sum(1 << lane for lane in same) if whole or x.has("ANY") else 0)
    for predicate in found:
        x.put(predicate, whole)


# ---- Tensor cores: lane 4·g + t has rows g and g + 8 of A, column g of B, and what follows of D. -
def _elements(kind: str, word: int) -> list[float]:
    if kind in ("S8", "U8"):
        return [signed(byte, 8) if kind == "S8" else byte for byte in word.to_bytes(4, "little")]
    if kind in ("E4M3", "E5M2"):
        return [_of_byte(byte, *((5, 2) if kind == "E5M2" else (4, 3)))
                for byte in word.to_bytes(4, "little")]  # fmt: skip
    if kind == "TF32":
        return [float_of(word & ~0x1FFF)]
    return [float_of(word & 0xFFFF, kind), float_of(word >> 16, kind)]


def _of_byte(bits: int, exponents: int, digits: int) -> float:
    """Read a float of 8 bits. E4M3 has no infinity, and one NaN."""
    sign = -1.0 if bits & 0x80 else 1.0
    exponent, fraction = bits >> digits & (1 << exponents) - 1, bits & (1 << digits) - 1
    bias = (1 << exponents - 1) - 1
    if exponents == 5 and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponents == 4 and bits & 0x7F == 0x7F:
        return math.nan
    if not exponent:
        return sign * math.ldexp(fraction, 1 - bias - digits)
    return sign * math.ldexp((1 << digits) + fraction, exponent - bias - digits)


_KINDS = ("S8", "U8", "TF32", "BF16", "E4M3", "E5M2")


def _line_of(x: Lane, name: str, kind: str, group: int, words: range) -> list[float]:
    """Read a row of A or a column of B: four lanes hold parts of it, in each of some registers."""
    return [
        element
        for word in words
        for t in range(4)
        for element in _elements(kind, x.of(4 * group + t).place(name, word))
    ]


@plain("HMMA", "IMMA", "QMMA")
def _mma(x: Lane) -> None:
    target, a, b, c = (text.partition(".")[0] for text in x.operands)
    kinds = [each for each in x.modifiers if each in _KINDS] or ["F16"]
    k = {"1684": 4, "1688": 8, "16816": 16, "16832": 32}[x.modifiers[0]]
    parts = k // 4 // len(_elements(kinds[0], 0))
    group, t = divmod(x.number, 4)
    found: list[int | float] = []
    for place in range(4):
        row = _line_of(x, a, kinds[0], group, range(place // 2, 2 * parts, 2))
        column = _line_of(x, b, kinds[-1], 2 * t + place % 2, range(parts))
        if x.name == "IMMA":
            products = sum(int(f) * int(g) for f, g in zip(row, column, strict=True))
            sum_ = products + signed(x.place(c, place))
            found.append(max(-(2**31), min(sum_, 2**31 - 1)) if x.has("SAT") else sum_)
            continue
        sums = 0.0
        for f, g in zip(row, column, strict=True):
            sums = total(f, g, sums)
        if x.has("F32"):
            found.append(total(sums, 1.0, float_of(x.place(c, place))))
        else:
            half = x.place(c, place // 2) >> 16 * (place % 2) & 0xFFFF
            found.append(total(sums, 1.0, float_of(half, "F16")))
    number = int(target[1:])
    if x.name != "IMMA" and not x.has("F32"):
        halves = [bits_of(rounded(value, "F16"), "F16") for value in found]
        for word in range(2):
            x.put(f"R{number + word}", halves[2 * word] | halves[2 * word + 1] << 16)
        return
    for place, value in enumerate(found):
        x.put(f"R{number + place}", int(value) if x.name == "IMMA" else bits_of(value))


@plain("DMMA")
def _dmma(x: Lane) -> None:
    target, a, b, c = x.operands
    group, t = divmod(x.number, 4)

    def double(lane: int, name: str, word: int = 0) -> float:
        one = x.of(lane)
        return float_of(one.place(name, word) | one.place(name, word + 1) << 32, "F64")

    for high in range(2):
        sums = double(x.number, c, 2 * high)
        for k in range(4):
            f, g = double(4 * group + k, a), double(4 * (2 * t + high) + k, b)
            sums = total(f, g, sums, "even", "F64")
        x.put_float(f"R{int(target[1:]) + 2 * high}", sums, "F64")


@plain("MOVM")
def _movm(x: Lane) -> None:
    target, source = x.operands
    group, t = divmod(x.number, 4)
    halves = [
        x.of(4 * (2 * t + part) + group // 2).place(source) >> 16 * (group % 2) & 0xFFFF
        for part in range(2)
    ]
    x.put(target, halves[0] | halves[1] << 16)
