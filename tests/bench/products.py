"""What a bfloat16 GEMM of TMA and wgmma takes to replay: `python -m tests.bench.products`.

After a first run that compiles, each size is timed three times, and the best is held against its
limit and against NumPy's product of the same size. The load of the machine is printed too.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from tabulate import tabulate

from simulator import replay_compiled
from simulator.sass.arguments import argument
from tests.sass_kernels import HERE

LIMITS = ((1024, "all", 5.0), (2048, None, 3.0), (2048, "all", 30.0))
"""Size, blocks (None: sampled ones), and the most seconds on two cores."""


def seconds(size: int, blocks: str | None, times: int = 3) -> tuple[float, float]:
    """Return the best time of a replay, and that of NumPy's product."""
    what = f"tma:random:bf16[{size},{size}]:box=128x64:swizzle=128"
    args = [argument(what, place) for place in range(2)]
    args += [np.zeros((size, size), np.float32), np.int32(size), np.int32(size)]
    a, b = (each.array.astype(np.float32) for each in args[:2])
    chosen: dict[str, Any] = {} if blocks is None else {"blocks": blocks}
    best = product = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        replay_compiled(
            HERE / "cubins" / "wgmma_gemm.cubin", kernel="gemm_ss", args=args, block=384,
            grid=(size // 128, size // 128), shared_bytes=3 * 32768 + 1024, **chosen,
        )  # fmt: skip
        best = min(best, time.perf_counter() - start)
        start = time.perf_counter()
        np.matmul(a, b.T)
        product = min(product, time.perf_counter() - start)
    return best, product


def main() -> None:
    """Print the table."""
    seconds(256, "all", 1)
    rows = []
    for size, blocks, most in LIMITS:
        best, product = seconds(size, blocks)
        rows.append([f"{size}³", blocks or "sampled", best, most, best / product])
    heads = ["product", "blocks", "seconds", "at most", "of NumPy's product"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", "", ".2f", ".0f", ".0f")))
    print(f"\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
