"""The illustrated GEMM tutorial: naive, block tiles, and how a warp's shape makes conflicts.

Document: 猛猿, 从啥也不会到CUDA GEMM优化 (from nothing to CUDA GEMM optimization; Chinese),
https://zhuanlan.zhihu.com/p/703256080. Its naive kernel is from
https://github.com/ifromeast/cuda_learning (03_gemm/sgemm_naive.cu), its warp-tile kernel is
https://github.com/AyakaGEMM/Hands-on-GEMM/blob/main/src/cuda/warp_tile_gemm.cu

Chapter 5.2 compares three thread layouts of the 16×16 block: 2×16 lanes with contiguous 8×8
tiles, 4×8 lanes, and 2×16 lanes with each tile split into four 4×4. It draws them over the
tiles that V1 fills; `layout_2x16` leaves A as V1 stores it, the other two transpose it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layouts.fragment import fragment_elements
from layouts.shapes import Shape
from layouts.warp import LaneOrder, WarpLayout
from simulator.kernels.catalogue.edges import LAYOUT_CHECKS, Fragments, float4_elements, kinds
from simulator.kernels.catalogue.matrices import inner_product, packed
from simulator.kernels.sites import (
    GlobalSite,
    Int,
    Kernel,
    Launch,
    Matrix,
    SharedSite,
)
from simulator.kernels.sizes import ceil_div, multiple, require, split, whole_tiles

__all__ = ["KERNELS", "RELOAD"]

_DOCUMENT = "猛猿, 从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080"
RELOAD = (
    "the compiler's: nvcc 13.0 for sm_90, counted on an H200; one float of the fragment read again,"
    " once a k tile, beside the 32 LDS.128"
)


def _naive(m: int, n: int, k: int, *, block_m: int = 32, block_n: int = 32) -> Launch:
    a, b, c = packed(m, n, k)

    def row(by: Int, ty: Int) -> Int:
        return by * block_m + ty

    def col(bx: Int, tx: Int) -> Int:
        return bx * block_n + tx

    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (block_n, block_m),
        (
            *inner_product(a, b, row, col, ("a[OFFSET(m, k, K)]", "b[OFFSET(k, n, N)]")),
            GlobalSite("c[OFFSET(m, n, N)]", "store", c, row, col, guarded=True),
        ),
    )


def _fill(
    a: Matrix, b: Matrix, tile: tuple[int, int, int], threads: int, transposed: bool
) -> tuple[SharedSite | GlobalSite, ...]:
    """Fill both tiles with one float4 a thread each, A as it is or transposed."""
    tile_m, tile_n, tile_k = tile
    k_vectors = multiple(tile_k, 4, "tile_k", "vectors of 4")
    n_vectors = multiple(tile_n, 4, "tile_n", "vectors of 4")
    require(
        tile_m == tile_n and tile_m * tile_k == 4 * threads,
        f"{threads} threads with a float4 each for tiles {tile_m}x{tile_k} and {tile_k}x{tile_n}"
        f" (accepted: block_m = block_n, block_m * block_k = {4 * threads})",
    )
    tiles = {"bk": a.cols // tile_k}

    def whole(tid: Int) -> Int:
        return tid // k_vectors * tile_k + tid % k_vectors * 4

    def turned(tid: Int, j: Int) -> Int:
        return tid // k_vectors + (tid % k_vectors * 4 + j) * tile_m

    store_a = (
        SharedSite("subA[rowA + (colA + j) * BLOCK_M]", "store", turned,
                   loops={"j": 4}, repeats=tiles)
        if transposed
        else SharedSite("FLOAT4(s_a[load_a_smem_m][load_a_smem_k])", "store", whole,
                        repeats=tiles, width=4)
    )  # fmt: skip
    return (
        GlobalSite(
            "a[load_a_gmem_addr]", "load", a,
            lambda by, tid: by * tile_m + tid // k_vectors,
            lambda bk, tid: bk * tile_k + tid % k_vectors * 4,
            repeats=tiles, width=4,
        ),
        store_a,
        GlobalSite(
            "b[load_b_gmem_addr]", "load", b,
            lambda bk, tid: bk * tile_k + tid // n_vectors,
            lambda bx, tid: bx * tile_n + tid % n_vectors * 4,
            repeats=tiles, width=4,
        ),
        SharedSite(
            "FLOAT4(s_b[load_b_smem_k][load_b_smem_n])", "store",
            lambda tid: tid // n_vectors * tile_n + tid % n_vectors * 4,
            repeats=tiles, width=4,
        ),
    )  # fmt: skip


def _v1(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 8,
    thread_m: int = 8,
    thread_n: int = 8,
) -> Launch:
    a, b, c = packed(m, n, k)
    rows = split(block_m, thread_m, "block_m", "thread_m")
    cols = split(block_n, thread_n, "block_n", "thread_n")
    tiles = {"bk": whole_tiles(k, block_k, "k", "block_k")}
    inner = {"k": block_k, "m": thread_m, "n": thread_n}
    return Launch(
        (whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m")),
        (cols, rows),
        (
            *_fill(a, b, (block_m, block_n, block_k), rows * cols, transposed=False),
            SharedSite(
                "s_a[comp_a_smem_m][k]", "load",
                lambda ty, k, m: (ty * thread_m + m) * block_k + k,
                loops=inner, repeats=tiles, hoisted=("n",), merges="k",
            ),
            SharedSite(
                "s_b[k][comp_b_smem_n]", "load",
                lambda tx, k, n: k * block_n + tx * thread_n + n,
                loops=inner, repeats=tiles, hoisted=("m",), merges="n",
            ),
            GlobalSite(
                "FLOAT4(c[store_c_gmem_addr])", "store", c,
                lambda by, ty, i: by * block_m + ty * thread_m + i,
                lambda bx, tx, j: bx * block_n + tx * thread_n + 4 * j,
                loops={"i": thread_m, "j": multiple(thread_n, 4, "thread_n", "vectors of 4")},
                width=4,
            ),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _layout(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 8,
    thread_m: int = 8,
    thread_n: int = 8,
    warp: Shape = "2x16",
    lane_order: LaneOrder = "row-major",
    fragment: Fragments = "contiguous",
    transposed: bool = True,
) -> Launch:
    a, b, c = packed(m, n, k)
    lanes = WarpLayout.of(warp, lane_order)
    warp_m, warp_n = lanes.rows * thread_m, lanes.cols * thread_n
    across = split(block_n, warp_n, "block_n", "the warp tile along n")
    warps = split(block_m, warp_m, "block_m", "the warp tile along m") * across
    vectors = {
        "m": multiple(thread_m, 4, "thread_m", "vectors of 4"),
        "n": multiple(thread_n, 4, "thread_n", "vectors of 4"),
    }
    in_warp = np.array(lanes.coordinates)
    along_m, along_n = kinds(fragment)
    elements_m = (
        float4_elements(lanes.rows, thread_m, along_m, "thread_m")
        if transposed
        else np.array(fragment_elements(lanes.rows, thread_m, along_m))
    )
    elements_n = float4_elements(lanes.cols, thread_n, along_n, "thread_n")

    def row(warp: Int, lane: Int, i: Int) -> Int:
        return warp // across * warp_m + elements_m[in_warp[lane, 0], i]

    def col(warp: Int, lane: Int, j: Int) -> Int:
        return warp % across * warp_n + elements_n[in_warp[lane, 1], 4 * j]

    tiles = {"bk": whole_tiles(k, block_k, "k", "block_k")}
    read_a = (
        SharedSite(
            "subA[rowC + 4 * i + ii * BLOCK_M]", "load",
            lambda warp, lane, ii, i: row(warp, lane, 4 * i) + ii * block_m,
            loops={"ii": block_k, "i": vectors["m"]}, repeats=tiles, width=4,
        )
        if transposed
        else SharedSite(
            "s_a[comp_a_smem_m][k]", "load",
            lambda warp, lane, k, m: row(warp, lane, m) * block_k + k,
            loops={"k": block_k, "m": thread_m}, repeats=tiles,
        )
    )  # fmt: skip
    return Launch(
        (whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m")),
        (split(block_n, thread_n, "block_n", "thread_n"), block_m // thread_m),
        (
            *_fill(a, b, (block_m, block_n, block_k), 32 * warps, transposed),
            read_a,
            SharedSite(
                "subB[colC + 4 * j + ii * BLOCK_N]", "load",
                lambda warp, lane, ii, j: col(warp, lane, j) + ii * block_n,
                loops={"ii": block_k, "j": vectors["n"]}, repeats=tiles, width=4,
            ),
            GlobalSite(
                "baseC[i * N + j]", "store", c,
                lambda by, warp, lane, i: by * block_m + row(warp, lane, i),
                lambda bx, warp, lane, j: bx * block_n + col(warp, lane, j),
                loops={"i": thread_m, "j": vectors["n"]}, width=4,
            ),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _warp_tile(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 8,
    thread_m: int = 8,
    thread_n: int = 8,
) -> Launch:
    require(
        m == n,
        f"m = {m}, n = {n}: the document launches M / BLOCK_M blocks along x, which its kernel"
        " takes for columns (accepted: m = n)",
    )
    tiled = _layout(
        m, n, k, block_m=block_m, block_n=block_n, block_k=block_k, thread_m=thread_m,
        thread_n=thread_n, warp="4x8", lane_order="col-major",
    )  # fmt: skip
    store_c = tiled.sites[-1]
    tiles = {"bk": k // block_k}
    across = block_n // (8 * thread_n)
    return replace(
        tiled,
        sites=(
            *tiled.sites[:-1],
            SharedSite(
                "subA[rowC + ii * BLOCK_M], one float again", "load",
                lambda warp, lane: (warp // across * 4 + lane % 4) * thread_m,
                repeats=tiles, only="compiled", evidence=RELOAD,
            ),
            SharedSite(
                "subB[colC + ii * BLOCK_N], one float again", "load",
                lambda warp, lane: (warp % across * 8 + lane // 4) * thread_n,
                repeats=tiles, only="compiled", evidence=RELOAD,
            ),
            replace(store_c, kind="load"),
            store_c,
        ),
    )  # fmt: skip


_4X8 = {"warp": "4x8", "lane_order": "col-major"}

KERNELS = (
    Kernel("illustrated.naive", "one element of C a thread", _DOCUMENT, _naive),
    Kernel("illustrated.v1", "128x128 block tiles, 8x8 elements per thread", _DOCUMENT, _v1),
    Kernel(
        "illustrated.layout_2x16", "chapter 5.2 (1): 2x16 lanes, A as V1 stores it", _DOCUMENT,
        _layout, {"transposed": False}, LAYOUT_CHECKS,
    ),
    Kernel(
        "illustrated.layout_4x8", "chapter 5.2 (2): 4x8 lanes, A transposed", _DOCUMENT,
        _layout, _4X8, LAYOUT_CHECKS,
    ),
    Kernel(
        "illustrated.layout_2x16_split", "chapter 5.2 (3): 2x16 lanes, 8x8 split into 4x4",
        _DOCUMENT, _layout, {"fragment": "split"}, LAYOUT_CHECKS,
    ),
    Kernel("illustrated.warp_tile", "chapter 5.2 (5): the 4x8 kernel", _DOCUMENT, _warp_tile),
)  # fmt: skip
