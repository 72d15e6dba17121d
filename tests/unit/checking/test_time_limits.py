"""Limits on time: at their edges, against a baseline, and where the time is not known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.checking.baseline import Recorded, as_json, from_json, record
from simulator.checking.config import Entry, read_config
from simulator.checking.figures import TIME_LIMITS, TimeFigures, figures_of
from simulator.checking.judging import judge
from simulator.checking.markdown import as_markdown
from simulator.checking.measured import LineCost, Measured, SourcePlace
from simulator.checking.report import CheckReport
from simulator.checking.sarif import as_sarif
from simulator.errors import CheckError
from simulator.testing import assert_kernel_conflict_free
from simulator.timing.gains import SLACK
from tests.sass_kernels import HERE, needs_tools
from tests.unit.checking.conftest import FREE, Check, Write

TIMES = st.builds(TimeFigures, st.just("H100"), st.integers(1, 10**9), st.floats(1, 40))
CONFLICT = LineCost(SourcePlace("k.cu", 7), "x = s[i];", figures_of(32, 31, 31))
LAUNCH = f"""
[[kernel]]
file = "{HERE / "cubins" / "transpose.cubin"}"
kernel = "transpose_naive"
grid = "4x4"
block = "32x8"
args = ["random:f32[128,128]", "zeros:f32[128,128]", "i32=128"]
chip = "H100"
"""


def measured(time: TimeFigures | None, **limits: float) -> Measured:
    entry = Entry("kernel", "k", 1, {}, limits or {"conflicts": 99})
    return Measured("k", entry, SourcePlace("k.cu"), (CONFLICT,), time=time)


@given(TIMES, st.integers(1, 10**9))
def test_cycles_are_held_to_their_limit(time: TimeFigures, most: int) -> None:
    outcome = judge(measured(time, cycles=most), None)
    assert outcome.status == ("broken" if time.cycles > most else "holds")
    for finding in outcome.findings:
        assert (
            finding.message == f"about {time.cycles:,} cycles on H100 (accepted: at most {most:,})"
        )
        assert (finding.limit, finding.place.line) == ("cycles", 1)


@given(TIMES, st.floats(1, 40))
def test_what_conflicts_cost_is_told_at_the_line_that_has_most(
    time: TimeFigures, most: float
) -> None:
    outcome = judge(measured(time, speedup_without_conflicts=most), None)
    is_broken = time.speedup_without_conflicts > most
    assert outcome.status == ("broken" if is_broken else "holds")
    assert [each.place.line for each in outcome.findings] == [7] * is_broken


@given(TIMES, st.floats(0.5, 2))
def test_a_baseline_allows_a_little_more_cycles(time: TimeFigures, times: float) -> None:
    now = replace(time, cycles=max(1, round(time.cycles * times)))
    before = measured(time)
    known = {"k": record(before)}
    assert from_json(Path("b"), json.loads(json.dumps(as_json(known)))) == known
    outcome = judge(measured(now), known)
    slower = now.cycles / time.cycles > SLACK
    assert [each.limit for each in outcome.findings] == ["cycles"] * slower
    assert outcome.better == (now.cycles / time.cycles < 1 / SLACK)
    assert judge(before, known).status == "holds"


def test_a_baseline_of_another_chip_or_without_a_time_is_said() -> None:
    time = TimeFigures("H100", 100)
    (other,) = judge(measured(time), {"k": record(measured(replace(time, chip="H200")))}).findings
    assert "the baseline is of H200" in other.message
    bare = {"k": Recorded(measured(None).held)}
    (missing,) = judge(measured(time), bare).findings
    assert "its time is not in the baseline" in missing.message
    assert judge(measured(time, cycles=100), bare).status == "holds"  # it has a limit of its own
    assert judge(measured(None), {"k": record(measured(time))}).status == "holds"


@pytest.mark.parametrize(
    ("time", "says"),
    [(3, "key time: 3"), ({"chip": "H100", "cycles": 0}, "key time.cycles: 0"),
     ({"chip": "H100", "cycles": 4}, "key time.speedup_without_conflicts: None"),
     ({"cycles": 4}, "an object with chip")],
)  # fmt: skip
def test_a_damaged_baseline_is_refused(time: object, says: str) -> None:
    entry = {"conflicts": 0, "excessive": 0, "wavefronts": 0, "ways": 0, "time": time}
    with pytest.raises(CheckError, match="entry 'k'") as refused:
        from_json(Path("b"), {"version": 1, "entries": {"k": entry}})
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cycles = 0", "key cycles: 0 (accepted: an integer of 1 or more)"),
        ("cycles = 1.5", "key cycles: 1.5"),
        ("speedup_without_conflicts = 0.5", "a number of 1 or more"),
        ("time = 1", "key time: 1 (accepted: true or false)"),
        ("microseconds = 3", "unknown key 'microseconds': a limit on time is cycles"),
        ("time_us = 3", "unknown key 'time_us': a limit on time is cycles"),
        ("[kernel.per_line]\ncycles = 3", "unknown key 'cycles'"),
        ("[kernel.per_line]\nmicroseconds = 3", "unknown key 'microseconds': accepted"),
        ("[kernel.arrays.tile]\ncycles = 3", "unknown key 'cycles'"),
    ],
)
def test_what_is_no_limit_on_time_is_refused(text: str, says: str, write: Write) -> None:
    with pytest.raises(CheckError) as refused:
        read_config(write(f"[[kernel]]\nfile = 'k.cu'\n{text}\n"))
    assert says in str(refused.value)


def test_an_access_has_no_time(write: Write) -> None:
    with pytest.raises(CheckError, match="unknown key 'cycles'"):
        read_config(write(f"[[access]]\n{FREE}\ncycles = 3\n"))
    file = read_config(
        write(f"[limits]\ncycles = 3\nconflicts = 0\n[[access]]\n{FREE}\n[[kernel]]\nfile='k.cu'\n")
    )
    assert [set(entry.limits) for entry in file.entries] == [
        {"conflicts"}, {"conflicts", "cycles"},
    ]  # fmt: skip
    assert [entry.is_timed for entry in file.entries] == [False, True]


@needs_tools
def test_a_kernel_is_timed_where_its_entry_asks(checked: Check, write: Write) -> None:
    report = checked(f"{LAUNCH}cycles = 100\nspeedup_without_conflicts = 1.05\n")
    (outcome,) = report.outcomes
    assert [each.limit for each in outcome.findings] == ["cycles", "speedup_without_conflicts"]
    assert outcome.findings[1].place.name == "transpose.cu:16"
    assert "without conflicts (accepted: at most ×1.05)" in outcome.findings[1].message
    row = report.rows()[0]
    assert row["cycles"] > 100
    assert row["speedup_without_conflicts"] > 1.05
    assert "gain: how much faster" in str(report)
    assert "speedup without conflicts" in as_markdown(report, Path("/"))
    assert {each["ruleId"] for each in json.loads(as_sarif(report, Path("/")))["runs"][0][
        "results"]} == {f"bankwise/{name}" for name in TIME_LIMITS}  # fmt: skip


@needs_tools
def test_a_limit_on_cycles_is_told_what_makes_the_launch_faster(write: Write) -> None:
    """Nothing was tried for it."""
    from simulator.checking import check

    config = write(f"{LAUNCH}cycles = 100\n")
    for fix, cure in (
        (False, ""),
        (True, r"\. Write tile\[.*Predicted on H100: .* cycles, ×1\.\d+\."),
    ):
        (finding,) = check(config, fix=fix).outcomes[0].findings
        assert re.fullmatch(
            rf"about [\d,]+ cycles on H100 \(.*: at most 100\){cure}", finding.message
        )


@needs_tools
def test_a_time_that_is_not_known_keeps_no_limit(
    checked: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulator.timing.launch_time.machine_of", lambda _: None)
    (outcome,) = checked(f"{LAUNCH}cycles = 100\n").outcomes
    assert outcome.status == "error"
    assert outcome.error == (
        "Its cycles are not known: latencies and queues of H100 were not measured"
        " (of H100 and H200 they were)."
        " (accepted: no limit on its time)"
    )


@needs_tools
def test_a_baseline_records_the_time_that_an_entry_asks_for(write: Write) -> None:
    from simulator.checking import check

    config = write(f'baseline = "b.json"\n{LAUNCH}time = true\n')
    assert check(config, update=True).code == 0
    baseline = config.parent / "b.json"
    data = json.loads(baseline.read_text())
    (entry,) = data["entries"].values()
    assert entry["time"]["chip"] == "H100"
    entry["time"]["cycles"] //= 2
    baseline.write_text(json.dumps(data))
    (finding,) = check(config).outcomes[0].findings
    assert (finding.scope, finding.limit) == ("baseline", "cycles")


def test_a_report_without_times_does_not_show_their_columns() -> None:
    one = judge(measured(None), None)
    report = CheckReport(Path("bankwise.toml"), (one,))
    assert "without conflicts" not in str(report)
    assert "without conflicts" not in as_markdown(report, Path("/"))
    assert report.rows()[0]["cycles"] is None


@needs_tools
def test_a_test_of_ones_own_may_limit_the_time() -> None:
    launch = {
        "kernel": "transpose_padded", "grid": (4, 4), "block": (32, 8),
        "args": ["random:f32[128,128]", "zeros:f32[128,128]", "i32=128"],
    }  # fmt: skip
    cubin = HERE / "cubins" / "transpose.cubin"
    assert_kernel_conflict_free(cubin, limits={"speedup_without_conflicts": 1}, **launch)
    with pytest.raises(
        AssertionError, match=r"about [\d,]+ cycles on H100 \(accepted: at most 100\)"
    ):
        assert_kernel_conflict_free(cubin, limits={"cycles": 100}, **launch)
