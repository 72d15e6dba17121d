"""SMs that read and compute in turns come apart as they did on an H100.

The mean SM was measured; the estimate is of the slowest, which takes 9 % longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.rounds import room_of, rounds_source, wrap_of
from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

_SMS, _SMALL = 132, 8192


def measured() -> Mapping[tuple[str, str, int, int, int, int], int]:
    """Cycles by way, place, bytes of a round, SMs, work and rounds, of one block per SM."""
    return {
        (row["way"], row["place"],
         *(int(row[name]) for name in ("size", "sms", "work", "rounds"))): int(row["cycles"])
        for row in packaged_table("h100_rounds") if row["blocks"] == "1"
    }  # fmt: skip


CYCLES = measured()


@cache
def estimated(way: str, place: str, size: int, sms: int, work: int, rounds: int) -> float:
    wrap = wrap_of(place, size, 1, rounds)
    data = np.zeros(wrap * sms * size, np.uint8)
    report = replay_compiled(
        rounds_source(way, size), kernel=f"{way}_{size}", grid=sms, block=256, chip="H100",
        shared_bytes=room_of(1),
        args=[data, np.zeros(32 * sms, np.int32), np.zeros(2, np.float32),
              *map(np.int32, (work, rounds, wrap))],
    )  # fmt: skip
    found = report.time("H100").active_cycles
    assert found is not None
    return found


def more(
    of: Mapping[tuple[str, str, int, int, int, int], int] | None,
    way: str, size: int, work: int, first: int, last: int, sms: int = _SMS,
) -> float:  # fmt: skip
    """Cycles by which a round from the L2 takes longer than one of 8 KiB, from round to round.

    What it computes is the same, and so is what the launch takes.
    """

    def at(size: int, rounds: int) -> float:
        case = (way, "l2", size, sms, work, rounds)
        return estimated(*case) if of is None else float(of[case])

    each = [(at(size, last) - at(size, first)) / (last - first) for size in (size, _SMALL)]
    return each[0] - each[1]


@pytest.mark.parametrize("way", [pytest.param("copies", marks=pytest.mark.slow), "tiles"])
@pytest.mark.parametrize("size", [32768, pytest.param(65536, marks=pytest.mark.slow)])
def test_sms_that_came_apart_read_as_fast_as_one_alone(way: str, size: int) -> None:
    apart = more(CYCLES, way, size, 256, 32, 64)
    assert apart == pytest.approx(more(CYCLES, way, size, 0, 32, 64, sms=1), rel=0.35)
    assert more(None, way, size, 256, 8, 16) == pytest.approx(apart, rel=0.15)


@pytest.mark.parametrize("way", ["copies", pytest.param("tiles", marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", [65536])
def test_they_begin_in_step_and_get_their_share(way: str, size: int) -> None:
    in_step, apart = more(CYCLES, way, size, 256, 1, 2), more(CYCLES, way, size, 256, 32, 64)
    assert in_step > 2 * apart
    assert more(None, way, size, 256, 1, 2) == pytest.approx(in_step, rel=0.15)


@pytest.mark.parametrize("way", [pytest.param("copies", marks=pytest.mark.slow), "loads", "tiles"])
@pytest.mark.parametrize(
    ("size", "work"),
    [(32768, 0), (32768, 64), *(pytest.param(65536, work, marks=pytest.mark.slow)
                                for work in (0, 64))],
)  # fmt: skip
def test_rounds_from_dram_take_what_they_took(way: str, size: int, work: int) -> None:
    """Where they compute for as long as they read, they read while others compute."""
    case = (way, "dram", size, _SMS, work, 16)
    if way == "loads" and size > 32768:
        pytest.skip("256 threads do not hold as much in registers")
    assert estimated(*case) == pytest.approx(CYCLES[case], rel=0.15)


@pytest.mark.parametrize(("work", "within"), [(0, 0.09), (64, 0.13), (256, 0.1)])
def test_stores_of_sms_that_came_apart_leave_as_fast_as_of_one_alone(
    work: int, within: float
) -> None:
    """Of each round 13 KiB leave while the next one is computed."""

    def each(of: Mapping[tuple[str, str, int, int, int, int], int] | None) -> float:
        ends = [("stores", "l2", 65536, _SMS, work, rounds) for rounds in (8, 16)]
        first, last = (estimated(*end) if of is None else of[end] for end in ends)
        return (last - first) / 8

    assert each(None) == pytest.approx(each(CYCLES), rel=within)
