"""The commands that join recorded tables: what they count, and where they find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_check.timing.__main__ import main
from gpu_check.timing.errors import (
    DATA,
    SETS,
    beside,
    compare,
    pairs,
    ranges,
    recorded,
    set_rows,
    summary,
)


def test_the_share_in_the_range_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ranges()
    said = "2075 of 2271 launches from 90% to 125% of the estimate"
    assert f"all sets: {said}\nthe last two: 101 of 106 " in capsys.readouterr().out


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


def test_every_table_of_timed_launches_is_a_set() -> None:
    tables = {path.stem.removesuffix("_estimates") for path in DATA.glob("*_timed*_estimates.csv")}
    others = {"h100_timed_gemms", "h100_timed_later", "h100_timed_newest", "h200_timed_newest",
              "h200_timed_again"}  # fmt: skip
    named = {stem.removesuffix("_kernels") for stem in SETS.values()}
    assert named == tables - others
    for name, stem in SETS.items():
        measured = recorded(DATA / f"{stem}.csv")
        assert [row["case"] for row in set_rows(name)] == list(measured), name
        assert [row["case"] for row in set_rows(name, "newest")] == list(measured), name


@pytest.mark.parametrize(
    ("model", "said"),
    [("again", "off by 4.8% on average, by 24.2% at most; 248 within 12 %"),
     ("newest", "off by 4.1% on average, by 23.6% at most; 260 within 12 %")],
)  # fmt: skip
def test_launches_err_as_much_on_an_h200_as_the_page_says(model: str, said: str) -> None:
    known = recorded("h200_timed_again.csv")
    told = recorded(f"h200_timed_{model}_estimates.csv")
    rows = [beside(told[name], row) for name, row in known.items()]
    assert len(rows) == 275
    assert all(row["bound"] <= row["measured"] for row in rows)
    assert said in " ".join(summary(rows))


def test_a_benchmark_that_does_not_exist_is_refused_before_any_runs(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no benchmark is called nosuch \(accepted: .*hot_tiles"):
        main(str(tmp_path / "out"), "h100", "hot_tiles", "nosuch")
    assert not (tmp_path / "out").exists()


def test_bounds_of_the_third_set_lie_below_all_of_it_and_its_pairs_gain_as_was_said() -> None:
    model = recorded(DATA / "h100_timed_third_estimates.csv")
    measured = recorded(DATA / "h100_timed_third.csv")
    assert len(model) == len(measured) == 40
    rows = [beside(row, measured[name]) for name, row in model.items()]
    assert all(row["bound"] <= measured[row["case"]]["least"] for row in rows)
    found = pairs(rows)
    assert len(found) == 5
    assert all(0.9 < row["estimated"] / row["measured"] < 1.1 for row in found)
    assert all(0.9 < row["removed"] / row["measured"] < 1.1 for row in found)
