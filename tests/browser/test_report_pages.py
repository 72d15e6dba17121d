"""Reports as people see them: opened from disk in a real browser, without a network."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from simulator import Access, explain, optimize, replay, simulate
from tests.sass_kernels import has_tools
from viz import report

KINDS = (
    "explain",
    "empty",
    "simulate",
    "kernel",
    "kernels",
    "sweep",
    "large",
    "comparison",
    "compare",
    "optimum",
    "compiled",
)


def sweep() -> dict[str, list[Any]]:
    """A small sweep: 24 configurations."""
    columns: dict[str, list[Any]] = {
        "warp_shape": [],
        "pad": [],
        "lane_order": [],
        "wavefronts": [],
    }
    for shape in ("1x32", "2x16", "4x8", "8x4"):
        for pad in (0, 4, 8):
            for order in ("row-major", "z-order"):
                cost = simulate(shape, pad=pad, lane_order=order).wavefronts
                for name, value in zip(columns, (shape, pad, order, cost), strict=True):
                    columns[name].append(value)
    return columns


def comparison() -> dict[str, list[Any]]:
    """Counters that agree and clocks that nearly do, as `viz.parity` takes them."""
    noise = random.Random(1)  # noqa: S311 (no secret)
    wavefronts = [noise.choice([1, 2, 3, 4, 8, 16, 32]) for _ in range(500)]
    ops = ["LDS", "LDS.64", "LDS.128", "STS", "STS.128", "ATOMS.ADD", "LDSM.16.M88.4"]
    return {
        "op": [noise.choice(ops) for _ in wavefronts],
        "wavefronts": wavefronts,
        "measured_wavefronts": wavefronts,
        "cycles": wavefronts,
        "measured_cycles": [cycles + noise.gauss(0, 0.05) for cycles in wavefronts],
        "spread": [0.04] * len(wavefronts),
    }


def results(kind: str) -> list[Any]:
    pairs = [8 * (16 * (lane % 2) + lane // 2) for lane in range(32)]
    sizes = {"m": 4096, "n": 4096, "k": 4096}
    return {
        "explain": lambda: [explain("LDS.64", pairs)],
        "empty": lambda: [explain("LDS", [0] * 32, 0)],
        "simulate": lambda: [simulate("2x16", lane_order="row-major", pad=4)],
        "kernel": lambda: [replay("junstar92.2d", **sizes)],
        "kernels": lambda: [replay(f"junstar92.{name}", **sizes) for name in ("2d", "vectorized")],
        "sweep": lambda: [sweep()],
        "large": lambda: [
            {
                "padding of the tile": [pad for pad in range(256) for _ in range(100)],
                "lds": [f"width {width}" for _ in range(256) for width in range(100)],
                "wavefronts": [(7 * row) % 1000 for row in range(25600)],
            }
        ],
        "comparison": lambda: [comparison()],
        "compare": lambda: [
            simulate("2x16", lane_order="row-major"),
            simulate("2x16", lane_order="row-major", fragment="split"),
        ],
        "optimum": lambda: [optimize([Access("LDS", "lane, 0")], tile="32x32")],
    }[kind]()


class Pages(dict[str, Path]):
    """Pages by their kind, each written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, kind: str) -> Path:
        self[kind] = self.folder / f"{kind}.html"
        report(*results(kind), file=self[kind])
        return self[kind]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Pages:
    written = Pages(tmp_path_factory.mktemp("reports"))
    if has_tools():
        written["compiled"] = request.getfixturevalue("kernel_page")
    return written


