"""Where addresses point: checks against the bounds of each memory, and what a warp touched.

Each function emits into a helper that gives a bit: whether there was no fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.kinds import I32, I64, vector
from simulator.sass.lift.layout import LINE_MASK, LINE_SHIFT, NUMBER, ROW, SLOT_BITS, Fault
from simulator.sass.lift.state import count, field, fill, note, pointer, record
from simulator.sass.lift.values import Value

__all__ = ["Place", "in_block", "in_global", "in_local", "in_shared", "lanes", "refuse", "trace"]

WORDS = vector(I32)


@dataclass(frozen=True)
class Place:
    """Memory that the lanes of a mask access: a pointer and each lane's offset, signed."""

    base: Value
    offsets: Value
    mask: Value
    """32 bits, a bit for each lane; one is set at least."""
    is_shared: bool = False
    """Whether it is the block's own shared memory."""

    def safe(self) -> Value:
        """Offsets, that of the first lane for those outside of the mask."""
        first = self.offsets.lane(self.mask.lowest)
        return self.mask.by_lane.choose(self.offsets, first)


def lanes(at: Emitter) -> Value:
    """Return the number of each lane."""
    return at.each(range(32))


def refuse(
    at: Emitter, block: Value, warp: Value, wrong: Value, misaligned: Value, addresses: Value
) -> None:
    """Stop the helper where an address is wrong: the first lane's is noted.

    Parameters
    ----------
    at
        Where code is emitted.
    block, warp
        Pointers to the state of the block and of the warp.
    wrong
        Lanes whose address is wrong.
    misaligned
        Those of them that are misaligned, not out of bounds.
    addresses
        An address per lane.
    """
    bits = wrong.ballot
    with at.when(bits != 0, likely=False):
        lane = bits.lowest
        thread = at.load(warp, I64, NUMBER) * 32 + lane.resized(64)
        address = addresses.lane(lane)
        record(
            at, block, Fault.BOUNDS, thread, address if address.bits == 64 else address.resized(64)
        )
        with at.when(misaligned.lane(lane)):
            fill(at, block, "why", int(Fault.ALIGN))
        at.give(at.bit(False))


def in_shared(
    at: Emitter, block: Value, warp: Value, mask: Value, addresses: Value, width: int
) -> Place:
    """Find 32-bit addresses in shared memory.

    Parameters
    ----------
    at, block, warp
        Those of `refuse`.
    mask
        Lanes that access memory.
    addresses
        An address per lane.
    width
        Bytes per lane.
    """
    first = field(at, block, "shared_start").resized(32)
    moved = _offsets(at, block, warp, addresses, first, mask, width)
    return Place(pointer(at, block, "shared"), moved, mask, is_shared=True)


def in_block(
    at: Emitter, block: Value, warp: Value, mask: Value, addresses: Value, width: int
) -> Place:
    """Find addresses in the shared memory of one block of the cluster, that of the first lane.

    Parameters
    ----------
    at, block, warp, mask, addresses, width
        Those of `in_shared`.
    """
    rank = (addresses.lane(mask.lowest) >> 24).resized(64)
    own = field(at, block, "rank")
    # Within a block the addresses begin where this one's do.
    first = (field(at, block, "shared_start") - (own << 24) + (rank << 24)).resized(32)
    moved = _offsets(at, block, warp, addresses, first, mask, width)
    base = at.load(pointer(at, block, "blocks_shared"), I64, rank * 8)
    return Place(at.pointer(base), moved, mask)


def _offsets(
    at: Emitter, block: Value, warp: Value, addresses: Value, first: Value, mask: Value, width: int
) -> Value:
    """Return where these bytes lie in the shared memory that begins at `first`, or refuse them.

    They may end behind it where they begin in it: a chip gives a block a multiple of 128 bytes, and
    the compiler loads 16 bytes at a time that begin in the last array.
    """
    offsets = addresses - first
    size = field(at, block, "shared_bytes")
    misaligned = (addresses & (width - 1)) != 0
    wrong = misaligned | (offsets > (size - 1).resized(32)) | (size < 1)
    refuse(at, block, warp, wrong & mask.by_lane, misaligned, addresses)
    return _moved(at, block, warp, offsets, mask, addresses, width)


def _moved(
    at: Emitter, block: Value, warp: Value, offsets: Value, mask: Value, addresses: Value,
    width: int,
) -> Value:  # fmt: skip
    """Return where these bytes of shared memory lie, where a replay tries another layout.

    What a lane accesses must stay together and aligned there.
    """
    found = at.variable(offsets)
    table = pointer(at, block, "moves")
    with at.when(field(at, block, "moves") != 0, likely=False):
        active, first = mask.by_lane, at.beside(table, offsets * 4)
        moved = at.gather(first, active, offsets, 4)
        last = at.gather(at.beside(first, 4 * (width - 1)), active, offsets, 4)
        torn = ((last - moved) != (width - 1)) | ((moved & (width - 1)) != 0)
        refuse(at, block, warp, torn & active, torn, addresses)
        found.set(moved)
    return found.get()


