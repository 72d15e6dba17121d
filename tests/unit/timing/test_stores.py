"""Stores on their way to the L2: what they take, and who waits for them."""

from dataclasses import replace

import numpy as np
import pytest

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
