"""What blocks read at random, beside what an H100 brought from DRAM (h100_random_reads.csv)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.random_reads import random_reads_source
from simulator.law.chips import Chip
from simulator.sass.replay import replay_compiled
from simulator.sass.report import CompiledReport
from simulator.timing.draws import Draws
from simulator.timing.estimate import SmRun, estimate, run_sm
from simulator.timing.kernel_time import KernelTime
from simulator.timing.machine import machine_of
from simulator.timing.residency import Residency
from simulator.timing.shares import held_of, numbers_of
from tests.sass_kernels import needs_compiler
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
ROWS = {
    (int(row["mebibytes"]), int(row["unit"])): row for row in packaged_table("h100_random_reads")
}

QUICK = {(24, 32), (64, 128), (160, 32)}


@cache
def report_of(mebibytes: int, unit: int) -> CompiledReport:
    return replay_compiled(
        random_reads_source(), kernel="random_reads", grid=1056, block=256, chip="H100",
        args=[np.zeros(mebibytes << 18, np.uint32), np.zeros(1, np.uint32),
              np.uint32((mebibytes << 20) // unit), np.int32(unit // 4)],
    )  # fmt: skip


def time_of(mebibytes: int, unit: int) -> KernelTime:
    return report_of(mebibytes, unit).time(chip="H100")


@needs_compiler
@pytest.mark.parametrize(
    ("mebibytes", "unit"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
     for case in product((24, 30, 36, 64, 160), (32, 128))],
)  # fmt: skip
def test_random_reads_take_their_time_and_dram_brings_as_much(mebibytes: int, unit: int) -> None:
    """Of 32 bytes every sector may be read, of 128 one of a line."""
    row, time = ROWS[mebibytes, unit], time_of(mebibytes, unit)
    brought = time.counts["dram_sectors"] * 132 * 64  # bytes, a pair of sectors each
    assert brought == pytest.approx(float(row["dram_read"]), rel=0.03, abs=4e6)
    assert time.cycles == pytest.approx(float(row["cycles"]), rel=0.065)


def test_what_is_read_at_random_crosses_as_often_as_dram_brings_it() -> None:
    """Where nothing is lost, no line crosses: both parts of the L2 keep it (paged pieces)."""
    machine = machine_of(H100) or {}
    for mebibytes, unit in ((24, 32), (64, 128)):
        work = report_of(mebibytes, unit).relaunch().work(H100)
        held = held_of(work, H100, machine)
        numbers = numbers_of(work, machine, held, 132)
        assert held.draws.part > 0.95
        brought = min(1.0, held.draws.missed * held.draws.fetched)
        assert numbers["crossed"] == pytest.approx(brought, abs=0.05)
        assert (brought < 0.02) == (mebibytes == 24)


def test_where_l1_has_what_is_read_again_less_of_what_dram_brings_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By that part the L2's way waits for DRAM, too."""
    machine, launch = machine_of(H100) or {}, work([Line("LDG.E", lines=8)], blocks=132)
    held = replace(
        held_of(launch, H100, machine), kept=Residency(lost=0.5), share=0.2, loaded=1 << 40,
        draws=Draws(part=0.5, missed=0.5),
    )  # fmt: skip
    given = []

    def noted(*args: Any, **more: bool) -> SmRun:
        given.append(args[2])
        return run_sm(*args, **more)

    monkeypatch.setattr("simulator.timing.estimate.held_of", lambda *_: held)
    monkeypatch.setattr("simulator.timing.estimate.run_sm", noted)
    assert estimate(launch, H100, machine) is not None
    first, *_, last = (each for each in given if not each["course"])
    assert last == numbers_of(launch, machine, replace(held, share=1.0), 132)
    assert last["dram_holds"] < first["dram_holds"]
