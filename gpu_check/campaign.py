"""A whole measurement: many accesses of many instructions, kept as they come in.

Accesses are drawn by `gpu_check.probe.patterns`; the first of each instruction are also counted.
With a folder, each finished part is saved there. The next run with the same plan on the same chip
finds it, so an interrupted campaign goes on where it stopped; `forget` ends that.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from gpu_check.clocks import Measurements, as_accesses, measure
from gpu_check.counters import Batch, count_batches
from gpu_check.device import open_gpu
from gpu_check.errors import DeviceError, RecordingError
from gpu_check.probe.ops import LOOPS, PROBE_OPS, probe_op
from gpu_check.probe.patterns import Drawn, draw
from gpu_check.probe.probe import Probe
from gpu_check.probe.verify import wrong_accesses
from gpu_check.recordings import load, save
from simulator.law.instructions import instruction

__all__ = [
    "HOW",
    "Plan",
    "Progress",
    "chip_provenance",
    "forget",
    "full_plan",
    "provenance",
    "quick_plan",
    "run",
]

Progress = Callable[[int], None]

_WEIGHTS = {"LDS.64": 5, "LDS.128": 6, "STS.64": 2, "STS.128": 2, "LDS": 2, "STS": 2}
_WEIGHTS |= {"LDSM.16.M88.4": 2, "STSM.16.M88.4": 2, "ATOMS.ADD": 2, "LDGSTS.E.128": 2}
"""Rows of an instruction, others 1: more where there is more to get wrong."""

_KEPT_AFTER = 1500  # counted accesses: a quarter of a minute

_VERIFIED = 64  # accesses of each instruction whose bytes are looked at


@dataclass(frozen=True)
class Plan:
    """How many accesses of each instruction are timed, and how many of these counted too."""

    timed: dict[str, int]
    counted: dict[str, int]
    seed: int = 1

    @property
    def steps(self) -> int:
        """What progress adds up to."""
        return sum(self.timed.values()) + sum(self.counted.values())


def _shared(total: int, ops: list[str]) -> dict[str, int]:
    """Share rows out, by weight, in whole rounds of the eight families of patterns."""
    weights = {op: _WEIGHTS.get(op, 1) for op in ops}
    unit = total / sum(weights.values())
    return {op: max(8, round(unit * weight / 8) * 8) for op, weight in weights.items()}


def quick_plan(ops: Iterable[str], counters: bool, seed: int = 1) -> Plan:
    """Plan about 2,000 accesses: a minute."""
    chosen = list(ops)
    rows = _shared(2000, chosen)
    return Plan(rows, rows if counters else {}, seed)


def full_plan(ops: Iterable[str], counters: bool, seed: int = 1) -> Plan:
    """Plan more than 200,000 timed and 20,000 counted accesses: some ten minutes."""
    chosen = list(ops)
    return Plan(_shared(210_000, chosen), _shared(24_000, chosen) if counters else {}, seed)


def all_ops(capability: int) -> list[str]:
    """List the instructions that a chip of this compute capability (times ten) can run."""
    return [
        op for op, each in PROBE_OPS.items() if op not in LOOPS and each.capability <= capability
    ]


def provenance(plan: Plan, device: int) -> dict[str, Any]:
    """Say where measurements come from."""
    return {**chip_provenance(device), "seed": plan.seed, "how": HOW}


HOW = "gpu_check: 32 warps timed, 1 warp counted; see docs/explanation/validation.md"
"""How figures are measured, in the provenance of a recording."""


def chip_provenance(device: int) -> dict[str, Any]:
    """Say which chip was asked, when, and by which version."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    return {
        "chip": open_gpu(device).to_dict(),
        "date": now.isoformat(),
        "bankwise": _version(),
    }


def _version() -> str:
    try:
        return version("bankwise")
    except PackageNotFoundError:  # run from a checkout
        project = Path(__file__).parent.parent / "pyproject.toml"
        stated = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
        return f"{stated} (source tree)"


