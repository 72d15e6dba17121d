"""Lei Mao's GEMM kernels v00 to v07: from uncoalesced to tensor cores.

Document: Lei Mao, "CUDA Matrix Multiplication Optimization", on an RTX 3090 (sm_86).
https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/

The document counts tiles as X (columns, n here) and Y (rows, m). Rows of all matrices are
padded to 64 bytes (fp32) or 32 bytes (fp16) in global memory. v05 to v07 are the document's
`_vectorized` kernels; `vector=1` gives their scalar stores, which its repository has too and
which were counted on the H200 as well.
"""

from __future__ import annotations

from simulator.sites import (
    GlobalSite,
    Int,
    Kernel,
    Launch,
    Matrix,
    SharedSite,
    covering,
    divides,
    dividing,
    require,
)

__all__ = ["KERNELS"]

_DOCUMENT = (
    "Lei Mao, CUDA Matrix Multiplication Optimization,"
    " https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/"
)
_H200 = "nvcc 13.0 for sm_90, counted on an H200"

Sites = tuple[SharedSite | GlobalSite, ...]


def _matrices(m: int, n: int, k: int, element: int = 4) -> tuple[Matrix, Matrix, Matrix]:
    """Pad the rows of A, B and C to 16 elements: 64 bytes of fp32, 32 bytes of fp16."""

    def padded(rows: int, cols: int) -> Matrix:
        return Matrix(rows, cols, 16 * covering(cols, 16), element)

    return padded(m, k), padded(k, n), padded(m, n)


def _naive(m: int, n: int, k: int, block_x: int, block_y: int, rows_along_x: bool) -> Launch:
    a, b, c = _matrices(m, n, k)

    def along_x(bx: Int, tx: Int) -> Int:
        return bx * block_x + tx

    def along_y(by: Int, ty: Int) -> Int:
        return by * block_y + ty

    def k_idx(k_idx: Int) -> Int:
        return k_idx

    row, col = (along_x, along_y) if rows_along_x else (along_y, along_x)
    inside = ((row, m), (col, n))  # one check, around everything
    turns = {"k_idx": k}
    c_source = "C[C_row_idx * ldc + C_col_idx]"
    along = (m, n) if rows_along_x else (n, m)
    return Launch(
        (covering(along[0], block_x), covering(along[1], block_y)),
        (block_x, block_y),
        (
            GlobalSite(
                "A[C_row_idx * lda + k_idx]", "load", a, row, k_idx, repeats=turns, bounds=inside
            ),
            GlobalSite(
                "B[k_idx * ldb + C_col_idx]", "load", b, k_idx, col, repeats=turns, bounds=inside
            ),
            GlobalSite(c_source, "load", c, row, col, guarded=True),
            GlobalSite(c_source, "store", c, row, col, guarded=True),
        ),
    )


def _v00(m: int, n: int, k: int, *, block_x: int = 32, block_y: int = 32) -> Launch:
    return _naive(m, n, k, block_x, block_y, rows_along_x=True)


def _v01(m: int, n: int, k: int, *, block_x: int = 32, block_y: int = 32) -> Launch:
    return _naive(m, n, k, block_x, block_y, rows_along_x=False)


