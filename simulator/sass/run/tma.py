"""Tiles and bulk copies between global and shared memory, as Hopper's TMA makes them.

A tile's rows lie in shared memory one after the other, the contiguous axis of the box first; under
a swizzle each begins at a multiple of the swizzle's span, however short it is. A swizzle permutes
16-byte pieces by bits of the shared byte address: 32 bytes `a4 ^= a7`, 64 bytes `a[5:4] ^= a[8:7]`,
128 bytes `a[6:4] ^= a[9:7]` (CUTLASS: Swizzle<1|2|3, 4, 3>). Elements outside the tensor are filled
on a load and left out of a store; either way a copy counts all bytes of the box, and no gaps (PTX
ISA, cp.async.bulk.tensor). A load of tfloat32 rounds. The fill "nan" is 0x7FF7 in each 16 bits of
any type. A tile whose rows do not begin at a multiple of 16 bytes of the tensor's is an illegal
instruction. All of it is held to tiles that an H100 copied (`gpu_check/data/h100_tiles.npz`,
h100_im2col.npz).

An im2col copy visits pixels of a bounding box line by line, from one within it; any other start is
an illegal instruction. A store through such a map needs a box within the tensor. The first axis of
an interleaved map counts slices of 16 or 32 bytes, which lie one after the other in shared memory;
a copy takes one place of the axis before the last, whatever its box or its channels (an H100:
h100_slices.npz). So the first axis is one of the pixels' axes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.rows import Addresses, Bytes, RowMemory
from simulator.sass.run.tma_checks import (
    BULK_ALIGNMENT,
    TILE_ALIGNMENT,
    check_bulk,
    check_place,
    check_start,
    check_store,
)

__all__ = ["Moved", "copy_bulk", "load_bulk", "load_tile", "store_bulk", "store_tile", "swizzled"]

Order = Callable[[NDArray[np.int64]], NDArray[np.int64]]

_NAN = np.frombuffer(b"\xf7\x7f", np.uint8)


@dataclass(frozen=True)
class Moved:
    """What a copy moved: bytes in shared memory, rows of the box, 32-byte sectors of global memory.

    `bytes` is what a barrier's complete_tx counts, filled elements included.
    """

    bytes: int
    rows: int
    sectors: int
    first: Addresses = field(default_factory=lambda: np.zeros(0, np.int64))
    """Where in global memory it touched each row."""
    size: int = 0
    """Bytes of a row that it touched."""


def load_tile(
    fields: MapFields,
    coordinates: Sequence[int],
    memory: RowMemory,
    blocks: Sequence[Bytes],
    destination: int,
    offsets: Sequence[int] = (),
    pieces: Order | None = None,
) -> Moved:
    """Load the tile at `coordinates` into shared memory: of one block, or of several (multicast).

    Raises TensorMapError for another number of coordinates, UnsupportedError for a form that was
    not recorded. MemoryAccessError is for a destination that is misaligned or not wholly inside.

    Parameters
    ----------
    fields
        What the tensor map says.
    coordinates
        Of the tile, in elements, the contiguous axis first. They may be negative or beyond the end.
        For an im2col map: the pixel's.
    memory
        Global memory.
    blocks
        Shared memory of one block, or of several (multicast).
    destination
        The first byte there.
    offsets
        Of the filter's tap, for an im2col map.
    pieces
        Where pieces of 16 bytes lie instead, by their numbers.
    """
    for shared in blocks:
        check_place(shared, destination, _footprint(fields), TILE_ALIGNMENT, "a tile")
    addresses, inside, low, high = _rows(fields, coordinates, offsets)
    size = _row(fields)
    if inside is None and high - low == size:
        tile = _as_type(fields, memory.read(addresses, size))
    else:
        tile = _filled(fields, len(addresses), size)
        chosen = slice(None) if inside is None else inside
        if high > low:
            rows = memory.read(addresses[chosen] + low, high - low)
            tile[chosen, low:high] = _as_type(fields, rows)
        addresses = addresses[chosen]
    given = _pieces(tile.reshape(-1))
    order = _order_of(fields, destination, len(tile))
    if pieces is not None:
        order = pieces(order)
    for shared in blocks:
        _pieces(shared)[order] = given
    return _moved(fields, len(tile), addresses + low, high - low)


def store_tile(
    fields: MapFields,
    coordinates: Sequence[int],
    memory: RowMemory,
    shared: Bytes,
    source: int,
    combine: Callable[[Bytes, Bytes], Bytes] | None = None,
    pieces: Order | None = None,
) -> Moved:
    """Store a tile of shared memory; `combine(old, new)` makes the stored bytes of a reduction.

    Elements outside the tensor are left out. Raises what `load_tile` raises.

    Parameters
    ----------
    fields, coordinates, memory, pieces
        Those of `load_tile`.
    shared, source
        Shared memory of the block, and the tile's first byte in it.
    combine
        Makes the stored bytes of a reduction from the old and the new ones.
    """
    check_store(fields, coordinates)
    check_place(shared, source, _footprint(fields), TILE_ALIGNMENT, "a tile")
    addresses, inside, low, high = _rows(fields, coordinates, ())
    size, count = _row(fields), len(addresses)
    order = _order_of(fields, source, count)
    if pieces is not None:
        order = pieces(order)
    tile = _pieces(shared).take(order).view(np.uint8).reshape(count, size)
    if inside is not None:
        tile, addresses = tile[inside], addresses[inside]
    if high > low and len(addresses):
        _put(memory, addresses + low, tile[:, low:high], combine)
    return _moved(fields, count, addresses + low, high - low)


def _moved(fields: MapFields, rows: int, first: Addresses, size: int) -> Moved:
    """Say what a copy of a tile moved, from where its rows begin in global memory."""
    return Moved(fields.bytes, rows, _sectors(first, size), first, size)


def load_bulk(
    memory: RowMemory, address: int, size: int, blocks: Sequence[Bytes], destination: int
) -> Moved:
    """Copy `size` bytes of global memory into the shared memory of one block or of several.

    Raises MemoryAccessError unless addresses and size are multiples of 16 and lie inside.
    """
    check_bulk(address, size)
    for shared in blocks:
        check_place(shared, destination, size, BULK_ALIGNMENT, "a bulk copy")
    row = memory.read(np.array([address]), size)[0]
    for shared in blocks:
        shared[destination : destination + size] = row
    sectors = size + address % 32 + 31 >> 5 if size else 0
    return Moved(size, 1, sectors, np.array([address]), size)


def store_bulk(
    memory: RowMemory,
    address: int,
    size: int,
    shared: Bytes,
    source: int,
    combine: Callable[[Bytes, Bytes], Bytes] | None = None,
) -> Moved:
    """Copy `size` bytes of shared memory to global memory, or reduce them there by `combine`.

    Raises MemoryAccessError unless addresses and size are multiples of 16 and lie inside.

    Parameters
    ----------
    memory, address
        Global memory, and the first byte in it.
    size
        Bytes.
    shared, source
        Shared memory of the block, and the first byte in it.
    combine
        That of `store_tile`.
    """
    check_bulk(address, size)
    check_place(shared, source, size, BULK_ALIGNMENT, "a bulk copy")
    _put(memory, np.array([address]), shared[None, source : source + size], combine)
    sectors = size + address % 32 + 31 >> 5 if size else 0
    return Moved(size, 1, sectors, np.array([address]), size)


def copy_bulk(
    shared: Bytes,
    source: int,
    size: int,
    other: Bytes,
    destination: int,
    combine: Callable[[Bytes, Bytes], Bytes] | None = None,
) -> Moved:
    """Copy `size` bytes from one block's shared memory to another's, or reduce them there.

    Raises MemoryAccessError unless addresses and size are multiples of 16 and lie inside.

    Parameters
    ----------
    shared, source
        Shared memory that is read, and the first byte in it.
    size
        Bytes.
    other, destination
        Shared memory that is written, and the first byte in it.
    combine
        That of `store_tile`.
    """
    check_bulk(0, size)
    check_place(shared, source, size, BULK_ALIGNMENT, "a bulk copy")
    check_place(other, destination, size, BULK_ALIGNMENT, "a bulk copy")
    new = shared[source : source + size].copy()
    place = other[destination : destination + size]
    place[:] = new if combine is None else combine(place[None], new[None])[0]
    return Moved(size, 1, 0)


def swizzled(first: int, count: int, swizzle: int | None) -> NDArray[np.int64]:
    """Return where `count` 16-byte pieces from piece `first` on lie: numbers of pieces.

    >>> swizzled(0, 16, 128).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 13, 12, 15, 14]
    """
    base = first & ~63  # a pattern of 8 x 8 pieces repeats
    return _order(first - base, count, swizzle) + base


@lru_cache(maxsize=256)
def _order(first: int, count: int, swizzle: int | None) -> NDArray[np.int64]:
    pieces = np.arange(first, first + count)
    return pieces ^ (pieces >> 3 & (swizzle or 16) // 16 - 1)


def _order_of(fields: MapFields, place: int, rows: int) -> NDArray[np.int64]:
    """Return where the 16-byte pieces of a tile's rows lie: numbers of pieces, row by row."""
    pieces, swizzle = _row(fields) >> 4, fields.swizzle
    span = pieces if fields.interleave else max(pieces, (swizzle or 0) >> 4)
    order = swizzled(place >> 4, rows * span, swizzle)
    return order if span == pieces else order.reshape(rows, span)[:, :pieces].ravel()


