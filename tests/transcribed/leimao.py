"""Lei Mao, CUDA Matrix Multiplication Optimization.

https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/
"""

from __future__ import annotations

from tests.transcribed.thread_by_thread import Array, Do, Program, ceil_div


def matrices(n: int, k: int, element: int = 4) -> tuple[Array, Array, Array]:
    # Its leading dimensions: rows padded to 64 bytes of fp32, 32 bytes of fp16.
    lda, ldn = ceil_div(k, 16) * 16, ceil_div(n, 16) * 16
    return (
        Array("A", "global", lda, element),
        Array("B", "global", ldn, element),
        Array("C", "global", ldn, element),
    )


def leimao_naive(m: int, n: int, k: int, x: int, y: int, rows_along_x: bool) -> Program:
    a, b, c = matrices(n, k)

    def thread(do: Do, bx: int, by: int, tx: int, ty: int) -> None:
        along_x, along_y = bx * x + tx, by * y + ty
        row, col = (along_x, along_y) if rows_along_x else (along_y, along_x)
        if row < m and col < n:
            for k_idx in range(k):
                do("load", a, row, k_idx, k_idx)
                do("load", b, k_idx, col, k_idx)
            do("load", c, row, col)
            do("store", c, row, col)

    across, down = (m, n) if rows_along_x else (n, m)
    return (ceil_div(across, x), ceil_div(down, y)), (x, y), thread


# v02 and v03 are v04 with thread tiles of 1x1 and 1x8 (their blocks have two dimensions or one).