def run(
    plan: Plan, *, device: int = 0, folder: Path | None = None, progress: Progress | None = None
) -> list[Measurements]:
    """Measure what is planned: for each instruction the counted accesses, then those only timed.

    Raises what `measure` and `count_on_gpu` raise, and DeviceError when an instruction did not
    move the bytes that it should.
    """
    advance = progress or (lambda steps: None)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    drawn = {op: draw(instruction(op), rows, plan.seed) for op, rows in plan.timed.items()}
    results: dict[str, Measurements] = {}
    for op, accesses in drawn.items():
        results[op] = _timed(op, accesses, device, _part(folder, plan, op, "clocks"))
        advance(plan.timed[op])
    counts = _counted(plan, results, device, folder, advance)
    together = []
    for op, timed in results.items():
        first = plan.counted.get(op, 0)
        if first:
            counted = counts[op]
            both = replace(
                timed[:first],
                wavefronts=counted.wavefronts,
                bank_conflicts=counted.bank_conflicts,
            )
            together.append(both)
        if first < len(timed):
            together.append(timed[first:])
    return together


def forget(plan: Plan, folder: Path) -> None:
    """Delete what `run` kept in the folder, and the folder if nothing else is in it.

    For when the results are kept elsewhere: the same plan is then measured anew.
    """
    for kind, rows in (("clocks", plan.timed), ("counts", plan.counted)):
        for op in rows:
            part = _part(folder, plan, op, kind)
            if part:
                part.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _part(folder: Path | None, plan: Plan, op: str, kind: str) -> Path | None:
    rows = (plan.timed if kind == "clocks" else plan.counted).get(op, 0)
    return folder / f"{op}.{kind}.{rows}.{plan.seed}.npz" if folder else None


def _keep(part: Path | None, measured: Measurements, device: int) -> None:
    if part:
        save(part, [measured], {"chip": open_gpu(device).to_dict()})


def _kept(part: Path | None, wanted: Measurements, figure: str, device: int) -> Measurements | None:
    """Find what an earlier run measured of the wanted accesses on this chip.

    What is damaged, of other accesses or of another chip is measured anew.
    """
    if part is None or not part.exists():
        return None
    try:
        kept = load(part)
    except RecordingError:
        return None
    chip = open_gpu(device).to_dict()
    if len(kept.measurements) != 1 or kept.provenance.get("chip") != chip:
        return None
    (found,) = kept.measurements
    same = (
        found.op == wanted.op
        and np.array_equal(found.addresses, wanted.addresses)
        and np.array_equal(found.masks, wanted.masks)
        and getattr(found, figure) is not None
    )
    return found if same else None


def _timed(op: str, drawn: Drawn, device: int, part: Path | None) -> Measurements:
    wanted = Measurements(op, *as_accesses(op, drawn.addresses, drawn.masks))
    kept = _kept(part, wanted, "cycles", device)
    if kept is not None:
        return kept
    probe = Probe(op, device)
    wrong = wrong_accesses(probe, drawn.addresses[:_VERIFIED], drawn.masks[:_VERIFIED])
    if wrong:
        raise DeviceError(
            f"{op} did not move the right bytes for {len(wrong)} accesses, the first"
            f" {drawn.addresses[wrong[0]].tolist()}, mask {int(drawn.masks[wrong[0]]):#010x} (next:"
            " please report it, with the chip and CUDA version)"
        )
    measured = measure(op, drawn.addresses, drawn.masks, device=device)
    _keep(part, measured, device)
    return measured


def _counted(
    plan: Plan,
    timed: dict[str, Measurements],
    device: int,
    folder: Path | None,
    advance: Progress,
) -> dict[str, Measurements]:
    counts: dict[str, Measurements] = {}
    waiting: dict[tuple[str, str], list[Batch]] = {}
    for op, rows in plan.counted.items():
        kept = _kept(_part(folder, plan, op, "counts"), timed[op][:rows], "wavefronts", device)
        if kept is not None:
            counts[op] = kept
            advance(rows)
        else:
            batch = Batch(op, timed[op].addresses[:rows], timed[op].masks[:rows])
            waiting.setdefault(probe_op(op).metrics, []).append(batch)
    for batches in waiting.values():
        for some in _few(batches) if folder else [batches]:
            for counted in count_batches(some, device=device, progress=advance):
                counts[counted.op] = counted
                _keep(_part(folder, plan, counted.op, "counts"), counted, device)
    return counts


def _few(batches: list[Batch]) -> Iterator[list[Batch]]:
    """Split where there is something to keep: about a process's launches at a time."""
    some: list[Batch] = []
    for batch in batches:
        some.append(batch)
        if sum(len(each.addresses) for each in some) >= _KEPT_AFTER:
            yield some
            some = []
    if some:
        yield some
