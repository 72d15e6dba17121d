"""Every kernel of the catalogue computes C: what a thread reads is what its elements need.

The stores of one block fill its two tiles with elements of A and B; a thread's reads of them
must give, for each row and column of C that it writes, the whole k tile. A wrong index in any
site breaks that, whatever it costs.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from simulator import GlobalSite, Launch, SharedSite, kernels
from simulator.kernels.sites import Site, names_of

# One k tile; several blocks along m and n, the one at (1, 1) is looked at.
SIZES = {
    "leimao.v02": (64, 96, 32),
    "leimao.v03": (128, 192, 8),
    "leimao.v04": (256, 384, 16),
    "leimao.v05": (256, 384, 16),
    "leimao.v06": (256, 384, 16),
    "illustrated.v1": (256, 384, 8),
    "illustrated.layout_2x16": (256, 384, 8),
    "illustrated.layout_4x8": (256, 384, 8),
    "illustrated.layout_2x16_split": (256, 384, 8),
    "illustrated.warp_tile": (256, 256, 8),
    "junstar92.smem": (64, 96, 32),
    "junstar92.1d": (128, 192, 8),
    "junstar92.2d": (128, 192, 8),
    "junstar92.vectorized": (128, 192, 8),
    "junstar92.vectorized_128": (256, 384, 8),
    "junstar92.warptiling": (128, 192, 8),
    "junstar92.warptiling_128": (256, 384, 8),
    "cutlass-notes.sgemm_128x128": (256, 384, 8),
}

Turns = list[tuple[dict[str, int], dict[str, Any]]]


def turns(site: Site, launch: Launch) -> Turns:
    """Loop indices of every turn, and with them everything that a function may name."""
    tid = np.arange(launch.threads)
    known = {"tid": tid, "warp": tid // 32, "lane": tid % 32, "bx": 1, "by": 1}
    known |= {"tx": tid % launch.block[0], "ty": tid // launch.block[0]}
    known |= dict.fromkeys(site.repeats, 0)
    every = itertools.product(*map(range, site.loops.values()))
    indices = [dict(zip(site.loops, values, strict=True)) for values in every]
    return [(index, known | index) for index in indices]


def values(function: Any, known: dict[str, Any], launch: Launch) -> list[int]:
    named = {name: known[name] for name in names_of(function)}
    result: list[int] = np.broadcast_to(function(**named), launch.threads).tolist()
    return result


def filled(load: GlobalSite, store: SharedSite, launch: Launch) -> dict[int, tuple[int, int]]:
    """What the tile holds: offset → coordinates in A or B."""
    tile = {}
    for index, known in turns(store, launch):
        # A scalar store of one element of a vector load: the loop over them is the store's own.
        (own, *_) = [*(name for name in store.loops if name not in load.loops), None]
        component = index[own] if own is not None else 0
        known = known | dict.fromkeys(load.repeats, 0)
        for step in range(store.width):
            # Or a vector store of elements that scalar loads brought, one a turn.
            alone = [name for name in load.loops if name not in store.loops]
            at = known | dict.fromkeys(alone, step)
            column = component + (step if load.width > 1 else 0)
            rows, cols = values(load.row, at, launch), values(load.col, at, launch)
            offsets = values(store.index, known, launch)
            for offset, row, col in zip(offsets, rows, cols, strict=True):
                tile[offset + step] = (row, col + column)
    return tile


def read(
    sites: list[SharedSite], tile: dict[int, tuple[int, int]], launch: Launch
) -> list[set[tuple[int, int]]]:
    seen: list[set[tuple[int, int]]] = [set() for _ in range(launch.threads)]
    for site in sites:
        for _, known in turns(site, launch):
            for thread, offset in enumerate(values(site.index, known, launch)):
                seen[thread] |= {tile[offset + step] for step in range(site.width)}
    return seen


def test_every_kernel_with_scalar_fragments_is_here() -> None:
    ours = ("leimao.", "illustrated.", "junstar92.", "cutlass-notes.")
    others = {"leimao.v00", "leimao.v01", "illustrated.naive", "junstar92.naive"}
    others |= {"leimao.v07", "leimao.v07_unskewed"}  # LDSM hands elements to other lanes
    assert set(SIZES) == {name for name in kernels.names() if name.startswith(ours)} - others


@pytest.mark.parametrize("name", SIZES)
def test_threads_read_what_their_elements_of_c_need(name: str) -> None:
    m, n, k = SIZES[name]
    kernel = kernels.get(name)
    launch = kernel.launch(m, n, k, **kernel.parameters)
    sites = [site for site in launch.sites if site.runs and site.only != "compiled"]
    loads = [site for site in sites if isinstance(site, GlobalSite) and site.kind == "load"]
    a_load, b_load, *_ = loads
    a_store, b_store = [s for s in sites if isinstance(s, SharedSite) and s.kind == "store"]
    reads = [site for site in sites if isinstance(site, SharedSite) and site.kind == "load"]
    from_a = [s for s in reads if s.source.startswith(("A", "a_", "s_a", "subA", "load_frag(A"))]
    from_b = [site for site in reads if site not in from_a]
    (c,) = [site for site in sites if isinstance(site, GlobalSite) and site.kind == "store"]

    a_seen = read(from_a, filled(a_load, a_store, launch), launch)
    b_seen = read(from_b, filled(b_load, b_store, launch), launch)
    rows: list[set[int]] = [set() for _ in range(launch.threads)]
    cols: list[set[int]] = [set() for _ in range(launch.threads)]
    for _, known in turns(c, launch):
        for thread, row in enumerate(values(c.row, known, launch)):
            rows[thread].add(row)
        for thread, col in enumerate(values(c.col, known, launch)):
            cols[thread] |= set(range(col, col + c.width))
    for thread in range(launch.threads):
        assert a_seen[thread] == set(itertools.product(rows[thread], range(k)))
        assert b_seen[thread] == set(itertools.product(range(k), cols[thread]))
    block_m, block_n = m // launch.grid[1], n // launch.grid[0]
    assert set().union(*rows) == set(range(block_m, 2 * block_m))
    assert set().union(*cols) == set(range(block_n, 2 * block_n))


@pytest.mark.parametrize("name", ["leimao.v07", "leimao.v07_unskewed"])
def test_matrix_loads_point_at_what_the_warps_elements_of_c_need(name: str) -> None:
    m, n, k = 256, 384, 16
    kernel = kernels.get(name)
    launch = kernel.launch(m, n, k, **kernel.parameters)
    a_load, a_store, b_load, b_store, from_a, from_b, _, c = launch.sites
    assert isinstance(c, GlobalSite)
    for axis, load, store, matrices in ((0, a_load, a_store, from_a), (1, b_load, b_store, from_b)):
        assert isinstance(load, GlobalSite)
        assert isinstance(store, SharedSite)
        assert isinstance(matrices, SharedSite)
        tile = filled(load, store, launch)
        seen: list[set[tuple[int, int]]] = [set() for _ in range(launch.threads // 32)]
        for _, known in turns(matrices, launch):
            for thread, offset in enumerate(values(matrices.index, known, launch)):
                seen[thread // 32] |= {tile[offset + step] for step in range(8)}  # 16 bytes a lane
        lines: list[set[int]] = [set() for _ in seen]
        for _, known in turns(c, launch):
            for thread, line in enumerate(values((c.row, c.col)[axis], known, launch)):
                lines[thread // 32] |= set(range(line, line + (c.width if axis else 1)))
        for warp, own in enumerate(lines):
            pairs = itertools.product(own, range(k))
            assert seen[warp] == {pair[:: 1 - 2 * axis] for pair in pairs}


@pytest.mark.parametrize("name", kernels.names())
def test_every_element_of_c_is_written_once(name: str) -> None:
    kernel = kernels.get(name)
    launch = kernel.launch(256, 256, 32, **kernel.parameters)
    (c,) = [s for s in launch.sites if isinstance(s, GlobalSite) and s.kind == "store"]
    written: list[tuple[int, int]] = []
    for _, known in turns(c, launch):
        rows, cols = values(c.row, known, launch), values(c.col, known, launch)
        for row, col in zip(rows, cols, strict=True):
            written += [(row, col + element) for element in range(c.width)]
    # Of the block (1, 1): which axis of the grid is which, the rows and columns show.
    assert len(set(written)) == len(written) == 256 * 256 // (launch.grid[0] * launch.grid[1])
    across, down = ({place[axis] for place in written} for axis in (1, 0))
    for lines in (across, down):
        assert lines == set(range(len(lines), 2 * len(lines)))
        assert 256 % len(lines) == 0
    assert len(across) * len(down) == len(written)
