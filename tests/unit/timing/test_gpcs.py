"""What the SMs of a GPC read at about the same time, and how fast the L2 gives it."""

from dataclasses import replace
from functools import cache
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from gpu_check.timing.gpc_reads import gpc_of as gpc_of_sm
from gpu_check.timing.gpc_reads import groups
from simulator import Chip, replay_compiled
from simulator.timing.gpcs import (
    Sent,
    l2_rates,
    of_one_gpc,
    rate_of,
    sent_once,
    without_rule,
)
from simulator.timing.places import first_places, gpc_of
from simulator.timing.work import Work
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_sm import MACHINE
from tests.unit.timing.works import Line, work

READS = packaged_table("h100_gpc_reads")
LATE = [row for row in packaged_table("h100_late_reads") if row["by"] == "blocks"]
SMS = 132


def reading(
    opcode: str = "LDG.E", apart: int = 8, lines: int = 8, grid: tuple[int, int, int] = (256, 1, 1),
    resident: int = 2,
) -> Work:  # fmt: skip
    """Return blocks that read some lines each, so many further than the one before."""
    made = work([Line(opcode, "R4,[R6.64]", lines=lines)], resident=resident, apart=apart)
    blocks = [(0, 0, 0), (1, 0, 0), (5, 0, 0), (grid[0] - 2, 0, 0), (grid[0] - 1, 0, 0)]
    if grid[1] > 1:
        blocks.append((0, 1, 0))
    traces = tuple(
        replace(made.traces[0], block=block, base=np.array([apart * block[0]], np.int64))
        for block in blocks
    )
    return replace(made, grid=grid, traces=traces)


def once(made: Work, held: int = 0) -> list[Sent]:
    return sent_once(made, [0], SMS, 6, held)


@cache
def regions() -> dict[str, list[np.ndarray]]:
    return {name: both for name, *both in groups(np.arange(SMS))}


def as_sent(group: str, turns: int) -> list[Sent]:
    """Return what a block of the measurement reads of both matrices."""
    gpc = gpc_of_sm(np.arange(SMS))
    found = []
    for each in regions()[group]:
        parts = [len(set(each[gpc == one])) / (gpc == one).sum() for one in range(8)]
        found.append(Sent(turns * 256, fmean(parts), tuple(each[gpc == 1].tolist())))
    return found


def law(row: dict[str, str]) -> float:
    """Return bytes per cycle by the machine's numbers, as `l2_rates` takes them."""
    blocks, turns = int(row["blocks"]), int(row["turns"])
    found = MACHINE["gpc_found"] - MACHINE["gpc_lost"] * max(blocks - 2, 0)
    sent = as_sent(row["group"], turns)
    apart = turns == 256 and len(set(sent[0].readers)) > 1  # half of gpc_apart is read of each
    crossed = MACHINE["gpc_crossed"] if apart else 0.9
    if row["way"] == "loads":
        return rate_of(
            sent, MACHINE["l2_rate"], MACHINE["l2_shared"], MACHINE["gpc_loads"], crossed
        )
    rate = rate_of(sent, MACHINE["l2_rate"], MACHINE["copy_shared"], found, crossed)
    sends = 1 - found * (1 - fmean(each.once for each in sent))
    least = MACHINE["copy_request_shared"]
    asks = least + (MACHINE["copy_request"] - least) * sends
    return min(rate, int(row["row"]) / asks)


def test_the_measured_gpcs_are_those_in_which_blocks_begin() -> None:
    sizes = np.bincount(gpc_of_sm(np.arange(SMS))).tolist()
    assert sizes == np.bincount([gpc_of(sm, SMS) for sm in range(SMS)]).tolist()
    row = packaged_table("h100_first_places")[0]
    begun = gpc_of_sm(np.array([int(sm) for sm in row["sms"].split()]))
    assert begun.tolist() == [gpc_of(sm, SMS) for sm in first_places(SMS, 1, SMS)]


