"""Floats of 64 bits."""

from __future__ import annotations

from collections.abc import Callable

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Line, SourceOperand
from simulator.sass.lift.numbers import fused
from simulator.sass.lift.opcodes.comparisons import compare_floats, comparison, join_outcome
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__: list[str] = []


def _operands(line: Line, count: int) -> list[SourceOperand]:
    return [line.source("double", 2) for _ in range(count)]


_OPERATIONS: dict[str, Callable[..., Value]] = {
    "DADD": lambda a, b: a + b, "DMUL": lambda a, b: a * b, "DFMA": fused,
}  # fmt: skip


@lifts("DADD", "DMUL", "DFMA", says="Arithmetic of 64 bits, rounded to nearest.")
def _double(line: Line) -> Emit:
    line.only()
    target, inputs = line.target(2), _operands(line, 3 if line.name == "DFMA" else 2)

    def emit(block: Block) -> None:
        values = [block.pair(each).as_float for each in inputs]
        block.write_pair(target, _OPERATIONS[line.name](*values))

    return emit


@lifts("DSETP", says="Compares doubles.")
def _dsetp(line: Line) -> Emit:
    how, boolean = comparison(line)
    first, second = line.predicate_targets()
    (a, b), others = _operands(line, 2), line.condition()

    def emit(block: Block) -> None:
        found = compare_floats(block.pair(a).as_float, block.pair(b).as_float, how)
        join_outcome(block, boolean, found, others, first, second)

    return emit
