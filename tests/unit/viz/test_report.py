"""The report: one file, whole or not at all, safe for any text."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import (
    Access,
    explain,
    instruction,
    kernels,
    optimize,
    replay,
    replay_compiled,
    simulate,
)
from simulator.cli import main
from simulator.errors import OutputError
from simulator.results.files import save
from tests.pages import Page
from tests.sass_kernels import HERE, needs_tools
from viz import DrawError, ReportError, report

PAIRS = [8 * (16 * (lane % 2) + lane // 2) for lane in range(32)]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)><!-- \u2028 &lt;b&gt;\"'"


def of_every_kind() -> list[Any]:
    sizes = {"m": 1024, "n": 1024, "k": 1024}
    return [
        explain("LDS.64", PAIRS),
        simulate("2x16", lane_order="row-major"),
        replay("junstar92.2d", **sizes),
        {"pad": [0, 1], "wavefronts": [32, 1]},
        {"cycles": [1, 2], "measured_cycles": [1.0, 2.5]},
    ]


def test_a_page_has_the_verdict_the_figures_the_sentences_and_the_pictures() -> None:
    explanation = explain("LDS.64", PAIRS)
    page = Page(report(explanation, command="bankwise explain ..."))
    text = "\n".join(page.texts)
    assert page.texts.count(explanation.verdict) == 2  # of the browser's tab, and the heading
    assert text.index(explanation.verdict) < text.index(explanation.cause)
    for sentence in explanation.sentences[1:]:
        assert sentence in text
    figures = [a.get("title") for t, a in page.tags if t == "div" and a.get("title")]
    assert [title for title in figures if title and "Wavefronts Shared" in title] == [
        "Wavefronts Shared: wavefronts",
        "Wavefronts Shared Ideal: wavefronts",
        "Wavefronts Shared Excessive: wavefronts",
    ]
    assert "bankwise explain ..." in text
    assert re.search(r"plotly [\d.]+, numpy [\d.]+, Python 3", text)
    assert page.figures["figures"] == []  # none needs Plotly
    kinds = [str(attributes["class"]).split()[1] for tag, attributes in page.tags
             if tag == "table" and "picture" in str(attributes.get("class"))]  # fmt: skip
    assert kinds == ["banks", "memory"]


def test_a_picture_has_a_cell_for_every_word_that_is_served() -> None:
    explanation = explain("LDS.64", PAIRS)
    page = Page(report(explanation))
    shown: set[tuple[int, int, int]] = set()
    row, bank = (0, 0), 0
    for tag, attributes in page.tags:
        if tag == "tr" and "data-wavefront" in attributes:
            row = int(str(attributes["data-phase"])), int(str(attributes["data-wavefront"]))
            bank = 0
        elif tag == "table":
            row, bank = (-1, -1), 0
        elif tag == "td" and row[0] >= 0:
            span = int(attributes.get("colspan") or 1)
            if "data-lanes" in attributes:
                shown |= {(*row, each) for each in range(bank, bank + span)}
            bank += span
            assert bank <= 32
    served = explanation.to_dict()["served"]
    places = zip(served["phase"], served["wavefront"], served["bank"], strict=True)
    assert shown == set(places)


def test_a_question_has_its_cures_beside_it_with_their_code() -> None:
    answer = explain("float s[32][32]; s[threadIdx.x][threadIdx.y]")
    page = Page(report(answer))
    text = page.texts
    assert "float s[32][32]; s[threadIdx.x][threadIdx.y]" in text
    for cure in answer.cures:
        assert cure.text in text
    assert text.count("Copy") == len(answer.cures) == 2
    assert sum("banks" in str(a.get("class")) for t, a in page.tags if t == "table") == 3
    assert len(report(answer)) < 150_000
    free = Page(report(explain("float s[32][33]; s[threadIdx.x][threadIdx.y]")))
    assert "Nothing to do." in free.texts


def test_a_report_begins_with_a_table_that_links_to_its_parts() -> None:
    page = Page(report(*of_every_kind(), cdn=True))
    links = [a["href"] for t, a in page.tags if t == "a"]
    parts = [a["id"] for t, a in page.tags if t == "section"]
    assert links == [f"#{part}" for part in parts]
    assert len(parts) == 5
    first = page.texts.index("verdict")
    assert first < page.texts.index("cure") < page.texts.index(explain("LDS.64", PAIRS).cause)


def test_every_kind_of_result_has_its_figures() -> None:
    found = Page(report(*of_every_kind(), cdn=True)).figures["figures"]
    assert [figure["id"].partition("-")[0] for figure in found] == [
        "kernel_bars",
        "sweep_heatmap",
        "parity",
    ]


def test_two_of_a_kind_are_compared() -> None:
    both = [explain("LDS", range(0, 4096, 128), rule=rule) for rule in ("silicon", "documented")]
    page = Page(report(*both))
    sections = [t for t, _ in page.tags].count("section")
    assert sections == 3
    assert any("documented rule" in text for text in page.texts[: page.texts.index("As given")])
    assert [t for t, _ in Page(report(*both, compare=False)).tags].count("section") == 2
    kernels = [replay(f"junstar92.{name}", m=256, n=256, k=256) for name in ("2d", "vectorized")]
    first, *others = Page(report(*kernels, cdn=True)).figures["figures"]
    title = first["figure"]["layout"]["meta"]["bankwise"]["title"]
    assert "junstar92.2d" in title
    assert "junstar92.vectorized" in title
    assert len(others) == 2


@needs_tools
def test_kernels_that_have_nothing_in_common_are_not_compared() -> None:
    """The page of two kernels began with one's wavefronts "instead of" the other's."""
    given = np.zeros((32, 32), np.float32)
    one, other = (
        replay_compiled(
            HERE / "cubins" / "transpose.cubin", kernel=kernel, grid=1, block=(32, 8),
            args=[given, given.copy(), np.int32(32)],
        )
        for kernel in ("transpose_naive", "transpose_padded")
    )  # fmt: skip
    files = ["b.cu"] * len(other.instructions["file"])
    apart = replace(other, instructions={**other.instructions, "file": files})
    again = replace(apart, kernel=one.kernel)
    for second, compared in ((other, True), (apart, False), (again, True)):
        both, each = (
            [tag for tag, _ in Page(report(one, second, compare=compare, cdn=True)).tags]
            for compare in (True, False)
        )
        assert both.count("section") - each.count("section") == compared


def test_the_same_results_give_the_same_bytes() -> None:
    assert report(*of_every_kind()) == report(*of_every_kind())


@pytest.mark.parametrize("name", kernels.names())
def test_a_kernels_page_is_small_and_soon_there(name: str) -> None:
    start = time.perf_counter()
    result = replay(name, m=4096, n=4096, k=4096)
    assert len(report(result).encode()) <= 6_000_000
    assert time.perf_counter() - start < 5
    assert len(report(result, cdn=True).encode()) <= 300_000


def test_no_text_becomes_markup() -> None:
    table = {f"pad{EVIL}": [EVIL, "1"], f"lds{EVIL}": ["0", EVIL], "wavefronts": [1, 2]}
    checked = {"op": [EVIL, "LDS"], "cycles": [1, 2], "measured_cycles": [1, 3]}
    inputs = [*of_every_kind(), table, checked]
    page, plain = (
        Page(report(*inputs, title=text, command=text, cdn=True)) for text in (EVIL, "plain")
    )
    # As many tags as without the script, and no attribute that runs anything.
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert page.count("img") == 0
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.texts.count(EVIL) >= 3  # the title twice, the command
    # In figures Plotly reads tags: there they are entities, but in plain data.
    sweep, parity = page.figures["figures"][-2:]
    assert "<" not in sweep["figure"]["layout"]["title"]["text"].replace("<br>", "")
    assert "<" not in sweep["figure"]["layout"]["xaxis"]["title"]["text"]
    assert not [t for t in sweep["figure"]["layout"]["yaxis"]["ticktext"] if "<" in t]
    hover = sweep["figure"]["data"][0]["customdata"]
    tags = {tag for line in hover for cell in line if cell for tag in re.findall("<[^>]*>", cell)}
    assert tags <= {"<b>", "</b>", "<br>"}
    for trace in parity["figure"]["data"]:
        assert "<" not in trace["name"]


def test_text_that_is_no_unicode_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = os.path.join(os.fsencode(tmp_path), b"\xffz.html")
    assert main(["simulate", "--html", os.fsdecode(place), "--cdn"]) == 0
    assert "Wrote" in capsys.readouterr().err
    with open(place, encoding="utf-8") as file:
        assert "/\ufffdz.html" in file.read()
    lone = "\ud800 \\ud800 \U0001f600"
    table = {f"a{lone}": [lone, 2], f"b{lone}": [lone, 3], "wavefronts": [1, 2]}
    html = report(table, title=lone, command=lone, file=tmp_path / "page.html", cdn=True)
    page = Page(html)
    shown = "\ufffd \\ud800 \U0001f600"
    assert page.texts.count(shown) >= 3
    drawn = json.dumps(page.figures, ensure_ascii=False)
    drawn.encode()
    assert page.figures["figures"][0]["figure"]["layout"]["xaxis"]["ticktext"][0] == shown


def test_a_page_says_nothing_twice() -> None:
    sweep, comparison = of_every_kind()[-2:]
    for results in ([sweep], [comparison], [sweep, comparison]):
        page = Page(report(*results, cdn=True))
        for drawn in page.figures["figures"]:
            said = drawn["figure"]["layout"]["meta"]["bankwise"]["title"]
            # A page on one result also has it in <title>, which only the browser's tab shows; one
            # on several in the table that it begins with.
            assert page.texts.count(said) == 2


def test_the_page_asks_for_nothing_and_allows_no_other_script() -> None:
    page = Page(report({"pad": [0, 1], "wavefronts": [32, 1]}))
    loaded = [a for _, a in page.tags if {"src", "href"} & set(a) and a.get("href") != "data:,"]
    assert not loaded
    (policy,) = (a["content"] for t, a in page.tags if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    small = Page(report({"pad": [0, 1], "wavefronts": [32, 1]}, cdn=True))
    (loaded,) = (a for t, a in small.tags if t == "script" and "src" in a)
    assert str(loaded["src"]).startswith("https://cdn.plot.ly/plotly-")
    assert str(loaded["integrity"]).startswith("sha256-")


def test_a_page_of_an_optimum_has_the_layout_and_carries_no_plotly() -> None:
    found = optimize([Access("LDS", "lane, 0")], tile="32x32")
    html = report(found)
    page = Page(html)
    for said in found.sentences[1:]:
        assert said in page.texts
    assert "cycles before" in page.texts
    assert page.texts.count("Copy") == 1
    assert len(html) < 80_000
    assert page.count("script") == 3  # the figures, none, what sets the theme, what marks lanes


def test_a_page_of_another_kind_is_refused(tmp_path: Path) -> None:
    for name in ("page.md", "page.png", b"page.pdf"):
        place = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
        with pytest.raises(ReportError, match="and a page is HTML"):
            report(explain("LDS", PAIRS), file=place, cdn=True, force=True)  # type: ignore[arg-type]
    assert files(tmp_path) == []
    for name in ("page.HTML", "page.htm", "page"):
        report(explain("LDS", PAIRS), file=tmp_path / name, cdn=True)
    assert files(tmp_path) == ["page", "page.HTML", "page.htm"]


def test_an_instruction_of_ones_own_is_reported() -> None:
    own = replace(instruction("LDS.64"), name="MINE", aliases=())
    page = Page(report(explain(own, PAIRS)))
    assert any(text.startswith("MINE ") for text in page.texts)


def test_nothing_to_report_is_refused() -> None:
    with pytest.raises(DrawError, match="nothing to report"):
        report()
    with pytest.raises(DrawError, match="int is not a table"):
        report(3)
    with pytest.raises(DrawError, match="hold no outcome"):
        report({"pad": [1]})


# Writing


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_whole_with_the_rights_of_a_file(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    html = report(explain("LDS", PAIRS), file=place, cdn=True)
    assert place.read_text(encoding="utf-8") == html
    assert files(tmp_path) == ["page.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(place.stat().st_mode) == 0o666 & ~mask


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    place.write_text("mine")
    with pytest.raises(ReportError, match=r"page.html' exists already .*--force"):
        report(explain("LDS", PAIRS), file=place, cdn=True)
    assert place.read_text() == "mine"
    link = tmp_path / "link.html"
    link.symlink_to(place)
    report(explain("LDS", PAIRS), file=link, cdn=True, force=True)
    assert link.is_symlink()
    assert place.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("none/page.html", "there is no folder"),
        (".", "is not a file"),
        ("/dev/null", "is not a file"),
        ("/proc/page.html", "cannot be written"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(place: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=said):
        report(explain("LDS", PAIRS), file=tmp_path / place, cdn=True, force=True)
    assert files(tmp_path) == []


def test_links_in_a_circle_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, other = tmp_path / "page.html", tmp_path / "other.html"
    place.symlink_to(other)
    other.symlink_to(place)
    with pytest.raises(OutputError, match=r"page.html' is a link that leads nowhere"):
        save(place, lambda file: file.write_text("never"))
    with pytest.raises(OutputError, match=r"page.html' is a link that leads nowhere"):
        report(explain("LDS", PAIRS), file=place, cdn=True, force=True)
    assert main(["simulate", "--html", str(place)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert files(tmp_path) == ["other.html", "page.html"]


def test_a_disk_that_is_full_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "page.html"
    place.write_text("mine")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        report(explain("LDS", PAIRS), file=place, cdn=True, force=True)
    assert place.read_text() == "mine"
    assert files(tmp_path) == ["page.html"]
