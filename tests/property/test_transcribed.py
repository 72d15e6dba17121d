"""Descriptions against the documents' CUDA, run thread by thread.

The other tests take a site's index functions and bounds from the description itself. In
`tests/transcribed` the loops, indices and `if`s of some kernels are written once more, as plain
Python, and every access of every thread is recorded. What `replay` counts must equal that, at sizes
which are no multiple of a tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import GlobalSite, kernels, replay
from tests.examples import examples
from tests.transcribed.explore_gemms import explore_1d, explore_naive, explore_shared
from tests.transcribed.junstar92 import junstar92_1d, junstar92_2d, junstar92_smem, naive
from tests.transcribed.leimao import leimao_naive, leimao_v04, leimao_v05, leimao_v06, leimao_v07
from tests.transcribed.thread_by_thread import Program, run


def replayed(name: str, m: int, n: int, k: int, **tiles: int) -> list[tuple[Any, ...]]:
    report = replay(name, m=m, n=n, k=k, form="written", **tiles)
    rows = []
    for site in report.sites:
        shared = site.wavefronts, site.ideal, site.bank_conflicts
        moved = shared if site.memory == "shared" else (site.sectors, site.lines, 0)
        if site.requests:
            rows.append((site.memory, site.kind, site.requests, *moved))
    return sorted(rows)


CHECKED: dict[str, tuple[str, Callable[..., Program], tuple[Any, ...], dict[str, int]]] = {
    "leimao.v00": (
        "leimao.v00", leimao_naive, (16, 8, True), {"block_x": 16, "block_y": 8},
    ),
    "leimao.v01": (
        "leimao.v01", leimao_naive, (16, 8, False), {"block_x": 16, "block_y": 8},
    ),
    "leimao.v02": (
        "leimao.v02", leimao_v04, (8, 8, 16, 1, 1), {"block_n": 8, "block_m": 8, "block_k": 16},
    ),
    "leimao.v03": (
        "leimao.v03", leimao_v04, (16, 16, 4, 1, 4),
        {"block_n": 16, "block_m": 16, "block_k": 4, "thread_m": 4},
    ),
    "leimao.v04": (
        "leimao.v04", leimao_v04, (32, 16, 8, 4, 4),
        {"block_n": 32, "block_m": 16, "block_k": 8, "thread_n": 4, "thread_m": 4},
    ),
    "leimao.v05": (
        "leimao.v05", leimao_v05, (32, 16, 8, 4, 4),
        {"block_n": 32, "block_m": 16, "block_k": 8, "thread_n": 4, "thread_m": 4},
    ),
    "leimao.v05, tall": (  # threads left over in the last load
        "leimao.v05", leimao_v05, (16, 24, 8, 4, 4),
        {"block_n": 16, "block_m": 24, "block_k": 8, "thread_n": 4, "thread_m": 4},
    ),
    "leimao.v06": (
        "leimao.v06", leimao_v06, (64, 32, 8, 32, 32, 4, 4, 4, 8),
        {
            "block_n": 64, "block_m": 32, "block_k": 8, "warp_n": 32, "warp_m": 32,
            "thread_n": 4, "thread_m": 4,
        },
    ),
    "illustrated.naive": (
        "illustrated.naive", naive, (16, 8, False), {"block_n": 16, "block_m": 8},
    ),
    "junstar92.naive": (
        "junstar92.naive", naive, (16, 8, True), {"block_x": 16, "block_y": 8},
    ),
    "junstar92.smem": ("junstar92.smem", junstar92_smem, (8,), {"block_size": 8}),
    "junstar92.1d": (
        "junstar92.1d", junstar92_1d, (16, 4),
        {"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4},
    ),
    "junstar92.2d": (
        "junstar92.2d", junstar92_2d, (16, 32, 4, 4, 8),
        {"block_m": 16, "block_n": 32, "block_k": 4, "thread_m": 4, "thread_n": 8},
    ),
    "explore-gemm.naive": (
        "explore-gemm.naive", explore_naive, (8, False), {"block_size": 8},
    ),
    "explore-gemm.coalesced": (
        "explore-gemm.coalesced", explore_naive, (8, True), {"block_size": 8},
    ),
    "explore-gemm.shared": (
        "explore-gemm.shared", explore_shared, (8,), {"block_size": 8},
    ),
    "explore-gemm.1d": (
        "explore-gemm.1d", explore_1d, (16, 16, 4, 4),
        {"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHECKED)
def test_kernels_with_bounds_checks_are_what_their_source_does(case: str) -> None:
    name, transcribed, tile, tiles = CHECKED[case]

    @settings(max_examples=examples(6), deadline=None)
    @given(st.tuples(*[st.integers(1, 50)] * 3))
    def check(sizes: tuple[int, int, int]) -> None:
        assert run(transcribed(*sizes, *tile)) == replayed(name, *sizes, **tiles)

    check()


@pytest.mark.parametrize(
    ("name", "transcribed", "tile", "sizes"),
    [
        ("leimao.v04", leimao_v04, (128, 128, 16, 8, 8), (130, 70, 20)),
        ("leimao.v05", leimao_v05, (128, 128, 16, 8, 8), (100, 150, 37)),
        ("leimao.v06", leimao_v06, (128, 128, 16, 32, 64, 8, 8, 4, 8), (130, 70, 37)),
        ("leimao.v07", leimao_v07, (128, 128, 16), (128, 256, 40)),
        ("leimao.v07_unskewed", leimao_v07, (128, 128, 0), (128, 128, 16)),
        ("junstar92.1d", junstar92_1d, (64, 8), (70, 100, 19)),
        ("junstar92.2d", junstar92_2d, (64, 64, 8, 8, 8), (100, 70, 37)),
        ("explore-gemm.1d", explore_1d, (64, 64, 8, 8), (70, 100, 19)),
        ("explore-gemm.shared", explore_shared, (32,), (40, 33, 50)),
    ],
)
def test_the_documents_own_tiles(
    name: str, transcribed: Callable[..., Program], tile: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    assert run(transcribed(*sizes, *tile)) == replayed(name, *sizes)


def test_every_kernel_with_bounds_checks_is_here() -> None:
    def checked(name: str) -> bool:
        launch = kernels.get(name).launch(512, 512, 64, **kernels.get(name).parameters)
        sites = [site for site in launch.sites if isinstance(site, GlobalSite)]
        return any(site.guarded or site.bounds for site in sites)

    # v07 checks A and B only, so m and n are multiples: it is among those with their own tiles.
    of_v07 = {"leimao.v07", "leimao.v07_unskewed"}
    assert {name for name, *_ in CHECKED.values()} | of_v07 == set(filter(checked, kernels.names()))
