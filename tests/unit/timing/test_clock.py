"""The clock of an SM: what it is, and that memory beyond the SM keeps its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from simulator import Chip
from simulator.timing.launch_time import time_of
from simulator.timing.machine import at_clock, machine_of
from simulator.timing.rates import table
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
MACHINE = machine_of(H100) or {}
OUTSIDE = {row["fact"]: row["outside"] for row in table("machine")}
ROWS = {(row["beside"], row["work"]): row for row in packaged_table("h200_frequencies")}
SUMS = [Line("FADD", "R0,R1,R2")] * 32


@given(st.floats(0.3, 1.0))
def test_a_slower_sm_waits_fewer_of_its_cycles_for_memory_and_gets_more_in_each(
    share: float,
) -> None:
    slowed = at_clock(MACHINE, share)
    for fact, value in MACHINE.items():
        if not OUTSIDE[fact]:
            assert slowed[fact] == value
        elif OUTSIDE[fact] == "rate":
            assert slowed[fact] == pytest.approx(value / share)
        else:
            assert share * value - 1e-9 <= slowed[fact] <= value


@pytest.mark.parametrize(
    ("fact", "work"), [("l2_latency", "chain L2"), ("dram_latency", "chain DRAM")]
)
@pytest.mark.parametrize("beside", ["f16", "f16 few", "s8", "s8 few"])
def test_latencies_at_a_lower_clock_are_those_of_an_h100(fact: str, work: str, beside: str) -> None:
    slow, fast = ROWS[beside, work], ROWS["sums", work]
    share = int(slow["sm_mhz"]) / int(fast["sm_mhz"])
    measured = float(slow["cycles"]) / float(fast["cycles"])
    assert at_clock(MACHINE, share)[fact] / MACHINE[fact] == pytest.approx(measured, rel=0.03)


@pytest.mark.parametrize(("fact", "work"), [("l2_rate", "read L2"), ("dram_rate", "read DRAM")])
@pytest.mark.parametrize("beside", ["f16", "f16 few", "s8", "s8 few"])
def test_rates_at_a_lower_clock_are_those_of_an_h100(fact: str, work: str, beside: str) -> None:
    slow, fast = ROWS[beside, work], ROWS["sums", work]
    share = int(slow["sm_mhz"]) / int(fast["sm_mhz"])
    measured = float(fast["cycles"]) / float(slow["cycles"])
    assert at_clock(MACHINE, share)[fact] / MACHINE[fact] == pytest.approx(measured, rel=0.04)


def test_only_the_sm_is_slower_beside_products() -> None:
    for row in ROWS.values():
        assert float(row["lts_mhz"]) == pytest.approx(1709, abs=2)
        assert float(row["dram_mhz"]) == pytest.approx(3198, abs=2)
        is_slow = row["beside"].split()[0] in ("f16", "s8")
        assert (int(row["sm_mhz"]) < 1850) == is_slow


@pytest.mark.parametrize(
    ("opcode", "operands", "mhz"),
    [
        ("HMMA.16816.F32", "R4,R8,R12,R4", 1800),
        ("IMMA.16832.S8.S8", "R4,R8,R12,R4", 1800),
        ("HGMMA.64x64x16.F32", "R24,gdesc[UR4],R24,UPT", 1800),
        ("DMMA.8x8x4", "R4,R8,R12,R4", 1980),
        ("FADD", "R0,R1,R2", 1980),
    ],
)
def test_products_lower_the_clock_but_not_those_of_doubles(
    opcode: str, operands: str, mhz: float
) -> None:
    time = time_of(work([*SUMS, Line(opcode, operands)], warps=4), H100)
    assert time.clock_mhz == pytest.approx(mhz, abs=1)
    assert time.cycles is not None
    assert time.seconds == pytest.approx(time.cycles / mhz / 1e6, rel=1e-3)


def test_a_product_that_was_not_executed_lowers_no_clock() -> None:
    launch = work([*SUMS, Line("HMMA.16816.F32", "R4,R8,R12,R4")], warps=4)
    without = work(SUMS[1:], warps=4)  # and an EXIT in its place
    launch = replace(launch, traces=without.traces)
    assert time_of(launch, H100).clock_mhz == 1980


def test_a_clock_that_is_given_is_taken() -> None:
    time = time_of(work([*SUMS, Line("HMMA.16816.F32", "R4,R8,R12,R4")], warps=4), H100, 1500)
    assert time.clock_mhz == 1500


def test_other_chips_keep_their_clock() -> None:
    a100 = Chip.of("A100")
    launch = work([*SUMS, Line("HMMA.16816.F32", "R4,R8,R12,R4")], warps=4)
    assert time_of(launch, a100).clock_mhz == a100.clock_mhz
