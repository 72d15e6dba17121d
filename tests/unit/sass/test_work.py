"""Which blocks of a grid are sampled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator.sass import work


@pytest.mark.parametrize("grid", [(32, 132, 1), (4224, 1, 1), (16, 16, 16), (1, 64, 66)])
def test_blocks_that_differ_are_sampled_evenly_along_all_axes(grid: tuple[int, int, int]) -> None:
    """Every eighth of each axis has its share of them, but for a third."""
    launch: Any = SimpleNamespace(grid=grid, cluster=(1, 1, 1))
    found = work._more_blocks(launch, [(0, 0, 0)], [100, 300])
    assert 100 < len(found) < 128
    assert len(set(found)) == len(found)
    for axis, size in enumerate(grid):
        if size > 1:
            eighths = np.bincount([8 * block[axis] // size for block in found], minlength=8)
            assert eighths.min() > 0.66 * len(found) / 8
            assert eighths.max() < 1.34 * len(found) / 8


def test_blocks_that_do_the_same_are_few() -> None:
    launch: Any = SimpleNamespace(grid=(32, 132, 1), cluster=(1, 1, 1))
    assert work._more_blocks(launch, [(0, 0, 0)], [300, 302]) == []
