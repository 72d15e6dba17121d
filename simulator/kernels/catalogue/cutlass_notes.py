"""The double-buffered SGEMM of the CUTLASS notes: z-order lanes, split fragments.

Document: Bloonow, GEMM矩阵乘法和CUTLASS模板库 (GEMM and the CUTLASS template library; in Chinese),
https://github.com/Bloonow/MyNotes: its pseudo code `sgemm_128x128` and the chapter on thread
layouts for reading and writing global and shared memory.

The document draws its layouts in figures; its text fixes this much: 256 threads, 128×128×8 tiles in
two buffers, A transposed on its way, four floats of A and of B per thread. Fragments are two float4
by LDS.128 with lanes in "Z" order, so that each LDS.128 takes two wavefronts. The layouts of LDG
and STS are assumed here: for A, four rows of one column per thread (four LDG, one STS.128), the
lanes of a warp down that column; for B four columns 32 apart of one row. The tiles are declared
without padding, and an STS.128 is counted as four transactions: it takes four wavefronts where
lanes store next to each other, as with that layout. (Lanes along the rows of A would read its
sectors better, and without padding store 32-way.)
"""

from __future__ import annotations

import numpy as np

from layouts.warp import LaneOrder, WarpLayout
from simulator.kernels.catalogue.edges import LAYOUT_CHECKS, Fragments, float4_elements, kinds
from simulator.kernels.catalogue.matrices import packed
from simulator.kernels.sites import (
    Cycle,
    GlobalSite,
    Int,
    Kernel,
    Launch,
    SharedSite,
)
from simulator.kernels.sizes import require, whole_tiles

__all__ = ["KERNELS"]

_DOCUMENT = "Bloonow, GEMM矩阵乘法和CUTLASS模板库, https://github.com/Bloonow/MyNotes"
_IN_A_FIGURE = "assumed: a layout that the document draws in a figure and its text does not say"


