"""Pages of kernels as people use them: hottest line, cure, source beside SASS, jumps, hover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import compare, replay_compiled
from tests.browser.conftest import replayed
from tests.sass_kernels import HERE, needs_compiler, needs_tools
from viz import report

pytestmark = needs_tools

HOT = "transpose.cu:16"


@pytest.fixture
def path(kernel_page: Path) -> Path:
    return kernel_page


def test_the_first_screen_names_the_hottest_line_and_its_cure(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    for width, height in ((1400, 900), (800, 1000)):
        page.set_viewport_size({"width": width, "height": height})
        assert HOT in page.locator("h1").inner_text()
        boxes = [
            page.locator(each).first.bounding_box()
            for each in ("h1", ".before .picture", ".cures .picture", ".cures .copy", ".hot .jump")
        ]
        assert all(box["y"] >= 0 and box["y"] + box["height"] <= height for box in boxes)
    assert "tile[TILE][TILE + 1]" in page.locator(".cures .code").inner_text()
    jumps = page.locator(".hot .jump").all_inner_texts()
    assert [text.split()[0] for text in jumps] == [HOT, "transpose.cu:10"]  # hottest first
    assert "97%" in jumps[0]


def lit(page: Any) -> list[int]:
    """How many lines of the source and of the SASS are marked."""
    return [page.locator(f".{pane} .line.linked").count() for pane in ("source", "sass")]


def test_source_and_sass_are_linked_by_colour_and_hover(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    source, sass = (page.locator(f".{each}").bounding_box() for each in ("source", "sass"))
    assert source["x"] + source["width"] <= sass["x"]
    assert abs(source["y"] - sass["y"]) < 2
    page.locator(".source .costs", has_text="out[(to_y").hover()
    one, many = lit(page)
    assert one == 1
    assert many >= 4
    link = "(each) => getComputedStyle(each).getPropertyValue('--link')"
    colors = {line.evaluate(link) for line in page.locator(".line.linked").all()}
    assert len(colors) == 1
    page.locator(".sass .costs", has_text="STS").first.hover()
    assert lit(page)[0] == 1
    assert "tile[row]" in page.locator(".source .line.linked").inner_text()
    page.locator("h1").hover()
    assert lit(page) == [0, 0]


def test_a_line_has_its_figures(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    cells = page.locator(".source .costs", has_text="out[(to_y").locator("span")
    assert cells.all_inner_texts() == ["16.4k", "512", "15.9k", "32", "97%"]
    told = page.locator(".source .costs", has_text="out[(to_y").get_attribute("title")
    assert told == (
        "1,024 executed, 16,384 wavefronts, 512 ideal, 15,872 excessive, 15,872 bank conflicts,"
        " 2,048 sectors, 2,048 ideal sectors, 32 wavefronts per request"
    )
    heads = page.locator(".source .head b").all_inner_texts()[:5]
    assert heads == ["waves", "ideal", "confl.", "n\N{NON-BREAKING HYPHEN}way", "share"]


def test_figures_of_a_line_are_apart(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    for width in (1400, 1000, 390):
        page.set_viewport_size({"width": width, "height": 900})
        rooms = page.evaluate(
            """[...document.querySelectorAll(".line:not(.head) span, .line i")].map((each) => {
                 const range = document.createRange();
                 range.selectNodeContents(each);
                 const [text, room] = [range, each].map((one) => one.getBoundingClientRect());
                 const { visibility } = getComputedStyle(each);
                 return visibility === "hidden" || !text.width ? null : text.left - room.left;
               }).filter((left) => left !== null)"""
        )
        assert len(rooms) > 40
        assert min(rooms) >= 1, width


def test_hovering_a_line_shows_lanes_banks_and_the_cure(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    assert page.locator(".worst.shown").count() == 0
    page.locator(".source .costs", has_text="out[(to_y").hover()
    worst = page.locator(".worst.shown")
    assert worst.count() == 1
    said = worst.inner_text()
    assert "Lanes 0-31 read 32 different words of bank 0." in said
    assert "tile[TILE][TILE + 1]" in said
    lanes = worst.locator("td[data-lanes]")
    assert [cell.get_attribute("data-lanes") for cell in lanes.all()] == [*map(str, range(32))]
    box = worst.bounding_box()
    assert box["x"] >= 0
    assert box["y"] + box["height"] <= 900
    page.keyboard.press("Escape")


def test_jumps_and_the_minimap_lead_to_lines(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    page.set_viewport_size({"width": 1400, "height": 420})

    def seen(text: str) -> bool:
        inside: bool = page.locator(".source .costs", has_text=text).evaluate(
            """(line) => { const { top, bottom } = line.getBoundingClientRect();
              const pane = line.closest(".lines").getBoundingClientRect();
              return top >= pane.top && bottom <= pane.bottom; }"""
        )
        return inside

    page.locator(".source").evaluate("(pane) => { pane.scrollTop = 1e6; }")
    assert not seen("tile[row]")
    page.locator(".hot .jump", has_text="transpose.cu:10").click()
    assert seen("tile[row]")
    assert "tile[row]" in page.evaluate("document.activeElement.innerText")
    marks = page.locator(".minimap i")
    assert marks.count() == 2
    tops = [mark.bounding_box()["y"] for mark in marks.all()]
    assert tops[0] < tops[1] or marks.first.get_attribute("data-jump") == "0:16"
    page.locator(".source").evaluate("(pane) => { pane.scrollTop = 1e6; }")
    page.locator(".minimap i[data-jump='0:10']").click()
    assert seen("tile[row]")


def test_arrows_step_through_the_lines_that_cost(path: Path, opened: Any) -> None:
    page = opened(path, 1400)
    page.locator(".source").focus()
    found = []
    for _ in range(2):
        page.keyboard.press("ArrowDown")
        found.append(page.evaluate("document.activeElement.querySelector('i').textContent"))
    assert found == ["10", "16"]
    assert page.locator(".worst.shown").count() == 1
    page.keyboard.press("Escape")
    assert page.locator(".worst.shown").count() == 0


def test_a_page_of_a_kernel_carries_no_plotly_and_fits_narrow_screens(
    path: Path, opened: Any
) -> None:
    assert path.stat().st_size < 400_000
    page = opened(path, 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shape = page.locator(".source").evaluate(
        "(pane) => { pane.scrollLeft = 60; return [pane.scrollLeft, pane.scrollWidth > 390]; }"
    )
    assert shape == [60, True]


def test_a_name_beside_a_bar_is_not_broken_where_there_is_room(tmp_path: Path, opened: Any) -> None:
    names = ["examples/tutorial/transpose.cu", "examples/tutorial/transpose_padded.cu"]
    results = [replayed(tmp_path, f"transpose_{kind}") for kind in ("naive", "padded")]
    both = compare(*results, names=names, time=True, chip="H100")
    report(both, file=tmp_path / "both.html")
    for width in (1200, 400):
        page = opened(tmp_path / "both.html", width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        bars = [bar.bounding_box() for bar in page.locator(".run .stack").all()]
        assert len({(bar["x"], bar["width"]) for bar in bars}) == 1  # one scale
        heights = [name.bounding_box()["height"] for name in page.locator(".run b").all()]
        assert width == 400 or max(heights) < 30
        assert width == 400 or bars[0]["width"] > 500


EVIL = "</script><img src=x onerror=window.hacked=1>"


def test_a_source_is_not_run(tmp_path: Path, opened: Any) -> None:
    source = (HERE / "cuda" / "transpose.cu").read_text(encoding="utf-8")
    told = source.replace("= tile[", f"/* {EVIL} */ = tile[")
    (tmp_path / "transpose.cu").write_text(told, encoding="utf-8")
    report(replayed(tmp_path, "transpose_padded"), file=tmp_path / "evil.html")
    page = opened(tmp_path / "evil.html")
    assert EVIL in page.locator(".source").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


@needs_compiler
@pytest.mark.slow  # compiles
def test_names_are_demangled_and_source_is_not_run(tmp_path: Path, opened: Any) -> None:
    code = f"""namespace my {{ template <int N> __global__ void turn(float* a) {{
      __shared__ float s[N][N];  // {EVIL}
      s[threadIdx.x][threadIdx.y] = a[threadIdx.x];
      __syncthreads();
      a[threadIdx.y * N + threadIdx.x] = s[threadIdx.y][threadIdx.x]; }} }}
    template __global__ void my::turn<32>(float*);"""
    result = replay_compiled(
        code, kernel="my::turn<32>", grid=1, block=(32, 32), args=[np.zeros(1024, np.float32)]
    )
    report(result, file=tmp_path / "evil.html")
    page = opened(tmp_path / "evil.html")
    assert page.locator(".asked code").inner_text() == "my::turn<32>"
    assert EVIL in page.locator(".source").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_where_the_time_goes_fits_and_jumps_to_the_code(
    width: int, path: Path, opened: Any
) -> None:
    page = opened(path, width)
    page.set_viewport_size({"width": width, "height": 844})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    before, after = page.locator(".run .stack").all()
    bars = [each.locator(".stall").all() for each in (before, after)]
    ends = [max(bar["x"] + bar["width"] for bar in (part.bounding_box() for part in parts))
            for parts in bars]  # fmt: skip
    box = before.bounding_box()
    assert ends[0] == pytest.approx(box["x"] + box["width"], abs=0.02 * box["width"])
    assert ends[1] < ends[0]
    line = page.locator(".time .jump").first
    line.click()
    assert page.locator(".source .line.at").inner_text() != ""
    assert page.evaluate("document.activeElement.dataset.line") == line.get_attribute("data-line")
