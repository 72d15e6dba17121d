"""How fast compiled kernels replay: `python -m tests.bench.sass`.

Speeds are thread instructions per second of processor time on one core, of the difference of two
sizes, so that no set-up is in them; beside each its ratio to NumPy adding int32 arrays of 16,384
elements in the same run. Compare ratios, not runs. What a new process pays is timed in processes
of its own, with empty and with filled caches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from tabulate import tabulate

from simulator.sass.arguments import argument
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.images import load
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.lift.program import Program, decode
from simulator.sass.run.code import Code
from simulator.sass.run.grid import GridRun
from tests.sass_kernels import HERE

CASES = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}

TILES = {
    "smem": 32, "blocktile_1d": 64, "blocktile_2d": 64, "vectorized_64": 64, "vectorized_128": 128,
    "warptile_2x16": 128, "warptile_2x16_split": 128, "warptile_4x8": 128, "zorder": 64,
    "zorder_padded": 64, "double_buffered": 128,
}  # fmt: skip

TRANSPOSE = """
__global__ void turn(const float *a, float *b, int n) {
    __shared__ float s[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];
    __syncthreads();
    b[(blockIdx.x * 32 + y) * n + blockIdx.y * 32 + x] = s[x][y];
}"""

# 64 queries against 64 keys, all of it unrolled.
UNROLLED = """
__global__ void attend(const float *q, const float *k, float *o) {
    __shared__ float s[64][33];
    for (int i = 0; i < 64; ++i) s[i][threadIdx.x] = k[i * 32 + threadIdx.x];
    __syncthreads();
    float mine[32], most = -1e30f, total = 0, out[32];
    #pragma unroll
    for (int d = 0; d < 32; ++d) { mine[d] = q[threadIdx.x * 32 + d]; out[d] = 0; }
    #pragma unroll
    for (int j = 0; j < 64; ++j) {
        float dot = 0;
        #pragma unroll
        for (int d = 0; d < 32; ++d) dot += mine[d] * s[j][d];
        float next = fmaxf(most, dot), scale = exp2f(most - next), p = exp2f(dot - next);
        most = next; total = total * scale + p;
        #pragma unroll
        for (int d = 0; d < 32; ++d) out[d] = out[d] * scale + p * s[j][d];
    }
    #pragma unroll
    for (int d = 0; d < 32; ++d) o[threadIdx.x * 32 + d] = out[d] / total;
}"""


@cache
def program(name: str) -> tuple[Any, Program, Code]:
    """Return a kernel's cubin, instructions and compiled code, which all of its launches share."""
    cubin = read_cubin((HERE / "cubins" / CASES[name]["cubin"]).read_bytes())
    kernel = cubin.kernel(CASES[name]["kernel"])
    found = decode(disassemble(cubin.image, kernel.name), kernel)
    return cubin, found, Code(found)


def launched(name: str, grid: tuple[int, int], args: list[Any]) -> GridRun:
    cubin, found, code = program(name)
    block = (*CASES[name]["block"], 1, 1)[:3]
    run = GridRun(cubin, found, (*grid, 1), block, args, CASES[name]["shared"])
    run.code = code
    return run


def product_of(name: str, k: int, blocks: int = 1) -> GridRun:
    """Return a GEMM of some blocks and an inner dimension."""
    tile, rng = TILES[name], np.random.default_rng(1)
    m = tile * blocks
    args = [
        rng.random((m, k), np.float32), rng.random((k, tile), np.float32),
        np.zeros((m, tile), np.float32), np.int32(m), np.int32(tile), np.int32(k),
    ]  # fmt: skip
    return launched(name, (1, blocks), args)


def transposed(size: int) -> GridRun:
    n = 32 * size
    args = [np.ones((n, n), np.float32), np.zeros((n, n), np.float32), np.int32(n)]
    return launched("transpose on naive", (size, size), args)


def binned(size: int) -> GridRun:
    values = np.random.default_rng(2).integers(0, 256, 4096 * size).astype(np.uint8)
    args = [values, np.zeros((4, 256), np.uint32), np.int32(len(values))]
    return launched("histogram on bytes", (4, 1), args)


def in_order(size: int) -> GridRun:
    values = np.random.default_rng(3).integers(0, 2**31, 1024 * size).astype(np.int32)
    return launched("bitonic", (size, 1), [values, np.zeros_like(values)])


SIZED: dict[str, tuple[Callable[[int], GridRun], int, int]] = {
    **{name: (partial(product_of, name), 1024, 9216) for name in TILES},
    "transpose": (transposed, 4, 24),
    "histogram": (binned, 2000, 6000),
    "bitonic": (in_order, 150, 450),
}
"""What makes a launch of a size, and the two sizes: both large enough for the law's engine."""


def every(run: GridRun) -> list[tuple[int, int, int]]:
    return [(x, y, z) for z, y, x in product(*map(range, reversed(run.grid)))]


def speed(name: str, repeats: int = 4) -> float:
    make, *sizes = SIZED[name]
    make(sizes[0]).run_all([(0, 0, 0)], threads=1)  # compiles
    seconds, threads = [float("inf")] * 2, [0, 0]
    for _ in range(repeats):
        for place, size in enumerate(sizes):
            run = make(size)
            start = time.thread_time()
            run.run_all(every(run), threads=1)
            seconds[place] = min(seconds[place], time.thread_time() - start)
            threads[place] = run.done.threads
    return (threads[1] - threads[0]) / (seconds[1] - seconds[0])


def additions() -> float:
    """Return NumPy's additions per second."""
    a = np.arange(16_384, dtype=np.int32)
    b, c = a.copy(), a.copy()
    best = 0.0
    for _ in range(5):
        start = time.thread_time()
        for _ in range(2000):
            np.add(a, b, out=c)
        best = max(best, 2000 * len(a) / (time.thread_time() - start))
    return best


