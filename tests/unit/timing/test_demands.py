"""What a launch's instructions ask of each pipe, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.timing.pipes import bound_of
from simulator.timing.rates import rates_of
from tests.unit.timing.works import Line, work

BODY = [
    Line("FFMA", "R0,R1,R2,R3"),
    Line("MUFU.RCP", "R0,R1"),
    Line("IMAD", "R0,R1,R2,R3"),
    Line("LDS", "R0,[R1]", cycles=5, floor=2),
    Line("FADD", "R0,R1,R2", guard="@P0"),
    Line("NOP"),
    Line("HGMMA.64x64x16.F32", "R24,gdesc[UR4],R24,gsb0"),
]


def test_every_pipe_has_what_its_instructions_hold_it_for() -> None:
    """Two warps run the body three times, in one block on four sub-partitions: two of them work."""
    found = bound_of(work(BODY, warps=2, times=3), "H100")
    h100 = rates_of("H100")
    times, units = 6, 2
    assert (h100["FFMA"].held, h100["IMAD"].held, h100["MUFU.RCP"].held) == (2, 2, 8)
    assert found.pipes["xu"] == times * 8 / units
    assert found.pipes["fmaheavy"] == times * 2 / units
    # FFMA goes to either half of the FMA pipe; IMAD to one, which is half of what both can do.
    assert found.pipes["fma"] == (times * 2 / 2 + times * 2 / 2) / units
    # Guarded instructions and NOP are issued, and may never reach a pipe.
    assert found.pipes["issue"] == (len(BODY) * times + 2) / units
    # A product reads 64 rows of A and 64 columns of B, of 32 bytes each, by four warps.
    operands = times * (64 + 64) * 32 / 128 / 4
    assert found.pipes["shared"] == times * 5 + operands
    assert found.floors["shared"] == times * 2 + operands
    assert found.saved == times * 3
    assert {**found.pipes, "shared": 0} == {**found.floors, "shared": 0}
    assert found.limiter == max(found.pipes, key=lambda name: found.pipes[name])
    assert found.notes == ()
    assert found.clock_mhz == h100.chip.clock_mhz
    assert bound_of(work(BODY), "H100", clock_mhz=1000).clock_mhz == 1000


def test_the_block_with_least_work_stands_for_those_that_did_not_run() -> None:
    long, short = (work([Line("MUFU.RCP", "R0,R1")], times=times) for times in (4, 2))
    both = replace(long, traces=(*long.traces, *short.traces), grid=(132 * 8, 1, 1))
    found = bound_of(both, "H100")
    on_one, units = 8, 4
    assert found.pipes["xu"] == pytest.approx(2 * 8 * on_one / units)
    assert "sampled blocks differ" in found.notes[0]


def test_only_what_takes_half_a_percent_is_printed() -> None:
    """100 FFMA on one sub-partition: 101 issue slots; one MUFU of 8 cycles, one warp's LDS of 1."""
    body = [Line("FFMA", "R0,R1,R2,R3")] * 999 + [Line("LDS", "R0,[R1]", cycles=1, floor=1)]
    text = str(bound_of(work(body), "H100"))
    assert text.startswith("at least 1,001 cycles on H100: issue slots\n")
    assert "FMA" in text
    assert "data pipe" not in text
