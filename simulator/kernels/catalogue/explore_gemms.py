"""ks, "Explore GEMMs - optimization journey": eight steps on an RTX 4090, and two 16-bit kernels.

The document: https://github.com/gpusgobrr/explore-gemm (its repository; October 2025). Names
in the sites are the document's: tile_a, tile_b, inner_row_a, wsub_row_idx. Its chip is an
sm_89; the compiled forms are what nvcc 13.0 -O3 -arch=sm_89 makes of the listings, read in the
machine code, for the document's tiles. Of the 2D kernel the document prints the profiler's
totals too, and the two agree to the digit:

    a warp issues, for a k tile, 16 LDS.128 of A (4 wavefronts each: 2 fused phases, in each 2
    rows on the same banks), 16 LDS.128 of B (8 each: 4 phases, 2-way) and 8 LDS of A (4 each)
    that no line of the source asks for: 40 requests, 64 + 128 + 32 = 224 wavefronts,
    32 + 64 + 24 = 120 conflicts, 136 ideal. The 8 read the column dot_idx = 0 alone, so that
    the arithmetic can start; the LDS.128 of dot_idx 0 to 3 then read it again.

The counters alone would leave it open: 12 LDS.128 and 8 LDS.64 of A with 16 LDS.128 and 4 LDS.64 of
B have the same five totals; the machine code does not. It is the chip's own: for sm_90 the same
compiler keeps the loop over dot_idx, with 8 LDS of A and 2 LDS.128 of B in it.

What the listings leave out: the shared kernel's write of C, without which nvcc deletes every shared
load (listed here in the compiled form, as in the coalesced kernel); the 2D kernel's second version
for the blocks at the edges, so its sizes must be multiples; and in the 16-bit kernels the formulas
from inner_row_a to row_stride_b: those of the fp32 kernel with the vector size, 2, for the 4.
"""

from __future__ import annotations

from typing import Any

from simulator.kernels.catalogue.matrices import inner_product, packed
from simulator.kernels.sites import (
    Function,
    GlobalSite,
    Int,
    Kernel,
    Launch,
    Matrix,
    SharedSite,
)
from simulator.kernels.sizes import block_threads, ceil_div, multiple, require, split, whole_tiles

__all__ = ["CODE", "DOCUMENT", "KERNELS", "read_and_write", "thread_tiles"]

DOCUMENT = 'ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm'
CODE = "machine code, nvcc 13.0 for sm_89"
_COUNTERS = f"the document's profiler; {CODE}"
_EARLY = f"the compiler's own, the column dot_idx = 0 read ahead: {_COUNTERS}"
_NO_WRITE = "assumed: not in the listing, which stops before it; as in the coalesced kernel"


def thread_tiles(block_m: int, block_n: int, thread_m: int, thread_n: int) -> tuple[int, int]:
    """Thread tiles in a row of the block, and threads in the block."""
    per_row = split(block_n, thread_n, "block_n", "thread_n")
    return per_row, per_row * split(block_m, thread_m, "block_m", "thread_m")


def read_and_write(
    source: str, c: Matrix, row: Function, col: Function, **how: Any
) -> tuple[GlobalSite, GlobalSite]:
    """Return the load and the store of `C = α·AB + β·C`, at the same place."""
    return (
        GlobalSite(source, "load", c, row, col, **how),
        GlobalSite(f"{source} = ...", "store", c, row, col, **how),
    )


def _naive(m: int, n: int, k: int, *, block_size: int = 32) -> Launch:
    return _one_element(
        m, n, k, block_size, lambda tid: tid % block_size, lambda tid: tid // block_size
    )


def _coalesced(m: int, n: int, k: int, *, block_size: int = 32) -> Launch:
    return _one_element(
        m, n, k, block_size, lambda tid: tid // block_size, lambda tid: tid % block_size
    )


def _one_element(
    m: int, n: int, k: int, size: int, thread_row: Function, thread_col: Function
) -> Launch:
    """One thread, one element of C; blockIdx.x counts rows of blocks."""
    a, b, c = packed(m, n, k)

    def row(bx: Int, tid: Int) -> Int:
        return bx * size + thread_row(tid)

    def col(by: Int, tid: Int) -> Int:
        return by * size + thread_col(tid)

    return Launch(
        grid=(ceil_div(m, size), ceil_div(n, size)),
        block=(size * size, 1),
        sites=(
            *inner_product(
                a, b, row, col,
                ("matrix_a[output_row * num_cols_a + k_idx]",
                 "matrix_b[k_idx * num_cols_b + output_col]"),
            ),
            *read_and_write("output_matrix[output_idx]", c, row, col, guarded=True),
        ),
    )  # fmt: skip


