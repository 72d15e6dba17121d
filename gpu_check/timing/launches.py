"""What a launch costs before and after its work: empty kernels, under the profiler.

`python -m gpu_check.timing.launches` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from typing import Any

from gpu_check.counters import metrics_of, run_ncu

__all__ = ["CASES", "measure_launches"]

_METRICS = ["sm__cycles_elapsed.max", "gpc__cycles_elapsed.max", "gpu__time_duration.sum"]

CASES = [
    (grid, block, shared, cluster)
    for cluster in (1, 2, 4)
    for grid, block, shared in (
        (4, 32, 0), (132, 32, 0), (132, 256, 0), (132, 1024, 0), (264, 1024, 0), (1056, 256, 0),
        (1056, 1024, 0), (4224, 256, 0), (16896, 256, 0), (16896, 1024, 0), (132, 256, 100_000),
        (1056, 256, 100_000),
    )
]  # fmt: skip
"""Blocks, threads per block, bytes of dynamic shared memory, blocks per cluster."""


def measure_launches(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case: elapsed cycles of the second launch of an empty kernel.

    Raises CountersError as `count_on_gpu` does.
    """
    command = [sys.executable, "-m", "gpu_check.timing.launches", str(device)]
    rows = run_ncu(command, _METRICS, "regex:^empty")
    found = []
    for case, row in zip(CASES, rows[1::2], strict=True):
        names = ("grid", "block", "shared", "cluster")
        cycles = metrics_of(row, _METRICS)
        found.append(
            dict(zip(names, case, strict=True))
            | dict(zip(("cycles", "gpc_cycles", "nanoseconds"), cycles, strict=True))
        )
    return found


def _launch_all(device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        for grid, block, shared, cluster in CASES:
            shape = f"__cluster_dims__({cluster}, 1, 1) " if cluster > 1 else ""
            code = f'extern "C" __global__ void {shape}empty{cluster}() {{}}'
            kernel = cupy.RawModule(code=code, options=("-std=c++17",)).get_function(
                f"empty{cluster}"
            )
            kernel.max_dynamic_shared_size_bytes = shared
            for _ in range(2):
                kernel((grid,), (block,), (), shared_mem=shared)
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
