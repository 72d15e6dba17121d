"""The commands that join recorded tables: what they count, and where they find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_check.timing.__main__ import main
from gpu_check.timing.errors import SETS, compare, ranges, set_rows


def test_the_share_in_the_range_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ranges()
    said = "1701 of 1876 launches from 90% to 125% of the estimate"
    assert f"all sets: {said}\nthe last two: 100 of 113 " in capsys.readouterr().out


def test_tables_are_found_by_their_names_and_joined_by_their_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of several sets gave a set the estimate of another one's kernel of that name."""
    monkeypatch.chdir(tmp_path)
    for name, stem in SETS.items():
        compare(f"{stem[:4]}_timed_newest_estimates.csv", f"{stem}.csv")
        shown = capsys.readouterr().out
        for row in set_rows(name, "newest"):
            assert f"{row['estimate'] or 0:,.0f} | " in shown or not row["estimate"]
    with pytest.raises(
        SystemExit, match=r"nosuch\.csv is not a table \(accepted: a file, or a name of"
    ):
        compare("nosuch.csv", "h100_timed_kernels.csv")


def test_a_benchmark_that_does_not_exist_is_refused_before_any_runs(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no benchmark is called nosuch \(accepted: .*hot_tiles"):
        main(str(tmp_path / "out"), "h100", "hot_tiles", "nosuch")
    assert not (tmp_path / "out").exists()
