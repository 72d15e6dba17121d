"""Limits, allowances, arrays and baselines as laws: whatever the figures are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.checking.allowing import Allowance, allowances
from simulator.checking.arrays import shared_arrays
from simulator.checking.baseline import RATCHETED, as_json, from_json, record
from simulator.checking.config import Entry
from simulator.checking.figures import LIMITS, Figures, figures_of, total
from simulator.checking.judging import judge
from simulator.checking.measured import LineCost, Measured, SourcePlace
from simulator.errors import CheckError

SOURCE = ("__shared__ float a[32], b[32];", "a[0] = 1;", "b[0] = 1;", "a[0] = b[0];", "c[0] = 1;")
NAMES = {2: {"a"}, 3: {"b"}, 4: {"a", "b"}, 5: {"a", "b"}}  # of line 5 nobody knows
FIGURES = st.builds(
    lambda least, conflicts, more: figures_of(least + conflicts, conflicts + more, conflicts),
    st.integers(1, 9), st.integers(0, 9), st.integers(0, 2),
)  # fmt: skip
LINES = st.lists(
    st.tuples(st.sampled_from([2, 3, 4, 5]), FIGURES), max_size=5, unique_by=lambda p: p[0]
)
LIMIT = st.sampled_from(["conflicts", "excessive", "wavefronts", "ways"])
MOST = st.integers(1, 20)


def measured(lines: list[tuple[int, Figures]], **limits: object) -> Measured:
    entry = Entry("kernel", "k", 1, {}, **limits)  # type: ignore[arg-type]
    costs = tuple(
        LineCost(SourcePlace("k.cu", line), SOURCE[line - 1], figures) for line, figures in lines
    )
    return Measured("k", entry, SourcePlace("k.cu"), costs, sources=(("k.cu", SOURCE),))


@given(LINES, LIMIT, MOST)
def test_a_limit_is_broken_exactly_where_it_is_exceeded(
    lines: list[tuple[int, Figures]], limit: str, most: int
) -> None:
    one = measured(lines, limits={limit: most})
    value = getattr(total(figures for _, figures in lines), limit)
    outcome = judge(one, None)
    assert outcome.status == ("broken" if value > most else "holds")
    by_line = {SourcePlace("k.cu", line): figures for line, figures in lines}
    for finding in outcome.findings:
        assert getattr(by_line[finding.place], limit) > 0


@given(LINES, LIMIT, MOST)
def test_a_limit_per_line_names_each_line_above_it(
    lines: list[tuple[int, Figures]], limit: str, most: int
) -> None:
    outcome = judge(measured(lines, per_line={limit: most}), None)
    above = {line for line, figures in lines if getattr(figures, limit) > most}
    assert {finding.place.line for finding in outcome.findings} == above


@given(LINES, LIMIT, MOST)
def test_a_line_with_an_allowance_is_held_to_that_alone(
    lines: list[tuple[int, Figures]], limit: str, most: int
) -> None:
    one = measured(lines, limits=dict.fromkeys(LIMITS, 1), per_line={"conflicts": 0})
    allowed = tuple(
        replace(line, allowance=Allowance(line.place.line if line.place else 0, "", limit, most))
        for line in one.lines
    )
    outcome = judge(replace(one, lines=allowed), None)
    above = {line for line, figures in lines if getattr(figures, limit) > most}
    assert {finding.place.line for finding in outcome.findings} == above
    assert {finding.scope for finding in outcome.findings} <= {"allowance"}


@given(LINES, st.sampled_from(RATCHETED), st.data())
def test_an_array_is_judged_as_any_true_share_would_be(
    lines: list[tuple[int, Figures]], limit: str, data: st.DataObject
) -> None:
    """Whatever of a line's cost the array really has, no wrong verdict is given."""
    values = {line: getattr(figures, limit) for line, figures in lines}
    alone = sum(value for line, value in values.items() if NAMES[line] == {"a"})
    shares = [value for line, value in values.items() if NAMES[line] > {"a"}]
    truth = alone + sum(data.draw(st.integers(0, value)) for value in shares)
    edges = {alone, alone + sum(shares), truth}
    near = sorted({max(edge + step, 0) for edge in edges for step in (-1, 0, 1)})
    most = data.draw(st.sampled_from(near))
    outcome = judge(measured(lines, arrays={"a": {limit: most}}), None)
    if alone > most:
        assert outcome.status == "broken"
        assert truth > most
    elif alone + sum(shares) <= most:
        assert outcome.status == "holds"
        assert truth <= most
    else:
        assert "lie between" in outcome.error


@given(LINES)
def test_what_was_recorded_holds_and_survives_json(lines: list[tuple[int, Figures]]) -> None:
    from pathlib import Path

    one = measured(lines)
    known = {"k": record(one)}
    assert from_json(Path("b"), as_json(known)) == known
    assert judge(one, known).status == "holds"
    assert not judge(one, known).better


