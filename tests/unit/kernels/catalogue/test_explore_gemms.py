"""The kernels of ks, "Explore GEMMs - optimization journey" (RTX 4090, sm_89).

https://github.com/gpusgobrr/explore-gemm is the document's address here: its repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import kernels
from simulator.errors import KernelError
from simulator.kernels.replay import KernelReport, replay
from simulator.kernels.sites import (
    AS_WRITTEN,
    ASSUMED,
    GlobalSite,
    Launch,
    SharedSite,
    Site,
    names_of,
)

SIZE = 4096  # M = N = K of everything that the document measures

NAMES = [name for name in kernels.names() if name.startswith("explore-gemm.")]


def report(kernel: str, **how: Any) -> KernelReport:
    return replay(f"explore-gemm.{kernel}", m=SIZE, n=SIZE, k=SIZE, **how)


# Laws


def turns(site: Site) -> Iterator[dict[str, int]]:
    """Every turn of the site's unrolled loops."""
    for values in product(*map(range, site.loops.values())):
        yield dict(zip(site.loops, values, strict=True))


def at(function: Callable[..., Any], tids: Sequence[int], place: Mapping[str, int]) -> list[int]:
    """Evaluate an index function for some threads."""
    tid = np.array(tids)
    known = {**place, "tid": tid, "warp": tid // 32, "lane": tid % 32}
    value = function(**{name: known[name] for name in names_of(function)})
    return np.broadcast_to(value, tid.shape).tolist()  # type: ignore[no-any-return]


def elements(
    site: GlobalSite, tids: Sequence[int], place: Mapping[str, int]
) -> dict[int, list[tuple[int, int]]]:
    """The elements of the matrix that each thread moves, in all turns."""
    moved: dict[int, list[tuple[int, int]]] = {tid: [] for tid in tids}
    for turn in turns(site):
        rows, cols = (at(axis, tids, {**place, **turn}) for axis in (site.row, site.col))
        for tid, row, col in zip(tids, rows, cols, strict=True):
            moved[tid] += [(row, col + element) for element in range(site.width)]
    return moved


def tile(
    launch: Launch, load: GlobalSite, store: SharedSite, place: dict[str, int]
) -> dict[int, tuple[int, int]]:
    """Which element of the matrix lies at each offset of the tile, once all threads stored."""
    lies: dict[int, tuple[int, int]] = {}
    tids = range(launch.threads)
    for turn in turns(store):
        # A loop that the store has and the load has not runs over the load's vector.
        part = next((turn[name] for name in turn if name not in load.loops), 0)
        rows, cols = (at(axis, tids, {**place, **turn}) for axis in (load.row, load.col))
        for first, row, col in zip(at(store.index, tids, turn), rows, cols, strict=True):
            for element in range(store.width):
                lies[first + element] = row, col + part + element
    return lies


TILES = st.sampled_from(
    [
        ("shared", {}),
        ("shared", {"block_size": 8}),
        ("1d", {}),
        ("1d", {"block_m": 32, "block_n": 32, "thread_m": 4}),
        ("2d", {}),
        ("2d", {"block_m": 32, "block_k": 4, "thread_m": 4, "thread_n": 16}),
        ("vectorized", {}),
        ("vectorized", {"block_m": 32, "block_n": 32, "thread_m": 4, "thread_n": 4}),
        ("warptiling", {}),
        ("warptiling", {"block_n": 64, "block_k": 8, "warp_m": 32, "thread_m": 4}),
        ("half", {}),
        ("bfloat16", {"warp_m": 128, "warp_n": 32, "warp_n_iter": 2}),
    ]
)


@given(TILES, st.data())
def test_every_read_finds_the_element_that_the_product_needs(
    chosen: tuple[str, dict[str, int]], data: st.DataObject
) -> None:
    """A thread reads, for each k, the rows of A and the columns of B of its elements of C."""
    name, parameters = chosen
    kernel = kernels.get(f"explore-gemm.{name}")
    launch = kernel.launch(256, 256, 64, **{**kernel.parameters, **parameters})
    loads = [s for s in launch.sites if isinstance(s, GlobalSite) and s.kind == "load"]
    stores = [s for s in launch.sites if isinstance(s, SharedSite) and s.kind == "store"]
    reads = [s for s in launch.sites if isinstance(s, SharedSite) and s.kind == "load"]
    out = next(s for s in launch.sites if isinstance(s, GlobalSite) and s.kind == "store")
    steps = next(iter(stores[0].repeats.values()))
    assert isinstance(steps, int)
    depth = 64 // steps
    place = {
        "bx": data.draw(st.integers(0, launch.grid[0] - 1)),
        "by": data.draw(st.integers(0, launch.grid[1] - 1)),
        "step": data.draw(st.integers(0, steps - 1)),
    }
    tiles = {
        name: tile(launch, load, store, place)
        for name, load, store in zip("ab", loads, stores, strict=False)
    }
    tids = sorted(data.draw(st.sets(st.integers(0, launch.threads - 1), min_size=1, max_size=8)))
    of_c = elements(out, tids, place)
    for read in reads:
        matrix = "a" if read.source.startswith("tile_a") else "b"
        found: dict[tuple[int, int], Counter[tuple[int, int]]] = {}
        for turn in turns(read):
            for tid, offset in zip(tids, at(read.index, tids, turn), strict=True):
                k = place["step"] * depth + turn.get("dot", 0)
                found.setdefault((tid, k), Counter())[tiles[matrix][offset]] += 1
        for (tid, k), read_elements in found.items():
            needed = {(row, k) if matrix == "a" else (k, col) for row, col in of_c[tid]}
            assert read_elements == Counter(needed), (read.source, tid, k)
        assert len(found) == len(tids) * (depth if "dot" in read.loops else 1)


@given(st.sampled_from(NAMES), st.tuples(*[st.sampled_from([128, 256])] * 3))
def test_c_is_written_once_and_the_written_form_has_no_wide_shared_load(
    name: str, sizes: tuple[int, int, int]
) -> None:
    m, n, k = sizes
    kernel = kernels.get(name)
    launch = kernel.launch(m, n, k, **kernel.parameters)
    out = next(s for s in launch.sites if isinstance(s, GlobalSite) and s.kind == "store")
    block = {"bx": launch.grid[0] - 1, "by": launch.grid[1] - 1}
    written = [each for own in elements(out, range(launch.threads), block).values() for each in own]
    assert len(set(written)) == len(written) == m * n // (launch.grid[0] * launch.grid[1])
    assert max(written) == (m - 1, n - 1)
    loads = {op for op, *_ in replay(name, m=m, n=n, k=k, form="written").instructions}
    assert not loads & {"LDS.64", "LDS.128"}


# What the document prints


def test_2d_kernel_has_the_profilers_five_figures() -> None:
    """ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm .

    Its Nsight Compute: "a 5.6 - way bank conflict across all 167772160 shared load requests.
    This results in 503316480 bank conflicts, which represent 53.57% of the overall 939534036
    wavefronts for shared loads"; "369098752 excessive wavefronts (37% of the total 1006632960
    wavefronts)". Of the 939534036, 9940 are arbitration noise: the other sum has none of them.
    """
    totals = report("2d").totals()
    load, both = totals["load"], totals["all"]
    assert load["requests"] == 167_772_160
    assert load["bank_conflicts"] == 503_316_480
    assert load["wavefronts"] == 939_524_096
    assert both["wavefronts"] == 1_006_632_960
    assert both["excessive"] == 369_098_752
    assert f"{load['wavefronts'] / load['requests']:.1f}" == "5.6"
    assert f"{load['bank_conflicts'] / load['wavefronts']:.2%}" == "53.57%"
    assert f"{both['excessive'] / both['wavefronts']:.0%}" == "37%"
    assert totals["store"]["bank_conflicts"] == 0


def test_2d_kernel_needs_the_early_loads_and_the_fusing() -> None:
    """The same counters, of ks, "Explore GEMMs - optimization journey" (address above)."""
    rows = [site for site in report("2d").sites if site.memory == "shared" and site.kind == "load"]
    warps = 2 * 64 * 64 * 512  # in a block, blocks, k tiles
    figures = [
        (site.op, site.requests / warps, site.wavefronts / warps, site.bank_conflicts / warps)
        for site in rows
    ]
    assert figures == [
        ("LDS.128", 16, 64, 32),
        ("LDS", 8, 32, 24),
        ("LDS.128", 16, 128, 64),
    ]
    assert "compiler's own" in rows[1].evidence
    # Without fusing an LDS.128 of A has 4 phases of one wavefront: as many, but no conflict.
    documented = report("2d", rule="documented").totals()["load"]
    assert documented["wavefronts"] == warps * (16 * 4 + 8 * 4 + 16 * 8)
    assert documented["bank_conflicts"] == warps * (16 * 0 + 8 * 3 + 16 * 4) != 503_316_480


def test_2d_kernel_as_written_has_the_sources_loads_alone() -> None:
    """Its listing: TM = 8 elements of A and TN = 8 of B for each of BK = 8 (address above)."""
    written = report("2d", form="written")
    assert written.totals()["load"]["requests"] == 2 * 64 * 64 * 512 * 8 * (8 + 8)
    assert all(site.evidence == AS_WRITTEN for site in written.sites)
    assert len(report("2d").sites) == len(written.sites) + 1


@pytest.mark.parametrize(("thread_m", "thread_n", "early"), [(8, 8, 8), (8, 4, 0), (4, 4, 0)])
def test_early_loads_come_with_eight_by_eight_thread_tiles(
    thread_m: int, thread_n: int, early: int
) -> None:
    """nvcc 13.0 -O3 -arch=sm_89, LDS in the machine code of these instantiations."""
    compiled = report("2d", thread_m=thread_m, thread_n=thread_n)
    assert Counter(op for op, *_ in compiled.instructions)["LDS"] == early
    assert {s.evidence for s in compiled.sites if s.op == "LDS.128"} <= {
        ASSUMED,
        "the document's profiler; machine code, nvcc 13.0 for sm_89",
    }


@pytest.mark.parametrize(
    ("kernel", "instructions"),
    [
        ("shared", {"LDS": 32, "LDS.128": 8, "STS": 2}),
        ("1d", {"LDS": 8, "LDS.128": 16, "STS": 2}),
        ("2d", {"LDS": 8, "LDS.128": 32, "STS": 16}),
        ("vectorized", {"LDS.128": 32, "STS": 4, "STS.128": 1}),
        ("warptiling", {"LDS.128": 96, "STS": 16, "STS.128": 4}),
        ("half", {"LDS.64": 96, "STS": 8, "STS.U16": 16}),
        ("bfloat16", {"LDS.64": 96, "STS": 8, "STS.U16": 16}),
    ],
)
def test_compiled_forms_have_the_instructions_of_the_machine_code(
    kernel: str, instructions: dict[str, int]
) -> None:
    """nvcc 13.0 -O3 -arch=sm_89 of the listings of ks (address above), counted by nvdisasm.

    The listing of `shared` with a write of C; those of the 16-bit kernels with the fp32
    kernel's formulas, and --expt-relaxed-constexpr.
    """
    assert Counter(op for op, *_ in report(kernel).instructions) == instructions


@pytest.mark.parametrize("kernel", ["shared", "1d"])
def test_the_first_kernels_have_no_bank_conflict(kernel: str) -> None:
    """ks (address above): with 1D tiling the warning of "Shared Store Bank Conflicts" is gone.

    The shared kernel had it although its stores have no address conflict: noise, then.
    """
    totals = report(kernel).totals()
    assert totals["all"]["bank_conflicts"] == totals["all"]["excessive"] == 0
    assert totals["load"]["requests"] > totals["store"]["requests"] > 0


def test_naive_threads_have_the_elements_that_the_document_prints() -> None:
    """ks (address above), by printf: "Thread 31 ... C[31][0]", "Thread 32 ... C[0][1]"."""
    launch = kernels.get("explore-gemm.naive").launch(SIZE, SIZE, SIZE)
    out = launch.sites[-1]
    assert isinstance(out, GlobalSite)
    assert elements(out, (0, 1, 31, 32, 63), {"bx": 0, "by": 0}) == {
        0: [(0, 0)], 1: [(1, 0)], 31: [(31, 0)], 32: [(0, 1)], 63: [(31, 1)]
    }  # fmt: skip


def test_coalescing_swaps_32_sectors_a_request_for_4() -> None:
    """ks (address above): scattered accesses of A "require a separate memory transaction" each."""
    per_request = {
        kernel: [site.sectors_per_request for site in report(kernel).sites]
        for kernel in ("naive", "coalesced")
    }
    assert per_request == {"naive": [32, 1, 32, 32], "coalesced": [1, 4, 4, 4]}


def test_2d_kernel_stores_4_of_the_32_bytes_of_a_sector() -> None:
    """ks (address above), profiler: "only 4.0 of the 32 bytes transmitted per sector"."""
    stores = report("2d").global_totals()["store"]
    assert 32 * 4 * stores["requests"] / stores["sectors"] == 4.0


@pytest.mark.parametrize(
    ("kernel", "threads", "shared_bytes"),
    [("shared", 1024, 8192), ("1d", 512, 4096), ("2d", 64, 4096), ("warptiling", 128, 16384)],
)
def test_blocks_are_as_the_document_says(kernel: str, threads: int, shared_bytes: int) -> None:
    """ks (address above): "1024 threads per block", "Total: 8 KB per block", "512 threads",
    "64 threads per block", "4 warps * 32 threads/warp = 128 threads".
    """  # fmt: skip
    launch = kernels.get(f"explore-gemm.{kernel}").launch(
        SIZE, SIZE, SIZE, **kernels.get(f"explore-gemm.{kernel}").parameters
    )
    assert (launch.threads, launch.shared_bytes) == (threads, shared_bytes)


def test_default_warp_tiling_has_one_turn_along_m() -> None:
    """ks (address above): WMITER = WM·WN / (32·TM·TN·WNITER), which is 1 (its comment says 2)."""
    launch = kernels.get("explore-gemm.warptiling").launch(SIZE, SIZE, SIZE)
    out = launch.sites[-1]
    assert (out.loops["sub_m"], out.loops["sub_n"]) == (1, 4)


def test_16_bit_stores_of_a_collide_where_32_bit_ones_do() -> None:
    """Worked by hand from the listings of ks (address above).

    half: the BK / 2 = 8 values of inner_col_a store 2·128 halves, 512 bytes, apart: in one bank,
    so 8 wavefronts. float: its 4 values store 4·128 floats apart, in one bank too: 4 wavefronts.
    """
    half, single = (
        next(site for site in report(kernel).sites if site.source.startswith("tile_a[(inner"))
        for kernel in ("half", "warptiling")
    )
    assert (half.op, half.wavefronts / half.requests) == ("STS.U16", 8)
    assert (single.op, single.wavefronts / single.requests) == ("STS", 4)


# Bad input


@pytest.mark.parametrize("kernel", ["2d", "vectorized", "warptiling", "half"])
@pytest.mark.parametrize("size", ["m", "n", "k"])
def test_kernels_without_bounds_checks_refuse_partial_tiles(kernel: str, size: str) -> None:
    sizes = {"m": 256, "n": 256, "k": 256, size: 250}
    with pytest.raises(KernelError, match=f"{size} = 250 is not a multiple of block_{size}"):
        replay(f"explore-gemm.{kernel}", m=sizes["m"], n=sizes["n"], k=sizes["k"])


@pytest.mark.parametrize(
    ("kernel", "covered"),
    [
        ("naive", (128, 96, 50)),
        ("coalesced", (128, 96, 50)),
        ("shared", (128, 96, 64)),
        ("1d", (128, 128, 56)),
    ],
)
def test_kernels_with_bounds_checks_take_any_size(
    kernel: str, covered: tuple[int, int, int]
) -> None:
    m, n, k = covered
    whole = replay(f"explore-gemm.{kernel}", m=m, n=n, k=k)
    part = replay(f"explore-gemm.{kernel}", m=100, n=70, k=50)
    assert part.totals() == whole.totals()  # zeros are stored where the matrix ends
    assert part.global_totals()["all"]["requests"] < whole.global_totals()["all"]["requests"]


@pytest.mark.parametrize(
    ("kernel", "parameters", "message"),
    [
        ("1d", {"thread_m": 7}, "thread_m = 7 does not divide block_m = 64"),
        ("1d", {"block_n": 128}, "1024 threads .* the tiles have 512 and 1024"),
        ("2d", {"thread_n": 5}, "thread_n = 5 does not divide block_n = 64"),
        (
            "2d",
            {"block_k": 3, "thread_m": 4},
            "192 does not hold whole loads by all 128",
        ),
        ("vectorized", {"block_k": 6}, r"block_k = 6 does not hold .*accepted: multiples of 4\)"),
        ("vectorized", {"block_m": 64}, "128 threads load 4 elements"),
        ("warptiling", {"threads": 256}, r"threads = 256 for 2x2 warp tiles \(accepted: 128\)"),
        ("warptiling", {"warp_m": 48}, r"does not divide warp_m \* warp_n = 3072"),
        (
            "warptiling",
            {"thread_n": 2, "thread_m": 16},
            "thread_n = 2 does not hold",
        ),
        ("half", {"element": 4}, "explore-gemm.half has no parameter 'element'"),
        ("half", {"block_k": 1}, "block_k = 1 does not hold whole vectors of 2"),
    ],
)
def test_tiles_that_the_kernel_cannot_have_are_refused(
    kernel: str, parameters: dict[str, int], message: str
) -> None:
    with pytest.raises(KernelError, match=message):
        report(kernel, **parameters)
