"""Where the time goes, on a page: what it says is what the estimate says, and links to lines."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from importlib.resources import files

import pytest

from simulator.law.chips import Chip
from simulator.timing.kernel_time import KernelTime
from simulator.timing.launch_time import time_of
from simulator.timing.state import STALLS
from tests.pages import Page
from tests.unit.timing.works import Line, work
from viz import markdown, report
from viz.page.time_view import time_markup, times_markup

CONFLICTS = [Line("LDS", "R0,[R2]", write=0, cycles=32, floor=1), Line("FADD", "R1,R0,R0", waits=1)]


def slow(chip: str = "H100") -> KernelTime:
    launch = work(CONFLICTS, warps=8, times=20, blocks=264, resident=2)
    return time_of(replace(launch, capability=Chip.of(chip).capability), chip)


def widths(html: str, kind: str) -> list[float]:
    return [float(each) for each in re.findall(rf'class="{kind}" style="width:([\d.]+)%', html)]


def test_the_bars_are_as_long_as_the_runs_take() -> None:
    time = slow()
    html = time_markup(time, ["k.cu"], {"k.cu": ("x = s[i];", "y += <x>;", "")})
    before, after = re.findall(r'<div class="run">.*?</div>', html)
    assert time.cycles is not None
    assert time.without_conflicts.cycles is not None
    for run, part in ((before, 1.0), (after, time.without_conflicts.cycles / time.cycles)):
        shares = [float(each) for each in re.findall(r"width:([\d.]+)%", run)]
        assert sum(shares) == pytest.approx(100 * part, abs=2)
    assert f"{time.cycles:,} cycles" in before
    assert f"×{time.speedup_without_conflicts:.2f}" in after
    assert unescape(Page(html).texts[0]) == "Where the time goes"
    assert "y += &lt;x&gt;;" in html


def test_a_part_of_a_bar_tells_its_share_of_its_own_run() -> None:
    time = slow()
    runs = re.findall(r'<div class="run">.*?</div>', time_markup(time, [], {}))
    for run, each in zip(runs, (time, time.without_conflicts), strict=True):
        whole = sum(each.reasons.values())
        told = dict(re.findall(r'<i class="stall (\w+)" [^>]*title="[^:]*: ([^"]*)"', run))
        assert each.cycles is not None
        assert each.active_cycles is not None
        assert told.pop("launch") == f"{each.cycles - each.active_cycles:,.0f} cycles"
        assert len(told) > 2
        for reason, said in told.items():
            assert said == f"{each.reasons[reason] / whole:.1%} of the cycles of warps"


def test_every_reason_has_a_colour_of_its_own() -> None:
    css = (files("viz.page") / "time.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"\.stall\.(\w+) { background: (light-dark\([^)]*\))", css))
    assert colors.keys() >= set(STALLS)
    assert len(set(colors.values())) == len(colors)


def test_a_pipe_is_as_busy_as_its_bound_says_before_and_after() -> None:
    time = slow()
    html = time_markup(time, [], {})
    assert widths(html, "before")[0] == pytest.approx(100 * time.pipes[time.limiter], abs=0.1)
    then = time.without_conflicts.pipes["shared"]
    assert f"{time.pipes['shared']:.0%} → {then:.0%}" in html
    assert html.count("<li") == html.count("</li>") >= 4


def test_lines_link_to_the_code_where_the_page_has_it() -> None:
    time = slow()
    linked = time_markup(time, ["other.cu", "k.cu"], {})
    assert re.findall(r'<button type="button" class="jump" data-line="([^"]*)"', linked)[0] == "1:2"
    alone = time_markup(time, [], {})
    assert "<button" not in alone
    assert "short scoreboard" in alone


def test_code_without_lines_is_shown_by_instruction() -> None:
    made = work(CONFLICTS, warps=8, times=20)
    bare = replace(
        made, instructions=tuple(replace(each, file="", line=0) for each in made.instructions)
    )
    html = time_markup(time_of(bare, "H100"), [], {})
    assert "<span>0010 FADD</span>" in html
    assert "no line" not in html


def test_without_conflicts_there_is_one_bar_and_without_cycles_the_bound_and_why() -> None:
    free = time_of(work([Line("LDS", "R0,[R2]", write=0, cycles=1, floor=1)]), "H100")
    html = time_markup(free, [], {})
    assert html.count('class="run"') == 1
    assert "without conflicts" not in html
    unknown = time_markup(slow("A100"), [], {})
    assert 'class="run"' not in unknown
    assert "latencies and queues of A100 were not measured" in unknown
    assert 'class="pipes"' in unknown
    assert 'class="pipes"' not in time_markup(slow("B200"), [], {})


def test_times_of_several_kernels_have_one_scale() -> None:
    long, short = slow(), slow().without_conflicts
    html = times_markup([("a <b>", long), ("fast", short), ("none", slow("A100"))])
    first, second, third = re.findall(r'<div class="run">.*?</div>', html)
    assert "a &lt;b&gt;" in first
    for run, time in ((first, long), (second, short)):
        assert time.cycles is not None
        assert long.cycles is not None
        shares = [float(each) for each in re.findall(r"width:([\d.]+)%", run)]
        assert sum(shares) == pytest.approx(100 * time.cycles / long.cycles, abs=2)
    assert "latencies and queues of A100 were not measured" in third
    assert times_markup([("none", slow("A100"))]) == times_markup([]) == ""


def test_a_time_is_a_result_of_a_report() -> None:
    time = slow()
    text = Page(report(time)).texts
    gain = f"×{time.speedup_without_conflicts:.2f}"
    assert any(gain in each for each in text)
    assert gain in markdown(time)
    assert "are not known" in markdown(slow("A100"))
