"""How a grid's blocks lie on an H100's SMs: recorded launches of blocks that do the same."""

import csv
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.turnover import turnover_source
from simulator import Chip, replay_compiled
from simulator.timing.estimate import estimate
from simulator.timing.giving import SmServed, shares, slowness
from simulator.timing.machine import machine_of
from simulator.timing.rates import table
from simulator.timing.residency import residency, shared_residency
from tests.sass_kernels import needs_tools
from tests.unit.timing.works import Line, work

DATA = Path(__file__).parents[2] / "gpu_check/data"
H100 = Chip.of("H100")
_LAUNCH = {"H100": 676_608, "H200": 397_824}
"""Bytes across the L2 of a launch that moves nothing else."""
with (DATA / "h100_tails.csv").open() as _file:
    ROWS = list(csv.DictReader(_file))


def _late(row: dict[str, str], beyond: float = 0.0) -> float:
    """How much later the last SM ends than the mean one, of the time of a wave."""
    waves = max(int(row["blocks"]) / int(row["resident"]), 1)
    return (
        (float(row["active_most"]) - float(row["active"]) - beyond) / float(row["active"]) * waves
    )


def test_clusters_of_four_leave_as_many_sms_idle_as_were_counted() -> None:
    machine = machine_of(H100)
    assert machine is not None
    used = {int(row["used"]) for row in ROWS if int(row["cluster"]) > 2}
    assert used == {int(machine["cluster_sms"])}
    assert {int(row["used"]) for row in ROWS if int(row["cluster"]) <= 2} == {H100.multiprocessors}
    # One wave of the chip's SMs is more than a wave of those that clusters use.
    full = work([Line("FFMA", "R0,R1,R2,R3", stall=4)] * 64, blocks=132)
    blocks = [replace(full, cluster=(size, 1, 1)) for size in (2, 4)]
    assert [found.blocks for each in blocks if (found := estimate(each, H100, machine))] == [1, 2]


@pytest.mark.parametrize("chip", ["H100", "H200"])
def test_the_last_sm_ends_as_much_later_as_was_measured(chip: str) -> None:
    machine = machine_of(Chip.of(chip))
    assert machine is not None
    rows = ROWS if chip == "H100" else packaged_table("h200_tails")
    alone = [row for row in rows if row["cluster"] == "1"]
    many = [row for row in alone if int(row["blocks"]) >= 2 * int(row["resident"])]
    begins = fmean(
        float(row["active_most"]) - float(row["active"]) for row in many
        if row["kernel"] in ("waits", "meets", "adds", "conflicts")
    )  # fmt: skip
    assert machine["last_begins"] == pytest.approx(begins, abs=1)
    served = [_late(row, begins) for row in many if row["kernel"] in ("loads", "copies")]
    assert machine["last_sm"] == pytest.approx(fmean(served), abs=0.001)
    pairs = [
        _late(row, begins) for row in rows
        if (row["kernel"], row["cluster"]) == ("loads", "2")
        and int(row["blocks"]) >= 2 * int(row["resident"])
    ]  # fmt: skip
    assert machine["last_sm_pair"] == pytest.approx(fmean(pairs), abs=0.001)
    # Blocks that load and add: the L2 serves their SM for an eighth of the time, and for a half.
    within = {"H100": 0.005, "H200": 0.02}[chip]
    for kernel, bytes_of_cycle in (("loads1024", 4), ("loads256", 14.5)):
        found = fmean(_late(row, begins) for row in many if row["kernel"] == kernel)
        asked = np.interp(
            bytes_of_cycle / machine["l2_rate"], (machine["last_from"], machine["last_to"]), (0, 1)
        )
        assert machine["last_sm"] * asked == pytest.approx(found, abs=within)
    one = [
        _late(row) for row in alone
        if row["blocks"] == row["resident"] and row["mebibytes"] == "16"
        and row["kernel"] in ("loads", "copies")
    ]  # fmt: skip
    assert machine["slowest_sm"] == pytest.approx(1 + fmean(one), abs=0.001)


