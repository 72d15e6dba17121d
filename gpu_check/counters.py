"""Hardware counters of single accesses, read by Nsight Compute.

`ncu` watches a process of its own (gpu_check.probe.child) that launches the probe once for each
access: one warp, 16 executions (64 of a copy). What the kernel costs beside the access is seen in
two launches before, and taken off: the first access with half of the executions and with all,
whose difference is half of the executions alone. A copy's loop holds three shared loads of no
lane, which halving halves too; there the launches are a lone lane's, which costs one wavefront.
What is left must be a multiple of the executions, or the row is refused. Copies alone may leave a
rest: lines that arrive from global memory now and then get in the way of one that is written, a
wavefront and a conflict more; a rest of up to half of the executions is dropped.

One launch under the profiler takes some 10 ms as long as all counters fit in one pass.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_check.clocks import Measurements, as_accesses, as_sources
from gpu_check.device import open_gpu
from gpu_check.errors import CountersError
from gpu_check.probe.ops import probe_op

__all__ = [
    "Batch",
    "count_batches",
    "count_on_gpu",
    "find_ncu",
    "metrics_of",
    "run_ncu",
]

_LAUNCHES = 2500  # of one process
_NO_COUNTERS = "clocks are measured without them: --counters off, or gpu_check.measure"


def find_ncu() -> str:
    """Find Nsight Compute's command line.

    Raises CountersError if it is not on the PATH.
    """
    found = shutil.which("ncu")
    if found is None:
        raise CountersError(
            "ncu is not on the PATH (next: install NVIDIA Nsight Compute, or add its folder,"
            f" such as /usr/local/cuda/bin, to PATH; {_NO_COUNTERS})"
        )
    return found


def run_ncu(command: list[str], metrics: list[str], kernel: str) -> list[dict[str, str]]:
    """Run a command under ncu; give a row a kernel launch, with the metrics' cells.

    `kernel` is the name, or `regex:` and a pattern, of the kernels to watch. Clocks and caches
    are left as they are.

    Raises CountersError where ncu is absent, may not read counters, or fails.
    """
    _make_importable()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "ncu.csv")
        watched = [
            find_ncu(), "--clock-control", "none", "--cache-control", "none",
            "--kernel-name", kernel, "--metrics", ",".join(metrics),
            "--csv", "--page", "raw", "--log-file", str(log), *command,
        ]  # fmt: skip
        done = subprocess.run(watched, capture_output=True, check=False, text=True)  # noqa: S603
        text = log.read_text(encoding="utf-8") if log.exists() else ""
    if "ERR_NVGPUCTRPERM" in text + done.stdout + done.stderr:
        raise CountersError(
            "the driver forbids this user the hardware counters (next: run as root, or let the"
            " administrator set NVreg_RestrictProfilingToAdminUsers=0, see"
            f" https://developer.nvidia.com/ERR_NVGPUCTRPERM; {_NO_COUNTERS})"
        )
    table = text[text.find('"ID"') :] if '"ID"' in text else ""
    rows = [row for row in csv.DictReader(io.StringIO(table)) if (row.get("ID") or "").isdigit()]
    if done.returncode or not rows:
        tail = " ".join((text + done.stdout + done.stderr).split())[-400:]
        raise CountersError(
            f"ncu gave no counters (exit code {done.returncode}): {tail} (next: try"
            f" `ncu --version` and `ncu {command[0]} --version`; {_NO_COUNTERS})"
        )
    return rows


def metrics_of(row: dict[str, str], names: tuple[str, ...] | list[str]) -> list[int]:
    """Read metrics out of a row of `run_ncu`: integers with commas between thousands."""
    try:
        return [int(row[name].replace(",", "").split(".")[0]) for name in names]
    except (KeyError, ValueError) as error:
        raise CountersError(
            f"ncu printed no number for {', '.join(names)}: {error} (next: see"
            f" `ncu --query-metrics` for this chip's counters; {_NO_COUNTERS})"
        ) from error


def count_on_gpu(
    op: str,
    addresses: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sources: ArrayLike | None = None,
    device: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Measurements:
    """Read the hardware counters of accesses: their wavefronts and bank conflicts.

    Raises NoGpuError and DeviceError as `measure` does; CountersError where ncu is absent,
    forbidden or fails, and where a count is not a multiple of the executions.

    Parameters
    ----------
    op, addresses, mask, sources, device, progress
        Those of `measure`, sources of copies included.
    """
    name = probe_op(op).name
    flat, masks = as_accesses(name, addresses, mask)
    batch = Batch(name, flat, masks, as_sources(name, sources, flat, masks))
    (counted,) = count_batches([batch], device=device, progress=progress)
    return counted


class Batch(NamedTuple):
    """Checked accesses of one instruction: addresses (n, 32), masks (n,), sources (n, 32)."""

    op: str
    addresses: NDArray[np.uint32]
    masks: NDArray[np.uint32]
    sources: NDArray[np.uint32] | None = None
    """None: side by side."""

    def part(self, rows: slice) -> Batch:
        """Take some of the accesses."""
        sources = None if self.sources is None else self.sources[rows]
        return Batch(self.op, self.addresses[rows], self.masks[rows], sources)


def count_batches(
    batches: Sequence[Batch],
    *,
    device: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[Measurements]:
    """Count accesses of several instructions, as `count_on_gpu` does, with few processes.

    Instructions whose counters are the same share a process.
    """
    open_gpu(device)
    pieces = [
        (index, batch, slice(start, start + _LAUNCHES))
        for index, batch in enumerate(batches)
        for start in range(0, len(batch.addresses), _LAUNCHES)
    ]
    found: dict[int, list[NDArray[np.int64]]] = {index: [] for index in range(len(batches))}
    for metrics in dict.fromkeys(probe_op(batch.op).metrics for batch in batches):
        waiting = [piece for piece in pieces if probe_op(piece[1].op).metrics == metrics]
        while waiting:
            job = [waiting.pop(0)]
            while waiting and _size([*job, waiting[0]]) <= _LAUNCHES:
                job.append(waiting.pop(0))
            parts = [batch.part(rows) for _, batch, rows in job]
            for (index, _, _), counts in zip(job, _count(parts, metrics, device), strict=True):
                found[index].append(counts)
            if progress:
                progress(_size(job))
    results = []
    for index, batch in enumerate(batches):
        wavefronts, conflicts = np.concatenate(found[index]).T
        results.append(
            Measurements(
                batch.op, batch.addresses, batch.masks,
                wavefronts=wavefronts,
                bank_conflicts=conflicts,
                sources=batch.sources,
            )
        )  # fmt: skip
    return results


def _size(job: Sequence[tuple[int, Batch, slice]]) -> int:
    return sum(len(batch.addresses[rows]) for _, batch, rows in job)


def _count(
    batches: Sequence[Batch], metrics: tuple[str, str], device: int
) -> list[NDArray[np.int64]]:
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "job.npz")
        arrays: dict[str, Any] = {"ops": np.array([batch.op for batch in batches])}
        for index, batch in enumerate(batches):
            arrays[f"address{index}"], arrays[f"mask{index}"] = batch.addresses, batch.masks
            if batch.sources is not None:
                arrays[f"source{index}"] = batch.sources
        np.savez(job, **arrays)
        command = [sys.executable, "-m", "gpu_check.probe.child", str(job), str(device)]
        rows = run_ncu(command, list(metrics), "probe")
    counted = np.array([metrics_of(row, metrics) for row in rows], dtype=np.int64)
    ends = np.cumsum([len(batch.addresses) + 2 for batch in batches])
    if len(counted) != ends[-1]:
        raise CountersError(
            f"ncu saw {len(counted)} launches, and {ends[-1]} were made (next: try again;"
            f" {_NO_COUNTERS})"
        )
    return [
        _each(batch.op, counts)
        for batch, counts in zip(batches, np.split(counted, ends[:-1]), strict=True)
    ]


def _each(op: str, counted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take the kernel's own cost off, and divide: (2 + n, 2) sums → (n, 2) counts."""
    times = probe_op(op).executions
    copy = probe_op(op).is_copy
    own = counted[1] - [times, 0] if copy else 2 * counted[0] - counted[1]
    each: NDArray[np.int64]
    each, rest = np.divmod(counted[2:] - own, times)
    uneven = np.flatnonzero((rest > (times // 2 if copy else 0)).any(axis=1))
    if len(uneven):
        row = int(uneven[0])
        raise CountersError(
            f"access {row} of {op}: counters {counted[2 + row].tolist()} minus the kernel's own"
            f" {own.tolist()} are not a multiple of {times} executions (next: keep other work off"
            " the GPU and try again)"
        )
    return each


def _make_importable() -> None:
    """Let a child process import this package from where it is now, installed or not."""
    here = str(Path(__file__).parent.parent)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, *paths]))