def in_local(
    at: Emitter, block: Value, warp: Value, mask: Value, addresses: Value, width: int
) -> Place:
    """Find 32-bit addresses in each thread's own memory.

    Parameters
    ----------
    at, block, warp
        Those of `refuse`.
    mask
        Lanes that access memory.
    addresses
        An address per lane.
    width
        Bytes per lane.
    """
    size = field(at, block, "local_bytes").resized(32)
    misaligned = (addresses & (width - 1)) != 0
    wrong = (misaligned | (addresses > size - width)) & mask.by_lane
    refuse(at, block, warp, wrong, misaligned, addresses)
    thread = lanes(at) + (at.load(warp, I64, NUMBER) * 32).resized(32)
    return Place(pointer(at, block, "local"), addresses + thread * size, mask)


def in_global(
    at: Emitter, block: Value, warp: Value, mask: Value, addresses: Value, width: int
) -> Place:
    """Find 64-bit addresses in the arrays of global memory; all in one of them, mostly.

    Parameters
    ----------
    at, block, warp
        Those of `refuse`.
    mask
        Lanes that access memory.
    addresses
        An address per lane.
    width
        Bytes per lane.
    """
    misaligned = (addresses & (width - 1)) != 0
    starts, ends = pointer(at, block, "starts"), pointer(at, block, "ends")

    def inside(which: Value) -> Value:
        start, end = at.load(starts, I64, which * 8), at.load(ends, I64, which * 8)
        fits = end - start >= width
        return ((addresses - start) <= (end - start - width)) & fits

    left = at.variable(mask & ~inside(field(at, block, "range")).ballot)
    with at.when(left.get() != 0, likely=False), at.loop(field(at, block, "ranges")) as which:
        found = inside(which).ballot & left.get()
        with at.when(found != 0):
            fill(at, block, "range", which)
        left.set(left.get() & ~found)
    wrong = (misaligned & mask.by_lane) | left.get().by_lane
    refuse(at, block, warp, wrong, misaligned, addresses)
    offsets = (addresses - (field(at, block, "arena_start") + (1 << 31))).resized(32)
    return Place(pointer(at, block, "arena"), offsets, mask)


def trace(
    at: Emitter, block: Value, warp: Value, site: Value, place: Place, sources: Value | None = None
) -> None:
    """Record what a warp touched, or count it where that pattern is in the trace already.

    A pattern that moved by whole turns of the banks, which are whole cache lines, costs the same,
    whichever warp it is of. It is looked up by a hash, and compared. Where a witness wants the very
    addresses of shared memory, `places` keeps them.

    Parameters
    ----------
    at, block, warp
        Those of `refuse`.
    site
        The number of the instruction among those that access memory.
    place
        What it touches.
    sources
        Bytes in global memory that a copy reads: part of its pattern.
    """
    mask, offsets = place.mask, place.offsets
    active = mask.by_lane
    begin = at.variable(offsets.lane(0))
    with at.when((mask & 1) == 0, likely=False):
        begin.set(offsets.lane(mask.lowest))
    first = begin.get()
    turn = first & (field(at, block, "places").resized(32) if place.is_shared else 127)
    line = (first >> 7 & LINE_MASK).resized(64) << LINE_SHIFT
    pattern = active.choose(offsets - first, 0)
    slots = pointer(at, block, "slots")
    whole = pattern if sources is None else pattern ^ sources * 0x632BE5AB
    slot = _hash(at, whole, turn, mask, site.resized(32)).resized(64) * 4
    before = at.load(slots, I32, slot).resized(64, signed=True)
    traces, heads = pointer(at, block, "trace"), pointer(at, block, "heads")
    weights = pointer(at, block, "weights")
    new = at.variable(at.bit(True))
    with at.when(before != -1, likely=True):
        differs = (pattern != at.load(traces, WORDS, before * ROW)).ballot
        if sources is not None:
            read = at.load(pointer(at, block, "sources"), WORDS, before * ROW)
            differs = differs | (sources != read).ballot
        for part, value in enumerate((site.resized(32), mask, turn)):
            differs = differs | (at.load(heads, I32, before * 16 + 4 * part) ^ value)
        with at.when(differs == 0, likely=True):
            at.store(at.load(weights, I64, before * 8) + 1, weights, before * 8)
            note(at, block, before | line)
            new.set(0)
    with at.when(new.get(), likely=False):
        row = field(at, block, "traced")
        count(at, block, "traced", 1)
        at.store(pattern, traces, row * ROW)
        if sources is not None:
            at.store(sources, pointer(at, block, "sources"), row * ROW)
        for part, value in enumerate((site.resized(32), mask, turn)):
            at.store(value, heads, row * 16 + 4 * part)
        at.store(at.i64(1), weights, row * 8)
        at.store(row.resized(32), slots, slot)
        note(at, block, row | line)


def _hash(at: Emitter, pattern: Value, turn: Value, mask: Value, site: Value) -> Value:
    """Return a slot for a pattern of a memory instruction: sums of products with odd numbers."""
    products = pattern * at.each([0x9E3779B1 * (2 * lane + 1) for lane in range(32)])
    mixed = products.reduced("add") + (turn * 0x85EBCA6B ^ mask * 0xC2B2AE35 ^ site * 0x27D4EB2F)
    return (mixed ^ mixed >> 15) * 0x2C1B3C6D >> (32 - SLOT_BITS)
