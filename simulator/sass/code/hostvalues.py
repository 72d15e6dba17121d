"""Values of host code while it is read for launches: numbers, allocations, unknowns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

__all__ = [
    "ENUMERATOR",
    "FUNCTIONS",
    "LAMBDA",
    "SHORT_TYPES",
    "SIZES",
    "Allocation",
    "Cell",
    "Dim3",
    "Pack",
    "Reference",
    "Type",
    "Unknown",
    "arithmetic",
    "balanced",
    "bytes_of",
    "cast",
    "literal",
    "plain_type",
    "type_size",
    "vector_element",
]

ENUMERATOR = "enumerator"
"""Type of a constant of an enum: a template takes its name, not its number."""

LAMBDA = "auto lambda"
"""Type of a variable that holds a lambda."""

SIZES = {
    "void": 1, "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1,
    "uint8_t": 1, "uchar": 1, "short": 2, "unsigned short": 2, "int16_t": 2, "uint16_t": 2,
    "ushort": 2, "half": 2, "__half": 2, "nv_bfloat16": 2, "__nv_bfloat16": 2, "bfloat16": 2,
    "int": 4, "unsigned": 4, "unsigned int": 4, "signed": 4, "int32_t": 4, "uint32_t": 4, "uint": 4,
    "float": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8,
    "long int": 8, "unsigned long int": 8, "long long int": 8, "unsigned long long int": 8,
    "int64_t": 8, "uint64_t": 8, "size_t": 8, "ssize_t": 8, "ptrdiff_t": 8, "uintptr_t": 8,
    "intptr_t": 8, "double": 8, "half2": 4, "__half2": 4, "nv_bfloat162": 4, "__nv_bfloat162": 4,
    "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1, "cuComplex": 8, "cufftComplex": 8,
    "cuDoubleComplex": 16, "dim3": 12,
}  # fmt: skip
"""Bytes of the types that a kernel's parameters have."""
SIZES |= {
    f"{sign}{name}{count}": size * count
    for sign, name, size in (
        ("", "char", 1), ("u", "char", 1), ("", "short", 2), ("u", "short", 2), ("", "int", 4),
        ("u", "int", 4), ("", "float", 4), ("", "double", 8), ("", "long", 8), ("u", "long", 8),
        ("", "longlong", 8), ("u", "longlong", 8),
    )
    for count in (1, 2, 3, 4)
}  # fmt: skip

SIZES |= {
    " ".join(order): size
    for words, size in (("short", 2), ("", 4), ("long", 8), ("long long", 8))
    for sign in ("", "signed", "unsigned")
    for end in ("int", "")
    for order in permutations(f"{sign} {words} {end}".split())
    if order
}
"""Integers whose words stand in any order: `long unsigned int`."""

SHORT_TYPES = {
    "half": "f16", "__half": "f16", "half2": "f16", "__half2": "f16", "nv_bfloat16": "bf16",
    "__nv_bfloat16": "bf16", "bfloat16": "bf16", "nv_bfloat162": "bf16", "__nv_bfloat162": "bf16",
    "__nv_fp8_e4m3": "e4m3", "__nv_fp8_e5m2": "e5m2", "float": "f32", "double": "f64",
    "cuComplex": "f32", "cufftComplex": "f32", "cuDoubleComplex": "f64", "bool": "u8",
    "void": "u8",
}  # fmt: skip
"""Element types of arguments, by the type in C++ (integers go by their size)."""

_WORDS = re.compile(
    r"\b(?:const|volatile|struct|class|typename|__restrict__|__restrict|restrict|static|constexpr"
    r"|register|inline|extern|std::|__grid_constant__)(?:\b|(?<=:))\s*"
)


@dataclass(frozen=True)
class Unknown:
    """What could not be evaluated, by the name that it has in the source."""

    name: str
    expression: str = field(default="", compare=False)
    """What was made of it, such as `n / 1024`; empty: the name itself."""


