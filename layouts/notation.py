"""CuTe's notation for layouts, read: `(8,4):(4,1)`, `Sw<3,4,3> o 0 o (8,64):(64,1)`.

    layout  :=  [ pointer "o" ] { swizzle "o" [ integer "o" ] }  nest ":" nest
             |  swizzle ( "_" | "o" ) pointer "o"  nest ":" nest
    swizzle :=  ( "Sw" | "S" | "Swizzle" ) "<" integer "," integer "," integer ">"
    pointer :=  [ "smem_" | "gmem_" | "rmem_" ] "ptr[" digits "b]" [ "(" address | "unset" ")" ]
    nest    :=  integer  |  "(" nest { "," nest } ")"
    integer :=  [ "_" ] digits                      `_8` is how CuTe prints a static 8

Blanks may stand anywhere. The grammar has five rules, so the reader is five functions,
and each knows which place to point at when the text does not fit.

A swizzle before a pointer acts on the address, in bytes; any other on the offset, in elements.
So `Sw<3,4,3> o smem_ptr[16b](unset)` is `Sw<3,3,3>` of elements of two bytes. Where the pointer's
address is not a multiple of what the swizzle reads, its lower part is the layout's offset.
Source of the notation: CUTLASS, include/cute/layout.hpp, layout_composed.hpp, pointer.hpp,
pointer_flagged.hpp, pointer_swizzle.hpp and swizzle_layout.hpp, their `print` functions; the
CuTe DSL of Python writes `S<3,4,3>`. What a pointer's swizzle acts on: pointer_swizzle.hpp,
`apply_swizzle`, and pointer_flagged.hpp, `as_position_independent_swizzle_layout`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from layouts.errors import LayoutError, short
from layouts.nested import DEEPEST, Nested
from layouts.swizzle import Swizzle

__all__ = ["Notation", "read_layout"]


class Notation(NamedTuple):
    """What was read; nobody has checked yet that the parts fit."""

    shape: Nested
    stride: Nested
    swizzles: tuple[Swizzle, ...] = ()
    """Of element offsets, the last one applied first."""
    offset: int = 0
    element: int | None = None
    """Bytes of an element, where a pointer says them."""


_TOKEN = re.compile(r"\s*(?:(?P<number>_?[0-9]+)|(?P<name>[A-Za-z_]+)|(?P<other>\S)|\Z)")
_POINTER = re.compile(r"\[(\d{1,4})b\](?:\(\s*(?:unset|\(?nil\)?|(0[xX][0-9a-fA-F]{1,16}))\s*\))?")
_POINTERS = ("ptr", "smem_ptr", "gmem_ptr", "rmem_ptr", "smem_", "gmem_")
_SWIZZLES = ("Sw", "Swizzle", "S")
_DIGITS = 19  # enough for 2**63 - 1


def read_layout(text: str) -> Notation:
    """Read one layout.

    >>> read_layout("((2,4),8):((1,16),2)")
    Notation(shape=((2, 4), 8), stride=((1, 16), 2), swizzles=(), offset=0, element=None)
    >>> read_layout("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)").swizzles
    (Swizzle(bits=3, base=3, shift=3),)
    >>> read_layout("(8,4:(4,1)")
    Traceback (most recent call last):
    layouts.errors.LayoutError: malformed layout: expected ',' or ')' at column 5
      (8,4:(4,1)
          ^

    Raises LayoutError with a caret under the place where the text stops making sense.
    """
    return _Reader(text).layout()


_SWIZZLED = "Sw<3,3,3> o 0 o (64,64):(64,1)"


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

    def fail(self, expected: str, like: str = "") -> NoReturn:
        # Show only the line, and of a long line only the neighbourhood.
        start = max(self.text.rfind("\n", 0, self.place) + 1, self.place - 60)
        line = self.text[start : self.place + 40].split("\n")[0].replace("\t", " ")
        raise LayoutError(
            f"malformed layout: expected {expected} at column {self.place + 1}"
            f"{f' (such as {like})' if like else ''}\n"
            f"  {line}\n  {' ' * (self.place - start)}^"
        )

    def expect(self, sign: str) -> None:
        if self.sign != sign:
            self.fail(f"{sign!r}")
        self.advance()

    def integer(self, what: str, signed: bool = False, like: str = "") -> int:
        if signed and self.sign == "-":
            self.advance()
            return -self.integer(what)
        digits = self.sign.removeprefix("_")
        if not (digits.isascii() and digits.isdecimal()):
            self.fail(what, like)
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

    def pointer(self) -> tuple[int, int]:
        """Read a pointer; return the bytes of its elements, and its address (0: not known)."""
        found = _POINTER.match(self.text, self.end)
        if not found:
            self.place = self.end
            self.fail("the bits of an element and an address, such as [16b](unset)")
        bits = int(found[1])
        if bits not in (8, 16, 32, 64, 128):
            self.place = found.start(1)
            self.fail("elements of 8, 16, 32, 64 or 128 bits")
        self.end = found.end()
        self.advance()
        return bits // 8, int(found[2] or "0", 16)

    def layout(self) -> Notation:
        element = None
        if self.sign in _POINTERS:  # whose address moves all alike
            element, _ = self.pointer()
            self.expect("o")
        swizzles: list[Swizzle] = []
        offset = 0
        while self.sign in _SWIZZLES and not offset:
            swizzles.append(self.swizzle())
            if self.sign == "o":
                self.advance()
            elif self.sign.removeprefix("_") not in _POINTERS:
                self.fail("'o'", _SWIZZLED)
            if self.sign.removeprefix("_") in _POINTERS and len(swizzles) == 1 and not element:
                element, address = self.pointer()
                self.expect("o")
                swizzles, offset = self.of_bytes(swizzles[0], element, address)
                break
            if self.sign not in _SWIZZLES:
                offset = self.integer("the offset, an integer", like=_SWIZZLED)
                self.expect("o")
        shape = self.nest("a shape" if swizzles else "a shape or 'Sw<B,M,S> o'")
        self.expect(":")
        stride = self.nest("a stride")
        if self.sign:
            self.fail("the end")
        return Notation(shape, stride, tuple(swizzles), offset, element)

    def of_bytes(self, swizzle: Swizzle, element: int, address: int) -> tuple[list[Swizzle], int]:
        """Turn a swizzle of byte addresses into one of elements, and the offset of the first."""
        less = element.bit_length() - 1
        if swizzle.base < less and swizzle.bits:
            raise LayoutError(
                f"{swizzle} of byte addresses splits elements of {element} bytes:"
                f" {short(self.text)} (accepted: M of at least {less})"
            )
        read = 1 << swizzle.bits + swizzle.base + abs(swizzle.shift)
        if address % element:
            raise LayoutError(
                f"address {address:#x} is not a multiple of its elements' {element} bytes:"
                f" {short(self.text)} (accepted: multiples of the size of an element)"
            )
        moved = Swizzle(swizzle.bits, max(swizzle.base - less, 0), swizzle.shift)
        return [moved] if swizzle.bits else [], address % read // element if swizzle.bits else 0
