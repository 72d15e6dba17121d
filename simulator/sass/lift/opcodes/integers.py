"""Integers: sums, products, shifts, logic, comparisons."""

from __future__ import annotations

from dataclasses import replace

from simulator.sass.lift.block import Block, join
from simulator.sass.lift.line import NEVER, Condition, Line, SourceOperand
from simulator.sass.lift.opcodes.comparisons import comparison, join_outcome
from simulator.sass.lift.opcodes.pairs import comparison_of_pairs, sum_of_pairs
from simulator.sass.lift.operands import DecodeProblem, Predicate
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


# ---- Sums. -------------------------------------------------------------------------------------
def _carries(total: Value, more: Value) -> tuple[Value, Value]:
    """Add, and give whether the sum left 32 bits."""
    total, more = total.at.alike(total, more)
    out = total + more
    return out, out < more


@lifts("IADD3", "UIADD3", says="Sum of three, with carries in and out.")
def _iadd3(line: Line) -> Emit:
    return _sum(line, 3)


@lifts(
    "VIADD", "UVIADD", "IADD", "UIADD",
    says="Sum of two, with a carry in and out; saturated; of two pairs or four bytes.",
)  # fmt: skip
def _viadd(line: Line) -> Emit:
    if line.has("16x2", "U8x4"):
        return _sum_of_parts(line)
    return _saturated_sum(line) if line.has("ISAT") else _sum(line, 2)


def _sum_of_parts(line: Line) -> Emit:
    """Add halves or bytes: each wraps, and each is negated by itself."""
    if line.modifiers not in (("16x2",), ("U8x4",)):
        raise DecodeProblem(f"modifiers of {line.name}")
    bits = 16 if line.has("16x2") else 8
    target, inputs = line.target(), line.sources("int", 2)
    if any(each.inverted for each in inputs):
        raise DecodeProblem(f"~ of {line.name}")

    def emit(block: Block) -> None:
        found = block.at.i32(0)
        words = [block.word(each, 0) for each in inputs]
        for shift in range(0, 32, bits):
            total = block.at.i32(0)
            for word, each in zip(words, inputs, strict=True):
                part = word >> shift
                total = total - part if each.negative else total + part
            found = found | (total & (1 << bits) - 1) << shift
        block.write(target, found)

    return emit


def _saturated_sum(line: Line) -> Emit:
    """VIADD.S32.ISAT, as add.sat.s32 of PTX."""
    if line.modifiers != ("S32", "ISAT"):
        raise DecodeProblem(f"modifiers of {line.name}")
    target, inputs = line.target(), line.sources("int", 2)
    if any(each.inverted for each in inputs):
        raise DecodeProblem(f"~ of {line.name}")

    def emit(block: Block) -> None:
        total = block.at.i64(0)
        for each in inputs:
            wide = block.word(each, 0).resized(64, signed=True)
            total = total - wide if each.negative else total + wide
        least, most = -(2**31), 2**31 - 1
        total = total.less_signed(least).choose(least, total)
        total = total.compare(">", most, signed=True).choose(most, total)
        block.write(target, total.resized(32))

    return emit


def _sum(line: Line, count: int) -> Emit:
    if line.modifiers in (("64",), ("64", "X")):
        return sum_of_pairs(line, count)
    line.only("X")
    target = line.target()
    first, second = line.predicate_targets()
    inputs = line.sources("int", count)
    if first is None and second is None and not line.has("X"):
        return lambda block: block.write(target, _added(block, inputs))
    before = [line.condition(NEVER), line.condition(NEVER)]

    def emit(block: Block) -> None:
        # `-b` is `~b` + 1, whose carry counts: where b is 0.
        carries = [block.read(each) == 0 for each in inputs if each.negative]
        total = block.read(inputs[0])
        for each in inputs[1:]:
            total, carry = _carries(total, block.read(each))
            carries.append(carry)
        for carried in before:
            if carried != NEVER:
                one = block.condition(carried)
                total = total + one.resized(32)
                carries.append(one & (total == 0))
        once, twice = block.at.bit(False), block.at.bit(False)
        for carry in carries:
            twice = twice | once & carry
            once = once | carry
        block.write(target, total)
        block.write_condition(first, once)
        block.write_condition(second, twice)

    return emit


