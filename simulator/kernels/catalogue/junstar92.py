"""junstar92's SGEMM kernels: from naive to warp tiling.

Document: junstar92, "Optimizing a Matmul Kernel" (in Korean), after S. Boehm's worklog, on an
RTX 3080 (sm_86). https://github.com/junstar92/nvidia-libraries-study

Its Nsight Compute counters at 4096×4096×4096 hold the compiled forms of `2d` and `vectorized` to
the digit; every compiled form here is also that of nvcc 13.0 for sm_90 on an H200.
"""

from __future__ import annotations

from simulator.kernels.catalogue.matrices import inner_product, packed
from simulator.kernels.sites import (
    GlobalSite,
    Int,
    Kernel,
    Launch,
    SharedSite,
)
from simulator.kernels.sizes import ceil_div, multiple, require, split, whole_tiles

__all__ = ["KERNELS"]

_DOCUMENT = (
    "junstar92, Optimizing a Matmul Kernel (in Korean),"
    " https://github.com/junstar92/nvidia-libraries-study"
)
_H200 = "nvcc 13.0 for sm_90, counted on an H200"
_BOTH = f"{_H200}; the document's counters on an RTX 3080"


def _naive(m: int, n: int, k: int, *, block_x: int = 32, block_y: int = 32) -> Launch:
    a, b, c = packed(m, n, k)

    def x(bx: Int, tx: Int) -> Int:
        return block_x * bx + tx

    def y(by: Int, ty: Int) -> Int:
        return block_y * by + ty

    return Launch(
        (ceil_div(n, block_x), ceil_div(m, block_y)),
        (block_x, block_y),
        (
            *inner_product(a, b, y, x, ("A[y * k + i]", "B[i * n + x]")),
            GlobalSite("C[y * n + x]", "load", c, y, x, guarded=True),
            GlobalSite("C[y * n + x]", "store", c, y, x, guarded=True),
        ),
    )


def _smem(m: int, n: int, k: int, *, block_size: int = 32) -> Launch:
    a, b, c = packed(m, n, k)
    size = block_size
    tiles = {"block": ceil_div(k, size)}
    turns = {"i": size}

    def row(by: Int, ty: Int) -> Int:
        return size * by + ty

    def col(bx: Int, tx: Int) -> Int:
        return size * bx + tx

    def a_col(block: Int, tx: Int) -> Int:
        return size * block + tx

    def b_row(block: Int, ty: Int) -> Int:
        return size * block + ty

    def stored(ty: Int, tx: Int) -> Int:
        return ty * size + tx

    return Launch(
        (ceil_div(n, size), ceil_div(m, size)),
        (size, size),
        (
            GlobalSite("A[a_idx]", "load", a, row, a_col, repeats=tiles, guarded=True),
            GlobalSite("B[b_idx]", "load", b, b_row, col, repeats=tiles, guarded=True),
            SharedSite("As[threadIdx.y][threadIdx.x]", "store", stored, repeats=tiles),
            SharedSite("Bs[threadIdx.y][threadIdx.x]", "store", stored, repeats=tiles),
            SharedSite(
                "As[threadIdx.y][i]", "load", lambda ty, i: ty * size + i,
                loops=turns, repeats=tiles, merges="i", evidence=_H200,
            ),
            SharedSite(
                "Bs[i][threadIdx.x]", "load", lambda tx, i: i * size + tx,
                loops=turns, repeats=tiles,
            ),
            GlobalSite("C[c_row * n + c_col]", "load", c, row, col, guarded=True),
            GlobalSite("C[c_row * n + c_col]", "store", c, row, col, guarded=True),
        ),
        shared_bytes=2 * 4 * size * size,
    )  # fmt: skip


