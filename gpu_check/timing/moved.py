"""What goes to and fro behind the SMs in timed launches, in bytes.

`python -m gpu_check.timing.moved SET.json... OUT.csv`. Every case is launched twice, and the second
launch is read, as `gpu_check.timing.kernels` does. But the profiler counts so little that it
repeats no launch: the L2 holds what the first launch left there. `dram_read` and `dram_write`,
`crossed`, what goes from one of the L2's two parts to the other, and `to_sms`, what SMs get.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.errors import CountersError
from gpu_check.recordings import write_table
from gpu_check.timing.kernels import read_cases

__all__ = ["measure_moved", "second_launches"]

_METRICS = [
    "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_ltcfabric.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
]  # fmt: skip
_SECTOR = 32


def second_launches(
    path: str | Path, metrics: list[str], device: int = 0
) -> list[tuple[str, list[int]]]:
    """Return the name of each case of a file, and the metrics of its second launch, in order.

    Raises CountersError as `count_on_gpu` does.
    """
    cases = read_cases(path)
    with TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "gpu_check.timing.kernels", "--launch", str(path), str(device),
            folder,
        ]  # fmt: skip
        rows = run_ncu(command, metrics, "regex:.")[1::2]
    if len(rows) != len(cases):
        raise CountersError(
            f"ncu saw {len(rows)} second launches of {len(cases)} kernels (next: try again)"
        )
    return [(case["name"], metrics_of(row, metrics)) for case, row in zip(cases, rows, strict=True)]


def measure_moved(paths: Sequence[str | Path], device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case of some files.

    Raises CountersError as `count_on_gpu` does.
    """
    return [
        {"set": Path(path).stem, "case": name, "dram_read": read, "dram_write": written,
         "crossed": _SECTOR * crossed, "to_sms": to_sms}
        for path in paths
        for name, (read, written, crossed, to_sms) in second_launches(path, _METRICS, device)
    ]  # fmt: skip


def main(paths: Sequence[str], out: str) -> None:
    """Write the table."""
    rows = measure_moved(paths)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:-1], sys.argv[-1])
