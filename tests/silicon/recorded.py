"""The recorded accesses, and this model's figures for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simulator import Counts, count

DATA = Path(__file__).parent / "data"

Recording = dict[str, np.ndarray[Any, Any]]


def load(name: str) -> Recording:
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def counted(
    recording: Recording, rule: str = "silicon", engine: str = "auto"
) -> Iterator[tuple[str, Recording, Counts]]:
    """For each instruction: its name, its recorded rows, and the model's figures for them."""
    for op in dict.fromkeys(recording["op"].tolist()):
        rows = {name: column[recording["op"] == op] for name, column in recording.items()}
        yield op, rows, count(op, rows["address"], rows["mask"], rule=rule, engine=engine)
