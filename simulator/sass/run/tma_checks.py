"""What TMA refuses: where a copy begins, and where its bytes lie.

A chip raises an error for each of these: an H100 did so wherever one is measured
(`gpu_check/data/h100_tiles.npz`, h100_im2col.npz).
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.errors import MemoryAccessError, TensorMapError
from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.rows import Bytes

__all__ = ["BULK_ALIGNMENT", "TILE_ALIGNMENT", "check_bulk", "check_place", "check_start",
           "check_store"]  # fmt: skip

TILE_ALIGNMENT = 128
"""Bytes: a tile's place in shared memory (PTX ISA)."""
TILE_ROW_ALIGNMENT = 16
"""Bytes: where a tile's rows begin in the tensor's (measured, H100)."""
BULK_ALIGNMENT = 16
FARTHEST = 1 << 20
"""Elements outside of a tensor from which on a coordinate is taken for garbage. The chip would fill
the tile; a kernel that means that stays near the edge."""


def check_start(fields: MapFields, coordinates: Sequence[int]) -> None:
    """Raise what `load_tile` raises for where a copy begins."""
    if len(coordinates) != fields.rank:
        raise TensorMapError(
            "coordinates",
            f"{len(coordinates)} coordinates for a map of rank {fields.rank}"
            f" (accepted: {fields.rank})",
        )
    for number, (at, size) in enumerate(zip(coordinates, fields.sizes, strict=True)):
        outside = max(-at, at - size)
        if outside > FARTHEST:
            raise MemoryAccessError(
                f"coordinate {number} is {at}, which is {outside:,} elements outside of the"
                f" tensor's {size:,} (accepted: up to {FARTHEST:,} outside, where tiles are filled)"
            )
    begins = int(coordinates[0]) * fields.unit
    if begins % TILE_ROW_ALIGNMENT:
        raise MemoryAccessError(
            f"the tile at {tuple(map(int, coordinates))} begins {begins} bytes into a row"
            f" of the tensor (accepted: multiples of {TILE_ROW_ALIGNMENT}; elsewhere the chip"
            " raises an illegal instruction)"
        )
    for number in range(fields.rank - 2 if fields.kind == "im2col" else 0):
        axis = fields.first_pixel_axis + number
        at, first = int(coordinates[axis]), fields.lower[number]
        last = fields.sizes[axis] - 1 + fields.upper[number]
        if not first <= at <= last:
            raise MemoryAccessError(
                f"coordinate {axis} of an im2col copy is {at} (accepted: {first} to {last}, the"
                " bounding box; elsewhere the chip raises an illegal instruction)"
            )


def check_store(fields: MapFields, coordinates: Sequence[int]) -> None:
    """Raise MemoryAccessError for a store that the chip refuses where it takes loads."""
    if fields.kind == "tiled" and not fields.interleave:
        return
    what = "im2col" if fields.kind == "im2col" else "interleaved"
    if any(at < 0 for at in coordinates):
        raise MemoryAccessError(
            f"a store through an {what} map to {tuple(map(int, coordinates))} (accepted: no"
            " coordinate below 0; elsewhere the chip raises an illegal instruction)"
        )
    if any(low < 0 for low in fields.lower) or any(high > 0 for high in fields.upper):
        raise MemoryAccessError(
            f"a store through an im2col map with lower={fields.lower[::-1]} and"
            f" upper={fields.upper[::-1]} (accepted: a bounding box within the tensor, lower from 0"
            " and upper up to 0; elsewhere the chip raises an illegal instruction)"
        )


def check_bulk(address: int, size: int) -> None:
    """Raise MemoryAccessError unless a bulk copy's address and size are multiples of 16."""
    for name, value in (("address", address), ("size", size)):
        if value % BULK_ALIGNMENT or value < 0:
            raise MemoryAccessError(
                f"a bulk copy's {name} is {value:#x} (accepted: multiples of {BULK_ALIGNMENT})"
            )


def check_place(shared: Bytes, place: int, size: int, alignment: int, what: str) -> None:
    """Raise MemoryAccessError unless bytes of shared memory are aligned and inside.

    Parameters
    ----------
    shared
        The block's shared memory.
    place, size
        The first byte there, and how many.
    alignment
        What `place` is a multiple of.
    what
        What lies there, for the message.
    """
    if place % alignment:
        raise MemoryAccessError(
            f"{what} at shared address {place:#x} is misaligned"
            f" (accepted: multiples of {alignment})"
        )
    if place < 0 or place + size > shared.size:
        raise MemoryAccessError(
            f"{what} of {size} bytes at shared address {place:#x} lies outside the block's"
            f" {shared.size} bytes"
        )