def _row(fields: MapFields) -> int:
    """Bytes that lie side by side in global memory: a row of the box, or a slice."""
    return fields.interleave or fields.row_bytes


def _footprint(fields: MapFields) -> int:
    """Bytes of shared memory that a tile takes, gaps between rows included."""
    if fields.interleave:
        return fields.bytes
    row = fields.row_bytes
    return fields.bytes // row * max(row, fields.swizzle or 0)


def _pieces(data: Bytes) -> NDArray[Any]:
    return data[: data.size & ~15].view("V16")


@lru_cache(maxsize=256)
def _steps(fields: MapFields) -> tuple[tuple[NDArray[np.int64], ...], Addresses]:
    """Return the steps in elements along each axis, and the byte offsets of the box's rows."""
    steps = tuple(
        np.arange(count) * step
        for count, step in zip(fields.counts, fields.element_strides, strict=True)
    )
    offsets = steps[0] * fields.interleave if fields.interleave else np.zeros(1, np.int64)
    for step, stride in zip(steps[1:], fields.strides, strict=True):
        offsets = (step[:, None] * stride + offsets).ravel()
    return steps, offsets


def _rows(
    fields: MapFields, coordinates: Sequence[int], offsets: Sequence[int]
) -> tuple[Addresses, NDArray[np.bool_] | None, int, int]:
    """Return the rows' addresses, which lie inside (None: all), and the bytes of each that do."""
    check_start(fields, coordinates)
    width, unit = fields.sizes[0], fields.unit
    first = int(coordinates[0])
    start = fields.address + first * unit
    if fields.interleave:
        low, high = 0, unit
    else:
        low = min(max(-first, 0), fields.counts[0]) * unit
        high = max(min(width - first, fields.counts[0]) * unit, low)
    if fields.kind == "im2col":
        places = _pixels(fields, tuple(coordinates))
        walked = fields.first_pixel_axis
        places[:, walked : walked + len(offsets)] += np.asarray(offsets, np.int64)
        within = (places >= 0) & (places < np.array(fields.sizes))
        inside: NDArray[np.bool_] = np.all(within[:, walked:], axis=1)
        return fields.address + places @ np.array((unit, *fields.strides)), inside, low, high
    steps, rows = _steps(fields)
    start += sum(int(at) * by for at, by in zip(coordinates[1:], fields.strides, strict=True))
    mask: NDArray[np.bool_] | None = None  # one bit per row
    checked = slice(0 if fields.interleave else 1, None)
    axes = [
        (at + step, size)
        for at, step, size in zip(coordinates, steps, fields.sizes, strict=True)
    ][checked]  # fmt: skip
    if any(places[0] < 0 or places[-1] >= size for places, size in axes):
        mask = np.ones(1, np.bool_)
        for places, size in axes:
            axis: NDArray[np.bool_] = (places >= 0) & (places < size)
            mask = np.logical_and(axis[:, None], mask).ravel()
    return start + rows, mask, low, high