def test_sms_that_share_their_way_to_the_l2_with_fewer_are_as_fast_as_was_measured() -> None:
    machine = machine_of(H100)
    assert machine is not None
    rows = [row for row in packaged_table("h100_ways") if int(row["warps"]) == 24]
    loads = ("loads", "loads apart", "loads of lines", "copies whole")
    read = [row for row in rows if row["what"] in loads]
    sent = [row for row in rows if str(row["what"]).startswith("stores") or row["what"] == "adds"]
    assert (len(read), len(sent)) == (4, 4)
    for row in rows:
        assert machine["few_sms"] == pytest.approx(int(row["sms"]) / 132, abs=1e-3)
    for name, of, column in (("sm_least", read, "least"), ("sm_most", read, "most"),
                             ("few_time", sent, "few")):  # fmt: skip
        assert machine[name] == pytest.approx(fmean(float(row[column]) for row in of), abs=2e-3)
    slow = slowness(132, SmServed(0.0, 1.0), machine)
    many = fmean(float(row["many"]) for row in sent)
    assert (slow[0], slow[-1]) == (machine["few_time"], pytest.approx(many, abs=0.01))
    # Loads alone do not show it: their lines are looked up in the L2.
    assert all(abs(float(row["few"]) - 1) < 0.02 for row in read)
    moved = next(row for row in rows if row["what"] == "copies moved")
    asked, again = 8 * machine["request"], 16 * machine["copy_way"]  # of each of four copies
    assert asked + again == pytest.approx(float(moved["cycles"]) / 4, rel=0.01)


@pytest.mark.parametrize(
    ("kernel", "turns", "apart", "served"), [("waits", "4", 150, 0.0), ("loads", "8", 0, 1.0)]
)
@pytest.mark.parametrize("blocks", ["10", "13"])
def test_sms_get_as_many_blocks_as_they_got(
    kernel: str, turns: str, apart: int, served: float, blocks: str
) -> None:
    """Of eight at a time: blocks that wait begin one by one, those that load end nearly together.

    Not of six at a time that load: ten at most and six at least, not twelve and six.
    """
    machine = machine_of(H100)
    assert machine is not None
    given = {"kernel": kernel, "cluster": "1", "mebibytes": "16", "resident": "8", "turns": turns}
    row = next(each for each in ROWS if each.items() >= (given | {"blocks": blocks}).items())
    life, one = float(row["life"]), SmServed(served, 0.0)
    ends = [life + apart * place for place in range(8)]
    found = [
        each.blocks for each in shares(ends, 8, life + apart, 132 * int(blocks), 132, one, machine)
    ]
    assert sum(found) == 132 * int(blocks)
    assert max(found) == int(row["most"])
    assert min(found) == pytest.approx(int(row["least"]), abs=1)


def test_like_blocks_that_are_left_over_take_longer_than_where_each_sm_gets_as_many() -> None:
    """Of four per SM, three at a time, that hold the data pipe and end together."""
    machine = machine_of(H100)
    assert machine is not None
    body = [Line("LDS", "R0,[R2]", write=1, cycles=32), Line("FADD", "R0,R0,R0", waits=2)] * 60
    made = work(body, warps=4, blocks=132 * 4)
    made = replace(made, resident=3)
    found = estimate(made, H100, machine)
    assert found is not None
    # Some SMs get a fifth block; that takes them a fifth of their time.
    assert 1.1 < found.active / found.run.cycles < 1.3


def test_a_fence_waits_for_what_other_warps_have_loaded() -> None:
    machine = machine_of(H100)
    assert machine is not None
    fences = [Line("MEMBAR.SC.GPU")] * 4
    loads = [Line("LDG.E", "R0,[R2.64]", write=1, lines=8)] * 4
    alone, beside = (
        found.active for body in (fences, [*loads, *fences])
        if (found := estimate(work(body, warps=8, blocks=132), H100, machine))
    )  # fmt: skip
    # Without loads the four fences take as long; with them, each wait begins when they are there.
    assert beside - alone > 200
    rows = recorded_fences()
    assert rows["fence", "262144", "7"] > rows["fence", "262144", "0"] + 9000


def recorded_fences() -> dict[tuple[str, str, str], float]:
    """Cycles of a fence of one warp, four loads in flight per warp beside it, none of its own."""
    with (DATA / "h100_fences_beside.csv").open() as file:
        return {
            (row["kernel"], row["kibibytes"], row["others"]): float(row["cycles"])
            for row in csv.DictReader(file)
            if (row["loads"], row["warps"], row["own"]) == ("4", "1", "0")
        }


