"""Where the time of whole kernels goes on a GPU: cycles, pipes, stalls, bytes, by the profiler.

Each kernel is launched twice; the second launch is read, with clocks and caches as they are.
"""

from __future__ import annotations

import sys
from typing import Any

from gpu_check.counters import run_ncu
from gpu_check.gemm import GEMMS, run_gemm

__all__ = ["METRICS", "measure_gemms", "number"]

_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
_PIPES = ("alu", "fma", "fmaheavy", "fp16", "fp64", "lsu", "xu", "tensor_op_hmma", "uniform", "adu")

METRICS = {
    "cycles": "sm__cycles_elapsed.max",
    "active_cycles": "sm__cycles_active.avg",
    "nanoseconds": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue_active": "smsp__issue_active.sum",
    "warps_active": "sm__warps_active.avg.per_cycle_active",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_hits": "lts__t_sectors_lookup_hit.sum",
    "dram_read": "dram__bytes_read.sum",
    "dram_write": "dram__bytes_write.sum",
    **{f"pipe_{pipe}": f"sm__inst_executed_pipe_{pipe}.sum" for pipe in _PIPES},
    **{
        f"stall_{reason}": f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
        for reason in _REASONS
    },
}
"""Column → the profiler's metric."""


def measure_gemms(sizes: tuple[int, ...] = (1024, 4096), device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel of `GEMMS` and size, with the columns of METRICS.

    A metric that this chip or profiler does not know is None. Raises CountersError.
    """
    rows = []
    for size in sizes:
        entries = "|".join(sorted({gemm.entry for gemm in GEMMS.values()}))
        command = [sys.executable, "-m", "gpu_check.timing.stalls", str(device), str(size)]
        seen = run_ncu(command, list(METRICS.values()), f"regex:^({entries})$")[1::2]
        for name, row in zip(GEMMS, seen, strict=True):
            cells = {column: number(row.get(metric)) for column, metric in METRICS.items()}
            rows.append({"kernel": name, "size": size, **cells})
    return rows


def number(cell: str | None) -> float | None:
    """Read what the profiler printed in a cell; None where it is not a number."""
    try:
        return float((cell or "").replace(",", ""))
    except ValueError:
        return None


if __name__ == "__main__":  # what ncu watches: two launches of each kernel
    for _name in GEMMS:
        run_gemm(_name, int(sys.argv[2]), device=int(sys.argv[1]), rounds=1, check=False)
