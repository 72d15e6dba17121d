"""What goes on beside warps: phases of mbarriers, copies by TMA, products of warpgroups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from simulator import Chip
from simulator.timing.code import code_arrays
from simulator.timing.estimate import SmRun, run_sm
from simulator.timing.far import AHEAD, from_l2, to_l2
from simulator.timing.machine import NUMBERS, machine_of
from simulator.timing.rates import rates_of
from simulator.timing.state import Stall, new_state
from simulator.timing.work import Work
from tests.unit.timing.test_sm import MACHINE
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
WAITS = packaged_table("h100_waits")
PRODUCTS = packaged_table("h100_wgmma")
TILES = packaged_table("h100_tma")
Event = tuple[int, int, int, int, int]


def beside(given: Work, events: Sequence[Sequence[Event]]) -> Work:
    """Give the warps of a launch's blocks what goes on beside them."""
    begins = np.cumsum([0, *map(len, events)])
    every = np.array([each for of_warp in events for each in of_warp], np.int64).reshape(-1, 5)
    traces = [replace(each, event_begin=begins, event=every) for each in given.traces]
    return replace(given, traces=tuple(traces))


def run(given: Work, **numbers: float) -> SmRun:
    return run_sm(given, H100, {**MACHINE, **numbers}, np.zeros(1, np.int64))


def arrival(number: int, phase: int) -> Event:
    return number, phase, 0, 0, 0


def test_a_phase_that_two_warps_pass_to_and_fro_takes_what_it_took_on_an_h100() -> None:
    turns = 32
    # Each arrives at its phase of a turn, once the other's is complete.
    body = [
        Line("SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0,[UR4],R2", write=0),
        Line("BRA", "`(.L)", guard="@!P0", waits=1, stall=5),
        Line("SYNCS.ARRIVE.TRANS64.A1T0", "RZ,[UR4],RZ", stall=2),
    ]
    first, second = [], []
    for turn in range(turns):
        mine, other = 2 * turn, 2 * turn + 1
        first += [arrival(0, other - 2 if turn else -1), arrival(2, mine)]
        second += [arrival(0, mine), arrival(2, other)]
    passing = beside(work(body, warps=2, times=turns), [first, second])
    measured = next(float(row["cycles"]) for row in WAITS if row["wait"] == "passing")
    found = run(passing)
    assert found.cycles / turns == pytest.approx(measured, rel=0.2)  # less a loop's own
    assert found.stalls.sum(axis=0).argmax() == Stall.LONG_SCOREBOARD


