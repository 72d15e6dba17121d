"""Functions to sweep that other processes can import."""

from __future__ import annotations

import os
from pathlib import Path

from simulator import BankwiseError, WarpAccess


def strided(stride: int, width: int = 4) -> WarpAccess:
    """A read of every `stride`-th vector of `width` bytes."""
    op = {4: "LDS", 8: "LDS.64", 16: "LDS.128"}[width]
    return WarpAccess(op, tuple(lane * stride * width for lane in range(32)))


def even_only(stride: int) -> WarpAccess:
    if stride % 2:
        raise BankwiseError(f"stride {stride} is odd")
    return strided(stride)


def dies_while(stride: int, present: str) -> WarpAccess:
    """Takes its process down at stride 60, as long as the file `present` is there."""
    if stride == 60 and Path(present).exists():
        os._exit(1)
    return strided(stride)
