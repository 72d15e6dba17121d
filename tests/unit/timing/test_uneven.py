"""Grids whose last blocks are few: SMs that have one block more than others."""

from dataclasses import replace

import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.uneven import uneven_source
from simulator.law.chips import Chip
from simulator.timing.machine import at_clock, machine_of
from simulator.timing.shares import held_of, numbers_of, taking_turns
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
ROWS = [
    {name: int(value) if name != "access" else value for name, value in row.items()}
    for row in packaged_table("h100_uneven")
]


def _cycles(access: str, several: int, threads: int, blocks: int) -> float:
    (found,) = (
        row["cycles_most"] for row in ROWS
        if (row["access"], row["several"], row["threads"], row["blocks"])
        == (access, several, threads, blocks)
    )  # fmt: skip
    return float(found)


def _numbers(blocks: int):  # type: ignore[no-untyped-def]
    made = replace(work([Line("LDG.E", "R0,[R2.64]", lines=1)], resident=8), grid=(blocks, 1, 1))
    machine = machine_of(H100) or {}
    return numbers_of(made, machine, held_of(made, H100, machine), 132)


@pytest.mark.parametrize("blocks", [140, 198, 272, 330, 404, 448, 536, 668])
@pytest.mark.parametrize("threads", [64, 128, 256])
def test_stores_of_all_sms_get_alike_and_then_those_that_are_left(
    blocks: int, threads: int
) -> None:
    whole = _cycles("store", 4, threads, 132)
    most = -(-blocks // 132)
    expected = whole * most * taking_turns(blocks, 132, 16.3 / 32)
    assert _cycles("store", 4, threads, blocks) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("blocks", [140, 198, 272, 330, 404, 448, 536])
def test_loads_take_between_the_mean_sms_time_and_that(blocks: int) -> None:
    """Blocks that ask for so much at a time that one of them takes all that an SM gets."""
    whole = _cycles("load", 4, 256, 264) / 2
    most, all_busy = -(-blocks // 132), _numbers(264)["l2_rate"]
    expected = whole * most * all_busy / _numbers(blocks)["l2_rate"]
    assert _cycles("load", 4, 256, blocks) == pytest.approx(expected, rel=0.1)


def test_an_sm_that_has_the_only_blocks_is_alone() -> None:
    assert taking_turns(1, 132, 0.5) == pytest.approx(1 / 132)
    assert taking_turns(132, 132, 0.5) == taking_turns(264, 132, 0.5) == 1.0
    alone = _numbers(1)
    machine = machine_of(H100) or {}
    assert alone["store_rate"] == machine["store_alone"]
    assert alone["l2_own"] == alone["l2_rate"] == max(machine["l2_alone"], machine["l2_shared"])


def test_what_is_sent_twice_comes_no_faster_to_the_slowest_sm() -> None:
    """In one wave the slowest SM gets 9 % less: of sectors that go to it alone, too."""
    machine = machine_of(H100) or {}
    numbers = _numbers(264)
    assert numbers["l2_own"] == pytest.approx(machine["l2_rate"] / machine["slowest_sm"])


def test_kernels_store_or_load() -> None:
    source = uneven_source()
    assert source.count("__global__") == 6
    assert {row["access"] for row in ROWS} == {"load", "store"}
    assert all(row["most"] == -(-row["blocks"] // 132) for row in ROWS)


@pytest.mark.parametrize("blocks", [140, 198, 272])
def test_stores_and_atomics_of_those_sms_take_turns_with_all_others(blocks: int) -> None:
    most = -(-blocks // 132)
    even, uneven = _numbers(132 * most), _numbers(blocks)
    turns = _cycles("store", 4, 128, blocks) / (most * _cycles("store", 4, 128, 132))
    for name in ("store_line", "store_request", "atom_packet"):
        assert uneven[name] / even[name] == pytest.approx(turns, rel=0.1)
    assert even["store_rate"] / uneven["store_rate"] == pytest.approx(turns, rel=0.1)


def test_an_sm_stands_for_as_much_as_all_blocks_touch() -> None:
    """How soon the L2 forgets follows from what the grid touches, not from who goes faster."""
    made = replace(work([Line("LDG.E", "R0,[R2.64]", lines=1)], resident=8), grid=(140, 1, 1))
    machine = machine_of(H100) or {}
    held = replace(held_of(made, H100, machine), l2_bytes=50 << 20)
    assert numbers_of(made, machine, held, 132)["kept_sector"] * (50 << 20) == 32 * 140 / 2


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_a_slow_clock_gives_those_sms_no_less_than_all(share: float) -> None:
    machine = at_clock(machine_of(H100) or {}, share)
    for rate in ("l2_rate", "store_rate"):
        alone = machine[rate] / machine["l2_alone" if rate == "l2_rate" else "store_alone"]
        assert taking_turns(140, 132, alone) <= 1


FAR_ROWS = {
    (row["access"], int(row["several"]), int(row["blocks"])): row
    for row in packaged_table("h200_uneven_far")
}
H200 = Chip.of("H200")


def _from_dram(blocks: int) -> float:
    made = replace(work([Line("LDG.E", "R0,[R2.64]", lines=1)], resident=8), grid=(blocks, 1, 1))
    machine = machine_of(H200) or {}
    return numbers_of(made, machine, held_of(made, H200, machine), 132)["dram_rate"]


@pytest.mark.parametrize("several", [4, 16])
@pytest.mark.parametrize("blocks", [272, 330, 404, 448, 536, 668])
def test_blocks_share_what_dram_brings_whatever_sms_they_are_on(blocks: int, several: int) -> None:
    """Those of 264 blocks and more wait for DRAM alone."""
    most = -(-blocks // 132)
    took, even = (float(FAR_ROWS["load", several, each]["cycles_most"]) for each in (blocks, 660))
    expected = even / 5 * most * _from_dram(660) / _from_dram(blocks)
    assert took == pytest.approx(expected, rel=0.05)


def test_the_slowest_sm_gets_nearly_as_much_of_what_dram_brings() -> None:
    rows = [FAR_ROWS["load", several, blocks] for several in (4, 16) for blocks in (264, 396, 660)]
    last = [float(row["cycles_last"]) / float(row["cycles_most"]) for row in rows]
    machine = machine_of(H200) or {}
    assert machine["slowest_sm_far"] == pytest.approx(max(last), abs=0.005)
    assert _from_dram(264) == pytest.approx(machine["dram_rate"] / machine["slowest_sm_far"])
