"""`replay` counts what running every block, turn and warp counts, one access at a time."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import (
    INSTRUCTIONS,
    Cycle,
    GlobalSite,
    Kernel,
    Launch,
    Matrix,
    SharedSite,
    count,
    kernels,
    replay,
)
from simulator.kernels.sites import names_of
from tests.examples import examples

FIGURES = ("requests", "wavefronts", "ideal", "bank_conflicts", "sectors", "lines")

# Tiles as small as each kernel allows, and the sizes that it accepts with them.
SMALL = {
    "leimao.v00": ({"block_x": 16, "block_y": 4}, (1, 1, 1)),
    "leimao.v01": ({"block_x": 16, "block_y": 4}, (1, 1, 1)),
    "leimao.v02": ({"block_m": 8, "block_n": 8, "block_k": 8}, (1, 1, 1)),
    "leimao.v03": ({"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4}, (1, 1, 1)),
    "leimao.v04": (
        {"block_m": 16, "block_n": 16, "block_k": 8, "thread_m": 4, "thread_n": 4},
        (1, 1, 1),
    ),
    "leimao.v05": (
        {"block_m": 24, "block_n": 16, "block_k": 8, "thread_m": 4, "thread_n": 4},
        (1, 1, 1),
    ),
    "leimao.v06": (
        {
            "block_m": 32, "block_n": 64, "block_k": 8, "warp_m": 32, "warp_n": 32,
            "thread_m": 4, "thread_n": 4,
        },
        (1, 1, 1),
    ),
    "leimao.v07": ({"block_m": 64, "block_n": 32, "warp_m": 32, "warp_n": 16}, (64, 32, 1)),
    "leimao.v07_unskewed": (
        {"block_m": 32, "block_n": 32, "warp_m": 32, "warp_n": 16},
        (32, 32, 1),
    ),
    "illustrated.naive": ({"block_m": 8, "block_n": 8}, (1, 1, 1)),
    "illustrated.v1": ({"block_m": 64, "block_n": 64, "block_k": 4}, (64, 64, 4)),
    "illustrated.layout_2x16": ({}, (128, 128, 8)),
    "illustrated.layout_4x8": ({"block_m": 64, "block_n": 64, "block_k": 4}, (64, 64, 4)),
    "illustrated.layout_2x16_split": ({}, (128, 128, 8)),
    "illustrated.warp_tile": ({"block_m": 64, "block_n": 64, "block_k": 4}, (0, 64, 4)),
    "junstar92.naive": ({"block_x": 8, "block_y": 8}, (1, 1, 1)),
    "junstar92.smem": ({"block_size": 8}, (1, 1, 1)),
    "junstar92.1d": ({"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4}, (1, 1, 1)),
    "junstar92.2d": (
        {"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4, "thread_n": 4},
        (1, 1, 1),
    ),
    "junstar92.vectorized": (
        {"block_m": 16, "block_n": 32, "block_k": 8, "thread_m": 4, "thread_n": 4},
        (16, 32, 8),
    ),
    "junstar92.vectorized_128": ({}, (128, 128, 8)),
    "junstar92.warptiling": ({}, (64, 64, 8)),
    "junstar92.warptiling_128": ({}, (128, 128, 8)),
    "explore-gemm.naive": ({"block_size": 8}, (1, 1, 1)),
    "explore-gemm.coalesced": ({"block_size": 8}, (1, 1, 1)),
    "explore-gemm.shared": ({"block_size": 8}, (1, 1, 1)),
    "explore-gemm.1d": ({"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4}, (1, 1, 1)),
    "explore-gemm.2d": ({"block_m": 32, "block_n": 32, "block_k": 4}, (32, 32, 4)),
    "explore-gemm.vectorized": (
        {"block_m": 32, "block_n": 32, "thread_m": 4, "thread_n": 4},
        (32, 32, 8),
    ),
    "explore-gemm.warptiling": (
        {
            "block_m": 32, "block_n": 32, "block_k": 8, "warp_m": 32, "warp_n": 32,
            "warp_n_iter": 2, "thread_m": 4, "threads": 32,
        },
        (32, 32, 8),
    ),
    "explore-gemm.half": ({"block_n": 64, "block_k": 8, "threads": 64}, (128, 64, 8)),
    "explore-gemm.bfloat16": (
        {"block_m": 64, "block_n": 64, "block_k": 4, "threads": 32},
        (64, 64, 4),
    ),
    "cutlass-notes.sgemm_128x128": ({"pad_a": 4}, (128, 128, 8)),
}  # fmt: skip


arguments = cache(names_of)  # of a function that is called for every turn


def every_value(trips):
    if isinstance(trips, Cycle):
        return [turn % trips.period for turn in range(trips.trips)]
    return list(range(trips))


@cache
def one_access(op, addresses, mask):
    # The law as it is specified, one access at a time.
    cost = count(op, addresses, mask, engine="python")
    figures = (cost.phases > 0, cost.wavefronts, cost.ideal, cost.bank_conflicts)
    return tuple(map(int, figures))


def brute_force(site, launch, form, op):
    """Run one site: every block, every turn of every loop, every warp."""
    figures = dict.fromkeys(FIGURES, 0)
    loops = {name: every_value(trips) for name, trips in site.loops.items()}
    if form == "compiled":
        loops = {name: turns for name, turns in loops.items() if name not in site.hoisted}
    joined = 1
    if isinstance(site, SharedSite) and site.merges is not None and form == "compiled":
        joined = INSTRUCTIONS[op].width // (site.element * site.width)
        loops[site.merges] = loops[site.merges][::joined]
    turns = {
        "bx": range(launch.grid[0]),
        "by": range(launch.grid[1]),
        **{name: every_value(trips) for name, trips in site.repeats.items()},
        **loops,
    }
    threads = launch.block[0] * launch.block[1]
    lanes = np.arange(32)
    for values in itertools.product(*turns.values()):
        known = dict(zip(turns, values, strict=True))
        for warp in range(-(-threads // 32)):
            tid = 32 * warp + lanes
            known |= {"tid": tid, "warp": warp, "lane": lanes}
            known |= {"tx": tid % launch.block[0], "ty": tid // launch.block[0]}

            def value(function, known=known):
                named = {name: known[name] for name in arguments(function)}
                return np.broadcast_to(function(**named), 32)

            active = tid < threads
            if site.where is not None:
                active = active & value(site.where)
            if isinstance(site, SharedSite):
                addresses = value(site.index) * site.element
                if joined > 1:  # the neighbours are where the wide access looks for them
                    for step in range(1, joined):
                        later = known | {site.merges: known[site.merges] + step}
                        assert np.array_equal(
                            value(site.index, later) * site.element,
                            addresses + step * site.element * site.width,
                        )
                mask = sum(1 << int(lane) for lane in lanes[active])
                counted = one_access(op, tuple(addresses.tolist()), mask)
                names = FIGURES[:4]
            else:
                row, col = value(site.row), value(site.col)
                checks = list(site.bounds)
                if site.guarded:
                    checks += [(site.row, site.matrix.rows), (site.col, site.matrix.cols)]
                for coordinate, size in checks:
                    active = active & (value(coordinate) < size)
                addresses = ((row * site.matrix.ld + col) * site.matrix.element)[active].tolist()
                moved = {a + b for a in addresses for b in range(site.width * site.matrix.element)}
                counted = (
                    int(bool(addresses)),
                    len({address // 32 for address in moved}),
                    len({address // 128 for address in moved}),
                )
                names = ("requests", "sectors", "lines")
            for name, more in zip(names, counted, strict=True):
                figures[name] += more
    return figures


def assert_equal_to_brute_force(kernel, m, n, k, form, parameters):
    report = replay(kernel, m=m, n=n, k=k, form=form, **parameters)
    launch = kernel.launch(m, n, k, **report.parameters)
    sites = [site for site in launch.sites if site.only in (None, form) and site.runs]
    assert len(sites) == len(report.sites)
    for site, row in zip(sites, report.sites, strict=True):
        figures = {name: getattr(row, name) for name in FIGURES}
        assert figures == brute_force(site, launch, form, row.op), row.source


def test_every_kernel_is_among_the_small_ones() -> None:
    assert set(SMALL) == set(kernels.names())


@pytest.mark.parametrize("form", ["compiled", "written"])
@pytest.mark.parametrize("name", SMALL)
def test_kernels_equal_brute_force(name, form) -> None:
    parameters, steps = SMALL[name]

    @settings(max_examples=examples(3), deadline=None)
    @given(st.data())
    def check(data):
        sizes = []
        for step in steps:
            if step == 1:  # bounds are checked: any size
                sizes.append(data.draw(st.integers(1, 40)))
            elif step:
                sizes.append(step * data.draw(st.integers(1, 2 if step < 128 else 1)))
        if len(sizes) == 2:  # one that runs square matrices only
            sizes.insert(0, sizes[0])
        assert_equal_to_brute_force(kernels.get(name), *sizes, form, parameters)

    check()


small = st.integers(0, 40)


@settings(max_examples=examples(60), deadline=None)
@given(
    steps=st.tuples(small, small, small),
    trips=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 40)),
    shape=st.tuples(st.integers(1, 60), st.integers(1, 200), st.integers(0, 9)),
    lanes=st.sampled_from([1, 4, 16, 32]),
    element=st.sampled_from([1, 2, 4, 8]),
    guard=st.sampled_from(["none", "own", "other"]),
    threads=st.sampled_from([32, 20, 48]),
)
def test_global_patterns_equal_brute_force(
    steps, trips, shape, lanes, element, guard, threads
) -> None:
    by_step, bx_step, k_step = steps
    rows, cols, pad = shape
    site = GlobalSite(
        "A[row][col]",
        "load",
        Matrix(rows, cols, cols + pad, element),
        lambda by, tid: by * by_step + tid // lanes,
        lambda turn, tid, i: k_step * turn + tid % lanes + i,
        loops={"i": 2, "j": 2},
        repeats={"turn": trips[2]},
        guarded=guard == "own",
        overruns=guard != "own",
        bounds=((lambda bx, tid: bx * bx_step + tid, 33),) if guard == "other" else (),
    )
    launch = Launch((trips[0], trips[1]), (threads, 1), (site,))
    kernel = Kernel("mine", "", "", lambda m, n, k: launch)
    assert_equal_to_brute_force(kernel, 1, 1, 1, "compiled", {})


@settings(max_examples=examples(60), deadline=None)
@given(
    strides=st.tuples(*[st.integers(0, 70)] * 4),
    trips=st.integers(1, 5),
    period=st.integers(1, 3),
    element=st.sampled_from([2, 4]),
    merges=st.sampled_from([None, "i"]),
    rows=st.sampled_from([1, 4, 8, 32]),
    blocks=st.tuples(st.integers(1, 3), st.integers(1, 2)),
)
def test_shared_patterns_equal_brute_force(
    strides, trips, period, element, merges, rows, blocks
) -> None:
    lane_row, lane_col, turn, block = strides
    site = SharedSite(
        "tile[...]",
        "load",
        lambda tid, stage, bx, i: (
            tid % rows * lane_row + tid // rows * lane_col + stage * turn + bx * block + i
        ),
        loops={"i": 8, "j": 2},
        repeats={"stage": Cycle(trips, period), "more": 2},
        element=element,
        where=lambda tid, i: (tid + i) % 5 != 0,
        merges=merges,
        hoisted=("j",),
    )
    launch = Launch(blocks, (40, 1), (site,))
    kernel = Kernel("mine", "", "", lambda m, n, k: launch)
    for form in ("compiled", "written"):
        assert_equal_to_brute_force(kernel, 1, 1, 1, form, {})


def test_merging_needs_the_same_lanes_in_every_turn() -> None:
    def kernel(where):
        site = SharedSite(
            "tile[4 * tid + i]", "load", lambda tid, i: 4 * tid + i, loops={"i": 4},
            merges="i", where=where,
        )  # fmt: skip
        return Kernel("mine", "", "", lambda m, n, k: Launch((1, 1), (32, 1), (site,)))

    def op(where):
        return replay(kernel(where), m=1, n=1, k=1).sites[0].op

    assert op(lambda tid: tid < 5) == "LDS.128"
    assert op(lambda tid, i: tid < 5 + i // 2) == "LDS.64"
    assert op(lambda tid, i: tid < 5 + i) == "LDS"