@dataclass
class Allocation:
    """Memory that host code asked for."""

    bytes: int | None
    element: str | None = None
    zero: bool = False
    """Whether it was set to zeros last."""
    pointers: dict[int, Cell] = field(default_factory=dict, compare=False)
    """Elements that are pointers, by their index: what host code put there."""
    inside: Allocation | None = field(default=None, compare=False)
    """Of a pointer into another allocation: that one."""
    offset: Any = 0
    """Of such a pointer: the bytes from the beginning."""

    @property
    def whole(self) -> Allocation:
        """What was allocated."""
        return self.inside or self

    @property
    def target(self) -> Allocation:
        """What a copy to this pointer fills: all of the allocation, from its beginning on."""
        return self.whole if self.offset == 0 else self

    def moved(self, by: Any, size: int | None) -> Allocation:
        """Return a pointer that is `by` elements of `size` bytes further."""
        if isinstance(by, int) and by == 0:
            return self
        known = isinstance(by, int) and isinstance(self.offset, int) and size is not None
        offset = self.offset + by * size if known and size else self._unknown(by)
        return replace(self, inside=self.whole, offset=offset)

    def _unknown(self, by: Any) -> Unknown:
        """Return what is not known of where a pointer goes; "" where no variable tells it."""
        causes = [each for each in (self.offset, by) if isinstance(each, Unknown)]
        return causes[0] if causes else Unknown("")

    def pointer_to(self, element: str) -> Allocation:
        """Return the same address as a pointer to another type."""
        if self.element is None:
            self.element = element
        if element in (self.element, "void"):
            return self
        return replace(self, inside=self.whole, element=element)

    def copied(self) -> Allocation:
        """Return another allocation of the same size: a vector that is assigned to one."""
        return replace(self, inside=None, offset=0)


def bytes_of(size: Any) -> int | None:
    """Return the bytes that an allocation asks for; floats lose their fraction, as in C.

    >>> bytes_of(math.ceil(4.1) * 4.0), bytes_of(Unknown("n"))
    (20, None)
    """
    return int(size) if isinstance(size, int | float) and math.isfinite(size) else None


class Whole(int):
    """An integer of another type than int; what is made of it has a type by the rules of C."""

    bits: int
    is_unsigned: bool


@dataclass(frozen=True)
class Dim3:
    """The extents of a grid or block."""

    x: Any = 1
    y: Any = 1
    z: Any = 1


@dataclass(frozen=True)
class Type:
    """A type, where a template takes one."""

    name: str


@dataclass(frozen=True)
class Pack:
    """What a variadic function is given: `Args... args`."""

    values: tuple[Any, ...]
    types: tuple[str | None, ...]


@dataclass
class Cell:
    """A variable."""

    value: Any
    type: str = ""
    is_assumed: bool = False
    """Whether its value stands for the first one that it is given."""


@dataclass(frozen=True)
class Reference:
    """The address of a variable."""

    cell: Cell = field(compare=False)


