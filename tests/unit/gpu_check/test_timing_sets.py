"""Recorded sets of launches: what was measured, what was said before, and what pages show of it."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, median

import pytest

from gpu_check.timing.errors import (
    SETS,
    beside,
    compare,
    goal_rows,
    pairs,
    recorded,
    set_row,
    set_rows,
    sets,
    summary,
    top_stalls,
)
from simulator.timing.kernel_time import SPREAD

DATA = Path(__file__).parents[3] / "gpu_check/data"


def test_reasons_come_in_order() -> None:
    row = {"stall_wait": 2.0, "stall_barrier": 3.0, "stall_selected": 9.0, "cycles": 10.0}
    assert top_stalls(row) == ["barrier", "wait"]


def test_pairs_are_measured_against_the_slowest() -> None:
    rows = [
        {"case": "a", "pair": "p", "measured": 100.0, "estimate": 90.0, "speedup": 1.9},
        {"case": "b", "pair": "p", "measured": 200.0, "estimate": 180.0, "speedup": 2.1},
        {"case": "c", "pair": "", "measured": 1.0, "estimate": None, "speedup": None},
    ]
    (found,) = pairs(rows)
    assert (found["slow"], found["fast"]) == ("b", "a")
    assert (found["measured"], found["estimated"], found["removed"]) == (2.0, 2.0, 2.1)


def test_a_summary_counts_bounds_errors_and_reasons() -> None:
    row = {"stall": "wait", "measured_stalls": ["barrier", "wait"], "bound": 90.0}
    rows = [
        {**row, "measured": 100.0, "error": 0.1},
        {**row, "measured": 80.0, "error": -0.2, "stall": "branch"},
    ]
    said = " ".join(summary(rows))
    assert "1 of 2 kernels" in said
    assert "off by 15.0% on average, by 20.0% at most; 1 within 12 %" in said
    assert "first or second in 1 of 2" in said


def test_recorded_numbers_are_numbers() -> None:
    found = recorded(DATA / "h100_timed_kernels.csv")
    assert all(row["least"] <= row["cycles"] <= row["most"] for row in found.values())


def test_the_page_of_time_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    compare(str(DATA / "h100_timed_estimates.csv"), str(DATA / "h100_timed_kernels.csv"))
    page = (DATA.parents[1] / "docs/explanation/time-record.md").read_text("utf-8").splitlines()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == 40 + 12 + 4
    assert set(lines) <= set(page)


def test_every_recorded_bound_held() -> None:
    """What was written down before the launches were measured."""
    measured = recorded(DATA / "h100_timed_kernels.csv")
    model = recorded(DATA / "h100_timed_estimates.csv")
    assert set(measured) == set(model)
    for name, row in model.items():
        assert row["bound"] <= measured[name]["least"], name
        assert row["most"] >= 1
    for pair in pairs([beside(model[name], measured[name]) for name in model]):
        # A cap for any kernel, also for those that do not run at their bounds.
        assert pair["measured"] <= model[pair["slow"]]["most"] * 1.01, pair


def table(name: str) -> Path:
    """The table of a set: eight were measured on an H200."""
    thirties = ("thirtysixth", "thirtyseventh", "thirtyeighth", "thirtyninth")
    is_h200 = name.startswith(("sixteenth", *thirties, "fortieth", "fortyfirst", "fortysecond"))
    return DATA / f"{'h200' if is_h200 else 'h100'}_timed_{name}.csv"


@pytest.mark.parametrize(
    ("model", "chip", "many", "all_"),
    [
        ("estimates", "kernels", 39, 40),
        ("fresh_estimates", "fresh", 22, 28),
        ("third_estimates", "third", 32, 40),
        ("fourth_estimates", "fourth", 48, 50),
        ("fifth_estimates", "fifth", 40, 45),
        ("sixth_estimates", "sixth", 43, 51),
        ("seventh_estimates", "seventh", 31, 37),
        ("eighth_estimates", "eighth", 42, 49),
        ("ninth_estimates", "ninth", 29, 33),
        ("tenth_estimates", "tenth", 36, 39),
        ("eleventh_estimates", "eleventh", 40, 50),
        ("twelfth_estimates", "twelfth", 44, 48),
        ("thirteenth_estimates", "thirteenth", 31, 35),
        ("fourteenth_estimates", "fourteenth", 38, 40),
        ("fifteenth_estimates", "fifteenth", 35, 42),
        ("sixteenth_estimates", "sixteenth", 35, 40),
        ("seventeenth_a_estimates", "seventeenth_a", 90, 96),
        ("seventeenth_b_estimates", "seventeenth_b", 45, 49),
        ("seventeenth_c_estimates", "seventeenth_c", 57, 62),
        ("eighteenth_estimates", "eighteenth", 40, 44),
        ("nineteenth_estimates", "nineteenth", 46, 52),
        ("twentieth_estimates", "twentieth", 39, 50),
        ("twentyfirst_estimates", "twentyfirst", 47, 50),
        ("twentysecond_estimates", "twentysecond", 48, 50),
        ("twentythird_estimates", "twentythird", 52, 54),
        ("twentyfourth_estimates", "twentyfourth", 51, 53),
        ("twentyfifth_estimates", "twentyfifth", 47, 49),
        ("twentysixth_estimates", "twentysixth", 51, 54),
        ("twentyseventh_estimates", "twentyseventh", 52, 55),
        ("twentyeighth_estimates", "twentyeighth", 48, 55),
        ("twentyninth_estimates", "twentyninth", 45, 51),
        ("thirtieth_estimates", "thirtieth", 48, 51),
        ("thirtyfirst_estimates", "thirtyfirst", 53, 56),
        ("thirtysecond_estimates", "thirtysecond", 59, 59),
        ("thirtythird_estimates", "thirtythird", 60, 62),
        ("thirtyfourth_a_estimates", "thirtyfourth_a", 38, 44),
        ("thirtyfourth_b_estimates", "thirtyfourth_b", 38, 49),
        ("thirtyfifth_estimates", "thirtyfifth", 62, 64),
        ("thirtysixth_estimates", "thirtysixth", 50, 51),
        ("thirtyseventh_estimates", "thirtyseventh", 48, 53),
        ("thirtyeighth_estimates", "thirtyeighth", 53, 56),
        ("thirtyninth_estimates", "thirtyninth", 60, 64),
        ("fortieth_estimates", "fortieth", 62, 65),
        ("fortyfirst_estimates", "fortyfirst", 50, 53),
        ("fortysecond_estimates", "fortysecond", 51, 53),
    ],
)
def test_so_many_launches_lie_within_the_range(model: str, chip: str, many: int, all_: int) -> None:
    estimates, measured = (recorded(table(name)) for name in (model, chip))
    low, high = SPREAD
    inside = [
        low * row["estimate"] <= measured[name]["cycles"] <= high * row["estimate"]
        for name, row in estimates.items()
        if row["estimate"]
    ]
    assert (sum(inside), len(inside)) == (many, all_)


def test_the_second_set_holds_pairs_that_gain_nothing_and_bounds_below_all_of_it() -> None:
    model = recorded(DATA / "h100_timed_fresh_estimates.csv")
    measured = recorded(DATA / "h100_timed_fresh.csv")
    assert len(model) == len(measured) == 28
    rows = [beside(row, measured[name]) for name, row in model.items()]
    assert all(row["bound"] <= row["measured"] for row in rows)
    found = {row["pair"]: row for row in pairs(rows)}
    for name in ("planes", "roots"):
        assert 0.99 < found[name]["measured"] < 1.01
        assert found[name]["removed"] < 1.02
    assert all(row["removed"] / row["measured"] < 1.1 for row in found.values())


def test_the_page_shows_the_third_set_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    compare(str(DATA / "h100_timed_third_estimates.csv"), str(DATA / "h100_timed_third.csv"))
    page = (DATA.parents[1] / "docs/explanation/time-record.md").read_text("utf-8").splitlines()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == 40 + 5 + 4
    assert set(lines) <= set(page)


@pytest.mark.parametrize(
    ("name", "kernels", "ratios", "summed"),
    [
        ("fourth", 50, 10, "off by 7.0% on average, by 43.2% at most; 43 within 12 %"),
        ("fifth", 45, 9, "off by 10.1% on average, by 79.4% at most; 33 within 12 %"),
        ("sixth", 51, 9, "off by 9.4% on average, by 51.4% at most; 37 within 12 %"),
        ("seventh", 37, 5, "off by 9.5% on average, by 41.3% at most; 27 within 12 %"),
        ("eighth", 49, 7, "off by 8.2% on average, by 29.9% at most; 38 within 12 %"),
        ("ninth", 33, 9, "off by 7.7% on average, by 23.0% at most; 26 within 12 %"),
        ("tenth", 39, 12, "off by 7.5% on average, by 29.2% at most; 32 within 12 %"),
        ("eleventh", 50, 16, "off by 11.8% on average, by 51.8% at most; 38 within 12 %"),
        ("twelfth", 48, 17, "off by 5.1% on average, by 25.7% at most; 42 within 12 %"),
        ("thirteenth", 35, 11, "off by 44.8% on average, by 752.7% at most; 28 within 12 %"),
        ("fourteenth", 40, 15, "off by 6.8% on average, by 48.5% at most; 34 within 12 %"),
        ("fifteenth", 42, 16, "off by 9.3% on average, by 90.5% at most; 36 within 12 %"),
        ("sixteenth", 40, 14, "off by 8.2% on average, by 111.8% at most; 35 within 12 %"),
        ("seventeenth_a", 96, 25, "off by 4.9% on average, by 26.5% at most; 85 within 12 %"),
        ("seventeenth_b", 50, 0, "off by 6.9% on average, by 21.2% at most; 38 within 12 %"),
        ("eighteenth", 44, 14, "off by 6.9% on average, by 39.4% at most; 38 within 12 %"),
        ("nineteenth", 52, 8, "off by 7.1% on average, by 34.5% at most; 42 within 12 %"),
        ("twentieth", 50, 9, "off by 9.7% on average, by 77.0% at most; 37 within 12 %"),
        ("twentyfirst", 50, 12, "off by 7.1% on average, by 123.7% at most; 46 within 12 %"),
        ("twentysecond", 50, 16, "off by 5.7% on average, by 24.6% at most; 46 within 12 %"),
        ("twentythird", 54, 13, "off by 5.2% on average, by 85.8% at most; 51 within 12 %"),
        ("twentyfourth", 53, 20, "off by 4.5% on average, by 38.8% at most; 50 within 12 %"),
        ("twentyfifth", 49, 19, "off by 3.8% on average, by 20.3% at most; 45 within 12 %"),
        ("twentysixth", 54, 24, "off by 5.0% on average, by 28.7% at most; 48 within 12 %"),
        ("twentyseventh", 55, 22, "off by 5.6% on average, by 36.0% at most; 46 within 12 %"),
        ("twentyeighth", 55, 21, "off by 4.7% on average, by 23.4% at most; 48 within 12 %"),
        ("twentyninth", 51, 21, "off by 5.9% on average, by 29.7% at most; 43 within 12 %"),
        ("thirtieth", 51, 20, "off by 5.1% on average, by 17.7% at most; 46 within 12 %"),
        ("thirtyfirst", 56, 24, "off by 4.0% on average, by 14.6% at most; 53 within 12 %"),
        ("thirtysecond", 59, 27, "off by 3.6% on average, by 15.7% at most; 56 within 12 %"),
        ("thirtythird", 62, 31, "off by 4.3% on average, by 20.0% at most; 58 within 12 %"),
        ("thirtyfourth_a", 44, 5, "off by 7.8% on average, by 32.1% at most; 34 within 12 %"),
        ("thirtyfourth_b", 49, 16, "off by 10.3% on average, by 62.3% at most; 36 within 12 %"),
        ("thirtyfifth", 64, 30, "off by 4.4% on average, by 27.4% at most; 58 within 12 %"),
        ("thirtysixth", 51, 21, "off by 3.6% on average, by 12.9% at most; 50 within 12 %"),
        ("thirtyseventh", 53, 23, "off by 5.7% on average, by 63.0% at most; 45 within 12 %"),
        ("thirtyeighth", 56, 26, "off by 5.1% on average, by 22.0% at most; 52 within 12 %"),
        ("thirtyninth", 64, 19, "off by 5.5% on average, by 41.4% at most; 58 within 12 %"),
        ("fortieth", 65, 23, "off by 4.2% on average, by 25.4% at most; 59 within 12 %"),
        ("fortyfirst", 53, 15, "off by 6.1% on average, by 46.4% at most; 47 within 12 %"),
        ("fortysecond", 53, 16, "off by 5.3% on average, by 14.7% at most; 48 within 12 %"),
        ("seventeenth_c", 62, 24, "off by 5.7% on average, by 32.2% at most; 56 within 12 %"),
    ],
)
def test_the_page_shows_a_set_held_out(
    name: str, kernels: int, ratios: int, summed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(str(table(f"{name}_estimates")), str(table(name)))
    page = (DATA.parents[1] / "docs/explanation/time-record.md").read_text("utf-8").splitlines()
    said = capsys.readouterr().out
    lines = [line for line in said.splitlines() if line.startswith("|")]
    assert len(lines) == kernels + 2 + (ratios + 2 if ratios else 0)
    assert set(lines) <= set(page)
    assert summed in said
    assert f"Bounds below what was measured: {kernels} of {kernels} kernels." in said


@pytest.mark.parametrize(
    ("when", "chip", "said"),
    [
        ("later", "kernels", "off by 5.8% on average, by 15.2% at most"),
        ("later", "fresh", "off by 5.1% on average, by 20.1% at most"),
        ("later", "third", "off by 7.9% on average, by 81.7% at most"),
        ("later", "fourth", "off by 5.3% on average, by 18.2% at most"),
        ("newest", "kernels", "off by 2.3% on average, by 18.5% at most"),
        ("newest", "fresh", "off by 3.5% on average, by 7.9% at most"),
        ("newest", "third", "off by 4.6% on average, by 37.3% at most"),
        ("newest", "fourth", "off by 3.5% on average, by 14.0% at most"),
        ("newest", "fifth", "off by 5.7% on average, by 67.9% at most"),
        ("newest", "sixth", "off by 4.5% on average, by 27.6% at most"),
        ("newest", "seventh", "off by 3.0% on average, by 10.4% at most"),
        ("newest", "eighth", "off by 3.7% on average, by 15.7% at most"),
        ("newest", "ninth", "off by 3.8% on average, by 16.3% at most"),
        ("newest", "tenth", "off by 3.8% on average, by 12.3% at most"),
        ("newest", "eleventh", "off by 5.4% on average, by 34.5% at most"),
        ("newest", "twelfth", "off by 3.2% on average, by 19.3% at most"),
        ("newest", "thirteenth", "off by 4.9% on average, by 16.2% at most"),
        ("newest", "fourteenth", "off by 3.3% on average, by 18.8% at most"),
        ("newest", "fifteenth", "off by 3.8% on average, by 18.7% at most"),
        ("newest", "sixteenth", "off by 2.9% on average, by 11.0% at most"),
        ("newest", "seventeenth_a", "off by 3.7% on average, by 18.3% at most"),
        ("newest", "seventeenth_b", "off by 5.8% on average, by 18.3% at most"),
        ("newest", "seventeenth_c", "off by 3.7% on average, by 12.9% at most"),
        ("newest", "eighteenth", "off by 4.4% on average, by 12.5% at most"),
        ("newest", "nineteenth", "off by 4.5% on average, by 17.7% at most"),
        ("newest", "twentieth", "off by 5.2% on average, by 28.1% at most"),
        ("newest", "twentyfirst", "off by 4.4% on average, by 37.9% at most"),
        ("newest", "twentysecond", "off by 3.8% on average, by 24.3% at most"),
        ("newest", "twentythird", "off by 3.4% on average, by 13.7% at most"),
        ("newest", "twentyfourth", "off by 3.1% on average, by 11.0% at most"),
        ("newest", "twentyfifth", "off by 3.7% on average, by 20.2% at most"),
        ("newest", "twentysixth", "off by 2.8% on average, by 11.6% at most"),
        ("newest", "twentyseventh", "off by 3.6% on average, by 21.1% at most"),
        ("newest", "twentyeighth", "off by 3.0% on average, by 15.0% at most"),
        ("newest", "twentyninth", "off by 3.2% on average, by 10.0% at most"),
        ("newest", "thirtieth", "off by 4.9% on average, by 18.0% at most"),
        ("newest", "thirtyfirst", "off by 3.6% on average, by 19.2% at most"),
        ("newest", "thirtysecond", "off by 2.8% on average, by 12.4% at most"),
        ("newest", "thirtythird", "off by 3.9% on average, by 20.0% at most"),
        ("newest", "thirtyfourth_a", "off by 6.4% on average, by 37.5% at most"),
        ("newest", "thirtyfourth_b", "off by 6.9% on average, by 24.7% at most"),
        ("newest", "thirtyfifth", "off by 3.3% on average, by 20.0% at most"),
        ("newest", "thirtysixth", "off by 3.8% on average, by 10.7% at most"),
        ("newest", "thirtyseventh", "off by 4.0% on average, by 15.0% at most"),
        ("newest", "thirtyeighth", "off by 3.7% on average, by 12.5% at most"),
        ("newest", "thirtyninth", "off by 4.4% on average, by 17.1% at most"),
        ("newest", "fortieth", "off by 3.4% on average, by 18.9% at most"),
        ("newest", "fortyfirst", "off by 4.9% on average, by 17.9% at most"),
        ("newest", "fortysecond", "off by 4.8% on average, by 15.1% at most"),
    ],
)
def test_later_estimates_err_as_the_page_says(when: str, chip: str, said: str) -> None:
    estimates = table(chip).with_name(f"{table(chip).name[:4]}_timed_{when}_estimates.csv")
    name = next(name for name, stem in SETS.items() if stem == table(chip).stem)
    model, measured = recorded(estimates, name), recorded(table(chip))
    rows = [beside(model[name], row) for name, row in measured.items()]
    assert said in " ".join(summary(rows))
    assert all(row["bound"] <= measured[row["case"]]["least"] for row in rows)


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    """The lines of two tables."""
    sets, goals = capsys.readouterr().out.split("\n\n")[:2]
    return sets.splitlines(), goals.splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_of_a_set_counts_gains_signs_and_reasons() -> None:
    row = {"stall": "wait", "measured_stalls": ["barrier", "wait"], "bound": 90, "speedup": 1.0}
    made = [
        # slower than its partner by 20 %, and estimated as faster: a wrong sign
        ("plain", "one", 120.0, 100.0),
        ("padded", "one", 100.0, 110.0),
        # as fast as each other: no sign
        ("rows", "two", 100.4, 99.0),
        ("columns", "two", 100.0, 100.0),
        ("alone", "", 80.0, 120.0),
    ]
    rows = [
        {**row, "case": case, "pair": pair, "measured": cycles, "estimate": said,
         "error": said / cycles - 1}
        for case, pair, cycles, said in made
    ]  # fmt: skip
    rows[-1]["stall"] = "branch"
    assert set_row("some", rows) == {
        "set": "some", "launches": 5, "mean": "15.6%", "median": "10.0%",
        "largest error": "+50.0%: 'alone'", "bounds held": 4, "pairs within 10 %": "1 of 2",
        "wrong signs": 1, "stalls": "4 of 5",
    }  # fmt: skip


def test_goals_count_the_sets_that_meet_them() -> None:
    row = {"stall": "wait", "measured_stalls": ["wait"], "bound": 90, "speedup": 1.0, "case": "a"}
    good = [{**row, "pair": "", "measured": 100.0, "estimate": 108.0, "error": 0.08}]
    bad = [
        {**row, "pair": "p", "measured": 80.0, "estimate": 100.0, "error": 0.25, "stall": "drain"},
        {**row, "pair": "p", "measured": 100.0, "estimate": "", "error": None},
        {**row, "pair": "q", "measured": 100.0, "estimate": 100.0, "error": 0.0},
        {**row, "pair": "q", "measured": 100.0, "estimate": 89.0, "error": -0.11},
    ]
    found = goal_rows([good, bad], [*good, *bad])
    assert [list(each.values())[2:] for each in found] == [
        ["1 of 2", "4 of 5"], ["1 of 2", "4 of 5"], ["1 of 2", "11.0%"], ["1 of 2", "25.0%"],
        ["1 of 2", "0 of 1"], ["1 of 2", "4 of 5"],
    ]  # fmt: skip


def test_a_launch_without_a_number_counts_as_a_launch_alone() -> None:
    row = {"stall": "", "measured_stalls": [], "bound": 90, "pair": "one", "speedup": 1.0}
    rows = [
        {**row, "case": "locked", "measured": 100.0, "estimate": "", "error": None},
        {**row, "case": "free", "measured": 100.0, "estimate": 99.0, "error": -0.01},
    ]
    found = set_row("some", rows)
    assert (found["launches"], found["mean"], found["largest error"]) == (
        2,
        "1.0%",
        "-1.0%: 'free'",
    )
    assert (found["pairs within 10 %"], found["stalls"]) == ("0 of 0", "0 of 0")


@pytest.mark.parametrize("model", ["before", "newest"])
def test_the_page_of_time_shows_a_row_per_set(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sets(model)
    rows, goals = printed(capsys)
    page = (DATA.parents[1] / "docs/explanation/time.md").read_text("utf-8").splitlines()
    assert [cells(line)[0] for line in rows[2:]] == [*SETS, "all"]
    assert len(goals) == 6 + 2
    assert {*rows, *goals} <= set(page)


def test_the_page_of_time_names_what_the_newest_model_is_far_off() -> None:
    text = (DATA.parents[1] / "docs/explanation/time.md").read_text("utf-8")
    rows = sorted(
        (
            row
            for name in SETS
            for row in set_rows(name, "newest")
            if row["error"] is not None and abs(row["error"]) > 0.2
        ),
        key=lambda row: -abs(row["error"]),
    )
    places = [text.index(f"\n| {row['case']} | {row['error']:+.1%} |") for row in rows]
    assert places == sorted(places)


def test_readme_shows_the_last_sets(capsys: pytest.CaptureFixture[str]) -> None:
    sets("before", "4")
    rows, _ = printed(capsys)
    readme = (DATA.parents[1] / "README.md").read_text("utf-8")
    assert [cells(line)[0] for line in rows[2:]] == [*list(SETS)[-4:], "all"]
    assert set(rows) <= set(readme.splitlines())
    every = [row for name in SETS for row in set_rows(name)]
    errors = [abs(row["error"]) for row in every if row["error"] is not None]
    near = sum(error <= 0.12 for error in errors)
    said = " ".join(readme.split())
    assert f"{len(errors)} of all {len(every)} launches got a number." in said
    half = f"{100 * median(errors):.1f} %"
    assert f"Half of these are off by {half} or less, and {near} by 12 % or less." in said
    later = [row["error"] for name in SETS for row in set_rows(name, "newest")]
    newest = [abs(error) for error in later if error is not None]
    assert f"off by {100 * fmean(newest):.1f} % on average" in said


def test_readme_shows_two_launches_as_compare_prints_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    readme = (DATA.parents[1] / "README.md").read_text("utf-8")
    for name, table, estimates in (
        ("blur", "h100_timed_kernels.csv", "h100_timed_estimates.csv"),
        ("roots", "h100_timed_fresh.csv", "h100_timed_fresh_estimates.csv"),
    ):
        assert table in readme
        assert estimates in readme
        compare(str(DATA / estimates), str(DATA / table))
        found = [cells(line) for line in capsys.readouterr().out.splitlines() if "|" in line]
        (plain,) = (row for row in found if row[0] == f"{name} plain")
        (pair,) = (row for row in found if row[1] == f"{name} plain")
        gains = f"×{float(pair[5]):.2f} | ×{float(pair[3]):.2f}"
        assert f"| {plain[5]} | {plain[1]} | {gains} |" in readme


def test_a_model_may_tell_some_sets_alone(capsys: pytest.CaptureFixture[str]) -> None:
    sets("later")
    assert [cells(line)[0] for line in printed(capsys)[0][2:]] == [*list(SETS)[:4], "all"]
    with pytest.raises(SystemExit, match="'newer'"):
        sets("newer")
