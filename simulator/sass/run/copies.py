"""Serving tiles and bulk copies: each is done at once, and its mbarrier told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.errors import MemoryAccessError, TensorMapError
from simulator.law.neighbours import price_neighbour
from simulator.sass.lift.requests import AsyncStore, Bulk, BulkGroup, Reply, TileCopy
from simulator.sass.lift.watching import PIECE
from simulator.sass.run import barriers, mbarrier, tma
from simulator.sass.run.gates import LAND
from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.phases import NO_PHASE
from simulator.sass.run.reductions import reduction
from simulator.sass.run.standing import Call
from simulator.sass.run.tensor_map import decode
from simulator.sass.run.warps import lanes_of

if TYPE_CHECKING:
    from simulator.sass.run.units import Units

__all__ = ["serve_bulk", "serve_group", "serve_store", "serve_tile"]


# ---- Tiles. ------------------------------------------------------------------------------------
def serve_tile(units: Units, call: Call, request: TileCopy) -> int:
    """Load, store or reduce a tile."""
    state, warp = units.warps, call.warp
    fields = _map_at(units, state.uniform_pair(warp, request.map))
    if fields.kind == "im2col" and not request.im2col:
        raise TensorMapError("kind", "an im2col map for a tiled copy (accepted: a tiled map)")
    if fields.kind == "tiled" and request.im2col:
        raise TensorMapError("kind", "a tiled map for an im2col copy (accepted: an im2col map)")
    owner, place = units.block_at(state.uniform(warp, request.place))
    if request.action != "load":
        coordinates = state.uniforms(warp, request.place + 1, request.rank)
        combine = reduction(request.operation, fields.element) if request.operation else None
        _read(units, owner, place, fields.bytes, call, stays=True)
        _see_tile(owner, call, fields, place)
        moved = tma.store_tile(
            fields, coordinates, units.memory, owner.shared, place, combine, owner.pieces
        )
        _count(units, call, moved)
        _copied(units, call, moved)
        return Reply.GO_ON
    coordinates = state.uniforms(warp, request.place + 2, request.rank)
    extra = state.uniform(warp, request.extra) if request.extra >= 0 else 0
    bits = 16 // (request.rank - 2) if request.im2col else 0
    offsets = [extra >> bits * axis & (1 << bits) - 1 for axis in range(request.rank - 2)]
    blocks = _multicast(units, extra >> 16) if request.multicast else [owner]
    _see_tile(owner, call, fields, place)
    moved = tma.load_tile(
        fields, coordinates, units.memory, [block.shared for block in blocks], place,
        offsets if request.im2col else (), owner.pieces,
    )  # fmt: skip
    barrier = state.uniform(warp, request.place + 1)
    _copied(units, call, moved, barrier, request.multicast)
    _tell(units, blocks, place, barrier, moved.bytes, call, request.multicast)
    _count(units, call, moved)
    return Reply.GO_ON


def _price(units: Units, call: Call, places: NDArray[np.uint32], request: AsyncStore) -> None:
    """Count what st.async and red.async cost."""
    active = np.array([[bool(call.taken >> lane & 1) for lane in range(32)]])
    name = "REDAS" if request.operation else "STAS"
    op = name if request.words == 1 else f"{name}.{32 * request.words}"
    packets, cycles, _ = price_neighbour(op, places[None].astype(np.int64), active)
    units.count(
        units.cluster.site_of(call.number), requests=1, packets=int(packets[0]),
        packet_tenths=round(10 * float(cycles[0])),
    )  # fmt: skip


def _see_tile(units: Units, call: Call, fields: MapFields, place: int) -> None:
    row = fields.row_bytes
    units.sees(call.number, "tile", place, fields.bytes, fields.swizzle or 0, row)


def _map_at(units: Units, address: int) -> MapFields:
    if address % 64:
        raise MemoryAccessError(
            f"a tensor map at global address {address:#x} (accepted: multiples of 64)"
        )
    image = units.memory.read(np.array([address]), 128)[0]
    if not image.any():
        raise TensorMapError(
            "bytes", f"the 128 bytes at global address {address:#x} are all 0 (next: give a"
            " TensorMap for the array, --arg tma:…, or write a map there before its first use)",
        )  # fmt: skip
    try:
        return decode(image.tobytes())
    except TensorMapError as error:
        error.args = (f"{error}; the map is at global address {address:#x}",)
        raise


# ---- Blocks of the cluster. --------------------------------------------------------------------
def _multicast(units: Units, mask: int) -> list[Units]:
    """List the blocks that a multicast goes to."""
    blocks = units.cluster.units
    if not mask or mask >> len(blocks):
        raise MemoryAccessError(
            f"a multicast to the blocks of mask {mask:#x} in a cluster of {len(blocks)}"
            f" (accepted: 0x1 to {(1 << len(blocks)) - 1:#x})"
        )
    return [block for block in blocks if mask >> block.rank & 1]


def _landed(
    units: Units, call: Call, block: Units, place: int, size: int, owner: Units, barrier: int
) -> None:
    """Tell who watches the cluster of bytes that a warp brings to a block.

    Parameters
    ----------
    units, call
        The block whose warp copies, and the instruction.
    block, place, size
        Where the bytes lie, and how many they are.
    owner, barrier
        The block and the shared address of the mbarrier that counts them.
    """
    barriers.reach(units, call, owner, barrier)
    if units.order and size:
        where, to = owner.rank << 32 | barrier, block.rank << 32 | place
        units.order(LAND, call.warp, call.number, where, owner.turned(barrier), to, size)


def _tell(
    units: Units, blocks: list[Units], place: int, barrier: int, size: int, call: Call,
    multicast: bool,
) -> None:  # fmt: skip
    """Tell the mbarrier of each block that got bytes, and its watch."""
    for block in blocks:
        there = barrier & 0xFFFFFF | block.rank << 24 if multicast else barrier
        owner, at = block.block_at(there)
        _landed(units, call, block, place, size, owner, at)
        if block.watch and owner is block:
            parity = mbarrier.load(block.shared, at).phase
            warp = call.warp if block is units else None
            block.watch.land(place, size, at, parity, call.number, warp)
        barriers.complete(block, there, size)


def _read(
    units: Units, owner: Units, place: int, size: int, call: Call, stays: bool = False
) -> None:
    """Note what a copy reads from its block's shared memory.

    `stays`: on the chip it may read on until its group is waited for.
    """
    if units.watch and owner is units:
        pieces = slice(place // PIECE, -(-(place + size) // PIECE))
        units.watch.read(pieces, [call.warp], call.number)
        if stays:
            units.watch.send(call.warp, call.number, pieces)


def serve_group(units: Units, call: Call, request: BulkGroup) -> int:
    """Take note that a warp ended a group of copies, or waited for such groups."""
    if units.watch and request.left is None:
        units.watch.commit(call.warp)
    elif units.watch and request.left is not None:
        units.watch.wait_copies(call.warp, request.left)
    return Reply.GO_ON


def _copied(
    units: Units, call: Call, moved: tma.Moved, barrier: int | None = None, multicast: bool = False
) -> None:
    """Note a copy for the estimate of time, with the phase of its block that waits for it."""
    if not units.phases:
        return
    phase = NO_PHASE
    if barrier is not None:
        there = barrier & 0xFFFFFF | units.rank << 24 if multicast else barrier
        owner, place = units.block_at(there)
        phase = units.phases.running(place) if owner is units else NO_PHASE
    amounts = moved.bytes, moved.sectors, moved.rows
    units.phases.copy(call.warp, call.number, phase, amounts, moved.first, moved.size)


def _count(units: Units, call: Call, moved: tma.Moved) -> None:
    units.note(call, moved.sectors, moved.bytes)
    site = units.cluster.site_of(call.number)
    units.count(site, requests=1, sectors=moved.sectors, bytes=moved.bytes, rows=moved.rows)


# ---- Bytes side by side. -----------------------------------------------------------------------
def serve_bulk(units: Units, call: Call, request: Bulk) -> int:
    """Copy or reduce bytes side by side."""
    state, warp = units.warps, call.warp
    word = state.uniform(warp, request.size)
    size, combine = (word & 0xFFFF) * 16, None
    if request.operation:
        combine = reduction(request.operation, request.element)
    if request.way == "G.S":
        owner, place = units.block_at(state.uniform(warp, request.source))
        address = state.uniform_pair(warp, request.to)
        _read(units, owner, place, size, call, stays=True)
        place = owner.placed(call.number, "bulk", place, size)
        moved = tma.store_bulk(units.memory, address, size, owner.shared, place, combine)
        _count(units, call, moved)
        _copied(units, call, moved)
        return Reply.GO_ON
    owner, place = units.block_at(state.uniform(warp, request.to))
    blocks = _multicast(units, word >> 16) if request.multicast else [owner]
    place = owner.placed(call.number, "bulk", place, size)
    if request.way == "S.G":
        address = state.uniform_pair(warp, request.source)
        moved = tma.load_bulk(
            units.memory, address, size, [block.shared for block in blocks], place
        )
    else:
        source, from_ = units.block_at(state.uniform(warp, request.source))
        _read(units, source, from_, size, call)
        from_ = source.placed(call.number, "bulk", from_, size)
        moved = tma.copy_bulk(source.shared, from_, size, owner.shared, place, combine)
    barrier = state.uniform(warp, request.to + 1)
    _copied(units, call, moved, barrier, request.multicast)
    _tell(units, blocks, place, barrier, moved.bytes, call, request.multicast)
    _count(units, call, moved)
    return Reply.GO_ON


# ---- Stores into a block of the cluster. -------------------------------------------------------
def serve_store(units: Units, call: Call, request: AsyncStore) -> int:
    """Store or reduce each lane's registers, and tell the mbarrier."""
    places, barriers_at = (units.warps.row(call.warp, request.place + i) for i in range(2))
    combine = reduction(request.operation, request.element) if request.operation else None
    rows = [units.warps.row(call.warp, request.data.number + i) for i in range(request.words)]
    size = 4 * request.words
    _price(units, call, places, request)
    phases = []
    for lane in lanes_of(call.taken):
        owner, place = units.block_at(int(places[lane]))
        if place % size or place + size > owner.shared.size:
            raise MemoryAccessError(
                f"{size} bytes at shared address {place:#x} of block {owner.rank} (accepted:"
                f" multiples of {size} within its {owner.shared.size} bytes)"
            )
        barrier = int(barriers_at[lane])
        holder, at = units.block_at(barrier)
        _landed(units, call, owner, place, size, holder, at)
        if owner.watch and barrier >> 24 == owner.rank:
            parity = mbarrier.load(owner.shared, barrier & 0xFFFFFF).phase
            owner.watch.land(place, size, barrier & 0xFFFFFF, parity, call.number, None)
        place = owner.placed(call.number, "store", place, size)
        new = np.array([row[lane] for row in rows], np.uint32).view(np.uint8)
        old = owner.shared[place : place + size]
        old[:] = new if combine is None else combine(old[None], new[None])[0]
        if units.phases:
            phases.append(units.phases.alike(at, holder.phases))
        barriers.complete(owner, barrier, size)
    if units.phases:
        units.phases.add(call.warp, call.number, phases)
    return Reply.GO_ON