@given(LINES.filter(bool), st.sampled_from(RATCHETED), st.integers(1, 5))
def test_whatever_gets_worse_is_found_at_its_line(
    lines: list[tuple[int, Figures]], limit: str, more: int
) -> None:
    (line, figures), *others = lines
    worse = replace(figures, **{limit: getattr(figures, limit) + more})
    now = judge(measured([(line, worse), *others]), {"k": record(measured(lines))})
    assert {(each.limit, each.place.line) for each in now.findings} == {(limit, line)}
    back = judge(measured(lines), {"k": record(measured([(line, worse), *others]))})
    assert back.status == "holds"
    assert back.better


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x;  // bankwise: allow 2-way, it runs once", {1: "2-way"}),
        ("x;  /* bankwise: allow 64 conflicts */", {1: "64 bank conflicts"}),
        ("# bankwise: allow any\nx = 1", {2: "any"}),
        ("// bankwise: allow 2 ways\n#pragma unroll\n\n// c\n*p = s[i];", {5: "2-way"}),
        ("// bankwise: allow any\n/* for\n   long */\n/* x */ x = s[i];", {4: "any"}),
        ("//BANKWISE:Allow 1.5-way.", {1: "1.5-way"}),
        ("x; // bankwise: allow 8 excessive", {1: "8 excessive wavefronts"}),
        ("x; // bankwise: allow 1 wavefront", {1: "1 wavefront"}),
        ("// bankwise is a tool; see bankwise: the page", {}),
    ],
)
def test_comments(text: str, found: dict[int, str]) -> None:
    said = allowances("k.cu", text.split("\n"))
    assert {line: each.said for line, each in said.items()} == found


@pytest.mark.parametrize(
    "text",
    ["// bankwise: alow 2-way", "// bankwise: allow", "// bankwise: allow 2-wayx",
     "// bankwise: allow all", "// bankwise: allow 3 conflictsx", "// bankwise: allow -1 conflicts",
     "// bankwise: allow 1.2.3-way"],
)  # fmt: skip
def test_a_comment_with_a_slip_is_refused(text: str) -> None:
    with pytest.raises(CheckError, match=r"k.cu:2: .*\(accepted: bankwise: allow 2-way"):
        allowances("k.cu", ["x", text])
    with pytest.raises(CheckError, match=r"k.cu:2: line 2 has an allowance already"):
        allowances("k.cu", ["// bankwise: allow any", "x; // bankwise: allow any"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__shared__ __align__(16) half As[2][BM*BK], Bs[4];", ["As", "Bs"]),
        ("extern __shared__ float4 s[];", ["s"]),
        ("__shared__ typename Storage<A<int, 2>, B>::Type storage;", ["storage"]),
        ("__shared__ cute::array<float, 4> a[2], b;", ["a", "b"]),
        ("__shared__ float a[f(3)][(1+2)*4], q = 3;", ["a", "q"]),
        ("__shared__ float a[max(2, 3)], b[4], c[B < C ? 1 : 2];", ["a", "b", "c"]),
        ("extern __shared__ __align__(4 * (1 + 2)) char raw[];", ["raw"]),
        ("float __shared__ u[4]; alignas(16) __shared__ float v[4];", ["u", "v"]),
        ("__shared__ float w[2]{}; __shared__ struct { int x; } t;", ["w"]),
        ("// __shared__ float no[3];\n__shared__ float yes[3];", ["yes"]),
        ('printf("__shared__ float no[3];");', []),
    ],
)
def test_declarations(text: str, names: list[str]) -> None:
    assert shared_arrays(text) == names


def test_ways_are_those_of_words_that_take_several_wavefronts() -> None:
    assert figures_of(64, 62, 31, passes=2).ways == 32
    assert figures_of(4, 0, 0).ways == 1
    assert figures_of(0, 0, 0).ways == 0


def test_a_line_is_told_its_own_part_of_the_whole() -> None:
    was = [(2, figures_of(2, 1, 1)), (3, figures_of(9, 5, 5))]
    now = [(2, figures_of(4, 3, 3)), (3, figures_of(9, 5, 5))]
    baseline = {"k": record(measured(was))}
    (finding, *_) = judge(measured(now), baseline).findings
    assert finding.place.line == 2
    assert finding.message.startswith(
        "3 bank conflicts here instead of 1; the kernel has 8 bank conflicts instead of the"
        " baseline's 6"
    )
    said = [each.message for each in judge(measured(now, limits={"conflicts": 0}), None).findings]
    assert [each.partition(" (")[0] for each in said] == [
        f"{part} bank conflicts here; the kernel has 8 bank conflicts" for part in (3, 5)
    ]
    one = measured([*now, (4, figures_of(2, 1, 1))], limits={"conflicts": 0})
    allowed = replace(one.lines[2], allowance=Allowance(4, "", None))
    (finding, *_) = judge(replace(one, lines=(*one.lines[:2], allowed)), None).findings
    assert "here; the kernel without its allowed lines has 8 bank conflicts" in finding.message
    (alone,) = judge(measured(now[:1], limits={"conflicts": 0}), None).findings
    assert alone.message.startswith("3 bank conflicts (accepted: 0)")
