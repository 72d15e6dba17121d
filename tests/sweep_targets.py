"""Functions to sweep that other processes can import."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import simulator.sweeps.store
from simulator import BankwiseError, WarpAccess, sweep


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


def named(name: str, function: Any) -> Any:
    function.__qualname__ = name
    return function


def sweep_strides(store: str, *, every_chunk: bool = False, tell: bool = False) -> None:
    """Sweep `even_only` in a process of its own, and print the result, or a dot a chunk."""
    if every_chunk:
        simulator.sweeps.store._SECONDS = 0
    found = sweep(
        even_only,
        {"stride": range(1, 200)},
        store=store,
        progress=lambda done, total: print(end="." if tell and done else "", flush=True),
    )
    if not tell:
        print(json.dumps(found.to_dict()))
