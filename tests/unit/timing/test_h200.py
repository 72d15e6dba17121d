"""What an H200 has otherwise than an H100, as its own tables say."""

from __future__ import annotations

from statistics import fmean, median

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing import streams
from gpu_check.timing.tile_rows import tile_rows_source
from simulator import replay_compiled
from simulator.law.chips import Chip
from simulator.sass.run.map_argument import TensorMap
from simulator.timing.machine import NUMBERS, machine_of
from simulator.timing.ways import farthest
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_copying import asked_and_sent

SMS = 132
MACHINE = machine_of(Chip.of("H200")) or {}
H100 = machine_of(Chip.of("H100")) or {}
ALONE = [row for row in packaged_table("h200_spread") if row["sms"] == "1"]


def test_dram_brings_what_passes_over_arrays_read() -> None:
    rates = [
        float(row["dram_read"]) / float(row["active"]) / SMS
        for row in packaged_table("h200_streams")
        if (row["writes"], row["mebibytes"]) == ("0", "160")
        and (row["word"] == "16" or int(row["reads"]) >= 4)
    ]
    assert len(rates) == 8
    assert MACHINE["dram_rate"] == pytest.approx(fmean(rates), rel=0.01)


def test_dram_brings_pairs_of_sectors_at_random_as_much_sooner() -> None:
    """Than to an H100, whose number it is compared with."""
    took = [
        {row["mebibytes"]: float(row["cycles"]) for row in packaged_table(name)
         if row["unit"] == "32"}
        for name in ("h200_random_reads", "h100_random_reads")
    ]  # fmt: skip
    share = fmean(took[0][size] / took[1][size] for size in ("96", "160"))
    assert MACHINE["dram_pair"] == pytest.approx(share * H100["dram_pair"], rel=0.08)


def test_the_lines_of_dram_lie_farther_apart_than_those_of_an_h100() -> None:
    first = [row for row in ALONE if (row["source"], row["loads"]) == ("DRAM", "1")]
    width = fmean((int(row["q90"]) - int(row["q10"])) / 0.8 for row in first)
    assert MACHINE["dram_spread"] == pytest.approx(width, rel=0.02)


@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_the_last_of_several_loads_of_dram_is_as_late(count: int) -> None:
    mean: dict[tuple[str, str], dict[int, float]] = {}
    for row in packaged_table("h200_spread"):
        if row["source"] == "DRAM":
            mean.setdefault((row["sms"], row["warps"]), {})[int(row["loads"])] = float(row["mean"])
    later = fmean(each[count] - each[1] for each in mean.values())
    numbers = np.array([MACHINE.get(name, 0.0) for name in NUMBERS], np.float64)
    assert farthest(numbers, True, count) == pytest.approx(later, rel=0.1)


def test_the_l2_is_as_far_as_from_the_sms_of_an_h100_and_nearer_to_the_slowest() -> None:
    (ours, theirs) = (
        [(float(row["mean"]), float(row["most"])) for row in packaged_table(name)]
        for name in ("h200_distances", "h100_distances")
    )
    nearer = fmean(mean for mean, _ in ours) - fmean(mean for mean, _ in theirs)
    assert MACHINE["l2_latency"] - H100["l2_latency"] == pytest.approx(nearer, abs=1)
    assert MACHINE["l2_farther"] == pytest.approx(fmean(most - mean for mean, most in ours), abs=1)


@pytest.mark.parametrize(("together", "name"), [("1", "tma_own"), ("4", "tma_shared")])
def test_tma_copies_tiles_as_fast_as_was_measured(together: str, name: str) -> None:
    rates = [
        128 / float(row["cycles"]) for row in packaged_table("h200_tile_rows")
        if (row["inner"], row["blocks"], row["together"]) == ("128", "132", together)
        and int(row["pitch"]) >= 512
    ]  # fmt: skip
    assert MACHINE[name] == pytest.approx(fmean(rates), rel=0.01)


def test_ways_of_four_sms_are_faster_by_what_was_measured() -> None:
    few = [
        float(row["few"]) for row in packaged_table("h200_ways")
        if row["warps"] == "24" and (row["what"].startswith("stores") or row["what"] == "adds")
    ]  # fmt: skip
    assert len(few) == 4
    assert MACHINE["few_time"] == pytest.approx(fmean(few), abs=2e-3)


