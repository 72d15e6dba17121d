"""Pages of accesses as people use them: first screen, marked lanes, keyboard, colours, copying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bankwise import compare, explain
from simulator import Access, optimize, simulate
from viz import report

COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
MATRIX = "half t[64][64]; &t[lane%16][lane/16*8]"


def made(kind: str) -> list[Any]:
    return {
        "question": lambda: [explain(COLUMN)],
        "matrix": lambda: [explain("ldmatrix.x4", MATRIX)],
        "free": lambda: [explain("float4 s[32]; s[lane]")],
        "addresses": lambda: [explain("LDS", range(0, 4096, 128))],
        "simulate": lambda: [simulate("2x16", lane_order="row-major")],
        "compare": lambda: [compare(COLUMN, COLUMN.replace("[32];", "[33];"))],
        "optimum": lambda: [optimize([Access("LDS", "lane, 0")], tile="32x32")],
        "several": lambda: [
            explain(COLUMN),
            simulate("2x16"),
            explain("float4 s[32]; s[lane]"),
        ],
    }[kind]()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("accesses")
    written: dict[str, Path] = {}

    def page(kind: str) -> Path:
        if kind not in written:
            written[kind] = folder / f"{kind}.html"
            report(*made(kind), file=written[kind])
        return written[kind]

    return page


def box(page: Any, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).first.bounding_box()
    return found


SCREENS = [(1400, 900), (800, 1000)]


@pytest.mark.parametrize("kind", ["question", "matrix", "simulate", "optimum"])
def test_the_first_screen_has_verdict_both_pictures_and_the_cure(
    kind: str, pages: Any, opened: Any
) -> None:
    page = opened(pages(kind), SCREENS[0][0])
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        verdict, before, copy = (
            box(page, each) for each in ("h1", ".before .picture", ".cures .copy")
        )
        after = box(page, ".cures .picture")
        for each in (verdict, before, copy, after):
            assert each["y"] >= 0
            assert each["y"] + each["height"] <= height
        assert verdict["y"] + verdict["height"] <= before["y"]  # the verdict, then the pictures
        assert before["x"] + before["width"] <= after["x"]  # side by side
        assert copy["y"] < after["y"] + after["height"]
        if kind != "optimum":
            assert box(page, ".numbers")["y"] > before["y"] + before["height"]  # then the figures


def test_a_comparison_has_both_pictures_on_the_first_screen(pages: Any, opened: Any) -> None:
    page = opened(pages("compare"), 1400)
    first, second = (page.locator(".pictures .picture").nth(k).bounding_box() for k in (0, 1))
    assert first["x"] + first["width"] <= second["x"]
    assert max(each["y"] + each["height"] for each in (first, second)) <= 900


@pytest.mark.parametrize("kind", ["question", "matrix", "free", "addresses", "simulate", "optimum"])
def test_details_are_folded_and_come_last(kind: str, pages: Any, opened: Any) -> None:
    page = opened(pages(kind), 1400)
    assert page.locator("details[open]").count() == 0
    places = [each.bounding_box()["y"] for each in page.locator("details").all()]
    assert all(place > box(page, ".numbers")["y"] for place in places)


def marked(page: Any) -> dict[str, list[str]]:
    """The lanes that are marked in each picture, and those of each."""
    found: dict[str, list[str]] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("table.picture, .lane-map")]
          .map((table, k) => [k + table.className,
            [...table.querySelectorAll(".marked")].map((cell) => cell.dataset.lanes)]))"""
    )
    return found


@pytest.mark.parametrize("kind", ["question", "matrix", "simulate", "compare", "optimum"])
@pytest.mark.parametrize("width", [pytest.param(400, marks=pytest.mark.slow), 1400])
def test_a_lane_is_marked_in_every_figure(kind: str, width: int, pages: Any, opened: Any) -> None:
    page = opened(pages(kind), width)
    assert not any(marked(page).values())
    page.locator(".banks td[data-lanes='5'], .banks td[data-lanes^='5 ']").first.hover()
    found = marked(page)
    assert len(found) >= 2
    for lanes in found.values():
        assert any("5" in lane.split() for lane in lanes)
    page.locator("h1, h2").first.hover()
    assert not any(marked(page).values())


