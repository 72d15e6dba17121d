"""Bits: counting and placing them, runs of them, bytes, and predicates as bits."""

from __future__ import annotations

from llvmlite import ir

from simulator.sass.lift.block import Block, join
from simulator.sass.lift.kinds import I8, I32, LANES
from simulator.sass.lift.line import Bits, Condition, Line, SourceOperand
from simulator.sass.lift.operands import DecodeProblem, Predicate, Word
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__ = ["fixed"]


def fixed(source: SourceOperand) -> int | None:
    """Return the value of a source that the instruction holds; None: of another."""
    if source.is_zero:
        return 0
    return source.place.value if isinstance(source.place, Bits) else None


# By the two low bits of the second operand: the bytes, as the default's nibbles name them.
_MODES = {
    "F4E": (0x3210, 0x4321, 0x5432, 0x6543), "B4E": (0x5670, 0x6701, 0x7012, 0x0123),
    "RC8": (0x0000, 0x1111, 0x2222, 0x3333), "ECL": (0x3210, 0x3211, 0x3222, 0x3333),
    "ECR": (0x0000, 0x1110, 0x2210, 0x3210), "RC16": (0x1010, 0x3232, 0x1010, 0x3232),
}  # fmt: skip


# ---- Bytes. ------------------------------------------------------------------------------------
@lifts("PRMT", "UPRMT", says="Picks bytes of two registers.")
def _prmt(line: Line) -> Emit:
    line.only(*_MODES)
    target = line.target()
    a, b, c = line.sources("int", 3)
    known, modes = fixed(b), [_MODES[each] for each in line.modifiers]
    if known is not None and modes:
        known = modes[0][known & 3]

    def emit(block: Block) -> None:
        low, high = block.at.alike(block.read(a), block.read(c))
        if known is not None:
            block.write(target, _bytes(low, high, known))
            return
        wide, chosen = join(low, high), block.read(b)
        if modes:
            which, (*others, last) = chosen & 3, modes[0]
            chosen = which.at.i32(last)
            for turn, nibbles in enumerate(others):
                chosen = (which == turn).choose(nibbles, chosen)
        word = block.at.i32(0)
        for byte in range(4):
            nibble = chosen >> 4 * byte
            place = ((nibble & 7) << 3).resized(64)
            value = (wide >> place).resized(8)
            value = ((nibble & 8) != 0).choose(value.shift_signed(7), value)
            word = word | value.resized(32) << 8 * byte
        block.write(target, word)

    return emit


def _bytes(low: Value, high: Value, chosen: int) -> Value:
    """Return bytes that are known: a nibble for each, its highest bit for eight times the sign."""
    at, builder = low.at, low.at.builder
    words = LANES if low.is_vector else 1
    kind = ir.VectorType(I8, 4 * words)
    nibbles = [chosen >> 4 * byte & 15 for byte in range(4)]

    def shuffled(first: ir.Value, second: ir.Value, places: list[int]) -> ir.Value:
        return builder.shuffle_vector(first, second, ir.Constant(kind_of_places, places))

    kind_of_places = ir.VectorType(I32, 4 * words)
    places = [
        4 * word + (nibble & 3) + (4 * words if nibble & 4 else 0)
        for word in range(words)
        for nibble in nibbles
    ]
    found = shuffled(builder.bitcast(low.ir, kind), builder.bitcast(high.ir, kind), places)
    if any(nibble & 8 for nibble in nibbles):
        signs = builder.ashr(found, ir.Constant(kind, [7] * 4 * words))
        places = [
            4 * word + byte + (4 * words if nibble & 8 else 0)
            for word in range(words)
            for byte, nibble in enumerate(nibbles)
        ]
        found = shuffled(found, signs, places)
    return Value(at, builder.bitcast(found, low.type))