@pytest.mark.parametrize("size", [2048, 4096, 8192, 16384, 32768])
def test_tiles_that_all_blocks_copy_again_come_slowly_if_they_are_small(size: int) -> None:
    took = {
        tuple(int(row[name]) for name in ("row", "pitch", "begin", "step", "size", "blocks",
                                          "same")): int(row["cycles"])
        for row in packaged_table("h200_hot_tiles")
    }  # fmt: skip
    longer = [
        cycles / took[*case[:6], 0]
        for case, cycles in took.items()
        if case[4] == size and case[5] >= 4 and case[6] and (case[1] > case[0] or case[2])
    ]
    assert len(longer) >= 8
    model = 1 + (MACHINE["hot_bytes"] / size) ** MACHINE["hot_power"]
    assert model == pytest.approx(fmean(longer), rel=0.05)


@pytest.mark.parametrize(
    ("name", "of"),
    [("rounds", {"place": "l2", "sms": "1"}), ("rounds", {"place": "dram", "sms": "1"}),
     ("outstanding", {"sms": "1"}), ("outstanding", {"sms": "132", "shape": "whole"})],
)  # fmt: skip
def test_what_an_sm_has_under_way_is_as_much_as_on_an_h100(name: str, of: dict[str, str]) -> None:
    ours, theirs = (packaged_table(f"{chip}_{name}") for chip in ("h200", "h100"))  # type: ignore[arg-type]
    shares = [
        float(mine["cycles"]) / float(other["cycles"])
        for mine, other in zip(ours, theirs, strict=True)
        if of.items() <= mine.items()
    ]
    assert len(shares) > 20
    assert median(shares) == pytest.approx(1, abs=0.02)


def test_few_lines_that_all_sms_ask_for_again_come_as_much_later() -> None:
    """Than by the number, on average: as on an H100, whose tests hold each case to it."""
    shares = []
    for name, number in (("h200_hot_lines", MACHINE), ("h100_hot_lines", H100)):
        took = {
            (row["shape"], int(row["lines"]), int(row["sms"])): int(row["ended"]) / (28 * 12)
            for row in packaged_table(name)
            if row["spread"] == "4000"
        }
        shares.append(fmean(
            max(asked_and_sent(shape)[1] * number["crowd_sector"] * sms / lines,
                took[shape, 0, sms]) / took[shape, lines, sms]
            for shape in ("padded", "moved") for lines in (48, 64, 96, 128, 192)
            for sms in (33, 66, 132)
        ))  # fmt: skip
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


@needs_compiler
@pytest.mark.parametrize(
    ("reads", "writes"),
    [(8, 0), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((2, 2), (0, 4)))],
)
def test_passes_over_arrays_take_what_they_took(reads: int, writes: int) -> None:
    (row,) = (
        row for row in packaged_table("h200_streams")
        if [row[name] for name in ("reads", "writes", "word", "mebibytes")]
        == [str(reads), str(writes), "16", "160"]
    )  # fmt: skip
    blocks = (160 << 20) // (reads + writes) // (256 * 16)
    report = replay_compiled(
        streams.streams_source(), kernel=f"streams_{reads}_{writes}_16", grid=blocks, block=256,
        args=[np.zeros(192 << 20, np.uint8), np.uint64(blocks * 256 * 16)], chip="H200",
    )  # fmt: skip
    assert report.time().cycles == pytest.approx(float(row["cycles"]), rel=0.1)


@needs_compiler
@pytest.mark.slow
def test_rows_of_tiles_take_tma_what_they_took() -> None:
    pitch, rows, inner = 2048, 256, 128
    (row,) = (
        row for row in packaged_table("h200_tile_rows")
        if [row[name] for name in ("pitch", "inner", "blocks", "together")]
        == ["2048", "128", "132", "1"]
    )  # fmt: skip
    tile = TensorMap(np.zeros((4096, pitch), np.uint8), (rows, inner))
    numbers = (np.int32(each) for each in (rows * inner, inner, 1, pitch))
    time = replay_compiled(
        tile_rows_source(), kernel="tiles", grid=132, block=1,
        args=[tile, np.zeros(132, np.int32), *numbers], shared_bytes=4 * rows * 128, chip="H200",
    ).time()  # fmt: skip
    assert time.active_cycles is not None
    assert time.active_cycles / (128 * rows) == pytest.approx(float(row["cycles"]), rel=0.05)