def test_loads_that_miss_take_what_a_request_takes() -> None:
    machine = machine_of(H100)
    assert machine is not None
    with (DATA / "h100_misses.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if (row["sms"], row["warps"]) == ("132", "32")]
    far = [row for row in rows if row["kibibytes"] == "16384" and int(row["lines"]) >= 4]
    for row in far:
        cycles = float(row["cycles"]) / int(row["lines"])
        assert machine["request"] == pytest.approx(cycles, rel=0.02)


def turned(chip: str) -> list[dict[str, str]]:
    """Rows of what passes once over a footprint."""
    return [*packaged_table("h100_turnover" if chip == "H100" else "h200_turnover")]


def kept(chip: str, written: str) -> dict[int, dict[str, str]]:
    """Rows of what the L2 keeps, by MiB, where so much of what is accessed is written."""
    rows = [row for row in table("residency") if (row["chip"], row["written"]) == (chip, written)]
    size = (Chip.of(chip).l2_bytes or 0) >> 20
    return {round(size * float(row["share"])): row for row in rows}


@pytest.mark.parametrize("chip", ["H100", "H200"])
def test_blocks_in_one_wave_find_in_their_part_of_the_l2_what_was_recorded(chip: str) -> None:
    alone = (("8", "plain"), ("4", "meets"))
    rows = [row for row in turned(chip) if (row["loads"], row["way"]) in alone]
    found = kept(chip, "0.5")
    for size in {"H100": (24, 28, 32, 36, 40), "H200": (28, 32, 36, 40, 44, 48, 52, 56)}[chip]:
        each = [row for row in rows if row["mebibytes"] == str(size)]
        half = size << 19  # read, and as many written: half of these go to the other part
        for name, kind, beside in (("lost", "dram_read", 0), ("stored", "dram_write", 0),
                                   ("crossed", "crossed", half // 2 + _LAUNCH[chip])):  # fmt: skip
            share = fmean((int(row[kind]) - beside) / half for row in each)
            assert float(found[size][name]) == pytest.approx(share, abs=0.065)


@pytest.mark.parametrize("chip", ["H100", "H200"])
def test_blocks_that_follow_one_another_find_what_was_recorded(chip: str) -> None:
    kinds = (("1", "1"), ("2", "2"))
    rows = [row for row in turned(chip)
            if (row["loads"], row["stores"]) in kinds and row["way"] != "within"]  # fmt: skip
    found = kept(chip, "0.5")
    for size in {"H100": (24, 28, 32, 36, 40, 48), "H200": (24, 32, 36, 40, 44, 48, 56, 64)}[chip]:
        each = [row for row in rows if row["mebibytes"] == str(size)]
        half = size << 19
        lost = fmean(int(row["dram_read"]) / half for row in each)
        crossed = fmean((int(row["crossed"]) - half // 2 - _LAUNCH[chip]) / half for row in each)
        assert float(found[size]["lost_again"]) == pytest.approx(lost, abs=0.05)
        assert float(found[size]["crossed_again"]) == pytest.approx(crossed, abs=0.05)


def found_again(chip: str = "H100") -> list[dict[str, str]]:
    """Rows of second launches, and how much of what they read crosses the L2, beside the rest."""
    rows = [
        dict(row)
        for row in packaged_table("h100_found_again" if chip == "H100" else "h200_found_again")
    ]
    for row in rows:
        size, is_copy = int(row["mebibytes"]) << 20, row["kind"] == "copies"
        read, written = (size / 2, size / 2) if is_copy else (size, 0)
        row["across"] = str((int(row["crossed"]) - _LAUNCH[chip] - written / 2) / read)
    return rows


def test_small_footprints_cross_as_much_in_several_waves_as_large_ones() -> None:
    usual = {"shift": "0", "times": "1", "row": "0", "pieces": "1"}
    several = [
        row for row in found_again()
        if usual.items() <= row.items() and int(row["blocks"]) > 132 * int(row["resident"])
    ]  # fmt: skip
    for size in (2, 4, 8, 12, 16, 20, 24, 28):
        each = [float(row["across"]) for row in several if row["mebibytes"] == str(size)]
        copied = [float(row["across"]) for row in several
                  if (row["mebibytes"], row["kind"]) == (str(size), "copies")]  # fmt: skip
        known = residency(size << 20, 0.5, True, H100).crossed
        assert known == pytest.approx(fmean(each), abs=0.07)
        assert known == pytest.approx(fmean(copied), abs=0.05)


def test_rows_of_any_length_cross_alike_in_several_waves() -> None:
    found = []
    for row in packaged_table("h100_waves"):
        size = int(row["bytes"])
        if int(row["blocks"]) <= 132 * int(row["resident"]) or size >= 17 << 20:
            continue
        written = size / 2 if row["way"] == "copies" else 0.0
        crossed = (int(row["crossed"]) - _LAUNCH["H100"] - written / 2) / (size - written)
        known = residency(size, written / size, True, H100).crossed
        assert crossed == pytest.approx(known, abs=0.11)
        assert int(row["dram_read"]) < 1024
        found.append(crossed)
    assert fmean(found) == pytest.approx(0.28, abs=0.02)


@pytest.mark.parametrize("name", ["H100", "H200"])
def test_what_sms_of_both_parts_read_takes_twice_its_room(name: str) -> None:
    chip = Chip.of(name)
    rows = [row for row in found_again(name) if int(row["times"]) > 1 and int(row["mebibytes"]) > 8]
    assert {row["times"] for row in rows} == {"2", "8", "64"}
    for row in rows:
        size, times = int(row["mebibytes"]) << 20, int(row["times"])
        kept = shared_residency(residency(size, 0, True, chip), size, 1.0, times, True, chip)
        assert kept.lost == pytest.approx(int(row["dram_read"]) / size, abs=0.03)
        assert kept.crossed == pytest.approx(max(float(row["across"]), 0), abs=0.001)


def test_neither_the_order_of_blocks_nor_where_rows_begin_changes_what_is_kept() -> None:
    rows = [row for row in found_again() if (row["pieces"], row["times"]) == ("4", "1")]
    for size in (16, 20, 24, 28):
        lost = [
            int(row["dram_read"]) / (size << 20) for row in rows if row["mebibytes"] == str(size)
        ]
        assert len(lost) >= 4
        assert max(lost) < 0.05


@pytest.mark.parametrize("chip", ["H100", "H200"])
def test_what_is_only_read_stays_longer_and_what_is_only_written_goes_sooner(chip: str) -> None:
    def of(loads: int, stores: int, way: str) -> list[dict[str, str]]:
        wanted = (str(loads), str(stores), way)
        return [row for row in turned(chip) if (row["loads"], row["stores"], row["way"]) == wanted]

    within = sum(int(row["crossed"]) for row in of(4, 0, "within")) / 4  # of no array
    reads, stores = kept(chip, "0"), kept(chip, "1")
    for row in of(16, 0, "looped"):
        found, size = reads[int(row["mebibytes"])], int(row["mebibytes"]) << 20
        lost, crossed = int(row["dram_read"]) / size, (int(row["crossed"]) - within) / size
        assert float(found["lost"]) == pytest.approx(lost, abs=0.01)
        assert float(found["crossed"]) == pytest.approx(crossed, abs=0.01)
    for row in of(4, 0, "plain")[1:]:  # the first fills one wave
        lost = int(row["dram_read"]) / (int(row["mebibytes"]) << 20)
        assert float(reads[int(row["mebibytes"])]["lost_again"]) == pytest.approx(lost, abs=0.01)
    for row in of(0, 4, "plain"):
        stored = int(row["dram_write"]) / (int(row["mebibytes"]) << 20)
        assert float(stores[int(row["mebibytes"])]["stored_again"]) == pytest.approx(
            stored, abs=0.01
        )


@needs_tools
@pytest.mark.parametrize("size", [16, 20, 24, 28, 32, 36, 40, 48, 64])
def test_a_pass_over_what_is_read_takes_what_it_took_whatever_sms_have_a_block_more(
    size: int,
) -> None:
    """320 blocks, say, are three on some SMs and two on others, which leave them more of the L2."""
    (row,) = (
        row for row in turned("H100") if (row["way"], row["mebibytes"]) == ("looped", str(size))
    )  # fmt: skip
    floats, blocks = np.zeros(size << 18, np.float32), (size << 20) // (16 * 4096)
    report = replay_compiled(
        turnover_source(), kernel="pass_16_0_3", grid=blocks, block=256,
        args=[floats, np.zeros(64, np.float32), np.uint32(2**32 - 1)],
    )  # fmt: skip
    off = 0.08 if size == 32 else 0.075 if size in (48, 64) else 0.06
    assert report.time("H100").cycles == pytest.approx(float(row["cycles"]), rel=off)


_STORES = """
extern "C" __global__ void stores(float4 *out) {
    for (int k = 0; k < 6; ++k)
        out[(blockIdx.x * 6 + k) * blockDim.x + threadIdx.x] = make_float4(1, 2, 3, 4);
}"""


@needs_tools
def test_what_is_only_written_goes_in_one_wave_though_nothing_is_read() -> None:
    size = 24 << 20
    report = replay_compiled(
        _STORES, grid=1024, block=256, args=[np.zeros(size // 4, np.float32)], chip="H100"
    )
    counts = report.time(chip="H100").counts
    expected = residency(size, 1.0, False, H100).stored
    assert expected > 0.2
    assert counts["dram_sectors"] / counts["l2_sectors"] == pytest.approx(expected, rel=0.01)


_SCALED = """
extern "C" __global__ void scaled(const float4 *in, float4 *out, const float4 *table) {
    float4 sum = in[blockIdx.x * 256 + threadIdx.x];
    for (int k = 0; k < 4; ++k) sum.x += table[k * 256 + threadIdx.x].y;
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}"""


@needs_tools
def test_what_l1_holds_for_all_blocks_does_not_keep_stores_from_dram() -> None:
    """Blocks read a table of 16 KiB, each from L1, beside 4 KiB of their own: these are moved."""
    half = 32 << 20
    report = replay_compiled(
        _SCALED, grid=half // 4096, block=256, chip="H100",
        args=[np.zeros(half // 4, np.float32), np.zeros(half // 4, np.float32),
              np.zeros(4096, np.float32)],
    )  # fmt: skip
    own = 2 * 128 * -(-half // 4096 // 132)  # sectors of an SM's blocks
    known = residency(2 * half, 0.5, True, H100)
    expected = own * (known.lost + known.stored) / 2
    found = report.time(chip="H100").counts["dram_sectors"]
    assert found == pytest.approx(expected, rel=0.02)


def test_stores_of_parts_take_a_sector_more_of_each_line() -> None:
    machine = machine_of(H100)
    assert machine is not None
    with (DATA / "h100_store_parts.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["warps"] == "32"]
    for row in rows:
        size, group, stride = (int(row[name]) for name in ("bytes", "group", "stride"))
        # Lanes that share sectors are no parts.
        if (size * group < 32 and stride < 32) or size == 1:
            continue
        lines = -(-32 // group * stride // 128)
        sectors = 32 // group
        is_part = size * group < 32
        alone = "" if row["sms"] == "132" else "_alone"
        rate = machine["store_alone" if alone else "store_rate"]
        least = machine[f"store_{'request' if is_part else 'line'}{alone}"]
        cycles = max(32 * (sectors + is_part * lines) / rate, least * lines)
        assert float(row["cycles"]) == pytest.approx(cycles, rel=0.2)


def test_each_word_more_of_a_constant_table_takes_what_was_recorded() -> None:
    with (DATA / "h100_constant_lanes.csv").open() as file:
        rows = [each for each in csv.DictReader(file) if each["words"] == "64"]
    took = {
        (int(row["lanes"]), int(row["warps"])): float(row["cycles"])
        for row in rows if row["apart"] == "1"
    }  # fmt: skip
    machine = machine_of(H100)
    assert machine is not None
    assert machine["constant_word"] == pytest.approx((took[32, 1] - took[1, 1]) / 31, rel=0.01)
    # The ADU takes an instruction every two cycles; so it takes words.
    assert (took[32, 16] - took[16, 16]) / 16 == pytest.approx(2, rel=0.05)