def _shared(m: int, n: int, k: int, *, block_size: int = 32) -> Launch:
    size = block_size
    steps = {"step": ceil_div(k, size)}
    a, b, c = packed(m, n, k)

    def row(bx: Int, tid: Int) -> Int:
        return bx * size + tid // size

    def col(by: Int, tid: Int) -> Int:
        return by * size + tid % size

    return Launch(
        grid=(ceil_div(m, size), ceil_div(n, size)),
        block=(size * size, 1),
        shared_bytes=2 * size * size * 4,
        sites=(
            GlobalSite(
                "matrix_a[thread_row * num_cols_a + thread_col]", "load",
                a, row, lambda step, tid: step * size + tid % size,
                repeats=steps, guarded=True,
            ),
            # Both branches of the bounds check store to the same place: one STS.
            SharedSite(
                "tile_a[thread_row * BLOCKSIZE + thread_col]", "store",
                lambda tid: tid // size * size + tid % size,
                repeats=steps,
            ),
            GlobalSite(
                "matrix_b[thread_row * num_cols_b + thread_col]", "load",
                b, lambda step, tid: step * size + tid // size, col,
                repeats=steps, guarded=True,
            ),
            SharedSite(
                "tile_b[thread_row * BLOCKSIZE + thread_col]", "store",
                lambda tid: tid // size * size + tid % size,
                repeats=steps,
            ),
            SharedSite(
                "tile_a[thread_row * BLOCKSIZE + dot_idx]", "load",
                lambda tid, dot: tid // size * size + dot,
                loops={"dot": size}, repeats=steps, merges="dot", evidence=CODE,
            ),
            SharedSite(
                "tile_b[dot_idx * BLOCKSIZE + thread_col]", "load",
                lambda tid, dot: dot * size + tid % size,
                loops={"dot": size}, repeats=steps,
            ),
            *read_and_write(
                "matrix_c[thread_row * num_cols_b + thread_col]", c, row, col,
                guarded=True, only="compiled", assumed=_NO_WRITE,
            ),
        ),
    )  # fmt: skip


