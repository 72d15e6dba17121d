"""How fast the search is: `python -m tests.bench.search`.

Two accesses that no swizzle can serve at their floor together, to tiles of 32 columns of floats:
so the search has to exclude the whole family. Once as `optimize` does it, by branches; once with
every swizzle priced by the closed form, which is what a search over as many layouts costs where
nothing can be excluded. All processors are used, as by default.
"""

from __future__ import annotations

import time

import click
import numpy as np
from tabulate import tabulate

from simulator.search import Access, optimize
from simulator.search.accesses import group
from simulator.search.linear import LinearProblem, linear_problem

# Both read 16 columns of two rows; the second row's are the same 16, or the other 16.
ACCESSES = [
    Access("LDS", "lane%16 + lane/16*32"),
    Access("LDS", "lane%16 + lane/16*48"),
]
CHUNK = 1 << 18


def problem(rows: int) -> LinearProblem:
    found = linear_problem(
        [group(each, {}, (rows, 32), 4) for each in ACCESSES], 32 * rows, 4, "cycles", "silicon"
    )
    assert found is not None
    return found


def price_all(linear: LinearProblem, most: int) -> tuple[int, int]:
    """Price the first `most` swizzles of the family; give their number and the least cost."""
    sources, targets = linear.bits - 7, 7 - linear.base
    layouts = min(most, linear.layouts)
    least = 1 << 62
    for first in range(0, layouts, CHUNK):
        numbers = np.arange(first, min(first + CHUNK, layouts))
        columns = np.stack(
            [numbers >> targets * bit & (1 << targets) - 1 for bit in range(sources)], axis=1
        )
        least = min(least, int(linear.price(columns << linear.base).min()))
    return layouts, least


@click.command()
@click.option("--most", default=10_000_000, show_default=True, help="Swizzles priced one by one.")
def main(most: int) -> None:
    """Print seconds, and what was found, for tiles of growing size."""
    optimize(ACCESSES, tile="8x32", space={"swizzle": "xor"})  # load what Numba compiled
    price_all(problem(32), CHUNK)
    rows = []
    for tile_rows in (32, 128, 1024):
        start = time.perf_counter()
        found = optimize(ACCESSES, tile=f"{tile_rows}x32", space={"swizzle": "xor"})
        seconds = time.perf_counter() - start
        layouts = found.certificate.layouts
        rows.append([f"{tile_rows}x32", "optimize", f"{layouts:,}", found.cost, seconds])
        if tile_rows == 32:
            start = time.perf_counter()
            priced, least = price_all(problem(tile_rows), most)
            seconds = time.perf_counter() - start
            rows.append([f"{tile_rows}x32", "one by one", f"{priced:,}", least, seconds])
    print(
        tabulate(
            rows, ["tile", "method", "swizzles", "cycles", "seconds"], tablefmt="github",
            floatfmt=".3f",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
