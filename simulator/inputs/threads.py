"""The threads of a block, warp by warp, and the names that C code has for their numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from layouts.errors import short
from layouts.shapes import is_integer
from simulator.errors import OptionError

__all__ = ["THREAD_NAMES", "ThreadBlock", "assumed_block"]

_MOST = 1024
"""Threads of a block: CUDA C++ Programming Guide, "Technical Specifications"."""


@dataclass(frozen=True)
class ThreadBlock:
    """The threads of a block in x, y and z."""

    x: int
    y: int = 1
    z: int = 1

    @staticmethod
    def of(given: Any) -> ThreadBlock:
        """Read 128, "32x8", "32x32x1", or a tuple of up to three numbers.

        >>> ThreadBlock.of("32x8"), ThreadBlock.of(64).threads
        (ThreadBlock(x=32, y=8, z=1), 64)

        Raises OptionError.
        """
        parts: list[Any] = []
        if isinstance(given, ThreadBlock):
            return given
        if isinstance(given, str):
            if re.fullmatch(r"\s*\d{1,6}(\s*[x,]\s*\d{1,6}){0,2}\s*", given):
                parts = [int(part) for part in re.split(r"[x,]", given)]
        elif is_integer(given):
            parts = [int(given)]
        elif isinstance(given, tuple | list) and 1 <= len(given) <= 3:
            parts = list(given)
        if not parts or not all(is_integer(part) and part > 0 for part in parts):
            raise OptionError(
                f"block {short(given)} is not a size (accepted: 256, 32x8 or 8x8x4; in Python also"
                " (32, 8))"
            )
        block = ThreadBlock(*map(int, parts))
        if block.threads > _MOST:
            raise OptionError(
                f"block {block} has {block.threads:,} threads (accepted: up to {_MOST:,})"
            )
        return block

    def __str__(self) -> str:
        return f"{self.x}x{self.y}x{self.z}" if self.z > 1 else f"{self.x}x{self.y}"

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.x * self.y * self.z

    @property
    def warps(self) -> int:
        """Warps of the block; the last may be cut short."""
        return -(-self.threads // 32)

    def warp(self, number: int) -> Iterator[dict[str, int] | None]:
        """Yield the names of each lane's thread with their values; None where there is none."""
        for lane in range(32):
            thread = 32 * number + lane
            yield None if thread >= self.threads else self._values(thread)

    def _values(self, thread: int) -> dict[str, int]:
        tx, ty, tz = thread % self.x, thread // self.x % self.y, thread // (self.x * self.y)
        lane, warp = thread % 32, thread // 32
        return {
            "lane": lane, "laneid": lane, "lane_id": lane, "laneId": lane,
            "warp": warp, "warpid": warp, "warp_id": warp, "warpId": warp,
            "tid": thread, "tx": tx, "ty": ty, "tz": tz, "warpSize": 32,
            "threadIdx.x": tx, "threadIdx.y": ty, "threadIdx.z": tz,
            "blockDim.x": self.x, "blockDim.y": self.y, "blockDim.z": self.z,
        }  # fmt: skip


THREAD_NAMES = tuple(ThreadBlock(32)._values(0))
"""The names that every expression has: tid = 32·warp + lane."""


def assumed_block(names: Collection[str]) -> tuple[ThreadBlock, str]:
    """Return the block of a text that nobody gave one for, and the name that tells so.

    >>> assumed_block(["threadIdx.x", "ty"]), assumed_block(["lane"])
    ((ThreadBlock(x=32, y=32, z=1), 'ty'), (ThreadBlock(x=32, y=1, z=1), ''))
    """
    for block, telling in (
        (ThreadBlock(8, 8, 8), ("threadIdx.z", "tz")),
        (ThreadBlock(32, 32), ("threadIdx.y", "ty")),
    ):
        if named := next((name for name in telling if name in names), None):
            return block, named
    return ThreadBlock(32), ""
