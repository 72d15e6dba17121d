"""CuTe's notation for layouts, read: `(8,4):(4,1)`, `Sw<3,4,3> o 0 o (8,64):(64,1)`.

    layout  :=  [ swizzle "o" integer "o" ]  nest ":" nest
    swizzle :=  "Sw<" integer "," integer "," integer ">"
    nest    :=  integer  |  "(" nest { "," nest } ")"
    integer :=  [ "_" ] digits                      `_8` is how CuTe prints a static 8

Blanks may stand anywhere. The grammar has four rules, so the reader is four functions,
and each knows which place to point at when the text does not fit.
Source of the notation: CUTLASS, include/cute/layout.hpp, composed_layout.hpp and
swizzle.hpp, their `print` functions.
"""

from __future__ import annotations

import re
from typing import NoReturn

from layouts.errors import LayoutError
from layouts.nested import DEEPEST, Nested
from layouts.swizzle import Swizzle

__all__ = ["Notation", "read_layout"]

Notation = tuple[Nested, Nested, Swizzle | None, int]
"""Shape, stride, swizzle and offset, as read; nobody has checked yet that they fit."""

_TOKEN = re.compile(r"\s*(?:(?P<number>_?[0-9]+)|(?P<name>[A-Za-z]+)|(?P<other>\S)|\Z)")
_DIGITS = 19  # enough for 2**63 - 1


def read_layout(text: str) -> Notation:
    """Read one layout.

    >>> read_layout("((2,4),8):((1,16),2)")
    (((2, 4), 8), ((1, 16), 2), None, 0)
    >>> read_layout("(8,4:(4,1)")
    Traceback (most recent call last):
    layouts.errors.LayoutError: malformed layout: expected ',' or ')' at column 5
      (8,4:(4,1)
          ^

    Raises LayoutError with a caret under the place where the text stops making sense.
    """
    return _Reader(text).layout()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0  # the current sign, a number, name or character, starts here, and
        self.end = 0  # ends here
        self.sign = ""
        self.advance()

    def advance(self) -> None:
        found = _TOKEN.match(self.text, self.end)
        # every text matches: a number, a name, any one sign, or nothing more
        kind = found.lastgroup if found else None
        self.sign = found[kind] if found and kind else ""
        self.place = found.start(kind) if found and kind else len(self.text.rstrip())
        self.end = found.end() if found else len(self.text)

    def fail(self, expected: str) -> NoReturn:
        # Show only the line, and of a long line only the neighbourhood.
        start = max(self.text.rfind("\n", 0, self.place) + 1, self.place - 60)
        line = self.text[start : self.place + 40].split("\n")[0].replace("\t", " ")
        raise LayoutError(
            f"malformed layout: expected {expected} at column {self.place + 1}\n"
            f"  {line}\n  {' ' * (self.place - start)}^"
        )

    def expect(self, sign: str) -> None:
        if self.sign != sign:
            self.fail(f"{sign!r}")
        self.advance()

    def integer(self, what: str, signed: bool = False) -> int:
        if signed and self.sign == "-":
            self.advance()
            return -self.integer(what)
        digits = self.sign.removeprefix("_")
        if not (digits.isascii() and digits.isdecimal()):
            self.fail(what)
        if len(digits) > _DIGITS:
            self.fail(f"a number of at most {_DIGITS} digits")
        self.advance()
        return int(digits)

    def nest(self, what: str, level: int = 0) -> Nested:
        if self.sign != "(":
            return self.integer(f"{what}: an integer or '('")
        if level == DEEPEST:
            self.fail(f"at most {DEEPEST} parentheses inside one another")
        self.advance()
        parts = [self.nest(what, level + 1)]
        while self.sign == ",":
            self.advance()
            parts.append(self.nest(what, level + 1))
        if self.sign != ")":
            self.fail("',' or ')'")
        self.advance()
        return tuple(parts)

    def swizzle(self) -> Swizzle:
        self.advance()
        self.expect("<")
        bits = self.integer("the number of bits")
        self.expect(",")
        base = self.integer("the lowest bit")
        self.expect(",")
        shift = self.integer("the shift", signed=True)
        self.expect(">")
        return Swizzle(bits, base, shift)

    def layout(self) -> Notation:
        swizzle, offset = None, 0
        if self.sign in ("Sw", "Swizzle"):
            swizzle = self.swizzle()
            self.expect("o")
            offset = self.integer("the offset, an integer")
            self.expect("o")
        shape = self.nest("a shape" if swizzle else "a shape or 'Sw<B,M,S> o'")
        self.expect(":")
        stride = self.nest("a stride")
        if self.sign:
            self.fail("the end")
        return shape, stride, swizzle, offset
