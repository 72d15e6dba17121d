"""Copies from anywhere and loops of atomics in the page of `bankwise explore`."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check import packaged
from simulator import count, explain
from simulator.law.accesses import ALL_LANES, NO_SOURCE
from simulator.law.copies import count_copy
from simulator.law.instructions import INSTRUCTIONS, instruction
from simulator.law.loops import LOOPS, count_loop
from tests.browser.test_explore_law import FIGURES, run


def copied(name: str) -> dict[str, dict[str, Any]]:
    """Recorded copies with their sources, by instruction."""
    with as_file(files("gpu_check.data").joinpath(f"{name}.npz")) as path:
        data = dict(np.load(path, allow_pickle=False))
    return {
        op: {key: column[data["op"] == op] for key, column in data.items() if column.ndim}
        for op in np.unique(data["op"]).tolist()
    }


TURNS = """(op, addresses, sources, masks) => addresses.map((each, k) => Law.countAccess(
  Law.INSTRUCTIONS.get(op), each, masks[k], "silicon", sources && sources[k]))"""


@pytest.mark.parametrize(
    ("name", "rows"),
    [("h100_copies", 720), ("h200_copies", 720), ("h100_copies_again", 720),
     ("h100_copy_probes", 3844)],
)  # fmt: skip
def test_every_recorded_copy_is_equal(law: Any, name: str, rows: int) -> None:
    compared = 0
    for op, each in copied(name).items():
        addresses, sources, masks = (each[key].tolist() for key in ("address", "source", "mask"))
        found = run(law, TURNS, instruction(op).name, addresses, sources, masks)
        clocks = np.array([one["cycles"] for one in found])
        assert np.abs(each["cycles"] - clocks).max() < 0.4, op  # as of Python's law
        for key in ("wavefronts", "bank_conflicts"):
            if key in each:  # not all were counted
                assert [one[key] for one in found] == each[key].tolist(), op
        compared += len(found)
    assert compared == rows


@pytest.mark.parametrize("name", ["h200_loops", "h100_loops"])
def test_every_recorded_loop_is_equal(law: Any, name: Any) -> None:
    compared = 0
    for each in packaged(name).measurements:
        known = LOOPS[each.op.lower()]
        found = run(law, TURNS, known.name, each.addresses.tolist(), None, each.masks.tolist())
        assert [one["wavefronts"] for one in found] == each.wavefronts.tolist(), each.op
        assert [one["bank_conflicts"] for one in found] == each.bank_conflicts.tolist(), each.op
        compared += len(found)
    assert compared == 720


few = st.integers(0, 40) | st.integers(0, 5000)
COPY = [known for known in INSTRUCTIONS.values() if "LDGSTS" in known.name and known.phases]


@st.composite
def turned(draw: st.DrawFn) -> tuple[str, list[int], list[int] | None, int, Any]:
    """A copy with its sources, or a loop; and what Python's law says of it."""
    known = draw(st.sampled_from([*COPY, *LOOPS.values()]))
    lanes = st.lists(few.map(lambda n: n * known.width), min_size=32, max_size=32)
    addresses, mask = draw(lanes), draw(st.integers(0, ALL_LANES) | st.just(ALL_LANES))
    if known in COPY:
        zeros = st.just(NO_SOURCE)
        sources = draw(
            st.lists(zeros | few.map(lambda n: n * known.width), min_size=32, max_size=32)
        )
        return known.name, addresses, sources, mask, count_copy(known, addresses, sources, mask)
    return known.name, addresses, None, mask, count_loop(known, addresses, mask)


@given(cases=st.lists(turned(), min_size=1, max_size=8))
def test_turns_are_those_of_copies_and_loops(law: Any, cases: list[Any]) -> None:
    found = run(
        law,
        """(cases) => cases.map(([op, addresses, sources, mask]) => Law.countAccess(
             Law.INSTRUCTIONS.get(op), addresses, mask, "silicon", sources))""",
        [case[:4] for case in cases],
    )
    for case, counted in zip(cases, found, strict=True):
        assert tuple(counted[name] for name in FIGURES) == tuple(case[4]), case[0]


def test_a_loop_of_atomics_says_what_the_command_says(explored: Any) -> None:
    text = "float s[32]; s[lane / 4]"
    page = explored(text, op="add.f32")
    said = explain("add.f32", text)
    assert page.inner_text("#verdict h2") == said.verdict
    assert page.locator("#figures dd").all_inner_texts() == [
        str(each)
        for each in (len(said.phases), said.wavefronts, said.ideal, said.excessive, 0, said.cycles)
    ]
    assert "not searched for loops" in page.inner_text("#cures")


def test_a_copy_says_from_where_it_reads(explored: Any) -> None:
    page = explored("float s[32]; s[lane]", op="LDGSTS.E", source="lane * 128")
    assert page.is_visible("#source")
    lanes = range(32)
    counts = count("LDGSTS.E", [4 * lane for lane in lanes], sources=[128 * lane for lane in lanes])
    figures = page.locator("#figures dd").all_inner_texts()
    assert (figures[1], figures[5]) == (str(int(counts.wavefronts)), str(int(counts.cycles)))
    assert "where they read from" in page.inner_text("#said")
    page.hover("#lanes button:nth-child(32)")
    assert "Lane 31 is thread" in page.inner_text("#tell")
    page.fill("#source", "lane * 3")
    assert "multiples of 4, from 0" in page.inner_text("#said")
    page.fill("#source", "")
    assert page.inner_text("#verdict h2").startswith("Conflict-free")
    page.select_option("#op", "LDS")
    assert not page.is_visible("#source")
