"""Another layout of shared memory, which a replay tries: where each of its bytes lies instead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator.errors import LaunchError

__all__ = ["Moves"]


@dataclass(frozen=True, eq=False)
class Moves:
    """A map of shared memory: no two bytes go to one place.

    Raises LaunchError for a table that puts two bytes in one place, or one before the first.
    """

    table: NDArray[np.int32]
    """For each byte that the kernel may address, counted from the block's first: its place."""
    block_bytes: int | None = None
    """What a block takes that is laid out so, without the gaps of a trial; None: all places."""

    def __post_init__(self) -> None:
        if self.table.size and (
            int(self.table.min()) < 0 or len(np.unique(self.table)) != len(self.table)
        ):
            raise LaunchError(
                "a layout puts two bytes of shared memory in one place (accepted: one that keeps"
                " them apart)"
            )

    @cached_property
    def bytes(self) -> int:
        """Bytes that hold all places."""
        return int(self.table.max(initial=-1)) + 1

    @property
    def taken(self) -> int:
        """Bytes of shared memory that a block takes with this layout."""
        return self.bytes if self.block_bytes is None else self.block_bytes

    def together(self, start: int, size: int) -> int | None:
        """Return where `size` bytes from `start` on lie; None where they do not stay in order."""
        if size == 0 or not 0 <= start <= len(self.table) - size:
            return None
        places = self.table[start : start + size]
        return int(places[0]) if (np.diff(places) == 1).all() else None
