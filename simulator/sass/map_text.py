"""Tensor maps as people type them: `tma:a:box=128x64:swizzle=128`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from layouts.errors import accepted
from simulator.errors import LaunchError
from simulator.sass.run.map_argument import TensorMap

__all__ = ["tensor_map"]

_OPTIONS: dict[str, Callable[[str], Any]] = {
    "box": lambda text: _sizes(text),
    "swizzle": lambda text: _number(text) or None,
    "interleave": lambda text: _number(text) or None,
    "strides": lambda text: _sizes(text),
    "fill": str,
    "element": str,
}
_NAMES = {"strides": "element_strides"}
_EXAMPLE = "tma:random:f16[4096,4096]:box=128x64:swizzle=128"


def tensor_map(text: str, array: Callable[[str], Any]) -> TensorMap:
    """Return the map that a text names; `array` gives what stands for its array.

    >>> tensor_map("tma:a:box=2x8:swizzle=32", lambda name: np.zeros((4, 16), np.float32))
    TensorMap(float32[4,16], box=(2, 8), swizzle=32)

    Raises LaunchError for text that is not a map, TensorMapError for a map that cannot be.
    """
    what, options = _parts(text)
    if "box" not in options:
        raise LaunchError(f"argument {text!r} has no box (accepted: {_EXAMPLE})")
    found = array(what)
    if not isinstance(found, np.ndarray):
        raise LaunchError(f"argument {text!r}: {what!r} is not an array (accepted: {_EXAMPLE})")
    box = options.pop("box")
    return TensorMap(found, box, **options)


def _parts(text: str) -> tuple[str, dict[str, Any]]:
    """Take a text apart: what names the array, and the options behind it."""
    pieces = text.split(":")[1:]
    options: dict[str, Any] = {}
    while pieces and (found := re.fullmatch(r"(\w+)=(.*)", pieces[-1])):
        name, value = found.groups()
        if name not in _OPTIONS or name in options:
            raise LaunchError(f"argument {text!r}: {name!r}: {accepted(name, _OPTIONS)}")
        try:
            options[_NAMES.get(name, name)] = _OPTIONS[name](value)
        except ValueError:
            raise LaunchError(
                f"argument {text!r}: {name}={value!r} (accepted: {_EXAMPLE})"
            ) from None
        pieces.pop()
    return ":".join(pieces), options


def _sizes(text: str) -> tuple[int, ...]:
    """Read 128x64.

    >>> _sizes("128x64")
    (128, 64)
    """
    return tuple(_number(part) for part in text.split("x"))


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(text)
    return int(text)
