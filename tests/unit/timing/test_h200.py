"""What an H200 has otherwise than an H100, by its own tables; more is beside the H100's tests."""

from __future__ import annotations

from statistics import fmean, median

import pytest

from gpu_check.recordings import packaged_table
from simulator.law.chips import Chip
from simulator.timing.machine import machine_of
from tests.unit.timing.test_copying import asked_and_sent

SMS = 132
MACHINE = machine_of(Chip.of("H200")) or {}
H100 = machine_of(Chip.of("H100")) or {}


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
