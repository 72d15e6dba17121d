"""Measure Hopper's own units: `python -m gpu_check.hopper FOLDER PREFIX [TABLE …]`.

Tables are wgmma, tma, misc, tiles, im2col, slices, neighbours, neighbours_again,
neighbour_probes and neighbour_atomics; without names, all are made.
`--few N` behind measures N cases of each, to try it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from gpu_check.campaign import chip_provenance
from gpu_check.hopper import (
    im2col,
    misc,
    neighbour_atomics,
    neighbour_probes,
    neighbours,
    slices,
    tiles,
    tma,
    wgmma,
)
from gpu_check.recordings import write_table

__all__ = ["main"]

_HOW = (
    "clock64 in the kernel, many turns less few, median of five; counters by ncu, many turns less"
    " few; clocks and caches left as they were"
)
_TABLES = {"wgmma": wgmma.measure, "tma": tma.measure, "misc": misc.measure}
_ARRAYS = {
    "tiles": tiles.measure, "im2col": im2col.measure, "slices": slices.measure,
    "neighbours": neighbours.measure,
    "neighbours_again": neighbours.again, "neighbour_probes": neighbour_probes.measure,
    "neighbour_atomics": neighbour_atomics.measure,
}  # fmt: skip


def main(folder: str, prefix: str, *names: str) -> None:
    """Write a table per unit, or those named."""
    few = int(names[names.index("--few") + 1]) if "--few" in names else 0
    wanted = [name for name in names if name in {**_TABLES, **_ARRAYS}]
    out = Path(folder)
    kept = out / "cubins"
    kept.mkdir(parents=True, exist_ok=True)
    source = {**chip_provenance(0), "how": _HOW}
    (out / f"{prefix}_hopper_provenance.json").write_text(json.dumps(source, indent=1))
    for name in wanted or [*_TABLES, *_ARRAYS]:
        begun = time.monotonic()
        try:
            if name in _ARRAYS:
                columns = _ARRAYS[name](kept, few)
                columns["provenance"] = np.array(json.dumps(source))
                np.savez_compressed(out / f"{prefix}_{name}.npz", **columns)  # type: ignore[arg-type]
            if name == "neighbours":
                write_table(out / f"{prefix}_neighbour_counters.csv", neighbours.count(kept, few))
            if name in _TABLES:
                write_table(out / f"{prefix}_{name}.csv", _TABLES[name](kept, few))
        finally:
            print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
