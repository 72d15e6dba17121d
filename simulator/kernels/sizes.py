"""Sizes and tiles: what divides what, and how it is said where it does not.

In every function the larger size comes first, the part of it second, and their names, for the
message, in the same order.
"""

from __future__ import annotations

from math import isqrt

from layouts.errors import short
from layouts.shapes import is_integer
from simulator.errors import KernelError

__all__ = [
    "block_threads",
    "ceil_div",
    "integer",
    "multiple",
    "require",
    "split",
    "whole_tiles",
]

_MOST_THREADS = 1024
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".


def require(condition: bool, otherwise: str) -> None:
    """Raise KernelError unless the condition holds."""
    if not condition:
        raise KernelError(otherwise)


def integer(value: object, what: str, least: int = 1) -> int:
    """Return an integer of any kind as a Python one, which cannot overflow.

    Raises KernelError, naming `what`, for anything else and for one below `least`.
    """
    if not is_integer(value) or int(value) < least:  # type: ignore[call-overload]
        raise KernelError(f"{what}: {short(value)} (accepted: integers from {least})")
    return int(value)  # type: ignore[call-overload,no-any-return]


def block_threads(threads: int) -> int:
    """Return `threads`, or raise KernelError where no block can have so many."""
    require(
        1 <= threads <= _MOST_THREADS,
        f"the block has {threads} threads (accepted: 1 to {_MOST_THREADS})",
    )
    return threads


def ceil_div(size: int, tile: int) -> int:
    """Count the tiles that cover `size`, the last one perhaps in part.

    >>> ceil_div(1000, 64)
    16
    """
    return -(-size // tile)


def whole_tiles(size: int, tile: int, what: str, of: str) -> int:
    """Count the tiles of a matrix, where no bounds check would catch a part of one.

    >>> whole_tiles(1024, 64, "m", "block_m")
    16

    Raises KernelError unless the tile divides the size.
    """
    whole, rest = divmod(size, tile)
    require(
        not rest,
        f"{what} = {size} is not a multiple of {of} = {tile}, and the document's kernel has no"
        f" bounds check along {what} (accepted: {tile}, {2 * tile}, {3 * tile}, ...)",
    )
    return whole


def split(size: int, part: int, what: str, of: str) -> int:
    """Return size / part, naming the part as the one to change.

    >>> split(64, 8, "block_m", "thread_m")
    8
    >>> split(64, 5, "block_m", "thread_m")
    Traceback (most recent call last):
    simulator.errors.KernelError: thread_m = 5 does not divide block_m = 64 (accepted: 1, 2, 4, \
8, 16, 32, 64)

    Raises KernelError unless the part divides the size.
    """
    if size < 1 or part < 1 or size % part:
        low = [each for each in range(1, isqrt(max(size, 0)) + 1) if size % each == 0]
        divisors = ", ".join(map(str, sorted({*low, *(size // each for each in low)})))
        raise KernelError(f"{of} = {part} does not divide {what} = {size} (accepted: {divisors})")
    return size // part


def multiple(size: int, unit: int, what: str, of: str) -> int:
    """Return size / unit, naming the size as the one to change.

    >>> multiple(6, 4, "block_k", "vectors of 4")
    Traceback (most recent call last):
    simulator.errors.KernelError: block_k = 6 does not hold whole vectors of 4 (accepted: \
multiples of 4)

    Raises KernelError unless the size is a multiple of the unit.
    """
    require(
        size > 0 and size % unit == 0,
        f"{what} = {size} does not hold whole {of} (accepted: multiples of {unit})",
    )
    return size // unit
