"""Tensor cores: helpers that multiply the tiles of a warp, in the fragment layouts of the PTX ISA.

A lane l = 4·g + t. Of A it holds rows g and g + 8, of B column g. Of C and D it holds rows g and g
+ 8 in columns 2·t and 2·t + 1. A helper gets the warp and the lanes that take part. It also gets
the offsets of the first registers of D, A, B and C in the warp's memory. It gives a bit: whether
there was no fault.

Each element is a sum of products in the order of k, one fused multiply-add after another. All lanes
go at once: for an index k the element of A is that of another lane of the same g; the one of B that
of a lane whose g is the column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import F32, I1, I32, I64, LANES, POINTER, vector
from simulator.sass.lift.layout import NUMBER, ROW, Fault
from simulator.sass.lift.numbers import from8, from16, fused, packed, to16
from simulator.sass.lift.state import context, record
from simulator.sass.lift.values import Value

__all__ = ["BFLOAT", "HALF", "TFLOAT"]

HALF, BFLOAT, TFLOAT = range(3)

Elements = Callable[[Value], list[Value]]
"""What reads the elements that lie in a word."""

_WORDS = vector(I32)
_TILES = [POINTER, I32, I64, I64, I64, I64]


def _begin(at: Emitter) -> list[Value]:
    """Return pointers to the registers of D, A, B, …; all lanes must take part, or none."""
    warp, mask, *rows = at.arguments
    with at.when(mask != -1, likely=False):
        with at.when(mask != 0):
            thread = at.load(warp, I64, NUMBER) * LANES
            record(at, context(at, warp), Fault.LANES, thread, at.i64(0))
            at.give(at.bit(False))
        at.give(at.bit(True))
    return [at.beside(warp, row) for row in rows]


def _registers(at: Emitter, rows: Value, count: int) -> list[Value]:
    return [at.load(rows, _WORDS, place * ROW) for place in range(count)]


def _in_row(value: Value, t: int) -> Value:
    """Return for each lane what lane t of its own g holds."""
    return value.from_lanes([lane // 4 * 4 + t for lane in range(LANES)])


def _in_column(value: Value, t: int, high: int) -> Value:
    """Return for each lane what lane t of the g of its column of C holds: 2·t, or the next."""
    return value.from_lanes([4 * (2 * (lane % 4) + high) + t for lane in range(LANES)])


def _product(
    left: Sequence[Sequence[Value]], right: Sequence[Value], each: int, sums: list[Value],
    add: Callable[[Value, Value, Value], Value],
) -> list[Value]:  # fmt: skip
    """Add the products to sums: of rows g and g + 8, in columns 2·t and 2·t + 1.

    `left[k][below]` and `right[k]` are what lanes hold; lane t's own k are `each` side by side.
    """
    for start in range(0, len(right), each):
        for t in range(4):
            for own in range(each):
                rows = [_in_row(value, t) for value in left[start + own]]
                for high in range(2):
                    column = _in_column(right[start + own], t, high)
                    for below, row in enumerate(rows):
                        place = 2 * below + high
                        sums[place] = add(row, column, sums[place])
    return sums


def _taken(
    a: Sequence[Value], b: Sequence[Value], of_a: Elements, of_b: Elements
) -> tuple[list[tuple[Value, Value]], list[Value]]:
    """Return the elements in words of A and B as `_product` takes them: left, and right."""
    right = [value for word in b for value in of_b(word)]
    left = [
        pair
        for own, below in zip(a[::2], a[1::2], strict=True)
        for pair in zip(of_a(own), of_a(below), strict=True)
    ]
    return left, right


# ---- Floats. -----------------------------------------------------------------------------------
@helper(I1, *_TILES)
def hmma(at: Emitter, k: int, kind: int, half_sums: int) -> None:
    """HMMA: 16×k by k×8. `kind`: HALF, BFLOAT or TFLOAT; `half_sums`: C and D are half."""
    to, *sources = _begin(at)
    each = 1 if kind == TFLOAT else 2  # elements in a word
    parts = k // (4 * each)
    a, b, c = (
        _registers(at, rows, count)
        for rows, count in zip(sources, (2 * parts, parts, 2 if half_sums else 4), strict=True)
    )

    def elements(word: Value) -> list[Value]:
        if kind == TFLOAT:
            return [(word & ~0x1FFF).as_float]
        return [from16(word & 0xFFFF, kind == BFLOAT), from16(word >> 16, kind == BFLOAT)]

    left, right = _taken(a, b, elements, elements)
    sums = [at.constant(vector(F32), 0.0) for _ in range(4)]
    _end(at, to, _added(_product(left, right, each, sums, fused), c, bool(half_sums)))


@helper(I1, *_TILES)
def qmma(at: Emitter, k: int, wide_a: int, wide_b: int, half_sums: int) -> None:
    """QMMA: 16×k by k×8 floats of 8 bits, E5M2 where `wide`, else E4M3; sums as HMMA's."""
    to, *sources = _begin(at)
    parts = k // 16
    a, b, c = (
        _registers(at, rows, count)
        for rows, count in zip(sources, (2 * parts, parts, 2 if half_sums else 4), strict=True)
    )

    def elements(wide: int, word: Value) -> list[Value]:
        return [from16(from8(word >> 8 * byte, bool(wide)), False) for byte in range(4)]

    left, right = _taken(a, b, partial(elements, wide_a), partial(elements, wide_b))
    sums = [at.constant(vector(F32), 0.0) for _ in range(4)]
    _end(at, to, _added(_product(left, right, 4, sums, fused), c, bool(half_sums)))


