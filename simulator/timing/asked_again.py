"""Copies of 16 bytes per lane that ask the L2 for a line again, and the launch if none did.

A line is asked for once for each line of shared memory that it goes to
(gpu_check/data/h100_copying.csv). So a layout of shared memory costs time without a bank conflict.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.timing.work import Work

__all__ = ["asked_again", "asked_once"]

_COUNT = np.array([mask.bit_count() for mask in range(16)], dtype=np.int64)
"""Sectors by a mask of a line's."""


def asked_again(work: Work) -> float:
    """Return how often copies ask for each of their lines, on average; 1.0: there are no copies."""
    first = work.traces[0]
    places, asked, lines, _ = _copies(work)
    if not len(places):
        return 1.0
    of_step = np.diff(first.steps.row_begin)
    times = sum(np.repeat(trace.times, of_step)[places] for trace in work.traces)
    return float((asked * times).sum() / max((lines * times).sum(), 1))


def asked_once(work: Work) -> Work:
    """Return a launch whose copies ask for each line once, and for each sector once."""
    first = work.traces[0]
    rows, steps = first.rows, first.steps
    places, _, lines, sectors = _copies(work)
    kinds = np.stack([steps.row[places], lines, sectors], axis=1)
    each, which = np.unique(kinds, axis=0, return_inverse=True)
    of = each[:, 0]
    more = {
        name: np.concatenate([column, column[of]])
        for name in ("number", "is_shared", "cycles", "floor", "bytes", "away", "table")
        if (column := getattr(rows, name)) is not None
    }
    asked = rows.asked if rows.asked is not None else np.zeros_like(rows.number)
    added = replace(
        rows, **more,
        asked=np.concatenate([asked, each[:, 1]]),
        sectors=np.concatenate([rows.sectors, each[:, 2]]),
        line_begin=np.concatenate([rows.line_begin, np.full(len(of), rows.line_begin[-1])]),
    )  # fmt: skip
    row = steps.row.copy()
    row[places] = len(rows.number) + which.ravel()
    changed = replace(steps, row=row)
    return replace(
        work, traces=tuple(replace(each, rows=added, steps=changed) for each in work.traces)
    )


def _copies(work: Work) -> tuple[NDArray[np.int64], ...]:
    """Return the places of copies among the rows of steps, and what each asks for and touches.

    That is: lines asked for, lines touched, sectors touched. The row behind a copy's says what it
    touches of global memory.
    """
    rows, row = work.traces[0].rows, work.traces[0].steps.row
    if rows.asked is None:
        return (np.zeros(0, np.int64),) * 4
    places = np.flatnonzero((rows.asked[row] > 0) & rows.is_shared[row])
    source = row[places + 1]
    begin, end = rows.line_begin[source], rows.line_begin[source + 1]
    own = np.concatenate([[0], np.cumsum(_COUNT[rows.mask & 15])])
    return places, rows.asked[row[places]], end - begin, own[end] - own[begin]
