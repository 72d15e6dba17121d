"""Stores on their way to the L2: what they take, and who waits for them."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from simulator.timing.state import Stall
from simulator.timing.work import Work
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, with_rows, work

_LOAD = Line("LDG.E", "R4,[R6.64]", write=0, lines=1)
_ADD = Line("FADD", "R0,R0,R4", waits=1)


def _whole(lines: int, stores: int, warps: int, times: int = 1) -> Work:
    """Return warps that store whole lines and then wait for a load."""
    made = work([Line("STG.E", "[R2.64],R0", lines=lines)] * stores + [_LOAD, _ADD],
                warps=warps, times=times)  # fmt: skip
    rows = made.traces[0].rows
    is_store = rows.number < stores
    sectors = np.where(is_store, 4 * lines, 1)
    return with_rows(
        made, mask=np.where(np.arange(len(rows.mask)) < stores * lines, 15, 1), sectors=sectors,
        bytes=32 * sectors,
    )  # fmt: skip


@pytest.mark.parametrize("crossed", [0.0, 1.0])
def test_a_load_goes_behind_the_stores_that_went_before(crossed: float) -> None:
    """Also where it comes from the other part of the L2: not behind more of them."""

    def waited(stores: int) -> int:
        found = run(_whole(1, stores, 1), crossed=crossed)
        return int(found.stalls[stores + 1, Stall.LONG_SCOREBOARD])

    each = 128 / MACHINE["store_rate"]
    # Meanwhile a store leaves its queue every four cycles.
    assert waited(40) - waited(8) == pytest.approx(32 * (each - 4), rel=0.15)


@pytest.mark.parametrize("warps", [16, 32])
def test_a_load_beside_warps_that_store_waits_as_long_as_it_did_on_an_h100(warps: int) -> None:
    (busy,) = (
        float(row["cycles"]) for row in packaged_table("h100_behind_stores")
        if (row["access"], row["sms"], row["busy"]) == ("store_lines", "132", str(warps - 1))
    )  # fmt: skip
    found = run(_whole(1, 12, warps, 8))
    loads = warps * 8
    each = found.stalls[13, Stall.LONG_SCOREBOARD] / loads
    assert each == pytest.approx(busy, rel=0.3)


def test_stores_wait_while_too_many_are_on_their_way() -> None:
    made = _whole(1, 40, 8)
    held, free = (run(made, backlog=most) for most in (64, 510))
    assert held.stalls[:40, Stall.LG_THROTTLE].sum() > free.stalls[:40, Stall.LG_THROTTLE].sum()
    assert held.cycles == pytest.approx(free.cycles, rel=0.05)


def test_lines_of_whole_sectors_are_stored_faster_than_parts_of_them() -> None:
    def took(size: int) -> int:
        made = work([Line("STG.E", "[R2.64],R0", lines=8)], warps=4, times=64)
        return run(with_rows(made, bytes=np.array([size]))).cycles

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
    """Of a loop whose other instructions take as long as the recorded one does without both.

    All SMs store at about the same time here: the estimate takes them to be 60 cycles apart.
    """
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
    assert (cycles[1] - cycles[0]) / 16 == pytest.approx(measured, rel=0.12)


@pytest.mark.parametrize(("access", "count"), [("store", 56), ("addition", 56), ("addition", 40)])
def test_so_many_stores_and_atomics_are_issued_as_an_h100_issues(access: str, count: int) -> None:
    """Of eight warps and whole lines: when the last one left, less what it waits in its queue."""
    (issued,) = (
        float(row["issued"]) for row in packaged_table("h100_backlog")
        if (row["access"], row["lines"], row["sms"], row["warps"], row["count"])
        == (access, "1", "132", "8", str(count))
    )  # fmt: skip
    op = "STG.E" if access == "store" else "RED.E.ADD.STRONG.GPU"
    made = work([Line(op, "[R2.64],R0", lines=1)] * count, warps=8)
    made = with_rows(
        made, mask=np.full(count, 15), sectors=np.full(count, 4), bytes=np.full(count, 128)
    )
    each = 128 / MACHINE["store_rate"] if access == "store" else 5 * MACHINE["atom_packet"]
    waits = 4 * MACHINE["mio_room"] * each  # of those that are issued and not sent
    left = float(run(made).ends.max()) - MACHINE["launch_latency"]
    assert left - waits == pytest.approx(issued, rel=0.2)


def test_one_late_atomic_holds_up_no_more_than_what_is_on_its_way() -> None:
    """Of stores behind it that go another way, 416 sectors may be on their way, not four."""
    hot = Line("RED.E.ADD.STRONG.GPU", "[R2.64],R0", lines=1)
    made = _whole(1, 120, 1)
    first = replace(made.instructions[0], opcode=hot.opcode)
    made = replace(made, instructions=(first, *made.instructions[1:]))
    found = run(made, atom_hot=10_000.0)
    assert found.stalls[:120, Stall.LG_THROTTLE].sum() < 2000
