"""Which addresses depend on data: they change where the elements of the arguments are shuffled."""

from __future__ import annotations

from collections import defaultdict
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
_MOST, _LANES = 1 << 22, 8
"""Instructions of warps beyond those of the run before, of so many lanes each: with other data a
kernel may take no end."""


def reads_data(
    again: Relaunch, touched: Touched, arrays: Sequence[SharedArray], executed: int
) -> frozenset[int]:
    """Return the sites whose lanes reach other places where the data is another.

    The kernel runs with the elements of each array shuffled; of equal ones some are one more. A
    place counts as another where no access to the arrays that the site reaches has that lane there.
    What ends with an error then, is not told. `executed`: instructions of threads before.
    """
    changed = [_changed(each) for each in again.given["arguments"]]
    witness = Witness(again.program.sites)
    given = {**again.given, "max_instructions": _MOST + executed // _LANES}
    with suppress(ExecutionError, LaunchError):
        sampled = replace(again, blocks="sample", given=given)
        sampled.replay(witness=witness, arguments=tuple(changed))
    other = witness.touched()
    known: dict[int, list[Any]] = defaultdict(list)
    for array in arrays:
        pairs = _pairs(touched, array.rows)
        for site in np.unique(touched.sites[array.rows]).tolist():
            known[site].append(pairs)
    return frozenset(
        site
        for site, pairs in known.items()
        if len(
            np.setdiff1d(_pairs(other, np.flatnonzero(other.sites == site)), np.concatenate(pairs))
        )
    )


def _pairs(touched: Touched, rows: Any) -> Any:
    """Return each lane with its place, as numbers, each once."""
    active = active_table(touched.masks[rows])
    return np.unique((touched.places[rows] * 32 + np.arange(32))[active])


def _changed(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray) or argument.dtype.hasobject or argument.size < 2:
        return argument
    random = np.random.default_rng(_SEED)
    if argument.dtype.kind in "iuf" and (argument == argument.flat[0]).all():
        return np.ascontiguousarray(
            argument + random.integers(0, 2, argument.shape, np.uint8).astype(argument.dtype)
        )
    order = random.permutation(argument.size)
    return np.ascontiguousarray(argument.reshape(-1)[order].reshape(argument.shape))