def cores(number: int, turns: int = 20) -> float:
    """Return how much faster several cores are where blocks are independent, and many.

    One core and several take turns, and the fastest turn of each counts: two cores of a shared
    server may be threads of one.
    """
    best = {1: float("inf"), number: float("inf")}
    for _ in range(turns):
        for threads in best:
            run = product_of("warptile_4x8", 8192, 16)
            start = time.perf_counter()
            run.run_all(every(run), threads=threads)
            best[threads] = min(best[threads], time.perf_counter() - start)
    return best[1] / best[number]


def warpgroups(size: int = 1024) -> tuple[float, float]:
    """Time all blocks of a bfloat16 product by TMA and wgmma; seconds, and NumPy's products."""
    image = (HERE / "cubins" / "wgmma_gemm.cubin").read_bytes()
    cubin = read_cubin(image)
    kernel = cubin.kernel("gemm_ss")
    decoded = decode(disassemble(image, kernel.name), kernel)
    what = f"tma:random:bf16[{size},{size}]:box=128x64:swizzle=128"
    args = [argument(what, place) for place in range(2)]
    args += [np.zeros((size, size), np.float32), np.int32(size), np.int32(size)]
    a, b = (each.array.astype(np.float32) for each in args[:2])
    grid, seconds, product_ = (size // 128, size // 128, 1), float("inf"), float("inf")
    for _ in range(3):  # the first compiles
        run = GridRun(cubin, decoded, grid, (384, 1, 1), args, 3 * 32768 + 1024)
        start = time.perf_counter()
        run.run_all(every(run))
        seconds = min(seconds, time.perf_counter() - start)
        start = time.perf_counter()
        np.matmul(a, b.T)
        product_ = min(product_, time.perf_counter() - start)
    return seconds, seconds / product_


def unrolled() -> None:
    """Time the unrolled kernel: what it takes to compile, and again from the cache."""
    cubin, _ = load(UNROLLED, "sm_80", "attend")
    kernel = cubin.kernel("attend")
    instructions = disassemble(cubin.image, kernel.name)
    args = [np.ones((32, 32), np.float32), np.ones((64, 32), np.float32),
            np.zeros((32, 32), np.float32)]  # fmt: skip
    start = time.perf_counter()
    run = GridRun(cubin, decode(instructions, kernel), (1, 1, 1), (32, 1, 1), args)
    run.run_all([(0, 0, 0)])
    compiled = int((run.code.tables != 0).sum())
    print(json.dumps([len(instructions), compiled, time.perf_counter() - start]))


def set_up() -> None:
    """Time decoding and linking the longest recorded kernel, whose blocks are in the cache."""
    cubin, found, _ = program("half_tiles")
    args = [argument(text, place) for place, text in enumerate(CASES["half_tiles"]["args"])]
    instructions = disassemble(cubin.image, found.kernel.name)
    run = launched("half_tiles", (3, 2), args)
    run.run_all([(0, 0, 0)])
    starts = [(int(at), bool(mask)) for mask, at in np.argwhere(run.code.tables)]
    start = time.perf_counter()
    code = Code(decode(instructions, found.kernel))
    for at, mask in starts:
        code.compile(at, mask)
    print(json.dumps([len(instructions), len(starts), time.perf_counter() - start]))


def process(*arguments: str, caches: str) -> tuple[str, float]:
    """Run a process of its own; what it said, and how long it took."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=True,
        env={**os.environ, "XDG_CACHE_HOME": caches, "NUMBA_CACHE_DIR": f"{caches}/numba"},
    )  # fmt: skip
    return done.stdout, time.perf_counter() - start


def processes() -> list[list[Any]]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "turn.cu"
        source.write_text(TRANSPOSE)
        given = ["random:f32[32,32]", "zeros:f32[32,32]", "i32=32"]
        arguments = [each for value in given for each in ("--arg", value)]
        transpose = ["bankwise", "sass", str(source), "--block", "32x32", *arguments]
        rows = [
            [f"bankwise sass, {what} time", process(*transpose, caches=folder)[1]]
            for what in ("first", "second")
        ]
        for part in ("unrolled", "set-up"):
            for what in ("first", "second"):
                said, _ = process("tests.bench.sass", "--part", part, caches=folder)
                size, blocks, seconds = json.loads(said)
                label = f"{part}, {size} instructions, {blocks} blocks compiled, {what} time"
                rows.append([label, seconds])
    return rows


@click.command()
@click.option("--kernel", "names", multiple=True, type=click.Choice(list(SIZED)))
@click.option("--part", type=click.Choice(["unrolled", "set-up"]), help="What a process times.")
def main(names: tuple[str, ...], part: str | None) -> None:
    """Print tables of speeds and times."""
    if part:
        {"unrolled": unrolled, "set-up": set_up}[part]()
        return
    rows = []
    for name in names or SIZED:
        before = additions()
        found = speed(name)
        rows.append([name, found / 1e9, found / max(before, additions())])
    heads = ["kernel", "thread instructions (10⁹/s)", "ratio to NumPy"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", ".2f", ".2f")))
    if not names:
        print(f"\ntwo cores, warptile_4x8: {cores(2):.2f} times one\n")
        seconds, ratio = warpgroups()
        print(f"wgmma, 1024³ bfloat16: {seconds:.2f} s, {ratio:.0f} of NumPy's products\n")
        print(tabulate(processes(), ["process", "seconds"], tablefmt="github", floatfmt=".2f"))


if __name__ == "__main__":
    main()
