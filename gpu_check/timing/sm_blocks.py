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

from gpu_check.timing.moved import counted, write_measured

__all__ = ["measure_sm_blocks"]

_COLUMNS = {
    "fewest": "sm__ctas_launched.min", "most": "sm__ctas_launched.max",
    "first": "sm__cycles_active.min", "mean": "sm__cycles_active.avg",
    "last": "sm__cycles_active.max",
}  # fmt: skip


def measure_sm_blocks(paths: Sequence[str | Path], device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case of some files.

    Raises CountersError as `count_on_gpu` does.
    """
    return counted(paths, _COLUMNS, device)


if __name__ == "__main__":
    write_measured(measure_sm_blocks, sys.argv[1:])
