"""Which addresses depend on data: they change where the elements of the arguments are shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from simulator.errors import ExecutionError, LaunchError
from simulator.fixing.arrays import SharedArray
from simulator.law.masks import active_table
from simulator.sass.run.witness import Touched, Witness
from simulator.sass.sampling import Relaunch

__all__ = ["reads_data"]

_SEED = 20
_MOST = 1 << 22
"""Instructions of warps, of which a run with shuffled data may take no end."""


def reads_data(again: Relaunch, touched: Touched, arrays: Sequence[SharedArray]) -> frozenset[int]:
    """Return the sites whose lanes reach other places where the data is another.

    The kernel runs with the elements of each array shuffled. A place counts as another where no
    access to its array has that lane there. What ends with an error then, is not told.
    """
    shuffled = [_shuffled(each) for each in again.given["arguments"]]
    witness = Witness(again.program.sites)
    with suppress(ExecutionError, LaunchError):
        sampled = replace(again, blocks="sample")
        sampled.replay(witness=witness, arguments=tuple(shuffled))
    other = witness.touched()
    found: set[int] = set()
    for array in arrays:
        known = _pairs(touched, array.rows)
        for site in np.unique(touched.sites[array.rows]).tolist():
            rows = np.flatnonzero(other.sites == site)
            if len(np.setdiff1d(_pairs(other, rows), known)):
                found.add(site)
    return frozenset(found)


def _pairs(touched: Touched, rows: Any) -> Any:
    """Return each lane with its place, as numbers, each once."""
    active = active_table(touched.masks[rows])
    return np.unique((touched.places[rows] * 32 + np.arange(32))[active])


def _shuffled(given: Any) -> Any:
    if not isinstance(given, np.ndarray) or given.dtype.hasobject or given.size < 2:
        return given
    order = np.random.default_rng(_SEED).permutation(given.size)
    return np.ascontiguousarray(given.reshape(-1)[order].reshape(given.shape))
