"""Atomics: the helpers that blocks call. Lanes take their turns in order.

Beside what loads and stores get, a helper gets three rows: of the operand, of the value to compare
with, and the one that the old value goes to.
"""

from __future__ import annotations

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I1, I32, I64, POINTER, vector
from simulator.sass.lift.layout import ROW
from simulator.sass.lift.memory import stacked
from simulator.sass.lift.numbers import halves, packed, to16
from simulator.sass.lift.spaces import WORDS, in_block, in_global, in_local, in_shared, trace
from simulator.sass.lift.state import context
from simulator.sass.lift.values import Value
from simulator.sass.lift.watching import watch_read, watch_write

__all__ = ["OPERATIONS", "TYPES"]

OPERATIONS = (
    "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS", "CAST", "POPC",
)  # fmt: skip
"""What an atomic does; a helper's option is the place here."""

TYPES = ("U32", "S32", "U64", "S64", "U128", "F32", "F64", "F16", "BF16")

_ROWS = [I64, I64, I64, I64]


@helper(I1, POINTER, I32, WORDS, *_ROWS)
def atomic_shared(at: Emitter, width: int, how: int, kind: int, writes: int) -> None:
    """ATOMS."""
    _atomic(at, in_shared, width, (how, kind, writes), counted=True)


@helper(I1, POINTER, I32, WORDS, *_ROWS)
def atomic_block(at: Emitter, width: int, how: int, kind: int, writes: int) -> None:
    """ATOM in another block of the cluster."""
    _atomic(at, in_block, width, (how, kind, writes), counted=False)


@helper(I1, POINTER, I32, WORDS, *_ROWS)
def atomic_local(at: Emitter, width: int, how: int, kind: int, writes: int) -> None:
    """ATOM of a thread's own memory."""
    _atomic(at, in_local, width, (how, kind, writes), counted=False)


@helper(I1, POINTER, I32, vector(I64), *_ROWS)
def atomic_global(at: Emitter, width: int, how: int, kind: int, writes: int) -> None:
    """ATOMG, RED."""
    _atomic(at, in_global, width, (how, kind, writes), counted=True)


def _atomic(at: Emitter, find, width: int, options: tuple[int, int, int], counted: bool) -> None:  # type: ignore[no-untyped-def]
    warp, mask, addresses, data, compare, target, site = at.arguments
    how, kind, writes = OPERATIONS[options[0]], TYPES[options[1]], options[2]
    with at.when(mask == 0, likely=False):
        at.give(at.bit(True))
    block = context(at, warp)
    place = find(at, block, warp, mask, addresses, width)
    if counted:
        trace(at, block, warp, site, place)
    if find is in_shared:
        watch_read(at, block, warp, site, place)
        watch_write(at, block, warp, site, place)
    offsets = stacked(at, place.offsets)
    spins = how == "CAST" and find is in_shared
    tried = at.variable(at.i32(0))
    operands, compares, results = (at.beside(warp, row) for row in (data, compare, target))
    with at.bits_of(place.mask) as lane:
        here = lane.resized(64) * 4
        offset = at.load(offsets, I32, here)
        pointer = at.beside(place.base, offset.resized(64, signed=True))
        old = at.load(pointer, ir.IntType(8 * width), align=min(width, 8))
        operand = _of_lane(at, operands, here, width)
        compared = _of_lane(at, compares, here, width)
        swaps = old == compared
        if spins:
            # As simulator.law.loops says: of a phase, the lowest lane of each bank alone tries.
            bit = at.i32(1) << _bank(offset, lane, width)
            swaps = swaps & ((tried.get() & bit) == 0)
            tried.set(tried.get() | bit)
        new = swaps.choose(operand, old) if spins else _combined(how, kind, old, operand, compared)
        at.store(new, pointer)
        if writes:
            # CAST says whether it swapped, not what was there.
            found = swaps.resized(8 * width) if how == "CAST" else old
            for word, part in enumerate(_words(found)):
                at.store(part, at.beside(results, word * ROW), here)
    at.give(at.bit(True))


def _bank(offset: Value, lane: Value, width: int) -> Value:
    """Return the bank of 4 bytes, or of 8 in this half of the warp, which is a phase."""
    return offset >> 2 & 31 if width == 4 else offset >> 3 & 15 | lane.resized(32) & 16


def _of_lane(at: Emitter, rows: Value, here: Value, width: int) -> Value:
    return _joined([at.load(at.beside(rows, word * ROW), I32, here) for word in range(width // 4)])


def _words(value: Value) -> list[Value]:
    return [(value >> shift).resized(32) for shift in range(0, value.bits, 32)]


def _joined(words: list[Value]) -> Value:
    whole = words[0].resized(32 * len(words))
    for place, word in enumerate(words[1:], 1):
        whole = whole | word.resized(32 * len(words)) << 32 * place
    return whole


def _combined(how: str, kind: str, old: Value, operand: Value, compared: Value) -> Value:
    """Return what an atomic leaves in memory."""
    if kind == "F64":
        return (old.as_float + operand.as_float).as_bits
    if kind in ("F32", "F16", "BF16"):  # one word of them, or a vector of words
        pairs = zip(_words(old), _words(operand), strict=True)
        return _joined([_of_floats(how, kind, *pair) for pair in pairs])
    if how == "POPC":
        return old + 1
    if how in ("MIN", "MAX"):
        less = old.compare("<", operand, signed=kind.startswith("S"))
        return less.choose(old, operand) if how == "MIN" else less.choose(operand, old)
    if how == "INC":
        return (old >= operand).choose(0, old + 1)
    if how == "DEC":
        return ((old == 0) | (old > operand)).choose(operand, old - 1)
    if how in ("CAS", "CAST"):
        return (old == compared).choose(operand, old)
    return {
        "ADD": old + operand, "AND": old & operand, "OR": old | operand, "XOR": old ^ operand,
        "EXCH": operand,
    }[how]  # fmt: skip


def _of_floats(how: str, kind: str, old: Value, operand: Value) -> Value:
    """Return what becomes of a float32, or of two floats of 16 bits."""
    if kind == "F32":
        return (old.as_float + operand.as_float).as_bits
    is_bfloat = kind == "BF16"
    pairs = zip(halves(old, is_bfloat), halves(operand, is_bfloat), strict=True)
    if how == "ADD":
        return packed(*(to16(one + two, is_bfloat) for one, two in pairs))
    return packed(*(to16(_extreme(how, one, two), is_bfloat) for one, two in pairs))


def _extreme(how: str, f: Value, g: Value) -> Value:
    """Return the lesser or the greater: a number where one is, and -0 is below +0 (PTX's min)."""
    less = (f < g) | (f == g) & (f.as_bits > g.as_bits)
    found = less.choose(f, g) if how == "MIN" else less.choose(g, f)
    return f.is_nan.choose(g, g.is_nan.choose(f, found))
