"""The page of `bankwise explore` as people see and use it: in a real browser, offline."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.unit.law.test_chips import content
from viz.explore import write

COLUMN = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


def ask(page: Any, text: str, **state: str) -> None:
    """Follow a link to a state, and wait for the cures."""
    follow(page, urlencode({"text": text, **state}))


def follow(page: Any, link: str) -> None:
    # The last part, which means nothing, makes each link another one.
    before = page.evaluate(
        """(link) => { const { shown } = document.documentElement.dataset;
          location.hash = `${link}&seen=${shown}`; return shown; }""",
        link,
    )
    page.wait_for_selector(f"html[data-shown]:not([data-shown='{before}'])")


def verdict(page: Any) -> str:
    said: str = page.locator("#verdict h2").inner_text()
    return said


NO_FEWER = "Conflict-free: 1 wavefront, the least possible"
VERDICTS = [
    (COLUMN, "32-way bank conflict: 32 wavefronts where 1 is enough"),
    ("float s[32][33]; s[threadIdx.x][threadIdx.y]", NO_FEWER),
    (
        "float4 s[32]; s[lane]",
        "Conflict-free: its 4 wavefronts are the 4 phases that every LDS.128 needs"
        " (Nsight calls that 4-way)",
    ),
    (
        "float4 s[32]; s[lane / 2]",
        "Conflict-free: its 2 wavefronts are two fused phases, half of what LDS.128 takes unfused"
        " (Nsight calls that 2-way)",
    ),
    (
        "float4 s[16]; s[lane / 2 % 8 * 2]",
        "2 bank conflicts that cost nothing: two fused phases of two wavefronts",
    ),
    (
        "float s[64][32]; *(float4*)&s[lane][0]",
        "8-way bank conflict in each of its 4 phases: 32 wavefronts where 4 are enough"
        " (Nsight calls that 32-way)",
    ),
]


def test_the_verdict_is_in_words(explored: Any) -> None:
    page = explored("float s[32]; s[lane]")
    for text, said in VERDICTS:
        ask(page, text)
        assert verdict(page) == said


def test_other_verdicts(explored: Any) -> None:
    page = explored()
    ask(page, "int s[32]; s[0]", op="ATOMS.ADD")
    assert verdict(page) == (
        "32 wavefronts: up to 32 lanes update one word, and no layout serves them at once"
    )
    assert (
        "the same word of bank 0, which ATOMS.ADD does not merge"
        in page.locator("#said").inner_text()
    )
    ask(page, "int s[32]; s[lane]", op="ATOMS.CAS")
    assert (
        verdict(page)
        == "Conflict-free: every ATOMS.CAS takes its wavefronts twice (Nsight calls that 2-way)"
    )
    ask(page, "int s[1024]; s[lane * 32]", op="ATOMS.CAS")
    assert verdict(page) == (
        "32-way bank conflict: 64 wavefronts where 2 are enough (Nsight calls that 64-way)"
    )
    ask(page, "float4 s[32]; s[lane]", op="cp.async.cg.16")
    assert verdict(page).startswith("Conflict-free: it does not pass")
    ask(page, COLUMN, mask="0")
    assert verdict(page) == "No lane is active: nothing is accessed"
    ask(page, "float4 s[32]; s[lane / 2]", rule="documented")
    assert "4 phases that every LDS.128 needs" in verdict(page)
    ask(page, "float4 s[32]; s[lane]", mask="ff00")
    assert verdict(page) == NO_FEWER


def test_a_chip_has_words_of_its_own(opened: Any, tmp_path: Path) -> None:
    learnt, path = tmp_path / "other.json", tmp_path / "explore.html"
    learnt.write_text(json.dumps(content()))
    write(path, "double s[32]; s[lane]", chip=learnt)
    page = opened(path, 1400, "light", drawn=False)
    said = page.locator("#said")
    assert (
        "The 2 phases are not merged, because lanes 0 and 4 read different addresses."
        in said.inner_text()
    )
    ask(page, "double s[32]; s[lane & ~4]")
    assert "Its 2 phases fuse into 1: active lanes i and i^4 agree" in said.inner_text()
    ask(page, "float4 s[32]; s[lane % 8 + lane / 24 * 8]")
    assert verdict(page) == "1 bank conflict that costs nothing: phases of two and one wavefronts"
    made = page.locator("#made").inner_text()
    assert "Its law is that of Other, measured." in made
    assert "lanes read global memory side by side, unless you say from where" in made


def test_typing_changes_everything_at_once(explored: Any) -> None:
    page = explored()
    assert page.locator("#map .cell").count() == 32
    page.locator("#text").fill("float s[32][33]; s[threadIdx.x][threadIdx.y]")
    assert verdict(page).startswith("Conflict-free")
    page.locator("#text").fill("float s[32][33]; s[threadIdx.x][threadIdx.w]")
    assert verdict(page) == "This cannot be counted yet"
    assert page.locator("#said").inner_text().startswith("Column 33: unknown name threadIdx.w")
    line, under = page.locator("#verdict pre").inner_text().split("\n")
    assert line[under.index("^") : under.rindex("^") + 1] == "threadIdx.w"
    assert page.locator("#text").get_attribute("aria-invalid") == "true"
    page.locator("#text").fill("float s[32][33]; s[threadIdx.x][threadIdx.x]")
    assert page.locator("#text").get_attribute("aria-invalid") == "false"
    assert page.locator("#verdict pre").is_hidden()


def figures(page: Any) -> dict[str, str]:
    return dict(
        zip(
            page.locator("#figures dt").all_inner_texts(),
            page.locator("#figures dd").all_inner_texts(),
            strict=True,
        )
    )


def test_controls_change_what_is_counted(explored: Any) -> None:
    page = explored()
    assert figures(page) == {
        "phases": "1", "wavefronts": "32", "ideal": "1", "excessive": "31", "bank conflicts": "31",
        "cycles": "32",
    }  # fmt: skip
    page.locator("#pad").fill("1")
    assert figures(page)["wavefronts"] == "1"
    page.locator("#pad").fill("2")
    assert figures(page)["wavefronts"] == "2"
    page.locator("#layout-reset").click()
    page.locator("#bits").fill("5")
    page.locator("#shift").fill("5")
    assert page.locator("#swizzle-out").inner_text() == "Sw<5,0,5>"
    assert figures(page)["wavefronts"] == "1"
    page.locator("#layout-reset").click()
    page.locator("#lanes button").nth(3).click()
    assert figures(page)["wavefronts"] == "31"
    assert page.locator("#mask-out").inner_text() == "0xfffffff7"
    page.locator("#type").select_option("half")
    assert page.locator("#text").input_value() == "half s[32][32]; s[threadIdx.x][threadIdx.y]"
    assert figures(page)["wavefronts"] == "16"
    page.locator("#op").select_option("STS.U16")
    assert "STS.U16, as written" in page.locator("#before figcaption h3").inner_text()
    page.locator("#bx").fill("16")
    assert page.locator("#warps button").count() == 16
    page.locator("#block-auto").click()
    assert page.locator("#warps button").count() == 32


def test_a_block_that_cannot_be_is_refused_without_a_place(explored: Any) -> None:
    page = explored()
    page.locator("#bx").fill("64")
    said = page.locator("#said")
    assert said.inner_text() == "Here is a block of 2048 threads (accepted: 1 to 1024)."
    assert page.locator("#verdict pre").is_hidden()
    page.locator("#bx").fill("16")
    assert verdict(page).endswith("1 is enough")
    ask(page, "half t[64][64]; &t[lane][0]", op="LDSM.16.M88.4", block="40")
    assert "40 threads, which leaves lanes of LDSM.16.M88.4 inactive" in said.inner_text()


def test_all_warps_count_and_the_worst_is_shown(explored: Any) -> None:
    page = explored("float s[64][32]; s[tid % 32 * (warp == 2)][tid % 32 * (warp != 2)]")
    page.locator("#bx").fill("128")
    assert verdict(page).startswith("32-way")
    said = page.locator("#warps span").inner_text()
    assert (
        said == "4 warps, 35 wavefronts and 31 bank conflicts in all; the worst, warp 2, is shown."
    )
    page.locator("#warps button").nth(1).click()
    assert verdict(page).startswith("Conflict-free")


def test_a_link_brings_back_the_state(explored: Any) -> None:
    page = explored()
    page.locator("#text").fill("float4 s[64][8]; s[lane / 2][0] // 100% & #1 + <b>")
    page.locator("#pad").fill("1")
    page.locator("#lanes button").nth(0).click()
    page.locator("input[value=documented]").check()
    page.wait_for_url(re.compile("rule=documented"))  # an address may not change too often
    link = page.evaluate("location.href")
    before = (verdict(page), figures(page))
    explored("float s[32]; s[lane]")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("html[data-shown]")
    assert page.locator("#text").input_value().endswith("// 100% & #1 + <b>")
    assert (verdict(page), figures(page)) == before
    assert page.locator("input[value=documented]").is_checked()


@pytest.mark.parametrize("fragment", [
    "text=%E0%A4%A", "text=s[lane]&pad=99&swizzle=9,9,9,9&mask=zz&block=0x0&op=DROP&rule=x&warp=-1",
    "text=%3Cscript%3Ewindow.hacked%3D1%3C/script%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E",
    "pad=1", "=&&=", "text=" + "(" * 5000, "text=s[lane]&block=1x1x1x1", "text=s[lane]&warp=31",
])  # fmt: skip
def test_no_link_breaks_the_page(explored: Any, fragment: str) -> None:
    page = explored("float s[32]; s[lane]")
    follow(page, fragment)
    assert verdict(page)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    page.locator("#examples button").first.click()
    assert verdict(page).startswith("32-way")


def test_cures_can_be_tried_and_copied(explored: Any) -> None:
    page = explored()
    cards = page.locator(".cure")
    assert cards.locator("h3").all_inner_texts() == ["Padding: +1 column", "Swizzle: Sw<5,0,5>"]
    assert cards.locator("header span").all_inner_texts() == [
        "4,224 bytes (+128)",
        "4,096 bytes (no more)",
    ]
    assert cards.locator("code").all_inner_texts() == [
        "float s[32][33]; s[threadIdx.x][threadIdx.y]",
        "float s[32][32]; s[threadIdx.x][threadIdx.y ^ threadIdx.x]",
    ]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cards.nth(1).get_by_text("Copy").click()
    copied = "navigator.clipboard.readText()"
    assert page.evaluate(copied) == "float s[32][32]; s[threadIdx.x][threadIdx.y ^ threadIdx.x]"
    cards.nth(0).get_by_text("Try it").click()
    assert verdict(page).startswith("Conflict-free")
    page.locator("#copy").click()
    assert page.evaluate(copied) == "float s[32][33]; s[threadIdx.x][threadIdx.y]"
    page.locator("#link").click()
    assert "pad=1" in page.evaluate(copied)


def test_a_lane_is_marked_everywhere(explored: Any) -> None:
    page = explored("float s[64][32]; *(float4*)&s[lane][warp * 4]")
    page.locator("#map .cell").nth(5).hover()
    marked = page.locator(".marked").evaluate_all(
        "all => all.map((each) => each.dataset.lanes.trim())"
    )
    assert len(marked) == 5  # the chip, the map, memory, and memory under both cures
    assert set(marked) == {"5"}
    said = page.locator("#tell").inner_text()
    assert (
        said
        == "Lane 5 is thread (5, 0, 0): s[5][0], byte 640, word 160, bank 0; phase 0, wavefront 5."
    )
    page.locator("#lanes button").nth(9).focus()
    assert page.locator(".marked").first.get_attribute("data-lanes") == " 9 "


def focused(page: Any) -> str:
    at: str = page.evaluate("document.activeElement.id || document.activeElement.textContent")
    return at


def test_the_keyboard_reaches_everything(explored: Any) -> None:
    page = explored("float s[64][32]; *(float4*)&s[lane][warp * 4]")
    page.locator("#pad").fill("4")
    page.locator("#bx").fill("64")
    page.evaluate("document.activeElement.blur(); document.body.focus()")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        if len(seen) > 5 and seen[-1] == seen[0]:
            break
    wanted = {
        "copy", "link", "theme", "text", "bx", "by", "bz", "type", "op", "pad", "bits", "base",
        "shift", "map", "block-auto", "layout-reset", "0", "All", "Try it", "Copy", "column",
    }  # fmt: skip
    assert wanted <= set(seen), wanted - set(seen)


def test_arrows_step_through_phases_lanes_and_warps(explored: Any) -> None:
    page = explored("float s[64][32]; *(float4*)&s[lane][warp * 4]")
    page.locator("#bx").fill("64")
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tell").inner_text() == "Phase 0, lanes 0\u20137: 8 wavefronts."
    assert page.locator(".phase.dimmed").count() == 3
    page.keyboard.press("ArrowDown")
    assert page.locator("#tell").inner_text() == "Phase 0, wavefront 0: lanes 0."
    page.keyboard.press("ArrowDown")
    assert page.locator("#tell").inner_text() == "Phase 0, wavefront 1: lanes 1."
    page.keyboard.press("Escape")
    assert page.locator(".dimmed").count() == 0
    page.keyboard.press("ArrowLeft")
    assert page.locator("#phases [aria-checked=true]").inner_text() == "3"
    page.locator("#phases [aria-checked=true]").focus()
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "2"
    assert page.locator("#phases [aria-checked=true]").inner_text() == "2"
    page.locator("#lanes button").nth(0).focus()
    page.keyboard.press("ArrowDown")
    assert focused(page) == "16"
    page.keyboard.press("Space")
    assert page.locator("#mask-out").inner_text() == "0xfffeffff"
    assert focused(page) == "16"
    page.locator("#warps [aria-checked=true]").focus()
    page.keyboard.press("ArrowRight")
    assert focused(page) == "1"
    assert page.locator("#warps [aria-checked=true]").inner_text() == "1"


def test_everything_has_a_name(explored: Any) -> None:
    page = explored("float s[64][32]; *(float4*)&s[lane][warp * 4]")
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, input, select, textarea, [tabindex], [role=img]")]
             .filter((each) => !(each.getAttribute("aria-label") || each.labels?.length
               || each.textContent.trim())).map((each) => each.outerHTML)"""
    )
    assert nameless == []
    assert "8-way bank conflict" in page.locator("#map").get_attribute("aria-label")


