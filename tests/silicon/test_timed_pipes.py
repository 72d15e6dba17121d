"""Which pipe an instruction is executed by: the profiler's counts of kernels that were timed."""

import csv
from pathlib import Path

import numpy as np
import pytest

from simulator import Chip
from simulator.sass.replay import replay_compiled
from simulator.timing.rates import rates_of
from simulator.timing.work import Work

DATA = Path(__file__).parents[2] / "gpu_check/data"
CUBIN = Path(__file__).parent / "timed/cubins/seventh_elements.cubin"
BLOCKS = 1056


def test_a_sort_by_ranks_has_as_many_instructions_of_each_pipe_as_were_counted() -> None:
    keys = np.arange(256, dtype=np.uint32)[::-1].copy()
    report = replay_compiled(
        CUBIN, kernel="rank_sorted", grid=(1,), block=(256,),
        args=[keys, np.zeros(256, np.uint32)], chip="H100",
    )  # fmt: skip
    work = report.rerun.work(Chip.of("H100"))
    assert isinstance(work, Work)
    rates = rates_of(Chip.of("H100"))
    with (DATA / "h100_timed_seventh.csv").open() as file:
        counted = next(row for row in csv.DictReader(file) if row["case"] == "rank sorted")
    for pipe in ("alu", "fmaheavy"):
        found = sum(
            times for times, each in zip(work.executed, work.instructions, strict=True)
            if rates[each.opcode].pipes == (pipe,)
        )  # fmt: skip
        assert found == pytest.approx(float(counted[f"pipe_{pipe}"]) / BLOCKS, rel=1e-9)