def _added(sums: list[Value], c: list[Value], half_sums: bool) -> list[Value]:
    """Add C to the products' sums, and give the words of D."""
    if not half_sums:
        return [(x + y.as_float).as_bits for x, y in zip(sums, c, strict=True)]
    before = [from16(word >> shift & 0xFFFF, False) for word in c for shift in (0, 16)]
    bits = [to16(x + y, False) for x, y in zip(sums, before, strict=True)]
    return [packed(bits[0], bits[1]), packed(bits[2], bits[3])]


@helper(I1, *_TILES)
def dmma(at: Emitter) -> None:
    """DMMA: 8×4 by 4×8 doubles; a lane has one element of A and of B, and two of C and D."""
    to, *sources = _begin(at)
    a, b, c = (_registers(at, rows, count) for rows, count in zip(sources, (2, 2, 4), strict=True))

    def double(words: Sequence[Value]) -> Value:
        return (words[1].resized(64) << 32 | words[0].resized(64)).as_float

    left, right, found = double(a), double(b), []
    for high in range(2):
        total = double(c[2 * high : 2 * high + 2])
        for t in range(4):
            total = fused(_in_row(left, t), _in_column(right, t, high), total)
        bits = total.as_bits
        found += [bits.resized(32), (bits >> 32).resized(32)]
    _end(at, to, found)


# ---- Integers. ---------------------------------------------------------------------------------
@helper(I1, *_TILES)
def imma(at: Emitter, k: int, signed_a: int, signed_b: int, saturates: int) -> None:
    """IMMA: 16×k by k×8 bytes; sums of 32 bits, which wrap or saturate."""
    to, *sources = _begin(at)
    parts = k // 16
    a, b, c = (
        _registers(at, rows, count)
        for rows, count in zip(sources, (2 * parts, parts, 4), strict=True)
    )

    def elements(signed: int, word: Value) -> list[Value]:
        return [(word >> 8 * byte).resized(8).resized(32, bool(signed)) for byte in range(4)]

    left, right = _taken(a, b, partial(elements, signed_a), partial(elements, signed_b))
    if not saturates:
        _end(at, to, _product(left, right, 4, c, lambda x, y, total: x * y + total))
        return
    zero = [at.constant(vector(I32), 0)] * 4
    found = _product(left, right, 4, zero, lambda x, y, total: x * y + total)
    _end(at, to, [_saturated(x, y) for x, y in zip(found, c, strict=True)])


def _saturated(one: Value, two: Value) -> Value:
    """Add signed words; what does not fit becomes the nearest that does."""
    total = one.resized(64, signed=True) + two.resized(64, signed=True)
    total = total.less_signed(-(2**31)).choose(-(2**31), total)
    return total.less_signed(2**31).choose(total, 2**31 - 1).resized(32)


# ---- Moves. ------------------------------------------------------------------------------------
@helper(I1, POINTER, I32, I64, I64)
def movm(at: Emitter) -> None:
    """MOVM: an 8×8 matrix of 16 bits transposed; lane l holds row g, columns 2·t and 2·t + 1."""
    to, rows = _begin(at)
    (word,) = _registers(at, rows, 1)
    shift = at.each([16 * (lane // 4 & 1) for lane in range(LANES)])
    low, high = (
        word.from_lanes([4 * (2 * (lane % 4) + part) + lane // 8 for lane in range(LANES)])
        for part in range(2)
    )
    _end(at, to, [packed(low >> shift & 0xFFFF, high >> shift & 0xFFFF)])


def _end(at: Emitter, to: Value, found: Sequence[Value]) -> None:
    for place, value in enumerate(found):
        at.store(value, to, place * ROW)
    at.give(at.bit(True))
