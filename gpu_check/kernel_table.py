"""Whole kernels: the model's wavefronts, the counters', and the time they explain, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_check.device import open_gpu
from gpu_check.gemm import GEMMS, SASS, count_gemms, run_gemm

__all__ = ["COUNTED_SIZE", "TIMED_SIZE", "kernel_rows", "measure_kernels"]

COUNTED_SIZE = 1024
TIMED_SIZE = 4096
"""m = n = k: small for counters, which run a kernel many times; large for a full chip."""


def measure_kernels(
    names: Iterable[str], *, counters: bool, device: int = 0
) -> list[dict[str, Any]]:
    """Check, time and (if asked) count kernels: a row each, as kept in h200_kernels.csv."""
    multiprocessors = open_gpu(device).multiprocessors
    rows: list[dict[str, Any]] = []
    for name in names:
        run = run_gemm(name, TIMED_SIZE, device=device)
        rows.append(
            {
                "kernel": name,
                "timed_size": TIMED_SIZE,
                "counted_size": COUNTED_SIZE,
                "error": run.error,
                "milliseconds": run.milliseconds,
                "spread": run.spread,
                "cycles": run.cycles,
                "multiprocessors": multiprocessors,
            }
        )
    if counters:
        counted = count_gemms([row["kernel"] for row in rows], COUNTED_SIZE, device=device)
        for row in rows:
            row |= counted[row["kernel"]]
    return rows


def kernel_rows(measured: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Put the model beside measured rows.

    `pipe` is the time that the model's wavefronts keep one SM's pipe busy, as a share of the
    kernel's: wavefronts / SMs in use / cycles. `equal` is None where nothing was counted.
    """
    return [_row(dict(row)) for row in measured]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    gemm = GEMMS[str(row["kernel"])]
    timed = gemm.replay(int(row["timed_size"]))
    totals = timed.totals()
    blocks = timed.grid[0] * timed.grid[1]
    busy = min(blocks, int(row["multiprocessors"]))
    cycles = float(row["cycles"])
    shown: dict[str, Any] = {
        "kernel": row["kernel"],
        "catalogue": gemm.kernel,
        "milliseconds": round(float(row["milliseconds"]), 3),
        "model_cycles": round(totals["all"]["wavefronts"] / busy),
        "cycles": round(cycles),
        "pipe": f"{totals['all']['wavefronts'] / busy / cycles:.0%}",
        "n_way": round(totals["all"]["wavefronts"] / max(1, totals["all"]["requests"]), 2),
        "equal": None,
    }
    if "sass_ld" in row:
        model = gemm.replay(int(row["counted_size"])).totals()
        sass = {kind: int(row[f"sass_{kind}"]) for kind in SASS}
        loads, stores = sass["ld"] + sass["ldsm"], sass["st"]
        shown |= {
            "model": model["all"]["wavefronts"],
            "counter": loads + stores,
            "hardware_counter": int(row["counter_ld"]) + int(row["counter_st"]),
            "equal": (loads, stores) == (model["load"]["wavefronts"], model["store"]["wavefronts"]),
        }
    return shown
