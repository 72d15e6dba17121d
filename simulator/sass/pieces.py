"""What arguments are made of before their arrays have addresses: see `parameters`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

__all__ = [
    "MAP_BYTES", "Map", "MapOfArray", "NumberedArray", "Piece", "Pointer", "RecordArgument",
    "Structures",
]  # fmt: skip

MAP_BYTES = 128
"""Of a tensor map."""


@dataclass(frozen=True)
class Pointer:
    """An argument that points into an array, to a byte of it."""

    array: NDArray[Any]
    offset: int


@runtime_checkable
class MapOfArray(Protocol):
    """What describes an array to the device: a tensor map."""

    array: NDArray[Any]

    def encode(self, address: int) -> bytes:
        """Return its bytes, the array being at an address."""


@dataclass(frozen=True)
class Map:
    """A tensor map, and the number of its array."""

    number: int
    map: MapOfArray


@dataclass(frozen=True)
class Piece:
    """A member's place among a parameter's bytes: its bytes, or an array whose address it is."""

    offset: int
    data: bytes | int | Map
    """Bytes, the number of an array, or a tensor map."""
    said: str
    inside: int = 0
    """The byte of the array that it points to."""

    @property
    def size(self) -> int:
        """Its bytes."""
        if isinstance(self.data, bytes):
            return len(self.data)
        return 8 if isinstance(self.data, int) else MAP_BYTES


@dataclass(frozen=True)
class NumberedArray:
    """An array among the arguments, by its number, and the byte of it that is pointed to."""

    number: int
    inside: int = 0


@dataclass(frozen=True)
class Structures(NumberedArray):
    """An array of structures that a pointer leads to, by the number of its bytes."""

    members: tuple[Any, ...] = ()
    """Of each structure: a tuple or a dict."""
    pieces: tuple[Piece, ...] = ()
    """Where each value in them lies, in order."""


@dataclass(frozen=True)
class RecordArgument:
    """A NumPy record with arrays in it: its members and where they lie."""

    members: dict[str, Any]
    places: dict[str, int]
    size: int
