"""Rows of global bytes: what bulk copies read and write, many rows in one call."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.errors import MemoryAccessError

__all__ = ["Addresses", "ArrayMemory", "Bytes", "RowMemory", "gather", "scatter"]

Bytes = NDArray[np.uint8]
Addresses = NDArray[np.int64]


class RowMemory(Protocol):
    """Global memory as copies see it: rows of equal size, each at an address of its own."""

    def read(self, addresses: Addresses, size: int) -> Bytes:
        """Return `size` bytes from each address, shape (rows, size)."""

    def write(self, addresses: Addresses, rows: Bytes) -> None:
        """Store each row at its address; of rows that overlap, the last one stays."""


class ArrayMemory:
    """Global memory that is one array of bytes, at an address.

    Raises MemoryAccessError for a row that is not wholly inside.
    """

    def __init__(self, address: int, data: Bytes) -> None:
        self.address = address
        self.data = data

    def read(self, addresses: Addresses, size: int) -> Bytes:
        """Return `size` bytes from each address, shape (rows, size)."""
        return gather(self.data, self._offsets(addresses, size), size)

    def write(self, addresses: Addresses, rows: Bytes) -> None:
        """Store each row at its address."""
        scatter(self.data, self._offsets(addresses, rows.shape[1]), rows)

    def _offsets(self, addresses: Addresses, size: int) -> Addresses:
        offsets = addresses - self.address
        if offsets.size and size:
            low, high = int(offsets.min()), int(offsets.max()) + size
            if low < 0 or high > self.data.size:
                wrong = self.address + (low if low < 0 else high - size)
                raise MemoryAccessError(
                    f"{size} bytes at {wrong:#x} lie outside the {self.data.size} bytes at"
                    f" {self.address:#x}"
                )
        return offsets


def gather(data: Bytes, offsets: Addresses, size: int) -> Bytes:
    """Return `size` bytes of `data` from each offset, shape (rows, size)."""
    unit = _unit(offsets, size)
    places = _places(offsets, size, unit)
    found = _in_units(data, unit).take(places)
    return found.view(np.uint8).reshape(len(offsets), size)


def scatter(data: Bytes, offsets: Addresses, rows: Bytes) -> None:
    """Store each row of `rows` at its offset in `data`."""
    size = rows.shape[1]
    unit = _unit(offsets, size)
    places = _places(offsets, size, unit)
    _in_units(data, unit)[places] = _in_units(np.ascontiguousarray(rows).ravel(), unit)


def _unit(offsets: Addresses, size: int) -> int:
    """Return the largest power of 2 up to 16 that divides every offset and the size."""
    bits = int(np.bitwise_or.reduce(offsets, initial=0)) | size | 16
    return bits & -bits


def _places(offsets: Addresses, size: int, unit: int) -> Addresses:
    within = np.arange(size // unit)
    return ((offsets // unit)[:, None] + within).ravel()


def _in_units(data: Bytes, unit: int) -> NDArray[Any]:
    # Bytes of no type (void) are copied as they are, and need no alignment.
    return data[: data.size // unit * unit].view(f"V{unit}")
