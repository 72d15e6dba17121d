"""Grids of unlike blocks: which block is as long as which, and when the last one ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import Chip, replay_compiled
from simulator.timing.estimate import estimate
from simulator.timing.machine import machine_of
from simulator.timing.places import first_places
from simulator.timing.traces import Steps
from simulator.timing.unlike import first_ends, is_unlike, last_end, lengths, most_to_do
from simulator.timing.work import Work
from tests.sass_kernels import needs_compiler
from tests.unit.timing.works import Line, with_rows, work

works = st.lists(st.floats(0.1, 9), min_size=1, max_size=60)


@given(works, st.integers(1, 5), st.integers(1, 4), st.floats(1, 4))
def test_the_last_block_ends_no_earlier_than_the_mean_sm_and_no_later_than_one_by_one(
    blocks: list[float], sms: int, resident: int, fastest: float
) -> None:
    places = first_places(len(blocks), resident, sms)
    found = last_end(blocks, [1.0] * sms, places, [1.0] * resident, min(fastest, resident))
    mean = sum(blocks) / (sms * resident)
    assert mean - 1e-9 <= found <= sum(blocks) + 1e-9


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 6))
def test_whole_waves_of_like_blocks_end_together(sms: int, resident: int, waves: int) -> None:
    blocks = [2.0] * (sms * resident * waves)
    places = first_places(len(blocks), resident, sms)
    found = last_end(blocks, [1.0] * sms, places, [1.0] * resident, 1.0)
    assert found == pytest.approx(2 * waves)


@given(works, st.floats(1, 4))
def test_blocks_that_begin_together_end_as_the_replay_says(
    blocks: list[float], fastest: float
) -> None:
    count = len(blocks)
    found = first_ends(blocks, min(fastest, count))
    last = last_end(blocks, [1.0], [0] * count, [1.0] * count, min(fastest, count))
    assert found.max() == pytest.approx(last)
    assert (np.argsort(found, kind="stable") == np.argsort(blocks, kind="stable")).all()


def differing() -> Work:
    """A row of 12 blocks, of which three ran: those further on do more."""
    first = work([Line("FADD", "R0,R1,R2")], times=8, blocks=12, resident=4).traces[0]
    traces = []
    for place, times in ((1, 2), (6, 4), (11, 6)):
        step = np.array([0] * times + [1])
        begin = np.array([0, len(step)])
        traces.append(replace(first, block=(place, 0, 0), step=step, warp_begin=begin))
    launch = work([Line("FADD", "R0,R1,R2")], times=8, blocks=12, resident=4)
    return replace(launch, traces=tuple(traces))


def test_a_block_is_as_long_as_the_nearest_that_ran() -> None:
    launch = differing()
    assert is_unlike(launch)
    found = lengths(launch) * 5  # the mean one executes five instructions
    assert found.tolist() == pytest.approx([3, 3, 3, 3, 5, 5, 5, 5, 5, 7, 7, 7])


def test_the_sm_that_has_most_to_do_is_found() -> None:
    # SM 1 of 4 has the blocks 1, 5 and 9: the nearest that ran are those at 1, 6 and 11.
    assert most_to_do(differing(), 4).tolist() == [0, 1, 2]
    assert most_to_do(differing(), 12).tolist() == [2]


def test_like_blocks_are_told() -> None:
    assert not is_unlike(work([Line("FADD", "R0,R1,R2")], times=4, blocks=12, resident=4))


def test_unlike_blocks_without_conflicts_take_what_blocks_take_that_have_none() -> None:
    body = [Line("STS", "[R0],R1", cycles=32, floor=1), Line("FADD", "R0,R1,R2", stall=4)]
    launch = work(body, blocks=1056, resident=4)
    traces = []
    for place, times in ((100, 8), (600, 16), (1000, 64)):
        step = np.array([0] * times + [1])
        begin = np.array([0, len(step)])
        first = launch.traces[0]
        traces.append(replace(first, block=(place, 0, 0), step=step, warp_begin=begin))
    conflicts = replace(launch, traces=tuple(traces))
    none = with_rows(conflicts, cycles=first.rows.floor)
    h100 = Chip.of("H100")
    machine = machine_of(h100)
    assert machine is not None
    found = [estimate(conflicts, h100, machine, without=True), estimate(none, h100, machine)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].active == found[1].active


_STAIRS = """
extern "C" __global__ void stairs(float *out, int first) {
    float v = threadIdx.x;
    #pragma unroll 1
    for (int turn = 0; turn < 100 * (first + blockIdx.x); ++turn) v = v * 1.5f + 1;
    out[threadIdx.x] = v;
}"""


@needs_compiler
@pytest.mark.parametrize("blocks", [2, 4, 132])
def test_a_grid_of_a_block_per_sm_takes_what_its_longest_takes(blocks: int) -> None:
    def active(grid: int, first: int) -> int:
        args = [np.zeros(64, np.float32), np.int32(first)]
        found = replay_compiled(_STAIRS, grid=grid, block=64, args=args, chip="H100").time("H100")
        assert found.active_cycles is not None
        return found.active_cycles

    assert active(blocks, 1) == pytest.approx(active(1, blocks), rel=0.02)


def test_blocks_that_execute_the_same_are_unlike_where_some_conflict() -> None:
    body = [Line("LDS", "R0,[R1]", cycles=1, floor=1), Line("LDS", "R0,[R1]", cycles=32, floor=1)]
    launch = work(body, blocks=12, resident=4)
    first, each = launch.traces[0], np.array([1, 1, 1])
    steps = Steps(np.array([0, 1, 2]), each, 32 * each, np.array([0, 1, 2, 2]), np.array([0, 1]))
    traces = []
    for place, conflicts in ((1, 0), (6, 4), (11, 8)):
        step = np.array([0] * (8 - conflicts) + [1] * conflicts + [2])
        of_warp = np.array([0, len(step)])
        traces.append(
            replace(first, block=(place, 0, 0), steps=steps, step=step, warp_begin=of_warp)
        )
    launch = replace(launch, traces=tuple(traces))
    assert len({trace.instructions for trace in launch.traces}) == 1
    assert is_unlike(launch)
    found = lengths(launch)
    assert found[[6, 11]] / found[1] == pytest.approx([(4 + 4 * 32) / 8, 32])
    assert most_to_do(launch, 12).tolist() == [2]


RARE = """
extern "C" __global__ void rare(const int* turns, float* out) {
    float x = threadIdx.x;
    for (int k = turns[blockIdx.x]; k > 0; --k) x = x * 1.5f + 2.0f;
    out[blockIdx.x * 64 + threadIdx.x] = x;
}
"""


@needs_compiler
@pytest.mark.parametrize("blocks", [264, 132 * 64])
def test_a_block_that_is_rare_is_found_where_it_ends_last(blocks: int) -> None:
    """One of two blocks per SM that goes on after all others; of many waves no SM waits for it."""
    times = {}
    for most in (200, 4000):
        turns = np.full(blocks, 200, np.int32)
        turns[77] = most
        report = replay_compiled(
            RARE, grid=blocks, block=64, args=[turns, np.zeros(blocks * 64, np.float32)],
            chip="H100",
        )  # fmt: skip
        found = report.relaunch().work(Chip.of("H100"))
        is_rare = most > 200 and blocks == 264
        assert [each.block for each in found.longest] == [(77, 0, 0)] * is_rare
        times[most] = report.time(chip="H100").cycles or 0
    more = times[4000] - times[200]
    # A turn waits for the sum of the one before, four cycles at least.
    assert more == 0 if blocks > 264 else more > 3800 * 4


@needs_compiler
def test_a_block_that_is_long_once_is_not_waited_for() -> None:
    """The last one that comes adds what all found: which one that is, another run may say."""
    last = """
    extern "C" __global__ void last(unsigned* came, float* out) {
        __shared__ bool is_last;
        if (threadIdx.x == 0) is_last = atomicAdd(came, 1) == gridDim.x - 1;
        __syncthreads();
        float x = threadIdx.x;
        if (is_last) for (int k = 0; k < 4000; ++k) x = x * 1.5f + 2.0f;
        out[blockIdx.x * 64 + threadIdx.x] = x;
    }
    """
    args = [np.zeros(1, np.uint32), np.zeros(264 * 64, np.float32)]
    report = replay_compiled(last, grid=264, block=64, args=args, chip="H100")
    assert report.relaunch().work(Chip.of("H100")).longest == ()


@needs_compiler
def test_a_block_that_fails_and_was_not_asked_for_is_left_out() -> None:
    """Block 77 of 264 stores behind its array: neither the samples nor the time run into it."""
    turns = np.full(264, 20, np.int32)
    far = """
    extern "C" __global__ void far(const int* turns, float* out) {
        float x = threadIdx.x;
        for (int k = turns[blockIdx.x]; k > 0; --k) x = x * 1.5f + 2.0f;
        out[blockIdx.x == 77 ? 1 << 28 : blockIdx.x * 64 + threadIdx.x] = x;
    }
    """
    args = [turns, np.zeros(264 * 64, np.float32)]
    report = replay_compiled(far, grid=264, block=64, args=args, chip="H100")
    assert report.relaunch().work(Chip.of("H100")).longest == ()
    assert report.time(chip="H100").cycles


@needs_compiler
def test_blocks_that_take_too_long_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks 80 to 99 go on for long, and none of them is sampled."""
    turns = np.full(264, 200, np.int32)
    turns[80:100] = 4000
    args = [turns, np.zeros(264 * 64, np.float32)]
    report = replay_compiled(RARE, grid=264, block=64, args=args, chip="H100")
    found = report.relaunch().work(Chip.of("H100"))
    assert found.longest
    assert not found.notes
    few = replay_compiled(
        RARE, grid=264, block=64, args=args, chip="H100", blocks="sample", max_instructions=100_000
    ).relaunch().work(Chip.of("H100"))  # fmt: skip
    assert few.longest == ()
    assert few.notes == (
        "max_instructions = 100000 ends the search for a block that goes on for longer than all"
        " others",
    )
    most = 2 * found.traces[0].instructions * 264
    monkeypatch.setattr("simulator.sass.work._MOST_OF_ALL", most)
    ended = report.relaunch().work(Chip.of("H100"))
    assert (ended.longest, ended.notes) == ((), ())
