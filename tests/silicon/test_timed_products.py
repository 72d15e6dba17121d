"""Products of warpgroups beside each other and beside other work, as a chip executed them."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_check.hopper import wgmma
from gpu_check.recordings import packaged_table
from gpu_check.timing.products_beside import beside_source, loop_source
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_beside import run
from tests.unit.timing.works import Line, work

pytestmark = needs_compiler

FORMS = {
    (row["type"], row["accumulator"], int(row["n"]), row["a"]): row
    for row in packaged_table("h100_wgmma")
    if not row["transposed"]
}
BESIDE = {
    (int(row["n"]), row["form"], row["work"]): row for row in packaged_table("h200_products_beside")
}
_LOOP = ("blocks", "groups", "n", "count", "copies", "fenced")
LOOPS = {
    tuple(int(row[name]) for name in _LOOP): float(row["cycles"])
    for row in packaged_table("h200_product_loops")
}
ROOM = 65536


def cycles(
    source: str, kernel: str, threads: int, *given: int, sms: int = 1, room: int = ROOM,
    more: tuple[np.ndarray, ...] = (), chip: str = "H200",
) -> float:  # fmt: skip
    data, when = np.zeros(sms * 131072, np.uint8), np.zeros(sms + 1, np.int64)
    report = replay_compiled(
        source, kernel=kernel, grid=(sms,), block=(threads,), shared_bytes=room, arch="sm_90a",
        args=[*(more or (data, when)), *map(np.int32, given)], chip=chip,
    )  # fmt: skip
    found = report.time(chip).active_cycles
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "accumulator", "n", "a"),
    [("f16", "f32", 8, "SS"), ("f16", "f32", 64, "SS"), ("f16", "f32", 256, "RS"),
     ("s8", "s32", 128, "SS"), ("f16", "f16", 32, "SS")],
)  # fmt: skip
def test_a_wait_for_a_group_takes_what_it_took(kind: str, accumulator: str, n: int, a: str) -> None:
    """It took 18 to 32 cycles more: what the recorded loop does beside the wait counted twice."""
    form = wgmma.WgmmaForm(kind, accumulator, n, a)
    source = wgmma.trial(form, wgmma.LONG, 1, alone=True).source
    arrays = (np.zeros(16, np.int64), *(np.zeros(64, np.uint32) for _ in range(3)))
    few, many = (
        cycles(source, f"case_{form.name}", 128, turns, 1, 0, 0, more=arrays, chip="H100")
        for turns in (1, 17)
    )
    row = FORMS[kind, accumulator, n, a]
    group = wgmma.LONG * float(row["cycles"]) + float(row["wait"])
    assert (many - few) / 16 == pytest.approx(group, abs=5)


@pytest.mark.parametrize(
    ("n", "form", "work", "within"),
    [(64, "f16 f32 SS", "maxima", 0.1), (128, "f16 f32 SS", "sums", 0.2),
     (256, "f16 f32 SS", "stores", 0.08), (128, "f16 f32 SS", "roots", 0.25),
     (64, "f16 f32 SS", "loads", 0.15), (128, "f16 f32 RS", "stores", 0.2),
     (64, "f16 f32 SS", "products of 64 bits", 0.08),
     (128, "s8 s32 SS", "products of 64 bits", 0.08),
     (256, "f16 f32 SS", "products of 64 bits alone", 0.08)],
)  # fmt: skip
def test_other_work_takes_longer_beside_products(
    n: int, form: str, work: str, within: float
) -> None:
    """Cycles that the other warpgroup loses for each group of products; none were, before.

    Products of 64 bits lost 1 to 30 of 123 to 490 cycles before they waited for a gap.
    """
    row = {name: float(BESIDE[n, form, work][name]) for name in ("alone", "beside", "group_beside")}
    source = beside_source(n, form, work)
    groups = 48
    turns = int(3 * groups * row["group_beside"] / row["alone"])  # they outlast the products
    beside, alone = (cycles(source, "beside", 256, turns, count) for count in (groups, 0))
    lost = (row["beside"] - row["alone"]) * row["group_beside"] / row["beside"]
    assert (beside - alone) / groups == pytest.approx(lost, rel=within)


@pytest.mark.parametrize("of", ["maxima", "products of 64 bits"])
def test_halves_that_are_added_to_leave_the_registers_to_others(of: str) -> None:
    """With accumulators of 16 bits what is beside loses next to nothing."""
    lost = {}
    for form in ("f16 f16 SS", "f16 f32 SS"):
        source = beside_source(128, form, of)
        beside, alone = (cycles(source, "beside", 256, 600, count) for count in (40, 0))
        lost[form] = beside - alone
    assert lost["f16 f16 SS"] < 0.1 * lost["f16 f32 SS"]


@pytest.mark.parametrize(
    "case",
    [(1, 1, 64, 2, 0, 0), (1, 1, 128, 4, 4, 0),
     pytest.param((1, 2, 128, 4, 0, 1), marks=pytest.mark.slow),
     pytest.param((2, 1, 128, 2, 0, 1), marks=pytest.mark.slow),
     pytest.param((2, 2, 128, 4, 4, 1), marks=pytest.mark.slow),
     pytest.param((2, 2, 64, 4, 4, 1), marks=pytest.mark.slow)],
)  # fmt: skip
def test_loops_of_products_take_what_they_took(case: tuple[int, ...]) -> None:
    blocks, groups, *rest = case
    source = loop_source(groups, *rest)
    room = (232448 - 1024) // 2 - 1024 if blocks > 1 else 2 * ROOM
    few, many = (
        cycles(source, "loop", 128 * groups, turns, sms=132 * blocks, room=room)
        for turns in (4, 12)
    )
    assert (many - few) / 8 == pytest.approx(LOOPS[case], rel=0.08)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("n", [64, 128, 256])
def test_products_are_issued_while_six_wait(n: int, groups: int) -> None:
    """They were all issued at once, and what is behind them came hundreds of cycles too early."""
    rows = {
        int(row["count"]): float(row["issued"])
        for row in packaged_table("h200_products_issued")
        if (row["n"], row["form"], row["groups"]) == (str(n), "f16 f32 SS", str(groups))
    }

    def issued(count: int) -> float:
        product = Line(f"HGMMA.64x{n}x16.F32", "R24,gdesc[UR4],R24", stall=2)
        return float(run(work([product] * count, warps=4 * groups)).cycles)

    assert issued(16) - issued(10) == pytest.approx(rows[16] - rows[10], rel=0.03)
    assert issued(4) - issued(2) < 0.2 * (issued(16) - issued(10))
