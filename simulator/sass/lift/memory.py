"""Loads and stores: the helpers that blocks call, for each memory and width.

A helper gets the warp, the mask of active lanes, their addresses, and the row of the first
register: its offset in the warp's memory. It also gets the number of the instruction among those
that are counted. It gives a bit: whether there was no fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I1, I8, I16, I32, I64, POINTER, vector
from simulator.sass.lift.layout import (
    CONSTANT,
    CONSTANT_SHIFT,
    LOCAL_LINES,
    LOCAL_WHOLE,
    ROW,
    TABLE_SHIFT,
    VALUE,
)
from simulator.sass.lift.spaces import (
    WORDS,
    Place,
    in_block,
    in_global,
    in_local,
    in_shared,
    lanes,
    trace,
)
from simulator.sass.lift.state import context, field, note
from simulator.sass.lift.values import Value
from simulator.sass.lift.watching import watch_read, watch_write

__all__ = ["first_lanes", "shuffled", "stacked"]

_NARROW = [POINTER, I32, WORDS, I64, I64]
_WIDE = [POINTER, I32, vector(I64), I64, I64]
_FOUR = ir.VectorType(I32, 4)


@helper(I1, *_NARROW)
def load_shared(at: Emitter, width: int, variant: int) -> None:
    """LDS."""
    _access(at, in_shared, _load, width, variant, counted=True)


@helper(I1, *_NARROW)
def store_shared(at: Emitter, width: int, variant: int) -> None:
    """STS."""
    _access(at, in_shared, _store, width, variant, counted=True)


@helper(I1, *_WIDE)
def load_global(at: Emitter, width: int, variant: int) -> None:
    """LDG."""
    _access(at, in_global, _load, width, variant, counted=True)


@helper(I1, *_WIDE)
def store_global(at: Emitter, width: int, variant: int) -> None:
    """STG."""
    _access(at, in_global, _store, width, variant, counted=True)


@helper(I1, *_NARROW)
def load_block(at: Emitter, width: int, variant: int) -> None:
    """LD from another block of the cluster: what it costs is not wavefronts of banks."""
    _access(at, in_block, _load, width, variant, counted=False)


@helper(I1, *_NARROW)
def store_block(at: Emitter, width: int, variant: int) -> None:
    """ST to another block of the cluster."""
    _access(at, in_block, _store, width, variant, counted=False)


@helper(I1, *_NARROW)
def load_local(at: Emitter, width: int, variant: int) -> None:
    """LDL."""
    _access(at, in_local, _load, width, variant, counted=False)


@helper(I1, *_NARROW)
def store_local(at: Emitter, width: int, variant: int) -> None:
    """STL."""
    _access(at, in_local, _store, width, variant, counted=False)


def _access(at: Emitter, find, access, width: int, variant: int, counted: bool) -> None:  # type: ignore[no-untyped-def]
    warp, mask, addresses, row, site = at.arguments
    with at.when(mask == 0, likely=False):
        at.give(at.bit(True))
    block = context(at, warp)
    place = find(at, block, warp, mask, addresses, width)
    if counted:
        trace(at, block, warp, site, place)
        if access is _store and find is in_shared:
            _note_value(at, block, place, at.beside(warp, row), width)
    if find is in_local:  # `site` is the instruction's number, where it is known
        _note_sectors(at, block, mask, addresses, site, width)
    if find is in_shared:
        (watch_read if access is _load else watch_write)(at, block, warp, site, place)
    access(at, place, at.beside(warp, row), width, variant)
    at.give(at.bit(True))


def _note_value(at: Emitter, block: Value, place: Place, rows: Value, width: int) -> None:
    """Note what all lanes store, where it is the same: of several words, a number made of them."""
    with at.when(field(at, block, "noting") != 0, likely=False):
        first, differs = at.i32(0), at.i32(0)
        for part in range(max(1, width // 4)):
            values = at.load(rows, WORDS, part * ROW)
            word = values.lane(place.mask.lowest)
            differs = differs | (values != word).ballot & place.mask
            first = first * 0x01000193 + word
        with at.when(differs == 0):
            note(at, block, first.resized(64) | 1 << VALUE)


def _note_sectors(
    at: Emitter, block: Value, mask: Value, offsets: Value, number: Value, width: int
) -> None:
    """Note how many sectors and lines lanes access of local memory, and which words are outermost.

    Words of eight lanes side by side share a sector, if they have the same index. An access that is
    off has none. Words beyond 4,095 are not noted.
    """

    def alike(lane: Value) -> Value:
        return mask & (at.i32(255) << (lane.resized(32) & 24))

    with at.when(field(at, block, "noting") != 0, likely=False):
        places = offsets & at.i32(-4)
        sectors = first_lanes(at, mask, places, alike)
        with at.when((sectors > 0) & (number >= 0)):
            lines = first_lanes(at, mask, places, lambda lane: mask)
            found = sectors | lines << LOCAL_LINES
            if width >= 4:  # else words are not filled
                found = found | (mask.ones.resized(64) == sectors * 8).resized(64) << LOCAL_WHOLE
            low = mask.by_lane.choose(offsets, 0x7FFFFFFF).reduced("umin").resized(64) >> 2
            high = mask.by_lane.choose(offsets, 0).reduced("umax").resized(64) >> 2
            words = (high < 0xFFF).choose(low + 1 | high + 1 << 12, at.i64(0))
            which = number << CONSTANT_SHIFT | words << TABLE_SHIFT
            note(at, block, found | which | 1 << CONSTANT | 1 << VALUE)


def first_lanes(at: Emitter, mask: Value, places: Value, alike: Callable[[Value], Value]) -> Value:
    """Return how many lanes are the first with their place among those that `alike` gives."""
    listed = stacked(at, places)
    found = at.variable(at.i64(0))
    with at.bits_of(mask) as lane:
        place = at.load(listed, I32, lane.resized(64) * 4)
        same = (places == place).ballot & alike(lane)
        found.set(found.get() + (same.lowest == lane).resized(64))
    return found.get()


# ---- Loads. ------------------------------------------------------------------------------------
def _load(at: Emitter, place: Place, rows: Value, width: int, variant: int) -> None:
    """Load into registers. `variant`: 1 signed, 2 into the high half."""
    mask = place.mask.by_lane
    if width < 4:
        before = at.load(rows, WORDS)
        words = at.beside(place.base, (place.offsets & -4).resized(64, signed=True))
        word = at.gather(words, mask, before, 4) >> ((place.offsets & 3) * 8)
        value = word.resized(8 * width).resized(32, signed=bool(variant & 1))
        if variant & 2:
            value = value << 16 | before & 0xFFFF
        at.store(mask.choose(value, before), rows)
        return
    # Lanes side by side, as they are mostly, are one piece of memory.
    apart = place.offsets - lanes(at) * 4
    if width == 4:
        start = apart.lane(0)
        row = ((apart != start).ballot | ~place.mask) == 0
        with at.when(row):
            begin = at.beside(place.base, start.resized(64, signed=True))
            at.store(at.load(begin, WORDS, align=4), rows)
            at.give(at.bit(True))
    if width == 16:
        _load_fours(at, place, rows)
        return
    for part in range(width // 4):
        pointers = at.beside(at.beside(place.base, 4 * part), place.offsets)
        before = at.load(rows, WORDS, part * ROW)
        at.store(at.gather(pointers, mask, before, 4), rows, part * ROW)


def _load_fours(at: Emitter, place: Place, rows: Value) -> None:
    """Load 16 bytes for each lane: 32 loads and a transposition."""
    mask = place.mask.by_lane
    offsets = _listed(at, place.safe())
    halves: list[list[Value]] = []
    for half in range(2):
        # Of each group of four words: lanes i, i + 4, i + 8, i + 12.
        quads = []
        for i in range(4):
            parts = [
                at.load(at.beside(place.base, offsets(16 * half + i + 4 * j)), _FOUR)
                for j in range(4)
            ]
            quads.append(_joined([_joined(parts[:2]), _joined(parts[2:])]))
        halves.append(_transposed(quads))
    for word in range(4):
        value = _joined([halves[0][word], halves[1][word]])
        before = at.load(rows, WORDS, word * ROW)
        at.store(mask.choose(value, before), rows, word * ROW)


def _listed(at: Emitter, offsets: Value):  # type: ignore[no-untyped-def]
    """Return a function from a lane's number to its offset, by way of the stack."""
    with at.builder.goto_entry_block():
        room = Value(at, at.builder.alloca(WORDS))
    at.store(offsets, room)
    return lambda lane: at.load(room, I32, 4 * lane).resized(64, signed=True)


