"""Measured and modelled times of kernels, drawn."""

import pytest

from viz import DrawError, time_parity

TABLE = {
    "case": ["copy", "sum <b>", "other"],
    "measured": [1000, 2000, 400],
    "estimate": [1100, 1900, None],
    "bound": [500, 1500, 100],
}


def test_every_kernel_with_both_figures_is_a_point() -> None:
    figure = time_parity(TABLE)
    points = {(trace.name, trace.yaxis): trace for trace in figure.data if trace.mode == "markers"}
    assert list(points["estimate", "y"].x) == [1000, 2000]
    assert list(points["estimate", "y"].y) == [1100, 1900]
    assert [round(each) for each in points["estimate", "y2"].y] == [10, -5]
    assert list(points["bound", "y"].x) == [1000, 2000, 400]
    assert points["bound", "y"].customdata[1][0] == "sum &lt;b&gt;"
    assert (
        figure.layout.title.text
        == "2 kernels: the estimate is off by 7.5 % on average, by 10 % at most"
    )


def test_bounds_hide_no_estimate() -> None:
    above = {trace.name: trace.zorder for trace in time_parity(TABLE).data}
    assert above["estimate"] > above["bound"]


def test_bounds_alone_are_drawn_too() -> None:
    figure = time_parity({name: TABLE[name] for name in ("case", "measured", "bound")}, title="x")
    assert figure.layout.title.text == "x"
    assert figure.layout.xaxis.type == "log"


@pytest.mark.parametrize(
    "table", [{}, {"case": ["a"], "measured": [1]}, {**TABLE, "measured": [None, None, None]}]
)
def test_what_cannot_be_drawn_is_refused(table: dict[str, list[object]]) -> None:
    with pytest.raises(DrawError, match="accepted"):
        time_parity(table)


def test_what_is_far_off_stands_at_the_edge_and_says_how_far() -> None:
    table = {"case": ["a", "b"], "measured": [100, 100], "estimate": [110, 853]}
    figure = time_parity(table)
    below = next(trace for trace in figure.data if trace.yaxis == "y2")
    assert list(below.y) == pytest.approx([10, 100])
    assert below.customdata[1][2] == "+753.0"
    assert "more than 100 % stands at the edge" in figure.layout.meta["bankwise"]["subtitle"]
    near = time_parity({name: each[:1] for name, each in table.items()})
    assert "edge" not in near.layout.meta["bankwise"]["subtitle"]
