"""How often an estimate tells which launch is the faster one."""

from __future__ import annotations

from math import isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.timing.signs import both_gains, main, sign_rows
from simulator.timing.gains import SLACK

CYCLES = st.integers(1000, 1_000_000)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), CYCLES, CYCLES), max_size=8))
def test_all_two_launches_of_a_pair_are_compared(launches: list[tuple[str, int, int]]) -> None:
    rows = [
        {"pair": pair, "estimate": estimate, "measured": float(measured)}
        for pair, estimate, measured in launches
    ]
    gains = both_gains(rows)
    sizes = [[pair for pair, _, _ in launches].count(name) for name in "ab"]
    assert len(gains) == sum(size * (size - 1) // 2 for size in sizes)
    assert all(estimated >= 1 for estimated, _ in gains)
    # Right where the measured cycles are those estimated, wrong where they are turned round.
    exact = both_gains([{**row, "measured": row["estimate"]} for row in rows])
    turned = both_gains([{**row, "measured": 1e9 / row["estimate"]} for row in rows])
    for (estimated, right), (_, wrong) in zip(exact, turned, strict=True):
        assert isclose(estimated, right)
        assert isclose(estimated, 1 / wrong)


@given(st.lists(st.tuples(st.floats(1.0001, 4), st.floats(0.25, 4))))
def test_every_gain_is_in_one_row(gains: list[tuple[float, float]]) -> None:
    *sizes, told, close = sign_rows(gains)
    assert sum(row["pairs"] for row in sizes) == len(gains)
    for row in (*sizes, told, close):
        assert row["pairs"] == row["faster"] + row["alike"] + row["slower"]
    assert told["pairs"] == sum(estimated > SLACK for estimated, _ in gains)
    right = [measured for estimated, measured in gains if estimated > SLACK]
    assert told["faster"] == sum(measured > 1.005 for measured in right)
    assert told["pairs"] + close["pairs"] == sum(estimated > 1.005 for estimated, _ in gains)


def test_what_is_said_of_the_slack_is_what_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    table = capsys.readouterr().out.splitlines()
    page = Path(__file__).parents[3] / "docs/explanation/time.md"
    assert set(table) <= set(page.read_text("utf-8").splitlines())
    told, close = table[-2:]
    assert [each.strip() for each in told.split("|")[2:-1]] == ["702", "694", "2", "6"]
    assert [each.strip() for each in close.split("|")[2:-1]] == ["79", "50", "14", "15"]