def _sgemm(
    m: int,
    n: int,
    k: int,
    *,
    lane_order: LaneOrder = "z-order",
    fragment: Fragments = "split",
    pad_a: int = 0,
    pad_b: int = 0,
) -> Launch:
    require(
        pad_a % 4 == pad_b % 4 == 0,
        f"pad_a = {pad_a}, pad_b = {pad_b} would misalign float4 (accepted: multiples of 4)",
    )
    a, b, c = packed(m, n, k)
    a_ld, b_ld = 128 + pad_a, 128 + pad_b
    count = whole_tiles(k, 8, "k", "K_tile")
    tiles, stages = {"tile": count - 1}, {"stage": Cycle(count - 1, 2)}  # the K-Loop's turns

    at = np.array(WarpLayout.of("4x8", lane_order).coordinates)
    of_a, of_b = kinds(fragment)
    a_elements = float4_elements(4, 8, of_a, "M_frag")  # rows of a 32×64 warp tile
    b_elements = float4_elements(8, 8, of_b, "N_frag")  # its columns

    def row(warp: Int, lane: Int, e: Int) -> Int:
        return warp // 2 * 32 + a_elements[at[lane, 0], e]

    def col(warp: Int, lane: Int, e: Int) -> Int:
        return warp % 2 * 64 + b_elements[at[lane, 1], e]

    def a_row(by: Int, tid: Int, r: Int) -> Int:
        return by * 128 + tid % 32 * 4 + r

    def a_col(tid: Int) -> Int:
        return tid // 32

    def b_col(bx: Int, tid: Int, j: Int) -> Int:
        return bx * 128 + tid % 32 + 32 * j

    def to_a(buffer: Int, tid: Int) -> Int:
        return (buffer * 8 + tid // 32) * a_ld + tid % 32 * 4

    def to_b(buffer: Int, tid: Int, j: Int) -> Int:
        return (buffer * 8 + tid // 32) * b_ld + tid % 32 + 32 * j

    def from_a(buffer: Int, p: Int, warp: Int, lane: Int, v: Int) -> Int:
        return (buffer * 8 + p) * a_ld + row(warp, lane, 4 * v)

    def from_b(buffer: Int, p: Int, warp: Int, lane: Int, v: Int) -> Int:
        return (buffer * 8 + p) * b_ld + col(warp, lane, 4 * v)

    last = (count - 1) % 2
    a_next = "load_frag(A_tile[smem_ld_idx][(i + 1) % K_tile], ...)"
    b_next = "load_frag(B_tile[smem_ld_idx][(i + 1) % K_tile], ...)"
    halves, inner = {"v": 2}, {"i": 8, "v": 2}
    return Launch(
        (whole_tiles(n, 128, "n", "the block tile"), whole_tiles(m, 128, "m", "the block tile")),
        (256, 1),
        (
            # The first tile, and the first fragment.
            GlobalSite("load_tile(A_ptr, A_ldg_buffer), first", "load", a,
                       a_row, a_col, loops={"r": 4}, assumed=_IN_A_FIGURE),
            GlobalSite("load_tile(B_ptr, B_ldg_buffer), first", "load", b,
                       lambda tid: tid // 32, b_col, loops={"j": 4},
                       assumed=_IN_A_FIGURE),
            SharedSite("store_tile(A_ldg_buffer, A_tile[0])", "store",
                       lambda tid: to_a(0, tid), width=4, assumed=_IN_A_FIGURE),
            SharedSite("store_tile(B_ldg_buffer, B_tile[0])", "store",
                       lambda tid, j: to_b(0, tid, j), loops={"j": 4},
                       assumed=_IN_A_FIGURE),
            SharedSite("load_frag(A_tile[0][0], A_frag[0])", "load",
                       lambda warp, lane, v: from_a(0, 0, warp, lane, v), loops=halves, width=4),
            SharedSite("load_frag(B_tile[0][0], B_frag[0])", "load",
                       lambda warp, lane, v: from_b(0, 0, warp, lane, v), loops=halves, width=4),
            # The K-Loop: the next tile's loads, its stores, the next fragments.
            GlobalSite("load_tile(A_ptr, A_ldg_buffer)", "load", a,
                       a_row, lambda tile, tid: (tile + 1) * 8 + a_col(tid),
                       loops={"r": 4}, repeats=tiles, assumed=_IN_A_FIGURE),
            GlobalSite("load_tile(B_ptr, B_ldg_buffer)", "load", b,
                       lambda tile, tid: (tile + 1) * 8 + tid // 32, b_col,
                       loops={"j": 4}, repeats=tiles, assumed=_IN_A_FIGURE),
            SharedSite("store_tile(A_ldg_buffer, A_tile[smem_st_idx])", "store",
                       lambda stage, tid: to_a(1 - stage, tid), repeats=stages, width=4,
                       assumed=_IN_A_FIGURE),
            SharedSite("store_tile(B_ldg_buffer, B_tile[smem_st_idx])", "store",
                       lambda stage, tid, j: to_b(1 - stage, tid, j),
                       loops={"j": 4}, repeats=stages, assumed=_IN_A_FIGURE),
            # Before the last step the buffers change places.
            SharedSite(a_next, "load",
                       lambda stage, i, warp, lane, v: from_a(
                           (stage + (i + 1) // 8) % 2, (i + 1) % 8, warp, lane, v),
                       loops=inner, repeats=stages, width=4),
            SharedSite(b_next, "load",
                       lambda stage, i, warp, lane, v: from_b(
                           (stage + (i + 1) // 8) % 2, (i + 1) % 8, warp, lane, v),
                       loops=inner, repeats=stages, width=4),
            # The last tile. Its `if (i < K_tile)` always holds: the eighth fragment is for nobody.
            SharedSite(f"{a_next}, last tile", "load",
                       lambda i, warp, lane, v: from_a(last, i + 1, warp, lane, v),
                       loops={"i": 7, "v": 2}, width=4),
            SharedSite(f"{b_next}, last tile", "load",
                       lambda i, warp, lane, v: from_b(last, i + 1, warp, lane, v),
                       loops={"i": 7, "v": 2}, width=4),
            SharedSite(f"{a_next}, unused", "load",
                       lambda warp, lane, v: from_a(last, 0, warp, lane, v),
                       loops=halves, width=4, only="written"),
            SharedSite(f"{b_next}, unused", "load",
                       lambda warp, lane, v: from_b(last, 0, warp, lane, v),
                       loops=halves, width=4, only="written"),
            GlobalSite("store_result(C_ptr, C_frag)", "store", c,
                       lambda by, warp, lane, r: by * 128 + row(warp, lane, r),
                       lambda bx, warp, lane, v: bx * 128 + col(warp, lane, 4 * v),
                       loops={"r": 8, "v": 2}, width=4),
        ),
        shared_bytes=2 * 8 * 4 * (a_ld + b_ld),
    )  # fmt: skip


KERNELS = (
    Kernel(
        "cutlass-notes.sgemm_128x128", "double-buffered, z-order lanes, split fragments",
        _DOCUMENT, _sgemm, {}, {name: LAYOUT_CHECKS[name] for name in ("lane_order", "fragment")},
    ),
)  # fmt: skip
