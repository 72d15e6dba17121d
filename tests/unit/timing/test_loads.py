"""Loads of global memory beside conflicts in shared memory, as an H100 issued and served them."""

from dataclasses import replace

import pytest

from gpu_check.recordings import packaged_table
from simulator.timing.state import Stall
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, work

WAYS = 32
CONFLICT = Line("LDS", "R0,[R1]", stall=4, cycles=WAYS, floor=1)
ISSUED, DONE = "issued", "done"


def load(lines: int) -> Line:
    """Return a load that takes a cycle per line."""
    return Line("LDG.E", "R4,[R2.64]", stall=4, lines=lines, cycles=lines, floor=lines)


def recorded(
    until: str, lines: int, conflicts: int, warps: int, count: int, access: str = "load of the L2"
) -> int:
    """Cycles until all is issued, or all results are there."""
    (row,) = (
        row for row in packaged_table("h100_lookups")
        if (row["access"], row["words"], row["own_banks"]) == (access, "1", "0")
        and [int(row[name]) for name in ("lines", "conflicts", "warps", "count")]
        == [lines, conflicts, warps, count]
    )  # fmt: skip
    return int(row[until])


def issued(lines: int, conflicts: int, warps: int, count: int) -> float:
    """Cycles that the mean warp of one SM needs to issue its loads, and conflicts behind them."""
    body = [load(lines)] * count + [CONFLICT] * conflicts
    stalls = run(work(body, warps=warps), request=MACHINE["request_alone"]).stalls
    return float(stalls[: len(body)].sum() / warps)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("lines", [1, 4, 32])
def test_an_sm_takes_as_many_loads_as_an_h100_before_a_warp_waits(lines: int, warps: int) -> None:
    """Recorded is the last warp: of two on a sub-partition the mean one has issued before it."""
    for count in (8, 16, 20, 24, 28):
        each = max(warps, 4) * lines + (2 * count if warps > 4 else 0)
        assert issued(lines, 0, warps, count) == pytest.approx(
            recorded(ISSUED, lines, 0, warps, count), abs=24 + each
        )


@pytest.mark.parametrize("count", [8, 16, 28])
@pytest.mark.parametrize("lines", [1, 4])
def test_loads_leave_room_for_conflicts_behind_them(lines: int, count: int) -> None:
    """The compiler put the conflicts behind them: the queues take all of both."""
    for warps in (1, 4):
        chip = recorded(ISSUED, lines, 8, warps, count)
        assert chip < 0.6 * 8 * warps * WAYS
        assert issued(lines, 8, warps, count) == pytest.approx(chip, abs=40)


def test_their_data_take_the_data_pipe_behind_them() -> None:
    """All of it is served one after the other: conflicts, then what L1 has."""
    for lines in (1, 4):
        for warps in (4, 8):
            for count in (8, 28):
                of = [
                    recorded(DONE, lines, conflicts, warps, count, "load in L1")
                    for conflicts in (0, 8)
                ]
                assert of[1] - of[0] == pytest.approx(8 * warps * WAYS, rel=0.05)
    body = [replace(each, write=0) for each in [CONFLICT] * 8 + [load(4)] * 16]
    both = run(work([*body, Line("FADD", "R9,R9,R9", waits=1)], warps=4))
    assert both.counts["data_cycles"] >= 4 * (8 * WAYS + 16 * 4)
    assert both.cycles >= both.counts["data_cycles"]


def test_a_load_of_one_warp_waits_for_the_conflicts_of_another_with_its_data_alone() -> None:
    """Its lines are looked up at once, so the L2 is asked while the data pipe is busy."""
    last = [Line("LDG.E", "R4,[R2.64]", write=0, lines=1, cycles=1, floor=1)]
    use = Line("FADD", "R4,R4,R4", waits=1)
    alone = run(work([*last, use])).stalls[1, Stall.LONG_SCOREBOARD]
    beside = run(work([CONFLICT, CONFLICT, *last, use])).stalls[3, Stall.LONG_SCOREBOARD]
    # Two conflicts last less long than the way to the L2 and back.
    assert 2 * WAYS * MACHINE["shared_warp"] < alone
    assert beside == pytest.approx(alone, abs=8)


@pytest.mark.parametrize("stall", [1, 2, 3, 4])
def test_a_load_behind_a_store_goes_when_the_store_has_gone(stall: int) -> None:
    """It went when something else happened: a barrier before it made a kernel 44 % faster."""
    asks = Line("LDG.E", "R4,[R2.64]", stall=stall, write=0, lines=1, cycles=1, floor=1)
    store = Line("STG.E", "[R2.64],R5", stall=stall, lines=1, cycles=1, floor=1)
    use = Line("FADD", "R4,R4,R4", waits=1)
    alone = run(work([asks, asks, use])).cycles
    assert run(work([asks, store, asks, use])).cycles <= alone + 24


def test_a_load_that_comes_when_its_warp_has_ended_frees_no_other_one() -> None:
    """The next block's warp has its place, and went on before its own load was there."""
    asks = Line("LDG.E", "R4,[R2.64]", write=0, lines=8, cycles=1, floor=1)
    use = Line("FADD", "R4,R4,R4", waits=1)
    unused = replace(asks, lines=1)
    plain, more = (
        run(work(body, blocks=8), count=8, dram_share=1.0).stalls[1, Stall.LONG_SCOREBOARD]
        for body in ([asks, use], [asks, use, unused])
    )
    assert more >= 0.9 * plain
