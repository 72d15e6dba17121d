"""What blocks read together: which part of what they read it is, and how many do."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.timing.footprint import Footprint
from simulator.timing.sharing import kept_twice
from simulator.timing.work import Work
from tests.sass_kernels import needs_compiler
from tests.unit.timing.works import Line, work


def reading(apart: int, lines: int = 8, at: tuple[int, ...] = (0, 1)) -> Work:
    """Return blocks that load some lines each, so many lines further than the one before."""
    loads = [Line("LDG.E", "R4,[R6.64]", lines=lines)]
    made = work(loads, blocks=2, resident=2, apart=apart)
    traces = [
        replace(made.traces[0], block=(number, 0, 0), base=np.array([apart * number], np.int64))
        for number in at
    ]
    return replace(made, grid=(64, 1, 1), traces=tuple(traces))


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
