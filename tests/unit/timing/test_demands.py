"""What a launch's instructions ask of each pipe, worked out by hand."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from simulator.law.chips import Chip
from simulator.timing.pipes import (
    TimeBound,
    bound_of,
    far_cycles,
    memory_rate,
)
from simulator.timing.products import operand_wavefronts, product_cycles
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


def test_opcodes_of_any_name_have_their_pipe() -> None:
    """PRMT and SHF, from behind NOP in the alphabet, too."""
    h100 = rates_of("H100")
    for opcode in ("PRMT", "SHF.L.U32", "IADD3"):
        rate = h100[opcode]
        assert rate.held is not None
        found = bound_of(work([Line(opcode, "R0,R1,R2,R3")], times=5), "H100")
        assert found.pipes[rate.pipes[0]] >= 5 * rate.held / len(rate.pipes)


def test_the_block_with_least_work_stands_for_those_that_did_not_run() -> None:
    long, short = (work([Line("MUFU.RCP", "R0,R1")], times=times) for times in (4, 2))
    both = replace(long, traces=(*long.traces, *short.traces), grid=(132 * 8, 1, 1))
    found = bound_of(both, "H100")
    on_one, units = 8, 4
    assert found.pipes["xu"] == pytest.approx(2 * 8 * on_one / units)
    assert "blocks differ: for the lower bound, each that did not run" in found.notes[0]


def test_a_pipe_that_a_block_leaves_alone_is_bounded_by_the_blocks_that_ran() -> None:
    long = work([Line("MUFU.RCP", "R0,R1")], times=2)
    none = work([Line("MUFU.RCP", "R0,R1")], times=0)
    both = replace(long, traces=(*long.traces, *none.traces), grid=(132 * 40, 1, 1))
    assert bound_of(both, "H100").pipes["xu"] == 2 * 8 / 4


def test_loads_hold_the_data_pipe_elsewhere_as_their_bytes_do() -> None:
    """Two warps three times: a wavefront of 128 bytes each, and a store holds it not at all."""
    body = [Line("LDG.E", "R0,[R2.64]", lines=4), Line("STG.E", "[R2.64],R0", lines=4)]
    found = bound_of(work(body, warps=2, times=3), "A100")
    assert not rates_of("A100").is_measured
    assert found.pipes["shared"] == found.floors["shared"] == 6


def test_every_sm_moves_its_share() -> None:
    """1,000 blocks read and write 4 sectors of their own: 7.6 of an SM's, and none has half one."""
    for op, way in (("LDG.E", "to_sm"), ("STG.E", "from_sm")):
        operands = "R0,[R2.64]" if op == "LDG.E" else "[R2.64],R0"
        found = bound_of(work([Line(op, operands, lines=4)], blocks=1000, resident=1000), "H100")
        rate = memory_rate(f"{way}_bytes", Chip.of("H100"))
        assert rate is not None
        assert found.pipes[way] == pytest.approx(1000 * 4 * 32 / 132 / rate, rel=1e-12)


def test_what_is_read_and_what_is_written_pass_the_l2() -> None:
    body = [Line("LDG.E", "R0,[R2.64]", lines=4), Line("STG.E", "[R2.64],R0", lines=4)]
    found = bound_of(work(body, blocks=1000, resident=1000), "H100")
    rate = memory_rate("l2_bytes", Chip.of("H100"))
    assert rate is not None
    assert found.pipes["l2"] == pytest.approx(2 * 1000 * 4 * 32 / rate, rel=1e-12)


def test_a_bound_is_a_time_and_does_not_change() -> None:
    found = bound_of(work(BODY), "H100", clock_mhz=1000)
    assert found.seconds is not None
    assert found.seconds * 1e9 == pytest.approx(found.cycles, rel=1e-12)
    with pytest.raises(FrozenInstanceError):
        found.chip = "A100"  # type: ignore[misc]


def test_a_product_reads_a_from_registers_or_from_shared_memory() -> None:
    """64 columns of B, and 64 rows of A, of 32 bytes each: 128 per wavefront, by four warps."""
    lines = [
        Line("HGMMA.64x64x16.F32", "R24,R4,gdesc[UR4],R24"),
        Line("HGMMA.64x64x16.F32", "R24,gdesc[UR4],R24"),
        Line("HMMA.16816.F32", "R24,R4,R8,R24"),
    ]
    instructions = work(lines).instructions[:3]
    assert [operand_wavefronts(each) for each in instructions] == [4, 8, 0]
    assert [product_cycles(each) for each in instructions[:2]] == [13, 32]


def test_the_verdict_says_what_is_next() -> None:
    cycles, floors = {"shared": 100.0, "fma": 200.0}, {"shared": 50.0, "fma": 200.0}
    held = (
        "Without bank conflicts at most 1.25 times as fast; no gain if it takes its least cycles,"
        " set by FMA."
    )
    assert TimeBound("H100", cycles, floors, None).verdict() == held
    none = "No gain: there are no bank conflicts to remove."
    assert TimeBound("H100", floors, floors, None).verdict() == none
    few = TimeBound("H100", cycles, {**cycles, "shared": 99.5}, None).verdict()
    assert few == "Without bank conflicts at most 1.00 times as fast: not worth changing."
    assert TimeBound("H100", {"shared": 4.0}, {"shared": 0.0}, None).speedup == 1
    assert TimeBound("H100", cycles, floors, None).seconds is None


def test_only_what_takes_half_a_percent_is_printed() -> None:
    """100 FFMA on one sub-partition: 101 issue slots; one MUFU of 8 cycles, one warp's LDS of 1."""
    body = [Line("FFMA", "R0,R1,R2,R3")] * 999 + [Line("LDS", "R0,[R1]", cycles=1, floor=1)]
    text = str(bound_of(work(body), "H100"))
    assert text.startswith("at least 1,001 cycles on H100: issue slots\n")
    assert "FMA" in text
    assert "data pipe" not in text


def test_the_l2_and_dram_move_what_cannot_be_there_already() -> None:
    """DRAM brings what the L2 cannot hold when the kernel begins, and takes what it cannot keep."""
    h100 = Chip.of("H100")
    assert (h100.l2_bytes, h100.dram_gb_per_s) == (50 << 20, 3352.32)
    far = far_cycles((50 << 20) + 3000, (50 << 20) + 6000, h100, 1000)
    assert far == {
        "dram": pytest.approx(9000 / 3352.32, rel=1e-12)
    }  # at 1 GHz a GB/s is a byte per cycle
    assert far_cycles(1 << 20, 1 << 20, h100, None) == {"dram": 0}
    assert far_cycles(1 << 40, 0, Chip.of("B200"), None) == {}  # its clock is not known


def test_every_sm_reads_its_blocks_data_from_the_l2() -> None:
    """Blocks of one address read 4 sectors of 32 bytes each: no SM has them before."""
    body = [Line("LDG.E", "R0,[R2.64]", lines=4)]
    found = bound_of(work(body, blocks=1000, apart=0), "H100")
    rate, way = (memory_rate(f"{name}_bytes", Chip.of("H100")) for name in ("l2", "to_sm"))
    assert rate is not None
    assert way is not None
    assert found.pipes["l2"] == pytest.approx(132 * 4 * 32 / rate)
    assert found.pipes["to_sm"] == pytest.approx(4 * 32 / way)