def _joined(parts: Sequence[Value]) -> Value:
    """Put two vectors into one."""
    first, second = parts
    size = 2 * first.type.count
    return shuffled(first, second, range(size))


def shuffled(first: Value, second: Value, places: Sequence[int]) -> Value:
    """Return the elements of two vectors at some places, the second's behind the first's."""
    order = ir.Constant(ir.VectorType(I32, len(places)), list(places))
    return Value(first.at, first.at.builder.shuffle_vector(first.ir, second.ir, order))


def _transposed(rows: list[Value]) -> list[Value]:
    """Transpose each square of 4×4 words in four vectors of 16."""

    def mixed(first: Value, second: Value, places: Sequence[int]) -> Value:
        order = [4 * quad + place % 4 + 16 * (place // 4) for quad in range(4) for place in places]
        return shuffled(first, second, order)

    a, b, c, d = rows
    ab, cd = mixed(a, b, (0, 4, 1, 5)), mixed(c, d, (0, 4, 1, 5))
    ef, gh = mixed(a, b, (2, 6, 3, 7)), mixed(c, d, (2, 6, 3, 7))
    return [
        mixed(ab, cd, (0, 1, 4, 5)), mixed(ab, cd, (2, 3, 6, 7)),
        mixed(ef, gh, (0, 1, 4, 5)), mixed(ef, gh, (2, 3, 6, 7)),
    ]  # fmt: skip


# ---- Stores. -----------------------------------------------------------------------------------
def _store(at: Emitter, place: Place, rows: Value, width: int, variant: int) -> None:
    """Store registers; of lanes with one address the last one stays."""
    mask = place.mask.by_lane
    if width < 4:
        kind = I8 if width == 1 else I16
        offsets = stacked(at, place.offsets)
        with at.bits_of(place.mask) as lane:
            place_of = at.load(offsets, I32, lane.resized(64) * 4).resized(64, signed=True)
            value = at.load(rows, kind, lane.resized(64) * 4)
            at.store(value, at.beside(place.base, place_of))
        return
    if width == 4:
        start = place.offsets.lane(0)
        row = ((place.offsets - lanes(at) * 4 != start).ballot | ~place.mask) == 0
        with at.when(row):
            begin = at.beside(place.base, start.resized(64, signed=True))
            at.store(at.load(rows, WORDS), begin, align=4)
            at.give(at.bit(True))
    if width == 16:
        with at.when(place.mask == 0xFFFFFFFF, likely=True):
            _store_fours(at, place, rows)
            at.give(at.bit(True))
    for word in range(width // 4):
        pointers = at.beside(at.beside(place.base, 4 * word), place.offsets)
        at.scatter(at.load(rows, WORDS, word * ROW), pointers, mask, 4)


def _store_fours(at: Emitter, place: Place, rows: Value) -> None:
    """Store 16 bytes for each lane: a transposition and 32 stores."""
    offsets = _listed(at, place.offsets)
    words = [at.load(rows, WORDS, word * ROW) for word in range(4)]
    for half in range(2):
        places = range(16 * half, 16 * half + 16)
        quads = _transposed([shuffled(word, word, places) for word in words])
        # Lane 4·j + i is now in quad i, fourth j.
        for j in range(4):
            for i in range(4):
                four = shuffled(quads[i], quads[i], range(4 * j, 4 * j + 4))
                at.store(four, at.beside(place.base, offsets(16 * half + 4 * j + i)))


def stacked(at: Emitter, row: Value) -> Value:
    """Put a row on the stack."""
    with at.builder.goto_entry_block():
        room = Value(at, at.builder.alloca(WORDS))
    at.store(row, room)
    return room
