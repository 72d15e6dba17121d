"""Where copies through interleaved maps put bytes: boxes of every size, and pixels.

What `gpu_check.hopper.im2col` drew had boxes of up to 8 along the axis before the last. Here they
go up to 256, and pixels have gaps between all axes, so that each slice tells where it comes from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gpu_check.hopper import im2col
from gpu_check.hopper.im2col import DrawnCopy
from simulator.sass.run.map_fields import ELEMENT_TYPES, MapFields

__all__ = ["drawn_slices", "measure"]

_BOXES = (
    1, 2, 4, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 25, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128,
    129, 160, 192, 200, 240, 255, 256,
)  # fmt: skip
_FOUR, _FIVE = (7, 5, 4), (5, 4, 3, 3)
_GAPS = {3: (1, 3), 4: (1, 3, 5), 5: (1, 3, 5, 2)}
"""Slices between the places of an axis."""


def _copy(
    unit: int, sizes: Sequence[int], at: Sequence[int] = (), *, element: str = "float16",
    gaps: Sequence[int] = (), steps: Sequence[int] = (), offsets: Sequence[int] = (), **shape: Any,
) -> DrawnCopy:  # fmt: skip
    """Return a load; the tensor's places lie side by side, but for `gaps` slices."""
    rank, strides = len(sizes), list[int]()
    total = -(-sizes[0] * ELEMENT_TYPES[element][1] // unit) * unit
    for axis, size in enumerate(sizes[1:]):
        total += (gaps[axis] if gaps else 0) * unit
        strides.append(total)
        total *= size
    fields = MapFields(
        element=element, address=0, sizes=tuple(sizes), strides=tuple(strides), interleave=unit,
        element_strides=tuple(steps or [1] * rank), swizzle=32 if unit == 32 else None, **shape,
    )  # fmt: skip
    return DrawnCopy(fields, tuple(at or [0] * rank), tuple(offsets))


def _pixels(
    unit: int, sizes: Sequence[int], at: Sequence[int], channels: int, pixels: int,
    lower: Sequence[int] = (), upper: Sequence[int] = (), offsets: Sequence[int] = (), **more: Any,
) -> DrawnCopy:  # fmt: skip
    none = (0,) * (len(sizes) - 2)
    return _copy(
        unit, sizes, at, offsets=offsets or none, kind="im2col", lower=tuple(lower or none),
        upper=tuple(upper or none), channels=channels, pixels=pixels, **more,
    )  # fmt: skip


def _boxes() -> Iterator[DrawnCopy]:
    """Boxes along the axis before the last: of bytes, then of other elements and places."""
    for box in _BOXES:
        for last in (1, 2):
            yield _copy(16, (32, 256, 4), element="uint8", box=(16, box, last))
        yield _copy(16, (16, 4, 256, 2), element="uint8", box=(16, 3, box, 1))
        yield _copy(16, (16, 2, 3, 256, 2), element="uint8", box=(16, 2, 1, box, 2))
    for box in (1, 8, 9, 16, 17, 24, 32, 64, 128, 256):
        for element, wide in (("float16", 8), ("float32", 4)):
            for places in (1, 2):
                yield _copy(
                    16, (places * wide, 4, 256 // places, 2), element=element,
                    box=(places * wide, 3, box, 1),
                )  # fmt: skip
        yield _copy(32, (32, 4, 128, 2), element="uint8", box=(32, 3, box, 1))
        yield _copy(32, (16, 4, 128, 2), box=(16, 3, box, 1))
        of: Any = {"element": "uint8", "box": (16, 3, box, 1)}
        yield _copy(16, (16, 4, 256, 2), steps=(1, 1, 2, 1), **of)
        for at in ((0, 1, 95, 0), (0, 1, 5, 1), (0, 1, -3, 1)):
            yield _copy(16, (16, 4, 100, 2), at, **of)
        yield _copy(16, (32, 4, 100, 2), (1, 1, 5, 1), element="uint8", box=(32, 3, box, 1))


def _channels() -> Iterator[DrawnCopy]:
    """Pixels without gaps: how many, and of how many channels."""
    for unit in (16, 32):
        for channels in (16, 32, 48, 64, 128):
            for pixels in (1, 2, 4, 7, 8, 16):
                yield _pixels(unit, (unit, 40, 40), (), channels, pixels, element="uint8")
        for channels in (16, 32, 64):
            for pixels in (1, 3, 8):
                of: Any = {"channels": channels, "pixels": pixels, "element": "uint8"}
                yield _pixels(unit, (unit, 8, 40, 4), (), **of)
                yield _pixels(unit, (unit, 8, 9, 12), (0, 2, 3, 1), offsets=(1, 1), **of)
                yield _pixels(unit, (unit, 4, 5, 20, 3), (0, 1, 2, 3, 1), **of)
    for pixels in (3, 8, 20):
        yield _pixels(16, (8, 9, 10, 12), (), 8, pixels)
        yield _pixels(16, (8, 9, 10, 12), (), 16, pixels)
        yield _pixels(16, (16, 9, 10, 12), (1, 0, 0, 0), 16, pixels)
        yield _pixels(16, (8, 4, 5, 6, 12), (), 16, pixels, upper=(-1, -1, -1))


def _walks(unit: int, wide: int) -> Iterator[DrawnCopy]:
    """Pixels with gaps: offsets, corners, element strides, channels and first places."""
    three, four, five = (wide, 9, 6), (wide, *_FOUR), (wide, *_FIVE)
    begin = {3: (0, 1, 1), 4: (0, 1, 1, 1), 5: (0, 1, 1, 1, 1)}

    def walk(sizes: Sequence[int], pixels: int, **more: Any) -> DrawnCopy:
        rank = len(sizes)
        at = more.pop("at", begin[rank])
        return _pixels(unit, sizes, at, wide, pixels, gaps=_GAPS[rank], **more)

    for pair in ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1), (3, 2)):
        yield walk(four, 12, offsets=pair)
    for triple in (
        (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 2, 1), (3, 0, 2),
    ):  # fmt: skip
        yield walk(five, 20, offsets=triple)
    for alone in ((0,), (1,), (2,), (5,)):
        yield walk(three, 14, offsets=alone)
    for lower, upper in (
        ((-1, 0), ()), ((0, -1), ()), ((), (-1, 0)), ((), (0, -1)), ((-1, -1), (-1, -1)),
        ((1, 0), ()), ((0, 1), ()), ((), (1, 0)), ((), (0, 1)),
    ):  # fmt: skip
        yield walk(four, 24, lower=lower, upper=upper)
    for low, high in (
        ((-1, 0, 0), ()), ((0, 0, -1), ()), ((), (0, 0, -1)), ((), (0, -1, 0)), ((), (-1, 0, 0)),
    ):  # fmt: skip
        yield walk(five, 40, lower=low, upper=high)
    for first, last in (((-1,), ()), ((), (-1,)), ((1,), ()), ((), (2,))):
        yield walk(three, 24, lower=first, upper=last)
    for steps in ((1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2), (2, 1, 1, 1), (1, 3, 2, 1)):
        yield walk(four, 24, at=(0, 1, 1, 0), steps=steps)
    for axis in range(1, 5):
        yield walk(five, 40, at=(0, 1, 1, 1, 0), steps=[1 + (each == axis) for each in range(5)])
    for axis in (1, 2, 0):
        yield walk(three, 24, at=(0, 1, 0), steps=[1 + (each == axis) for each in range(3)])
    for channels in (wide, 2 * wide, 4 * wide, 8 * wide):
        for start in (0, 1, 2, -1):
            yield _pixels(
                unit, (4 * wide, 6, 5, 4), (start, 1, 1, 1), channels, 9, gaps=_GAPS[4]
            )  # fmt: skip


