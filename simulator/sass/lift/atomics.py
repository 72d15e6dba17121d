"""Atomics: the helpers that blocks call. Lanes take their turns in order.

Beside what loads and stores get, a helper gets three rows: of the operand, of the value to compare
with, and the one that the old value goes to.
"""

from __future__ import annotations

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import F32, F64, I1, I32, I64, POINTER, vector
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

TYPES = ("U32", "S32", "U64", "S64", "F32", "F64", "F16", "BF16")

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
        old = at.load(pointer, I64 if width == 8 else I32)
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
            found = swaps.resized(32) if how == "CAST" else old
            at.store(found.resized(32), results, here)
            if width == 8 and how != "CAST":
                at.store((found >> 32).resized(32), at.beside(results, ROW), here)
    at.give(at.bit(True))


def _bank(offset: Value, lane: Value, width: int) -> Value:
    """Return the bank of 4 bytes, or of 8 in this half of the warp, which is a phase."""
    return offset >> 2 & 31 if width == 4 else offset >> 3 & 15 | lane.resized(32) & 16


def _of_lane(at: Emitter, rows: Value, here: Value, width: int) -> Value:
    low = at.load(rows, I32, here)
    if width == 4:
        return low
    high = at.load(at.beside(rows, ROW), I32, here)
    return high.resized(64) << 32 | low.resized(64)


def _combined(how: str, kind: str, old: Value, operand: Value, compared: Value) -> Value:
    """Return what an atomic leaves in memory."""
    if kind in ("F32", "F64"):
        element = F32 if kind == "F32" else F64
        return (old._to("bitcast", element) + operand._to("bitcast", element)).as_bits
    if kind in ("F16", "BF16"):
        is_bfloat = kind == "BF16"
        pairs = zip(halves(old, is_bfloat), halves(operand, is_bfloat), strict=True)
        return packed(*(to16(one + two, is_bfloat) for one, two in pairs))
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
