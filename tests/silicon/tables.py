"""Print the tables of docs/explanation/validation.md: `python -m tests.silicon.tables`."""

from __future__ import annotations

import numpy as np
from tabulate import tabulate

from gpu_check import compare, packaged, simulated
from gpu_check.kernel_table import kernel_rows
from gpu_check.recordings import packaged_table
from tests.silicon.recorded import counted, load, loop_cycles


def equality() -> str:
    rows = []
    for name in ("h200_accesses", "h200_atomics"):
        recording = load(name)
        published = {op: counts for op, _, counts in counted(recording, rule="documented")}
        for op, recorded, counts in counted(recording):
            equal = counts.wavefronts == recorded["wavefronts"]
            conflicts = counts.bank_conflicts == recorded["bank_conflicts"]
            documented = published[op].wavefronts == recorded["wavefronts"]
            rows.append([op, len(equal), equal.sum(), conflicts.sum(), documented.sum()])
    rows.append(["all", *np.sum([row[1:] for row in rows], axis=0)])
    heads = ["instruction", "rows", "wavefronts equal", "conflicts equal", "documented rule equal"]
    return tabulate(rows, heads, tablefmt="github")


def source_view() -> str:
    rows = []
    for op, recorded, counts in counted(load("h200_ncu_source")):
        same = counts.wavefronts == recorded["ncu_source_wavefronts"]
        ideal = (counts.ideal == recorded["ncu_source_ideal"]) & same
        fewer = (recorded["ncu_source_wavefronts"] < counts.wavefronts).sum()
        more = (recorded["ncu_source_wavefronts"] > counts.wavefronts).sum()
        rows.append([op, len(same), same.sum(), more, fewer, ideal.sum()])
    rows.append(["all", *np.sum([row[1:] for row in rows], axis=0)])
    heads = ["instruction", "rows", "view equals law", "view higher", "view lower"]
    return tabulate(rows, [*heads, "ideal equal (of the equal)"], tablefmt="github")


def residue() -> str:
    rows = []
    for op, recorded, counts in counted(load("h200_timing")):
        over = recorded["cycles_32_warps"] - counts.cycles - loop_cycles(op, counts)
        rows.append([op, len(over), *np.quantile(over, [0, 0.05, 0.5, 0.95, 1])])
    heads = ["instruction", "rows", "least", "5 %", "median", "95 %", "most"]
    return tabulate(rows, heads, tablefmt="github", floatfmt=".3f")


def campaign() -> str:
    rows = []
    for measured in packaged("h200_accesses").measurements:
        found = compare(simulated(measured), measured)
        row = [found.op, found.accesses, found.wavefronts_equal, found.conflicts_equal]
        if found.over is not None:
            # Against `cycles` alone: residues are what this table is for.
            over = measured.cycles - simulated(measured).cycles
            row += [*np.quantile(over, [0, 0.05, 0.5, 0.95, 1])]
        rows.append(row)
    rows.append(["all", *np.sum([row[1:4] for row in rows], axis=0)])
    heads = ["instruction", "rows", "wavefronts equal", "conflicts equal"]
    heads += ["least", "5 %", "median", "95 %", "most"]
    return tabulate(rows, heads, tablefmt="github", floatfmt=".3f")


def classes() -> str:
    rows = packaged_table("h200_clock_classes")
    summed = []
    for pattern in dict.fromkeys(row["pattern"] for row in rows):
        mine = [row for row in rows if row["pattern"] == pattern]
        counts = [int(row["rows"]) for row in mine]
        middle = np.average([float(row["over_50"]) for row in mine], weights=counts)
        least = min(float(row["least_over"]) for row in mine)
        most = max(float(row["most_over"]) for row in mine)
        summed.append([pattern, sum(counts), least, middle, most])
    summed.append(["all", sum(row[1] for row in summed)])
    heads = ["family", "rows", "least", "mean of medians", "most"]
    return tabulate(summed, heads, tablefmt="github", floatfmt=".3f")


def kernels() -> str:
    names = ("kernel", "model", "counter", "model_cycles", "cycles", "pipe", "milliseconds")
    rows = [[row[name] for name in names] for row in kernel_rows(packaged_table("h200_kernels"))]
    heads = ["kernel", "model", "counter", "model cycles", "cycles", "pipe", "milliseconds"]
    return tabulate(rows, heads, tablefmt="github", intfmt=",")


TABLES = (equality, source_view, residue, campaign, classes, kernels)

if __name__ == "__main__":
    print("\n\n".join(table() for table in TABLES))
