"""Which SM gets which blocks of a grid: by how fast its way to the L2 is, and how blocks end."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from simulator.law.chips import Chip
from simulator.timing import estimate
from simulator.timing.estimate import run_sm
from simulator.timing.giving import SmServed, shares, slowness
from simulator.timing.machine import machine_of
from simulator.timing.shares import held_of, numbers_of
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
MACHINE = machine_of(H100) or {}
BLOCKS = {str(row["case"]): row for row in packaged_table("h100_timed_sm_blocks")}
ENDS: dict[str, list[float]] = {}
for row in packaged_table("h100_block_ends"):
    ENDS.setdefault(str(row["case"]), []).append(float(row["ends"]))


@given(
    by_memory=st.floats(0, 1), by_way=st.floats(0, 1), sms=st.integers(1, 132),
    blocks=st.integers(1, 4000), resident=st.integers(1, 8), drawn=st.integers(0, 3),
)  # fmt: skip
def test_all_blocks_are_given_out_and_no_sm_gets_fewer_than_it_holds(
    by_memory: float, by_way: float, sms: int, blocks: int, resident: int, drawn: int
) -> None:
    ends = [1000.0 + 40 * place for place in range(resident)]
    found = shares(ends, resident, 1200.0, blocks, sms, SmServed(by_memory, by_way), MACHINE,
                   apart=40.0 * drawn, drawn=drawn)  # fmt: skip
    assert sum(each.blocks for each in found) == blocks
    if blocks > resident * sms:
        assert min(each.blocks for each in found) >= resident


def test_sms_differ_by_as_much_of_dram_as_of_the_l2() -> None:
    (row,) = (
        row for row in packaged_table("h100_apart")
        if (row["way"], row["place"], row["size"], row["blocks"], row["work"], row["rounds"])
        == ("loads", "dram", "32768", "1", "0", "64")
    )  # fmt: skip
    for name, figure in (("sm_least", "first"), ("sm_most", "last")):
        assert int(row[figure]) / int(row["cycles"]) == pytest.approx(MACHINE[name], abs=0.015)


@given(by_memory=st.floats(0, 1), by_way=st.floats(0, 1))
def test_the_mean_of_all_rates_is_that_of_the_mean_sm(by_memory: float, by_way: float) -> None:
    slow = slowness(132, SmServed(by_memory, by_way), MACHINE)
    assert slow == sorted(slow)
    assert fmean(1 / each for each in slow) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("case", "blocks", "by_memory", "by_way"),
    [
        ("strided tf32 padded", 1024, 0.7, 1.0), ("gathered experts padded", 1024, 0.9, 1.0),
        ("gathered experts plain", 1024, 0.1, 0.2), ("by tokens plain", 1024, 0.1, 0.2),
        ("petrov padded", 1056, 0.2, 0.1), ("contrasted plain", 1056, 0.1, 0.1),
    ],
)  # fmt: skip
def test_sms_get_about_as_many_blocks_as_they_got(
    case: str, blocks: int, by_memory: float, by_way: float
) -> None:
    """By when blocks ended on an H100: some SMs get half as many again where their way is slow."""
    ends = sorted(ENDS[case])
    of = (ends, len(ends), max(ends), blocks, 132, SmServed(by_memory, by_way), MACHINE)
    most = fmean(max(each.blocks for each in shares(*of, drawn)) for drawn in range(3))
    fewest = fmean(min(each.blocks for each in shares(*of, drawn)) for drawn in range(3))
    assert most == pytest.approx(float(BLOCKS[case]["most"]), abs=2.0)
    assert fewest == pytest.approx(float(BLOCKS[case]["fewest"]), abs=1.0)


@pytest.mark.parametrize(
    ("line", "cycles"),
    [
        (Line("STG.E", "[R2.64],R4", lines=1), MACHINE["store_line"]),
        (Line("LDG.E", "R4,[R2.64]", write=1, lines=1), MACHINE["store_asked"]),
    ],
)
def test_stores_keep_the_way_busy_for_longer_than_what_loads_ask_for(
    line: Line, cycles: float
) -> None:
    made = work([line] * 40, warps=8, blocks=132 * 8)
    numbers = numbers_of(made, MACHINE, held_of(made, H100, MACHINE), 132)
    run = run_sm(made, H100, numbers, np.zeros(1, np.int64))
    assert run.way / (40 * 8) == pytest.approx(cycles, rel=0.15)


def test_blocks_that_end_later_since_they_begin_later_are_not_chance() -> None:
    """Of 32 short blocks of an SM it was: 466 cycles."""
    of_sums = work([Line("FADD", "R0,R0,R1", stall=4)] * 500, blocks=132 * 64, resident=32)
    numbers = numbers_of(of_sums, MACHINE, held_of(of_sums, H100, MACHINE), 132)
    run = run_sm(of_sums, H100, numbers, np.zeros(64, np.int64))
    assert estimate._apart(of_sums, H100, numbers, run, without=False) < 5
