"""A launch is gone through several times, each time with other lines near, and the mean counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import Chip
from simulator.timing.estimate import Estimate, estimate
from simulator.timing.far import _drawn
from simulator.timing.launch_time import time_of
from simulator.timing.machine import NUMBERS, machine_of
from simulator.timing.work import Work
from tests.examples import examples
from tests.unit.timing.works import Line, work

H100 = Chip.of("H100")
MACHINE = machine_of(H100) or {}
LOADS = [
    Line("LDG.E", "R4,[R2.64]", write=0, lines=8),
    Line("FADD", "R0,R4,R4", waits=1),
    Line("BAR.SYNC", "0x0"),
]


def of(made: Work) -> Estimate:
    found = estimate(made, H100, MACHINE)
    assert found is not None
    return found


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from([66, 132, 264, 1000]))
def test_the_mean_of_all_courses_counts(warps: int, times: int, blocks: int) -> None:
    found = of(work(LOADS, warps=warps, times=times, blocks=blocks))
    assert 1 <= len(found.courses) <= 4
    assert min(found.courses) <= found.active <= max(found.courses)
    assert found.active == pytest.approx(np.mean(found.courses))
    again = of(work(LOADS, warps=warps, times=times, blocks=blocks))
    assert again.courses == found.courses


def test_courses_differ_where_loads_are_waited_for() -> None:
    found = of(work(LOADS, warps=4, times=8, blocks=132))
    assert len(set(found.courses)) > 1


def test_what_accesses_no_line_has_one_course() -> None:
    body = [Line("FADD", "R0,R1,R2")] * 8
    assert len(of(work(body, warps=4, times=4, blocks=132)).courses) == 1


@pytest.mark.parametrize(("most", "courses"), [(6_000_000, 4), (330, 3), (220, 2), (50, 1)])
def test_a_long_launch_has_fewer(most: int, courses: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block of 100 instructions or so is simulated."""
    monkeypatch.setattr("simulator.timing.estimate.MOST_INSTRUCTIONS", most)
    assert len(of(work(LOADS, warps=4, times=8, blocks=132)).courses) == courses


@pytest.mark.parametrize("course", range(4))
def test_lines_are_drawn_evenly_and_anew_in_each_course(course: int) -> None:
    def drawn(course: int) -> np.ndarray:
        numbers = np.zeros(len(NUMBERS))
        numbers[NUMBERS.index("course")] = course
        return np.array([_drawn(numbers, line) for line in range(4096)])

    mine = drawn(course)
    assert np.histogram(mine, 8, (0, 1))[0] == pytest.approx(512, abs=90)
    for other in range(4):
        alike = np.corrcoef(mine, drawn(other))[0, 1]
        assert alike == pytest.approx(float(other == course), abs=0.08)


@pytest.mark.parametrize(("most", "says"), [(1100.0, False), (1200.0, True)])
def test_it_is_said_where_the_time_hangs_on_where_arrays_lie(
    most: float, says: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(*args: Any, **more: Any) -> Estimate | None:
        found = estimate(*args, **more)
        return found and replace(found, active=1050.0, courses=(1000.0, most))

    monkeypatch.setattr("simulator.timing.launch_time.estimate", hangs)
    notes = " ".join(time_of(work(LOADS, warps=4, times=8, blocks=132), H100).notes)
    assert ("1,000 to 1,200 cycles in 2 simulations" in notes) == says
