"""Barriers: who waits at one, and what goes on meanwhile."""

from __future__ import annotations

import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.deferring import stops
from simulator.law.chips import Chip
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.timing.code import code_arrays
from simulator.timing.rates import rates_of
from simulator.timing.state import Stall
from tests.unit.timing.test_sm import run
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
BEHIND_PRODUCTS = {"IGMMA", "HGMMA", "LDGSTS", "LDGDEPBAR", "WARPGROUP"}
"""Who waits for products is said to wait at a barrier, too: these stand before such a wait."""
SOURCES = ("FADD", "R4,R4,R5"), ("UIADD3", "UR4,UR4,0x1,URZ")


@pytest.mark.parametrize("row", packaged_table("h100_deferring"), ids=lambda row: row["opcode"])
def test_warps_wait_for_a_barrier_before_what_an_h100_lets_them_wait_before(
    row: dict[str, str],
) -> None:
    if row["opcode"] in BEHIND_PRODUCTS:
        pytest.skip("stands between a barrier and a wait for products")
    passed, stopped = int(row["passed"]), int(row["stopped"])
    opcode = {"HMMA": "HMMA.16816.F32"}.get(row["opcode"], row["opcode"])
    code = code_arrays(work([Line(opcode, "R4,R5,R6")]).instructions, rates_of(H100))
    assert bool(code[0]["passes"]) == (passed > stopped)


@pytest.mark.parametrize(("opcode", "operands"), SOURCES)
def test_a_warp_goes_on_behind_a_barrier_until_it_needs_it(opcode: str, operands: str) -> None:
    shadow = [Line(opcode, operands)] * 8

    def cycles(barrier: str) -> int:
        body = [Line(barrier, "0x0"), *shadow, Line("MUFU.EX2", "R9,R9")]
        return int(run(work(body, warps=8, times=8)).cycles)

    # Two warps of each sub-partition: what they do meanwhile need not be done behind it.
    assert cycles("BAR.SYNC.DEFER_BLOCKING") <= cycles("BAR.SYNC") - 8 * 8


def test_the_wait_is_told_of_the_instruction_that_waits() -> None:
    lines = [
        Line("BAR.SYNC.DEFER_BLOCKING", "0x0", stall=1), Line("FADD", "R4,R4,R5"),
        Line("UMOV", "UR4,0x1"), Line("FADD", "R4,R4,R5"),
    ]  # fmt: skip
    stalls = run(work(lines, warps=32)).stalls
    assert stalls[:, Stall.BARRIER].tolist()[:2] == [0, 0]
    assert stalls[2, Stall.BARRIER] > 0
    assert stalls[3, Stall.BARRIER] == 0


def test_samples_say_what_warps_pass_and_where_they_wait() -> None:
    opcodes = ("BAR.SYNC.DEFER_BLOCKING", "IADD3", "FMUL.FTZ", "LDS.64", "BAR.ARV", "STS")
    code = [SassInstruction(16 * k, "", opcode, "") for k, opcode in enumerate(opcodes)]
    found = stops(code, {16: {"barrier": 2}, 48: {"barrier": 99}, 80: {"barrier": 100}})
    assert found == [(["IADD3", "FMUL"], "LDS")]
    assert stops(code, {48: {"barrier": 24}}) == []


def test_the_wait_for_copies_is_told_of_what_is_behind_it() -> None:
    copy = Line("LDGSTS.E.BYPASS.128", "[R0],[R2.64]", lines=4, cycles=4, floor=4, asked=4, sent=16)
    lines = [copy, Line("LDGDEPBAR"), Line("DEPBAR.LE", "SB0,0x0"), Line("FADD", "R4,R4,R5")]
    stalls = run(work(lines, warps=4)).stalls[:, Stall.LONG_SCOREBOARD]
    assert stalls[2] == 0
    assert stalls[3] > 100


def test_the_wait_for_a_cluster_is_told_of_its_barrier() -> None:
    lines = [Line("UCGABAR_WAIT"), Line("FADD", "R4,R4,R5")]
    stalls = run(work(lines, warps=8)).stalls[:, Stall.BARRIER]
    assert stalls[0] > 0
    assert stalls[1] == 0