def _pixels(fields: MapFields, start: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the places that an im2col copy visits from `start` on, shape (pixels, rank).

    They run through the bounding box line by line: from the lower corner to the last pixel plus
    the upper corner, by the element strides, from image to image by the last of them.
    """
    place, found = list(start), []
    first = fields.first_pixel_axis
    for _ in range(fields.pixels):
        found.append(tuple(place))
        for axis in range(first, first + fields.rank - 2):
            place[axis] += fields.element_strides[axis]
            if place[axis] < fields.sizes[axis] + fields.upper[axis - first]:
                break
            place[axis] = fields.lower[axis - first]
        else:
            place[-1] += fields.element_strides[-1]
    return np.array(found, np.int64)


def _filled(fields: MapFields, rows: int, size: int) -> Bytes:
    """Return a tile of what lies outside the tensor."""
    if fields.fill == "zero":
        return np.zeros((rows, size), np.uint8)
    return np.tile(_NAN, (rows, size // 2))


def _as_type(fields: MapFields, rows: Bytes) -> Bytes:
    """Return loaded rows as the map's type has them: tfloat32 rounds float32 to 10 bits.

    The nearest is an H100's; that halfway goes away from zero is cvt.rna's rule, and not recorded.
    """
    if not fields.element.startswith("tfloat32"):
        return rows
    words = np.ascontiguousarray(rows).view(np.uint32)
    rounded = words + np.uint32(0x1000) & np.uint32(0xFFFF_E000)
    is_nan = words & np.uint32(0x7FFF_FFFF) > np.uint32(0x7F80_0000)
    return np.where(is_nan, np.uint32(0x7FFF_E000), rounded).view(np.uint8)


def _put(
    memory: RowMemory,
    addresses: Addresses,
    rows: Bytes,
    combine: Callable[[Bytes, Bytes], Bytes] | None,
) -> None:
    if combine is None:
        memory.write(addresses, rows)
        return
    size = rows.shape[1]
    ordered = np.sort(addresses)
    if (ordered[1:] - ordered[:-1] >= size).all():
        memory.write(addresses, combine(memory.read(addresses, size), rows))
        return
    for number in range(len(addresses)):  # rows that share bytes: each sees the one before
        one = addresses[number : number + 1]
        memory.write(one, combine(memory.read(one, size), rows[number : number + 1]))


def _sectors(addresses: Addresses, size: int) -> int:
    if size <= 0 or not len(addresses):
        return 0
    return int(((addresses + (size - 1) >> 5) - (addresses >> 5) + 1).sum())
