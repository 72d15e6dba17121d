"""Figures alone, as a notebook shows them: what is written can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import plotly.graph_objects as go
import pytest

from simulator import simulate
from viz import parity, sweep_heatmap, word_map

Show = Callable[[go.Figure], Any]


@pytest.fixture(scope="module")
def sheet(chromium: Any) -> Iterator[Any]:
    """A page with Plotly."""
    context = chromium.new_context(offline=True, viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_content(go.Figure().to_html())
    yield page
    context.close()


@pytest.fixture
def show(sheet: Any) -> Show:
    def draw(figure: go.Figure) -> Any:
        sheet.mouse.move(0, 0)
        sheet.evaluate(
            """async (given) => {
              document.body.innerHTML = "<div id='figure' class='js-plotly-plot'></div>";
              await Plotly.newPlot("figure", JSON.parse(given));
            }""",
            figure.to_json(),
        )
        return sheet

    return draw


# Texts that are cut by the figure's edge: their name and by how many pixels.
CUT = """() => {
  const frame = document.querySelector("svg.main-svg").getBoundingClientRect();
  return [...document.querySelectorAll("#figure svg text")].flatMap((node) => {
    const box = node.getBoundingClientRect();
    const out = Math.max(frame.left - box.left, box.right - frame.right,
                         frame.top - box.top, box.bottom - frame.bottom);
    return box.width && out > 0 ? [[node.textContent, out]] : [];
  });
}"""

SWEEP = {
    "lane_order": ["row-major", "col-major"] * 4,
    "warp_shape": ["2x16", "2x16", "4x8", "4x8"] * 2,
    "fragment": ["contiguous"] * 4 + ["split"] * 4,
    "wavefronts": [8] * 8,
}
TITLED = {
    "sweep": lambda: sweep_heatmap(SWEEP),
    "words": lambda: word_map(
        simulate("2x16", lane_order="row-major", a_layout="row-major"), fragment="A"
    ),
    "three lines": lambda: word_map(simulate(), title="Words of a title " * 15),
    "one line": lambda: word_map(simulate(), title="Words"),
}


@pytest.mark.parametrize("name", TITLED)
def test_a_title_of_any_number_of_lines_is_whole(name: str, show: Show) -> None:
    page = show(TITLED[name]())
    assert page.evaluate(CUT) == []
    title, below, cells = (
        page.locator(each).first.bounding_box()
        for each in (".gtitle", ".gtitle-subtitle", ".nsewdrag")
    )
    assert title["y"] >= 6
    assert title["y"] + title["height"] <= below["y"]
    assert below["y"] + below["height"] <= cells["y"] + 2


def test_the_labels_of_two_axes_are_apart_at_their_corner(show: Show) -> None:
    page = show(parity({"wavefronts": [1, 64], "measured_wavefronts": [1, 64]}))
    least = page.locator(".y2tick text", has_text="−1").first.bounding_box()
    first = page.locator(".xtick text").first.bounding_box()
    assert least["y"] + least["height"] <= first["y"] + 1


def test_every_label_of_a_scale_has_its_exponent(show: Show) -> None:
    counts = [570425344, 335544320, 369098752]
    page = show(sweep_heatmap({"padding": [0, 4, 8], "wavefronts": counts}))
    labels = page.locator("g[class*=cb] text").all_text_contents()
    assert len(labels) > 2
    assert all("M" in label for label in labels), labels
    assert labels[0].endswith("wavefronts")
