"""What L1 still has, and which stores are joined, simulated as an H200 did it."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.l1_lines import ROOMS, ROUNDS, THREADS, circle, l1_lines_source
from gpu_check.timing.store_joins import BYTES, store_joins_source
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

LINES = {
    (int(row["shared"]), int(row["stride"]), int(row["lines"])): float(row["missed"])
    for row in packaged_table("h200_l1_lines")
}
JOINS = {
    tuple(int(row[name]) for name in ("lines", "group", "sms", "warps")): row
    for row in packaged_table("h200_store_joins")
}
SMALL, MIDDLE = 114_688, 61_440
"""Bytes of shared memory: beside them L1 has 28 KiB, and 124."""


@cache
def _each(shared: int, stride: int, lines: int) -> float:
    """Return cycles per load of the rounds that count."""

    def of(rounds: int) -> float:
        warm = np.int32(ROUNDS[0] * lines)
        time = replay_compiled(
            l1_lines_source(), kernel="circle", grid=1, block=THREADS, shared_bytes=shared,
            chip="H200",
            args=[circle(stride, lines), np.zeros(1, np.float32), np.zeros(1, np.int32), warm,
                  np.int32(rounds * lines)],
        ).time("H200")  # fmt: skip
        assert time.active_cycles is not None
        return time.active_cycles

    return (of(ROUNDS[1]) - of(1)) / ((ROUNDS[1] - 1) * lines)


@pytest.mark.parametrize(
    ("shared", "stride", "part"),
    [(SMALL, 1, 0.7), (SMALL, 1, 0.9), (SMALL, 1, 1.0), (SMALL, 125, 0.9), (SMALL, 1000, 1.0),
     (SMALL, 8, 1.15),
     *(pytest.param(MIDDLE, *each, marks=pytest.mark.slow)
       for each in product((1, 1000), (0.85, 1.0, 1.15)))],
)  # fmt: skip
def test_l1_has_as_much_of_a_circle_of_lines_as_an_h200s(
    shared: int, stride: int, part: float
) -> None:
    """The share that it lacks: by how much a load takes between one that L1 has and one it has not.

    Within 0.12: which lines share a set is not known.
    """
    lines = int(8 * ROOMS[shared] * part)
    hit, miss = _each(SMALL, 1, 112), _each(SMALL, 1, 2 * 224)
    missed = (_each(shared, stride, lines) - hit) / (miss - hit)
    assert missed == pytest.approx(LINES[shared, stride, lines], abs=0.12)


@pytest.mark.parametrize(
    ("lines", "group", "warps"),
    [(8, 1, 2), (8, 2, 1), (8, 1, 8), (8, 4, 4),
     *(pytest.param(*each, marks=pytest.mark.slow) for each in
       ((8, 1, 1), (8, 1, 16), (8, 2, 3), (8, 2, 4), (8, 2, 8), (8, 4, 1), (8, 4, 2), (8, 4, 16)))],
)  # fmt: skip
def test_halves_of_sectors_are_joined_as_an_h200_joins_them(
    lines: int, group: int, warps: int
) -> None:
    """Where up to 16 lines lie between two halves, or 32 and more.

    An H200 joins all of 24, and most of 32 to 48 that several warps store: the estimate does not.
    """

    def of(turns: int) -> float:
        time = replay_compiled(
            store_joins_source(), kernel=f"joins_{lines}_{group}", grid=132, block=32 * warps,
            chip="H200",
            args=[np.zeros(BYTES + (1 << 20), np.uint8), np.zeros(132, np.int64), np.int32(turns)],
        ).time("H200")  # fmt: skip
        assert time.active_cycles is not None
        return time.active_cycles

    each = (of(40) - of(8)) / (32 * 2 * group * warps)
    assert each == pytest.approx(float(JOINS[lines, group, 132, warps]["cycles"]), rel=0.2)
