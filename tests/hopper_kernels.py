"""Kernels of Hopper's units, compiled with the functions of `hopper.cuh` and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulator import replay_compiled
from tests.sass_kernels import HERE

HEADER = '#include "hopper.cuh"\n'
SOURCES = HERE / "cuda"


def ran(source: str | Path, args: list[Any], **launch: Any) -> Any:
    """The report of all blocks; a text gets the header's functions, a path is a file."""
    text = HEADER + source if isinstance(source, str) else source
    common = {"grid": 1, "block": 128, "blocks": "all", "include": [SOURCES], "arch": "sm_90a"}
    return replay_compiled(text, args=args, **{**common, **launch})
