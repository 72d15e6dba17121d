"""Sub-partitions of an SM: where a block's warps run, how fast a warp alone is served."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from simulator.timing.estimate import run_sm
from simulator.timing.work import Work
from tests.unit.timing.test_sm import H100, MACHINE, run
from tests.unit.timing.works import Line, work


def where(
    body: list[Line], who: Collection[int], warps: int, resident: int = 1, times: int = 8
) -> Work:
    """Return blocks of which only some warps run the body; the others exit."""
    made = work(body, warps=warps, times=times, blocks=resident, resident=resident)
    steps = [[0] * times + [1] if warp in who else [1] for warp in range(warps)]
    begin = np.cumsum([0, *map(len, steps)])
    return replace(
        made,
        traces=tuple(
            replace(each, warp_begin=begin, step=np.concatenate(steps)) for each in made.traces
        ),
    )


def test_each_block_began_so_many_sub_partitions_further_on() -> None:
    for row in packaged_table("h100_first_warps"):
        warps, place = int(row["threads"]) // 32, int(row["place"])
        if place < 8:
            assert int(row["further"]) == place * (warps % 4 or 1) % 4
            assert row["in_order"] == "1"
            assert row["sms"] == "132"


@pytest.mark.parametrize(
    ("warps", "spread"), [(1, 4), (2, 2), (3, 4), (4, 4), (5, 4), (6, 2), (8, 4), (16, 4)]
)
def test_first_warps_of_blocks_share_the_sub_partitions(warps: int, spread: int) -> None:
    adds = [Line("FADD", f"R{place},R1,R2") for place in range(3, 35)]
    alone, four = (
        run(
            where(adds, {0}, warps, resident), count=resident, launch_interval=0, launch_warp=0
        ).cycles
        for resident in (1, 4)
    )
    # So many of the four blocks' first warps take turns.
    assert four / alone == pytest.approx(4 / spread, rel=0.25)


@pytest.mark.parametrize(
    ("ways", "who", "partitions"),
    [
        *((ways, list(range(many)), many) for ways in (8, 16, 32) for many in (1, 2, 4)),
        *((ways, [0, 4], 1) for ways in (8, 16, 32)),
    ],
)
def test_a_warp_alone_gets_half_of_shared_memory(
    ways: int, who: list[int], partitions: int
) -> None:
    stores = [Line("STS", "[R0],R1", cycles=ways, floor=1)] * 32
    # A warp ends when its last stores still wait: only what more of them take is the pipe's.
    few, many = (run(where(stores, who, 8, times=times)).cycles for times in (8, 16))
    cycles = (many - few) / (32 * 8 * len(who))
    (row,) = (
        row for row in packaged_table("h100_partitions")
        if (row["op"], row["ways"]) == ("store", str(ways))
        and (row["warps"], row["partitions"]) == (str(len(who)), str(partitions))
    )  # fmt: skip
    # Two warps of one sub-partition leave more of the measured loop to be seen, where ways are few.
    rel = 0.08 if (ways, len(who), partitions) == (8, 2, 1) else 0.06
    assert cycles == pytest.approx(float(row["cycles"]), rel=rel)
    if len(who) == 1:
        assert float(row["cycles"]) == pytest.approx(MACHINE["shared_warp"] * ways, rel=0.02)


LOADS = [
    *[Line("LDG.E", "R4,[R6.64]", write=0, lines=8)] * 4,
    Line("FADD", "R0,R0,R4", waits=1),
]


@pytest.mark.parametrize(
    ("fact", "body"),
    [
        ("meets", [Line("BSYNC", "B0", stall=5), Line("FADD", "R0,R0,R1", stall=4)]),
        ("load_memory", LOADS),
        ("load_most", LOADS),
    ],
)
def test_a_number_of_the_chip_changes_what_it_takes(fact: str, body: list[Line]) -> None:
    made, plan = work(body, warps=8, times=16), np.zeros(1, np.int64)
    less, more = (
        run_sm(made, H100, {**MACHINE, fact: MACHINE[fact] * by}, plan).cycles for by in (0.5, 1.0)
    )
    assert less != more
