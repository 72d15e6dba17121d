"""Figures of arbitrary accesses: they never fail, and every number drawn is the result's."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from layouts import LANE_ORDERS, LayoutError
from simulator import WarpAccess, count, explain, instruction, simulate
from simulator.law.instructions import RULES
from tests.examples import examples
from tests.strategies import accesses
from viz import bank_heatmap, compare, sweep_heatmap, timeline, warp_map, word_map

rules = st.sampled_from(RULES)


def lanes_of(text: str) -> set[int]:
    """Lanes of "lanes 0-3, 8"."""
    runs = text.removeprefix("lanes ").removeprefix("lane ").split(", ")
    ends = [tuple(map(int, run.split("-"))) for run in runs]
    return {lane for end in ends for lane in range(end[0], end[-1] + 1)}


def cells(trace: Any) -> list[tuple[int, int]]:
    """(row, column) of a heat map's cells that have a value."""
    return [
        (row, column)
        for row, line in enumerate(trace.z)
        for column, value in enumerate(line)
        if value is not None
    ]


def words_of(access: WarpAccess) -> dict[int, set[int]]:
    """lane → the words that it touches, from its address and the instruction's width alone."""
    known = instruction(access.op)
    return {
        lane: set(
            range(access.addresses[lane] // 4, (access.addresses[lane] + known.width - 1) // 4 + 1)
        )
        for lane in range(known.lanes)
        if access.mask >> lane & 1
    }


@settings(max_examples=examples(80))
@given(accesses(), rules)
def test_a_bank_heatmap_draws_every_lane_in_every_bank_that_serves_it(
    access: WarpAccess, rule: str
) -> None:
    figure = bank_heatmap(explain(*access, rule=rule))
    counted = count(*access, rule=rule)
    heat = figure.data[0]
    drawn = cells(heat)
    assert len({row for row, _ in drawn}) == counted.wavefronts
    assert len(figure.layout.yaxis.tickvals) == counted.wavefronts
    assert str(int(counted.wavefronts)) + " wavefront" in figure.layout.title.text
    seen: dict[int, set[int]] = {}
    for row, bank in drawn:
        lanes, address, word, byte, phase, wavefront = heat.customdata[row][bank]
        assert (word % 32, byte) == (bank, 4 * word)
        assert heat.z[row][bank] == min(lanes_of(lanes))
        label = figure.layout.yaxis.ticktext[list(figure.layout.yaxis.tickvals).index(row)]
        assert label == (f"{wavefront}" if wavefront else f"phase {phase} · 0")
        for lane in lanes_of(lanes):
            assert str(access.addresses[lane]) in address
            seen.setdefault(lane, set()).add(word)
    if instruction(access.op).phases:
        assert seen == words_of(access)
    else:
        assert not seen
    json.loads(figure.to_json())


@settings(max_examples=examples(40))
@given(accesses(), rules)
def test_colouring_by_word_changes_the_values_alone(access: WarpAccess, rule: str) -> None:
    explanation = explain(*access, rule=rule)
    by_lane, by_word = (bank_heatmap(explanation, color=color) for color in ("lane", "word"))
    heat = by_word.data[0]
    assert heat.customdata == by_lane.data[0].customdata
    assert all(heat.z[row][bank] == heat.customdata[row][bank][2] for row, bank in cells(heat))


@settings(max_examples=examples(60))
@given(accesses(), rules)
def test_a_word_map_has_a_cell_for_each_word(access: WarpAccess, rule: str) -> None:
    explanation = explain(*access, rule=rule)
    figure = word_map(explanation)
    (heat,) = (trace for trace in figure.data if trace.type == "heatmap")
    layers = [int(text) for text in figure.layout.yaxis.ticktext]
    assert all(before < after for before, after in pairwise(layers))
    served = explanation.to_dict()["served"]
    drawn = {32 * layers[row] + bank: heat.customdata[row][bank] for row, bank in cells(heat)}
    assert set(drawn) == set(served["word"])
    for word, lanes in zip(served["word"], served["lanes"], strict=True):
        assert lanes_of(drawn[word][0]) >= set(lanes)
        assert drawn[word][2] == word
    outline = next(trace for trace in figure.data if (trace.name or "").startswith("conflict"))
    assert outline.showlegend == (explanation.bank_conflicts > 0)


@settings(max_examples=examples(40))
@given(accesses(), rules)
def test_a_timeline_has_a_frame_for_each_wavefront(access: WarpAccess, rule: str) -> None:
    explanation = explain(*access, rule=rule)
    figure = timeline(explanation)
    wavefronts = [each for phase in explanation.phases for each in phase.wavefronts]
    assert len(figure.frames) == len(wavefronts) == explanation.wavefronts
    for frame, wavefront in zip(figure.frames, wavefronts, strict=True):
        lanes = frame.data[0].z[(frame.data[0].z >= 0) & (frame.data[0].z < 32)]
        assert sorted(lanes) == sorted(served.lanes[0] for served in wavefront)
        assert len(frame.data[1].text) == len(wavefront)
    if wavefronts:
        assert len(figure.layout.sliders[0].steps) == len(wavefronts)


@settings(max_examples=examples(20))
@given(accesses(), accesses(), rules)
def test_two_accesses_share_their_scales(before: WarpAccess, after: WarpAccess, rule: str) -> None:
    one, two = explain(*before, rule=rule), explain(*after, rule=rule)
    figure = compare(one, two)
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range
    first, second = (trace for trace in figure.data if trace.type == "heatmap")
    assert (first.zmin, first.zmax) == (second.zmin, second.zmax)
    rows = [len({row for row, _ in cells(trace)}) for trace in (first, second)]
    assert rows == [one.wavefronts, two.wavefronts]


geometries = st.fixed_dictionaries(
    {
        "warp_shape": st.sampled_from(["1x32", "2x16", "4x8", "8x4", "16x2", "32x1"]),
        "lds": st.sampled_from([32, 64, 128]),
        "thread_tile": st.sampled_from(["8x8", "4x4", "8x4", "4x16"]),
        "lane_order": st.one_of(st.sampled_from(LANE_ORDERS), st.permutations(range(32))),
        "fragment": st.sampled_from(["contiguous", "split"]),
        "a_layout": st.sampled_from(["transposed", "row-major"]),
        "pad": st.tuples(st.sampled_from([0, 4, 8]), st.sampled_from([0, 1, 4])),
        "swizzle": st.sampled_from([None, (2, 3, 3), (3, 2, 5)]),
        "element": st.sampled_from([4, 2, 1]),
    }
)


@settings(max_examples=examples(40))
@given(geometries)
def test_figures_of_a_geometry_draw_what_it_reads(geometry: dict[str, Any]) -> None:
    try:
        report = simulate(**geometry)
    except LayoutError:
        return  # what simulate refuses is its own matter
    for part in report.fragments:
        figure = bank_heatmap(report, fragment=part.name)
        drawn = len(figure.layout.yaxis.tickvals)
        assert drawn == part.wavefronts or figure.layout.meta["bankwise"]["subtitle"].startswith(
            "The first"
        )
        assert f": {part.wavefronts} wavefront" in figure.layout.meta["bankwise"]["title"]
        ground, heat = (
            trace for trace in word_map(report, fragment=part.name).data if trace.type == "heatmap"
        )
        # A cell is read, unread, or padding, never two of them.
        assert not set(cells(ground)) & set(cells(heat))
        assert all("row" in heat.customdata[row][bank][3] for row, bank in cells(heat))
    lanes = warp_map(report).data[0]
    assert {lane for line in lanes.text for lane in line} == set(range(32))


values = st.one_of(st.integers(-5, 200), st.sampled_from(["4x8", "<b>", "", "(0, 1)"]), st.none())


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(values, values, st.integers(0, 99)), max_size=40),
    st.sampled_from(["wavefronts", "cycles"]),
)
def test_a_sweep_shows_the_least_of_each_cell(rows: list[tuple[Any, Any, int]], value: str) -> None:
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("a", "b", value))}
    figure = sweep_heatmap(columns, x="a", y="b", value=value)
    heat, frames = figure.data
    best: dict[tuple[str, str], int] = {}
    for a, b, number in rows:
        best[str(a), str(b)] = min(number, best.get((str(a), str(b)), number))
    drawn = [heat.z[row][column] for row, column in cells(heat)]
    assert sorted(drawn) == sorted(best.values())
    winners = sum(number == min(drawn) for number in drawn) if drawn else 0
    assert len([x for x in frames.x if x is not None]) == 5 * winners
