"""Conversions between integers and floats of all widths."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from llvmlite import ir

from simulator.sass.lift.block import Block
from simulator.sass.lift.kinds import F32, F64, like, suffix
from simulator.sass.lift.line import Line, SourceOperand
from simulator.sass.lift.numbers import (
    DOWN,
    NEAREST,
    ROUNDINGS,
    TO_ZERO,
    UP,
    directed,
    directed16,
    from16,
    rounded,
    rounding,
)
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []

_INTEGERS = {f"{sign}{bits}": (bits, sign == "S") for bits in (8, 16, 32, 64) for sign in "SU"}
_NARROW = {"S4": (4, True), "U4": (4, False), "S2": (2, True), "U2": (2, False)}
_FLOATS = ("F16", "BF16", "F32", "F64", "TF32")
_TO_WHOLE = {"FLOOR": DOWN, "CEIL": UP, "TRUNC": TO_ZERO}


def _named(line: Line, types: Container[str]) -> list[str]:
    return [each for each in line.modifiers if each in types]


def _only(line: Line, names: list[str], count: int) -> None:
    if len(names) > count:
        raise DecodeProblem(f"types of {line.name}")


# ---- Integers. ---------------------------------------------------------------------------------
def _integer(line: Line, bits: int) -> tuple[SourceOperand, int]:
    """Read an integer source, and the byte of its register at which it begins."""
    part = line.take_part("B1", "B2", "B3", *(["H1"] if bits == 16 else []))
    byte = 2 if part == "H1" else int(part[1:] or 0)
    return line.source(words=2 if bits == 64 else 1), byte


def _number(block: Block, source: SourceOperand, byte: int, kind: tuple[int, bool]) -> Value:
    """Read an integer; one of 32 or 64 bits."""
    bits, signed = kind
    if bits == 64:
        return block.pair(source)
    word = block.read(source) >> 8 * byte
    return word.resized(bits).resized(32, signed)


@lifts("I2F", "I2FP", "UI2F", "UI2FP", says="Integer to float.")
def _i2f(line: Line) -> Emit:
    line.only(*_INTEGERS, *_FLOATS[:4], *ROUNDINGS)
    sources, targets, how = _named(line, _INTEGERS), _named(line, _FLOATS), rounding(line)
    _only(line, sources, 1)
    _only(line, targets, 1)
    kind, name = _INTEGERS[(sources or ["S32"])[0]], (targets or ["F32"])[0]
    target = line.target(2 if name == "F64" else 1)
    a, byte = _integer(line, kind[0])

    def emit(block: Block) -> None:
        number = _number(block, a, byte, kind)
        if name == "F32":
            block.write(target, _as_float(number, F32, how, kind[1]))
            return
        if name == "F64":
            block.write_pair(target, _as_float(number, F64, how, kind[1]))
            return
        if kind[0] == 64:
            number = _to_odd(number, kind[1])
        wide = _as_float(number, F64, NEAREST, kind[1])  # exact
        block.write(target, directed16(wide, how, name == "BF16"))

    return emit


def _to_odd(number: Value, signed: bool) -> Value:
    """Return 64 bits as a number of 53 that rounds to 16 bits as they do: cut off, and then odd."""
    negative = number.less_signed(0) if signed else number.at.bit(False)
    is_large = (negative.choose(0 - number, number) >> 40) != 0
    cut = number & ~0x7FF
    odd = cut | (cut != number).resized(64) << 11
    return is_large.choose(odd, number)


def _as_float(number: Value, element: object, how: int, signed: bool) -> Value:
    """Round an integer to a float."""
    if how == NEAREST:
        return number.to_float(element, signed)
    negative = number.less_signed(0) if signed else number.at.bit(False)
    size = negative.choose(0 - number, number)
    # The bits that have no place in the float are cut off; away from zero it is one unit more.
    digits, zero = 24 if element == F32 else 53, number.at.constant(size.type, 0)
    spare = number.bits - digits - size.leading
    spare = spare.less_signed(0).choose(zero, spare)
    cut = (size >> spare) << spare
    near = cut.to_float(element, signed=False)
    far = near + (zero + 1 << spare).to_float(element, signed=False)
    away = ~negative if how == UP else negative if how == DOWN else number.at.bit(False)
    found = (away & (cut != size)).choose(far, near)
    return negative.choose(-found, found)


@lifts("I2I", says="Integer to integer, saturated to the range of the result.")
def _i2i(line: Line) -> Emit:
    line.only(*_INTEGERS, "SAT")
    types = _named(line, _INTEGERS)
    _only(line, types, 2)
    if not types or types[0].endswith("64"):
        raise DecodeProblem("types of I2I")
    bits, to_signed = _INTEGERS[types[0]]
    kind = _INTEGERS[types[1] if len(types) > 1 else "S32"]
    target = line.target()
    a, byte = _integer(line, kind[0])
    most = (1 << bits - to_signed) - 1
    least = -most - 1 if to_signed else 0

    def emit(block: Block) -> None:
        # In 64 bits, where every number has its sign; but those of U64 have none.
        number = _number(block, a, byte, kind).resized(64, kind[1])
        found = number.less_signed(least).choose(least, number) if kind != (64, False) else number
        more = found.compare(">", most, signed=kind != (64, False))
        block.write(target, more.choose(most, found).resized(32))

    return emit


@lifts("I2IP", says="Saturates two integers, and packs them below the low bits of a third.")
def _i2ip(line: Line) -> Emit:
    kind, *rest = line.modifiers or ("",)
    bits, to_signed = (_INTEGERS | _NARROW).get(kind, (0, False))
    if bits not in (2, 4, 8, 16) or rest != ["S32", "SAT"]:
        raise DecodeProblem("types of I2IP")
    target, sources = line.target(), line.sources("int", 2)
    line.take_part(f"{32 - 2 * bits}")  # the bits of the third that are left
    sources.append(line.source())
    most = (1 << bits - to_signed) - 1
    least = -most - 1 if to_signed else 0

    def fitted(number: Value) -> Value:
        number = number.less_signed(least).choose(least, number)
        number = number.compare(">", most, signed=True).choose(most, number)
        return number & (1 << bits) - 1

    def emit(block: Block) -> None:
        a, b, c = map(block.read, sources)
        above = c << 2 * bits if bits < 16 else block.at.i32(0)  # beside 16 bits there is no room
        block.write(target, above | fitted(a) << bits | fitted(b))

    return emit


# ---- Floats. -----------------------------------------------------------------------------------
def _float(line: Line, name: str) -> SourceOperand:
    """Read a float source; of halves the part that is named, or the low one."""
    if name.endswith("16") and line.take_part("H1"):
        return replace(line.source("half"), half="H1_H1")
    if name == "F64":
        return line.source("double", 2)
    if name == "TF32":
        raise DecodeProblem(f"types of {line.name}")
    return line.source("float" if name == "F32" else "half")


def _value(block: Block, source: SourceOperand, name: str) -> Value:
    """Read a float; one of 32 or 64 bits."""
    if name == "F64":
        return block.pair(source).as_float
    word = block.read(source)
    return word.as_float if name == "F32" else from16(word & 0xFFFF, name == "BF16")


def _whole(line: Line) -> int:
    """Read which whole number a float becomes; the nearest where nothing is said."""
    named = _named(line, _TO_WHOLE)
    _only(line, named, 1)
    return _TO_WHOLE[named[0]] if named else NEAREST


@lifts("F2I", "UF2I", says="Float to integer.")
def _f2i(line: Line) -> Emit:
    line.only(*_INTEGERS, *_FLOATS, *_TO_WHOLE, "FTZ", "NTZ")
    targets, sources, how = _named(line, _INTEGERS), _named(line, _FLOATS), _whole(line)
    _only(line, targets, 1)
    _only(line, sources, 1)
    bits, signed = _INTEGERS[(targets or ["S32"])[0]]
    name = (sources or ["F32"])[0]
    target = line.target(2 if bits == 64 else 1)
    a = _float(line, name)

    def emit(block: Block) -> None:
        value = rounded(_value(block, a, name), how)
        found = _saturated(value, bits, signed)
        if bits == 64:
            block.write_pair(target, value.is_nan.choose(1 << 63, found))
        else:
            block.write(target, found.resized(32, signed))

    return emit


@lifts("F2IP", says="Float to an unsigned byte; the other bytes are zero.")
def _f2ip(line: Line) -> Emit:
    line.only("U8", "F32", "TRUNC", "NTZ")
    if not line.has("U8") or not line.has("F32"):
        raise DecodeProblem("types of F2IP")
    target, how = line.target(), _whole(line)
    beside, a, above = line.source(), line.source("float"), line.source()
    if not (beside.is_zero and above.is_zero):  # no compiler was seen to pack so
        raise DecodeProblem("packing of F2IP")
    return lambda block: block.write(
        target, _saturated(rounded(block.floats(a), how), 8, signed=False).resized(32)
    )


def _saturated(value: Value, bits: int, signed: bool) -> Value:
    """Return a whole float as an integer: at most what fits; 0 for what is not a number."""
    kind = like(value.type, ir.IntType(bits))
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.{suffix(kind)}.{suffix(value.type)}"
    return value.at.call(name, kind, value)


@lifts("F2F", says="Float to float of another width.")
def _f2f(line: Line) -> Emit:
    line.only(*_FLOATS, *ROUNDINGS, "FTZ")
    types = _named(line, _FLOATS)
    if len(types) != 2:
        raise DecodeProblem("types of F2F")
    how = rounding(line)
    if types[0] == "TF32" and line.has(*ROUNDINGS):
        raise DecodeProblem("rounding of F2F")
    return _converted(line, types[0], types[1], how, None)


@lifts("FRND", "UFRND", says="Rounds a float to a whole number.")
def _frnd(line: Line) -> Emit:
    line.only(*_FLOATS[:4], *_TO_WHOLE, "FTZ")
    types = _named(line, _FLOATS) or ["F32"]
    _only(line, types, 2)
    return _converted(line, types[0], types[-1], NEAREST, _whole(line))


def _converted(line: Line, to: str, name: str, how: int, whole: int | None) -> Emit:
    """Convert a float to a type; `whole`: to a whole number first, in that direction."""
    target = line.target(2 if to == "F64" else 1)
    a = _float(line, name)

    def emit(block: Block) -> None:
        value = _value(block, a, name)
        if whole is not None:
            value = rounded(value, whole)
        if to == "F64":
            block.write_pair(target, value.double)
        elif to == "F32":
            block.write(target, directed(value.double, how))
        elif to == "TF32":  # to nearest, of two the farther from zero
            bits = value.single.as_bits
            bits = value.is_nan.choose(bits | 0x400000, bits + 0x1000)
            block.write(target, bits & ~0x1FFF)
        else:
            block.write(target, directed16(value.double, how, to == "BF16"))

    return emit