def test_a_focused_lane_is_marked_and_told_of(pages: Any, opened: Any) -> None:
    page = opened(pages("question"), 1400)
    page.locator("#lanes button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "2"
    assert list(marked(page).values()) == [["2"]] * 6
    told = page.locator(".tell").all_text_contents()
    assert told[0] == "Lane 2: byte 256, bank 0; wavefront 2 of 32, after 2 others"
    assert told[1] == "Lane 2: byte 264, bank 2; wavefront 0 of 1"
    page.keyboard.press("Escape")
    assert not any(marked(page).values())


def test_tab_reaches_every_control(pages: Any, opened: Any) -> None:
    page = opened(pages("matrix"), 1400)
    wanted = page.evaluate(
        """() => { for (const each of document.querySelectorAll("details")) each.open = true;
          const all = [...document.querySelectorAll(
            "button, summary, a, [role=group][tabindex='0']")];
          all.forEach((each, k) => { each.dataset.place = k; });
          // Of a group whose controls are stepped through by arrows, one is reached by Tab.
          return all.filter((each) => each.tabIndex >= 0).map((each) => each.dataset.place); }"""
    )
    page.evaluate(
        """() => { window.reached = [];
          document.addEventListener("focusin", ({ target }) => reached.push(target.dataset.place));
        }"""
    )
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
    assert set(wanted) <= set(page.evaluate("window.reached"))
    groups = {"#phases": 5, "#lanes": 32}
    for group, count in groups.items():
        page.locator(f"{group} button[tabindex='0']").focus()
        seen = {page.evaluate("document.activeElement.textContent")}
        for _ in range(count):
            page.keyboard.press("ArrowRight")
            seen.add(page.evaluate("document.activeElement.textContent"))
        assert len(seen) == count


def steps(page: Any) -> list[list[str]]:
    """The rows of the first picture that are not dimmed: phase and wavefront."""
    found: list[list[str]] = page.evaluate(
        """() => [...document.querySelector(".banks").querySelectorAll("tbody tr:not(.dim)")]
          .map((row) => [row.dataset.phase, row.dataset.wavefront])"""
    )
    return found


def test_arrows_step_through_phases_and_wavefronts(pages: Any, opened: Any) -> None:
    page = opened(pages("matrix"), 1400)
    every = steps(page)
    assert len(every) == 32
    page.locator(".steps").first.focus()
    page.keyboard.press("ArrowRight")
    assert steps(page) == [["0", str(number)] for number in range(8)]
    page.keyboard.press("ArrowRight")
    assert steps(page) == [["1", str(number)] for number in range(8)]
    assert page.locator("#phases [aria-checked='true']").inner_text() == "1"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert steps(page) == [["1", "1"]]
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert steps(page) == every
    page.locator("#phases button", has_text="3").click()
    assert {phase for phase, _ in steps(page)} == {"3"}
    page.keyboard.press("ArrowLeft")
    assert {phase for phase, _ in steps(page)} == {"2"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colour_means_waiting_until_one_asks_for_lanes(
    scheme: str, pages: Any, opened: Any
) -> None:
    page = opened(pages("question"), 1400, scheme)
    colors = """() => [...document.querySelectorAll(".before .banks td[data-lanes]")]
        .map((cell) => getComputedStyle(cell).backgroundColor)"""
    waiting = page.evaluate(colors)
    steps = [0, 1, 2, 2, 3, 3, 3, 3, *[4] * 8, *[5] * 16]
    assert [waiting.index(color) for color in waiting] == [steps.index(step) for step in steps]
    cured = page.evaluate(colors.replace(".before", ".cures"))
    assert set(cured) == {waiting[0]}  # nobody waits
    page.locator("#hue").click()
    assert len(set(page.evaluate(colors))) == 32
    assert page.locator("#hue").get_attribute("aria-pressed") == "true"
    page.locator("#hue").click()
    assert page.evaluate(colors) == waiting


def test_numbers_in_cells_can_be_read_in_both_themes(pages: Any, opened: Any) -> None:
    ratio = """() => { const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number)
          .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
        return Math.min(...[...document.querySelectorAll(".banks td[data-lanes]")].map((cell) => {
          const { color, backgroundColor } = getComputedStyle(cell);
          const [a, b] = [light(color), light(backgroundColor)].sort((x, y) => y - x);
          return (a + 0.05) / (b + 0.05); })); }"""
    for scheme in ("light", "dark"):
        page = opened(pages("question"), 1400, scheme)
        assert page.evaluate(ratio) >= 4.5  # what WCAG 2 asks of text


def test_a_cure_is_copied(pages: Any, opened: Any) -> None:
    page = opened(pages("question"), 1400)
    pasted = []
    for button in page.locator(".copy").all():
        button.click()
        button.filter(has_text="Copied").wait_for()
        page.evaluate(
            "() => { const place = document.createElement('textarea');"
            " place.id = 'paste'; document.body.append(place); place.focus(); }"
        )
        page.keyboard.press("Control+v")
        pasted.append(
            page.evaluate(
                "() => { const place = document.getElementById('paste');"
                " const { value } = place; place.remove(); return value; }"
            )
        )
    assert pasted == [cure.text for cure in explain(COLUMN).cures]


def test_tables_scroll_where_they_are_too_wide(pages: Any, opened: Any) -> None:
    page = opened(pages("simulate"), 390)
    table = page.locator(".scroll:has(table.rows)").first
    shape = table.evaluate(
        "(each) => { each.scrollLeft = 40; return [each.scrollLeft,"
        " each.scrollWidth > each.clientWidth,"
        " getComputedStyle(each.querySelector('tr')).display]; }"
    )
    assert shape == [40, True, "table-row"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_heading_of_a_figure_does_not_break(pages: Any, opened: Any) -> None:
    page = opened(pages("simulate"), 1400)
    heads = page.locator(".rows th, .numbers dt")
    named = [each for each in heads.all() if each.inner_text() == "n\N{NON-BREAKING HYPHEN}way"]
    assert len(named) == 2
    for width in (390, 800, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        for each in named:
            lines = each.evaluate(
                "(node) => { const range = document.createRange();"
                " range.selectNodeContents(node); return range.getClientRects().length; }"
            )
            assert lines == 1


def test_a_report_begins_with_links_to_its_parts(pages: Any, opened: Any) -> None:
    page = opened(pages("several"), 1400)
    summary = page.locator(".summary")
    assert summary.bounding_box()["y"] < 200
    assert summary.locator("tbody tr").count() == 3
    assert "32-way bank conflict" in summary.locator("tr", has_text="threadIdx").inner_text()
    page.locator("a[href='#part-2']").click()
    assert 0 <= page.locator("#part-2").bounding_box()["y"] <= 120


EVIL = "</script><img src=x onerror=window.hacked=1>"


def test_the_text_of_a_question_is_not_run(tmp_path: Path, opened: Any) -> None:
    asked = explain(f"float s[32][32]; s[lane][0] /* {EVIL} */")
    report(asked, title=EVIL, file=tmp_path / "evil.html")
    page = opened(tmp_path / "evil.html")
    assert EVIL in page.locator(".asked code").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
