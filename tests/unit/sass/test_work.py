"""Which blocks of a grid are sampled."""

from __future__ import annotations

from itertools import product
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator import Chip, replay_compiled
from simulator.sass import work
from simulator.sass.run.grid import GridRun
from simulator.timing.atomics import hot_cycles
from simulator.timing.machine import machine_of
from tests.sass_kernels import needs_compiler


@pytest.mark.parametrize("grid", [(32, 132, 1), (4224, 1, 1), (16, 16, 16), (1, 64, 66)])
def test_blocks_that_differ_are_sampled_evenly_along_all_axes(grid: tuple[int, int, int]) -> None:
    """Every eighth of each axis has its share of them, but for a third."""
    launch: Any = SimpleNamespace(grid=grid, cluster=(1, 1, 1))
    found = work._more_blocks(launch, [(0, 0, 0)], 200)
    assert 100 < len(found) < 128
    assert len(set(found)) == len(found)
    for axis, size in enumerate(grid):
        if size > 1:
            eighths = np.bincount([8 * block[axis] // size for block in found], minlength=8)
            assert eighths.min() > 0.66 * len(found) / 8
            assert eighths.max() < 1.34 * len(found) / 8


@pytest.mark.parametrize(
    ("ran", "probed", "unlike"),
    [
        ([300, 302], [300], False),
        # The grid's ends tell where few ran, and where they do more.
        ([300], [300, 200], True), ([300] * 3, [300, 900], True), ([300] * 3, [300, 200], False),
    ],
)  # fmt: skip
def test_blocks_that_do_the_same_are_like(
    ran: list[float], probed: list[float], unlike: bool
) -> None:
    assert work._are_unlike(work._that_tell(ran + probed, len(ran)), 0.02) is unlike


@needs_compiler
@pytest.mark.parametrize(
    ("row", "many"),
    [("rows[blockIdx.x]", True), ("blockIdx.x % 64", False), ("0", False), ("blockIdx.x", False)],
)
def test_more_blocks_run_where_data_say_what_is_added_to(row: str, many: bool) -> None:
    """Of 8,448 rows a tenth is the first one: it is seen where enough blocks are."""
    source = f"""
    extern "C" __global__ void rows(const unsigned* rows, float* table) {{
        atomicAdd(table + 512 * ({row}) + threadIdx.x, 1.0f);
    }}
    """
    random = np.random.default_rng(1)
    rows = np.where(random.random(8448) < 0.1, 0, random.integers(8192, size=8448))
    launch = replay_compiled(
        source, grid=8448, block=128, chip="H100",
        args=[rows.astype(np.uint32), np.zeros(8448 * 512, np.float32)],
    ).relaunch()  # fmt: skip
    found = launch.work(Chip.of("H100"))
    assert (len(found.traces) > 100) is many
    if many:
        _, share = hot_cycles(found, machine_of(Chip.of("H100")) or {})
        assert share == pytest.approx(0.1 / 2, rel=0.5)  # two units have a row's 512 bytes


@needs_compiler
@pytest.mark.parametrize(("ways", "many"), [("blockIdx.x / 132", True), ("4", False)])
def test_more_blocks_run_where_some_have_more_conflicts(ways: str, many: bool) -> None:
    source = f"""
    extern "C" __global__ void part(float* out) {{
        __shared__ float s[1024];
        float sum = 0;
        for (int k = 0; k < 64; ++k) sum += s[(threadIdx.x << ({ways})) + k & 1023];
        out[blockIdx.x * 32 + threadIdx.x] = sum;
    }}
    """
    launch = replay_compiled(
        source, grid=528, block=32, chip="H100", args=[np.zeros(528 * 32, np.float32)]
    ).relaunch()
    traced = len(launch.work(Chip.of("H100")).traces)
    assert traced > 100 if many else traced == 4


def test_of_a_small_grid_all_blocks_are_sampled() -> None:
    launch: Any = SimpleNamespace(grid=(3, 2, 2), cluster=(1, 1, 1))
    launch.every = MethodType(GridRun.every, launch)
    found = work._more_blocks(launch, [(1, 1, 0)], 233)
    assert {*found, (1, 1, 0)} == set(product(range(3), range(2), range(2)))
    assert len(found) == 11


@pytest.mark.parametrize("blocks", [134, 200, 266, 300, 520, 528, 529, 700, 1000])
def test_the_last_block_does_not_stand_for_the_last_of_each_sm(blocks: int) -> None:
    """It may do less than the others: it is one of many, and of an SM's blocks one in few."""
    launch: Any = SimpleNamespace(grid=(blocks, 1, 1), cluster=(1, 1, 1))
    found = [x for x, _, _ in work.sampled_blocks(launch, 8, 132)]
    assert [x // 132 for x in found] == list(range(-(-blocks // 132)))
    assert blocks % 132 == 1 or blocks - 1 not in found
