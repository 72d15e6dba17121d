"""What UTMAREDG and UBLKRED do to the elements that they meet.

Which operation takes which type: PTX ISA, cp.reduce.async.bulk. Integers wrap. The smaller or
larger of a number and a NaN is the number, and -0 is below +0. float32 sums flush subnormal
inputs and results; NaN results are the chip's canonical one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from simulator.errors import UnsupportedError
from simulator.sass.run.rows import Bytes

__all__ = ["OPERATIONS", "reduction"]

_INTEGERS = ("uint32", "int32", "uint64", "int64")
OPERATIONS = {
    "add": (*_INTEGERS, "float16", "bfloat16", "float32", "float64"),
    "min": (*_INTEGERS, "float16", "bfloat16"),
    "max": (*_INTEGERS, "float16", "bfloat16"),
    "inc": ("uint32",),
    "dec": ("uint32",),
    "and": _INTEGERS,
    "or": _INTEGERS,
    "xor": _INTEGERS,
}
"""Operations, and the element types that each takes."""

Array = NDArray[Any]


@lru_cache
def reduction(operation: str, element: str) -> Callable[[Bytes, Bytes], Bytes]:
    """Return the function of old and new bytes that gives the stored ones.

    Raises UnsupportedError for an operation that does not exist or does not take the type.
    """
    if element not in OPERATIONS.get(operation, ()):
        known = OPERATIONS.get(operation)
        raise UnsupportedError(
            f"reduction {operation!r} of {element}"
            f" ({accepted(element, known) if known else accepted(operation, OPERATIONS)})"
        )

    def combine(old: Bytes, new: Bytes) -> Bytes:
        with np.errstate(all="ignore"):  # a signalling NaN is a value like any other here
            done = _apply(operation, _typed(old, element), _typed(new, element))
            return _bytes(done, element).reshape(old.shape)

    return combine


def _apply(operation: str, old: Array, new: Array) -> Array:
    if operation == "add":
        return _sum(old, new)
    if operation in ("min", "max"):
        return _extreme(operation, old, new)
    if operation == "inc":
        return np.where(old >= new, 0, old + 1)
    if operation == "dec":
        return np.where((old == 0) | (old > new), new, old - 1)
    combine = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[operation]
    return np.asarray(combine(old, new))


def _sum(old: Array, new: Array) -> Array:
    if old.dtype != np.float32:
        return np.asarray(old + new)
    return _flushed(_flushed(old) + _flushed(new))


def _extreme(operation: str, old: Array, new: Array) -> Array:
    if old.dtype.kind != "f":
        return np.asarray((np.minimum if operation == "min" else np.maximum)(old, new))
    found = (np.fmin if operation == "min" else np.fmax)(old, new)
    sign = np.signbit(old) | np.signbit(new)
    if operation == "max":
        sign = np.signbit(old) & np.signbit(new)
    return np.where((old == 0) & (new == 0), np.where(sign, -0.0, 0.0), found)


def _flushed(values: Array) -> Array:
    tiny = np.abs(values) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), values), values)


def _typed(data: Bytes, element: str) -> Array:
    """Read elements; bfloat16 as float64, in which its sums are exact but for one rounding."""
    data = np.ascontiguousarray(data)
    if element == "bfloat16":
        words = data.view(np.uint16).astype(np.uint32) << 16
        return words.view(np.float32).astype(np.float64)
    return data.view(element)


def _bytes(values: Array, element: str) -> Bytes:
    if element == "bfloat16":
        return _rounded(values).view(np.uint8)
    values = np.ascontiguousarray(values.astype(element, copy=False))
    if values.dtype.kind == "f":
        bits = values.view(f"u{values.itemsize}")
        canonical = (1 << 8 * values.itemsize - 1) - 1
        return np.where(np.isnan(values), bits.dtype.type(canonical), bits).view(np.uint8)
    return values.view(np.uint8)


def _rounded(values: Array) -> Array:
    """Round to bfloat16, to nearest even; the bits."""
    single = values.astype(np.float32)
    words = single.view(np.uint32).astype(np.int64)
    rounded = words + 0x7FFF + (words >> 16 & 1) >> 16
    return np.where(np.isnan(single), 0x7FFF, rounded).astype(np.uint16)