SIZES = [(1400, 900), (800, 1000), (390, 844)]
LOOKS = [
    {},
    {"text": "float s[64][32]; *(float4*)&s[lane][warp * 4]", "block": "256"},
    {"text": "half t[64][64]; &t[lane % 16][lane / 16 * 8]", "op": "ldmatrix.x4"},
    {"text": "float4 s[32]; s[lane]"},
    {"text": "int bins[64]; bins[lane * lane % 64]", "op": "ATOMS.ADD"},
    {"text": "float s[32]; s[laen" + "x" * 80 + "]"},
]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_and_can_be_read(explored: Any, size: tuple[int, int], scheme: str) -> None:
    page = explored("float s[32]; s[lane]", size=size, scheme=scheme)
    page.locator("#settings").evaluate("settings => { settings.open = true; }")
    for look in LOOKS:
        ask(page, **{"text": COLUMN, **look})
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        small = page.evaluate(
            """[...document.querySelectorAll("body *")].filter((each) => each.children.length === 0
                 && each.textContent.trim() && each.getClientRects().length
                 && !each.closest("script, option, select")
                 && getComputedStyle(each).fontSize !== "0px"
                 && parseFloat(getComputedStyle(each).fontSize) < 10)
               .map((each) => each.outerHTML)"""
        )
        assert small == []
        cut = page.evaluate(
            """[...document.querySelectorAll("h1, h2, h3, p, dt, dd, button, summary, code")]
                 .filter((each) => each.getClientRects().length)
                 .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth
                   && getComputedStyle(each).fontSize !== "0px")
                 .map((each) => [each.outerHTML, each.scrollWidth, each.clientWidth])"""
        )
        assert cut == []


