"""Hold bounds and estimates of time to a chip.

    python -m gpu_check.timing.errors estimate CASES.json ESTIMATES.csv [CHIP [CASE...]]
    python -m gpu_check.timing.errors compare ESTIMATES.csv MEASURED.csv

CASES.json and MEASURED.csv are those of `gpu_check.timing.kernels`. The first needs no GPU, and
writes what the model says, so that it is known before anything is measured; the second prints a row
per kernel, the pairs, and what `summary` says.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from gpu_check.timing.kernels import read_cases
from layouts.errors import plural
from simulator.sass.arguments import argument
from simulator.sass.replay import replay_compiled

__all__ = ["beside", "modelled", "pairs", "recorded", "summary"]

_NOT_REASONS = ("selected",)


def recorded(path: str | Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a table by their case; numbers are numbers."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return {row["case"]: {k: _value(v) for k, v in row.items()} for row in csv.DictReader(file)}


def _value(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def top_stalls(row: Mapping[str, Any], count: int = 2) -> list[str]:
    """Return the reasons that warps waited most for, by the profiler; the most first."""
    found = {
        name.removeprefix("stall_"): value
        for name, value in row.items()
        if name.startswith("stall_") and isinstance(value, float)
    }
    for name in _NOT_REASONS:
        found.pop(name, None)
    return sorted(found, key=lambda name: -found[name])[:count]


def modelled(case: Mapping[str, Any], chip: str = "H100") -> dict[str, Any]:
    """Return what the model says of a launch.

    Columns: case, pair, bound and estimate (cycles), limiter, stall (the reason that warps wait
    most for), speedup (without bank conflicts, as estimated), most (by the bound).
    """
    report = replay_compiled(
        Path(case["cubin"]),
        kernel=case["kernel"],
        grid=tuple(case["grid"]),
        block=tuple(case["block"]),
        shared_bytes=case["shared"],
        args=[argument(text, place) for place, text in enumerate(case["args"])],
        chip=chip,
    )
    time = report.time(chip=chip)
    return {
        "case": case["name"],
        "pair": case["pair"],
        "bound": time.bound_cycles,
        "estimate": time.cycles,
        "limiter": time.limiter,
        "stall": next((name for name in time.reasons if name not in _NOT_REASONS), ""),
        "speedup": time.speedup_without_conflicts,
        "most": time.bound.most,
    }


def beside(model: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `modelled` with measured (cycles), error (a fraction), measured_stalls."""
    cycles, estimate = measured["cycles"], model["estimate"]
    return {
        **model,
        "measured": cycles,
        "error": estimate / cycles - 1 if estimate else None,
        "measured_stalls": top_stalls(measured),
    }


def pairs(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the speedups within pairs: of each case against the slowest of its pair.

    Columns: pair, slow, fast, measured, estimated (by the estimates of both), removed (what the
    estimate of the slow one says of removing its conflicts).
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["pair"]:
            groups.setdefault(row["pair"], []).append(row)
    found = []
    for name, group in groups.items():
        slow = max(group, key=lambda row: row["measured"])
        for fast in group:
            if fast is slow:
                continue
            both = slow["estimate"] and fast["estimate"]
            found.append(
                {"pair": name, "slow": slow["case"], "fast": fast["case"],
                 "measured": slow["measured"] / fast["measured"],
                 "estimated": slow["estimate"] / fast["estimate"] if both else None,
                 "removed": slow["speedup"]}
            )  # fmt: skip
    return found


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the figures of all kernels, a sentence each."""
    held = sum(row["bound"] <= row["measured"] for row in rows)
    said = [f"Bounds below what was measured: {held} of {plural(len(rows), 'kernel')}."]
    errors = [abs(row["error"]) for row in rows if row["error"] is not None]
    if errors:
        said.append(
            f"Estimates of {plural(len(errors), 'kernel')}: off by {fmean(errors):.1%} on average,"
            f" by {max(errors):.1%} at most; {sum(each <= 0.12 for each in errors)} within 12 %."
        )
        known = [row for row in rows if row["stall"]]
        agreed = sum(row["stall"] in row["measured_stalls"] for row in known)
        said.append(
            f"The reason that warps wait most for is the profiler's first or second in {agreed} of"
            f" {len(known)}."
        )
    return said


def estimate(cases: str, out: str, chip: str = "H100", *names: str) -> None:
    """Write what the model says of all cases, or those named: a table with the columns above."""
    with Path(out).open("w", encoding="utf-8", newline="") as file:
        writer = None
        for case in read_cases(cases):
            if names and case["name"] not in names:
                continue
            row = modelled(case, chip)
            if writer is None:
                writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            print(f"{case['name']}: {row['estimate']}", flush=True)


def compare(estimates: str, measured: str) -> None:
    """Print the tables."""
    from tabulate import tabulate

    known = recorded(measured)
    rows = [beside(row, known[name]) for name, row in recorded(estimates).items() if name in known]
    print(tabulate([shown(row) for row in rows], headers="keys", tablefmt="github"))
    print()
    ratios = [{name: _rounded(value) for name, value in row.items()} for row in pairs(rows)]
    print(tabulate(ratios, headers="keys", tablefmt="github"))
    print()
    print("\n".join(summary(rows)))


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `compare_case` as the table has it."""
    cycles, error = row["estimate"], row["error"]
    return {
        "kernel": row["case"],
        "measured": f"{row['measured']:,.0f}",
        "bound": f"{row['bound']:,.0f}",
        "of it": f"{row['bound'] / row['measured']:.0%}",
        "limiter": row["limiter"],
        "estimate": f"{cycles:,.0f}" if cycles else "",
        "error": "" if error is None else f"{error:+.1%}",
        "stall": row["stall"],
        "measured stalls": ", ".join(row["measured_stalls"]),
    }


def _rounded(value: Any) -> Any:
    return f"{value:.2f}" if isinstance(value, float) else value


if __name__ == "__main__":
    if sys.argv[1] == "estimate":
        estimate(*sys.argv[2:])
    else:
        compare(*sys.argv[2:])
