"""Local memory that L1 does not hold, and loads from DRAM, as an H100 and an H200 did them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing import reads_beside_writes
from gpu_check.timing.flight import flight_source, turns_of
from gpu_check.timing.local_sweeps import Sweeps, sweeps_source
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

Row = Mapping[str, str]
SMS = 132
QUICK = {
    ("turns", "both", "1", "512", "256"),
    ("turns", "both", "3", "480", "256"),
    ("turns", "reads", "1", "512", "256"),
}


def sweeps() -> list[object]:
    """Return rows of one wave; those are slow that are not among QUICK."""
    found = []
    for row in packaged_table("h100_local_sweeps"):
        key = tuple(row[name] for name in ("way", "does", "arrays", "words", "threads"))
        far = int(row["words"]) * int(row["threads"]) > 100_000  # of an SM: more than L1 has
        if row["where"] == "local" and (row["sweeps"], row["waves"]) == ("8", "1") and far:
            marks = () if key in QUICK else pytest.mark.slow
            found.append(pytest.param(row, id=" ".join(key), marks=marks))
    return found


@pytest.mark.parametrize("row", sweeps())
def test_sweeps_over_local_memory_take_what_they_took(row: Row) -> None:
    """Which way they go is not known to the model: it takes the mean of both."""
    numbers = (int(row[name]) for name in ("arrays", "words", "threads", "waves", "sweeps"))
    case = Sweeps(row["where"], row["way"], row["does"], *numbers)
    block = 64 if case.threads == 256 else 256
    places = SMS * case.threads // block
    report = replay_compiled(
        sweeps_source(case), kernel=case.name, grid=places, block=block, chip="H100",
        args=[np.zeros(places * block, np.float32), np.zeros(1, np.float32),
              np.int32(case.sweeps), np.int32(places)],
    )  # fmt: skip
    within = 0.2 if case.way == "turns" and case.words > 400 else 0.45
    assert report.time("H100").cycles == pytest.approx(float(row["cycles"]), rel=within)


@pytest.mark.parametrize("chip", ["H100", "H200"])
@pytest.mark.parametrize("key", [("128", "8", "4"), ("128", "16", "2")])
def test_loads_from_dram_wait_longer_beside_stores(key: tuple[str, str, str], chip: str) -> None:
    """Without what the stores add they would take 15 to 20 % less."""
    recorded = {
        (row["bytes"], row["warps"], row["writes"]): float(row["cycles"])
        for row in packaged_table(f"{chip.lower()}_reads_beside_writes")  # type: ignore[arg-type]
    }[key]
    lane, warps, writes = int(key[0]) // 32, int(key[1]), int(key[2])
    turns = reads_beside_writes.TURNS[warps]
    size = SMS * warps * 32 * lane * turns
    report = replay_compiled(
        reads_beside_writes.SOURCE, kernel=f"beside_{lane}", grid=SMS, block=32 * warps,
        args=[np.zeros(size, np.uint8), np.zeros(size * writes, np.uint8), np.uint64(size),
              np.int32(turns), np.int32(writes)],
        chip=chip,
    )  # fmt: skip
    active = report.time().active_cycles or 0
    assert active / turns == pytest.approx(recorded, rel=0.08)


@pytest.mark.parametrize(
    ("chip", "warps"),
    [("H100", 16), ("H200", 8),
     *(pytest.param(*case, marks=pytest.mark.slow)
       for case in (("H100", 8), ("H100", 12), ("H100", 20), ("H200", 12), ("H200", 16),
                    ("H200", 20)))],
)  # fmt: skip
def test_a_warp_waits_as_long_for_lines_side_by_side(chip: str, warps: int) -> None:
    """Four lines of a kilobyte come from DRAM together. If each came early or late by itself, a
    load of 16 bytes per lane would wait for the last of them: for 8 to 16 % longer."""
    recorded = {
        (row["mebibytes"], row["warps"], row["chains"]): float(row["cycles"])
        for row in packaged_table(f"{chip.lower()}_flight")  # type: ignore[arg-type]
    }["1024", str(warps), "1"]
    turn, turns = turns_of(warps, 1, SMS)
    size = (turns + 2) * turn  # two turns go before those that are timed
    report = replay_compiled(
        flight_source(), kernel="flight1", grid=SMS, block=32 * warps, chip=chip,
        args=[np.zeros(size, np.uint8), np.int64(size), np.zeros(SMS, np.int64), np.int32(turns),
              np.zeros(1, np.uint32)],
    )  # fmt: skip
    active = report.time().active_cycles or 0
    assert active / (turns + 2) == pytest.approx(recorded, rel=0.07)
