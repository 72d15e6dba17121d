"""What goes to and fro behind the SMs in timed launches, in bytes.

`python -m gpu_check.timing.moved SET.json... OUT.csv`. Every case is launched twice, and the second
launch is read, as `gpu_check.timing.kernels` does. But the profiler counts so little that it
repeats no launch: the L2 holds what the first launch left there. `dram_read` and `dram_write`,
`crossed`, what goes from one of the L2's two parts to the other, and `to_sms`, what SMs get.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.counters import metrics_of
from gpu_check.recordings import write_table
from gpu_check.timing.kernels import read_cases, second_launches

__all__ = ["counted", "measure_moved", "write_measured"]

_COLUMNS = {
    "dram_read": "dram__bytes_read.sum", "dram_write": "dram__bytes_write.sum",
    "crossed": "lts__t_sectors_srcunit_ltcfabric.sum",
    "to_sms": "l1tex__m_xbar2l1tex_read_bytes.sum",
}  # fmt: skip
_SECTOR = 32


def counted(
    paths: Sequence[str | Path], columns: Mapping[str, str], device: int = 0
) -> list[dict[str, Any]]:
    """Return a row per case of some files, with metrics of its second launch by their columns.

    Raises CountersError as `count_on_gpu` does.
    """
    found = []
    metrics = [*columns.values()]
    for path in paths:
        with TemporaryDirectory() as folder:
            rows = second_launches(path, metrics, device, folder)
        for case, row in zip(read_cases(path), rows, strict=True):
            values = dict(zip(columns, metrics_of(row, metrics), strict=True))
            found.append({"set": Path(path).stem, "case": case["name"], **values})
    return found


def measure_moved(paths: Sequence[str | Path], device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case of some files.

    Raises CountersError as `count_on_gpu` does.
    """
    rows = counted(paths, _COLUMNS, device)
    return [row | {"crossed": _SECTOR * row["crossed"]} for row in rows]


def write_measured(
    measure: Callable[[Sequence[str]], list[dict[str, Any]]], given: Sequence[str]
) -> None:
    """Write a table of files: `given` names them, and then the table."""
    *paths, out = given
    rows = measure(paths)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    write_measured(measure_moved, sys.argv[1:])
