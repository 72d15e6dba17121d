"""junstar92, Optimizing a Matmul Kernel (in Korean).

https://github.com/junstar92/nvidia-libraries-study
Its naive kernel without the read of C is that of 猛猿, 从啥也不会到CUDA GEMM优化,
https://zhuanlan.zhihu.com/p/703256080
"""

from __future__ import annotations

from tests.transcribed.thread_by_thread import Array, Do, Program, ceil_div


def naive(m: int, n: int, k: int, x: int, y: int, reads_c: bool) -> Program:
    a, b, c = Array("A", "global", k), Array("B", "global", n), Array("C", "global", n)

    def thread(do: Do, bx: int, by: int, tx: int, ty: int) -> None:
        row, col = y * by + ty, x * bx + tx
        if row < m and col < n:
            for i in range(k):
                do("load", a, row, i, i)
                do("load", b, i, col, i)
            if reads_c:
                do("load", c, row, col)
            do("store", c, row, col)

    return (ceil_div(n, x), ceil_div(m, y)), (x, y), thread


def junstar92_smem(m: int, n: int, k: int, size: int) -> Program:
    a, b, c = Array("A", "global", k), Array("B", "global", n), Array("C", "global", n)
    a_s, b_s = Array("As", "shared", size), Array("Bs", "shared", size)

    def thread(do: Do, bx: int, by: int, tx: int, ty: int) -> None:
        for step in range(ceil_div(k, size)):
            a_row, a_col = size * by + ty, size * step + tx
            b_row, b_col = size * step + ty, size * bx + tx
            if a_row < m and a_col < k:
                do("load", a, a_row, a_col, step)
            do("store", a_s, ty, tx, step)
            if b_row < k and b_col < n:
                do("load", b, b_row, b_col, step)
            do("store", b_s, ty, tx, step)
            for i in range(size):
                do("load", a_s, ty, i, step, i)
                do("load", b_s, i, tx, step, i)
        c_row, c_col = size * by + ty, size * bx + tx
        if c_row < m and c_col < n:
            do("load", c, c_row, c_col)
            do("store", c, c_row, c_col)

    return (ceil_div(n, size), ceil_div(m, size)), (size, size), thread


def junstar92_1d(m: int, n: int, k: int, block: int, depth: int) -> Program:
    """With BLOCK_M = BLOCK_N = block and THREAD_M = BLOCK_K = depth."""
    a, b, c = Array("A", "global", k), Array("B", "global", n), Array("C", "global", n)
    a_s, b_s = Array("As", "shared", depth), Array("Bs", "shared", block)

    def thread(do: Do, bx: int, by: int, tx: int, ty: int) -> None:
        a_thread_row, a_thread_col = divmod(block * ty + tx, depth)
        for step in range(ceil_div(k, depth)):
            a_row, a_col = block * by + a_thread_row, depth * step + a_thread_col
            b_row, b_col = depth * step + ty, block * bx + tx
            if a_row < m and a_col < k:
                do("load", a, a_row, a_col, step)
            do("store", a_s, a_thread_row, a_thread_col, step)
            if b_row < k and b_col < n:
                do("load", b, b_row, b_col, step)
            do("store", b_s, ty, tx, step)
            for i in range(depth):
                do("load", b_s, i, tx, step, i)
                for t in range(depth):
                    do("load", a_s, ty + depth * t, i, step, i, t)
        for t in range(depth):
            c_row, c_col = block * by + t * depth + ty, block * bx + tx
            if c_row < m and c_col < n:
                do("load", c, c_row, c_col, t)
                do("store", c, c_row, c_col, t)

    return (ceil_div(n, block), ceil_div(m, block)), (block, block // depth), thread


def junstar92_2d(
    m: int, n: int, k: int, block_m: int, block_n: int, depth: int, thread_m: int, thread_n: int
) -> Program:
    a, b, c = Array("A", "global", k), Array("B", "global", n), Array("C", "global", n)
    a_s, b_s = Array("As", "shared", depth), Array("Bs", "shared", block_n)
    cols = block_n // thread_n

    def thread(do: Do, bx: int, by: int, tx: int, ty: int) -> None:
        tid = cols * ty + tx
        a_row, a_col = divmod(tid, depth)
        b_row, b_col = divmod(tid, cols)
        for step in range(ceil_div(k, depth)):
            for o in range(0, block_m, block_m // thread_m):
                row, col = block_m * by + a_row + o, depth * step + a_col
                if row < m and col < k:
                    do("load", a, row, col, step, o)
                do("store", a_s, a_row + o, a_col, step, o)
            for o in range(0, block_n, block_n // thread_n):
                row, col = depth * step + b_row, block_n * bx + b_col + o
                if row < k and col < n:
                    do("load", b, row, col, step, o)
                do("store", b_s, b_row, b_col + o, step, o)
            for i in range(depth):
                for t in range(thread_m):
                    do("load", a_s, a_row * thread_m + t, i, step, i, t)
                for t in range(thread_n):
                    do("load", b_s, i, b_col * thread_n + t, step, i, t)
        for t_m in range(thread_m):
            for t_n in range(thread_n):
                row, col = block_m * by + thread_m * ty + t_m, block_n * bx + thread_n * tx + t_n
                if row < m and col < n:
                    do("load", c, row, col, t_m, t_n)
                    do("store", c, row, col, t_m, t_n)

    return (ceil_div(n, block_n), ceil_div(m, block_m)), (cols, block_m // thread_m), thread
