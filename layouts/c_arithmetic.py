"""C's integer operators: 32 bits, signed and unsigned, and the integer types of casts."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

__all__ = [
    "BINARY",
    "COMPARED",
    "ORDERED",
    "UNARY",
    "ShiftError",
    "integer_type",
    "narrowed",
    "unsigned",
]


def integer_type(token: str) -> tuple[int, bool]:
    """Return the bits of the type that is cast to, and whether it is unsigned."""
    words = set(re.findall(r"\w+", token))
    unsigned = any(re.match(r"u|size_t", word) for word in words)
    if words & {"char", "uchar", "int8_t", "uint8_t"}:
        return 8, unsigned
    return (16 if words & {"short", "ushort", "int16_t", "uint16_t"} else 32), unsigned


def narrowed(token: str) -> Callable[[int], int] | None:
    """Return what becomes of a number in a type narrower than `int`; None for other types.

    >>> narrowed("uint8_t")(256), narrowed("signed char")(200), narrowed("bool")(4)
    (0, -56, 1)
    """
    if re.search(r"\bbool\b", token):
        return lambda value: int(value != 0)
    bits, unsigned = integer_type(token)
    if bits == 32:
        return None
    low = 0 if unsigned else 2 ** (bits - 1)
    return lambda value: (value + low) % 2**bits - low


class ShiftError(Exception):
    """A shift that C leaves undefined."""


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if not 0 <= b < 32:
            raise ShiftError(f"shift by {b} (accepted: 0 to 31)")
        return function(a, b)

    return shift


UNARY: dict[str, Callable[[int], int]] = {
    "+": operator.pos,
    "-": operator.neg,
    "~": operator.invert,
    "!": lambda a: int(a == 0),
}
BINARY: dict[str, Callable[[int, int], int]] = {
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "+": operator.add,
    "-": operator.sub,
    "<<": _shift(operator.lshift),
    ">>": _shift(operator.rshift),
    "&": operator.and_,
    "^": operator.xor,
    "|": operator.or_,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}


COMPARED = ("<", "<=", ">", ">=", "==", "!=")
ORDERED = ("/", "%", ">>", "<", "<=", ">", ">=")
"""Operators whose value depends on whether a number below 0 wraps around."""


def unsigned(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Return an operator for unsigned numbers, whose 32 bits are read as an int."""

    def evaluate(a: int, b: int) -> int:
        found = function(a % 2**32, b % 2**32)
        return found - 2**32 if found >= 2**31 else found

    return evaluate
