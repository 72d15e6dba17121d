"""What blocks read together: how fast the L2 gives it, and which part of what they read it is."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from simulator import Chip, replay_compiled
from simulator.timing.footprint import Footprint
from simulator.timing.machine import machine_of
from simulator.timing.sharing import kept_twice, l2_rate, rate_apart, read_together
from simulator.timing.work import Work
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_sm import MACHINE
from tests.unit.timing.works import Line, work

LATE = packaged_table("h100_late_reads")
REACH = int((machine_of(Chip.of("H100")) or {})["shared_reach"])
HELD = 1 << 17


def rate(part: float) -> float:
    return l2_rate(MACHINE["l2_rate"], MACHINE["l2_shared"], part, REACH)


@pytest.mark.parametrize("row", [each for each in LATE if each["by"] == "blocks"])
def test_blocks_read_together_as_fast_as_on_an_h100(row: dict[str, str]) -> None:
    near = int(row["sharers"]) > 1 and int(row["apart"]) <= REACH
    part = int(row["part"]) / 8 if near else 0.0
    expected = 1 / (part / rate(1) + (1 - part) / rate(0))  # one behind the other
    # Blocks that are six apart get 43, those that begin 8 KiB late 40; all SMs together some more.
    tolerance = 0.26 if int(row["late"]) else 0.18 if int(row["apart"]) in (4, 6) else 0.11
    tolerance = max(tolerance, 0.15 if int(row["sharers"]) > 4 else 0)
    assert expected == pytest.approx(float(row["bytes_per_cycle"]), rel=tolerance)


def reading(apart: int, lines: int = 8, at: tuple[int, ...] = (0, 1)) -> Work:
    """Return blocks that load some lines each, so many lines further than the one before."""
    loads = [Line("LDG.E", "R4,[R6.64]", lines=lines)]
    made = work(loads, blocks=2, resident=2, apart=apart)
    traces = [
        replace(made.traces[0], block=(number, 0, 0), base=np.array([apart * number], np.int64))
        for number in at
    ]
    return replace(made, grid=(64, 1, 1), traces=tuple(traces))


@pytest.mark.parametrize(("apart", "part"), [(0, 1.0), (4, 0.5), (8, 0.0), (100, 0.0)])
def test_what_is_read_together_is_what_the_next_block_reads_too(apart: int, part: float) -> None:
    assert read_together(reading(apart), REACH, HELD, 1) == pytest.approx(part)


def test_blocks_that_are_far_apart_share_nothing() -> None:
    assert read_together(reading(0, at=(0, REACH)), REACH, HELD, 1) == 1
    assert read_together(reading(0, at=(0, REACH + 1)), REACH, HELD, 1) == 0


def test_what_all_blocks_read_is_asked_for_once_by_an_sm() -> None:
    # Three blocks share lines 2 to 7, beside two of their own neighbours'.
    many = [read_together(reading(1, at=(0, 1, 2)), REACH, HELD, of_sm) for of_sm in (1, 8)]
    assert many[0] > many[1] > 0
    assert read_together(reading(1, at=(0, 1, 2)), REACH, 0, 8) == many[0]


def test_a_block_that_reads_nothing_changes_nothing() -> None:
    made = reading(1, at=(0, 1, 2))
    idle = replace(
        made.traces[0], block=(3, 0, 0), step=np.array([1]), warp_begin=np.array([0, 1]),
        base=np.zeros(0, np.int64), base_begin=np.array([0, 0]),
    )  # fmt: skip
    more = replace(made, traces=(*made.traces, idle))
    assert read_together(more, REACH, HELD, 8) == read_together(made, REACH, HELD, 8)


def kept(apart: int, blocks: int, lines: int) -> tuple[float, float]:
    """What a grid shares whose blocks read 8 lines, and which reads some lines in all."""
    made = reading(apart)
    made = replace(made, grid=(blocks, 1, 1), probes=made.traces)
    return kept_twice(made, Footprint(32 * lines, 0, True))


def test_what_each_block_reads_alone_is_not_shared() -> None:
    assert kept(apart=8, blocks=64, lines=8 * 64) == (0.0, 1.0)


def test_what_all_blocks_read_is_shared_by_all() -> None:
    assert kept(apart=0, blocks=64, lines=8) == (1.0, 64.0)


def test_what_blocks_around_read_is_shared_on_both_sides() -> None:
    """Each block reads eight lines, a line further than the one before: eight read each line."""
    part, sharers = kept(apart=1, blocks=64, lines=71)
    assert part == 1.0
    assert sharers == pytest.approx(8 * 64 / 71)


@pytest.mark.parametrize("lines", [9, 16, 33, 40, 260])
def test_no_more_blocks_share_than_there_are(lines: int) -> None:
    part, sharers = kept(apart=4, blocks=8, lines=lines)
    assert 0 <= part <= 1
    assert 1 <= sharers <= 8


_SOURCE = """
extern "C" __global__ void sums(const float4 *all, const float4 *own, float *out) {
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += all[k * 256 + threadIdx.x].x;
    for (int k = 0; k < 16; ++k) sum += own[(blockIdx.x * 16 + k) * 256 + threadIdx.x].x;
    if (sum == 12345) *out = sum;
}"""


@needs_compiler
def test_a_block_alone_on_its_sm_takes_the_same_however_many_the_sm_could_hold() -> None:
    room = 120 << 10  # of shared memory: for one block
    many, one = (
        replay_compiled(
            _SOURCE, grid=132, block=256, chip="H100", shared_bytes=shared,
            args=[np.zeros(1 << 14, np.float32), np.zeros(132 << 14, np.float32),
                  np.zeros(1, np.float32)],
        ).time(chip="H100").active_cycles
        for shared in (0, room)
    )  # fmt: skip
    assert many == one


def copying(tiles: list[list[int]]) -> Work:
    """Return blocks that copy tiles of eight sectors, one of a list in each turn."""
    made = reading(0, lines=0)
    traces = [
        replace(made.traces[0], block=(number, 0, 0), copied_in_turn={
            0: tuple(8 * tile + np.arange(8) for tile in some)
        })
        for number, some in enumerate(tiles)
    ]  # fmt: skip
    return replace(made, traces=tuple(traces))


def test_tiles_are_copied_together_by_those_that_copy_them_in_the_same_turn() -> None:
    assert read_together(copying([[0, 1, 2, 3], [0, 1, 2, 3]]), REACH, HELD, 1) == 1
    assert read_together(copying([[0, 1, 2, 3], [1, 2, 3, 0]]), REACH, HELD, 1) == 0
    assert read_together(copying([[0, 1, 2, 3], [0, 2, 1, 3]]), REACH, HELD, 1) == 0.5


def test_who_copies_more_than_others_copies_the_rest_by_itself() -> None:
    many = [*range(100)]
    assert read_together(copying([many, [0]]), REACH, HELD, 1) == pytest.approx(2 / 101)
    assert read_together(copying([many, many[:50]]), REACH, HELD, 1) == pytest.approx(100 / 150)
    # Of very many turns some tell.
    assert read_together(copying([[*range(1000)]] * 2), REACH, HELD, 1) == 1


def test_sms_far_apart_get_what_the_l2_sends_once_per_gpc() -> None:
    """Sixteen SMs that read twelve regions, and chance, which gives them twelve of so many."""
    recorded = {
        row["group"]: float(row["bytes_per_cycle"])
        for row in packaged_table("h100_gpc_reads")
        if (row["way"], row["row"], row["blocks"], row["turns"]) == ("copies", "128", "1", "256")
    }
    regions = next(n for n in np.arange(12.0, 132.0, 0.1) if n * (1 - (1 - 1 / n) ** 16) >= 12)
    found = rate_apart(recorded["own"], 50, 132 / regions, 132)
    assert found == pytest.approx(recorded["12 of a GPC"], rel=0.1)
    rates = [rate_apart(30.5, 50, readers, 132) for readers in (0.4, 1, 1.5, 2, 4, 8, 16, 132)]
    assert rates[0] == rates[1] == 30.5
    assert rates == sorted(rates)
    assert rates[-1] == 50