def test_verdict_map_and_cure_are_on_the_first_screen(explored: Any) -> None:
    page = explored("float s[32]; s[lane]")
    for look in LOOKS[:5]:
        page.set_viewport_size({"width": 1400, "height": 900})
        ask(page, **{"text": COLUMN, **look})
        for place in ("#verdict", "#figures", "#map", "#legend", "#cures", "#question"):
            box = page.locator(place).bounding_box()
            assert box["y"] + box["height"] <= 900, (place, look)
        page.set_viewport_size({"width": 800, "height": 1000})
        for place in ("#verdict", "#map", ".cure >> nth=0"):
            box = page.locator(place).bounding_box()
            assert box["y"] + box["height"] <= 1000, (place, look)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_waiting_is_told_by_lightness_and_numbers_can_be_read(explored: Any, scheme: str) -> None:
    page = explored(scheme=scheme)
    colours = page.evaluate(
        """[0, 1, 2, 3, 4, 5].map((k) => { const { backgroundColor, color } =
             getComputedStyle(document.querySelector(`#map .heat-${k}`));
             return [backgroundColor, color]; })"""
    )
    light = [luminance(paper) for paper, _ in colours]
    hotter = light[1:] if scheme == "dark" else light[:0:-1]
    assert hotter == sorted(hotter)  # each further wait is told apart without its hue
    assert all(b / a > 1.2 for a, b in itertools.pairwise(hotter))
    for paper, ink in colours:
        low, high = sorted((luminance(paper), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (paper, ink)


def test_the_theme_follows_the_reader_and_the_button(explored: Any) -> None:
    page = explored(scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(20, 23, 28)"
    page.locator("#theme").click()
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
