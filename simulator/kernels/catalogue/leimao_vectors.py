"""Lei Mao's GEMM kernels v05 to v07: A transposed, vectors, warp tiles, tensor cores.

The document: `leimao` beside this. These are its `_vectorized` kernels; `vector=1` gives their
scalar stores, which its repository has too and which were counted on the H200 as well.
"""

from __future__ import annotations

from simulator.kernels.catalogue.leimao import DOCUMENT, H200, Sites, ThreadTiles, padded
from simulator.kernels.sites import GlobalSite, Int, Kernel, Launch, Matrix, SharedSite
from simulator.kernels.sizes import ceil_div, multiple, require, split, whole_tiles

__all__ = ["KERNELS"]

_LDSM_ROWS = "assumed: each lane points LDSM at the usual row of four 8x8 matrices"
_C_PAIRS = "assumed: accumulators in the usual places, read and written by pairs of fp16"


def _fill_transposed(
    matrices: tuple[Matrix, Matrix, Matrix],
    tile: tuple[int, int, int],
    threads: int,
    vector: int,
    pads: tuple[int, int] = (0, 0),
) -> Sites:
    """`load_data_to_shared_memory_transposed_vectorized`: A transposed, vectors of 16 bytes."""
    (a, b, _), (tile_m, tile_n, tile_k) = matrices, tile
    require(
        vector in (1, 16 // a.element),
        f"vector = {vector} elements (accepted: 1, {16 // a.element})",
    )
    k_vectors = multiple(tile_k, vector, "block_k", f"vectors of {vector}")
    n_vectors = multiple(tile_n, vector, "block_n", f"vectors of {vector}")
    a_ld, b_ld = tile_m + pads[0], tile_n + pads[1]
    # The kernel asserts this of both tiles: lanes read 16 bytes of either.
    wide = 16 // a.element
    multiple(a_ld, wide, "block_m + pad_m" if pads[0] else "block_m", f"vectors of {wide}")
    multiple(b_ld, wide, "block_n + pad_n" if pads[1] else "block_n", f"vectors of {wide}")
    a_loops = {"load": ceil_div(tile_m * k_vectors, threads)}
    b_loops = {"load": ceil_div(tile_k * n_vectors, threads)}
    tiles = {"tile": ceil_div(a.cols, tile_k)}

    def a_row(tid: Int, load: Int) -> Int:
        return (tid + load * threads) // k_vectors

    def a_col(tid: Int, load: Int) -> Int:
        return (tid + load * threads) % k_vectors * vector

    def b_row(tid: Int, load: Int) -> Int:
        return (tid + load * threads) // n_vectors

    def b_col(tid: Int, load: Int) -> Int:
        return (tid + load * threads) % n_vectors * vector

    # The tails of the last load: threads past the tile still read A and B, and store nothing.
    return (
        GlobalSite(
            "A[A_row_idx * lda + A_col_idx]", "load", a,
            lambda by, tid, load: by * tile_m + a_row(tid, load),
            lambda tile, tid, load: tile * tile_k + a_col(tid, load),
            loops=a_loops, repeats=tiles, width=vector, guarded=True,
        ),
        SharedSite(
            "A_thread_block_tile_transposed[A_thread_block_tile_col_idx + i]"
            "[A_thread_block_tile_row_idx]", "store",
            lambda tid, load, i: (a_col(tid, load) + i) * a_ld + a_row(tid, load),
            loops={**a_loops, "i": vector}, repeats=tiles, element=a.element,
            where=lambda tid, load: a_row(tid, load) < tile_m,
        ),
        GlobalSite(
            "B[B_row_idx * ldb + B_col_idx]", "load", b,
            lambda tile, tid, load: tile * tile_k + b_row(tid, load),
            lambda bx, tid, load: bx * tile_n + b_col(tid, load),
            loops=b_loops, repeats=tiles, width=vector, guarded=True,
        ),
        SharedSite(
            "B_thread_block_tile[B_thread_block_tile_row_idx][B_thread_block_tile_col_idx]",
            "store", lambda tid, load: b_row(tid, load) * b_ld + b_col(tid, load),
            loops=b_loops, repeats=tiles, element=a.element, width=vector,
            where=lambda tid, load: b_row(tid, load) < tile_k,
        ),
    )  # fmt: skip


def _v05(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 16,
    thread_m: int = 8,
    thread_n: int = 8,
    vector: int = 4,
) -> Launch:
    matrices = padded(m, n, k)
    own = ThreadTiles(block_m, block_n, thread_m, thread_n, vector)
    tiles = {"tile": ceil_div(k, block_k)}
    out = {"row": thread_m, "col": multiple(thread_n, vector, "thread_n", f"vectors of {vector}")}

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (own.threads, 1),
        (
            *_fill_transposed(matrices, (block_m, block_n, block_k), own.threads, vector),
            SharedSite(
                "A_thread_block_tile_transposed[k_i]"
                "[A_thread_block_tile_row_idx + thread_tile_row_idx]", "load",
                lambda tid, k_i, t: k_i * block_m + own.row(tid) + t,
                loops={"k_i": block_k, "t": thread_m}, repeats=tiles, merges="t", evidence=H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][B_thread_block_tile_col_idx"
                " + thread_tile_col_vector_idx * NUM_VECTOR_UNITS]", "load",
                lambda tid, k_i, v: k_i * block_n + own.col(tid) + vector * v,
                loops={"k_i": block_k, "v": thread_n // vector}, repeats=tiles, width=vector,
                merges="v", evidence=H200,
            ),
            # The vectorized kernel reads C before it checks the bounds, past the edge too.
            GlobalSite(
                c_source, "load", matrices[2], own.c_row, own.c_col,
                loops=out, width=vector,
                guarded=vector == 1, overruns=vector > 1,
            ),
            GlobalSite(
                c_source, "store", matrices[2], own.c_row, own.c_col,
                loops=out, width=vector, guarded=True,
            ),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _v06(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 16,
    warp_m: int = 64,
    warp_n: int = 32,
    thread_m: int = 8,
    thread_n: int = 8,
    lanes_m: int = 8,
    lanes_n: int = 4,
    vector: int = 4,
) -> Launch:
    require(lanes_m * lanes_n == 32, f"a warp of {lanes_m}x{lanes_n} lanes (accepted: 32 lanes)")
    warps_n = split(block_n, warp_n, "block_n", "warp_n")
    threads = 32 * split(block_m, warp_m, "block_m", "warp_m") * warps_n
    repeats_m = split(warp_m, thread_m * lanes_m, "warp_m", "thread_m * lanes_m")
    repeats_n = split(warp_n, thread_n * lanes_n, "warp_n", "thread_n * lanes_n")
    a_vectors = multiple(thread_m, vector, "thread_m", f"vectors of {vector}")
    b_vectors = multiple(thread_n, vector, "thread_n", f"vectors of {vector}")
    matrices = padded(m, n, k)
    tiles = {"tile": ceil_div(k, block_k)}
    out = {"i": repeats_m, "j": repeats_n, "row": thread_m, "v": b_vectors}

    def in_m(warp: Int, lane: Int, i: Int) -> Int:
        return warp // warps_n * warp_m + i * (warp_m // repeats_m) + lane // lanes_n * thread_m

    def in_n(warp: Int, lane: Int, j: Int) -> Int:
        return warp % warps_n * warp_n + j * (warp_n // repeats_n) + lane % lanes_n * thread_n

    def c_row(by: Int, warp: Int, lane: Int, i: Int, row: Int) -> Int:
        return by * block_m + in_m(warp, lane, i) + row

    def c_col(bx: Int, warp: Int, lane: Int, j: Int, v: Int) -> Int:
        return bx * block_n + in_n(warp, lane, j) + vector * v

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (threads, 1),
        (
            *_fill_transposed(matrices, (block_m, block_n, block_k), threads, vector),
            SharedSite(
                "A_thread_block_tile_transposed[k_i][A_thread_block_tile_row_idx"
                " + thread_tile_y_vector_idx * NUM_VECTOR_UNITS]", "load",
                lambda warp, lane, k_i, i, v: k_i * block_m + in_m(warp, lane, i) + vector * v,
                loops={"k_i": block_k, "i": repeats_m, "v": a_vectors}, repeats=tiles,
                width=vector, merges="v", evidence=H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][B_thread_block_tile_col_idx"
                " + thread_tile_x_vector_idx * NUM_VECTOR_UNITS]", "load",
                lambda warp, lane, k_i, j, v: k_i * block_n + in_n(warp, lane, j) + vector * v,
                loops={"k_i": block_k, "j": repeats_n, "v": b_vectors}, repeats=tiles,
                width=vector, merges="v", evidence=H200,
            ),
            GlobalSite(
                c_source, "load", matrices[2], c_row, c_col,
                loops=out, width=vector, guarded=True,
            ),
            GlobalSite(
                c_source, "store", matrices[2], c_row, c_col,
                loops=out, width=vector, guarded=True,
            ),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _v07(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 16,
    warp_m: int = 64,
    warp_n: int = 32,
    pad_m: int = 16,
    pad_n: int = 16,
    vector: int = 8,
) -> Launch:
    warps_n = split(block_n, warp_n, "block_n", "warp_n")
    threads = 32 * split(block_m, warp_m, "block_m", "warp_m") * warps_n
    fragments_m = multiple(warp_m, 16, "warp_m", "WMMA tiles of 16")
    fragments_n = multiple(warp_n, 16, "warp_n", "WMMA tiles of 16")
    fragments_k = multiple(block_k, 16, "block_k", "WMMA tiles of 16")
    # C is addressed with n as its leading dimension, and without a bounds check.
    grid = (whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m"))
    matrices = padded(m, n, k, element=2)
    c = Matrix(m, n, n, element=2)
    tiles = {"tile": ceil_div(k, block_k)}
    a_ld, b_ld = block_m + pad_m, block_n + pad_n
    walk = {"k_i": fragments_k, "i": fragments_m, "j": fragments_n}
    # An accumulator fragment: 8 elements per lane, in pairs, of 4 8×8 quarters.
    out = {"i": fragments_m, "j": fragments_n, "h": 2, "w": 2}

    def quarter(lane: Int) -> Int:
        """K coordinate, then m or n coordinate, of the 8 elements per lane points LDSM at."""
        return lane % 8 + lane // 8 % 2 * 8, lane // 16 * 8

    def a_at(warp: Int, lane: Int, k_i: Int, i: Int) -> Int:
        row, col = quarter(lane)
        return (k_i * 16 + row) * a_ld + warp // warps_n * warp_m + i * 16 + col

    def b_at(warp: Int, lane: Int, k_i: Int, j: Int) -> Int:
        row, col = quarter(lane)
        return (k_i * 16 + row) * b_ld + warp % warps_n * warp_n + j * 16 + col

    def c_row(by: Int, warp: Int, lane: Int, i: Int, h: Int) -> Int:
        return by * block_m + warp // warps_n * warp_m + i * 16 + lane // 4 + h * 8

    def c_col(bx: Int, warp: Int, lane: Int, j: Int, w: Int) -> Int:
        return bx * block_n + warp % warps_n * warp_n + j * 16 + lane % 4 * 2 + w * 8

    return Launch(
        grid,
        (threads, 1),
        (
            *_fill_transposed(
                matrices, (block_m, block_n, block_k), threads, vector, (pad_m, pad_n)
            ),
            SharedSite(
                "load_matrix_sync(a_frags[i], &A_thread_block_tile_transposed[k_i * 16][...])",
                "load", a_at, loops={"k_i": fragments_k, "i": fragments_m}, repeats=tiles,
                element=2, op="LDSM.16.MT88.4", assumed=_LDSM_ROWS,
            ),
            SharedSite(
                "load_matrix_sync(b_frags[j], &B_thread_block_tile[k_i * 16][...])", "load",
                b_at, loops=walk, repeats=tiles, element=2, op="LDSM.16.MT88.4",
                hoisted=("i",), evidence=H200, assumed=_LDSM_ROWS,
            ),
            GlobalSite(
                "load_matrix_sync(c_frag, &C[...], n)", "load", c, c_row, c_col,
                loops=out, width=2, assumed=_C_PAIRS,
            ),
            GlobalSite(
                "store_matrix_sync(&C[...], c_frag, n)", "store", c, c_row, c_col,
                loops=out, width=2, assumed=_C_PAIRS,
            ),
        ),
        shared_bytes=2 * block_k * (a_ld + b_ld),
    )  # fmt: skip


KERNELS = (
    Kernel("leimao.v05", "A transposed, vectors of 16 bytes", DOCUMENT, _v05),
    Kernel("leimao.v06", "64x32 warp tiles, 8x4 lanes", DOCUMENT, _v06),
    Kernel("leimao.v07", "fp16 on tensor cores (WMMA), skewed tiles", DOCUMENT, _v07),
    Kernel(
        "leimao.v07_unskewed", "the same without skew", DOCUMENT, _v07, {"pad_m": 0, "pad_n": 0}
    ),
)
