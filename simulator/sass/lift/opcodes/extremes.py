"""Least and greatest of integers, of 32 bits or of pairs of 16 (DPX), and differences."""

from __future__ import annotations

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Condition, Line
from simulator.sass.lift.opcodes.pairs import least_of_pairs
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []

_PARTS = {"S16x2": 16, "U16x2": 16, "S8x4": 8, "U8x4": 8}
"""Bits of what a word holds several of."""


# ---- Least and greatest. -----------------------------------------------------------------------
@lifts(
    "IMNMX",
    "VIMNMX",
    "UIMNMX",
    "UVIMNMX",
    says="Minimum or maximum of two integers, also of 64 bits, or of two pairs or four bytes.",
)
def _imnmx(line: Line) -> Emit:
    if line.has("U64", "S64"):
        return least_of_pairs(line)
    _check_modifiers(line)
    target, told = line.target(), line.predicate_targets()
    has_room = line.has("S16x2", "U16x2")  # sm_100 has room for two of 32 bits
    if told != (None, None) and not has_room:
        raise DecodeProblem(f"predicates of {line.name}")
    a, b = line.source(), line.source()
    least = line.condition()

    def emit(block: Block) -> None:
        first, second = (_parts(line, block.read(each)) for each in (a, b))
        found = []
        for place, (f, g) in enumerate(zip(first, second, strict=True)):
            found.append(_either(block, f, g, least, not line.has("U32")))
            if place < 2 and told[place] is not None:  # whether it is the first, of equals too
                f, g = block.at.alike(f, g)
                yes = block.condition(least)
                first_wins = (yes & (f == g)) | (f.compare("<", g, signed=True) ^ ~yes)
                block.write_condition(told[place], first_wins)
        block.write(target, _joined(line, found))

    return emit


def _check_modifiers(line: Line) -> None:
    line.only("U32", "S32", "RELU", *_PARTS)
    if line.has("U32", "U16x2", "U8x4") and line.has("RELU"):
        raise DecodeProblem(f"modifiers of {line.name}")


def _parts(line: Line, word: Value) -> list[Value]:
    """Return what is compared: the word, or its halves as 32-bit integers, the low one first."""
    if not line.has(*_PARTS):
        return [word]
    signed, bits = line.has("S16x2", "S8x4"), _bits(line)
    return [(word >> shift).resized(bits).resized(32, signed) for shift in range(0, 32, bits)]


def _bits(line: Line) -> int:
    return next(bits for name, bits in _PARTS.items() if line.has(name))


def _joined(line: Line, parts: list[Value]) -> Value:
    """Return the word of what was found; below zero it is zero with RELU."""
    if line.has("RELU"):
        parts = [each.less_signed(0).choose(0, each) for each in parts]
    if len(parts) == 1:
        return parts[0]
    bits, word = _bits(line), parts[0].at.i32(0)
    for place, part in enumerate(parts):
        word = word | (part & (1 << bits) - 1) << place * bits
    return word


def _either(block: Block, a: Value, b: Value, least: Condition, signed: bool) -> Value:
    """Return the least or the greatest of two."""
    a, b = block.at.alike(a, b)
    less = a.compare("<", b, signed)
    return (less ^ ~block.condition(least)).choose(a, b)


@lifts("VIADDMNMX", says="Minimum or maximum of a + b and c, or of pairs.")
def _viaddmnmx(line: Line) -> Emit:
    _check_modifiers(line)
    target, inputs = line.target(), line.sources("int", 3)
    least = line.condition()

    def emit(block: Block) -> None:
        words = [_parts(line, block.read(each)) for each in inputs]
        found = []
        for a, b, c in zip(*words, strict=True):
            total = a + b
            if line.has(*_PARTS):  # a sum of 16 bits wraps
                total = total.resized(_bits(line)).resized(32, line.has("S16x2", "S8x4"))
            found.append(_either(block, total, c, least, not line.has("U32")))
        block.write(target, _joined(line, found))

    return emit


@lifts("VIMNMX3", says="Minimum or maximum of three integers, or of three pairs.")
def _vimnmx3(line: Line) -> Emit:
    _check_modifiers(line)
    target, inputs = line.target(), line.sources("int", 3)
    least, signed = line.condition(), not line.has("U32")

    def emit(block: Block) -> None:
        found = []
        for best, *others in zip(*(_parts(line, block.read(each)) for each in inputs), strict=True):
            for other in others:
                best = _either(block, other, best, least, signed)
            found.append(best)
        block.write(target, _joined(line, found))

    return emit


# ---- Differences. ------------------------------------------------------------------------------
@lifts("VABSDIFF", says="|a - b| + c.")
def _vabsdiff(line: Line) -> Emit:
    line.only("U32", "S32")
    target, (a, b, c) = line.target(), line.sources("int", 3)

    def emit(block: Block) -> None:
        block.write(
            target, _apart(block, block.read(a), block.read(b), not line.has("U32")) + block.read(c)
        )

    return emit


def _apart(block: Block, a: Value, b: Value, signed: bool) -> Value:
    a, b = block.at.alike(a, b)
    return a.compare("<", b, signed).choose(b - a, a - b)


@lifts("VABSDIFF4", says="|a - b| of four unsigned bytes; with ACC their sum, plus c.")
def _vabsdiff4(line: Line) -> Emit:
    line.only("U8", "ACC")
    target, (a, b, c) = line.target(), line.sources("int", 3)
    if not line.has("U8") or not (line.has("ACC") or c.is_zero):  # no other was seen
        raise DecodeProblem("form of VABSDIFF4")

    def emit(block: Block) -> None:
        words, found = (block.read(a), block.read(b)), block.read(c)
        for shift in range(0, 32, 8):
            f, g = (each >> shift & 0xFF for each in words)
            apart = _apart(block, f, g, signed=False)
            found = found + apart if line.has("ACC") else found | apart << shift
        block.write(target, found)

    return emit
