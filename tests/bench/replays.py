"""How long `replay` takes, whatever the size: `python -m tests.bench.replays`.

Each kernel of the catalogue is replayed at three sizes in turn, and the fastest of each taken:
what else the machine does only adds to a time. The ratio is that of the largest size to the
smallest.
"""

from __future__ import annotations

import statistics
import time

import click
from tabulate import tabulate

from simulator import kernels, replay

SIZES = {"1024^3": 2**10, "4096^3": 2**12, "(2^20)^3": 2**20}


def milliseconds(name: str, size: int) -> float:
    start = time.perf_counter()
    replay(name, m=size, n=size, k=size)
    return 1000 * (time.perf_counter() - start)


@click.command()
@click.option("--rounds", default=25, show_default=True)
def main(rounds: int) -> None:
    """Print a table of times by kernel and size."""
    cases = [(name, size) for name in kernels.names() for size in SIZES.values()]
    for case in cases:
        milliseconds(*case)  # import and warm up
    taken: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case, times in taken.items():
            times.append(milliseconds(*case))
    rows = []
    for name in kernels.names():
        fastest = [min(taken[name, size]) for size in SIZES.values()]
        rows.append([name, *fastest, fastest[-1] / fastest[0]])
    slowest = max(rows, key=lambda row: row[2])
    ratios = [row[-1] for row in rows]
    heads = ["kernel", *(f"{size} (ms)" for size in SIZES), "ratio"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", ".1f", ".1f", ".1f", ".2f")))
    print(f"\nSlowest at 4096^3: {slowest[0]}, {slowest[2]:.1f} ms.")
    print(
        f"Ratios: {min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}."
    )


if __name__ == "__main__":
    main()
