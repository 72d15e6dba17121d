"""What an SM may have on its way, and what waits behind it, by what an H100 did."""

from collections import defaultdict
from dataclasses import replace

import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.copying import SHARED
from simulator.timing.machine import l1_bytes
from simulator.timing.state import Stall
from tests.unit.timing.test_copying import asked_and_sent
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, work

CURVES: dict[tuple[str, int, int], dict[int, int]] = defaultdict(dict)
for row in packaged_table("h100_outstanding"):
    of = str(row["shape"]), int(row["shared"]), int(row["sms"])
    CURVES[of][int(row["issued"])] = int(row["cycles"])
BEHIND = {
    tuple(int(row[name]) for name in ("bytes", "beside", "shared", "far")): float(row["cycles"])
    for row in packaged_table("h100_behind_loads")
}
EVERY = 16
"""Copies and loads from one row of a curve to the next."""
QUEUES = 4 * int(MACHINE["mio_room"])
LINE = 128


def issued(shape: str, shared: int) -> int | None:
    """How many all SMs had issued when they first fell behind one SM; None: they never did."""
    alone, all_sms = CURVES[shape, shared, 1], CURVES[shape, shared, 132]
    late = [count for count, cycles in all_sms.items() if cycles > alone[count] + 150]
    return min(late) if late else None


@pytest.mark.parametrize("shape", ["whole", "padded", "moved", "whole 64", "padded 64"])
def test_copies_stop_where_so_many_lines_are_on_their_way(shape: str) -> None:
    lines, sent = asked_and_sent(shape)
    again = sent - 16
    count = issued(shape, SHARED)
    assert count is not None
    curve = CURVES[shape, SHARED, 132]
    last = max(curve)
    rate = (last - count) / max(curve[last] - curve[count], 1)
    back = rate * (curve[count] - MACHINE["dram_latency"])
    on_their_way = count - EVERY / 2 - QUEUES - back
    assert on_their_way * (lines + again / 4) == pytest.approx(MACHINE["outstanding"], rel=0.13)


@pytest.mark.parametrize(("shape", "lines"), [("line", 1), ("lines", 4)])
def test_loads_stop_where_l1_has_no_line_left(shape: str, lines: int) -> None:
    of_l1 = l1_bytes(200_000, 1, 28) // LINE
    count = issued(shape, 200_000)
    assert count is not None
    looked_up = count - QUEUES - int(MACHINE["lg_room"]) - 2
    assert looked_up * lines == pytest.approx(of_l1, rel=0.2)
    assert issued(shape, 1024) is None


def test_loads_of_shared_memory_wait_behind_loads_that_wait() -> None:
    alone = BEHIND[4, 0, 14_000, 1]
    assert BEHIND[4, 2, 14_000, 1] < 1.1 * alone  # eight warps' loads of a line
    assert BEHIND[4, 12, 14_000, 1] > 15 * alone
    assert BEHIND[16, 12, 14_000, 1] > 60 * alone


def waited(loads: int, shared: int, warps: int = 4, **numbers: float) -> int:
    """Cycles that a warp's load of shared memory takes behind its loads of four lines each."""
    body = [
        *[Line("LDG.E.128", "R8,[R2.64]", lines=4, stall=2)] * loads,
        Line("LDS", "R3,[R4]", write=0, cycles=1, floor=1),
        Line("FADD", "R3,R3,R3", waits=1),
    ]
    made = replace(work(body, warps=warps), shared_bytes=shared)
    return int(run(made, **numbers).stalls[loads + 1, Stall.SHORT_SCOREBOARD]) // warps


def test_what_is_behind_a_load_that_finds_no_line_of_l1_waits_for_one() -> None:
    small, large = l1_bytes(SHARED, 1, 4) // LINE, l1_bytes(1024, 1, 4) // LINE
    assert small < 4 * 4 * 24
    assert large > 4 * 4 * 24
    assert waited(24, SHARED) > max(3 * waited(24, 1024), MACHINE["l2_latency"])
    # Those that fit let it by.
    assert small > 4 * 4 * 8
    assert waited(8, SHARED) == waited(8, 1024)


def test_a_load_of_more_lines_than_there_are_goes_by_itself() -> None:
    """Else it would wait for ever."""
    alone, less = (waited(3, 1024, warps=1, outstanding=each) for each in (3, 1450))
    assert alone > less + MACHINE["l2_latency"]


def test_what_is_behind_copies_waits_until_there_is_room_for_them() -> None:
    copy = Line("LDGSTS.E.BYPASS.128", "[R1],[R2.64]", lines=8, asked=8, sent=16, stall=2)
    load = [Line("LDS", "R3,[R4]", write=0, cycles=1, floor=1), Line("FADD", "R3,R3,R3", waits=1)]
    made = work([*[copy] * 20, *load], warps=4)
    room = 20 * 4 * 8
    least, enough, more = (
        int(run(made, outstanding=each).stalls[21, Stall.SHORT_SCOREBOARD])
        for each in (room // 4, room, 4 * room)
    )
    assert least > enough + 4 * MACHINE["l2_latency"]
    assert enough == more
