"""Integers of 64 bits in two registers, as sm_100 and later have them."""

from __future__ import annotations

from simulator.sass.lift.block import Block, join
from simulator.sass.lift.line import NEVER, Bits, Line, SourceOperand
from simulator.sass.lift.opcodes.comparisons import comparison, join_outcome
from simulator.sass.lift.operands import DecodeProblem, Number
from simulator.sass.lift.table import Emit
from simulator.sass.lift.values import Value

__all__ = [
    "choice_of_pairs",
    "comparison_of_pairs",
    "copy_of_pair",
    "least_of_pairs",
    "sum_of_pairs",
]

_ALL = (1 << 64) - 1


def _source(line: Line) -> SourceOperand:
    """Read a pair; an immediate is what is printed, with its sign, in 64 bits."""
    if not line.peek(Number):
        return line.source("int", words=2)
    return SourceOperand(Bits(line.immediate() & _ALL))


def _read(block: Block, source: SourceOperand) -> Value:
    """Read a pair, as its sign or inversion leaves it."""
    wide = join(block.word(source, 0), block.word(source, 1))
    return 0 - wide if source.negative else ~wide if source.inverted else wide


def sum_of_pairs(line: Line, count: int) -> Emit:
    """Lift IADD.64 and IADD3.64: a sum of two or three pairs; of two with a carry in and out."""
    target = line.target(2)
    carry, second = line.predicate_targets()
    if second is not None or (carry is not None and count > 2):  # none was seen
        raise DecodeProblem(f"predicates of {line.name}")
    inputs = [_source(line) for _ in range(count)]
    if count == 2:
        before = line.condition(NEVER) if line.has("X") else NEVER

        def emit_carries(block: Block) -> None:
            a, b = (_read(block, each) for each in inputs)
            one = block.condition(before).spread().resized(64)
            half, whole = a + b, a + b + one
            out = (half < a) | (whole < half)
            for each in inputs:  # `-b` is `~b` + 1, whose carry counts: where b is 0
                if each.negative:
                    out = out | (_read(block, each) == 0)
            block.write_pair(target, whole)
            block.write_condition(carry, out)

        return emit_carries

    def emit(block: Block) -> None:
        total, *others = (_read(block, each) for each in inputs)
        for other in others:
            total = total + other
        block.write_pair(target, total)

    return emit


def copy_of_pair(line: Line) -> Emit:
    """Lift MOV.64."""
    target, a = line.target(2), _source(line)
    return lambda block: block.write_pair(target, _read(block, a))


def choice_of_pairs(line: Line) -> Emit:
    """Lift SEL.64: one of two pairs by a predicate."""
    target = line.target(2)
    a, b, condition = _source(line), _source(line), line.condition()

    def emit(block: Block) -> None:
        chosen = block.condition(condition).choose(_read(block, a), _read(block, b))
        block.write_pair(target, chosen)

    return emit


def comparison_of_pairs(line: Line) -> Emit:
    """Lift ISETP.U64 and ISETP.S64."""
    how, boolean = comparison(line, "U64", "S64")
    first, second = line.predicate_targets()
    a, b = _source(line), _source(line)
    others = line.condition()
    signed = line.has("S64")

    def emit(block: Block) -> None:
        f, g = block.at.alike(_read(block, a), _read(block, b))
        found = block.at.bit(False)
        if how & 1:
            found = found | f.compare("<", g, signed)
        if how & 2:
            found = found | (f == g)
        if how & 4:
            found = found | f.compare(">", g, signed)
        join_outcome(block, boolean, found, others, first, second)

    return emit


def least_of_pairs(line: Line) -> Emit:
    """Lift IMNMX.U64 and IMNMX.S64: the lesser of two pairs, or with !PT the greater."""
    line.only("U64", "S64")
    told = line.predicate_targets()
    target, a, b = line.target(2), _source(line), _source(line)
    least, also = line.condition(), line.condition(NEVER)
    if told != (None, None) or also != NEVER:  # no other was seen
        raise DecodeProblem(f"predicates of {line.name}")

    def emit(block: Block) -> None:
        f, g = block.at.alike(_read(block, a), _read(block, b))
        first = block.condition(least) ^ ~f.compare("<", g, line.has("S64"))
        block.write_pair(target, first.choose(f, g))

    return emit
