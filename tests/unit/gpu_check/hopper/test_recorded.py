"""What validation.md says of recorded accesses to a neighbour, and the table that is printed."""

from __future__ import annotations

import pytest

from gpu_check.hopper.recorded import held_to_the_law, main


def test_asynchronous_stores_that_are_not_at_the_law_take_a_few_packets_more() -> None:
    rows = [row for row in held_to_the_law() if row.op.startswith("st.async")]
    told = [sum(getattr(row, name) for row in rows) for name in ("rows", "at_law", "below")]
    assert told == [1160, 1016, 20]
    assert [sum(row.more[packets] for row in rows) for packets in range(3)] == [26, 14, 4]
    assert sum(row.further for row in rows) == 80
    below = [(row.recording, row.op, row.below) for row in rows if row.below]
    assert below == [
        ("h100_neighbour_probes", "st.async.128", 19), ("h100_neighbour_probes", "st.async.64", 1)
    ]  # fmt: skip
    assert -0.9 < min(row.least for row in rows) < -0.8


def test_every_row_is_in_one_column() -> None:
    for row in held_to_the_law():
        assert row.rows == row.at_law + row.below + sum(row.more) + row.further, row


def test_the_table_has_a_line_for_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 20
    assert lines[2].split()[:5] == ["h100_neighbours", "ld.32", "160", "160", "0"]
