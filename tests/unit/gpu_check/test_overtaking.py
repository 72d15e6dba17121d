"""What time.md says of barriers and of accesses side by side, in the recordings of an H100."""

import pytest

from gpu_check.recordings import packaged_table

WAYS, ALONE = 32, 23
"""Wavefronts of the first warp's accesses; cycles of a load that waits for nobody."""
ACCESS = 2 * WAYS
"""Cycles of one of them: it is served at half the rate."""


def recorded(second: str) -> dict[int, tuple[float, float]]:
    """By count of loads: when the second's load was issued and served, since the first began."""
    found = {}
    for row in packaged_table("h100_overtaking"):
        if (row["first"], row["second"]) == ("loads", second):
            begun = int(row["first_back"]) - ACCESS - ALONE + 2
            found[int(row["count"])] = int(row["issued"]) - begun, int(row["back"]) - ALONE - begun
    return found


def test_a_load_goes_when_three_of_the_others_are_left() -> None:
    for count, (issued, served) in recorded("load").items():
        assert served == pytest.approx(max(issued, (count - 4) * ACCESS), abs=24)


@pytest.mark.parametrize(
    "second",
    ["load behind a barrier", "load behind a fence", "load beside a barrier that opened",
     "load beside a fence"],
)  # fmt: skip
def test_behind_a_barrier_or_a_fence_a_load_waits_for_all_that_is_older(second: str) -> None:
    ((count, (_, served)),) = recorded(second).items()
    assert served == pytest.approx(count * ACCESS, abs=16)


@pytest.mark.parametrize(
    "second",
    ["load behind the warp's vote", "load behind an arrival",
     "load beside a barrier that is closed"],
)  # fmt: skip
def test_what_opens_no_barrier_stops_no_load(second: str) -> None:
    ((count, (_, served)),) = recorded(second).items()
    assert served < (count - 2) * ACCESS


def test_conflicts_of_two_blocks_that_meet_add_up() -> None:
    cycles = {
        int(row["blocks"]): float(row["cycles"]) for row in packaged_table("h100_barrier_loops")
        if (row["warps"], row["ways"], row["others"]) == ("2", "32", "1")
    }  # fmt: skip
    assert (round(cycles[1], -1), round(cycles[2], -1)) == (420, 650)
