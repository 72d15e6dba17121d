"""What figures call things: legends, names, numbers, and what is told where one points."""

from __future__ import annotations

import plotly.graph_objects as go

from simulator import explain, replay, simulate
from viz import compare, parity, sweep_heatmap, timeline, word_map
from viz.kernel_bars import short


def test_a_point_tells_its_figures_once_and_without_stray_digits() -> None:
    rows = {"cycles": [2, 64], "measured_cycles": [2, 63.996826171875], "spread": [0.25, 0]}
    first, second = parity(rows, "cycles").data[2].customdata
    assert first == [1, "2", "2 (spread 0.2500)", "0"]
    assert second == [1, "64", "63.9968", "-0.0032"]


def named_colors(figure: go.Figure) -> dict[str, str]:
    return {
        trace.name: trace.marker.color
        for trace in figure.data
        if trace.showlegend and trace.mode == "markers" and trace.marker.symbol == "square"
    }


def test_the_legend_names_each_muted_colour_that_is_drawn_and_no_other() -> None:
    for pad, names in ((4, ("not accessed", "padding")), (0, ("not accessed",))):
        figure = word_map(simulate("4x8", pad=pad), fragment="B")
        greys = [color for _, color in figure.data[0].colorscale][: len(names)]
        found = named_colors(figure)
        assert list(found.values()) == greys
        assert all(name in said for name, said in zip(names, found, strict=True))
    steps = timeline(simulate("4x8", pad=4), fragment="B")
    drawn = {
        color for trace in steps.data if trace.type == "heatmap" for _, color in trace.colorscale
    }
    found = named_colors(steps)
    assert len(set(found.values())) == len(found) == 4
    assert set(found.values()) <= drawn
    bare = explain("LDS", range(0, 128, 4))
    assert named_colors(word_map(bare)) == {}
    assert len(named_colors(timeline(bare))) == 2


def test_a_step_of_a_timeline_says_of_which_instruction_it_is() -> None:
    figure = timeline(simulate("2x16", lane_order="row-major"), fragment="B")
    assert figure.layout.sliders[0].steps[4].label == "1: phase 2 · 0"
    assert "instruction: phase · wavefront" in figure.layout.title.subtitle.text
    said = figure.data[0].customdata[0][0][1].split("<br>")
    assert said == [
        "B, LDS.128 1 of 2, phase 0, wavefront 0: lane 0",
        "B, LDS.128 1 of 2, phase 2, wavefront 0: lane 16",
    ]
    one = timeline(explain("LDS", range(0, 128, 4)))
    assert "instruction" not in one.layout.title.subtitle.text
    assert one.data[0].customdata[0][0][1] == "phase 0, wavefront 0: lane 0"


def test_large_figures_of_a_sweep_are_written_so_that_they_can_be_read() -> None:
    counts = [570425344, 335544320, 369098752]
    figure = sweep_heatmap({"m": [4096] * 3, "padding": [0, 4, 8], "wavefronts": counts})
    assert figure.layout.title.text.endswith("wavefronts 335,544,320, at m 4096, padding 4")
    heat, best = figure.data
    assert [line[0] for line in heat.text] == ["570 M", "336 M", "369 M"]
    assert heat.texttemplate == "%{text}"
    assert "wavefronts 369,098,752" in heat.customdata[2][0]
    assert best.name == "best: 335,544,320 wavefronts"


def test_kernels_that_are_compared_are_called_what_they_were_named() -> None:
    report = replay("junstar92.1d", m=1024, n=1024, k=1024)
    cost = f"{short(report.totals()['all']['wavefronts'])} wavefronts"
    unnamed = compare(report, report).layout.title.text
    assert unnamed == f"junstar92.1d: {cost}; junstar92.1d: {cost}"
    paths = ("examples/tutorial/transpose.cu", "old/exam/tutorial/transpose_padded.cu")
    figure = compare(report, report, names=paths)
    headings = [each.text for each in figure.layout.annotations if each.text.endswith("s</b>")]
    assert headings == [
        f"<b>examples/tutorial/transpose.cu: {cost}</b>",
        f"<b>…/tutorial/transpose_padded.cu: {cost}</b>",
    ]
    for each in paths[0], "…/tutorial/transpose_padded.cu":
        assert f"{each}: {cost}" in figure.layout.title.text.replace("<br>", " ")
