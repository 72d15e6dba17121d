"""What a tensor map says: the arguments of the driver's functions that encode one."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from simulator.errors import TensorMapError

__all__ = ["CHOICES", "ELEMENT_TYPES", "MapFields", "box_bytes"]

ELEMENT_TYPES = {
    "uint8": (0, 1), "uint16": (1, 2), "uint32": (2, 4), "int32": (3, 4), "uint64": (4, 8),
    "int64": (5, 8), "float16": (6, 2), "float32": (7, 4), "float64": (9, 8), "bfloat16": (10, 2),
    "float32_ftz": (8, 4), "tfloat32": (7, 4), "tfloat32_ftz": (8, 4),
}  # fmt: skip
"""Element types in the driver's order: the number in the map, and bytes."""

INTERLEAVES = (None, 16, 32)
SWIZZLES = (None, 32, 64, 128)
L2_PROMOTIONS = (None, 64, 128, 256)
FILLS = ("zero", "nan")

CHOICES: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("interleave", INTERLEAVES), ("swizzle", SWIZZLES), ("fill", FILLS),
    ("l2_promotion", L2_PROMOTIONS),
)  # fmt: skip
"""Fields that are one of a few values; the map holds the place of each."""


@dataclass(frozen=True)
class MapFields:
    """What a tensor map says, in bytes and elements, the contiguous axis first.

    A tiled map has a `box`; an im2col map has `lower`, `upper`, `channels` and `pixels`.
    """

    element: str
    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes, of all axes but the first, which is contiguous."""
    element_strides: tuple[int, ...]
    box: tuple[int, ...] = ()
    interleave: int | None = None
    swizzle: int | None = None
    fill: str = "zero"
    l2_promotion: int | None = None
    kind: Literal["tiled", "im2col"] = "tiled"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0

    def __post_init__(self) -> None:
        """Raise TensorMapError unless there is a value for each axis."""
        corners = self.rank - 2 if self.kind == "im2col" else 0
        wanted = {
            "strides": self.rank - 1, "element_strides": self.rank, "lower": corners,
            "upper": corners, "box": self.rank if self.kind == "tiled" else 0,
        }  # fmt: skip
        for name, length in wanted.items():
            if len(given := getattr(self, name)) != max(length, 0):
                raise TensorMapError(
                    f"number of {name}",
                    f"{name}={given!r} of rank {self.rank} (accepted: {max(length, 0)} values)",
                )

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.sizes)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return ELEMENT_TYPES[self.element][1]

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements that one copy moves along each axis; of im2col: channels, pixels.

        The driver's documentation: ceil(box / element stride); without interleave the first
        element stride is ignored. With it the first axis counts slices. A copy takes one place of
        the axis before the last then, whatever its box or its channels (measured, H100).
        """
        if self.kind == "im2col":
            return (1 if self.interleave else self.channels, self.pixels)
        steps = self.element_strides if self.interleave else (1, *self.element_strides[1:])
        counts = [-(-size // step) for size, step in zip(self.box, steps, strict=True)]
        if self.interleave:
            counts[-2] = 1
        return tuple(counts)

    @property
    def unit(self) -> int:
        """Bytes of what the first axis counts: an element, or a slice of an interleaved map."""
        return self.interleave or self.itemsize

    @property
    def first_pixel_axis(self) -> int:
        """The first of the axes that an im2col copy walks; channels are elsewhere."""
        return 0 if self.interleave else 1

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the box."""
        return self.counts[0] * self.unit

    @property
    def bytes(self) -> int:
        """Bytes that one copy writes to shared memory, filled ones included."""
        return prod(self.counts) * self.unit


def box_bytes(fields: MapFields) -> int:
    """Count bytes as the driver does: box / element stride rounded down, of all axes."""
    if fields.kind == "im2col":
        return fields.channels * fields.pixels * fields.itemsize
    steps = zip(fields.box, fields.element_strides, strict=True)
    return prod(size // step for size, step in steps) * fields.itemsize
