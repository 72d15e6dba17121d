"""Loads and stores of 8×8 matrices, asynchronous copies, indexed constants: their helpers."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I1, I8, I16, I32, I64, POINTER, vector
from simulator.sass.lift.layout import (
    CONSTANT,
    CONSTANT_SHIFT,
    NUMBER,
    ROW,
    TABLE_LINES,
    TABLE_SHIFT,
    VALUE,
    Fault,
)
from simulator.sass.lift.memory import first_lanes, shuffled, stacked
from simulator.sass.lift.spaces import (
    WORDS,
    Place,
    in_global,
    in_shared,
    refuse,
    trace,
)
from simulator.sass.lift.state import context, field, note, pointer, record
from simulator.sass.lift.values import Value
from simulator.sass.lift.watching import watch_read, watch_write

__all__ = ["NOTES", "NOTES_LINE", "NOTES_LINES", "NOTES_NOTHING", "NOTES_SEVERAL"]

_HALVES = vector(I16)
_Watch = Callable[[Emitter, Value, Value, Value, Place], None]


# ---- LDSM, STSM: lane 8·i + r gives the address of row r of matrix i. ---------------------------
@helper(I1, POINTER, I32, WORDS, I64, I64)
def load_matrices(at: Emitter, matrices: int, transposed: int) -> None:
    """LDSM."""
    place, rows = _rows(at, matrices, watch_read)
    everyone = at.i32(-1).by_lane
    for matrix in range(matrices):
        if not transposed:
            value = at.gather(_words(at, place, matrix), everyone, at.constant(WORDS, 0), 4)
        else:
            low, high = (
                at.gather(_halves(at, place, matrix, part), everyone, at.constant(_HALVES, 0), 2)
                for part in range(2)
            )
            value = high.resized(32) << 16 | low.resized(32)
        at.store(value, rows, matrix * ROW)
    at.give(at.bit(True))


@helper(I1, POINTER, I32, WORDS, I64, I64)
def store_matrices(at: Emitter, matrices: int, transposed: int) -> None:
    """STSM; where rows lie on one another, the last lane's stays."""
    place, rows = _rows(at, matrices, watch_write)
    everyone = at.i32(-1).by_lane
    for matrix in range(matrices):
        value = at.load(rows, WORDS, matrix * ROW)
        if not transposed:
            at.scatter(value, _words(at, place, matrix), everyone, 4)
            continue
        for part in range(2):
            half = (value >> 16 * part).resized(16)
            at.scatter(half, _halves(at, place, matrix, part), everyone, 2)
    at.give(at.bit(True))


def _rows(at: Emitter, matrices: int, watch: _Watch) -> tuple[Place, Value]:
    """Find the rows of all matrices; the helper ends for no lanes, and where some are missing."""
    warp, mask, addresses, row, site = at.arguments
    with at.when(mask == 0, likely=False):
        at.give(at.bit(True))
    block = context(at, warp)
    with at.when(mask != 0xFFFFFFFF, likely=False):
        record(at, block, Fault.LANES, at.load(warp, I64, NUMBER) * 32, at.i64(0))
        at.give(at.bit(False))
    asked = at.i32((1 << 8 * matrices) - 1)
    place = in_shared(at, block, warp, asked, addresses, 16)
    offsets = asked.by_lane.choose(place.offsets, 0)
    rows = Place(place.base, offsets, mask, is_shared=True)
    trace(at, block, warp, site, rows)
    watch(at, block, warp, site, Place(place.base, offsets, asked, is_shared=True))
    return rows, at.beside(warp, row)


