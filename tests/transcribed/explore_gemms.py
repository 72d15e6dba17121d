"""ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm ."""

from __future__ import annotations

from tests.transcribed.thread_by_thread import Array, Do, Program, ceil_div


def explore_naive(m: int, n: int, k: int, size: int, coalesced: bool) -> Program:
    a, b, c = Array("A", "global", k), Array("B", "global", n), Array("C", "global", n)

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        inner, outer = tid % size, tid // size
        row = bx * size + (outer if coalesced else inner)
        col = by * size + (inner if coalesced else outer)
        if row < m and col < n:
            for k_idx in range(k):
                do("load", a, row, k_idx, k_idx)
                do("load", b, k_idx, col, k_idx)
            do("load", c, row, col)
            do("store", c, row, col)

    return (ceil_div(m, size), ceil_div(n, size)), (size * size, 1), thread


def explore_shared(m: int, n: int, k: int, size: int) -> Program:
    a, b = Array("A", "global", k), Array("B", "global", n)
    tile_a, tile_b = Array("tile_a", "shared", size), Array("tile_b", "shared", size)

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        row, col = divmod(tid, size)
        for tile in range(0, k, size):
            if bx * size + row < m and tile + col < k:
                do("load", a, bx * size + row, tile + col, tile)
            do("store", tile_a, row, col, tile)
            if tile + row < k and by * size + col < n:
                do("load", b, tile + row, by * size + col, tile)
            do("store", tile_b, row, col, tile)
            for dot in range(size):
                do("load", tile_a, row, dot, tile, dot)
                do("load", tile_b, dot, col, tile, dot)

    return (ceil_div(m, size), ceil_div(n, size)), (size * size, 1), thread


def explore_1d(
    m: int, n: int, k: int, block_m: int, block_n: int, depth: int, thread_m: int
) -> Program:
    a, b, c = Array("A", "global", k), Array("B", "global", n), Array("C", "global", n)
    tile_a, tile_b = Array("tile_a", "shared", depth), Array("tile_b", "shared", block_n)

    def thread(do: Do, bx: int, by: int, tid: int, _: int) -> None:
        thread_row, thread_col = divmod(tid, block_n)
        a_row, a_col = divmod(tid, depth)
        for tile in range(0, k, depth):
            if bx * block_m + a_row < m and tile + a_col < k:
                do("load", a, bx * block_m + a_row, tile + a_col, tile)
            do("store", tile_a, a_row, a_col, tile)
            if tile + thread_row < k and by * block_n + thread_col < n:
                do("load", b, tile + thread_row, by * block_n + thread_col, tile)
            do("store", tile_b, thread_row, thread_col, tile)
            for dot in range(depth):
                do("load", tile_b, dot, thread_col, tile, dot)
                for res in range(thread_m):
                    do("load", tile_a, thread_row * thread_m + res, dot, tile, dot, res)
        for res in range(thread_m):
            row, col = bx * block_m + thread_row * thread_m + res, by * block_n + thread_col
            if row < m and col < n:
                do("load", c, row, col, res)
                do("store", c, row, col, res)

    threads = block_m // thread_m * block_n
    return (ceil_div(m, block_m), ceil_div(n, block_n)), (threads, 1), thread