@pytest.mark.parametrize("way", ["loads", "copies"])
@pytest.mark.parametrize("size", ["32", "64", "128"])
def test_sms_of_a_gpc_read_as_fast_as_on_an_h100(way: str, size: str) -> None:
    """A single small block of an SM waits for what is on its way: it gets no more than that."""
    rows = [row for row in READS if (row["way"], row["row"]) == (way, size)]
    rows = [row for row in rows if row["blocks"] == "1" or row["group"] != "elsewhere"]
    errors = [law(row) / float(row["bytes_per_cycle"]) - 1 for row in rows]
    several = [one for one, row in zip(errors, rows, strict=True) if row["blocks"] != "1"]
    assert len(rows) in (0, 80)
    assert all(error > -0.36 for error in errors)
    assert all(abs(error) < 0.4 for error in several)
    assert not rows or fmean(map(abs, several)) < 0.16


def test_what_sms_of_other_gpcs_read_comes_no_faster() -> None:
    rows = {
        (row["group"], row["turns"]): float(row["bytes_per_cycle"])
        for row in READS if (row["way"], row["row"], row["blocks"]) == ("copies", "128", "1")
    }  # fmt: skip
    for turns in ("64", "256"):
        assert rows["elsewhere", turns] == pytest.approx(rows["own", turns], rel=0.03)
        assert rows["8 of a GPC", turns] > 1.5 * rows["own", turns]


@pytest.mark.parametrize("row", LATE)
def test_blocks_read_together_as_fast_as_on_an_h100(row: dict[str, str]) -> None:
    apart, sharers, part = int(row["apart"]), int(row["sharers"]), int(row["part"]) / 8
    blocks = np.arange(SMS)
    group = blocks // (sharers * apart) * apart + blocks % apart
    gpc = np.array([gpc_of(sm, SMS) for sm in first_places(SMS, 1, SMS)])
    shared = fmean(len(set(group[gpc == one])) / (gpc == one).sum() for one in range(8))
    sent = [Sent(part, shared), Sent(1 - part, 1.0)]
    rate = rate_of(sent, MACHINE["l2_rate"], MACHINE["l2_shared"], MACHINE["gpc_found"])
    if apart == 8:  # where the GPCs begin that got blocks first, eight are a GPC's or never
        assert MACHINE["l2_rate"] == pytest.approx(float(row["bytes_per_cycle"]), rel=0.05)
        return
    late = 0.26 if int(row["late"]) else 0.19
    assert rate == pytest.approx(float(row["bytes_per_cycle"]), rel=late)


def test_what_each_block_reads_alone_is_sent_to_each() -> None:
    (sent,) = once(reading(apart=8))
    assert sent.once == 1.0
    assert len(set(sent.readers)) == len(sent.readers) == 16


def test_what_all_blocks_read_is_sent_once_to_a_gpc() -> None:
    (sent,) = once(reading(apart=0))
    assert 1 / 18 <= sent.once <= 1 / 15
    assert set(sent.readers) == {0}


def test_what_overlaps_is_sent_once() -> None:
    """Sixteen blocks read eight lines each, one further than the one before: 23 of 128."""
    (sent,) = once(reading(apart=1))
    assert sent.once == pytest.approx(23 / 128, rel=0.1)


def test_what_all_blocks_read_and_l1_holds_is_asked_for_once_by_an_sm() -> None:
    made = reading(apart=0, resident=2)
    assert once(made, held=1 << 17)[0].sectors == pytest.approx(once(made)[0].sectors / (256 / 132))
    assert once(made, held=7)[0].sectors == once(made)[0].sectors