def _words(at: Emitter, place: Place, matrix: int) -> Value:
    """Point to the word of each lane: two elements of row lane / 4."""
    starts = shuffled(place.offsets, place.offsets, [8 * matrix + lane // 4 for lane in range(32)])
    return at.beside(place.base, starts + at.each([4 * (lane % 4) for lane in range(32)]))


def _halves(at: Emitter, place: Place, matrix: int, part: int) -> Value:
    """Point to one of the two elements of each lane: of column lane / 4."""
    order = [8 * matrix + 2 * (lane % 4) + part for lane in range(32)]
    starts = shuffled(place.offsets, place.offsets, order)
    return at.beside(place.base, starts + at.each([2 * (lane // 4) for lane in range(32)]))


# ---- LDGSTS. -----------------------------------------------------------------------------------
_UNITS = {4: I32, 8: I64, 16: ir.VectorType(I32, 4)}


@helper(I1, POINTER, I32, WORDS, vector(I64), I32, I64)
def copy(at: Emitter, width: int, fills: int) -> None:
    """LDGSTS: copies for some lanes, zeros for the others.

    If it fills, the low bits of a source's address say how many of the last bytes are zeros: so
    compilers ask for cp.async with fewer bytes of the source. Its number stands for shared memory,
    the next one for global memory.
    """
    warp, mask, targets, sources, copied, site = at.arguments
    zeros = stacked(at, (sources & (width - 1)).resized(32))
    if fills:
        sources = sources & -width
    with at.when(mask == 0, likely=False):
        at.give(at.bit(True))
    block, unit = context(at, warp), _UNITS[width]
    place = in_shared(at, block, warp, mask, targets, width)
    misaligned = (sources & (width - 1)) != 0
    refuse(at, block, warp, misaligned & mask.by_lane, misaligned, sources)
    trace(at, block, warp, site, place, _sources(at, block, copied, mask, sources))
    watch_write(at, block, warp, site, place, is_marked=False)
    to, copied = stacked(at, place.offsets), mask & copied
    with at.when(copied != 0):
        source = in_global(at, block, warp, copied, sources, width)
        trace(at, block, warp, site + 1, source)
        from_ = stacked(at, source.offsets)
        with at.bits_of(copied) as lane:
            here = lane.resized(64) * 4
            value = at.load(_there(at, source, from_, here), unit, align=4)
            there = _there(at, place, to, here)
            at.store(value, there, align=4)
            if fills:
                with at.loop(at.load(zeros, I32, here).resized(64)) as turn:
                    last = at.i64(width - 1) - turn
                    at.store(at.constant(I8, 0), at.beside(there, last))
    with at.bits_of(mask & ~copied) as lane:
        zero = Value(at, ir.Constant(unit, None))
        at.store(zero, _there(at, place, to, lane.resized(64) * 4), align=4)
    at.give(at.bit(True))


def _there(at: Emitter, place: Place, offsets: Value, here: Value) -> Value:
    return at.beside(place.base, at.load(offsets, I32, here).resized(64, signed=True))


def _sources(at: Emitter, block: Value, copied: Value, mask: Value, sources: Value) -> Value:
    """Return what the law must know of the sources: -1 for zeros, and 0 for idle lanes.

    Their place in a line tells all but the cycles, which only a timeline has. So copies of a loop
    are one row of the trace, as a rule.
    """
    noting = field(at, block, "noting") != 0
    kept = noting.choose(at.i32(0x7FFFFFFF), at.i32(127))
    known = copied.by_lane.choose(sources.resized(32) & kept, -1)
    return mask.by_lane.choose(known, 0)


# ---- LDC. --------------------------------------------------------------------------------------
NOTES_NOTHING, NOTES_SEVERAL, NOTES_LINES, NOTES_LINE = range(4)
"""What is noted of an indexed read of constants: how many words lanes read, where they are several;
the lines that they read, too; the line that all lanes read."""
NOTES = 4
"""How many these are: with an offset that counts banks, `load_constant` gets as much more."""


@helper(I1, POINTER, I32, WORDS, I64, I64)
def load_constant(at: Emitter, width: int, signed: int, bank: int, how: int) -> None:
    """LDC with an index: from a bank, or one that the offset's high half counts from it."""
    warp, mask, offsets, row, number = at.arguments
    by_offset, notes = divmod(how, NOTES)
    block = context(at, warp)
    listed, rows = stacked(at, offsets), at.beside(warp, row)
    if notes:
        with at.when((field(at, block, "noting") != 0) & (mask != 0), likely=False):
            _note_constants(at, block, mask, offsets, number, notes)
    ends, banks = pointer(at, block, "bank_at"), pointer(at, block, "banks")
    with at.bits_of(mask) as lane:
        here = lane.resized(64) * 4
        offset = at.load(listed, I32, here)
        which = at.i64(bank)
        if by_offset:
            far = offset >= 0x10000
            counted = ((offset >> 16) + bank & 31).resized(64)
            which = far.choose(counted, which)
            offset = far.choose(offset & 0xFFFF, offset)
        inside = offset.resized(64)
        start = at.load(ends, I64, which * 8) + inside
        outside = start + width > at.load(ends, I64, which * 8 + 8)
        thread = at.load(warp, I64, NUMBER) * 32 + lane.resized(64)
        for wrong, why in ((offset & width - 1) != 0, Fault.ALIGN), (outside, Fault.CONSTANT):
            with at.when(wrong, likely=False):
                record(at, block, why, thread, inside)
                at.give(at.bit(False))
        kind = {1: I8, 2: I16}.get(width, I32)
        value = at.load(banks, kind, start, align=1).resized(32, signed=bool(signed))
        at.store(value, rows, here)
        if width == 8:
            at.store(at.load(banks, I32, start + 4, align=1), at.beside(rows, ROW), here)
    at.give(at.bit(True))


def _note_constants(
    at: Emitter, block: Value, mask: Value, offsets: Value, number: Value, notes: int
) -> None:
    """Note how many different words lanes read of a constant bank, and which lines of 64 bytes.

    Where the lines are several they are taken to lie side by side, from the first on.
    """
    words, lines = at.i64(1), at.i64(1)
    if notes != NOTES_LINE:
        words = first_lanes(at, mask, offsets & at.i32(-4), lambda lane: mask)
    event = words | number << CONSTANT_SHIFT | 1 << CONSTANT | 1 << VALUE
    if notes == NOTES_SEVERAL:
        with at.when(words > 1):
            note(at, block, event)
        return
    if notes == NOTES_LINES:
        lines = first_lanes(at, mask, offsets & at.i32(-64), lambda lane: mask)
    first = mask.by_lane.choose(offsets, 0x7FFFFFFF).reduced("umin").resized(64) >> 6
    note(at, block, event | (first + 1 & 0xFFF) << TABLE_SHIFT | lines << TABLE_LINES)
