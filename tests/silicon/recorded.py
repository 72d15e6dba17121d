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


def loop_cycles(op: str, counts: Counts) -> np.ndarray[Any, Any]:
    """Cycles that the loop of h200_timing adds to an access by an instruction of its own.

    Before each store of 8 or 16 bits it reads the stored value anew from a constant bank
    (`LDC.U8`), which takes the pipe for a second cycle. Two wavefronts hide it.
    """
    return ((counts.wavefronts == 1) & (op in ("STS.U8", "STS.U16"))).astype(np.int32)


def counted(
    recording: Recording, rule: str = "silicon", engine: str = "auto"
) -> Iterator[tuple[str, Recording, Counts]]:
    """For each instruction: its name, its recorded rows, and the model's figures for them."""
    for op in dict.fromkeys(recording["op"].tolist()):
        rows = {name: column[recording["op"] == op] for name, column in recording.items()}
        yield op, rows, count(op, rows["address"], rows["mask"], rule=rule, engine=engine)
