"""Masks of active lanes: 32 bits, bit l for lane l."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["active_table"]


def active_table(masks: NDArray[Any], lanes: int = 32) -> NDArray[np.bool_]:
    """Return which of the first `lanes` lanes each of n masks makes active: (n, lanes).

    >>> active_table(np.array([0b101, 0b010]), lanes=3).tolist()
    [[True, False, True], [False, True, False]]
    """
    bits = np.asarray(masks).astype(np.uint32)[:, None] >> np.arange(lanes, dtype=np.uint32)
    table: NDArray[np.bool_] = bits & 1 == 1
    return table