def plain_type(text: str) -> str:
    """Return a type without qualifiers and with one space between words.

    >>> plain_type("const  float * __restrict__"), plain_type("unsigned   int")
    ('float*', 'unsigned int')
    """
    text = _WORDS.sub("", text)
    return re.sub(r"\s*([*&<>,])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def type_size(name: str, aliases: Mapping[str, str], depth: int = 0) -> int | None:
    """Return the bytes of a type; None where it is not known here."""
    name = plain_type(name).removesuffix("&")
    if name.endswith("*"):
        return 8
    if name in SIZES:
        return SIZES[name]
    short = name.rsplit("::", 1)[-1]
    for each in (name, short):
        if each in aliases and depth < 8:
            return type_size(aliases[each], aliases, depth + 1)
    return SIZES.get(short)


def cast(value: Any, name: str) -> Any:
    """Convert a number to a type, as C does."""
    name = plain_type(name).removesuffix("&")
    if not isinstance(value, int | float | bool):
        return value
    if name in ("float", "double"):
        return float(value)
    if name == "bool":
        return bool(value)
    size = SIZES.get(name)
    if size is None or name in SHORT_TYPES or name in ("dim3",) or name[-1:].isdigit():
        return value
    if isinstance(value, float) and (value != value or abs(value) > 2.0**63):
        return Unknown("a number out of range")
    bits = 8 * size
    number = int(value) & ((1 << bits) - 1)
    is_unsigned = name.startswith(("u", "size_t")) or "unsigned" in name
    if bits == 64 or (bits == 32 and is_unsigned):
        return _whole(number, bits, is_unsigned)
    return number - (1 << bits) if not is_unsigned and number >> (bits - 1) else number


def _whole(number: int, bits: int, is_unsigned: bool) -> Whole:
    """Return an integer as a type has it, wrapped around where it does not fit."""
    number &= (1 << bits) - 1
    if not is_unsigned and number >> (bits - 1):
        number -= 1 << bits
    made = Whole(number)
    made.bits, made.is_unsigned = bits, is_unsigned
    return made


def literal(number: int, suffix: str, is_decimal: bool) -> int:
    """Return an integer of the source with its type: `255u`, `1l`, `0xffffffff`.

    >>> literal(255, "u", True).bits, type(literal(7, "", True)).__name__
    (32, 'int')
    """
    suffix = suffix.lower()
    bits = 64 if "l" in suffix or "z" in suffix or number >> 32 else 32
    is_unsigned = "u" in suffix or (not is_decimal and bool(number >> (bits - 1)))
    return _whole(number, bits, is_unsigned) if is_unsigned or bits == 64 else number


def balanced(value: Any, other: Any) -> Any:
    """Return a number as `a ? value : other` has it: in the type that both have in common.

    >>> balanced(-1, literal(0, "u", True)), balanced(1, 2.5)
    (4294967295, 1.0)
    """
    if not isinstance(value, int) or not isinstance(other, int | float):
        return value
    if isinstance(other, float):
        return float(value)
    if isinstance(value, bool) and isinstance(other, bool):
        return value
    typed = isinstance(value, Whole) or isinstance(other, Whole)
    return _whole(int(value), *_common(value, other)) if typed else int(value)


def _type_of(number: int) -> tuple[int, bool]:
    """Return the bits of an integer's type, and whether that is unsigned."""
    if isinstance(number, Whole):
        return number.bits, number.is_unsigned
    return (32 if -(1 << 31) <= number < 1 << 31 else 64), False


def _common(left: int, right: int) -> tuple[int, bool]:
    """Return the type that C's usual conversions give two integers: bits, whether unsigned."""
    kinds = _type_of(left), _type_of(right)
    bits = max(each for each, _ in kinds)
    return bits, any(is_unsigned for each, is_unsigned in kinds if each == bits)


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    """Apply an operator of C to two numbers."""
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return Unknown(f"{left} {operator} {right}"[:60])
    if isinstance(left, int) and isinstance(right, int):
        if operator in ("<<", ">>"):
            return _shifted(operator, left, right)
        if isinstance(left, Whole) or isinstance(right, Whole):
            return _typed(operator, left, right)
    found = _applied(operator, left, right)
    return found if not isinstance(found, int) or abs(found) < 2**64 else Unknown("overflow")


def _typed(operator: str, left: int, right: int) -> Any:
    """Apply an operator by C's usual conversions, one number having another type than int."""
    bits, is_unsigned = _common(left, right)
    if operator not in ("&&", "||"):
        left, right = (int(_whole(int(each), bits, is_unsigned)) for each in (left, right))
    found = _applied(operator, left, right)
    is_number = isinstance(found, int) and not isinstance(found, bool)
    return _whole(found, bits, is_unsigned) if is_number else found


def _applied(operator: str, left: Any, right: Any) -> Any:
    """Apply an operator to two numbers of one type, without bounds."""
    if operator in ("/", "%"):
        if right == 0:
            return Unknown("a division by zero")
        if isinstance(left, float) or isinstance(right, float):
            return left / right if operator == "/" else Unknown(f"{left} % {right}")
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        return quotient if operator == "/" else left - quotient * right
    table: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
        "&": lambda a, b: int(a & b), "|": lambda a, b: int(a | b), "^": lambda a, b: int(a ^ b),
        "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b,
        ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
        "&&": lambda a, b: bool(a and b), "||": lambda a, b: bool(a or b),
    }  # fmt: skip
    if operator not in table:
        return Unknown(f"{left} {operator} {right}")
    return table[operator](left, right)


def _shifted(operator: str, left: int, right: int) -> Any:
    """Shift a number; the result has its type, as wide as that is."""
    bits, is_unsigned = _type_of(left)
    if not 0 <= right < bits:
        return Unknown(f"{left} {operator} {right}")  # C does not say what it is
    found = int(left) << int(right) if operator == "<<" else int(left) >> int(right)
    made = _whole(found, bits, is_unsigned)
    return made if isinstance(left, Whole) else int(made)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "fmin": min, "fmax": max, "abs": abs, "fabs": abs,
    "ceil": lambda x: float(math.ceil(x)), "ceilf": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)), "floorf": lambda x: float(math.floor(x)),
    "sqrt": lambda x: math.sqrt(x), "sqrtf": lambda x: math.sqrt(x),
    "log2": lambda x: math.log2(x), "log2f": lambda x: math.log2(x),
    "pow": lambda x, y: float(x) ** float(y) if abs(y) < 64 else Unknown("pow"),
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "exp2": lambda x: 2.0**x if abs(x) < 64 else Unknown("exp2"),
}  # fmt: skip
"""Functions of the C library that host code computes sizes with."""


def vector_element(kind: str) -> str | None:
    """Return the element type of a vector."""
    found = re.fullmatch(
        r"(?:\w+::)*(?:vector|device_vector|host_vector|array|unique_ptr)<(.+?)(?:\[\])?(?:,.*)?>",
        kind,
    )
    return found[1] if found else None
