"""What comparisons of all kinds of numbers share."""

from __future__ import annotations

from simulator.sass.lift.block import Block
from simulator.sass.lift.line import Condition, Line
from simulator.sass.lift.operands import DecodeProblem
from simulator.sass.lift.values import Value

__all__ = ["compare_floats", "comparison", "join_outcome", "joined"]

# A comparison is the set of outcomes that it accepts: 1 less, 2 equal, 4 greater, 8 unordered.
COMPARISONS = {
    "F": 0, "LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6, "NUM": 7, "NAN": 8, "LTU": 9,
    "EQU": 10, "LEU": 11, "GTU": 12, "NEU": 13, "GEU": 14, "T": 15,
}  # fmt: skip
BOOLEANS = {"AND": 0, "OR": 1, "XOR": 2}
_BY_SET = {1: "<", 2: "==", 3: "<=", 4: ">", 5: "!=", 6: ">=", 7: "ord"}


def comparison(line: Line, *more: str) -> tuple[int, int]:
    """Read a comparison and how it is joined with a predicate: 0 AND, 1 OR, 2 XOR."""
    line.only(*COMPARISONS, *BOOLEANS, *more)
    compare = [each for each in line.modifiers if each in COMPARISONS]
    boolean = [each for each in line.modifiers if each in BOOLEANS]
    if len(compare) != 1 or len(boolean) > 1:
        raise DecodeProblem(f"comparison of {line.name}")
    return COMPARISONS[compare[0]], BOOLEANS[boolean[0]] if boolean else 0


def compare_floats(a: Value, b: Value, how: int) -> Value:
    """Compare floats, not-a-numbers among them."""
    a, b = a.at.alike(a, b)
    builder = a.at.builder
    if how & 7 == how == 0 or how == 15:
        return a.at.bit(how == 15)
    if how == 8:
        return Value(a.at, builder.fcmp_unordered("uno", a.ir, b.ir))
    if how & 8:
        return Value(a.at, builder.fcmp_unordered(_BY_SET[how & 7], a.ir, b.ir))
    return Value(a.at, builder.fcmp_ordered(_BY_SET[how], a.ir, b.ir))


def joined(block: Block, boolean: int, found: Value, others: Condition) -> Value:
    """Join an outcome with a predicate: 0 AND, 1 OR, 2 XOR."""
    more = block.condition(others)
    if boolean == 0:
        return found if others.is_always else found & more
    return found | more if boolean == 1 else found ^ more


def join_outcome(
    block: Block, boolean: int, found: Value, others: Condition, first: int | None,
    second: int | None,
) -> None:  # fmt: skip
    """Write an outcome and its opposite, each joined with a predicate.

    Parameters
    ----------
    block
        Where it is written.
    boolean
        How they are joined: 0 AND, 1 OR, 2 XOR.
    found
        The outcome of the comparison, a lane each.
    others
        The predicate that it is joined with.
    first, second
        Predicates that get the outcome and its opposite; None: nobody reads it.
    """
    outcomes = [joined(block, boolean, each, others) for each in (found, ~found)]
    for target, value in zip((first, second), outcomes, strict=True):
        block.write_condition(target, value)
