"""Comparisons, and the integers that types name."""

from __future__ import annotations

from collections.abc import Callable

from tests.sass_plain.lane import Lane, signed

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "F": lambda a, b: False, "T": lambda a, b: True,
    "LT": lambda a, b: a < b, "EQ": lambda a, b: a == b, "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b, "NE": lambda a, b: a < b or a > b, "GE": lambda a, b: a >= b,
    "NUM": lambda a, b: a == a and b == b, "NAN": lambda a, b: a != a or b != b,
    "LTU": lambda a, b: not a >= b, "EQU": lambda a, b: not (a < b or a > b),
    "LEU": lambda a, b: not a > b, "GTU": lambda a, b: not a <= b, "NEU": lambda a, b: a != b,
    "GEU": lambda a, b: not a < b,
}  # fmt: skip
JOIN: dict[str, Callable[[bool, bool], bool]] = {
    "AND": lambda a, b: a and b, "OR": lambda a, b: a or b, "XOR": lambda a, b: a != b,
}  # fmt: skip


def comparison(x: Lane) -> Callable[[float, float], bool]:
    return next(COMPARE[each] for each in x.modifiers if each in COMPARE)


def join(x: Lane, found: bool, other: bool) -> bool:
    return next((JOIN[each] for each in x.modifiers if each in JOIN), JOIN["AND"])(found, other)


def put_outcome(x: Lane, targets: list[str], found: bool) -> None:
    """Write a comparison and its opposite, each joined with the predicate that follows."""
    other = x.condition()
    x.put(targets[0], join(x, found, other))
    x.put(targets[1], join(x, not found, other))


INTEGERS = {f"{sign}{bits}": (bits, sign == "S") for bits in (8, 16, 32, 64) for sign in "SU"}


def limits(kind: str) -> tuple[int, int]:
    bits, is_signed = INTEGERS[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def integer_of(x: Lane, kind: str) -> int:
    """Read an integer of a type, from the byte of its register that is named."""
    bits, is_signed = INTEGERS[kind]
    if bits == 64:
        value = x.pair()
    else:
        name, _, part = x.operands[x.next].partition(".")
        x.operands[x.next] = name if part else x.operands[x.next]
        value = x.integer() >> 8 * int(part[1:] or 0) & (1 << bits) - 1
    return signed(value, bits) if is_signed else value
