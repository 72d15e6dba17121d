"""Make this package's data: `python -m gpu_check.make_data FOLDER PREFIX` on a machine with a GPU.

It runs the full campaign (an interrupted one goes on), the GEMM kernels and the inference of all
phases. It runs copies whose sources do not lie side by side, and the atomic loops; it needs
counters and takes some ten minutes. With `--quick` behind, it measures a hundredth of the accesses;
with `--turns` nothing but the copies and the loops, and prints how many are the model's.
gpu_check/data/README.md describes the files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu_check.campaign import (
    HOW,
    Plan,
    all_ops,
    chip_provenance,
    full_plan,
    provenance,
    quick_plan,
    run,
)
from gpu_check.clocks import Measurements, measure
from gpu_check.compare import compare, simulated
from gpu_check.counters import count_on_gpu
from gpu_check.device import open_gpu
from gpu_check.discovery import PhaseTable, infer_phases
from gpu_check.errors import DiscoveryError
from gpu_check.gemm import GEMMS
from gpu_check.kernel_table import measure_kernels
from gpu_check.probe.ops import LOOPS, probe_op
from gpu_check.probe.patterns import draw
from gpu_check.recordings import save, write_table
from simulator.law.instructions import instruction

__all__ = ["main"]

_ROWS = 240  # of each copy with sources of its own, and of each loop
_COPIES = ("LDGSTS.E", "LDGSTS.E.64", "LDGSTS.E.128")
_LANES = np.arange(32)


def main(folder: str, prefix: str, how: str = "") -> None:
    """Measure everything, "--quick" fewer accesses, "--turns" copies and loops; write the files."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    if how == "--turns":
        _turns(out, prefix, {**chip_provenance(0), "how": HOW})
        return
    ops = all_ops(open_gpu().capability)
    plan = (quick_plan if how == "--quick" else full_plan)(ops, counters=True)
    source = provenance(plan, 0)
    write_table(out / f"{prefix}_kernels.csv", measure_kernels(GEMMS, counters=True))
    tables = [json.loads(_inferred(op).to_json(source)) for op in ops]
    (out / f"{prefix}_phases.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
    _turns(out, prefix, source)
    measured = run(plan, folder=out / "parts", progress=_say(plan))
    counted = [m for m in measured if m.wavefronts is not None]
    save(out / f"{prefix}_accesses.npz", counted, source)
    write_table(out / f"{prefix}_clock_classes.csv", list(_classes(plan, measured)))


def _turns(out: Path, prefix: str, source: dict[str, Any]) -> None:
    """Measure what lanes do one after the other: copies from anywhere, and atomic loops."""
    rng = np.random.default_rng(1)
    copies, loops = [_copy(op, rng) for op in _COPIES], [_loop(op) for op in LOOPS]
    _save_copies(out / f"{prefix}_copies.npz", copies, source)
    save(out / f"{prefix}_loops.npz", loops, source)
    for each in [*copies, *loops]:
        found = compare(simulated(each), each)
        print(f"{each.op}: {found.accesses - len(found.differing)} of {found.accesses} equal")


def _say(plan: Plan) -> Any:
    done = 0

    def progress(steps: int) -> None:
        nonlocal done
        done += steps
        print(f"{done} of {plan.steps}", flush=True)

    return progress


def _inferred(op: str) -> PhaseTable:
    try:
        return infer_phases(op)
    except DiscoveryError:
        return infer_phases(op, counters=True)


def _classes(plan: Plan, measured: list[Measurements]) -> Iterator[dict[str, Any]]:
    """Sum up all that was timed: a row for each instruction, family of patterns, masked or not."""
    for op, rows in plan.timed.items():
        if probe_op(op).bypasses:
            continue
        parts = [m for m in measured if m.op == op]
        over = np.concatenate([compare(simulated(m), m).over for m in parts])
        cycles = np.concatenate([m.cycles for m in parts])
        drawn = draw(instruction(op), rows, plan.seed)
        masked = drawn.masks != 0xFFFFFFFF
        for pattern in dict.fromkeys(drawn.patterns.tolist()):
            for has_mask in (False, True):
                mine = (drawn.patterns == pattern) & (masked == has_mask)
                if not mine.any():
                    continue
                low, middle, high = np.quantile(over[mine], [0.05, 0.5, 0.95])
                yield {
                    "op": op,
                    "pattern": pattern,
                    "masked": int(has_mask),
                    "rows": int(mine.sum()),
                    "mean_cycles": round(float(cycles[mine].mean()), 4),
                    "least_over": round(float(over[mine].min()), 4),
                    "over_5": round(float(low), 4),
                    "over_50": round(float(middle), 4),
                    "over_95": round(float(high), 4),
                    "most_over": round(float(over[mine].max()), 4),
                }


def _copy(op: str, rng: np.random.Generator) -> Measurements:
    """Time and count cp.async whose lanes read anywhere."""
    drawn, width = draw(instruction(op), _ROWS, seed=2), probe_op(op).width
    sources = np.stack([_source(rng, row, width) for row in range(_ROWS)])
    timed = measure(op, drawn.addresses, drawn.masks, sources=sources)
    counted = count_on_gpu(op, drawn.addresses, drawn.masks, sources=sources)
    return replace(timed, wavefronts=counted.wavefronts, bank_conflicts=counted.bank_conflicts)


def _save_copies(path: Path, copies: list[Measurements], source: dict[str, Any]) -> None:
    """Write copies with their sources, (n, 32), beside the addresses."""
    columns: dict[str, Any] = {"op": [np.full(len(each), each.op) for each in copies]}
    for name, field, kind in (
        ("address", "addresses", np.uint32),
        ("source", "sources", np.uint32),
        ("mask", "masks", np.uint32),
        ("cycles", "cycles", np.float32),
        ("wavefronts", "wavefronts", np.int16),
        ("bank_conflicts", "bank_conflicts", np.int16),
    ):
        columns[name] = [np.asarray(getattr(each, field), dtype=kind) for each in copies]
    arrays: dict[str, Any] = {name: np.concatenate(each) for name, each in columns.items()}
    np.savez_compressed(path, provenance=np.array(json.dumps(source)), **arrays)


def _source(rng: np.random.Generator, row: int, width: int) -> Any:
    """Draw sources: half of them with no bank twice in a phase, on one or two lines each."""
    slots = 128 // width  # side by side in a line
    if row % 2:
        return rng.integers(0, int(rng.choice([8, 32, 128, 4096])), 32) * 16
    phase = _LANES // slots
    order = np.concatenate([rng.permutation(slots) for _ in range(32 // slots)])
    line = rng.integers(0, 64, (32, 2))[phase, rng.integers(0, 2, 32)]
    return line * 128 + order * width


def _loop(op: str) -> Measurements:
    """Count an atomic loop on accesses of its width."""
    like = instruction("ATOMS.EXCH.64" if LOOPS[op] == 8 else "ATOMS.EXCH")
    drawn = draw(like, _ROWS, seed=7)
    return count_on_gpu(op, drawn.addresses, drawn.masks)


if __name__ == "__main__":
    main(*sys.argv[1:])
