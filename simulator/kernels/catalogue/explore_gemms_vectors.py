"""The later kernels of ks, "Explore GEMMs - optimization journey": vectors, warp tiles, 16 bits.

The document, and what is known of its compiled forms: `simulator.kernels.catalogue.explore_gemms`.

The document's comment on its default warp tiling, "WMITER=2, WSUBM=32", is not what its formula
gives: 64·64 / (32·8·4·4) = 1, so WMITER is 1 and WSUBM 64, and the machine code reads 8 floats
of A for each k, not 16.

nvcc joins at most four neighbours, of two bytes too: the eight halves of A that a thread reads
are two LDS.64, not one LDS.128.
"""

from __future__ import annotations

from functools import partial
from math import gcd

from simulator.kernels.catalogue.explore_gemms import CODE, DOCUMENT, read_and_write, thread_tiles
from simulator.kernels.catalogue.matrices import packed
from simulator.kernels.sites import (
    GlobalSite,
    Int,
    Kernel,
    Launch,
    SharedSite,
)
from simulator.kernels.sizes import multiple, require, split, whole_tiles

__all__ = ["KERNELS"]

_VECTORS = {4: 4, 2: 2}
"""The document's vec_size by bytes of an element: float4, half2 and nv_bfloat162."""


def _vectorized(
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
    per_row, threads = thread_tiles(block_m, block_n, thread_m, thread_n)
    vectors_a = multiple(block_k, 4, "block_k", "vectors of 4")
    vectors_b = multiple(block_n, 4, "block_n", "vectors of 4")
    require(
        threads * 4 == block_m * block_k == block_k * block_n,
        f"{threads} threads load 4 elements of A and of B each, but the tiles have"
        f" {block_m * block_k} and {block_k * block_n} (accepted: block_m = block_n ="
        " thread_m · thread_n · block_k / 4)",
    )
    steps = {"step": whole_tiles(k, block_k, "k", "block_k")}
    a, b, c = packed(m, n, k)

    return Launch(
        grid=(whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m")),
        block=(threads, 1),
        shared_bytes=(block_m + block_n) * block_k * 4,
        sites=(
            GlobalSite(
                "matrix_a[inner_row_a * num_cols_a + inner_col_a * 4]", "load", a,
                lambda by, tid: by * block_m + tid // vectors_a,
                lambda step, tid: step * block_k + tid % vectors_a * 4,
                width=4, repeats=steps,
            ),
            SharedSite(
                "tile_a[(inner_col_a * 4 + i) * BM + inner_row_a]", "store",
                lambda tid, i: (tid % vectors_a * 4 + i) * block_m + tid // vectors_a,
                loops={"i": 4}, repeats=steps,
            ),
            GlobalSite(
                "matrix_b[inner_row_b * num_cols_b + inner_col_b * 4]", "load", b,
                lambda step, tid: step * block_k + tid // vectors_b,
                lambda bx, tid: bx * block_n + tid % vectors_b * 4,
                width=4, repeats=steps,
            ),
            SharedSite(
                "tile_b[inner_row_b * BN + inner_col_b * 4 + i]", "store",
                lambda tid, i: tid // vectors_b * block_n + tid % vectors_b * 4 + i,
                loops={"i": 4}, repeats=steps, merges="i", evidence=CODE,
            ),
            SharedSite(
                "tile_a[dot_idx * BM + thread_row * TM + i]", "load",
                lambda tid, dot, i: dot * block_m + tid // per_row * thread_m + i,
                loops={"dot": block_k, "i": thread_m}, repeats=steps,
                merges="i", evidence=CODE,
            ),
            SharedSite(
                "tile_b[dot_idx * BN + thread_col * TN + i]", "load",
                lambda tid, dot, i: dot * block_n + tid % per_row * thread_n + i,
                loops={"dot": block_k, "i": thread_n}, repeats=steps,
                merges="i", evidence=CODE,
            ),
            *read_and_write(
                "matrix_c[c_idx]", c,
                lambda by, tid, i: by * block_m + tid // per_row * thread_m + i,
                lambda bx, tid, j: bx * block_n + tid % per_row * thread_n + j,
                loops={"i": thread_m, "j": thread_n},
            ),
        ),
    )  # fmt: skip


def _warp_tiling(
    element: int,
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 16,
    warp_m: int = 64,
    warp_n: int = 64,
    warp_n_iter: int = 4,
    thread_m: int = 8,
    thread_n: int = 4,
    threads: int = 128,
) -> Launch:
    """Warp tiles in warp_m_iter × warp_n_iter parts; `element` is 4 bytes for float, 2 else."""
    vector = _VECTORS[element]
    warp_m_iter = split(
        warp_m * warp_n,
        32 * thread_m * thread_n * warp_n_iter,
        "warp_m * warp_n",
        "32 * thread_m * thread_n * warp_n_iter",
    )
    part_m = split(warp_m, warp_m_iter, "warp_m", "turns along m")
    part_n = split(warp_n, warp_n_iter, "warp_n", "warp_n_iter")
    split(part_m, thread_m, "rows of a part of the warp tile", "thread_m")
    lanes_n = split(part_n, thread_n, "columns of a part of the warp tile", "thread_n")
    warps_m = split(block_m, warp_m, "block_m", "warp_m")
    warps_n = split(block_n, warp_n, "block_n", "warp_n")
    require(
        threads == 32 * warps_m * warps_n,
        f"threads = {threads} for {warps_m}x{warps_n} warp tiles (accepted:"
        f" {32 * warps_m * warps_n})",
    )
    quads_n = multiple(thread_n, 4, "thread_n", "vectors of 4")
    vectors_a = multiple(block_k, vector, "block_k", f"vectors of {vector}")
    vectors_b = multiple(block_n, vector, "block_n", f"vectors of {vector}")
    row_stride_a = split(threads, vectors_a, "threads", "vectors along block_k")
    row_stride_b = split(threads, vectors_b, "threads", "vectors along block_n")
    loads_a = {"load": split(block_m, row_stride_a, "block_m", "rows loaded at once")}
    loads_b = {"load": split(block_k, row_stride_b, "block_k", "rows loaded at once")}
    steps = {"step": whole_tiles(k, block_k, "k", "block_k")}
    a, b, c = packed(m, n, k, element)

    joined_m = gcd(thread_m, 4)  # nvcc joins at most four: i is four * joined_m + i

    def row(by: Int, warp: Int, lane: Int, sub_m: Int, i: Int) -> Int:
        inside = warp // warps_n * warp_m + sub_m * part_m + lane // lanes_n * thread_m
        return by * block_m + inside + i

    def col(bx: Int, warp: Int, lane: Int, sub_n: Int, j: Int) -> Int:
        inside = warp % warps_n * warp_n + sub_n * part_n + lane % lanes_n * thread_n
        return bx * block_n + inside + j * 4

    update = {"sub_m": warp_m_iter, "sub_n": warp_n_iter, "i": thread_m, "j": quads_n}
    return Launch(
        grid=(whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m")),
        block=(threads, 1),
        shared_bytes=(block_m + block_n) * block_k * element,
        sites=(
            GlobalSite(
                f"matrix_a[(inner_row_a + offset) * num_cols_a + inner_col_a * {vector}]", "load",
                a, lambda by, tid, load: by * block_m + tid // vectors_a + load * row_stride_a,
                lambda step, tid: step * block_k + tid % vectors_a * vector, width=vector,
                loops=loads_a, repeats=steps,
            ),
            SharedSite(
                f"tile_a[(inner_col_a * {vector} + i) * BM + inner_row_a + offset]", "store",
                lambda tid, load, i: (tid % vectors_a * vector + i) * block_m
                + tid // vectors_a + load * row_stride_a,
                element=element, loops={**loads_a, "i": vector},
                repeats=steps,
            ),
            GlobalSite(
                f"matrix_b[(inner_row_b + offset) * num_cols_b + inner_col_b * {vector}]", "load",
                b, lambda step, tid, load: step * block_k + tid // vectors_b + load * row_stride_b,
                lambda bx, tid: bx * block_n + tid % vectors_b * vector, width=vector,
                loops=loads_b, repeats=steps,
            ),
            SharedSite(
                f"tile_b[(inner_row_b + offset) * BN + inner_col_b * {vector}]", "store",
                lambda tid, load: (tid // vectors_b + load * row_stride_b) * block_n
                + tid % vectors_b * vector,
                element=element, width=vector, loops=loads_b,
                repeats=steps,
            ),
            SharedSite(
                "tile_a[dot_idx * BM + warp_row * WM + wsub_row_idx * WSUBM"
                " + thread_row_in_warp * TM + i]", "load",
                lambda warp, lane, dot, sub_m, four, i: dot * block_m + warp // warps_n * warp_m
                + sub_m * part_m + lane // lanes_n * thread_m + four * joined_m + i,
                element=element, merges="i", repeats=steps, evidence=CODE,
                loops={
                    "dot": block_k, "sub_m": warp_m_iter,
                    "four": thread_m // joined_m, "i": joined_m,
                },
            ),
            SharedSite(
                "tile_b[dot_idx * BN + warp_col * WN + wsub_col_idx * WSUBN"
                " + thread_col_in_warp * TN + i]", "load",
                lambda warp, lane, dot, sub_n, four, i: dot * block_n + warp % warps_n * warp_n
                + sub_n * part_n + lane % lanes_n * thread_n + four * 4 + i,
                element=element, merges="i", repeats=steps, evidence=CODE,
                loops={"dot": block_k, "sub_n": warp_n_iter, "four": quads_n, "i": 4},
            ),
            *read_and_write(
                "matrix_c_interim[(thread_row_in_warp * TM + res_idx_m) * num_cols_b + ...]",
                c, row, col, width=4, loops=update,
            ),
        ),
    )  # fmt: skip


_FLOAT, _SIXTEEN_BITS = partial(_warp_tiling, 4), partial(_warp_tiling, 2)

KERNELS = (
    Kernel("explore-gemm.vectorized", "A transposed, float4 accesses", DOCUMENT, _vectorized),
    Kernel("explore-gemm.warptiling", "64x64 warp tiles, in four parts", DOCUMENT, _FLOAT),
    Kernel("explore-gemm.half", "the same, 16-bit input", DOCUMENT, _SIXTEEN_BITS),
    Kernel("explore-gemm.bfloat16", "the same as half", DOCUMENT, _SIXTEEN_BITS),
)
