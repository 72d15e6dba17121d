"""`KernelTime`: what holds of any launch, and what is said where its cycles are not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.errors import ChipError, OptionError
from simulator.timing.launch_time import time_of
from simulator.timing.state import STALLS
from simulator.timing.work import Work
from tests.examples import examples
from tests.unit.timing.works import Line, work

READ = st.builds(
    lambda cycles, more, sb: Line("LDS", "R0,[R2]", write=sb, cycles=cycles + more, floor=cycles),
    st.integers(1, 4), st.integers(0, 28), st.integers(0, 5),
)  # fmt: skip
OTHER = st.one_of(
    st.builds(Line, st.sampled_from(["FFMA", "IADD3", "MUFU.EX2", "BAR.SYNC"]),
              st.just("0x0"), stall=st.integers(1, 6)),
    st.builds(Line, st.just("LDG.E"), st.just("R4,[R6.64]"), write=st.integers(0, 5),
              lines=st.integers(1, 8)),
    st.builds(Line, st.just("FADD"), st.just("R0,R1,R2"), waits=st.integers(0, 63)),
)  # fmt: skip
SIZES = st.tuples(
    st.integers(1, 8), st.integers(1, 3), st.sampled_from([1, 131, 132, 133, 5000]),
    st.integers(1, 4),
)  # fmt: skip
# Loads without a lane: four that came at once kept those behind them for ever.
OFF = Line("LDG.E", "R4,[R6.64]", write=0, lines=1)
OFF_BESIDE = [Line("LDS", "R0,[R2]", write=0, cycles=19, floor=1), OFF,
              Line("FADD", "R0,R1,R2", waits=1), OFF]  # fmt: skip
CONFLICTS = (Line("LDS", "R0,[R2]", write=0, cycles=32, floor=1), Line("FADD", "R1,R0,R0", waits=1))


def sized(body: list[Line], sizes: tuple[int, int, int, int]) -> Work:
    warps, times, blocks, resident = sizes
    return work(body, warps=warps, times=times, blocks=blocks, resident=resident)


@settings(max_examples=examples(20))
@given(st.lists(st.one_of(READ, OTHER), min_size=1, max_size=8), SIZES)
@example(OFF_BESIDE, (6, 3, 5000, 4))
def test_what_holds_of_any_launch(body: list[Line], sizes: tuple[int, int, int, int]) -> None:
    found = time_of(sized(body, sizes), "H100")
    after = found.without_conflicts
    assert found.cycles is not None
    assert found.active_cycles is not None
    assert after.cycles is not None
    assert found.range is not None
    assert 0 < found.bound_cycles <= found.active_cycles < found.cycles
    assert after.cycles <= found.cycles
    assert after.bound_cycles <= found.bound_cycles
    assert after.bound_cycles <= after.cycles
    assert found.speedup_without_conflicts == found.cycles / after.cycles >= 1
    assert found.bound_cycles <= found.range[0] <= found.cycles <= found.range[1]
    assert found.seconds == pytest.approx(found.cycles / found.clock_mhz / 1e6)  # type: ignore[operator]
    assert found.limiter == next(iter(found.pipes))
    assert all(0 <= share <= 1 for share in found.pipes.values())
    # Every cycle of a warp has one reason, and lines are sums of instructions.
    columns = found.stalls
    for row in range(len(columns["address"])):
        assert columns["warp_cycles"][row] == sum(columns[name][row] for name in STALLS)
    lines = found.lines()
    assert sum(lines["warp_cycles"]) == sum(columns["warp_cycles"])
    assert found.reasons["selected"] == 1
    assert after.without_conflicts is after
    assert found.to_dict()["totals"]["cycles"] == found.cycles


@settings(max_examples=examples(15))
@given(st.lists(OTHER, min_size=1, max_size=8), SIZES)
def test_a_kernel_without_conflicts_gains_nothing(
    body: list[Line], sizes: tuple[int, int, int, int]
) -> None:
    free = Line("LDS", "R0,[R2]", write=0, cycles=4, floor=4)
    found = time_of(sized([*body, free], sizes), "H100")
    assert found.speedup_without_conflicts == 1
    assert found.without_conflicts is found
    assert "Without bank conflicts it would not be faster." in found.sentences()


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (8000, "×1.25."),
        (9999, "×1.00, not worth changing."),
        (9800, "×1.02, too close to tell."),
        (10200, "×0.98, too close to tell."),
        (10400, "×0.96, slower: not worth changing."),
    ],
)
def test_conflicts_that_cost_nothing_are_left(after: int, said: str) -> None:
    """It said that it would not be faster, not what follows."""
    line = Line("LDS", "R0,[R2]", write=0, cycles=8, floor=4)
    found = replace(time_of(sized([line], (1, 1, 1, 1)), "H100"), cycles=10_000)
    found = replace(found, without=replace(found, cycles=after, without=None))
    assert f"Without bank conflicts about {after:,} cycles: {said}" in found.sentences()


@settings(max_examples=examples(10))
@given(SIZES, st.floats(100, 3000))
def test_a_clock_changes_seconds_and_dram_alone(
    sizes: tuple[int, int, int, int], clock: float
) -> None:
    given_work = sized([*CONFLICTS], sizes)
    found, usual = time_of(given_work, "H100", clock), time_of(given_work, "H100")
    assert found.clock_mhz == clock
    assert found.cycles == usual.cycles
    assert found.seconds == pytest.approx(found.cycles / clock / 1e6)  # type: ignore[operator]


@pytest.mark.parametrize("clock", [0, -1.0, float("nan"), float("inf"), "1500", [1], True])
def test_a_clock_that_is_none_is_refused(clock: Any) -> None:
    with pytest.raises(OptionError, match=r"clock_mhz = .* \(accepted: MHz of the SM, above 0\)"):
        time_of(work([*CONFLICTS]), "H100", clock)


def test_a_chip_that_is_not_known_is_refused() -> None:
    with pytest.raises(ChipError, match="H1000"):
        time_of(work([*CONFLICTS]), "H1000")


def test_a_chip_without_timing_data_has_the_bound_and_the_reason() -> None:
    found = time_of(replace(work([*CONFLICTS], warps=8, times=20), capability=80), "A100")
    assert (found.cycles, found.active_cycles, found.seconds, found.range) == (None,) * 4
    assert found.speedup_without_conflicts is None
    assert found.limiter == "shared"
    assert found.notes[-1] == (
        "Its cycles are not known: latencies and queues of A100 were not measured"
        " (of H100 and H200 they were)."
    )
    # The bound without conflicts is another one all the same.
    assert found.without_conflicts.bound_cycles < found.bound_cycles
    assert found.to_dict()["totals"]["bound_cycles_without_conflicts"] < found.bound_cycles
    assert str(found).startswith(f"At least {found.bound_cycles:,} cycles: L1 and")


def test_a_chip_whose_pipes_are_not_known_has_the_reason_alone() -> None:
    found = time_of(replace(work([*CONFLICTS]), capability=100), "B200")
    assert (found.cycles, found.bound_cycles, found.limiter, found.pipes) == (None, 0, "", {})
    assert found.notes[-1].startswith("Its cycles are not known: B200 has compute capability 10.0")
    assert found.rows() == []
    assert found.without_conflicts is found
    assert (found.bound.limiter, found.bound.cycles, found.bound.most) == ("", 0, 1)
    assert str(found.bound) == found.bound.verdict() == "The pipes of B200 are not known."


def test_warps_that_wait_for_each_other_for_ever_have_no_cycles() -> None:
    never = work([Line("BAR.SYNC", "0x1,0x80"), Line("BAR.SYNC", "0x0")], warps=2)
    found = time_of(never, "H100")
    assert found.cycles is None
    assert found.notes[-1] == "Its cycles are not known: warps wait for each other for ever."


def test_blocks_that_differ_stand_for_the_grid_and_a_note_says_so() -> None:
    short = work([*CONFLICTS], times=10, blocks=2, resident=2)
    long = work([*CONFLICTS], times=30, blocks=2, resident=2)
    both = replace(short, traces=(short.traces[0], long.traces[0]), grid=(264, 1, 1))
    found = time_of(both, "H100")
    said = "locks differ: for the estimate 2 of them ran, and each stands for an equal share"
    assert f"b{said} of the grid" in found.notes
    assert f"B{said} of the grid." in found.sentences()
    times = [time_of(replace(each, grid=(264, 1, 1)), "H100").cycles for each in (short, long)]
    assert found.cycles is not None
    assert times[0] is not None
    assert times[1] is not None
    assert times[0] < found.cycles <= times[1]
    assert not [note for note in time_of(short, "H100").notes if "differ" in note]


@pytest.mark.parametrize(("capability", "other"), [(75, "T4"), (80, "A100"), (100, "B200")])
def test_code_that_a_chip_does_not_run_has_no_time_there(capability: int, other: str) -> None:
    """A measurement was said to lie between two numbers, and nobody can take it."""
    found = time_of(replace(work([*CONFLICTS]), capability=capability), "H100")
    assert (found.cycles, found.range, found.bound_cycles) == (None, None, 0)
    assert found.notes == (
        f"Its cycles are not known: code for sm_{capability} does not run on H100 (accepted: code"
        f" for sm_90, or the chip {other}).",
    )


def test_code_for_a_smaller_capability_has_a_note() -> None:
    other = replace(work([*CONFLICTS]), capability=80)
    said = "the code is for compute capability 8.0: RTX 3080 would run other code"
    assert said in time_of(other, "RTX 3080").notes


def test_the_other_blocks_of_a_cluster_have_a_note() -> None:
    found = time_of(replace(work([*CONFLICTS]), cluster=(2, 1, 1)), "H100")
    assert any("go in step" in note for note in found.notes)


def test_more_blocks_than_are_simulated_have_a_note() -> None:
    found = time_of(work([Line("FFMA")], blocks=1_000_000, resident=32), "H100")
    assert any("of the 7576 blocks of an SM were simulated" in note for note in found.notes)
    assert found.cycles is not None
    assert found.cycles > 7576 * 2 / 4


def test_a_table_shows_the_reasons_that_occur_and_holds_them_all() -> None:
    found = time_of(work([*CONFLICTS], warps=8, times=20), "H100")
    table = found.table()
    assert {"membar", "lg_throttle"} <= set(table.hidden)
    assert "short_scoreboard" not in table.hidden
    whole = sum(found.reasons.values())
    shown = {name for name in STALLS if found.reasons[name] >= whole / 100}
    assert set(table.hidden) == {*STALLS} - shown
    assert 0 < min(filter(None, found.reasons.values())) < whole / 100  # a rare one
    assert set(STALLS) <= set(table.rows[0])
    assert [row["warp_cycles"] for row in table.rows] == sorted(
        found.stalls["warp_cycles"], reverse=True
    )
    assert {row["line"] for row in found.table("line").rows} == {1, 2, 3}


def test_a_note_on_the_footprint_speaks_of_sectors() -> None:
    """An address that moves by a word per block is affine; the sector that it lies in is not."""
    loads = work([Line("LDG.E", "R4,[R6.64]", write=0, lines=1)], blocks=4)
    said = " ".join(time_of(loads, "H100").sentences())
    assert "For L2 and DRAM the lower bound counts the global memory of the blocks that ran" in said
    assert "affine" not in said


def test_the_range_is_said_in_a_sentence() -> None:
    found = time_of(work([*CONFLICTS]), "H100")
    assert found.range is not None
    low, high = found.range
    assert (
        f". A measurement should lie between {low:,} and {high:,}: 9 of 10 did."
        in found.sentences()[0]
    )


@pytest.mark.parametrize(
    ("place", "has_note"),
    [("c[0x3][UR4+0x8]", True), ("c[0x0][UR4]", False), ("c[0x3][0x8]", False)],
)
def test_an_indexed_table_of_constants_has_a_note(place: str, has_note: bool) -> None:
    found = time_of(work([Line("ULDC.64", f"UR8,{place}")]), "H100")
    assert any("constant memory" in note for note in found.notes) == has_note


@pytest.mark.parametrize("opcode", ["FADD", "HGMMA.64x64x16.F32"])
def test_products_of_wgmma_are_named_where_there_are_some(opcode: str) -> None:
    """Nsight Compute calls it `barrier`, too, when a warp waits for them."""
    waits = [Line("BAR.SYNC.DEFER_BLOCKING", "0x0", stall=5), Line("LDS", "R0,[R2]", write=0)]
    found = time_of(sized([*waits * 8, Line("FADD", "R0,R0,R0", waits=1)], (8, 20, 132, 1)), "H100")
    count = len(found.stalls["opcode"])
    told = replace(
        found,
        stalls={**found.stalls, "opcode": [opcode] * count, "barrier": [10**9] * count},
    )
    (said,) = (each for each in told.sentences() if each.startswith("Limited by what warps"))
    assert "other warps at a barrier" in said
    assert ("products of wgmma" in said) is ("GMMA" in opcode)
