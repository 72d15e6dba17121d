"""Measurements kept in a file: what `bankwise gpu-check --save` writes and `--recorded` reads.

One NPZ holds any number of accesses of any instructions, counted or timed or both, and where
they come from. Data of an H200 is part of the package; gpu_check/data/README.md describes it.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.clocks import Measurements
from gpu_check.errors import RecordingError
from gpu_check.forms import FORMS
from simulator import saving

__all__ = ["Recording", "load", "packaged", "packaged_table", "save"]

FORMAT = 1

_COLUMNS = {
    "op": np.uint8,
    "address": np.uint16,
    "mask": np.uint32,
    "wavefronts": np.int16,
    "bank_conflicts": np.int16,
    "cycles": np.float32,
    "spread": np.float32,
}
"""Arrays, a row an access; -1 and NaN where a figure was not measured."""

_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)

_NEXT = "next: record anew with `bankwise gpu-check --save FILE`, or reinstall bankwise"


@dataclass(frozen=True)
class Recording:
    """Measurements by instruction, and where they come from."""

    measurements: tuple[Measurements, ...]
    provenance: dict[str, Any]
    """Chip, driver, CUDA, date, version of this tool, and how."""

    def __len__(self) -> int:
        return sum(map(len, self.measurements))


def save(path: Path, measurements: Iterable[Measurements], provenance: dict[str, Any]) -> None:
    """Write measurements; a file that is there is replaced only when the new one is whole.

    Raises RecordingError for a place that cannot be written.
    """
    given = list(measurements)
    names = sorted({each.op for each in given})
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in _COLUMNS}
    for each in given:
        n = len(each)
        rows["op"].append(np.full(n, names.index(each.op)))
        rows["address"].append(each.addresses)
        rows["mask"].append(each.masks)
        for name in ("wavefronts", "bank_conflicts"):
            rows[name].append(_or(getattr(each, name), n, -1))
        for name in ("cycles", "spread"):
            rows[name].append(_or(getattr(each, name), n, np.nan))
    arrays = {name: np.concatenate(rows[name]).astype(kind) for name, kind in _COLUMNS.items()}

    def write(place: Path) -> None:
        with place.open("wb") as file:
            np.savez_compressed(
                file,
                format=np.array(FORMAT),
                names=np.array(names),
                provenance=np.array(json.dumps(provenance)),
                **arrays,  # type: ignore[arg-type] # NumPy types its own options into **kwds
            )

    try:
        saving.save(path, write)
    except saving.OutputError as error:
        raise RecordingError(f"{error} (next: choose another --save)") from error


def _or(column: NDArray[Any] | None, n: int, missing: float) -> NDArray[Any]:
    return np.full(n, missing) if column is None else column


def load(path: Path) -> Recording:
    """Read a recording.

    Raises RecordingError for a file that is no recording, is damaged, or of another format.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            version = int(arrays["format"])
            if version != FORMAT:
                raise RecordingError(
                    f"{path} has format {version} (accepted: {FORMAT}; next: update bankwise)"
                )
            names = [str(name) for name in arrays["names"]]
            provenance = json.loads(str(arrays["provenance"]))
            columns = {name: arrays[name] for name in _COLUMNS}
    except _UNREADABLE as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(f"{path} is no whole recording: {error!r} ({_NEXT})") from error
    n = len(columns["op"])
    shapes = {name: (n, 32) if name == "address" else (n,) for name in _COLUMNS}
    wrong = [name for name, shape in shapes.items() if columns[name].shape != shape]
    strange = [name for name in names if name not in FORMS]
    if wrong or strange or (n and columns["op"].max() >= len(names)):
        raise RecordingError(
            f"{path} does not fit together: {', '.join(wrong + strange) or 'op'} ({_NEXT})"
        )
    return Recording(
        tuple(_measurements(name, columns, columns["op"] == i) for i, name in enumerate(names)),
        provenance,
    )


def _measurements(
    op: str, columns: dict[str, NDArray[Any]], rows: NDArray[np.bool_]
) -> Measurements:
    mine = {name: column[rows] for name, column in columns.items()}
    counted = (mine["wavefronts"] >= 0).all()
    timed = not np.isnan(mine["cycles"]).any()
    return Measurements(
        op,
        mine["address"].astype(np.uint32),
        mine["mask"],
        cycles=mine["cycles"].astype(np.float64) if timed else None,
        spread=mine["spread"].astype(np.float64) if timed else None,
        wavefronts=mine["wavefronts"].astype(np.int64) if counted else None,
        bank_conflicts=mine["bank_conflicts"].astype(np.int64) if counted else None,
    )


@cache
def packaged(name: str) -> Recording:
    """Load a recording of this package: "h200_accesses" or "h200_loops"."""
    with as_file(files("gpu_check").joinpath("data", f"{name}.npz")) as path:
        return load(path)


def packaged_table(name: str) -> list[dict[str, str]]:
    """Load a table of this package: "h200_kernels" or "h200_clock_classes"."""
    import csv

    with files("gpu_check").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