# Every visible piece of text with its box; those of SVG are as large as their line is high, so
# two pixels above and below belong to no letter. Source scrolls in its box: what is seen counts.
TEXTS = """() => {
  const boxes = [];
  const add = (node, text, box, size, part) => {
    if (box.width && box.height) boxes.push({ text, size, part,
      x0: box.left, x1: box.right, y0: box.top + 2, y1: box.bottom - 2 });
  };
  const shown = { opacityProperty: true, visibilityProperty: true };
  const visible = (node) => node.checkVisibility(shown);
  const plots = [...document.querySelectorAll(".js-plotly-plot")];
  plots.forEach((plot) => plot.querySelectorAll("svg text").forEach((node) => {
    if (!node.textContent.trim() || !visible(node)) return;
    add(node, node.textContent, node.getBoundingClientRect(),
        parseFloat(getComputedStyle(node).fontSize), plot.id);
  }));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest(".js-plotly-plot, script") || !visible(parent))
      continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect().toJSON();
    const pane = parent.closest(".lines, .scroll, .jump code");
    const { right: seen, top, bottom } = pane?.getBoundingClientRect()
      ?? { right: Infinity, top: -Infinity, bottom: Infinity };
    // Below the heading of a pane, which stays where it is, lines scroll away.
    const first = pane?.matches(".lines") && !parent.closest(".head") ? top + 20 : top;
    if (box.left < seen && box.top >= first - 1 && box.bottom <= bottom + 1)
      add(node, node.textContent, { ...box, right: Math.min(box.right, seen) },
          parseFloat(getComputedStyle(parent).fontSize), "page");
  }
  return boxes;
}"""


def overlaps(boxes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other by more than a pixel."""
    boxes = sorted(boxes, key=lambda box: box["y0"])
    found = []
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            if other["y0"] >= one["y1"] - 1:
                break
            if min(one["x1"], other["x1"]) - max(one["x0"], other["x0"]) > 1:
                found.append((one["text"], other["text"]))
    return found


# One step from each to the next, so that each is one drawing.
LOOKS = [("light", 400), ("light", 800), ("light", 1600), ("dark", 1600), ("dark", 400)]


# The others are made of the same parts: they have the slow run.
_FIRST = ("explain", "compiled", "sweep")


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=[] if each in _FIRST else pytest.mark.slow) for each in KINDS]
)
def test_a_page_fits_and_can_be_read(kind: str, pages: dict[str, Path], opened: Any) -> None:
    if kind == "compiled" and not has_tools():
        pytest.skip("bankwise[sass] is not installed")
    page = opened(pages[kind], 400)
    for drawn, (scheme, width) in enumerate(LOOKS, 1):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_selector(f"html[data-drawn='{drawn}'][data-theme='{scheme}']")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = page.evaluate(TEXTS)
        assert len(boxes) > 20 or kind == "empty"
        assert [box for box in boxes if box["size"] < 10] == []
        assert [box for box in boxes if box["x0"] < -1 or box["x1"] > width + 1] == []
        assert overlaps(boxes) == []


SMALL = {
    "1x1": {"pad": [0], "lds": [64], "wavefronts": [32]},
    "1xn": {"pad": [0] * 3, "lds": [32, 64, 128], "wavefronts": [32, 16, 8]},
    "2x2": {"pad": [0, 0, 4, 4], "lds": [64, 128] * 2, "wavefronts": [32, 16, 4, 4]},
    "nx1": {"pad": [0, 1, 2], "wavefronts": [64, 48, 96]},
    "words": {
        "the order of the lanes in a warp": ["row-major, from the left", "z-order"],
        "op": ["LDS", "LDS"],
        "bank_conflicts": [1000, 12_000],
    },
}

# Pixels of a figure's texts outside of the figure, which would not be shown.
CUT = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap((plot) => {
  const frame = plot.querySelector("svg.main-svg").getBoundingClientRect();
  return [...plot.querySelectorAll("svg text")].flatMap((node) => {
    const box = node.getBoundingClientRect();
    const out = Math.max(frame.left - box.left, box.right - frame.right,
                         frame.top - box.top, box.bottom - frame.bottom);
    return box.width && out > 2 ? [[node.textContent, out]] : [];
  });
})"""


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow if each != "words" else []) for each in SMALL],
)
def test_a_sweep_of_few_cells_has_room_for_its_scale_and_legend(
    name: str, tmp_path: Path, opened: Any
) -> None:
    report(SMALL[name], file=tmp_path / "small.html")
    for width in (400, 1600):
        page = opened(tmp_path / "small.html", width)
        assert overlaps(page.evaluate(TEXTS)) == []
        assert page.evaluate(CUT) == []
        ticks = [
            tick.get_attribute("transform") for tick in page.locator("g[class*=cb] text").all()
        ]
        assert ticks
        assert not [turn for turn in ticks if re.search(r"rotate\((?!0\b)", turn or "")]
        legend = page.evaluate(
            """() => { const box = document.querySelector(".legend .bg").getBoundingClientRect();
              const text = document.querySelector(".legendtext").getBoundingClientRect();
              return [box.left, text.left, text.right, box.right]; }"""
        )
        assert legend == sorted(legend)


