"""Which arrays share memory: those are one buffer on the device, as they are one on the host."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Placed", "placed", "span", "view_of"]


@dataclass(frozen=True)
class Placed:
    """Where an array lies: the number of its buffer, and its first element's byte there."""

    buffer: int
    offset: int
    strides: tuple[int, ...]


def placed(
    arrays: Sequence[NDArray[Any]], strided: Collection[int] = ()
) -> tuple[list[Placed], list[int]]:
    """Return where each array lies, and the bytes of each buffer.

    Arrays whose elements lie side by side share a buffer with those that they overlap. So do the
    arrays numbered in `strided`, as they lie. Other arrays are copied, each to its own buffer.

    >>> a = np.zeros(8, np.float32)
    >>> [(each.buffer, each.offset) for each in placed([a, np.ones(2), a[2:]])[0]]
    [(0, 0), (1, 0), (0, 8)]
    """
    spans = [
        span(array) if array.size and (array.flags.c_contiguous or number in strided) else None
        for number, array in enumerate(arrays)
    ]
    groups = [[number] for number, each in enumerate(spans) if each is None]
    end = 0
    for reach, number in sorted((each, n) for n, each in enumerate(spans) if each is not None):
        if reach[0] < end:
            groups[-1].append(number)
        else:
            groups.append([number])
        end = max(end, reach[1])
    groups.sort(key=min)
    found: dict[int, Placed] = {}
    sizes = []
    for which, members in enumerate(groups):
        shared = [spans[number] or (0, 0) for number in members]
        low, high = min(each[0] for each in shared), max(each[1] for each in shared)
        alone = spans[members[0]] is None
        sizes.append(arrays[members[0]].nbytes if alone else high - low)
        for number in members:
            array = arrays[number]
            if alone:
                found[number] = Placed(which, 0, _side_by_side(array))
            else:
                start = array.__array_interface__["data"][0]
                found[number] = Placed(which, start - low, array.strides)
    return [found[number] for number in range(len(arrays))], sizes


def view_of(memory: NDArray[np.uint8], place: Placed, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array's elements in its buffer."""
    if not array.size:
        return np.zeros(array.shape, array.dtype)
    return np.ndarray(
        array.shape, array.dtype, buffer=memory.data, offset=place.offset, strides=place.strides
    )


def span(array: NDArray[Any]) -> tuple[int, int]:
    """Return the first byte of an array in memory, and the one behind its last."""
    low = high = array.__array_interface__["data"][0]
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, stride * (size - 1)), high + max(0, stride * (size - 1))
    return low, high + array.itemsize


def _side_by_side(array: NDArray[Any]) -> tuple[int, ...]:
    strides, step = [], array.itemsize
    for size in reversed(array.shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
