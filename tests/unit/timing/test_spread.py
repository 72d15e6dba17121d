"""Loads that wait for the slowest line, as on an H100; what SMs side by side read."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import PackagedTable, packaged_table
from gpu_check.timing.rereads import SOURCE, lines_of
from simulator import Chip, replay_compiled
from simulator.timing.kept import is_lost
from simulator.timing.machine import NUMBERS, machine_of
from simulator.timing.ways import farther, farthest
from simulator.timing.work import Work
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, with_rows, work

SPREADS: dict[str, PackagedTable] = {"H100": "h100_spread", "H200": "h200_spread"}
NUMBERS_OF = np.array([MACHINE.get(name, 0.0) for name in NUMBERS], np.float64)


def machine(chip: str) -> Mapping[str, float]:
    return machine_of(Chip.of(chip)) or {}


def loads(count: int, times: int, *, warps: int = 1, blocks: int = 1) -> Work:
    """Return warps that load so many whole lines, then wait for all of them, some times."""
    body = [Line("LDG.E", f"R{4 + place},[R2.64]", write=0, lines=1) for place in range(count)]
    adds = Line("FADD", "R0,R0,R4", waits=1, stall=4)
    made = work([*body, adds], warps=warps, times=times, blocks=blocks, resident=blocks)
    return with_rows(made, mask=np.full(count, 15), sectors=np.full(count, 4))


def at(made: Work, lines: np.ndarray) -> Work:
    """Return the same with loads of other lines, shape (blocks, loads of a block)."""
    return replace(
        made,
        traces=tuple(
            replace(each, base=own.ravel()) for each, own in zip(made.traces, lines, strict=True)
        ),
    )


@pytest.mark.parametrize("source", ["L2", "DRAM"])
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_a_warp_waits_for_its_slowest_load_as_long_as_on_an_h100(source: str, count: int) -> None:
    drawn = np.random.default_rng(1)

    def cycles(times: int) -> int:
        anywhere = drawn.integers(0, 1 << 20, (1, times * count))
        made = at(loads(count, times), anywhere)
        return run(made, dram_share=float(source == "DRAM")).cycles

    each = (cycles(576) - cycles(64)) / 512
    (measured,) = (
        float(row["mean"]) for row in packaged_table("h100_spread")
        if (row["source"], row["loads"]) == (source, str(count))
        and (row["sms"], row["warps"]) == ("1", "1")
    )  # fmt: skip
    assert each == pytest.approx(measured, rel=0.05)


def test_the_spread_is_what_was_recorded() -> None:
    rows = {
        (row["source"], int(row["loads"])): row for row in packaged_table("h100_spread")
        if (row["sms"], row["warps"]) == ("132", "1")
    }  # fmt: skip
    near = rows["L2", 1]
    assert (int(near["q90"]) - int(near["q10"])) / 0.8 == pytest.approx(
        MACHINE["l2_spread"],
        rel=0.03,  # two recordings: 60 and 58.75
    )


@pytest.mark.parametrize("chip", ["H100", "H200"])
def test_lines_of_dram_lie_as_far_apart_as_was_recorded(chip: str) -> None:
    alone = [
        row for row in packaged_table(SPREADS[chip])
        if (row["source"], row["loads"], row["sms"]) == ("DRAM", "1", "1")
    ]  # fmt: skip
    widths = [(int(row["q90"]) - int(row["q10"])) / 0.8 for row in alone]
    assert np.mean(widths) == pytest.approx(machine(chip)["dram_spread"], rel=0.02)


@pytest.mark.parametrize("chip", ["H100", "H200"])
@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_the_last_of_several_loads_of_dram_is_as_late_as_on_a_chip(count: int, chip: str) -> None:
    """Lines that lay evenly came too early: the last of 16 by 130 cycles."""
    mean: dict[tuple[str, str], dict[int, float]] = {}
    for row in packaged_table(SPREADS[chip]):
        if row["source"] == "DRAM":
            mean.setdefault((row["sms"], row["warps"]), {})[int(row["loads"])] = float(row["mean"])
    later = np.mean([each[count] - each[1] for each in mean.values()])
    numbers = np.array([machine(chip).get(name, 0.0) for name in NUMBERS], np.float64)
    assert farthest(numbers, True, count) == pytest.approx(later, rel=0.1)


@given(st.booleans(), st.integers(1, 4096))
def test_the_last_line_is_the_mean_of_the_last_ones_that_are_drawn(dram: bool, count: int) -> None:
    drawn = (np.arange(4096) + 0.5) / 4096
    late = np.array([farther(NUMBERS_OF, dram, each) for each in drawn])
    assert np.mean(late) == pytest.approx(0, abs=0.1)
    share = np.diff(np.append(0, (np.arange(4096) + 1) / 4096) ** count)
    assert farthest(NUMBERS_OF, dram, count) == pytest.approx(float(late @ share), abs=0.5)


def rereads(sms: str = "132") -> dict[tuple[str, int, int], float]:
    """Cycles of an SM per load of lines that the L2 has."""
    return {
        (row["how"], int(row["warps"]), int(row["loads"])): float(row["cycles"])
        for row in packaged_table("h100_rereads")
        if (row["source"], row["sms"]) == ("L2", sms)
    }


def test_a_line_on_its_way_costs_no_more_than_one_that_is_there() -> None:
    recorded = rereads()
    for (how, warps, count), cycles in recorded.items():
        if how in ("others", "shifted", "same"):
            there = recorded["past", warps, count]
            assert cycles == pytest.approx(there, rel=0.11), (how, warps, count)


@needs_compiler
@pytest.mark.parametrize(
    ("how", "warps", "count"),
    [("own", 8, 1), ("own", 16, 2), ("own", 32, 1), ("same", 32, 4), ("others", 16, 8),
     ("others", 32, 4), ("past", 16, 4)],
)  # fmt: skip
def test_loads_of_lines_on_their_way_take_what_they_took(how: str, warps: int, count: int) -> None:
    of_block = min(warps, 16)
    words, lines = lines_of(how, of_block, count)
    blocks = 132 * warps // of_block

    def cycles(turns: int) -> float:
        size = 128 * (lines * (turns + 4) + 2)
        report = replay_compiled(
            SOURCE.replace("clock64()", "0").replace("BEFORE", "2"),
            kernel=f"loads{count}", grid=(blocks,), block=(32 * of_block,), chip="H100",
            args=[np.zeros(size * blocks, np.uint8), (4 * words).astype(np.int32).ravel(),
                  np.int32(128 * lines), np.int32(size), np.int32(turns),
                  np.zeros(3 * warps * 132, np.int64), np.zeros(1, np.float32)],
        )  # fmt: skip
        return float(report.time(chip="H100").active_cycles or 0)

    each = (cycles(24) - cycles(8)) / (16 * warps * count)
    assert each == pytest.approx(rereads()[how, warps, count], rel=0.08)


def test_of_two_sms_only_those_side_by_side_read_faster() -> None:
    rows = {
        (row["partner"], float(row["shared"])): float(row["bytes_per_cycle"])
        for row in packaged_table("h100_tpcs") if row["apart"] == "0"
    }  # fmt: skip
    alone = rows["none", 1.0]
    for partner in ("second next", "step 66"):
        assert rows[partner, 1.0] == pytest.approx(alone, rel=0.03)
    for part in (0.25, 0.5, 0.75, 1.0):
        expected = 1 / (part / MACHINE["l2_shared"] + (1 - part) / MACHINE["l2_rate"])
        assert rows["next", part] == pytest.approx(expected, rel=0.1)


def test_the_next_block_begins_on_the_sm_beside() -> None:
    whole = [row for row in packaged_table("h100_places") if int(row["blocks"]) % 132 == 0]
    assert whole
    assert all((row["next"], row["same"]) == ("1.0", "0.0") for row in whole)


def test_what_lies_in_the_other_part_of_the_l2_comes_as_much_later_as_on_an_h100() -> None:
    rows = {
        (row["before"], row["apart"], row["again"]): row
        for row in packaged_table("h100_first_touch")
    }
    later = int(rows["stores", "66", "1"]["p75"]) - int(rows["loads", "0", "1"]["p50"])
    assert later == MACHINE["far_latency"]
    made = loads(1, 16)
    cycles = [run(made, crossed=crossed).cycles for crossed in (0.0, 1.0)]
    assert (cycles[1] - cycles[0]) / 16 == pytest.approx(later, rel=0.05)


@given(st.integers(0, 1 << 30), st.floats(0, 1))
def test_the_l2_loses_its_share_and_half_a_kilobyte_together(first: int, share: float) -> None:
    first -= first % 4
    lost = np.array([[is_lost(first + 4 * half + line, share) for line in range(4)]
                     for half in range(512)])  # fmt: skip
    assert (lost == lost[:, :1]).all()
    assert lost.mean() == pytest.approx(share, abs=0.01)


def test_an_h100_loses_neighbours_together_and_no_more_at_the_end_of_what_it_only_reads() -> None:
    rows = [{name: float(value) for name, value in row.items()}
            for row in packaged_table("h100_in_turn")]  # fmt: skip
    for row in rows:
        if not row["writes"]:
            assert row["first"] == pytest.approx(row["last"], abs=0.06)
            assert row["apart_64"] == pytest.approx(row["missed"], abs=0.06)
        if row["missed"] > 0.8:  # nearly all
            continue
        for lines in range(1, 5):
            # From lines that are lost one by one to those that are lost as one, a third of the way.
            assert row[f"apart_{lines}"] >= row["missed"] + (1 - row["missed"]) / 3
