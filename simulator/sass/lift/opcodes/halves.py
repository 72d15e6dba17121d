"""Pairs of 16-bit floats."""

from __future__ import annotations

from simulator.sass.decode.operands import DecodeProblem
from simulator.sass.lift.line import Line
from simulator.sass.lift.table import Emit, lifts

__all__: list[str] = []


@lifts("HFMA2", says="Arithmetic on pairs of 16-bit floats.")
def _hfma2(line: Line) -> Emit:
    line.only("MMA", "BF16_V2", "F32", "SAT", "RELU", "FTZ", "BF16")
    target = line.target()
    a, b, c = line.sources("half", 3)
    zeros = all(each.place == a.place for each in (a, b)) and a.place.number == -1  # type: ignore[union-attr]
    if not zeros or c.changed or line.has("BF16_V2", "SAT", "RELU", "F32"):
        raise DecodeProblem(f"operands of {line.name}")
    # -0·0 + c is c: how compilers load a constant.
    return lambda block: block.write(target, block.read(c))
