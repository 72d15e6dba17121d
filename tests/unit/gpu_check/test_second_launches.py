"""Tables of second launches, with a profiler that says the number of each launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_check.errors import CountersError
from gpu_check.timing import kernels
from gpu_check.timing.moved import measure_moved, write_measured
from gpu_check.timing.sm_blocks import measure_sm_blocks

CASES = Path(__file__).parents[2] / "silicon/timed/thirtythird.json"
COUNT = len(kernels.read_cases(CASES))


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many launches the profiler sees."""
    seen = [2 * COUNT]

    def numbers(command: list[str], metrics: list[str], name: str) -> list[dict[str, Any]]:
        return [dict.fromkeys(metrics, str(launch)) for launch in range(seen[0])]

    monkeypatch.setattr(kernels, "run_ncu", numbers)
    return seen


@pytest.mark.usefixtures("launches")
def test_the_second_launch_of_each_case_is_read(tmp_path: Path) -> None:
    moved, blocks = measure_moved([CASES, CASES]), measure_sm_blocks([CASES])
    assert (len(moved), len(blocks)) == (2 * COUNT, COUNT)
    assert (moved[COUNT]["set"], moved[COUNT]["dram_read"], moved[1]["crossed"]) == (
        "thirtythird", 1, 96
    )  # fmt: skip
    assert blocks[-1]["most"] == blocks[-1]["last"] == 2 * COUNT - 1
    assert kernels.measure_kernels(CASES)[1]["cycles"] == 3
    write_measured(measure_sm_blocks, [str(CASES), str(tmp_path / "out.csv")])
    assert len((tmp_path / "out.csv").read_text("utf-8").splitlines()) == COUNT + 1


def test_launches_that_the_profiler_did_not_see_are_an_error(launches: list[int]) -> None:
    launches[0] -= 2
    with pytest.raises(CountersError, match=f"saw {COUNT - 1} second launches of {COUNT} kernels"):
        measure_sm_blocks([CASES])
