"""How fast compiled kernels replay: `python -m tests.bench.sass`.

The GEMM kernels beside tests/silicon/sass. `steady` is one block after another on one core, in
thread instructions a second; `launch` is every block of M = N = K = 1024 on all cores; `block`
is one block with K = 4096, in a new process whose compiled machine comes from the cache.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import click
import numpy as np
from tabulate import tabulate

from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.decode.decoder import lower
from simulator.sass.launch import GridRun, dim3
from tests.sass_kernels import HERE

TILES = {
    "smem": 32, "blocktile_1d": 64, "blocktile_2d": 64, "vectorized_64": 64, "vectorized_128": 128,
    "warptile_2x16": 128, "warptile_2x16_split": 128, "warptile_4x8": 128, "zorder": 64,
    "zorder_padded": 64, "double_buffered": 128,
}  # fmt: skip


def launch(name: str, m: int, n: int, k: int) -> GridRun:
    case = next(
        each for each in json.loads((HERE / "cases.json").read_text()) if each["name"] == name
    )
    cubin = read_cubin((HERE / "cubins" / case["cubin"]).read_bytes())
    kernel = cubin.kernel(case["kernel"])
    rng = np.random.default_rng(1)
    args: list[Any] = [
        rng.random((m, k), np.float32), rng.random((k, n), np.float32),
        np.zeros((m, n), np.float32), np.int32(m), np.int32(n), np.int32(k),
    ]  # fmt: skip
    tile = TILES[name]
    grid = dim3((n // tile, m // tile), "grid")
    block = dim3(tuple(case["block"]), "block")
    return GridRun(cubin, lower(disassemble(cubin.image, kernel.name), kernel), grid, block, args)


def blocks(of: GridRun) -> list[tuple[int, int, int]]:
    return [(x, y, 0) for y in range(of.grid[1]) for x in range(of.grid[0])]


def one_block() -> None:
    """Time one block with K = 4096; the clock starts before the machine is loaded."""
    ready = launch("vectorized_128", 128, 128, 4096)
    start = time.perf_counter()
    ready.run_each([(0, 0, 0)])
    print(time.perf_counter() - start)


@click.command()
@click.option("--kernel", "names", multiple=True, type=click.Choice(sorted(TILES)))
@click.option("--block", "single", is_flag=True, help="The process that times one block.")
def main(names: tuple[str, ...], single: bool) -> None:
    """Print a table of speeds, times and memory."""
    if single:
        one_block()
        return
    rows = []
    for name in names or TILES:
        run = launch(name, 1024, 1024, 1024)
        run.run_all(blocks(run)[:1], threads=1)
        before, start = run.done.threads, time.thread_time()
        run.run_all(blocks(run)[1 : max(2, len(blocks(run)) // 16)], threads=1)
        steady = (run.done.threads - before) / (time.thread_time() - start)
        whole = launch(name, 1024, 1024, 1024)
        start = time.perf_counter()
        whole.run_all(blocks(whole))
        rows.append([name, steady / 1e6, time.perf_counter() - start])
        wanted = whole.arguments[0] @ whole.arguments[1]
        np.testing.assert_allclose(whole.outputs()[2], wanted, rtol=1e-4)
    heads = ["kernel", "steady (million/s)", "1024³ launch (s)"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", ".0f", ".1f")))
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.sass", "--block"], capture_output=True, check=True
    )
    print(f"\none block, K = 4096, new process: {float(done.stdout):.2f} s")
    print(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
