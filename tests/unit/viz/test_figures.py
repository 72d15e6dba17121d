"""Figures with numbers that a document prints, their limits, and what they refuse."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from layouts import LANE_ORDERS, Swizzle, Tile, WarpLayout
from simulator import explain, kernels, replay, simulate
from viz import (
    THEMES,
    DrawError,
    bank_heatmap,
    compare,
    kernel_bars,
    parity,
    report,
    sweep_heatmap,
    timeline,
    warp_map,
    word_map,
)

# 猛猿, 从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080, chapter 5.1: the two
# LDS.64 cases, and chapter 5.2: the warps of 2×16 and 4×8 lanes.


def rows_drawn(figure: go.Figure) -> int:
    return len(figure.layout.yaxis.tickvals)


def test_the_lds64_cases_of_chapter_5_1_need_two_and_three_wavefronts() -> None:
    straight = explain("LDS.64", [8 * lane for lane in range(32)])
    # Lane 1 reads the same two banks as lane 0, a layer further down.
    crossed = explain("LDS.64", [128 if lane == 1 else 8 * lane for lane in range(32)])
    assert rows_drawn(bank_heatmap(straight)) == 2
    figure = bank_heatmap(crossed)
    assert rows_drawn(figure) == 3
    assert figure.layout.yaxis.ticktext == ("phase 0 · 0", "1", "phase 1 · 0")
    assert [figure.data[0].customdata[1][bank][0] for bank in (0, 1)] == ["lane 1", "lane 1"]


def test_chapter_5_2_draws_lane_0_above_lane_4() -> None:
    report = simulate("2x16", lane_order="row-major")
    figure = bank_heatmap(report, fragment="B")
    assert (
        figure.layout.title.text
        == "LDS.128, 2×16 row-major, B: 16 wavefronts, 8 ideal, 8 bank conflicts"
    )
    heat = figure.data[0]
    first = next(row for row, line in enumerate(heat.z) if line[0] is not None)
    assert [heat.z[first][bank] for bank in range(4)] == [0, 0, 0, 0]
    assert [heat.z[first + 1][bank] for bank in range(4)] == [4, 4, 4, 4]
    assert [heat.customdata[first + 1][0][place] for place in (2, 3)] == [32, 128]
    assert rows_drawn(bank_heatmap(simulate("4x8"), fragment="B")) == 4


def test_padding_and_swizzle_can_be_seen() -> None:
    plain, padded = (simulate("4x8", pad=pad) for pad in (0, 4))
    ground = word_map(padded, fragment="B").data[0]
    grey = [
        32 * row + bank
        for row, line in enumerate(ground.z)
        for bank, value in enumerate(line)
        if value == 1
    ]
    assert grey[:4] == [128, 129, 130, 131]  # after the first row of 128 floats
    assert not any(1 in line for line in word_map(plain, fragment="B").data[0].z)
    tile = Tile(8, 64, swizzle=Swizzle(3, 3, 3))
    rows = [int(tile.offset(lane % 8, 0)) * 2 for lane in range(32)]
    figure = word_map(explain("LDSM.16.M88", rows), tile=tile, element=2)
    heat = figure.data[1]
    # Each of the eight rows of 128 bytes is read in another group of four banks.
    assert [next(b for b, z in enumerate(line) if z is not None) for line in heat.z] == [
        0, 4, 8, 12, 16, 20, 24, 28,
    ]  # fmt: skip


def test_a_layout_that_was_asked_about_is_drawn() -> None:
    text = "Sw<3,3,3> o 0 o (8,64):(64,1)"
    told = explain("LDSM.16.M88", "lane%8, 0", layout=text, element=2)
    asked = explain("LDSM.16.M88", told.addresses)
    assert word_map(asked).data[0].name != "tile"
    by_hand = word_map(asked, tile=Tile(8, 64, swizzle=Swizzle(3, 3, 3)), element=2)
    for draw in (word_map, timeline):
        assert draw(told).to_json() == draw(asked, tile=text, element=2).to_json()
    assert word_map(told).to_json() == by_hand.to_json()
    panels = word_map(asked, tile="(8,(32,2)):(32,(1,256))", element=2).data[0]
    assert "row 0, columns 32-33" in panels.text[4][0]
    large = explain("LDS", "lane, 0", layout="(32,32):(32,1)", element=16)
    assert word_map(large).data[0].name != "tile"  # a word is not one of its elements


@pytest.mark.parametrize("order", LANE_ORDERS)
@pytest.mark.parametrize("fragment", ["contiguous", "split"])
def test_a_warp_map_puts_each_lane_where_the_layout_does(order: str, fragment: str) -> None:
    warp = WarpLayout.of("4x8", order)
    heat = warp_map(warp, fragment=fragment).data[0]
    parts = 2 if fragment == "split" else 1
    for lane, (row, column) in enumerate(warp.coordinates):
        for down in range(parts):
            for right in range(parts):
                assert heat.text[down * 4 + row][right * 8 + column] == lane
    assert heat.customdata[0][0][1] == ("0-3, 16-19" if parts == 2 else "0-7")
    assert heat.z[0][0] == heat.text[0][0] // 8


def test_a_warp_map_takes_any_tile() -> None:
    long = warp_map(simulate("1x32", thread_tile="1x256", block_tile="1x8192x1", lds=32))
    assert len(long.data[0].text[0]) == 32
    assert long.layout.yaxis.scaleanchor is False
    assert long.layout.height > 150


def test_bars_are_the_sites_figures() -> None:
    report = replay("junstar92.2d", m=4096, n=4096, k=4096)
    sites = [site for site in report.sites if site.memory == "shared"]
    ideal, excessive = kernel_bars(report).data
    assert sorted(ideal.x) == sorted(site.ideal for site in sites)
    assert sum(excessive.x) == report.totals()["all"]["excessive"]
    assert tuple(excessive.base) == tuple(ideal.x)
    stores = [shape == "/" for shape in ideal.marker.pattern.shape]
    assert stores == [False, False, True, True]
    two = kernel_bars([report, replay("junstar92.1d", m=1024, n=1024, k=1024)])
    assert max(two.data[0].x) == max(ideal.x)  # one scale: the smaller kernel's bars are short


@pytest.mark.parametrize("name", kernels.names())
def test_every_kernel_of_the_catalogue_can_be_drawn(name: str) -> None:
    report = replay(name, m=4096, n=4096, k=4096)
    ideal, excessive = kernel_bars(report).data
    total = report.totals()["all"]
    assert (sum(ideal.x), sum(excessive.x)) == (total["ideal"], total["excessive"])


def test_equal_counters_lie_on_the_diagonal_and_nothing_is_left() -> None:
    rows = {
        "op": ["LDS", "LDS", "STS"],
        "wavefronts": [1, 1, 4],
        "measured_wavefronts": [1, 1, 4],
    }
    figure = parity(rows)
    assert figure.layout.title.text == "wavefronts: all 3 rows equal"
    points = [trace for trace in figure.data if trace.mode == "markers"]
    assert [(tuple(p.x), tuple(p.y), p.yaxis) for p in points] == [
        ((1,), (1,), "y"),
        ((1,), (0,), "y2"),
        ((4,), (4,), "y"),
        ((4,), (0,), "y2"),
    ]
    assert points[0].customdata[0][0] == 2


def test_a_row_that_differs_is_seen_and_said() -> None:
    rows = {
        "cycles": [2, 4], "measured_cycles": [2.5, 4.25], "spread": [0.1, 0.2],
        "wavefronts": [2, 4], "measured_wavefronts": [2, 5],
    }  # fmt: skip
    counted = parity(rows, "wavefronts")
    assert counted.layout.title.text == "wavefronts: 1 of 2 rows differ, by up to 1"
    clocked = parity(rows, "cycles")
    assert clocked.layout.title.text == "cycles: 2 rows, half of them within 0.375, all within 0.5"
    points = [trace for trace in clocked.data if trace.mode == "markers"]
    assert sorted(points[1].y) == [0.25, 0.5]
    assert sorted(points[0].error_y.array) == [0.1, 0.2]


def test_a_comparison_may_give_its_points() -> None:
    class Comparison:
        """Sums up in `columns`, as results do, and has its rows, too."""

        def columns(self) -> dict[str, list[Any]]:
            return {"op": ["LDS"], "accesses": [2]}

        def points(self) -> dict[str, Any]:
            return {"wavefronts": np.array([1, 2]), "measured_wavefronts": np.array([1, 2])}

    assert parity(Comparison()).layout.title.text == "wavefronts: all 2 rows equal"


def test_many_points_are_limited_and_the_figure_says_so() -> None:
    many = list(range(3000))
    figure = parity({"cycles": many, "measured_cycles": many})
    assert max(len(trace.x) for trace in figure.data) == 2000
    assert "1,000 are not" in figure.layout.title.subtitle.text


def test_a_large_sweep_is_put_together_and_says_so() -> None:
    columns = {"pad": list(range(4096)), "wavefronts": [(7 * pad) % 4096 for pad in range(4096)]}
    figure = sweep_heatmap(columns)
    heat = figure.data[0]
    assert len(heat.z) == 64
    assert len(heat.z[0]) == 64
    assert "64 neighbouring values of pad" in figure.layout.title.subtitle.text
    assert (
        min(
            min(z for z in line if z is not None)
            for line in heat.z
            if any(z is not None for z in line)
        )
        == 0
    )
    assert len(figure.to_json()) < 300_000


@pytest.mark.parametrize(
    "labels",
    [
        ["Sw<3,3,3> o (8,64):(64,1), pad 0", "Sw<3,3,3> o (8,64):(64,1), pad 8", "short"],
        ["a long name of a layout " * 2 + end for end in ("", "and more", "and even more")],
        [str([*range(15), *middle, *range(17, 32)]) for middle in ((15, 16), (16, 15))],
        ["<b>" * 9 + end for end in "abc"],
    ],
)
def test_long_labels_of_a_sweep_stay_apart(labels: list[str]) -> None:
    """On the axes, in their names, and with other parameters that begin alike."""
    columns = {
        "a_long_name_of_a_parameter": labels * 2,
        "a_long_name_of_a_parameter_too": [*labels, *reversed(labels)],
        "wavefronts": [*range(2 * len(labels))],
    }
    layout = sweep_heatmap(columns).layout
    for axis in (layout.xaxis, layout.yaxis):
        assert len(set(axis.ticktext)) == len(labels)
        assert all(len(html.unescape(label)) <= 18 for label in axis.ticktext)
    assert layout.xaxis.title.text != layout.yaxis.title.text


def test_a_sweep_takes_a_data_frame_and_arrays() -> None:
    columns = {"pad": np.array([0, 1, 2]), "lds": np.array([32] * 3), "cycles": np.array([3, 1, 2])}
    figures = [sweep_heatmap(each, value="cycles") for each in (columns, pd.DataFrame(columns))]
    assert figures[0].data[0].z == figures[1].data[0].z
    assert "least cycles 1, at lds 32, pad 1" in figures[0].layout.title.text.replace("<br>", " ")


FIGURES: dict[str, Any] = {
    "bank_heatmap": lambda **options: bank_heatmap(simulate(), **options),
    "word_map": lambda **options: word_map(simulate(), **options),
    "timeline": lambda **options: timeline(simulate(), **options),
    "warp_map": lambda **options: warp_map(simulate(), **options),
    "sweep_heatmap": lambda **options: sweep_heatmap({"a": [1], "wavefronts": [1]}, **options),
    "kernel_bars": lambda **options: kernel_bars(
        replay("junstar92.1d", m=1024, n=1024, k=1024), **options
    ),
    "parity": lambda **options: parity({"cycles": [1], "measured_cycles": [1]}, **options),
    "compare": lambda **options: compare(simulate(), simulate("2x16"), **options),
}


@pytest.mark.parametrize("name", FIGURES)
def test_all_figures_have_both_themes_and_a_title_of_ones_own(name: str) -> None:
    draw = FIGURES[name]
    for theme, colors in THEMES.items():
        assert draw(theme=theme).layout.template.layout.paper_bgcolor == colors["paper"]
    figure = draw(title="a <b>title</b> & more")
    assert figure.layout.title.text == "a &lt;b&gt;title&lt;/b&gt; &amp; more"
    assert figure.layout.meta["bankwise"]["kind"] == name
    assert draw().to_json() == draw().to_json()
    with pytest.raises(DrawError, match=r"unknown theme 'drak': did you mean dark\?"):
        draw(theme="drak")


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: bank_heatmap("LDS"), "str has no accesses to draw .accepted: what explain"),
        (lambda: bank_heatmap(simulate(), fragment="C"), "no fragment 'C': accepted: A, B"),
        (lambda: bank_heatmap(explain("LDS", range(0, 128, 4)), fragment="A"), "one access"),
        (lambda: bank_heatmap(simulate(), color="bank"), "unknown color 'bank'"),
        (lambda: word_map(simulate(), element=3), "elements of 3 bytes cannot be drawn"),
        (lambda: word_map(simulate(), tile=Tile(4096, 4096)), "a tile of 16777216 elements"),
        (lambda: warp_map("4x8"), "str has no lanes to draw"),
        (lambda: warp_map(simulate(), lane=32), "lane 32 is not in a warp"),
        (lambda: kernel_bars([]), "no kernel to draw"),
        (
            lambda: kernel_bars(replay("junstar92.1d", m=1024, n=1024, k=1024), names=["a", "b"]),
            "2 names for 1 kernel .accepted: one each",
        ),
        (lambda: kernel_bars([simulate()]), "FragmentReport is not a kernel's report"),
        (lambda: compare(simulate(), 1), "int has no accesses"),
        (
            lambda: compare(simulate(), replay("junstar92.1d", m=1024, n=1024, k=1024)),
            "FragmentReport and KernelReport have no common scale",
        ),
        (lambda: sweep_heatmap({"a": [1], "wavefronts": [1, 2]}), "columns of lengths"),
        (
            lambda: sweep_heatmap({"a": [1], "wavefronts": ["x"]}),
            "holds 'x' .accepted: numbers",
        ),
        (lambda: sweep_heatmap({"a": [1]}), "no column 'wavefronts'"),
        (lambda: sweep_heatmap({"wavefronts": [1]}), "have no parameter"),
        (lambda: sweep_heatmap({"a": [1], "wavefronts": [1]}, x="b"), "no column 'b'"),
        (lambda: sweep_heatmap([1, 2]), "list is not a table"),
        (lambda: sweep_heatmap({}), "columns of lengths {}"),
        (lambda: parity({"cycles": [1]}), "accepted: NAME and measured_NAME"),
        (lambda: parity({"cycles": [1], "measured_cycles": ["x"]}), "holds 'x' .accepted: numbers"),
        (lambda: parity({"cycles": [1], "measured_cycles": [1]}, "time"), "no quantity 'time'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw: Any, said: str) -> None:
    with pytest.raises(DrawError, match=said):
        draw()


def test_scalars_of_numpy_are_numbers() -> None:
    columns = {
        "pad": [np.int64(10), np.int64(9)],
        "wavefronts": [np.int32(4), np.float32(1.5)],
    }
    figure = sweep_heatmap(columns)
    assert figure.layout.title.text == "2 configurations: least wavefronts 1.5, at pad 9"
    assert list(figure.layout.xaxis.ticktext) == ["9", "10"]
    assert sweep_heatmap({"pad": np.arange(2), "wavefronts": np.array([4, 1.5])}).data[0].z
    measured = [np.float32(4), np.float32(2.5)]
    drawn = parity({"cycles": columns["wavefronts"], "measured_cycles": measured})
    assert "all within 1" in drawn.layout.title.text


@pytest.mark.parametrize("column", [5, "text", np.array(3)])
def test_a_column_that_is_no_list_is_refused(column: Any) -> None:
    with pytest.raises(DrawError, match=r"column 'a' is .* .accepted: a list or an array"):
        sweep_heatmap({"a": column, "wavefronts": [1]})


@pytest.mark.parametrize("nothing", [None, "", " ", float("nan")])
def test_rows_without_an_outcome_stay_out(nothing: Any) -> None:
    table = {"pad": [0, 1, 2], "wavefronts": [nothing, 3, 2]}
    figure = sweep_heatmap(table)
    assert [cell for line in figure.data[0].z for cell in line if cell is not None] == [3, 2]
    assert figure.layout.title.text == "3 configurations: least wavefronts 2, at pad 2"
    rows = {
        "op": ["LDS"] * 4,
        "cycles": [nothing, 2, 3, 4],
        "measured_cycles": [1, nothing, 3, 5],
        "spread": [1, 1, nothing, 0.5],
    }
    drawn = parity(rows)
    assert [tuple(trace.x) for trace in drawn.data if trace.name == "LDS"] == [(3, 4)] * 2
    assert drawn.layout.title.text.startswith("cycles: 2 rows,")
    empty = {"pad": [0], "wavefronts": [nothing]}
    assert "none with an outcome" in sweep_heatmap(empty).layout.title.text
    alone = parity({"cycles": [nothing], "measured_cycles": [1]})
    assert "no row has both figures" in alone.layout.title.text
    for each in (table, rows, empty):
        assert "<table" in report(each, cdn=True)


@pytest.mark.parametrize(
    ("costs", "said"), [((1, 1), "1 other cell"), ((1, 1, 1), "2 other cells")]
)
def test_the_title_of_a_sweep_counts_the_other_best_cells(
    costs: tuple[int, ...], said: str
) -> None:
    figure = sweep_heatmap({"pad": range(len(costs)), "wavefronts": costs})
    assert figure.layout.title.text.replace("<br>", " ").endswith(f"at pad 0 and in {said}")
