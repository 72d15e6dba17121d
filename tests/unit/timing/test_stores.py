"""Stores on their way to the L2: what they take, and who waits for them."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from simulator.timing.state import Stall
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, work


def test_what_comes_from_the_other_part_of_the_l2_does_not_wait_for_all_stores() -> None:
    stores = [Line("STG.E", "[R2.64],R0", lines=32)] * 16
    load = Line("LDG.E", "R4,[R6.64]", write=0, lines=1)
    add = Line("FADD", "R0,R0,R4", waits=1)

    def waited(crossed: float) -> int:
        found = run(work([*stores, load, add]), crossed=crossed)
        return int(found.stalls[len(stores) + 1, Stall.LONG_SCOREBOARD])

    room = MACHINE["store_room"] * 128 / MACHINE["store_rate"]
    way = len(stores) * 32 * MACHINE["store_request"]
    assert waited(1.0) - waited(0.0) == pytest.approx(room, rel=0.2)
    assert waited(1.0) < way + MACHINE["l2_latency"] - 50


def test_lines_of_whole_sectors_are_stored_faster_than_parts_of_them() -> None:
    def took(size: int) -> int:
        made = work([Line("STG.E", "[R2.64],R0", lines=8)], warps=4, times=64)
        rows = replace(made.traces[0].rows, bytes=np.array([size]))
        traces = tuple(replace(each, rows=rows) for each in made.traces)
        return run(replace(made, traces=traces)).cycles

    assert took(128) / took(256) == pytest.approx(
        MACHINE["store_request"] / MACHINE["store_line"], rel=0.05
    )


@pytest.mark.parametrize("access", ["STG.E", "LDG.E"])
def test_a_fence_waits_for_accesses_of_its_warp_that_are_in_a_queue(access: str) -> None:
    """Else conflicts before them let it begin earlier, and a launch ends sooner with conflicts."""
    slow = [Line("STS", "[R0],R1", cycles=32, floor=1)] * 5
    asks = Line(access, "[R2.64],R4" if access == "STG.E" else "R4,[R2.64]", lines=8)
    made = work([*slow, asks, Line("MEMBAR.SC.GPU"), Line("FADD", "R0,R1,R2")])
    cycles, floor = (run(made, without=without).cycles for without in (False, True))
    # A load passes conflicts (test_loads.py), and a store does not.
    assert cycles >= floor + (3 * 32 if access == "STG.E" else 0)
    only_block = work([*slow, asks, Line("MEMBAR.ALL.CTA"), Line("FADD", "R0,R1,R2")])
    assert run(only_block).stalls[6, Stall.MEMBAR] == 0


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_a_fence_behind_four_stores_takes_what_it_took_on_an_h100(warps: int) -> None:
    """Of a loop whose other instructions take as long as the recorded one does without both."""
    body = [
        *[Line("IADD3", "R0,R1,R2,R3", stall=6)] * 6, *[Line("STG.E", "[R2.64],R0", lines=1)] * 4,
        Line("MEMBAR.SC.GPU"),
    ]  # fmt: skip
    cycles = [run(work(body, warps=warps, times=times)).cycles for times in (1, 17)]
    measured = next(
        float(row["cycles"]) for row in packaged_table("h100_fences")
        if (row["fence"], row["stores"], row["loads"], row["cluster"]) == ("gpu", "4", "0", "1")
        and (row["sms"], row["warps"]) == ("132", str(warps))
    )  # fmt: skip
    assert (cycles[1] - cycles[0]) / 16 == pytest.approx(measured, rel=0.11)