def leimao_v04(
    m: int, n: int, k: int, x: int, y: int, depth: int, thread_x: int, thread_y: int
) -> Program:
    a, b, c = matrices(n, k)
    a_tile, b_tile = Array("a", "shared", depth), Array("b", "shared", x)
    threads = x * y // (thread_x * thread_y)

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        for tile in range(ceil_div(k, depth)):
            for load in range(ceil_div(y * depth, threads)):
                row, col = divmod(tid + load * threads, depth)
                if by * y + row < m and tile * depth + col < k:
                    do("load", a, by * y + row, tile * depth + col, tile, load)
                do("store", a_tile, row, col, tile, load)
            for load in range(ceil_div(depth * x, threads)):
                row, col = divmod(tid + load * threads, x)
                if tile * depth + row < k and bx * x + col < n:
                    do("load", b, tile * depth + row, bx * x + col, tile, load)
                do("store", b_tile, row, col, tile, load)
            for k_i in range(depth):
                for i in range(thread_y):
                    do("load", a_tile, tid // (x // thread_x) * thread_y + i, k_i, tile, k_i, i)
                for j in range(thread_x):
                    do("load", b_tile, k_i, tid % (x // thread_x) * thread_x + j, tile, k_i, j)
        for i in range(thread_y):
            for j in range(thread_x):
                c_row = by * y + tid // (x // thread_x) * thread_y + i
                c_col = bx * x + tid % (x // thread_x) * thread_x + j
                if c_row < m and c_col < n:
                    do("load", c, c_row, c_col, i, j)
                    do("store", c, c_row, c_col, i, j)

    return (ceil_div(n, x), ceil_div(m, y)), (threads, 1), thread


def leimao_fill(
    do: Do, place: tuple[int, int, int, int], sizes: tuple[int, int, int],
    tile: tuple[int, int, int, int], arrays: tuple[Array, Array, Array, Array],
) -> None:  # fmt: skip
    """load_data_to_shared_memory_transposed_vectorized, of v05 to v07."""
    bx, by, tid, step = place
    m, n, k = sizes
    x, y, depth, threads = tile
    a, b, a_tile, b_tile = arrays
    units = 16 // a.element
    for load in range(ceil_div(y * (depth // units), threads)):
        row = (tid + load * threads) // (depth // units)
        col = (tid + load * threads) % (depth // units) * units
        if by * y + row < m and step * depth + col < k:
            do("load", a, by * y + row, step * depth + col, step, load, wide=units)
        if row < y and col < depth:
            for i in range(units):
                do("store", a_tile, col + i, row, step, load, i)
    for load in range(ceil_div(depth * (x // units), threads)):
        row = (tid + load * threads) // (x // units)
        col = (tid + load * threads) % (x // units) * units
        if step * depth + row < k and bx * x + col < n:
            do("load", b, step * depth + row, bx * x + col, step, load, wide=units)
        if row < depth and col < x:
            do("store", b_tile, row, col, step, load, wide=units)


def leimao_v05(
    m: int, n: int, k: int, x: int, y: int, depth: int, thread_x: int, thread_y: int
) -> Program:
    a, b, c = matrices(n, k)
    a_tile, b_tile = Array("a", "shared", y), Array("b", "shared", x)
    threads = x * y // (thread_x * thread_y)

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        own_row, own_col = (
            tid // (x // thread_x) * thread_y,
            tid % (x // thread_x) * thread_x,
        )
        for step in range(ceil_div(k, depth)):
            place, tile = (bx, by, tid, step), (x, y, depth, threads)
            leimao_fill(do, place, (m, n, k), tile, (a, b, a_tile, b_tile))
            for k_i in range(depth):
                for i in range(thread_y):
                    do("load", a_tile, k_i, own_row + i, step, k_i, i)
                for j in range(thread_x // 4):
                    do("load", b_tile, k_i, own_col + 4 * j, step, k_i, j, wide=4)
        for i in range(thread_y):
            for j in range(thread_x // 4):
                c_row, c_col = by * y + own_row + i, bx * x + own_col + 4 * j
                do("load", c, c_row, c_col, i, j, wide=4)  # before the check
                if c_row < m and c_col < n:
                    do("store", c, c_row, c_col, i, j, wide=4)

    return (ceil_div(n, x), ceil_div(m, y)), (threads, 1), thread


def leimao_v06(
    m: int, n: int, k: int, x: int, y: int, depth: int, warp_x: int, warp_y: int,
    thread_x: int, thread_y: int, lanes_x: int, lanes_y: int,
) -> Program:  # fmt: skip
    a, b, c = matrices(n, k)
    a_tile, b_tile = Array("a", "shared", y), Array("b", "shared", x)
    threads = x // warp_x * (y // warp_y) * 32
    repeats_x, repeats_y = warp_x // (thread_x * lanes_x), warp_y // (thread_y * lanes_y)

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        warp_row, warp_col = divmod(tid // 32, x // warp_x)
        lane_row, lane_col = divmod(tid % 32, lanes_x)
        rows = [
            warp_row * warp_y + i * (warp_y // repeats_y) + lane_row * thread_y
            for i in range(repeats_y)
        ]
        cols = [
            warp_col * warp_x + j * (warp_x // repeats_x) + lane_col * thread_x
            for j in range(repeats_x)
        ]
        for step in range(ceil_div(k, depth)):
            place, tile = (bx, by, tid, step), (x, y, depth, threads)
            leimao_fill(do, place, (m, n, k), tile, (a, b, a_tile, b_tile))
            for k_i in range(depth):
                for i, row in enumerate(rows):
                    for v in range(thread_y // 4):
                        do("load", a_tile, k_i, row + 4 * v, step, k_i, i, v, wide=4)
                for j, col in enumerate(cols):
                    for v in range(thread_x // 4):
                        do("load", b_tile, k_i, col + 4 * v, step, k_i, j, v, wide=4)
        for i, row in enumerate(rows):
            for j, col in enumerate(cols):
                for down in range(thread_y):
                    for v in range(thread_x // 4):
                        c_row, c_col = by * y + row + down, bx * x + col + 4 * v
                        if c_row < m and c_col < n:
                            do("load", c, c_row, c_col, i, j, down, v, wide=4)
                            do("store", c, c_row, c_col, i, j, down, v, wide=4)

    return (ceil_div(n, x), ceil_div(m, y)), (threads, 1), thread


def leimao_v07(m: int, n: int, k: int, x: int, y: int, skew: int) -> Program:
    """With 16 deep tiles and 32x64 warp tiles, as there; 16 bits an element."""
    warp_x, warp_y = 32, 64
    a, b, _ = matrices(n, k, element=2)
    c = Array("C", "global", n, 2)  # load_matrix_sync(c_frag, ..., n, mem_row_major)
    a_tile, b_tile = Array("a", "shared", y + skew, 2), Array("b", "shared", x + skew, 2)
    threads = x // warp_x * (y // warp_y) * 32

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        warp, lane = divmod(tid, 32)
        warp_row, warp_col = divmod(warp, x // warp_x)
        # ldmatrix .x4: lanes 0-7 point at the rows of the first 8x8 matrix, 8-15 of the second
        # and so on (NVIDIA, PTX ISA, "ldmatrix"); here the two along k are first.
        matrix, line = divmod(lane, 8)
        down, across = line + matrix % 2 * 8, matrix // 2 * 8
        for step in range(ceil_div(k, 16)):
            place, tile = (bx, by, tid, step), (x, y, 16, threads)
            leimao_fill(do, place, (m, n, k), tile, (a, b, a_tile, b_tile))
            for i in range(warp_y // 16):
                col = warp_row * warp_y + i * 16 + across
                do("load", a_tile, down, col, step, i, op="LDSM.16.MT88.4")
                for j in range(warp_x // 16):
                    col = warp_col * warp_x + j * 16 + across
                    do("load", b_tile, down, col, step, i, j, op="LDSM.16.MT88.4")
        for i in range(warp_y // 16):
            for j in range(warp_x // 16):
                top = by * y + warp_row * warp_y + i * 16
                left = bx * x + warp_col * warp_x + j * 16
                # NVIDIA, PTX ISA, "Matrix Fragments for mma.m16n8k16", accumulators of a lane:
                # groupID = lane >> 2, threadID_in_group = lane % 4; row = groupID for c0, c1 and
                # groupID + 8 for c2, c3; col = threadID_in_group * 2 + (i & 1). Two of them
                # are 16 columns wide; c0, c1 and c2, c3 are neighbours: one access each.
                for right in (0, 8):
                    for half in (0, 8):
                        row, col = top + (lane >> 2) + half, left + lane % 4 * 2 + right
                        do("load", c, row, col, i, j, right, half, wide=2)
                        do("store", c, row, col, i, j, right, half, wide=2)

    return (n // x, m // y), (threads, 1), thread