def _added(block: Block, inputs: list[SourceOperand]) -> Value:
    total, *others = (block.read(each) for each in inputs)
    for other in others:
        total = total + other
    return total


# ---- Products. ---------------------------------------------------------------------------------
@lifts("IMAD", "UIMAD", says="a·b + c, of 32 bits, their high word, or 64 bits.")
def _imad(line: Line) -> Emit:
    line.only("MOV", "SHL", "IADD", "U32", "S32", "WIDE", "HI", "X")
    wide, high, signed = line.has("WIDE"), line.has("HI"), not line.has("U32")
    target = line.target(2 if wide else 1)
    carry_out, _ = line.predicate_targets()
    a, b = line.source(), line.source()
    c = line.source(words=2 if wide or high else 1)
    if wide or high:
        plain = replace(c, negative=False)  # the pair is negated as a whole
        carries = line.has("X") or carry_out is not None
        if a.changed or b.changed or plain.changed or (c.negative and carries):
            raise DecodeProblem("sign of IMAD.WIDE or IMAD.HI")
        carry_in = line.condition(NEVER) if line.has("X") else NEVER
        if not line.has("X"):
            line.condition(NEVER)

        def emit_wide(block: Block) -> None:
            left, right = (block.read(each).resized(64, signed) for each in (a, b))
            product, addend = left * right, block.pair(plain)
            total = product + (0 - addend if c.negative else addend)
            carry = total < product
            if carry_in != NEVER:
                one = block.condition(carry_in)
                total = total + one.resized(64)
                carry = carry | one & (total == 0)
            if wide:
                block.write_pair(target, total)
            else:
                block.write(target, (total >> 32).resized(32))
            block.write_condition(carry_out, carry)

        return emit_wide
    if line.has("X") or carry_out is not None:
        carry_in = line.condition(NEVER)

        def emit_carry(block: Block) -> None:
            total, carry = _carries(block.read(c), block.read(a) * block.read(b))
            one = block.condition(carry_in)
            total = total + one.resized(32)
            block.write(target, total)
            block.write_condition(carry_out, carry | one & (total == 0))

        return emit_carry

    def emit(block: Block) -> None:
        if a.is_zero and b.is_zero:
            block.write(target, block.read(c))
        else:
            block.write(target, block.read(a) * block.read(b) + block.read(c))

    return emit


@lifts("LEA", "ULEA", says="(a << s) + b, or the high word of that.")
def _lea(line: Line) -> Emit:
    line.only("HI", "X", "SX32")
    target = line.target()
    carry_out, _ = line.predicate_targets()
    a, b = line.source(), line.source()
    high, signed = line.has("HI"), line.has("SX32")
    c = line.source() if high and not signed else None
    shift = line.immediate()
    carry = line.has("X") or carry_out is not None
    if not 0 <= shift < 32:
        raise DecodeProblem(f"shift of {line.name}")
    if not high and line.has("X"):
        raise DecodeProblem("LEA.X")
    carry_in = line.condition(NEVER) if high and carry else NEVER

    def emit(block: Block) -> None:
        low, addend = block.read(a), block.read(b)
        if high:
            top = low.shift_signed(31) if c is None else block.read(c)
            low = top << shift | low >> (32 - shift) if shift else top
        else:
            low = low << shift
        total, over = _carries(low, addend)
        if not high and (a.negative or b.negative):  # less nothing is no borrow
            over = over | ((low if a.negative else addend) == 0)
        if carry_in != NEVER:
            one = block.condition(carry_in)
            total = total + one.resized(32)
            over = over | one & (total == 0)
        block.write(target, total)
        block.write_condition(carry_out, over)

    return emit


