"""How many instructions each warp of a block executes: less to note than a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.layout import MARK, VALUE
from simulator.sass.run.timeline import START, WARP

if TYPE_CHECKING:
    from simulator.sass.run.timeline import Noted

__all__ = ["WarpLengths"]

_WARPS = 32
"""Of a block, at most."""


@dataclass
class WarpLengths:
    """Counts instructions of warps, of what compiled code notes."""

    lengths: NDArray[np.int64]
    """Of straight runs, by their first instruction."""
    phases: None = None
    _done: NDArray[np.float64] = field(default_factory=lambda: np.zeros(_WARPS))

    def add(self, noted: Noted) -> None:
        """Take what was noted."""
        is_run = (noted.events >> VALUE & 1 == 0) & (noted.events >> MARK != 0)
        runs = noted.events[is_run]
        lengths = self.lengths[runs >> START & (1 << (WARP - START)) - 1]
        self._done += np.bincount(runs >> WARP & _WARPS - 1, weights=lengths, minlength=_WARPS)

    def take(self) -> int:
        """Return the instructions of the block's longest warp, and begin the next block."""
        longest = int(self._done.max())
        self._done[:] = 0
        return longest