@pytest.mark.parametrize("size", [16, 2048, 16384])
def test_a_copy_that_is_waited_for_takes_what_it_took_on_an_h100(size: int) -> None:
    turns = 16
    body = [
        Line("SYNCS.ARRIVE.TRANS64", "RZ,[UR4],R4", stall=2),
        Line("UBLKCP.S.G", "[UR8],[UR4],UR6", stall=2),
        Line("SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0,[UR4],R2", write=0, stall=2),
        Line("BRA", "`(.L)", guard="@!P0", waits=1, stall=5),
    ]
    events = [
        each
        for turn in range(turns)
        for each in (arrival(0, turn), (1, turn, size, max(size // 32, 1), 1), arrival(2, turn))
    ]
    measured = next(
        float(row["cycles"]) for row in WAITS
        if (row["bytes"], row["in_flight"], row["sms"]) == (str(size), "1", "1")
    )  # fmt: skip
    found = run(beside(work(body, times=turns), [events]), l2_rate=48.1)
    assert found.cycles / turns == pytest.approx(measured, rel=0.12)


@pytest.mark.parametrize(("inner_bytes", "size"), [(128, 8192), (64, 4096), (32, 2048)])
def test_stores_of_tiles_take_what_they_took_on_an_h100(inner_bytes: int, size: int) -> None:
    measured = next(
        float(row["cycles"]) for row in TILES
        if (row["copy"], row["inner_bytes"], row["rows"], row["swizzle"])
        == ("store", str(inner_bytes), "64", "0")
    )  # fmt: skip
    few, many = (
        run(
            beside(
                work([Line("UTMASTG.2D", "[UR8],[UR4]", stall=2)], times=times),
                [[(0, 0, size, size // 32, 64)] * times],
            ),
            store_rate=32, store_request=0, dram_stored=0,
        ).cycles
        for times in (32, 96)
    )  # fmt: skip
    assert (many - few) / 64 == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("n", "a"), [(8, "SS"), (64, "SS"), (128, "SS"), (256, "SS"), (128, "RS")])
def test_a_group_of_products_takes_what_it_took_on_an_h100(n: int, a: str) -> None:
    measured = next(
        row for row in PRODUCTS
        if (row["type"], row["n"], row["a"], row["accumulator"]) == ("f16", str(n), a, "f32")
    )  # fmt: skip
    first = "R24," if a == "SS" else "R24,R4,"
    operands = f"{first}gdesc[UR4],R24,UPT"
    one = Line(f"HGMMA.64x{n}x16.F32", operands)
    body = [*[one] * 11, Line(f"HGMMA.64x{n}x16.F32", operands + ",gsb0"),
            Line("WARPGROUP.DEPBAR.LE", "gsb0,0x0")]  # fmt: skip
    times = 8
    found = run(work(body, warps=4, times=times))
    wanted = 12 * float(measured["cycles"]) + float(measured["wait"])
    assert found.cycles / times == pytest.approx(wanted, rel=0.1)
    assert found.stalls.sum(axis=0).argmax() == Stall.BARRIER


def test_who_waits_for_a_group_of_products_is_said_to_wait_at_a_barrier() -> None:
    rows = packaged_table("h100_group_waits")
    waits, others = (sum(int(row[reason]) for row in rows) for reason in ("barrier", "gmma"))
    assert waits > 1000
    assert others == 0


def test_a_warp_goes_on_beside_its_products() -> None:
    product = Line("HGMMA.64x256x16.F32", "R24,gdesc[UR4],R24,UPT,gsb0")
    sums = [Line("FADD", "R0,R1,R2", stall=4)] * 64
    wait = Line("WARPGROUP.DEPBAR.LE", "gsb0,0x0")
    beside_it = run(work([product, *sums, wait], warps=4, times=8)).cycles
    behind_it = run(work([product, wait, *sums], warps=4, times=8)).cycles
    assert beside_it < 0.75 * behind_it


def test_the_barrier_of_a_cluster_takes_the_way_to_another_sm_longer() -> None:
    block, cluster = (
        run(work([Line(opcode, operands)], warps=4, times=8)).cycles
        for opcode, operands in (("BAR.SYNC", "0x0"), ("UCGABAR_WAIT", ""))
    )
    assert (cluster - block) / 8 == pytest.approx(MACHINE["cluster_latency"], abs=2)


def test_every_number_of_the_machine_has_a_source() -> None:
    assert {"phase_latency", "tma_latency", "tma_rate", "beside_product"} <= set(
        machine_of(H100) or {}
    )


def test_an_arrival_at_a_neighbour_comes_later_than_one_at_home() -> None:
    lines = [Line("STAS", "[R2.64],R4"), Line("SYNCS.ARRIVE.TRANS64", "RZ,[UR4],RZ")]
    numbers = code_arrays(work(lines).instructions, rates_of(H100))["number"]
    assert numbers.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("opcode", "fact", "share"),
    [
        ("LD.E", "neighbour_load", "neighbour_loads"),
        ("LD.E.STRONG.GPU", "neighbour_load", "neighbour_loads"),
        ("ATOM.E.ADD.STRONG.GPU", "neighbour_atom", "neighbour_atoms"),
    ],
)
def test_an_access_to_a_neighbour_takes_its_way_longer(opcode: str, fact: str, share: str) -> None:
    lines = [Line(opcode, "R0,[R2]", write=0, floor=1), Line("FADD", "R0,R0,R1", waits=1)]
    found = work(lines, times=32)
    trace = found.traces[0]
    rows = replace(trace.rows, number=np.array([0]), is_shared=np.array([True]),
                   cycles=np.zeros(1, np.int64), floor=np.zeros(1, np.int64),
                   sectors=np.zeros(1, np.int64), bytes=np.zeros(1, np.int64),
                   line_begin=np.zeros(2, np.int64))  # fmt: skip
    steps = replace(trace.steps, row_begin=np.array([0, 1, 1]), row=np.array([0]))
    each = []
    for tenths in (0, 600):
        away = replace(rows, away=np.array([tenths]))
        one = replace(found, traces=(replace(trace, rows=away, steps=steps),))
        each.append(run(one).cycles / 32)
    way = 60 * MACHINE[share]
    assert each[1] - each[0] == pytest.approx(
        MACHINE[fact] + way - MACHINE["generic_latency"], 0.05
    )


def test_copies_that_are_asked_for_ahead_do_not_make_the_l2_busier() -> None:
    numbers = np.array([MACHINE[name] for name in NUMBERS])

    def waited(ahead: int) -> int:
        state = new_state(1 << 16)
        for turn in range(4):
            from_l2(state[0], numbers, 64, 16.0, 0.0, 30.5, ahead * turn, AHEAD)
        state["free"] = state["quick"] = 0  # how busy it was, and not how much is to be done
        return from_l2(state[0], numbers, 4, 1.0, 0.0, 30.5, 100)

    assert waited(2000) <= waited(0)


@pytest.mark.parametrize("sectors", [4, 64])
def test_a_load_does_not_go_behind_tiles_that_are_stored_ahead(sectors: int) -> None:
    numbers = np.array([MACHINE[name] for name in NUMBERS])

    def waited(ahead: int) -> int:
        state = new_state(1 << 16)
        to_l2(state[0], numbers, sectors, 0, ahead, False)
        return from_l2(state[0], numbers, 4, 1.0, 0.0, 30.5, 0)

    assert waited(5000) == waited(0)


def _beside_products(form: str, other: Line, count: int) -> float:
    """Cycles of a warp's instructions, behind products that it does not wait for, or none."""
    product = Line(form, "R24,gdesc[UR4],R24", stall=2)
    end = Line("FADD", "R0,R0,R1", waits=1)
    return float(run(work([*[product] * count, *[other] * 16, end], warps=4)).cycles)


@pytest.mark.parametrize(
    ("other", "form", "waits"),
    [
        (Line("LDS", "R0,[R2]", write=0, cycles=1, floor=1), "HGMMA.64x64x16.F32", True),
        (Line("LDS", "R0,[R2]", write=0), "HGMMA.64x64x16.F32", False),  # no lane loads
        (Line("FMNMX", "R0,R1,R2,!PT", stall=2), "HGMMA.64x256x16.F32", True),
        (Line("FMNMX", "R0,R1,R2,!PT", stall=2), "HGMMA.64x256x16.F16", False),
        (Line("UIADD3", "UR8,UR9,0x1,URZ", stall=2), "HGMMA.64x256x16.F32", False),
    ],
)
def test_what_needs_what_products_need_waits_for_them(other: Line, form: str, waits: bool) -> None:
    """Operands come from shared memory, and sums of 32 bits pass through the registers' ports."""
    many, one, none = (_beside_products(form, other, count) for count in (7, 1, 0))
    assert one >= none
    assert (many - 6 * 2 > none + 8) == waits