# ---- Logic and shifts. -------------------------------------------------------------------------
def _logic(table: int, values: list[Value]) -> Value | int:
    """Write any function of three bits; -1 and 0 stand for constants."""
    size = 1 << len(values)
    table &= (1 << size) - 1
    if table in (0, (1 << size) - 1):
        return -1 if table else 0
    half = size // 2
    without, with_it = _logic(table, values[1:]), _logic(table >> half, values[1:])
    ones = (1 << half) - 1
    if table & ones == table >> half:
        return without
    value = values[0]
    if table & ones == ~(table >> half) & ones and isinstance(without, Value):
        return value ^ without
    if isinstance(with_it, int) and isinstance(without, int):
        return value if with_it else ~value
    if isinstance(with_it, int):
        return value | without if with_it else ~value & without
    if isinstance(without, int):
        return ~value | with_it if without else value & with_it
    return value & with_it | ~value & without


@lifts("LOP3", "ULOP3", says="Any function of three bits, by its table.")
def _lop3(line: Line) -> Emit:
    line.only("LUT")
    some = line.predicate_target() if line.peek(Predicate) else None
    target = line.target()
    inputs = line.sources("int", 3)
    table = line.immediate()
    also = line.condition(NEVER)

    def emit(block: Block) -> None:
        bits = _logic(table, [block.read(each) for each in inputs])
        value = bits if isinstance(bits, Value) else block.at.i32(bits)
        block.write(target, value)
        block.write_condition(some, (value != 0) | block.condition(also))

    return emit


@lifts("PLOP3", "UPLOP3", says="Two functions of three predicates, or signs of registers.")
def _plop3(line: Line) -> Emit:
    line.only("LUT")
    targets = [line.predicate_target(), line.predicate_target()]
    inputs = [line.source() if line.take_part("SIGN") else line.condition() for _ in range(3)]
    tables = [line.immediate(), line.immediate()]

    def emit(block: Block) -> None:
        values = [
            block.condition(each) if isinstance(each, Condition) else block.read(each) >> 31 != 0
            for each in inputs
        ]
        found = []
        for table in tables:
            bits = _logic(table, values)
            found.append(bits if isinstance(bits, Value) else block.at.bit(bits != 0))
        for target, value in zip(targets, found, strict=True):
            block.write_condition(target, value)

    return emit


@lifts("SHF", "USHF", says="Shift of one word or a pair.")
def _shf(line: Line) -> Emit:
    line.only("L", "R", "W", "HI", "U32", "S32", "U64", "S64")
    target = line.target()
    a, b, c = line.sources("int", 3)
    right, signed, high = line.has("R"), line.has("S32", "S64"), line.has("HI")
    width = 64 if line.has("U64", "S64") else 32

    def emit(block: Block) -> None:
        low, by, top = block.read(a), block.read(b), block.read(c)
        by = by & (width - 1) if line.has("W") else (by < width).choose(by, width)
        wide = join(low, top)
        block.write(target, _shifted(wide, by.resized(64), right, signed, high))

    return emit


def _shifted(wide: Value, by: Value, right: bool, signed: bool, high: bool) -> Value:
    """Shift 64 bits by up to 64, and give a word."""
    if not right:
        moved = (by < 64).choose(wide << (by & 63), 0)
        return (moved >> 32).resized(32) if high else moved.resized(32)
    drop = by + 32 if high else by
    if signed:
        return wide.shift_signed((drop < 63).choose(drop, 63)).resized(32)
    return (drop < 64).choose(wide >> (drop & 63), 0).resized(32)


# ---- Comparisons. ------------------------------------------------------------------------------
@lifts(
    "ISETP",
    "UISETP",
    says="Compares integers, also of 64 bits, or continues another comparison (EX).",
)
def _isetp(line: Line) -> Emit:
    if line.has("U64", "S64"):
        return comparison_of_pairs(line)
    how, boolean = comparison(line, "U32", "EX")
    first, second = line.predicate_targets()
    a, b = line.source(), line.source()
    others = line.condition()
    low = line.condition() if line.has("EX") else None
    signed = not line.has("U32")

    def emit(block: Block) -> None:
        f, g = block.at.alike(block.read(a), block.read(b))
        found = block.at.bit(False)
        if how & 1:
            found = found | f.compare("<", g, signed)
        if how & 4:
            found = found | f.compare(">", g, signed)
        if low is not None:  # of the high words; the answer of the low ones
            found = found | (f == g) & block.condition(low)
        elif how & 2:
            found = found | (f == g)
        join_outcome(block, boolean, found, others, first, second)

    return emit
