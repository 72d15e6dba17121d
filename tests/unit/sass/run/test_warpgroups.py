"""What the warps of a warpgroup execute alike, and what some leave out."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from simulator.sass.run.warpgroups import WARPS, Uneven, Warpgroups, left_out

KINDS = {0: None, 1: None, 2: 0, 3: 0, 4: 1}
"""Two fences, two waits for all, one that leaves a group in flight."""


def noted(since: list[list[int]], group: int = 0) -> Warpgroups:
    groups = Warpgroups()
    for warp, numbers in enumerate(since):
        for number in numbers:
            groups.note(WARPS * group + warp, number)
    return groups


def met(since: list[list[int]], group: int = 0) -> Uneven | None:
    return noted(since, group).meet(group, KINDS.__getitem__)


ALIKE = st.lists(st.sampled_from(sorted(KINDS)), max_size=6)


@given(ALIKE, st.integers(0, 3))
def test_four_warps_alike_are_even(numbers: list[int], group: int) -> None:
    assert met([numbers] * WARPS, group) is None


@given(st.lists(ALIKE, min_size=WARPS, max_size=WARPS))
def test_what_is_found_is_what_the_counts_say(since: list[list[int]]) -> None:
    counts = [Counter(each) for each in since]
    kinds = [Counter(KINDS[number] for number in each) for each in since]
    found = met(since)
    assert (found is None) == all(each == counts[0] for each in counts)
    if found is None:
        return
    times = [each[found.number] for each in counts]
    assert found.more == tuple(warp for warp in range(WARPS) if times[warp] == max(times))
    assert found.fewer == tuple(warp for warp in range(WARPS) if times[warp] < max(times))
    assert found.fewer
    # Something is said to be left out exactly where some kind was.
    assert (found.other is None) == any(each != kinds[0] for each in kinds)
    if found.other is not None:
        assert KINDS[found.other] == KINDS[found.number]
        assert found.other != found.number


def test_what_was_met_is_forgotten() -> None:
    groups = noted([[2], [2], [2], []])
    assert groups.groups() == [0]
    assert groups.meet(0, KINDS.__getitem__)
    assert groups.groups() == []
    assert groups.meet(0, KINDS.__getitem__) is None


def test_groups_are_apart() -> None:
    groups = noted([[2]] * WARPS)
    for warp in range(WARPS, 2 * WARPS):
        groups.note(warp, 3)
    assert groups.groups() == [0, 1]
    assert groups.meet(0, KINDS.__getitem__) is None
    assert groups.meet(1, KINDS.__getitem__) is None


def test_the_error_names_who_left_out_what() -> None:
    uneven = met([[0, 2], [0, 2], [0, 2], [0]])
    assert uneven == Uneven(2, (0, 1, 2), (3,), None)
    assert uneven is not None
    said = str(left_out(uneven, waits=True))
    assert said.startswith("warps 0, 1, 2 execute wgmma.wait_group more often than warp 3 of")
    assert "hangs" not in said
    other = Uneven(0, (3,), (0, 1, 2), None)
    assert str(left_out(other, waits=False)).startswith("warp 3 executes wgmma.fence more often")
    assert "hangs" in str(left_out(other, waits=False))