def test_overlapping_text_would_be_found(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["explain"])
    page.add_style_tag(content=".verdict * { height: 10px; margin: 0 }")
    assert overlaps(page.evaluate(TEXTS))


def cell(page: Any, plot: str, x: float, y: float) -> tuple[float, float]:
    """The pixel at the middle of a cell."""
    box = page.evaluate(
        """([plot, x, y]) => {
          const gd = document.getElementById(plot);
          gd.scrollIntoView({ block: "center" });
          const area = gd.querySelector(".nsewdrag").getBoundingClientRect();
          const { xaxis, yaxis } = gd._fullLayout;
          return [area.left + xaxis.d2p(x), area.top + yaxis.d2p(y)];
        }""",
        [plot, x, y],
    )
    return box[0], box[1]


def hovered(page: Any, plot: str, x: float, y: float) -> str:
    page.mouse.move(1, 1)
    page.mouse.move(*cell(page, plot, x, y), steps=3)
    label = page.locator(f"#{plot} .hovertext")
    label.wait_for()
    return " ".join(label.all_text_contents())  # the lines of a label follow without a space


def test_figures_follow_the_reader_the_button_and_the_window(
    pages: dict[str, Path], opened: Any
) -> None:
    page = opened(pages["kernels"], scheme="dark")
    paper = "() => document.getElementById('kernel_bars-0')._fullLayout.paper_bgcolor"
    assert page.evaluate(paper) == "#14171c"
    page.locator("#theme").click()
    page.wait_for_selector("html[data-drawn='2'][data-theme='light']")
    assert page.evaluate(paper) == "#ffffff"
    page.emulate_media(color_scheme="light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.wait_for_selector("html[data-drawn='3']")
    page.set_viewport_size({"width": 500, "height": 900})
    page.wait_for_selector("html[data-drawn='4']")
    assert page.evaluate("document.documentElement.scrollWidth") <= 500
    assert overlaps(page.evaluate(TEXTS)) == []


def test_without_plotly_the_page_still_says_everything_in_words(
    tmp_path: Path, chromium: Any
) -> None:
    report(*results("explain"), sweep(), file=tmp_path / "cdn.html", cdn=True)
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "cdn.html").as_uri())
    assert page.locator(".missing").is_visible()
    said = page.locator("main").inner_text()
    assert "lanes 0 and 1 read 2 different words" in said
    context.close()


EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1></pre>]]>&lt;b&gt;"


def test_nothing_that_a_user_types_is_run(tmp_path: Path, opened: Any) -> None:
    table = {f"pad{EVIL}": [f"0{EVIL}", "1"], f"lds{EVIL}": [EVIL, "2"], "wavefronts": [1, 2]}
    checked = {"op": [EVIL, "LDS"], "wavefronts": [1, 2], "measured_wavefronts": [1, 3]}
    path = tmp_path / "evil.html"
    report(*results("explain"), table, checked, file=path, title=EVIL, command=EVIL)
    page = opened(path)
    assert page.title() == EVIL
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator("pre").inner_text() == EVIL
    assert "onerror" in hovered(page, "sweep_heatmap-0", 0, 0)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