def _fill(
    matrices: tuple[Matrix, Matrix, Matrix], tile: tuple[int, int, int], threads: int
) -> Sites:
    """`load_data_to_shared_memory`: both tiles as they are, element by element."""
    (a, b, _), (tile_m, tile_n, tile_k) = matrices, tile
    a_loops = {"load": divides(threads, tile_m * tile_k, "threads in the tile of A")}
    b_loops = {"load": divides(threads, tile_n * tile_k, "threads in the tile of B")}
    tiles = {"tile": covering(a.cols, tile_k)}

    def at(tid: Int, load: Int) -> Int:
        return tid + load * threads

    return (
        GlobalSite(
            "A[A_row_idx * lda + A_col_idx]", "load", a,
            lambda by, tid, load: by * tile_m + at(tid, load) // tile_k,
            lambda tile, tid, load: tile * tile_k + at(tid, load) % tile_k,
            loops=a_loops, repeats=tiles, guarded=True,
        ),
        SharedSite(
            "A_thread_block_tile[A_thread_block_tile_row_idx][A_thread_block_tile_col_idx]",
            "store", at, loops=a_loops, repeats=tiles,
        ),
        GlobalSite(
            "B[B_row_idx * ldb + B_col_idx]", "load", b,
            lambda tile, tid, load: tile * tile_k + at(tid, load) // tile_n,
            lambda bx, tid, load: bx * tile_n + at(tid, load) % tile_n,
            loops=b_loops, repeats=tiles, guarded=True,
        ),
        SharedSite(
            "B_thread_block_tile[B_thread_block_tile_row_idx][B_thread_block_tile_col_idx]",
            "store", at, loops=b_loops, repeats=tiles,
        ),
    )  # fmt: skip


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
    k_vectors = divides(vector, tile_k, "vector in block_k")
    n_vectors = divides(vector, tile_n, "vector in block_n")
    a_ld, b_ld = tile_m + pads[0], tile_n + pads[1]
    # The kernel asserts this of both tiles: lanes read 16 bytes of either.
    divides(16 // a.element, a_ld, "vectors of 16 bytes in a row of A's tile")
    divides(16 // a.element, b_ld, "vectors of 16 bytes in a row of B's tile")
    a_loops = {"load": covering(tile_m * k_vectors, threads)}
    b_loops = {"load": covering(tile_k * n_vectors, threads)}
    tiles = {"tile": covering(a.cols, tile_k)}

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


def _v02(
    m: int, n: int, k: int, *, block_m: int = 32, block_n: int = 32, block_k: int = 32
) -> Launch:
    matrices = _matrices(m, n, k)
    tiles, turns = {"tile": covering(k, block_k)}, {"k_i": block_k}

    def row(by: Int, ty: Int) -> Int:
        return by * block_m + ty

    def col(bx: Int, tx: Int) -> Int:
        return bx * block_n + tx

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (covering(n, block_n), covering(m, block_m)),
        (block_n, block_m),
        (
            *_fill(matrices, (block_m, block_n, block_k), block_m * block_n),
            SharedSite(
                "A_thread_block_tile[threadIdx.y][k_i]", "load",
                lambda ty, k_i: ty * block_k + k_i,
                loops=turns, repeats=tiles, merges="k_i", evidence=_H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][threadIdx.x]", "load",
                lambda tx, k_i: k_i * block_n + tx, loops=turns, repeats=tiles,
            ),
            GlobalSite(c_source, "load", matrices[2], row, col, guarded=True),
            GlobalSite(c_source, "store", matrices[2], row, col, guarded=True),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _v03(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 64,
    block_n: int = 64,
    block_k: int = 8,
    thread_m: int = 8,
) -> Launch:
    matrices = _matrices(m, n, k)
    threads = divides(thread_m, block_m, "thread_m in block_m") * block_n
    tiles = {"tile": covering(k, block_k)}
    out = {"t": thread_m}

    def row(by: Int, tid: Int, t: Int) -> Int:
        return by * block_m + tid // block_n * thread_m + t

    def col(bx: Int, tid: Int) -> Int:
        return bx * block_n + tid % block_n

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (covering(n, block_n), covering(m, block_m)),
        (threads, 1),
        (
            *_fill(matrices, (block_m, block_n, block_k), threads),
            SharedSite(
                "B_thread_block_tile[k_i][thread_linear_idx % BLOCK_TILE_SIZE_X]", "load",
                lambda tid, k_i: k_i * block_n + tid % block_n,
                loops={"k_i": block_k}, repeats=tiles,
            ),
            SharedSite(
                "A_thread_block_tile[A_thread_block_tile_row_idx][k_i]", "load",
                lambda tid, k_i, t: (tid // block_n * thread_m + t) * block_k + k_i,
                loops={"k_i": block_k, "t": thread_m}, repeats=tiles,
                merges="k_i", evidence=_H200,
            ),
            GlobalSite(c_source, "load", matrices[2], row, col, loops=out, guarded=True),
            GlobalSite(c_source, "store", matrices[2], row, col, loops=out, guarded=True),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _v04(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 128,
    block_n: int = 128,
    block_k: int = 16,
    thread_m: int = 8,
    thread_n: int = 8,
) -> Launch:
    matrices = _matrices(m, n, k)
    cols = divides(thread_n, block_n, "thread_n in block_n")
    threads = divides(thread_m, block_m, "thread_m in block_m") * cols
    tiles = {"tile": covering(k, block_k)}
    out = {"row": thread_m, "col": thread_n}

    def row(by: Int, tid: Int, row: Int) -> Int:
        return by * block_m + tid // cols * thread_m + row

    def col(bx: Int, tid: Int, col: Int) -> Int:
        return bx * block_n + tid % cols * thread_n + col

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (covering(n, block_n), covering(m, block_m)),
        (threads, 1),
        (
            *_fill(matrices, (block_m, block_n, block_k), threads),
            SharedSite(
                "A_thread_block_tile[A_thread_block_tile_row_idx + thread_tile_row_idx][k_i]",
                "load", lambda tid, k_i, t: (tid // cols * thread_m + t) * block_k + k_i,
                loops={"k_i": block_k, "t": thread_m}, repeats=tiles,
                merges="k_i", evidence=_H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][B_thread_block_tile_col_idx + thread_tile_col_idx]",
                "load", lambda tid, k_i, t: k_i * block_n + tid % cols * thread_n + t,
                loops={"k_i": block_k, "t": thread_n}, repeats=tiles, merges="t", evidence=_H200,
            ),
            GlobalSite(c_source, "load", matrices[2], row, col, loops=out, guarded=True),
            GlobalSite(c_source, "store", matrices[2], row, col, loops=out, guarded=True),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
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
    matrices = _matrices(m, n, k)
    cols = divides(thread_n, block_n, "thread_n in block_n")
    threads = divides(thread_m, block_m, "thread_m in block_m") * cols
    tiles = {"tile": covering(k, block_k)}
    out = {"row": thread_m, "col": divides(vector, thread_n, "vector in thread_n")}

    def row(by: Int, tid: Int, row: Int) -> Int:
        return by * block_m + tid // cols * thread_m + row

    def col(bx: Int, tid: Int, col: Int) -> Int:
        return bx * block_n + tid % cols * thread_n + vector * col

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (covering(n, block_n), covering(m, block_m)),
        (threads, 1),
        (
            *_fill_transposed(matrices, (block_m, block_n, block_k), threads, vector),
            SharedSite(
                "A_thread_block_tile_transposed[k_i]"
                "[A_thread_block_tile_row_idx + thread_tile_row_idx]", "load",
                lambda tid, k_i, t: k_i * block_m + tid // cols * thread_m + t,
                loops={"k_i": block_k, "t": thread_m}, repeats=tiles, merges="t", evidence=_H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][B_thread_block_tile_col_idx"
                " + thread_tile_col_vector_idx * NUM_VECTOR_UNITS]", "load",
                lambda tid, k_i, v: k_i * block_n + tid % cols * thread_n + vector * v,
                loops={"k_i": block_k, "v": thread_n // vector}, repeats=tiles, width=vector,
                merges="v", evidence=_H200,
            ),
            # The vectorized kernel reads C before it checks the bounds, past the edge too.
            GlobalSite(
                c_source, "load", matrices[2], row, col, loops=out, width=vector,
                guarded=vector == 1, overruns=vector > 1,
            ),
            GlobalSite(
                c_source, "store", matrices[2], row, col, loops=out, width=vector, guarded=True
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
    warps_n = divides(warp_n, block_n, "warp_n in block_n")
    threads = 32 * divides(warp_m, block_m, "warp_m in block_m") * warps_n
    repeats_m = divides(thread_m * lanes_m, warp_m, "thread_m * lanes_m in warp_m")
    repeats_n = divides(thread_n * lanes_n, warp_n, "thread_n * lanes_n in warp_n")
    a_vectors = divides(vector, thread_m, "vector in thread_m")
    b_vectors = divides(vector, thread_n, "vector in thread_n")
    matrices = _matrices(m, n, k)
    tiles = {"tile": covering(k, block_k)}
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
        (covering(n, block_n), covering(m, block_m)),
        (threads, 1),
        (
            *_fill_transposed(matrices, (block_m, block_n, block_k), threads, vector),
            SharedSite(
                "A_thread_block_tile_transposed[k_i][A_thread_block_tile_row_idx"
                " + thread_tile_y_vector_idx * NUM_VECTOR_UNITS]", "load",
                lambda warp, lane, k_i, i, v: k_i * block_m + in_m(warp, lane, i) + vector * v,
                loops={"k_i": block_k, "i": repeats_m, "v": a_vectors}, repeats=tiles,
                width=vector, merges="v", evidence=_H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][B_thread_block_tile_col_idx"
                " + thread_tile_x_vector_idx * NUM_VECTOR_UNITS]", "load",
                lambda warp, lane, k_i, j, v: k_i * block_n + in_n(warp, lane, j) + vector * v,
                loops={"k_i": block_k, "j": repeats_n, "v": b_vectors}, repeats=tiles,
                width=vector, merges="v", evidence=_H200,
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
    warps_n = divides(warp_n, block_n, "warp_n in block_n")
    threads = 32 * divides(warp_m, block_m, "warp_m in block_m") * warps_n
    fragments_m = divides(16, warp_m, "WMMA tiles of 16 in warp_m")
    fragments_n = divides(16, warp_n, "WMMA tiles of 16 in warp_n")
    fragments_k = divides(16, block_k, "WMMA tiles of 16 in block_k")
    # C is addressed with n as its leading dimension, and without a bounds check.
    grid = (dividing(n, block_n, "n", "block_n"), dividing(m, block_m, "m", "block_m"))
    matrices = _matrices(m, n, k, element=2)
    c = Matrix(m, n, n, element=2)
    tiles = {"tile": covering(k, block_k)}
    a_ld, b_ld = block_m + pad_m, block_n + pad_n
    walk = {"k_i": fragments_k, "i": fragments_m, "j": fragments_n}
    # An accumulator fragment: 8 elements a lane, in pairs, of 4 8×8 quarters.
    out = {"i": fragments_m, "j": fragments_n, "h": 2, "w": 2}

    def quarter(lane: Int) -> Int:
        """K coordinate, then m or n coordinate, of the 8 elements a lane points LDSM at."""
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
                element=2, op="LDSM.16.MT88.4",
            ),
            SharedSite(
                "load_matrix_sync(b_frags[j], &B_thread_block_tile[k_i * 16][...])", "load",
                b_at, loops=walk, repeats=tiles, element=2, op="LDSM.16.MT88.4",
                hoisted=("i",), evidence=_H200,
            ),
            GlobalSite(
                "load_matrix_sync(c_frag, &C[...], n)", "load", c, c_row, c_col,
                loops=out, width=2,
            ),
            GlobalSite(
                "store_matrix_sync(&C[...], c_frag, n)", "store", c, c_row, c_col,
                loops=out, width=2,
            ),
        ),
        shared_bytes=2 * block_k * (a_ld + b_ld),
    )  # fmt: skip


KERNELS = (
    Kernel("leimao.v00", "one element a thread, rows along x: uncoalesced", _DOCUMENT, _v00),
    Kernel("leimao.v01", "one element a thread, columns along x: coalesced", _DOCUMENT, _v01),
    Kernel("leimao.v02", "2D block tiles in shared memory", _DOCUMENT, _v02),
    Kernel("leimao.v03", "a column of 8 elements a thread", _DOCUMENT, _v03),
    Kernel("leimao.v04", "8x8 elements a thread", _DOCUMENT, _v04),
    Kernel("leimao.v05", "A transposed, vectors of 16 bytes", _DOCUMENT, _v05),
    Kernel("leimao.v06", "64x32 warp tiles, 8x4 lanes", _DOCUMENT, _v06),
    Kernel("leimao.v07", "fp16 on tensor cores (WMMA), skewed tiles", _DOCUMENT, _v07),
    Kernel(
        "leimao.v07_unskewed", "the same without skew", _DOCUMENT, _v07, {"pad_m": 0, "pad_n": 0}
    ),
)