@lifts("IDP", says="Sum of four products of bytes, or of two of halves with bytes.")
def _idp(line: Line) -> Emit:
    line.only("4A", "2A", "LO", "HI", "S8", "U8", "S16", "U16")
    types = [each for each in line.modifiers if each[0] in "SU"]
    signs, wide = [each[0] == "S" for each in types], line.has("2A")
    if [each[1:] for each in types] != ["16" if wide else "8", "8"]:
        raise DecodeProblem("types of IDP")
    if line.has("4A") == wide or line.has("LO") + line.has("HI") != wide:
        raise DecodeProblem("form of IDP")
    bits, first = (16 if wide else 8), (2 if line.has("HI") else 0)
    target = line.target()
    a, b, c = line.sources("int", 3)

    def emit(block: Block) -> None:
        left, right, total = block.read(a), block.read(b), block.read(c)
        for place in range(32 // bits):
            f = (left >> bits * place).resized(bits).resized(32, signs[0])
            g = (right >> 8 * (first + place)).resized(8).resized(32, signs[1])
            total = total + f * g
        block.write(target, total)

    return emit


# ---- Counting and placing. ---------------------------------------------------------------------
@lifts("IABS", "POPC", "UPOPC", "BREV", "UBREV", says="Absolute value, number of ones, mirror.")
def _one_source(line: Line) -> Emit:
    line.only()
    target, a = line.target(), line.source()
    name = line.name.removeprefix("U")

    def emit(block: Block) -> None:
        value = block.read(a)
        if name == "POPC":
            found = value.ones
        elif name == "BREV":
            found = block.at.intrinsic("bitreverse", value.type, value)
        else:
            found = value.less_signed(0).choose(0 - value, value)
        block.write(target, found)

    return emit


@lifts("FLO", "UFLO", says="Position of the highest bit that is set.")
def _flo(line: Line) -> Emit:
    line.only("U32", "SH")
    target = line.target()
    if line.peek(Predicate) and line.predicate_target() is not None:
        raise DecodeProblem(f"predicate of {line.name}")
    a = line.source()

    def emit(block: Block) -> None:
        value = block.read(a)
        if not line.has("U32"):
            value = value.less_signed(0).choose(~value, value)
        above = value.leading
        if line.has("SH"):  # as a shift from the top
            block.write(target, (value == 0).choose(-1, above))
        else:
            block.write(target, 31 - above)

    return emit


# ---- Runs of bits. -----------------------------------------------------------------------------
@lifts("BMSK", "UBMSK", says="A mask of neighbouring ones.")
def _bmsk(line: Line) -> Emit:
    line.only("C", "W")
    target, a, b = line.target(), line.source(), line.source()

    def emit(block: Block) -> None:
        start, width = block.at.alike(block.read(a), block.read(b))
        if line.has("W"):
            start, width = start & 31, width & 31
        ones = (width < 32).choose(~(block.at.constant(width.type, -1) << (width & 31)), -1)
        block.write(target, (start < 32).choose(ones << (start & 31), 0))

    return emit


@lifts("SGXT", "USGXT", says="Extends a sign.")
def _sgxt(line: Line) -> Emit:
    line.only("U32", "W")
    target, a, b = line.target(), line.source(), line.source()

    def emit(block: Block) -> None:
        value, width = block.at.alike(block.read(a), block.read(b))
        if line.has("W"):
            width = width & 31
        drop = (width < 32).choose(32 - width, 0)
        kept = value << (drop & 31)
        kept = kept >> (drop & 31) if line.has("U32") else kept.shift_signed(drop & 31)
        block.write(target, (width == 0).choose(0, kept))

    return emit


# ---- Predicates as bits. -----------------------------------------------------------------------
def _skip_word(line: Line, word: str) -> None:
    """Pass over PR, which some disassemblers leave out."""
    if line.peek(Word) and line.take() != Word(word):
        raise DecodeProblem(f"operand of {line.name}")


@lifts("R2P", says="Predicates from the bits of a register.")
def _r2p(line: Line) -> Emit:
    line.only()
    _skip_word(line, "PR")
    part = line.take_part("B1", "B2", "B3")
    first = 8 * int(part[1]) if part else 0
    a, b = line.source(), line.source()
    known = fixed(b)

    def emit(block: Block) -> None:
        value, chosen = block.read(a), block.read(b)
        for place in range(7):
            if known is not None and not known >> place & 1:
                continue
            found = (value >> first + place & 1) != 0
            if known is None:
                before = block.condition(Condition(place))
                found = (chosen >> place & 1 != 0).choose(found, before)
            block.write_condition(place, found)

    return emit


@lifts("UR2UP", says="Uniform predicates from the bits of a register.")
def _ur2up(line: Line) -> Emit:
    line.only()
    _skip_word(line, "UPR")
    part = line.take_part("B1", "B2", "B3")
    first, a = 8 * int(part[1]) if part else 0, line.source()

    def emit(block: Block) -> None:
        for place in range(7):
            found = block.read(a) >> first + place & 1
            block.write_condition(8 + place, found != 0)

    return emit


@lifts("P2R", "UP2UR", says="Predicates into the bits of a register.")
def _p2r(line: Line) -> Emit:
    line.only("B1", "B2", "B3")
    first = next((8 * byte for byte in (1, 2, 3) if line.has(f"B{byte}")), 0)
    target = line.target()
    _skip_word(line, "UPR" if line.uniform else "PR")
    a, b = line.source(), line.source()

    def emit(block: Block) -> None:
        found, chosen = block.read(a), block.read(b)
        found = found & ~(chosen << first)
        for place in range(7):
            held = block.condition(Condition(place + 8 * line.uniform)).resized(32)
            found = found | (held << place & chosen) << first
        block.write(target, found)

    return emit
