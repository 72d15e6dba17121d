"""Phases of mbarriers for the estimate of time: which of them what goes to a neighbour ends."""

from pathlib import Path

import numpy as np
import pytest

from simulator import Chip
from simulator.sass.replay import replay_compiled
from simulator.sass.run.phases import Phases
from simulator.timing.work import Work

CLUSTERS = Path(__file__).parents[3] / "silicon/sass/cubins/clusters.cubin"


def work(kernel: str, *args: object, blocks: int = 8) -> Work:
    report = replay_compiled(
        CLUSTERS, kernel=kernel, grid=(blocks,), block=(128,), args=list(args), chip="H100"
    )
    found = report.rerun.work(Chip.of("H100"))
    assert isinstance(found, Work)
    return found


def test_a_neighbours_phase_is_the_one_of_as_many_turns_until_it_was_waited_for() -> None:
    here, there = Phases(4), Phases(4)
    first = here.alike(64, there)
    assert first == here.running(64)
    for each in (here, there):
        each.initialised(64)
        each.changed(64, 1)
    assert here.alike(64, None) == first
    second = here.alike(64, there)
    assert second == here.running(64) != first
    assert here.ended(64) == first
    assert here.alike(64, None) == second


def test_what_is_sent_to_a_neighbour_ends_the_phase_that_warps_wait_for() -> None:
    ints = np.zeros(1024, np.int32)
    found = work("ring_of_blocks", ints, ints.copy(), np.zeros(8, np.int32))
    for trace in found.traces:
        names = [found.instructions[number].opcode for number in trace.event[:, 0]]
        sent = {phase for name, phase in zip(names, trace.event[:, 1], strict=True)
                if name.startswith("STAS")}  # fmt: skip
        asked = {phase for name, phase in zip(names, trace.event[:, 1], strict=True)
                 if name.startswith("SYNCS.PHASECHK")}  # fmt: skip
        assert sent
        assert sent <= asked


@pytest.mark.parametrize(("copies", "turns"), [(1, 1), (8, 1), (9, 2), (1000, 125)])
def test_copies_that_follow_one_another_are_a_turn(copies: int, turns: int) -> None:
    phases = Phases(1)
    for at in range(copies):
        phases.copy(0, 7, 0, (32, 1, 1), np.array([32 * at]), 32)
    _, copied = phases.take()
    assert len(copied[7]) == turns
    assert np.concatenate(copied[7]).tolist() == [*range(copies)]
    assert len({len(each) for each in copied[7][:-1]}) <= 1