def _tiles(unit: int, wide: int) -> Iterator[DrawnCopy]:
    """Tiles with gaps: element strides, corners of the tensor, ranks."""
    sizes, gaps = (4 * wide, 6, 24, 4), _GAPS[4]
    for axis, step in ((2, 2), (2, 3), (1, 2), (3, 2), (0, 2), (0, 3)):
        steps = [step if each == axis else 1 for each in range(4)]
        for box in (1, 2, 3, 5, 8, 20):
            shape = (2 * wide, 3, box, 2)
            yield _copy(unit, sizes, (0, 1, 2, 0), gaps=gaps, steps=steps, box=shape)
    for box in (1, 9, 40):
        for at in (
            (0, 0, -1, 0), (0, 0, 23, 0), (0, 0, 24, 0), (0, -1, 3, 0), (0, 4, 3, 3), (1, 0, 2, 0),
            (3, 0, 2, 0), (-1, 0, 0, 0),
        ):  # fmt: skip
            yield _copy(unit, sizes, at, gaps=gaps, box=(2 * wide, 3, box, 2))
    for box in (1, 9, 20):
        yield _copy(
            unit, (2 * wide, 3, 3, 20, 3), (0, 1, 0, 3, 1), gaps=_GAPS[5], box=(wide, 2, 2, box, 2)
        )
        yield _copy(unit, (2 * wide, 20, 5), (0, 3, 1), gaps=_GAPS[3], box=(2 * wide, box, 3))


def drawn_slices() -> list[DrawnCopy]:
    """Return what is recorded."""
    found = [*_boxes(), *_channels()]
    for unit in (16, 32):
        found += [*_walks(unit, unit // 2), *_tiles(unit, unit // 2)]
    return found


def measure(
    folder: Path, few: int = 0, device: int = 0, seconds: float = 600
) -> dict[str, NDArray[Any]]:
    """Return the columns of `im2col.measure`."""
    wanted = drawn_slices()[: few or None]
    return im2col.measure_copies(wanted, __name__, folder, device, seconds)


if __name__ == "__main__":
    im2col.copy_some(drawn_slices(), *sys.argv[1:])
