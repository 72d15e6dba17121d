"""Arrays that are read or stored in another order take as long as on an H100."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.turned import run_of, turned_source
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

_NAMES = ("does", "how", "word", "lines", "mebibytes", "warps")
CYCLES = {
    tuple(row[name] for name in _NAMES): int(row["cycles"])
    for row in packaged_table("h100_turned")
}  # fmt: skip


@pytest.mark.parametrize(
    ("does", "how", "word", "warps", "within"),
    [
        pytest.param("read", "in", 16, 16, 0.05, marks=pytest.mark.slow),
        ("store", "out", 4, 16, 0.05),
        pytest.param("copy", "rows", 4, 16, 0.05, marks=pytest.mark.slow),
        ("copy", "in", 16, 8, 0.15), ("copy", "out", 4, 16, 0.1),
        pytest.param("copy", "in", 4, 32, 0.15, marks=pytest.mark.slow),
        pytest.param("copy", "out", 16, 64, 0.05, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_another_order_takes_as_long(
    does: str, how: str, word: int, warps: int, within: float
) -> None:
    """Copies of eight warps of 16 bytes per lane took 22 % too long, where the load of DRAM was
    taken over 1,000 cycles: all warps waited together, and then none."""
    lines, mebibytes = 97 if how == "rows" else 3100, 96
    kernel, grid, block, each = run_of(does, how, word, lines, mebibytes, warps, 132)
    data = np.zeros(2 * (mebibytes << 20), np.uint8)
    report = replay_compiled(
        turned_source(), kernel=kernel, grid=grid, block=block, chip="H100",
        args=[data[: len(data) // 2], data[len(data) // 2 :], np.uint32(lines), np.uint32(each),
              np.zeros(1, np.float32)],
    )  # fmt: skip
    case = tuple(map(str, (does, how, word, lines, mebibytes, warps)))
    assert report.time("H100").cycles == pytest.approx(CYCLES[case], rel=within)
