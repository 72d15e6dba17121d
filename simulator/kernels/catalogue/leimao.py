"""Lei Mao's GEMM kernels v00 to v04: from uncoalesced to 8x8 elements per thread.

Document: Lei Mao, "CUDA Matrix Multiplication Optimization", on an RTX 3090 (sm_86).
https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/

The document counts tiles as X (columns, n here) and Y (rows, m). Rows of all matrices are
padded to 64 bytes (fp32) or 32 bytes (fp16) in global memory. v05 to v07:
`simulator.kernels.catalogue.leimao_vectors`.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.kernels.catalogue.matrices import inner_product
from simulator.kernels.sites import (
    GlobalSite,
    Int,
    Kernel,
    Launch,
    Matrix,
    SharedSite,
)
from simulator.kernels.sizes import block_threads, ceil_div, multiple, split

__all__ = ["DOCUMENT", "H200", "KERNELS", "Sites", "ThreadTiles", "padded"]

DOCUMENT = (
    "Lei Mao, CUDA Matrix Multiplication Optimization,"
    " https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/"
)
H200 = "nvcc 13.0 for sm_90, counted on an H200"

Sites = tuple[SharedSite | GlobalSite, ...]


def padded(m: int, n: int, k: int, element: int = 4) -> tuple[Matrix, Matrix, Matrix]:
    """Pad the rows of A, B and C to 16 elements: 64 bytes of fp32, 32 bytes of fp16."""

    def matrix(rows: int, cols: int) -> Matrix:
        return Matrix(rows, cols, 16 * ceil_div(cols, 16), element)

    return matrix(m, k), matrix(k, n), matrix(m, n)


@dataclass(frozen=True)
class ThreadTiles:
    """How the tile of a block falls to its threads: a tile each, row by row of such tiles."""

    block_m: int
    block_n: int
    thread_m: int
    thread_n: int
    vector: int = 1
    """Columns of C that a thread moves at once."""

    @property
    def per_row(self) -> int:
        """Threads side by side along n."""
        return split(self.block_n, self.thread_n, "block_n", "thread_n")

    @property
    def threads(self) -> int:
        """Threads in the block."""
        return split(self.block_m, self.thread_m, "block_m", "thread_m") * self.per_row

    def row(self, tid: Int) -> Int:
        """First row of a thread in the tile of the block."""
        return tid // self.per_row * self.thread_m

    def col(self, tid: Int) -> Int:
        """First column of a thread in the tile of the block."""
        return tid % self.per_row * self.thread_n

    def c_row(self, by: Int, tid: Int, row: Int) -> Int:
        """Row of C of each row of a thread."""
        return by * self.block_m + self.row(tid) + row

    def c_col(self, bx: Int, tid: Int, col: Int) -> Int:
        """Column of C of each vector of a thread."""
        return bx * self.block_n + self.col(tid) + self.vector * col


def _naive(m: int, n: int, k: int, block_x: int, block_y: int, rows_along_x: bool) -> Launch:
    a, b, c = padded(m, n, k)

    def along_x(bx: Int, tx: Int) -> Int:
        return bx * block_x + tx

    def along_y(by: Int, ty: Int) -> Int:
        return by * block_y + ty

    row, col = (along_x, along_y) if rows_along_x else (along_y, along_x)
    c_source = "C[C_row_idx * ldc + C_col_idx]"
    along = (m, n) if rows_along_x else (n, m)
    return Launch(
        (ceil_div(along[0], block_x), ceil_div(along[1], block_y)),
        (block_x, block_y),
        (
            *inner_product(
                a, b, row, col, ("A[C_row_idx * lda + k_idx]", "B[k_idx * ldb + C_col_idx]")
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
    whole = f"loads by all {block_threads(threads)} threads"
    a_loops = {"load": multiple(tile_m * tile_k, threads, "block_m * block_k", whole)}
    b_loops = {"load": multiple(tile_n * tile_k, threads, "block_n * block_k", whole)}
    tiles = {"tile": ceil_div(a.cols, tile_k)}

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


def _v02(
    m: int, n: int, k: int, *, block_m: int = 32, block_n: int = 32, block_k: int = 32
) -> Launch:
    matrices = padded(m, n, k)
    tiles, turns = {"tile": ceil_div(k, block_k)}, {"k_i": block_k}

    def row(by: Int, ty: Int) -> Int:
        return by * block_m + ty

    def col(bx: Int, tx: Int) -> Int:
        return bx * block_n + tx

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (block_n, block_m),
        (
            *_fill(matrices, (block_m, block_n, block_k), block_m * block_n),
            SharedSite(
                "A_thread_block_tile[threadIdx.y][k_i]", "load",
                lambda ty, k_i: ty * block_k + k_i,
                loops=turns, repeats=tiles, merges="k_i", evidence=H200,
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
    matrices = padded(m, n, k)
    own = ThreadTiles(block_m, block_n, thread_m, thread_n=1)
    tiles = {"tile": ceil_div(k, block_k)}
    out = {"row": thread_m, "col": 1}

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (own.threads, 1),
        (
            *_fill(matrices, (block_m, block_n, block_k), own.threads),
            SharedSite(
                "B_thread_block_tile[k_i][thread_linear_idx % BLOCK_TILE_SIZE_X]", "load",
                lambda tid, k_i: k_i * block_n + own.col(tid),
                loops={"k_i": block_k}, repeats=tiles,
            ),
            SharedSite(
                "A_thread_block_tile[A_thread_block_tile_row_idx][k_i]", "load",
                lambda tid, k_i, t: (own.row(tid) + t) * block_k + k_i,
                loops={"k_i": block_k, "t": thread_m}, repeats=tiles,
                merges="k_i", evidence=H200,
            ),
            GlobalSite(
                c_source, "load", matrices[2], own.c_row, own.c_col, loops=out, guarded=True
            ),
            GlobalSite(
                c_source, "store", matrices[2], own.c_row, own.c_col, loops=out, guarded=True
            ),
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
    matrices = padded(m, n, k)
    own = ThreadTiles(block_m, block_n, thread_m, thread_n)
    tiles = {"tile": ceil_div(k, block_k)}
    out = {"row": thread_m, "col": thread_n}

    c_source = "C[C_row_idx * ldc + C_col_idx]"
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (own.threads, 1),
        (
            *_fill(matrices, (block_m, block_n, block_k), own.threads),
            SharedSite(
                "A_thread_block_tile[A_thread_block_tile_row_idx + thread_tile_row_idx][k_i]",
                "load", lambda tid, k_i, t: (own.row(tid) + t) * block_k + k_i,
                loops={"k_i": block_k, "t": thread_m}, repeats=tiles,
                merges="k_i", evidence=H200,
            ),
            SharedSite(
                "B_thread_block_tile[k_i][B_thread_block_tile_col_idx + thread_tile_col_idx]",
                "load", lambda tid, k_i, t: k_i * block_n + own.col(tid) + t,
                loops={"k_i": block_k, "t": thread_n}, repeats=tiles, merges="t", evidence=H200,
            ),
            GlobalSite(
                c_source, "load", matrices[2], own.c_row, own.c_col, loops=out, guarded=True
            ),
            GlobalSite(
                c_source, "store", matrices[2], own.c_row, own.c_col, loops=out, guarded=True
            ),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


KERNELS = (
    Kernel("leimao.v00", "one element per thread, rows along x: uncoalesced", DOCUMENT, _v00),
    Kernel("leimao.v01", "one element per thread, columns along x: coalesced", DOCUMENT, _v01),
    Kernel("leimao.v02", "2D block tiles in shared memory", DOCUMENT, _v02),
    Kernel("leimao.v03", "a column of 8 elements per thread", DOCUMENT, _v03),
    Kernel("leimao.v04", "8x8 elements per thread", DOCUMENT, _v04),
)
