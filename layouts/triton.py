"""Triton's layouts of shared memory, read from the text that its compiler prints.

    #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
    #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
    #ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>
    #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>
    !ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{…}>, #ttg.shared_memory>

Each is a linear map over GF(2) from bits of the offset to bits of the coordinates: a list of
`bases`, the coordinates to which each bit of the offset leads. Only `padded_shared` then adds to
an offset: for each interval:+padding as many paddings as whole intervals lie below it. What a
layout here wants is the way back, from coordinates to offsets.
Sources: Triton, include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td, and
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from layouts import gf2
from layouts.errors import LayoutError, accepted, short
from layouts.nested import Nested
from layouts.notation import Notation
from layouts.shapes import Shape, is_integer, parse_shape
from layouts.swizzle import swizzles

__all__ = ["SharedMap", "is_triton", "read_triton"]

_ENCODING = re.compile(r"#(?:ttg|triton_gpu)\.(\w+)\s*<(.*)>", re.DOTALL)
_MEMDESC = re.compile(
    r"\s*(?:!?ttg\.)?!?memdesc<\s*((?:\d{1,9}\s*x\s*)+)([A-Za-z]\w*)\s*,", re.DOTALL
)
_PADDINGS = re.compile(r"\s*\[([^\]]*)\]\s*")
_BODY = re.compile(r"\s*\{(.*?)\}\s*(?:,\s*alignment\s*=\s*\d+\s*)?", re.DOTALL)
_MOST_BITS = 24  # no shared memory has more elements
_TMA_MOST = 256  # elements of a TMA box along a dimension

_FORMS = ("swizzled_shared", "nvmma_shared", "padded_shared", "shared_linear")

Base = tuple[int, ...]
"""The coordinates that one bit of the offset adds, by XOR."""


def is_triton(text: str) -> bool:
    """Whether a text names one of Triton's layouts.

    >>> is_triton("#ttg.shared_linear<{offset = [[1]]}>"), is_triton("(8,4):(4,1)")
    (True, False)
    """
    return re.search(r"#(?:ttg|triton_gpu)\.|memdesc<", text) is not None


@dataclass(frozen=True)
class SharedMap:
    """A layout of Triton: where bits of the offset lead, and the paddings."""

    text: str
    bases: tuple[Base, ...]
    """From bit 0 of the offset on."""
    paddings: tuple[tuple[int, int], ...] = ()
    """(interval, padding), in elements; both powers of two."""
    element: int | None = None
    """Bytes of an element, where the text says them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        reach = [0] * len(self.bases[0])
        for base in self.bases:
            reach = [a | b for a, b in zip(reach, base, strict=True)]
        return tuple(each + 1 for each in reach)

    def columns(self) -> list[list[int]]:
        """Return for each bit of each coordinate its offset, before padding, lowest bits first.

        Raises LayoutError where elements overlap, or offsets belong to no element.
        """
        places, total = [], 0
        for size in self.shape:
            places.append(total)
            total += (size - 1).bit_length()
        joined = [
            sum(value << place for value, place in zip(base, places, strict=True))
            for base in self.bases
        ]
        found = [gf2.coordinates(joined, 1 << bit) for bit in range(total)]
        if len(joined) != total or None in found or not _powers(self.shape):
            raise LayoutError(
                f"{short(self.text, 200)} does not give each element its own offset (accepted:"
                f" as many independent bases of the offset as coordinates have bits, {total} here)"
            )
        ends = [*places[1:], total]
        return [
            [column for column in found[start:end] if column is not None]
            for start, end in zip(places, ends, strict=True)
        ]

    def padded(self, offset: int) -> int:
        """Return an offset with the paddings below it."""
        return offset + sum(offset // interval * padding for interval, padding in self.paddings)

    def offset(self, *coordinate: int) -> int:
        """Return the offset of an element.

        >>> read_triton("#ttg.shared_linear<{offset = [[0, 1], [1, 1]]}>").offset(1, 0)
        3
        """
        moved = 0
        for value, columns in zip(coordinate, self.columns(), strict=True):
            for bit, column in enumerate(columns):
                moved ^= column if value >> bit & 1 else 0
        return self.padded(moved)

    def notation(self) -> Notation:
        """Return the layout in CuTe's terms.

        Raises LayoutError for one that is not a layout behind at most one XOR swizzle.
        """
        columns = self.columns()
        plain = [column for each in columns for column in each]
        if gf2.apart(plain):
            # No carries: the padding below a sum of bits is the sum of what is below each.
            found = [[self.padded(column) for column in each] for each in columns]
            return Notation(*_modes(found), element=self.element)
        if not self.paddings:
            for swizzle in swizzles(len(plain)):
                moved = [[swizzle(column) for column in each] for each in columns]
                if gf2.apart(column for each in moved for column in each):
                    return Notation(*_modes(moved), (swizzle,), element=self.element)
        raise LayoutError(
            f"{short(self.text, 200)} is not a layout behind one XOR swizzle (accepted: bases that"
            " share no bit, or, without padding, share none after some Sw<B,M,S>)"
        )


def read_triton(text: str, shape: Shape | None = None) -> SharedMap:
    """Read one of Triton's layouts; `shape` is the tensor's, which some of them do not say.

    >>> read_triton("#ttg.padded_shared<[4:+1] {order = [1, 0], shape = [4, 4]}>").notation()
    Notation(shape=(4, 4), stride=(5, 1), swizzles=(), offset=0, element=None)

    Raises LayoutError for another layout, one of several blocks, and a shape that does not fit.
    """
    element, described = None, _MEMDESC.match(text)
    if described:
        sizes = tuple(int(size) for size in described[1].replace(" ", "").split("x")[:-1])
        element = _bytes(described[2], text)
        if shape is not None and parse_shape(shape, "RCDEFG"[: len(sizes)], "shape") != sizes:
            raise LayoutError(f"{short(text, 200)} has shape {sizes}, and {shape!r} was given")
        shape = sizes
    found = _ENCODING.search(_balanced(text))
    kind = found[1] if found else "none"
    if found is None or kind not in (*_FORMS, "shared"):
        raise LayoutError(
            f"{short(text, 200)} is not a layout of shared memory that is read here:"
            f" {accepted(kind, [f'#ttg.{form}' for form in _FORMS])}, with its attributes"
        )
    paddings, fields = _fields(found[2], text)
    _refuse_blocks(fields, text)
    if kind == "padded_shared":
        bases = _linear_bases(fields, text) if "offset" in fields else _by_order(fields, text)
        read = SharedMap(text, bases, _checked(paddings, text), element)
    elif kind == "shared_linear":
        read = SharedMap(text, _linear_bases(fields, text), element=element)
    elif kind == "nvmma_shared":
        sizes = _sizes(shape, 2, text)
        bits = _integer(fields, "elementBitWidth", text, (8, 16, 32, 64))
        if element not in (None, bits // 8):
            raise LayoutError(f"{short(text, 200)} has elements of {element} and {bits // 8} bytes")
        read = SharedMap(text, _nvmma(fields, sizes, bits, text), element=bits // 8)
    else:
        order = _integers(fields.get("order"), "order", text)
        read = SharedMap(text, _swizzled(fields, _sizes(shape, len(order), text), order, text),
                         element=element)  # fmt: skip
    if shape is not None and parse_shape(shape, "RCDEFG"[: len(read.shape)], "shape") != read.shape:
        raise LayoutError(f"{short(text, 200)} has shape {read.shape}, and {shape!r} was given")
    return read


def _swizzled(
    fields: Mapping[str, Any], sizes: Sequence[int], order: Sequence[int], text: str
) -> tuple[Base, ...]:
    vec, per_phase, phases = (
        _integer(fields, name, text) for name in ("vec", "perPhase", "maxPhase")
    )
    if sorted(order) != list(range(len(sizes))) or fields.get("hasLeadingOffset"):
        raise LayoutError(
            f"order {order} of {short(text, 200)} does not fit (accepted: each dimension once, the"
            " fastest first, and no leading offset)"
        )
    if not _powers((vec, per_phase, phases)):
        raise LayoutError(f"{short(text, 200)} has numbers that are not powers of two")
    bases = []
    for place, dimension in enumerate(order):
        step = 1
        while step < sizes[dimension]:
            base = _unit(len(sizes), dimension, step)
            if place == 1:  # the rows move their columns
                base[order[0]] = vec * (step // per_phase % phases) % sizes[order[0]]
            bases.append(tuple(base))
            step *= 2
    return tuple(bases)


def _nvmma(
    fields: Mapping[str, Any], sizes: Sequence[int], bits: int, text: str
) -> tuple[Base, ...]:
    """Return the bases of the operand of a tensor core of Hopper or Blackwell.

    Eight rows of the swizzle's width make a core matrix; boxes of them lie one after the other.
    """
    width = _integer(fields, "swizzlingByteWidth", text, (0, 32, 64, 128))
    if fields.get("fp4Padded"):
        raise LayoutError(
            f"{short(text, 200)} holds padded fp4, whose elements share bytes (accepted:"
            " fp4Padded = false)"
        )
    col, row = (0, 1) if fields.get("transposed") else (1, 0)
    inner = 8 * width // bits if width else min(sizes[col], _TMA_MOST)
    if sizes[col] < inner or (width and sizes[row] < 8):
        raise LayoutError(
            f"shape {tuple(sizes)} is smaller than a core matrix of {short(text, 200)}"
            f" (accepted: at least 8 rows of {inner} elements)"
        )
    per_phase, phases = (128 // width, width // 16) if width else (1, 1)
    bases, reached = [], [1, 1]
    for dimension, end in ((col, inner), (row, min(sizes[row], _TMA_MOST))):
        while reached[dimension] < end:
            base = _unit(2, dimension, reached[dimension])
            if dimension == row and width and reached[row] < 8:
                base[col] = 128 // bits * (reached[row] // per_phase % phases)
            bases.append(tuple(base))
            reached[dimension] *= 2
    for dimension in (0, 1) if width else (1, 0):
        while reached[dimension] < sizes[dimension]:
            bases.append(tuple(_unit(2, dimension, reached[dimension])))
            reached[dimension] *= 2
    return tuple(bases)


def _by_order(fields: Mapping[str, Any], text: str) -> tuple[Base, ...]:
    order = _integers(fields.get("order"), "order", text)
    sizes = _sizes(_integers(fields.get("shape"), "shape", text), len(order), text)
    plain = {"vec": 1, "perPhase": 1, "maxPhase": 1}
    return _swizzled(plain, sizes, order, text)


def _linear_bases(fields: Mapping[str, Any], text: str) -> tuple[Base, ...]:
    given = fields.get("offset")
    bases = [_integers(base, "offset", text) for base in given] if isinstance(given, list) else []
    if not bases or len({len(base) for base in bases}) > 1 or len(bases) > _MOST_BITS:
        raise LayoutError(
            f"offset {short(given)} of {short(text, 200)} is not a list of bases (accepted: for"
            f" each of up to {_MOST_BITS} bits of the offset its coordinates, such as [[0, 1],"
            " [1, 0]])"
        )
    return tuple(map(tuple, bases))


def _fields(body: str, text: str) -> tuple[list[tuple[int, int]], dict[str, Any]]:
    """Read `[64:+8] {name = value, …}, alignment = 16`."""
    paddings, listed = [], _PADDINGS.match(body)
    if listed:
        for part in listed[1].split(","):
            pair = re.fullmatch(r"\s*(\d{1,9})\s*:\s*\+\s*(\d{1,9})\s*", part)
            if not pair:
                raise LayoutError(f"{part!r} of {short(text, 200)} is not interval:+padding")
            paddings.append((int(pair[1]), int(pair[2])))
        body = body[listed.end() :]
    inner = _BODY.fullmatch(body)
    try:
        named = re.sub(r"(\w+)\s*=", r'"\1":', inner[1] if inner else "=")
        fields = json.loads("{" + named + "}")
    except (ValueError, RecursionError):
        raise LayoutError(
            f"{short(text, 200)} cannot be read (accepted: {{name = value, ...}}, with integers,"
            " true, false and lists)"
        ) from None
    return paddings, fields


def _refuse_blocks(fields: Mapping[str, Any], text: str) -> None:
    for name in ("block", "CGALayout", "CTAsPerCGA", "CTASplitNum", "CTALayout"):
        given = fields.get(name)
        several = given not in (None, []) and name in ("block", "CGALayout", "CTALayout")
        if several or (isinstance(given, list) and any(each != 1 for each in given)):
            raise LayoutError(
                f"{short(text, 200)} spreads over several blocks (accepted: the layout of one"
                f" block, without {name})"
            )


def _checked(paddings: list[tuple[int, int]], text: str) -> tuple[tuple[int, int], ...]:
    if not paddings or not _powers(chain(*paddings)):
        raise LayoutError(
            f"paddings of {short(text, 200)} do not fit (accepted: [interval:+padding, ...], powers"
            " of two)"
        )
    return tuple(paddings)


def _sizes(shape: Shape | None, rank: int, text: str) -> tuple[int, ...]:
    if shape is None:
        raise LayoutError(
            f"{short(text, 200)} does not say its tensor's shape (accepted: shape='64x64', or the"
            " text of its !ttg.memdesc<64x64xf16, ...>)"
        )
    try:
        sizes = parse_shape(shape, "RCDEFG"[:rank], "shape")
    except LayoutError as error:
        raise LayoutError(f"{short(text, 200)} has {rank} dimensions: {error}") from None
    if not _powers(sizes) or sum(size.bit_length() - 1 for size in sizes) > _MOST_BITS:
        raise LayoutError(f"shape {shape!r} is not made of powers of two (accepted: as in Triton)")
    return sizes


def _integer(
    fields: Mapping[str, Any], name: str, text: str, choices: Sequence[int] | None = None
) -> int:
    given = fields.get(name)
    if not is_integer(given) or (choices is not None and given not in choices):
        which = ", ".join(map(str, choices)) if choices else "a power of two"
        raise LayoutError(f"{name} {given!r} of {short(text, 200)} is not accepted ({which})")
    return int(given)  # type: ignore[arg-type]  # it is one


def _integers(given: object, name: str, text: str) -> list[int]:
    if not isinstance(given, list) or not given or len(given) > len("RCDEFG"):
        given = [-1]
    if not all(is_integer(each) and 0 <= each < 1 << _MOST_BITS for each in given):
        raise LayoutError(f"{name} of {short(text, 200)} is not a list of numbers from 0")
    return given


def _bytes(name: str, text: str) -> int:
    found = re.search(r"(\d+)", name)
    bits = 64 if name == "ptr" else 8 if name == "i1" else int(found[1]) if found else 0
    if name.startswith("f8"):
        bits = 8
    if bits not in (8, 16, 32, 64):
        raise LayoutError(f"elements {name!r} of {short(text, 200)} are not of whole bytes")
    return bits // 8


def _balanced(text: str) -> str:
    """Cut a text after the bracket that closes its first encoding."""
    start = text.find("#")
    depth = 0
    for place in range(max(start, 0), len(text)):
        depth += (text[place] == "<") - (text[place] == ">")
        if depth == 0 and text[place] == ">":
            return text[start : place + 1]
    return text


def _unit(rank: int, dimension: int, step: int) -> list[int]:
    return [step if each == dimension else 0 for each in range(rank)]


def _powers(numbers: Iterable[int]) -> bool:
    """Whether all numbers are powers of two."""
    return all(number > 0 and number & (number - 1) == 0 for number in numbers)


def _modes(columns: Sequence[Sequence[int]]) -> tuple[Nested, Nested]:
    """Join the bits of each dimension that follow each other into modes."""
    shapes: list[Nested] = []
    strides: list[Nested] = []
    for each in columns:
        sizes: list[int] = []
        steps: list[int] = []
        for column in each:
            if steps and column == steps[-1] * sizes[-1]:
                sizes[-1] *= 2
            else:
                sizes.append(2)
                steps.append(column)
        one = len(sizes) == 1
        shapes.append(1 if not sizes else sizes[0] if one else tuple(sizes))
        strides.append(0 if not sizes else steps[0] if one else tuple(steps))
    return tuple(shapes), tuple(strides)
