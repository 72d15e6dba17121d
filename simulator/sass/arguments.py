"""Kernel arguments as people type them: `random:f32[1024,1024]`, `A.npy`, `i32=1024`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from simulator.errors import LaunchError

__all__ = ["TYPES", "argument"]

_SHORT = {"i": "int", "u": "uint", "f": "float"}
TYPES = ("u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64")
"""Element types; NumPy's own names (float32, int64, …) are accepted too."""

_MOST_BYTES = 2 << 30


def argument(text: str, position: int = 0) -> Any:
    """Read one argument: an array, or a NumPy scalar.

    Random elements come from a formula of their index and the argument's position, so that they
    are the same everywhere: floats in [-1, 1), bytes of all values, other integers below 1000
    (and all bits for u32 and u64).

    >>> argument("zeros:f32[2,3]").shape, argument("i32=-7")
    ((2, 3), np.int32(-7))
    >>> argument("random:f32[2]", position=1).tolist()
    [0.2930945158004761, 0.8076039552688599]

    Raises LaunchError for text that is none of these, and for arrays over 2 GiB.
    """
    if found := re.fullmatch(r"(random|zeros|ones|arange):(\w+)\[([\d,\s]*)\]", text):
        return _array(found[1], _type(found[2], text), _shape(found[3], text), position, text)
    if found := re.fullmatch(r"(\w+)=(.+)", text):
        return _scalar(_type(found[1], text), found[2], text)
    if text.endswith(".npy"):
        return _file(text)
    raise LaunchError(
        f"argument {text!r} (accepted: random:f32[1024,1024], zeros:…, ones:…, arange:…, FILE.npy,"
        " or a scalar such as i32=1024)"
    )


def _type(name: str, text: str) -> np.dtype[Any]:
    if name in TYPES:
        name = f"{_SHORT[name[0]]}{name[1:]}"
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "iufb" or dtype.itemsize > 8:
        raise LaunchError(f"argument {text!r}: type {name!r}: {accepted(name, TYPES)}")
    return dtype


def _shape(text: str, whole: str) -> tuple[int, ...]:
    sizes = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) < 2**40 for part in sizes if len(part) < 14):
        raise LaunchError(f"argument {whole!r}: shape [{text}] (accepted: positive integers)")
    if any(len(part) >= 14 for part in sizes):
        raise LaunchError(f"argument {whole!r} is too large (accepted: up to {_MOST_BYTES} bytes)")
    return tuple(map(int, sizes))


def _array(
    how: str, dtype: np.dtype[Any], shape: tuple[int, ...], position: int, text: str
) -> NDArray[Any]:
    count = 1
    for size in shape:
        count *= size
    if count * dtype.itemsize > _MOST_BYTES:
        raise LaunchError(
            f"argument {text!r} takes {count * dtype.itemsize} bytes (accepted: {_MOST_BYTES})"
        )
    if how == "zeros":
        return np.zeros(shape, dtype)
    if how == "ones":
        return np.ones(shape, dtype)
    if how == "arange":
        return np.arange(count).astype(dtype).reshape(shape)
    bits = (np.arange(1, count + 1, dtype=np.uint64) * 2654435761 + position * 40503) & 0xFFFFFFFF
    bits ^= bits >> 15
    bits = bits * 2246822519 & 0xFFFFFFFF
    bits ^= bits >> 13
    values: NDArray[Any]
    if dtype.kind == "f":
        values = (bits >> 22) / 2**9 - 1 if dtype.itemsize == 2 else (bits >> 8) / 2**23 - 1
    elif dtype.itemsize == 1 or dtype in (np.uint32, np.uint64):
        values = bits
    else:
        values = bits % 1000
    return values.astype(dtype).reshape(shape)


def _scalar(dtype: np.dtype[Any], text: str, whole: str) -> Any:
    try:
        if dtype.kind == "f":
            return dtype.type(float(text))
        value = int(text, 0)
        limits = np.iinfo(dtype) if dtype.kind in "iu" else None
        if limits and not limits.min <= value <= limits.max:
            raise LaunchError(
                f"argument {whole!r} is out of range (accepted: {limits.min} to {limits.max})"
            )
        return dtype.type(value)
    except (ValueError, OverflowError) as error:
        if isinstance(error, LaunchError):
            raise
        raise LaunchError(f"argument {whole!r}: {text!r} is no {dtype}") from None


def _file(path: str) -> NDArray[Any]:
    try:
        found = np.load(Path(path), allow_pickle=False, mmap_mode="r")
        if found.nbytes > _MOST_BYTES:
            raise LaunchError(f"{path} has {found.nbytes} bytes (accepted: {_MOST_BYTES})")
        return np.array(found)
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, LaunchError):
            raise
        raise LaunchError(f"{path} cannot be read: {error}") from error