def _tiled_1d(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 64,
    block_n: int = 64,
    block_k: int = 8,
    thread_m: int = 8,
) -> Launch:
    threads = block_n * split(block_m, thread_m, "block_m", "thread_m")
    require(
        threads == block_m * block_k == block_k * block_n,
        f"{threads} threads (block_m / thread_m · block_n) load an element of A and of B each, but"
        f" the tiles have {block_m * block_k} and {block_k * block_n} (accepted: block_m = block_n"
        " = thread_m · block_k)",
    )
    steps = {"step": ceil_div(k, block_k)}
    a, b, c = packed(m, n, k)

    def row(bx: Int, tid: Int, res: Int) -> Int:
        return bx * block_m + tid // block_n * thread_m + res

    def col(by: Int, tid: Int) -> Int:
        return by * block_n + tid % block_n

    return Launch(
        grid=(ceil_div(m, block_m), ceil_div(n, block_n)),
        block=(threads, 1),
        shared_bytes=(block_m + block_n) * block_k * 4,
        sites=(
            GlobalSite(
                "matrix_a[a_row * num_cols_a + a_col]", "load",
                a, lambda bx, tid: bx * block_m + tid // block_k,
                lambda step, tid: step * block_k + tid % block_k,
                repeats=steps, guarded=True,
            ),
            SharedSite(
                "tile_a[a_row * BK + a_col]", "store",
                lambda tid: tid // block_k * block_k + tid % block_k,
                repeats=steps,
            ),
            GlobalSite(
                "matrix_b[b_row * num_cols_b + b_col]", "load",
                b, lambda step, tid: step * block_k + tid // block_n,
                lambda by, tid: by * block_n + tid % block_n,
                repeats=steps, guarded=True,
            ),
            SharedSite(
                "tile_b[b_row * BN + b_col]", "store",
                lambda tid: tid // block_n * block_n + tid % block_n,
                repeats=steps,
            ),
            SharedSite(
                "tile_b[dot_idx * BN + thread_col]", "load",
                lambda tid, dot: dot * block_n + tid % block_n,
                loops={"dot": block_k}, repeats=steps,
            ),
            SharedSite(
                "tile_a[(thread_row * TM + res_idx) * BK + dot_idx]", "load",
                lambda tid, res, dot: (tid // block_n * thread_m + res) * block_k + dot,
                loops={"res": thread_m, "dot": block_k}, repeats=steps,
                merges="dot", evidence=CODE,
            ),
            *read_and_write(
                "matrix_c[(thread_row * TM + res_idx) * num_cols_b + thread_col]", c, row, col,
                loops={"res": thread_m}, guarded=True,
            ),
        ),
    )  # fmt: skip


def _tiled_2d(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 64,
    block_n: int = 64,
    block_k: int = 8,
    thread_m: int = 8,
    thread_n: int = 8,
) -> Launch:
    per_row, threads = thread_tiles(block_m, block_n, thread_m, thread_n)
    whole = f"loads by all {block_threads(threads)} threads"
    loads_a = {"load": multiple(block_m * block_k, threads, "block_m * block_k", whole)}
    loads_b = {"load": multiple(block_k * block_n, threads, "block_k * block_n", whole)}
    steps = {"step": whole_tiles(k, block_k, "k", "block_k")}
    a, b, c = packed(m, n, k)
    early = (
        SharedSite(
            "tile_a[(thread_row * TM + i) * BK]", "load",
            lambda tid, i: (tid // per_row * thread_m + i) * block_k,
            loops={"i": thread_m}, repeats=steps, only="compiled", evidence=_EARLY,
        ),
    )  # fmt: skip

    return Launch(
        grid=(whole_tiles(m, block_m, "m", "block_m"), whole_tiles(n, block_n, "n", "block_n")),
        block=(threads, 1),
        shared_bytes=(block_m + block_n) * block_k * 4,
        sites=(
            GlobalSite(
                "matrix_a[a_row * num_cols_a + a_col]", "load", a,
                lambda bx, tid, load: bx * block_m + (tid + load * threads) // block_k,
                lambda step, tid, load: step * block_k + (tid + load * threads) % block_k,
                loops=loads_a, repeats=steps,
            ),
            SharedSite(
                "tile_a[load_idx]", "store", lambda tid, load: tid + load * threads,
                loops=loads_a, repeats=steps,
            ),
            GlobalSite(
                "matrix_b[b_row * num_cols_b + b_col]", "load", b,
                lambda step, tid, load: step * block_k + (tid + load * threads) // block_n,
                lambda by, tid, load: by * block_n + (tid + load * threads) % block_n,
                loops=loads_b, repeats=steps,
            ),
            SharedSite(
                "tile_b[load_idx]", "store", lambda tid, load: tid + load * threads,
                loops=loads_b, repeats=steps,
            ),
            SharedSite(
                "tile_a[(thread_row * TM + i) * BK + dot_idx]", "load",
                lambda tid, i, dot: (tid // per_row * thread_m + i) * block_k + dot,
                loops={"i": thread_m, "dot": block_k}, repeats=steps,
                merges="dot", evidence=_COUNTERS,
            ),
            # Seen with 8×8 thread tiles, for seven block tiles; not with 8×4 or 4×4.
            *(early if (thread_m, thread_n) == (8, 8) else ()),
            SharedSite(
                "tile_b[dot_idx * BN + thread_col * TN + i]", "load",
                lambda tid, dot, i: dot * block_n + tid % per_row * thread_n + i,
                loops={"dot": block_k, "i": thread_n}, repeats=steps,
                merges="i", evidence=_COUNTERS,
            ),
            *read_and_write(
                "matrix_c[c_idx]", c,
                lambda bx, tid, i: bx * block_m + tid // per_row * thread_m + i,
                lambda by, tid, j: by * block_n + tid % per_row * thread_n + j,
                loops={"i": thread_m, "j": thread_n},
            ),
        ),
    )  # fmt: skip


KERNELS = (
    Kernel(
        "explore-gemm.naive", "one element of C a thread, lanes down a column", DOCUMENT, _naive
    ),
    Kernel("explore-gemm.coalesced", "the same, lanes along a row", DOCUMENT, _coalesced),
    Kernel("explore-gemm.shared", "tiles of A and B in shared memory", DOCUMENT, _shared),
    Kernel("explore-gemm.1d", "a column of 8 elements per thread", DOCUMENT, _tiled_1d),
    Kernel("explore-gemm.2d", "8x8 elements per thread", DOCUMENT, _tiled_2d),
)
