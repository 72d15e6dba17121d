"""How fast a sweep is, beside a loop over `simulate`: `python -m tests.bench.sweeps`.

All ways of measuring the same grid take turns, so that a drift of the machine's speed touches
all alike; a pool of processes is started before its turn, as a user's pool would be.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate

from simulator import BankwiseError, WarpAccess, simulate, sweep

GRID: dict[str, Any] = {
    "warp_shape": ["1x32", "2x16", "4x8", "8x4", "16x2", "32x1"],
    "lane_order": ["row-major", "col-major", "z-order"],
    "lds": [32, 64, 128],
    "pad": range(33),
    "fragment": ["contiguous", "split"],
}
FUNCTION = {"stride": range(1, 1001), "width": [4]}
KERNEL = {"m": 4096, "n": 4096, "k": 4096, "padding": range(64)}


def loop() -> int:
    """What a user would write without `sweep`."""
    found = 0
    for each in itertools.product(*GRID.values()):
        try:
            simulate(**dict(zip(GRID, each, strict=True)))
        except BankwiseError:
            continue
        found += 1
    return found


def strided(stride: int, width: int) -> WarpAccess:
    return WarpAccess("LDS", tuple(lane * stride * width for lane in range(32)))


def swept(target: Any, grid: dict[str, Any], executor: Executor, *, stored: bool = False) -> int:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store" if stored else None
        return sweep(target, grid, executor=executor, store=store).combinations


@click.command()
@click.option("--rounds", default=9, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True)
def main(rounds: int, jobs: int) -> None:
    """Print a table of wall-clock times."""
    size = len(list(itertools.product(*GRID.values())))
    with ExitStack() as stack:
        one: Executor = stack.enter_context(ThreadPoolExecutor(1))
        threads: Executor = stack.enter_context(ThreadPoolExecutor(jobs))
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        stack.enter_context(pool)
        ways: dict[str, tuple[int, Callable[[], int]]] = {
            "a loop over `simulate`": (size, loop),
            "`sweep(simulate, …)`, 1 thread": (size, lambda: swept(simulate, GRID, one)),
            f"`sweep(simulate, …)`, {jobs} threads": (
                size,
                lambda: swept(simulate, GRID, threads),
            ),
            f"`sweep(simulate, …)`, {jobs} processes": (size, lambda: swept(simulate, GRID, pool)),
            f"… and a store, {jobs} processes": (
                size,
                lambda: swept(simulate, GRID, pool, stored=True),
            ),
            "a function giving one LDS, 1 thread": (
                1000,
                lambda: swept(strided, FUNCTION, one),
            ),
            "`junstar92.warptiling`, 1 thread": (
                64,
                lambda: swept("junstar92.warptiling", KERNEL, one),
            ),
            f"`junstar92.warptiling`, {jobs} processes": (
                64,
                lambda: swept("junstar92.warptiling", KERNEL, pool),
            ),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + 1):
            for name, (_, way) in ways.items():
                start = time.perf_counter()
                way()
                if turn:  # the first starts processes and fills caches
                    times[name].append(time.perf_counter() - start)
    rows = []
    for name, each in times.items():
        median = statistics.median(each)
        rows.append([name, ways[name][0], median, ways[name][0] / median])
    heads = ["measured by", "combinations", "median (s)", "combinations/s"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", "", ".2f", ",.0f"), intfmt=","))


if __name__ == "__main__":
    main()