def test_rows_and_columns_of_a_product_are_shared_with_others() -> None:
    """Of a grid 2 blocks wide those in a row read the same by one load, in a column by another."""
    made = work([Line("LDG.E", "R4,[R6.64]", lines=8), Line("LDG.E", "R5,[R8.64]", lines=8)])
    blocks = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 126, 0), (1, 127, 0), (1, 5, 0)]
    traces = tuple(
        replace(made.traces[0], block=(x, y, 0), base=np.array([100 * y, 90000 + 100 * x]))
        for x, y, _ in blocks
    )
    made = replace(made, grid=(2, 128, 1), resident=2, traces=traces)
    rows, columns = sent_once(made, [0, 1], SMS, 6)
    assert (rows.once, columns.once) == pytest.approx((0.5, 0.125), rel=0.1)
    together, apart = (rate_of([rows, columns], 30, 85, 1.0, crossed) for crossed in (1.0, 0.5))
    assert apart < together
    assert rate_of([rows], 30, 85, 1.0, 0.5) == rate_of([rows], 30, 85, 1.0, 1.0)


def test_blocks_that_a_gpc_runs_tell_of_what_follows_no_rule() -> None:
    made = reading(grid=(256, 1, 1))
    places = np.random.default_rng(1).integers(0, 1 << 20, 300)
    trace = made.traces[0]

    def at(number: int) -> int:
        return int(places[number // 4]) * 100  # four blocks read the same, somewhere

    def some(numbers: list[int]) -> tuple:
        return tuple(
            replace(trace, block=(each, 0, 0), base=np.array([at(each)])) for each in numbers
        )

    few = replace(made, traces=some([0, 1, 100, 200, 255]))
    touched = {each.block: each.touched for each in few.traces}
    assert without_rule(touched, few.grid, [0]) == pytest.approx(1.0)
    ran = [x for x, _, _ in of_one_gpc(256, 2, SMS, few.grid)]
    (sent,) = once(replace(few, beside=some(ran)))
    assert sent.once == 0.25
    assert len(set(sent.readers)) == 4


@given(st.integers(1, 600), st.integers(1, 8))
def test_blocks_of_one_gpc_begin_on_sms_of_their_own(blocks: int, resident: int) -> None:
    found = of_one_gpc(blocks, resident, SMS, (blocks, 1, 1))
    at = first_places(blocks, resident, SMS)
    sms = [at[x] for x, _, _ in found]
    assert found
    assert len({gpc_of(sm, SMS) for sm in sms}) == 1
    if blocks >= SMS:
        assert len(set(sms)) == len(sms) == 16


@given(
    st.lists(st.builds(Sent, st.floats(1, 1e6), st.floats(0.05, 1)), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_a_rate_lies_between_those_of_own_and_of_the_same(sent: list[Sent], found: float) -> None:
    assert 30 * 0.999 <= rate_of(sent, 30, 85, found) <= 85 * 1.001


def test_copies_get_more_of_what_all_read_than_loads() -> None:
    loads, copies = (
        l2_rates(reading(opcode, apart=0), MACHINE, SMS)
        for opcode in ("LDG.E", "LDGSTS.E.BYPASS.128")
    )
    own = l2_rates(reading(), MACHINE, SMS)
    assert own["l2_rate"] == own["copy_rate"] == MACHINE["l2_rate"]
    assert loads["l2_rate"] < copies["copy_rate"] <= MACHINE["copy_shared"]
    assert copies["copy_request"] < own["copy_request"] == MACHINE["copy_request"]


_SOURCE = """
extern "C" __global__ void drawn(const int *place, const float4 *data, float *out) {
    float sum = 0;
    const float4 *from = data + (size_t)place[blockIdx.x] * 2048;
    for (int k = 0; k < 8; ++k) sum += from[k * 256 + threadIdx.x].x;
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}"""


@needs_compiler
def test_blocks_of_a_gpc_run_where_tables_say_what_is_read() -> None:
    place = np.random.default_rng(2).permutation(np.arange(512) // 8).astype(np.int32)
    run = replay_compiled(
        _SOURCE, grid=512, block=256, chip="H100",
        args=[place, np.zeros((64 * 2048, 4), np.float32), np.zeros(512 * 256, np.float32)],
    )  # fmt: skip
    made = run.relaunch().work(Chip.of("H100"))
    assert [each.block for each in made.beside] == of_one_gpc(512, 8, SMS, (512, 1, 1))
