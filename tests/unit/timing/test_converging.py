"""Where lanes are told to meet, and do: what an H100's loops of BSSY and BSYNC took."""

import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.banks_beside import tokens
from tests.unit.timing.test_sm import run
from tests.unit.timing.works import Line, work

LINES = {
    "S": Line("BSSY", "B0,0x100"),
    "Y": Line("BSYNC", "B0", stall=5),
    "W": Line("YIELD", stall=5),
    "F": Line("FFMA", "R20,RZ,RZ,RZ"),
}
ROWS = [row for row in packaged_table("h100_converging") if "B" not in row["pattern"]]
NOT_KNOWN = {
    ("F*64 W", 1), ("F*16 W", 4), *((f"F*{n} W", warps) for n in (24, 32, 64) for warps in (2, 4)),
}  # fmt: skip
"""Warps that give way, with many additions between: they take up to 58 % longer, see time.md."""
CASES = [
    (row, warps) for row in ROWS for warps in (1, 2, 4)
    if (row["pattern"], warps) not in NOT_KNOWN
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "warps"), CASES, ids=[f"{row['pattern']}-{warps}" for row, warps in CASES]
)
def test_where_lanes_meet_is_told_as_often_as_it_was(row: dict[str, str], warps: int) -> None:
    body = [LINES[letter] for letter in tokens(row["pattern"])]
    times = 256 // len(body)
    less, more = (
        run(work(body * times, warps=4 * warps, times=each)).cycles for each in (1, 3)
    )  # fmt: skip
    # A turn of the recorded loop ends with a branch, and has a few instructions of its own: about
    # so many cycles.
    own = {1: 40, 2: 32, 4: 24}[warps]
    each = ((more - less) / (2 * warps) + own / warps) / times
    # Several warps with additions behind a BSYNC keep the unit less busy than those of an H100.
    rel = 0.06 if warps == 1 else 0.13 if row["pattern"].endswith("Y") else 0.2
    assert each == pytest.approx(float(row[f"warps_{warps}"]), rel=rel)
