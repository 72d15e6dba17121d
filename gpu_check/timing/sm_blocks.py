"""How many blocks SMs get of timed launches, and when SMs end.

`python -m gpu_check.timing.sm_blocks SET.json... OUT.csv`, as `gpu_check.timing.moved`: the second
launch of each case is read, and none is repeated. `fewest` and `most`: blocks of an SM; `first`,
`mean` and `last`: cycles in which an SM is at work, until it ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpu_check.recordings import write_table
from gpu_check.timing.moved import second_launches

__all__ = ["measure_sm_blocks"]

_METRICS = {
    "fewest": "sm__ctas_launched.min", "most": "sm__ctas_launched.max",
    "first": "sm__cycles_active.min", "mean": "sm__cycles_active.avg",
    "last": "sm__cycles_active.max",
}  # fmt: skip


def measure_sm_blocks(paths: Sequence[str | Path], device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case of some files.

    Raises CountersError as `count_on_gpu` does.
    """
    return [
        {"set": Path(path).stem, "case": name, **dict(zip(_METRICS, found, strict=True))}
        for path in paths
        for name, found in second_launches(path, [*_METRICS.values()], device)
    ]


def main(paths: Sequence[str], out: str) -> None:
    """Write the table."""
    rows = measure_sm_blocks(paths)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:-1], sys.argv[-1])