def _1d(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int = 64,
    block_n: int = 64,
    block_k: int = 8,
    thread_m: int = 8,
) -> Launch:
    rows = split(block_m, thread_m, "block_m", "thread_m")
    require(
        rows == block_k == thread_m and block_m == block_n,
        f"block_m = {block_m}, block_n = {block_n}, block_k = {block_k}, thread_m = {thread_m}:"
        " each thread stores one element of either tile, and the rows of a thread are thread_m"
        " apart (accepted: block_m = block_n = thread_m * thread_m, block_k = thread_m)",
    )
    a, b, c = packed(m, n, k)
    tiles = {"block": ceil_div(k, block_k)}
    inner = {"i": block_k, "t": thread_m}

    def c_row(by: Int, ty: Int, t: Int) -> Int:
        return block_m * by + t * thread_m + ty

    def col(bx: Int, tx: Int) -> Int:
        return block_n * bx + tx

    source = "C[c_row * n + c_col]"
    out = {"t": thread_m}
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (block_n, rows),
        (
            GlobalSite(
                "A[a_idx]", "load", a,
                lambda by, tid: block_m * by + tid // block_k,
                lambda block, tid: block_k * block + tid % block_k,
                repeats=tiles, guarded=True,
            ),
            GlobalSite(
                "B[b_idx]", "load", b, lambda block, ty: block_k * block + ty, col,
                repeats=tiles, guarded=True,
            ),
            SharedSite(
                "As[a_thread_row][a_thread_col]", "store",
                lambda tid: tid // block_k * block_k + tid % block_k, repeats=tiles,
            ),
            SharedSite(
                "Bs[threadIdx.y][threadIdx.x]", "store", lambda ty, tx: ty * block_n + tx,
                repeats=tiles,
            ),
            SharedSite(
                "Bs[i][threadIdx.x]", "load", lambda i, tx: i * block_n + tx,
                loops={"i": block_k}, repeats=tiles,
            ),
            SharedSite(
                "As[threadIdx.y + THREAD_M * t][i]", "load",
                lambda ty, t, i: (ty + thread_m * t) * block_k + i,
                loops=inner, repeats=tiles, merges="i", evidence=_H200,
            ),
            GlobalSite(source, "load", c, c_row, col, loops=out, guarded=True),
            GlobalSite(source, "store", c, c_row, col, loops=out, guarded=True),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _2d(
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
    rows = split(block_m, thread_m, "block_m", "thread_m")
    cols = split(block_n, thread_n, "block_n", "thread_n")
    require(
        rows == cols == block_k,
        f"{rows}x{cols} threads fill tiles of block_k = {block_k}: the kernel's store loops need"
        " as many rows and columns (accepted: block_m = thread_m * block_k, block_n = thread_n *"
        " block_k)",
    )
    a, b, c = packed(m, n, k)
    tiles = {"block": ceil_div(k, block_k)}
    a_loops, b_loops = {"o": thread_m}, {"o": thread_n}  # o: turns of the loop, not its index

    def row(by: Int, ty: Int, tm: Int) -> Int:
        return block_m * by + thread_m * ty + tm

    def col(bx: Int, tx: Int, tn: Int) -> Int:
        return block_n * bx + thread_n * tx + tn

    out = {"tm": thread_m, "tn": thread_n}
    return Launch(
        (ceil_div(n, block_n), ceil_div(m, block_m)),
        (cols, rows),
        (
            GlobalSite(
                "A[row * k + col]", "load", a,
                lambda by, tid, o: block_m * by + tid // block_k + o * rows,
                lambda block, tid: block_k * block + tid % block_k,
                loops=a_loops, repeats=tiles, guarded=True,
            ),
            SharedSite(
                "As[a_thread_row + o][a_thread_col]", "store",
                lambda tid, o: (tid // block_k + o * rows) * block_k + tid % block_k,
                loops=a_loops, repeats=tiles,
            ),
            GlobalSite(
                "B[row * n + col]", "load", b,
                lambda block, tid: block_k * block + tid // cols,
                lambda bx, tid, o: block_n * bx + tid % cols + o * cols,
                loops=b_loops, repeats=tiles, guarded=True,
            ),
            SharedSite(
                "Bs[b_thread_row][b_thread_col + o]", "store",
                lambda tid, o: tid // cols * block_n + tid % cols + o * cols,
                loops=b_loops, repeats=tiles,
            ),
            SharedSite(
                "As[a_thread_row * THREAD_M + t][i]", "load",
                lambda tid, t, i: (tid // block_k * thread_m + t) * block_k + i,
                loops={"i": block_k, "t": thread_m}, repeats=tiles, merges="i", evidence=_BOTH,
            ),
            SharedSite(
                "Bs[i][b_thread_col * THREAD_N + t]", "load",
                lambda tid, t, i: i * block_n + tid % cols * thread_n + t,
                loops={"i": block_k, "t": thread_n}, repeats=tiles, merges="t", evidence=_BOTH,
            ),
            GlobalSite("C[row * n + col]", "load", c, row, col, loops=out, guarded=True),
            GlobalSite("C[row * n + col]", "store", c, row, col, loops=out, guarded=True),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _vectorized(
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
    cols = split(block_n, thread_n, "block_n", "thread_n")
    threads = split(block_m, thread_m, "block_m", "thread_m") * cols
    a_cols = multiple(block_k, 4, "block_k", "vectors of 4")
    b_cols = multiple(block_n, 4, "block_n", "vectors of 4")
    out_cols = multiple(thread_n, 4, "thread_n", "vectors of 4")
    a_stride = split(threads, a_cols, "threads", "vectors along block_k")
    b_stride = split(threads, b_cols, "threads", "vectors along block_n")
    a_loops = {"offset": split(block_m, a_stride, "block_m", "rows loaded at once")}
    b_loops = {"offset": split(block_k, b_stride, "block_k", "rows loaded at once")}
    a, b, c = packed(m, n, k)
    tiles = {"bk": whole_tiles(k, block_k, "k", "block_k")}

    def row(by: Int, tid: Int, tm: Int) -> Int:
        return block_m * by + tid // cols * thread_m + tm

    def col(bx: Int, tid: Int, tn: Int) -> Int:
        return block_n * bx + tid % cols * thread_n + 4 * tn

    out = {"tm": thread_m, "tn": out_cols}
    source = "C[(thread_row * THREAD_M + tm) * n + thread_col * THREAD_N + tn]"
    return Launch(
        (whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m")),
        (threads, 1),
        (
            GlobalSite(
                "A[(a_inner_row + offset) * k + a_inner_col * 4]", "load", a,
                lambda by, tid, offset: block_m * by + tid // a_cols + offset * a_stride,
                lambda bk, tid: block_k * bk + tid % a_cols * 4,
                loops=a_loops, repeats=tiles, width=4,
            ),
            SharedSite(
                "As[(a_inner_col * 4 + j) * BLOCK_M + a_inner_row + offset]", "store",
                lambda tid, j, offset: (tid % a_cols * 4 + j) * block_m
                + tid // a_cols + offset * a_stride,
                loops={**a_loops, "j": 4}, repeats=tiles,
            ),
            GlobalSite(
                "B[(b_inner_row + offset) * n + b_inner_col * 4]", "load", b,
                lambda bk, tid, offset: block_k * bk + tid // b_cols + offset * b_stride,
                lambda bx, tid: block_n * bx + tid % b_cols * 4,
                loops=b_loops, repeats=tiles, width=4,
            ),
            SharedSite(
                "Bs[(b_inner_row + offset) * BLOCK_N + b_inner_col * 4]", "store",
                lambda tid, offset: (tid // b_cols + offset * b_stride) * block_n
                + tid % b_cols * 4,
                loops=b_loops, repeats=tiles, width=4,
            ),
            SharedSite(
                "As[i * BLOCK_M + thread_row * THREAD_M + t]", "load",
                lambda tid, i, t: i * block_m + tid // cols * thread_m + t,
                loops={"i": block_k, "t": thread_m}, repeats=tiles, merges="t", evidence=_BOTH,
            ),
            SharedSite(
                "Bs[i * BLOCK_N + thread_col * THREAD_N + t]", "load",
                lambda tid, i, t: i * block_n + tid % cols * thread_n + t,
                loops={"i": block_k, "t": thread_n}, repeats=tiles, merges="t", evidence=_BOTH,
            ),
            GlobalSite(source, "load", c, row, col, loops=out, width=4),
            GlobalSite(source, "store", c, row, col, loops=out, width=4),
        ),
        shared_bytes=4 * block_k * (block_m + block_n),
    )  # fmt: skip


def _warptiling(
    m: int,
    n: int,
    k: int,
    *,
    threads: int = 64,
    block_m: int = 64,
    block_n: int = 64,
    block_k: int = 8,
    warp_m: int = 64,
    warp_n: int = 32,
    padding: int = 4,
) -> Launch:
    warp_rows = split(block_m, warp_m, "block_m", "warp_m")
    warp_cols = split(block_n, warp_n, "block_n", "warp_n")
    require(
        threads == 32 * warp_rows * warp_cols,
        f"threads = {threads} for {warp_rows}x{warp_cols} warp tiles"
        f" (accepted: {32 * warp_rows * warp_cols})",
    )
    require(
        (warp_m, warp_n) == (64, 32),
        f"warp tile {warp_m}x{warp_n}: the kernel's lanes cover 64x32 (accepted: 64, 32)",
    )
    multiple(block_m + padding, 4, "block_m + padding", "vectors of 4")
    multiple(block_n, 4, "block_n", "vectors of 4")
    a_rows = split(threads, block_k, "threads", "block_k")
    a_loops = {"i": split(block_m, a_rows, "block_m", "rows loaded at once")}
    b_rows = split(threads, block_n, "threads", "block_n")
    b_loops = {"i": split(block_k, b_rows, "block_k", "rows loaded at once")}
    a_ld = block_m + padding
    a, b, c = packed(m, n, k)
    tiles = {"step": whole_tiles(k, block_k, "k", "block_k")}
    fragment = {"warp_k": block_k, "h": 2}  # LANE_LAYOUT: two halves, 8×4 and 4×4 lanes apart

    def lane_m(lane: Int) -> Int:
        return (lane >> 3 << 1) + (lane & 1)

    def lane_n(lane: Int) -> Int:
        return (lane & 7) >> 1

    def row(by: Int, warp: Int, lane: Int, h: Int, r: Int) -> Int:
        return by * block_m + warp % warp_rows * warp_m + (lane_m(lane) + h * 8) * 4 + r

    def col(bx: Int, warp: Int, lane: Int, w: Int) -> Int:
        return bx * block_n + warp // warp_rows * warp_n + (lane_n(lane) + w * 4) * 4

    return Launch(
        (whole_tiles(n, block_n, "n", "block_n"), whole_tiles(m, block_m, "m", "block_m")),
        (threads, 1),
        (
            GlobalSite(
                "A[(k * (NUM_THREADS / BLOCK_K) + a_tb_idx_m) * K + a_tb_idx_k]", "load", a,
                lambda by, tid, i: by * block_m + i * a_rows + tid // block_k,
                lambda step, tid: step * block_k + tid % block_k,
                loops=a_loops, repeats=tiles,
            ),
            SharedSite(
                "a_smem[a_tb_idx_k][k * (NUM_THREADS / BLOCK_K) + a_tb_idx_m]", "store",
                lambda tid, i: tid % block_k * a_ld + i * a_rows + tid // block_k,
                loops=a_loops, repeats=tiles,
            ),
            GlobalSite(
                "B[(k * (NUM_THREADS / BLOCK_N) + b_tb_idx_k) * N + b_tb_idx_n]", "load", b,
                lambda step, tid, i: step * block_k + i * b_rows + tid // block_n,
                lambda bx, tid: bx * block_n + tid % block_n,
                loops=b_loops, repeats=tiles,
            ),
            SharedSite(
                "b_smem[k * (NUM_THREADS / BLOCK_N) + b_tb_idx_k][b_tb_idx_n]", "store",
                lambda tid, i: (i * b_rows + tid // block_n) * block_n + tid % block_n,
                loops=b_loops, repeats=tiles,
            ),
            SharedSite(
                "a_smem[warp_k][(tb_tile_idx_m + m * WARP_THREAD_M) * LANE_M]", "load",
                lambda warp, lane, warp_k, h: warp_k * a_ld
                + warp % warp_rows * warp_m + (lane_m(lane) + h * 8) * 4,
                loops=fragment, repeats=tiles, width=4,
            ),
            SharedSite(
                "b_smem[warp_k][(tb_tile_idx_n + n * WARP_THREAD_N) * LANE_N]", "load",
                lambda warp, lane, warp_k, h: warp_k * block_n
                + warp // warp_rows * warp_n + (lane_n(lane) + h * 4) * 4,
                loops=fragment, repeats=tiles, width=4,
            ),
            GlobalSite(
                "C[((warp_tile_idx_m + m * WARP_THREAD_M) * LANE_M + k) * N + ...]", "store",
                c, row, col, loops={"h": 2, "w": 2, "r": 4}, width=4,
            ),
        ),
        shared_bytes=4 * block_k * (a_ld + block_n),
    )  # fmt: skip


_128 = {"block_m": 128, "block_n": 128}

KERNELS = (
    Kernel("junstar92.naive", "one element of C a thread", _DOCUMENT, _naive),
    Kernel("junstar92.smem", "tiles of A and B in shared memory", _DOCUMENT, _smem),
    Kernel("junstar92.1d", "a column of 8 elements per thread", _DOCUMENT, _1d),
    Kernel("junstar92.2d", "8x8 elements per thread", _DOCUMENT, _2d),
    Kernel("junstar92.vectorized", "A transposed, float4 accesses", _DOCUMENT, _vectorized),
    Kernel("junstar92.vectorized_128", "the same, 128x128 tiles", _DOCUMENT, _vectorized, _128),
    Kernel("junstar92.warptiling", "64x32 warp tiles, z-order lanes", _DOCUMENT, _warptiling),
    Kernel(
        "junstar92.warptiling_128", "the same, 128x128 tiles", _DOCUMENT, _warptiling,
        {**_128, "threads": 256},
    ),
)  # fmt: skip
