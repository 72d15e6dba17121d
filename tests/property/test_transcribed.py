"""Descriptions against the documents' CUDA, run thread by thread.

The other tests take a site's index functions and bounds from the description itself. Here the
loops, indices and `if`s of some kernels are written once more, as plain Python beside their
source, and every access of every thread is recorded. What `replay` counts must equal that, at
sizes which are no multiple of a tile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import GlobalSite, count, kernels, replay


@dataclass(frozen=True)
class Array:
    """A two-dimensional array of C, rows of `ld` elements."""

    name: str
    memory: str
    ld: int
    element: int = 4


Do = Callable[..., None]
"""(kind, array, row, col, turn, wide=1, op=None): one thread moves `wide` elements.

`turn` holds the loop indices: lanes of a warp with the same one execute one instruction.
"""

Program = tuple[tuple[int, int], tuple[int, int], Callable[..., None]]
"""Grid, block, and what a thread does: (do, bx, by, tx, ty)."""


def ceil_div(size: int, tile: int) -> int:
    return (size + tile - 1) // tile


@cache
def shared_cost(op: str, addresses: tuple[int, ...], mask: int) -> tuple[int, ...]:
    cost = count(op, addresses, mask, engine="python")
    return 1, int(cost.wavefronts), int(cost.ideal), int(cost.bank_conflicts)


def global_cost(addresses: list[int], width: int) -> tuple[int, ...]:
    moved = {address + byte for address in addresses for byte in range(width)}
    return 1, len({byte // 32 for byte in moved}), len({byte // 128 for byte in moved})


def run(program: Program) -> list[tuple[Any, ...]]:
    """Give a row for each array and kind: what all warps of the grid did to it."""
    grid, block, thread = program
    totals: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    threads = block[0] * block[1]
    for by in range(grid[1]):
        for bx in range(grid[0]):
            for first in range(0, threads, 32):
                accesses: dict[Any, dict[int, int]] = defaultdict(dict)
                for tid in range(first, min(first + 32, threads)):

                    def do(
                        kind: str, array: Array, row: int, col: int, *turn: int,
                        wide: int = 1, op: str | None = None, lane: int = tid - first,
                        accesses: Any = accesses,
                    ) -> None:  # fmt: skip
                        address = (row * array.ld + col) * array.element
                        accesses[kind, array, turn, wide, op][lane] = address

                    thread(do, bx, by, tid % block[0], tid // block[0])
                for (kind, array, _, wide, op), lanes in accesses.items():
                    width = wide * array.element
                    if array.memory == "shared":
                        wide_suffix = {2: ".U16", 4: "", 8: ".64", 16: ".128"}[width]
                        op = op or {"load": "LDS", "store": "STS"}[kind] + wide_suffix
                        every = tuple(lanes.get(lane, 0) for lane in range(32))
                        cost = shared_cost(op, every, sum(1 << lane for lane in lanes))
                    else:
                        cost = global_cost(list(lanes.values()), width)
                    for place, figure in enumerate(cost):
                        totals[array.memory, kind, array.name][place] += figure
    return sorted((memory, kind, *figures) for (memory, kind, _), figures in totals.items())


def replayed(name: str, m: int, n: int, k: int, **tiles: int) -> list[tuple[Any, ...]]:
    report = replay(name, m=m, n=n, k=k, form="written", **tiles)
    rows = []
    for site in report.sites:
        shared = site.wavefronts, site.ideal, site.bank_conflicts
        moved = shared if site.memory == "shared" else (site.sectors, site.lines, 0)
        if site.requests:
            rows.append((site.memory, site.kind, site.requests, *moved))
    return sorted(rows)


# Lei Mao, CUDA Matrix Multiplication Optimization
# https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/


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


# junstar92, Optimizing a Matmul Kernel (in Korean)
# https://github.com/junstar92/nvidia-libraries-study
# and its naive kernel without the read of C: 猛猿, 从啥也不会到CUDA GEMM优化
# https://zhuanlan.zhihu.com/p/703256080


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


# ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm


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


CHECKED: dict[str, tuple[str, Callable[..., Program], tuple[Any, ...], dict[str, int]]] = {
    "leimao.v00": (
        "leimao.v00", leimao_naive, (16, 8, True), {"block_x": 16, "block_y": 8},
    ),
    "leimao.v01": (
        "leimao.v01", leimao_naive, (16, 8, False), {"block_x": 16, "block_y": 8},
    ),
    "leimao.v02": (
        "leimao.v02", leimao_v04, (8, 8, 16, 1, 1), {"block_n": 8, "block_m": 8, "block_k": 16},
    ),
    "leimao.v03": (
        "leimao.v03", leimao_v04, (16, 16, 4, 1, 4),
        {"block_n": 16, "block_m": 16, "block_k": 4, "thread_m": 4},
    ),
    "leimao.v04": (
        "leimao.v04", leimao_v04, (32, 16, 8, 4, 4),
        {"block_n": 32, "block_m": 16, "block_k": 8, "thread_n": 4, "thread_m": 4},
    ),
    "leimao.v05": (
        "leimao.v05", leimao_v05, (32, 16, 8, 4, 4),
        {"block_n": 32, "block_m": 16, "block_k": 8, "thread_n": 4, "thread_m": 4},
    ),
    "leimao.v05, tall": (  # threads left over in the last load
        "leimao.v05", leimao_v05, (16, 24, 8, 4, 4),
        {"block_n": 16, "block_m": 24, "block_k": 8, "thread_n": 4, "thread_m": 4},
    ),
    "leimao.v06": (
        "leimao.v06", leimao_v06, (64, 32, 8, 32, 32, 4, 4, 4, 8),
        {
            "block_n": 64, "block_m": 32, "block_k": 8, "warp_n": 32, "warp_m": 32,
            "thread_n": 4, "thread_m": 4,
        },
    ),
    "illustrated.naive": (
        "illustrated.naive", naive, (16, 8, False), {"block_n": 16, "block_m": 8},
    ),
    "junstar92.naive": (
        "junstar92.naive", naive, (16, 8, True), {"block_x": 16, "block_y": 8},
    ),
    "junstar92.smem": ("junstar92.smem", junstar92_smem, (8,), {"block_size": 8}),
    "junstar92.1d": (
        "junstar92.1d", junstar92_1d, (16, 4),
        {"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4},
    ),
    "junstar92.2d": (
        "junstar92.2d", junstar92_2d, (16, 32, 4, 4, 8),
        {"block_m": 16, "block_n": 32, "block_k": 4, "thread_m": 4, "thread_n": 8},
    ),
    "explore-gemm.naive": (
        "explore-gemm.naive", explore_naive, (8, False), {"block_size": 8},
    ),
    "explore-gemm.coalesced": (
        "explore-gemm.coalesced", explore_naive, (8, True), {"block_size": 8},
    ),
    "explore-gemm.shared": (
        "explore-gemm.shared", explore_shared, (8,), {"block_size": 8},
    ),
    "explore-gemm.1d": (
        "explore-gemm.1d", explore_1d, (16, 16, 4, 4),
        {"block_m": 16, "block_n": 16, "block_k": 4, "thread_m": 4},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHECKED)
def test_kernels_with_bounds_checks_are_what_their_source_does(case: str) -> None:
    name, transcribed, tile, tiles = CHECKED[case]

    @settings(max_examples=6, deadline=None)
    @given(st.tuples(*[st.integers(1, 50)] * 3))
    def check(sizes: tuple[int, int, int]) -> None:
        assert run(transcribed(*sizes, *tile)) == replayed(name, *sizes, **tiles)

    check()


@pytest.mark.parametrize(
    ("name", "transcribed", "tile", "sizes"),
    [
        ("leimao.v04", leimao_v04, (128, 128, 16, 8, 8), (130, 70, 20)),
        ("leimao.v05", leimao_v05, (128, 128, 16, 8, 8), (100, 150, 37)),
        ("leimao.v06", leimao_v06, (128, 128, 16, 32, 64, 8, 8, 4, 8), (130, 70, 37)),
        ("leimao.v07", leimao_v07, (128, 128, 16), (128, 256, 40)),
        ("leimao.v07_unskewed", leimao_v07, (128, 128, 0), (128, 128, 16)),
        ("junstar92.1d", junstar92_1d, (64, 8), (70, 100, 19)),
        ("junstar92.2d", junstar92_2d, (64, 64, 8, 8, 8), (100, 70, 37)),
        ("explore-gemm.1d", explore_1d, (64, 64, 8, 8), (70, 100, 19)),
        ("explore-gemm.shared", explore_shared, (32,), (40, 33, 50)),
    ],
)
def test_the_documents_own_tiles(
    name: str, transcribed: Callable[..., Program], tile: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    assert run(transcribed(*sizes, *tile)) == replayed(name, *sizes)


def test_every_kernel_with_bounds_checks_is_here() -> None:
    def checked(name: str) -> bool:
        launch = kernels.get(name).launch(512, 512, 64, **kernels.get(name).parameters)
        sites = [site for site in launch.sites if isinstance(site, GlobalSite)]
        return any(site.guarded or site.bounds for site in sites)

    # v07 checks A and B only, so m and n are multiples: it is among those with their own tiles.
    of_v07 = {"leimao.v07", "leimao.v07_unskewed"}
    assert {name for name, *_ in CHECKED.values()} | of_v07 == set(filter(checked, kernels.names()))
