"""Figures that the documents print for their kernels, replayed to the digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layouts import Layout
from simulator import BankwiseError, count, kernels, replay
from simulator.kernels import illustrated

SIZE = {"m": 4096, "n": 4096, "k": 4096}


def conflicts(name: str) -> tuple[int, int]:
    totals = replay(name, **SIZE).totals()
    return totals["load"]["bank_conflicts"], totals["store"]["bank_conflicts"]


# junstar92, Optimizing a Matmul Kernel (in Korean), kernel 5: profiler counters on an
# RTX 3080, M = N = K = 4096. https://github.com/junstar92/nvidia-libraries-study


def test_junstar92_2d_conflicts() -> None:
    assert conflicts("junstar92.2d") == (402_653_184, 100_663_296)


def test_junstar92_vectorized_conflicts() -> None:
    assert conflicts("junstar92.vectorized") == (268_435_456, 33_554_432)


@pytest.mark.parametrize(
    ("name", "counted"), [("smem", (0, 34_046_671)), ("1d", (78_468, 7_390_414))]
)
def test_junstar92_smem_and_1d_have_none_and_the_counters_show_noise(
    name: str, counted: tuple[int, int]
) -> None:
    assert conflicts(f"junstar92.{name}") == (0, 0)
    totals = replay(f"junstar92.{name}", **SIZE).totals()
    # Noise is no multiple of the stores, as a conflict in each would be; nor is it one each.
    for kind, noise in zip(("load", "store"), counted, strict=True):
        assert noise < totals[kind]["requests"] / 3
        assert noise == 0 or noise % (SIZE["m"] // 64) ** 2


def test_junstar92_counters_come_out_only_where_phases_fuse() -> None:
    totals = replay("junstar92.2d", rule="documented", **SIZE).totals()
    assert totals["load"]["bank_conflicts"] == 268_435_456  # not the 402,653,184 counted


def test_junstar92_warp_tiling_with_padding_has_no_conflicts() -> None:
    assert conflicts("junstar92.warptiling") == (0, 0)
    without = replay("junstar92.warptiling", padding=0, **SIZE).totals()
    assert without["load"]["bank_conflicts"] == 0
    assert without["store"]["bank_conflicts"] > 0  # what the padding is for


# The same document, "Memory Access Per A Element" of kernels 2 to 4, K elements deep.


@pytest.mark.parametrize(
    ("name", "from_global", "from_shared"),
    [
        ("smem", SIZE["k"] // 16, 2 * SIZE["k"]),
        ("1d", SIZE["k"] // 32, SIZE["k"] * 9 // 8),
        ("2d", SIZE["k"] // 32, SIZE["k"] // 4),
    ],
)
def test_junstar92_loads_per_element(name: str, from_global: int, from_shared: int) -> None:
    report = replay(f"junstar92.{name}", form="written", **SIZE)
    of_c = [site for site in report.sites if site.source.startswith("C[") and site.kind == "load"]
    loads = report.global_totals()["load"]["requests"] - sum(site.requests for site in of_c)
    elements = SIZE["m"] * SIZE["n"]
    assert 32 * loads == from_global * elements
    assert 32 * report.totals()["load"]["requests"] == from_shared * elements


# Lei Mao, CUDA Matrix Multiplication Optimization: v00 reads A and C uncoalesced and broadcasts
# B, v01 reads B and C coalesced and broadcasts A.
# https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/


@pytest.mark.parametrize(
    ("name", "sectors"), [("leimao.v00", (32, 1, 32, 32)), ("leimao.v01", (1, 4, 4, 4))]
)
def test_leimao_coalescing(name: str, sectors: tuple[int, ...]) -> None:
    report = replay(name, **SIZE)
    assert tuple(site.sectors_per_request for site in report.sites) == sectors


# The same document, after v02 to v04: shared memory reads for one element of C and one k tile.


def test_leimao_shared_reads_per_element() -> None:
    def reads(name: str, tile: int) -> float:
        report = replay(name, form="written", **SIZE)
        lanes = 32 * report.totals()["load"]["requests"]
        return lanes / (SIZE["m"] * SIZE["n"] * SIZE["k"] / tile)

    assert reads("leimao.v02", 32) == 2 * 32  # 2 d_bk
    assert reads("leimao.v03", 8) == 8 + 8 / 8  # d_bk + d_bk / d_tm
    assert reads("leimao.v04", 16) == 16 / 8 + 16 / 8  # d_bk / d_tn + d_bk / d_tm


# The same document, v07: "the skew size is used to avoid bank conflicts". By 16 it halves them
# only to 2-way (as counted on an H200); by 8 they are gone.


@pytest.mark.parametrize(("skew", "ways"), [(0, 8), (16, 2), (8, 1)])
def test_leimao_skew(skew: int, ways: int) -> None:
    report = replay("leimao.v07", pad_m=skew, pad_n=skew, **SIZE)
    loads = report.totals()["load"]
    assert loads["wavefronts"] == ways * loads["ideal"]


def test_leimao_unskewed_is_v07_with_no_pads() -> None:
    plain = replay("leimao.v07", pad_m=0, pad_n=0, **SIZE)
    assert replay("leimao.v07_unskewed", **SIZE).totals() == plain.totals()


# 猛猿, 从啥也不会到CUDA GEMM优化, chapters 2 and 3: reads from global memory, 2MNK and
# MNK(1/Bm + 1/Bn), for 512×512×512. https://zhuanlan.zhihu.com/p/703256080


def test_illustrated_global_reads() -> None:
    size = {"m": 512, "n": 512, "k": 512}
    naive = replay("illustrated.naive", **size).global_totals()["load"]["requests"]
    assert 32 * naive == 2 * 512**3
    tiled = replay("illustrated.v1", **size).global_totals()["load"]["requests"]
    assert 4 * 32 * tiled == 512**3 * 2 // 128


# The same tutorial, chapter 5.2. It counts memory transactions by the published phases.


def transactions(name: str, source: str) -> float:
    report = replay(name, rule="documented", **SIZE)
    (site,) = [s for s in report.sites if s.source.startswith(source) and s.evidence[0] == "a"]
    return site.wavefronts / site.requests


def test_illustrated_2x16_has_conflicts_along_b_and_a() -> None:
    assert transactions("illustrated.layout_2x16", "subB[colC") == 4 * 2  # each quarter: 2
    assert transactions("illustrated.layout_2x16", "s_a[comp_a_smem_m]") == 2  # lanes 0 and 16


@pytest.mark.parametrize("name", ["layout_4x8", "layout_2x16_split", "warp_tile"])
def test_illustrated_remedies_have_none(name: str) -> None:
    assert transactions(f"illustrated.{name}", "subB[colC") == 4  # one a quarter
    assert transactions(f"illustrated.{name}", "subA[rowC") == 4


def test_illustrated_2x16_transposed_mends_a_only() -> None:
    report = replay("illustrated.layout_2x16", transposed=True, rule="documented", **SIZE)
    loads = {site.source[:4]: site for site in report.sites if site.op == "LDS.128"}
    assert loads["subA"].bank_conflicts == 0
    assert loads["subB"].bank_conflicts > 0


def test_illustrated_thread_18_of_v1_and_of_the_warp_tile_kernel() -> None:
    # Its comments: tid 18 stores s_a from (9, 0) and s_b from (0, 72); its C tile in the warp
    # tile kernel starts at (16, 32).
    (_, store_a, _, store_b, *_) = kernels.get("illustrated.v1").launch(512, 512, 512).sites
    assert divmod(store_a.index(tid=18), 8) == (9, 0)
    assert divmod(store_b.index(tid=18), 128) == (0, 72)
    *_, store_c = kernels.get("illustrated.warp_tile").launch(512, 512, 512).sites
    assert store_c.row(by=0, warp=0, lane=18, i=0) == 16
    assert store_c.col(bx=0, warp=0, lane=18, j=0) == 32


def test_illustrated_compilers_loads_are_apart() -> None:
    written = replay("illustrated.warp_tile", form="written", **SIZE)
    compiled = replay("illustrated.warp_tile", **SIZE)
    extra = [site for site in compiled.sites if site.evidence == illustrated.RELOAD]
    assert [site.op for site in extra] == ["LDS", "LDS"]
    difference = compiled.totals()["load"]["requests"] - written.totals()["load"]["requests"]
    assert difference == sum(site.requests for site in extra)
    assert not [site for site in written.sites if site.evidence == illustrated.RELOAD]


# Bloonow, GEMM矩阵乘法和CUTLASS模板库, https://github.com/Bloonow/MyNotes:
# with lanes in "Z" order each LDS.128 takes two transactions, an STS.128 four, and
# n_sts = n_ldg = (128 + 128) · 8 / 256 = 8.


def test_cutlass_notes_fragment_loads_take_two_wavefronts() -> None:
    report = replay("cutlass-notes.sgemm_128x128", **SIZE)
    loads = report.totals()["load"]
    assert loads["wavefronts"] == 2 * loads["requests"]
    rows = replay("cutlass-notes.sgemm_128x128", lane_order="row-major", **SIZE).totals()["load"]
    assert rows["wavefronts"] == 3 * loads["requests"]  # B's fragments no longer fuse


def test_cutlass_notes_stores_take_four_wavefronts_without_padding() -> None:
    # Its tiles are declared A_tile[2][K_tile][128]; it counts an STS.128 as 4 STS of 32 bits.
    report = replay("cutlass-notes.sgemm_128x128", **SIZE)
    assert report.parameters["pad_a"] == report.parameters["pad_b"] == 0
    stores = [site for site in report.sites if site.memory == "shared" and site.kind == "store"]
    assert {(site.op, site.wavefronts / site.requests) for site in stores} == {
        ("STS.128", 4),
        ("STS", 1),
    }
    assert report.totals()["store"]["bank_conflicts"] == 0


def test_cutlass_notes_memory_instructions_of_a_tile() -> None:
    # Ends of the K-Loop apart: 8 LDG of 32 bits, and 2 (8/4 + 8/4) · 8 wavefronts of LDS a tile.
    short = replay("cutlass-notes.sgemm_128x128", m=128, n=128, k=8)
    long = replay("cutlass-notes.sgemm_128x128", m=128, n=128, k=16)
    warps = 8
    ldg = long.global_totals()["load"]["requests"] - short.global_totals()["load"]["requests"]
    assert ldg == 8 * warps
    lds = long.totals()["load"]["wavefronts"] - short.totals()["load"]["wavefronts"]
    assert lds == 2 * (8 // 4 + 8 // 4) * 8 * warps


def test_sites_are_accesses_that_count_takes() -> None:
    (site,) = [
        site
        for site in kernels.get("junstar92.warptiling").launch(64, 64, 8).sites
        if site.source.startswith("a_smem[a_tb_idx_k]")
    ]
    addresses = [4 * site.index(tid=tid, i=0) for tid in range(32)]
    assert int(count("STS", addresses).wavefronts) == 1


# What a description assumes, it says: in the compiled form and in the written one.


@pytest.mark.parametrize("form", ["compiled", "written"])
@pytest.mark.parametrize(
    ("name", "sources", "why"),
    [
        ("cutlass-notes.sgemm_128x128", ("load_tile", "store_tile"), "draws in a figure"),
        ("leimao.v07", ("load_matrix_sync(a", "load_matrix_sync(b"), "points LDSM at"),
        ("leimao.v07", ("load_matrix_sync(c", "store_matrix_sync(&C"), "by pairs of fp16"),
    ],
)
def test_assumed_addresses_are_not_as_written(
    name: str, sources: tuple[str, ...], why: str, form: str
) -> None:
    for site in replay(name, form=form, **SIZE).sites:
        expected = site.source.startswith(sources)
        assert (why in site.evidence) == expected, site.source
        assert site.evidence.startswith("assumed: ") or not expected


@pytest.mark.parametrize("size", [32, 16])
def test_the_write_that_the_listing_stops_before_is_assumed_with_any_tile(size: int) -> None:
    # ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm
    sites = replay("explore-gemm.shared", block_size=size, **SIZE).sites
    of_c = [site.evidence for site in sites if site.source.startswith("matrix_c")]
    assert len(of_c) == 2
    for evidence in of_c:
        assert evidence.startswith("assumed: not in the listing, which stops before it")
        assert "the compiler's" not in evidence


# A kernel's layout may be said in any way that the language of layouts has.

CONTIGUOUS = (Layout((4, 8), (8, 1)), "(8,8):(8,1)")
SPLIT = ("(4,(4,2)):(4,(1,16))", Layout.parse("(8,(4,2)):(4,(1,32))"))


@pytest.mark.parametrize(
    "how",
    [
        {"warp": (4, 8)},
        {"warp": np.array([4, 8])},
        {"lane_order": (3, 4, 0, 1, 2)},
        {"lane_order": [lane % 4 * 8 + lane // 4 for lane in range(32)]},
        {"lane_order": np.arange(32) % 4 * 8 + np.arange(32) // 4},
        {"lane_order": Layout((4, 8), (8, 1))},
        {"lane_order": "(4,8):(8,1)"},
        {"fragment": ("contiguous", "contiguous")},
        {"fragment": CONTIGUOUS},
    ],
)
def test_layouts_in_every_form(how: dict[str, Any]) -> None:
    expected = replay("illustrated.layout_4x8", **SIZE)
    assert replay("illustrated.layout_4x8", **how, **SIZE).totals() == expected.totals()


def test_layouts_in_other_forms_are_other_layouts() -> None:
    rows = replay("illustrated.layout_4x8", lane_order=(0, 1, 2, 3, 4), **SIZE)
    named = replay("illustrated.layout_4x8", lane_order="row-major", **SIZE)
    assert rows.totals() == named.totals() != replay("illustrated.layout_4x8", **SIZE).totals()
    split = replay("cutlass-notes.sgemm_128x128", fragment=SPLIT, **SIZE)
    assert split.totals() == replay("cutlass-notes.sgemm_128x128", **SIZE).totals()
    whole = replay("cutlass-notes.sgemm_128x128", fragment=CONTIGUOUS, **SIZE)
    assert whole.totals() != split.totals()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"lane_order": (3, 4, 0, 1, 1)}, "is not a permutation of 0..31"),
        ({"lane_order": "zorder"}, "unknown lane order 'zorder': did you mean z-order"),
        ({"lane_order": 8}, "lane order 8 is not a permutation"),
        ({"warp": (4, 9)}, "has 36 lanes, a warp has 32"),
        ({"fragment": "halves"}, "unknown fragment 'halves'"),
        ({"fragment": ("split",) * 3}, r"accepted: one kind, or a pair: along m, along n"),
        ({"fragment": "(4,8):(8,1)"}, "is not .* for 8 threads of 8 elements"),
        ({"fragment": ("contiguous", "(8,8):(1,8)")}, "takes a thread's float4 apart"),
        ({"fragment": "split", "thread_n": 4, "block_n": 64}, "of thread_n = 4 takes a thread's"),
        (
            {"transposed": "yes"},
            r"transposed = 'yes' is not a truth value \(accepted: True, False\)",
        ),
        ({"transposed": 1}, "transposed = 1 is not a truth value"),
    ],
)
def test_layouts_that_cannot_be(how: dict[str, Any], message: str) -> None:
    with pytest.raises(BankwiseError, match=message):
        replay("illustrated.layout_4x8", **how, **SIZE)
