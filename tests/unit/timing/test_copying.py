"""Copies of 16 bytes per lane: how long each holds up the next, by what an H100 took."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import PackagedTable, packaged_table
from gpu_check.timing.copying import SHAPES
from simulator.law.chips import Chip
from simulator.timing.copying import begin_copy, crowd
from simulator.timing.lines import copy_asks, copy_fills
from simulator.timing.machine import NUMBERS, machine_of
from simulator.timing.shares import held_of, numbers_of
from simulator.timing.sharing import in_common
from simulator.timing.state import NEVER, Stall, new_state
from simulator.timing.work import Work
from tests.unit.timing.test_common import of_much
from tests.unit.timing.test_sm import H100, MACHINE, run
from tests.unit.timing.works import Line, work

ROWS = {
    (row["shape"], row["sms"], row["same"], int(row["warps"])): row
    for row in packaged_table("h100_copying")
}
LANE, ALL = np.arange(32), np.full(1, 0xFFFFFFFF, np.uint32)
SMS = 132


def figure(name: str, *of: str, warps: int) -> int:
    return int(ROWS[(*of, warps)][name])  # type: ignore[index]


def asked_and_sent(shape: str) -> tuple[float, float]:
    """Lines and sectors that the L2 is asked for, by the mean copy of a warp."""
    row, pitch, begins = SHAPES[shape]
    lines, found = 512 // row, []
    for copy in range(12):
        at = copy * lines + 16 * LANE // row
        targets, sources = at * pitch + 16 * LANE % row + begins, at * 128 + 16 * LANE % row
        each = targets[None], sources[None], ALL
        found.append((copy_asks(*each)[0], copy_fills(*each)[0]))
    asked, sent = np.mean(found, axis=0)
    return float(asked), float(sent)


def flat(lines: int, asked: int, sent: int) -> np.ndarray:
    """The rows of a copy of so many whole lines, as `flat` of `estimate` writes them."""
    masks = [number for place in range(lines) for number in (place, 15)]
    return np.array([0, 1, 0, 0, sent, asked, 0, 0, 0, 0, 0, lines, *masks], np.int64)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_copy_holds_up_the_next_for_each_line_and_what_is_sent_again(shape: str) -> None:
    asked, sent = asked_and_sent(shape)
    own = max(16, 512 // SHAPES[shape][0])
    counted = asked * MACHINE["copy_line"] + (sent - own) * MACHINE["copy_again"]
    took = figure("issued", shape, "1", "1", warps=28) - figure("issued", shape, "1", "1", warps=16)
    # Halves of lines take less than a cycle each, and it is not known why.
    assert counted == pytest.approx(took / (12 * 12), rel=0.3 if shape == "whole 64" else 0.1)


def test_what_a_copy_asks_for_is_read_from_its_rows() -> None:
    state = new_state(1 << 17).view(np.recarray)[0]
    state.accesses, state.lines = 0, 12
    machine = np.array([MACHINE.get(name, 0.0) for name in NUMBERS])
    begin_copy(flat(4, 8, 32), state, machine, np.array([0, 0, 0, 2]), 100)
    again = (32 - 16) * MACHINE["copy_again"]
    assert state.copy_free == pytest.approx(100 + 8 * MACHINE["copy_line"] + again)


@pytest.mark.parametrize("warps", [1, 4])
def test_an_access_to_shared_memory_waits_behind_copies_of_its_queue(warps: int) -> None:
    """A sub-partition has a warp each: the copies of all of them go one after the other."""
    copy = Line("LDGSTS.E.BYPASS.128", "[R1],[R2.64]", lines=32, asked=32, stall=2)
    load = [Line("LDS", "R3,[R4]", write=0, cycles=1, floor=1), Line("FADD", "R3", waits=1)]
    made = work([*[copy] * 8, *load], warps=warps)
    waited = [
        int(run(made, copy_line=each).stalls[len(load) + 7, Stall.SHORT_SCOREBOARD])
        for each in (0.01, 1, 2)
    ]
    assert waited[0] < 0.4 * waited[1]
    # The first copies of the eight are asked for before the load is issued.
    assert (waited[2] - waited[1]) / warps == pytest.approx(7 * 32 * warps, rel=0.08)


@pytest.mark.parametrize("shape", ["padded", "moved", "padded 64"])
def test_sms_that_begin_in_step_get_the_same_lines_in_turn(shape: str) -> None:
    _, sent = asked_and_sent(shape)
    each = MACHINE["crowd_sector"] * sent / (512 // min(128, SHAPES[shape][0]))
    alone = figure("ended", shape, "1", "1", warps=1)
    took = figure("ended", shape, str(SMS), str(SMS), warps=1) - alone
    assert each * SMS == pytest.approx(took, rel=0.07)
    if shape == "padded":
        for sms in (8, 33, 66):
            fewer = figure("ended", shape, str(sms), str(sms), warps=1) - alone
            assert each * sms == pytest.approx(fewer, rel=0.22)


def test_lines_crowd_where_a_grid_begins_and_not_later() -> None:
    state = new_state(1 << 17).view(np.recarray)[0]
    state.accesses, state.lines = 0, 12
    machine = np.array([MACHINE.get(name, 0.0) for name in NUMBERS])
    machine[NUMBERS.index("crowd_sector")] = 100.0
    latency = MACHINE["l2_latency"]
    copy = flat(4, 8, 32)
    assert state.crowd_until == NEVER
    # Eight sectors of each line, for all SMs; then the next copy of this one's, behind them.
    assert crowd(copy, state, machine, 6, 1000, 2.0, 0) == int(800 + latency)
    assert crowd(copy, state, machine, 6, 1000, 2.0, 50) == int(1600 + latency)
    assert crowd(copy, state, machine, 6, 1000, 2.0, 5000) == int(5000 + latency)
    # Others, once the first ones are there, and SMs no longer in step.
    assert crowd(copy, state, machine, 6, 9000, 2.0, 5000) == int(5000 + latency)


def launch(apart: int, blocks: int = 4) -> Work:
    """Blocks that wait for a copy of four lines, of which two sectors each are sent again."""
    copy = Line("LDGSTS.E.BYPASS.128", "[R1],[R2.64]", lines=4, asked=8, sent=8)
    body = [copy, Line("LDGDEPBAR"), Line("DEPBAR.LE", "SB0,0x0", stall=4)]
    return of_much(work(body, blocks=blocks, resident=blocks, apart=apart))


def test_what_all_blocks_copy_comes_later_and_what_each_copies_does_not() -> None:
    shared, own = launch(apart=0), launch(apart=1 << 20)
    less, more = (run(shared, count=4, crowd_sector=each).cycles for each in (0, 1000))
    # Two sectors of each line, for each of four blocks in turn.
    assert more - less == pytest.approx(4 * 2 * 1000, rel=0.1)
    less, more = (run(own, count=4, crowd_sector=each).cycles for each in (0, 1000))
    assert more == less


def test_blocks_elsewhere_share_what_a_probe_there_touches() -> None:
    """Blocks that ran all lie at one place of an axis, as those of one SM may."""
    shared, own = launch(apart=0), launch(apart=1 << 20)
    traces = tuple(replace(each, block=(0, y, 0)) for y, each in enumerate(shared.traces))
    made = replace(shared, grid=(3, 4, 1), traces=traces)
    assert in_common(of_much(made)) == pytest.approx(1 / 3)
    touches_it, touches_none = (
        replace(each, block=(1, 0, 0)) for each in (shared.traces[1], own.traces[1])
    )
    assert in_common(of_much(replace(made, probes=(touches_it,)))) == 1
    assert in_common(of_much(replace(made, probes=(touches_none,)))) == pytest.approx(1 / 3)
    assert in_common(shared) == 1


HOT = {
    (row["shape"], int(row["lines"]), int(row["sms"])): int(row["ended"])
    for row in packaged_table("h100_hot_lines")
    if row["spread"] == "4000"
}


@pytest.mark.parametrize("sms", [33, 66, 132])
@pytest.mark.parametrize("lines", [48, 64, 96, 128, 192])
@pytest.mark.parametrize("shape", ["padded", "moved"])
def test_few_lines_that_all_sms_ask_for_again_come_as_slowly_as_on_an_h100(
    shape: str, lines: int, sms: int
) -> None:
    _, sent = asked_and_sent(shape)
    rate = 32 * lines / (MACHINE["crowd_sector"] * sms)
    took = HOT[shape, lines, sms] / (28 * 12)
    own = HOT[shape, 0, sms] / (28 * 12)
    # Twelve per cent less, after many copies, than where each warp waits for one.
    assert max(32 * sent / rate, own) == pytest.approx(took, rel=0.19)


def test_a_launch_knows_which_lines_all_its_blocks_copy() -> None:
    shared, own = launch(apart=0), launch(apart=1 << 20)
    assert len(shared.copied_in_common) == 4
    assert len(own.copied_in_common) == 0
    slow, fast = (run(shared, count=4, hot_rate=each).cycles for each in (1.0, 48.1))
    assert slow > 4 * 8 * 32 > fast
    slow, fast = (run(own, count=4, hot_rate=each).cycles for each in (1.0, 48.1))
    assert slow == fast


def test_how_fast_they_come_hangs_on_how_many_there_are() -> None:
    """Four lines, and four SMs, whatever a tile is."""
    machine = machine_of(H100)
    assert machine is not None
    machine = {**machine, "hot_bytes": 0.0}
    rates = []
    for made in (launch(apart=0), launch(apart=1 << 20)):
        numbers = numbers_of(made, machine, held_of(made, H100, machine), SMS)
        rates.append((numbers["hot_rate"], numbers["l2_own"]))
    assert rates[0][0] == pytest.approx(32 / machine["crowd_sector"])
    assert rates[0][0] < rates[0][1] == rates[1][0] == rates[1][1]


def tiles(name: PackagedTable) -> dict[tuple[int, ...], int]:
    return {
        tuple(int(row[each]) for each in ("row", "pitch", "begin", "step", "size", "blocks",
                                          "same")): int(row["cycles"])
        for row in packaged_table(name)
    }  # fmt: skip


TILES = tiles("h100_hot_tiles")


@pytest.mark.parametrize(
    ("chip", "recorded", "within"),
    [("H100", TILES, 0.08), ("H200", tiles("h200_hot_tiles"), 0.05)], ids=["H100", "H200"],
)  # fmt: skip
@pytest.mark.parametrize("size", [2048, 4096, 8192, 16384, 32768])
def test_tiles_that_all_blocks_copy_again_come_slowly_if_they_are_small(
    chip: str, recorded: dict[tuple[int, ...], int], within: float, size: int
) -> None:
    longer = [
        took / recorded[*case[:6], 0]
        for case, took in recorded.items()
        if case[4] == size and case[5] >= 4 and case[6] and (case[1] > case[0] or case[2])
    ]
    assert len(longer) >= 8
    machine = machine_of(Chip.of(chip)) or {}
    model = 1 + (machine["hot_bytes"] / size) ** machine["hot_power"]
    assert model == pytest.approx(sum(longer) / len(longer), rel=within)


def test_tiles_side_by_side_in_shared_memory_do_not() -> None:
    """Of these the L2 gives all SMs a line at once."""
    for case, took in TILES.items():
        if case[4] >= 8192 and case[5] >= 4 and case[6] and case[1] == case[0] and not case[2]:
            assert took < TILES[*case[:6], 0]


def test_what_blocks_copy_before_they_wait_tells_how_slowly_it_comes() -> None:
    machine = machine_of(H100)
    assert machine is not None
    machine = {**machine, "crowd_sector": 0.001}
    copy = Line("LDGSTS.E.BYPASS.128", "[R1],[R2.64]", lines=4, asked=8, sent=8)
    wait = [Line("LDGDEPBAR"), Line("DEPBAR.LE", "SB0,0x0", stall=4)]
    rates = []
    for body in ([*[copy] * 4, *wait], [copy, *wait] * 4):
        made = of_much(work(body, blocks=4, resident=4, apart=0))
        numbers = numbers_of(made, machine, held_of(made, H100, machine), SMS)
        own = numbers["l2_own"]
        rates.append((made.copied_at_once, own / numbers["hot_rate"] - 1))
    assert rates[0][0] == 4 * rates[1][0] > 0
    assert rates[1][1] == pytest.approx(rates[0][1] * 4 ** machine["hot_power"])


SHARED_TILES = {
    tuple(int(row[name]) for name in ("row", "pitch", "blocks", "group")): int(row["cycles"])
    for row in packaged_table("h100_shared_tiles")
}


@pytest.mark.parametrize("row", [128, 256])
def test_lines_that_go_to_two_of_shared_memory_gain_nothing_by_others_that_copy_them(
    row: int,
) -> None:
    """With rows of 64 bytes some lines go to one, and gain a little."""
    for group in (2, 4, 8, 16):
        whole, parted = (
            SHARED_TILES[row, pitch, 8, 1] / SHARED_TILES[row, pitch, 8, group]
            for pitch in (row, row + (16 if row == 128 else 32))
        )
        assert whole > 1.4
        assert parted == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(("asked", "gains"), [(4, True), (8, False)])
def test_a_copy_whose_lines_go_to_two_takes_the_rate_of_an_own_one(asked: int, gains: bool) -> None:
    copy = Line("LDGSTS.E.BYPASS.128", "[R1],[R2.64]", lines=4, asked=asked, sent=4)
    body = [*[copy] * 8, Line("LDGDEPBAR"), Line("DEPBAR.LE", "SB0,0x0", stall=4)]
    made = work(body, warps=4, apart=1 << 20)
    slow, fast = (run(made, l2_own=2.0, l2_rate=each).cycles for each in (2.0, 40.0))
    assert (fast < 0.8 * slow) is gains
