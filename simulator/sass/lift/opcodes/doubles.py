"""Floats of 64 bits."""

from __future__ import annotations

from collections.abc import Callable

from simulator.sass.lift.block import Block
from simulator.sass.lift.directed import EXACT_FMA
from simulator.sass.lift.helpers import call
from simulator.sass.lift.line import ALWAYS, Line, SourceOperand
from simulator.sass.lift.numbers import NEAREST, ROUNDINGS, fused, rounding
from simulator.sass.lift.opcodes.comparisons import compare_floats, comparison, join_outcome
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


def _operands(line: Line, count: int) -> list[SourceOperand]:
    return [line.source("double", 2) for _ in range(count)]


_OPERATIONS: dict[str, Callable[..., Value]] = {
    "DADD": lambda a, b: a + b, "DMUL": lambda a, b: a * b, "DFMA": fused,
}  # fmt: skip


@lifts("DADD", "DMUL", "DFMA", says="Arithmetic of 64 bits, in four roundings.")
def _double(line: Line) -> Emit:
    line.only(*ROUNDINGS)
    how = rounding(line)
    target, inputs = line.target(2), _operands(line, 3 if line.name == "DFMA" else 2)

    def emit(block: Block) -> None:
        values = [block.pair(each).as_float for each in inputs]
        if how == NEAREST:
            found = _OPERATIONS[line.name](*values)
        else:
            found = _directed(block, line.name, [each.as_bits.spread() for each in values], how)
        block.write_pair(target, found)

    return emit


def _directed(block: Block, name: str, values: list[Value], how: int) -> Value:
    """Round in another direction than to nearest: each operation is a·b + c."""
    a, b, *more = values
    if name == "DADD":
        a, b, more = a, block.at.constant(a.type, 0x3FF << 52), [b]
    elif name == "DMUL":  # a zero with the sign of the product changes nothing
        more = [(a ^ b) & 1 << 63]
    return call(block.at, EXACT_FMA, a, b, *more, options=(how,))


@lifts("DSETP", says="Compares doubles; MIN and MAX choose one, for `fmin` and `fmax`.")
def _dsetp(line: Line) -> Emit:
    if line.has("MIN", "MAX"):
        return _choice(line)
    how, boolean = comparison(line)
    first, second = line.predicate_targets()
    (a, b), others = _operands(line, 2), line.condition()

    def emit(block: Block) -> None:
        found = compare_floats(block.pair(a).as_float, block.pair(b).as_float, how)
        join_outcome(block, boolean, found, others, first, second)

    return emit


def _choice(line: Line) -> Emit:
    """Say whether the first is the least or the greatest; and whether neither is a number.

    Compilers take the second where the first is not meant, and make it a quiet NaN where the other
    predicate is set. So that is set where both are NaNs, and nowhere else. -0 is less than +0.
    """
    line.only("MIN", "MAX", "AND")
    first, second = line.predicate_targets()
    a, b = _operands(line, 2)
    if line.condition() != ALWAYS or line.has("MIN") == line.has("MAX"):
        raise DecodeProblem("form of DSETP")

    def emit(block: Block) -> None:
        f, g = block.at.alike(block.pair(a).as_float, block.pair(b).as_float)
        less = (f < g) | (f == g) & (f.as_bits > g.as_bits)
        chosen = less if line.has("MIN") else ~less & ~f.is_nan
        block.write_condition(first, chosen | g.is_nan & ~f.is_nan)
        block.write_condition(second, f.is_nan & g.is_nan)

    return emit
