"""What all results have in common: text, a notebook's HTML, equality, pickles."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check import packaged
from gpu_check.compare import compare, simulated
from simulator import Access, count, explain, optimize, replay, replay_compiled, simulate, sweep
from simulator.cli import main
from simulator.results.tables import Result, equal
from simulator.results.text import Listing, Table, as_text
from tests.pages import Page
from tests.sass_kernels import HERE, needs_tools

SIZES = {"m": 256, "n": 256, "k": 256}
PAIRS = [8 * (16 * (lane % 2) + lane // 2) for lane in range(32)]
COLUMN = [128 * lane for lane in range(32)]
CUBIN = HERE / "cubins" / "transpose.cubin"


def compiled(kernel: str = "transpose_naive") -> Result:
    zeros = np.zeros((128, 128), np.float32)
    zeros[0, 0] = np.nan
    return replay_compiled(
        CUBIN, kernel=kernel, grid=(4, 4), block=(32, 8), args=[zeros, zeros, np.int32(128)]
    )


def compared(first: int = 0) -> Result:
    measured = packaged("h200_accesses").measurements[first][:20]
    return compare(simulated(measured), measured)


# Each makes a result, and another one that differs.
RESULTS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "simulate": (simulate, lambda: simulate(pad=4)),
    "fragment": (lambda: simulate()["A"], lambda: simulate()["B"]),
    "count": (lambda: count("LDS", [COLUMN] * 3), lambda: count("LDS", [COLUMN] * 2)),
    "explain": (lambda: explain("LDS", COLUMN), lambda: explain("LDS", COLUMN, 1)),
    "replay": (
        lambda: replay("leimao.v02", **SIZES),
        lambda: replay("leimao.v02", **SIZES, form="written"),
    ),
    "sweep": (
        lambda: sweep(simulate, {"pad": range(5)}),
        lambda: sweep(simulate, {"pad": range(6)}),
    ),
    "optimize": (
        lambda: optimize([Access("LDS", "lane,0")], tile="32x32"),
        lambda: optimize([Access("LDS", "lane,0")], tile="32x64"),
    ),
    "comparison": (compared, lambda: compared(1)),
    "measurements": (lambda: compared().measured, lambda: compared(1).measured),  # type: ignore[attr-defined]
}
ALL = [*RESULTS, pytest.param("compiled", marks=needs_tools)]
RESULTS["compiled"] = compiled, lambda: compiled("transpose_padded")


@pytest.mark.parametrize("kind", ALL)
def test_results_are_equal_by_value_also_after_pickling(kind: str) -> None:
    make, other = RESULTS[kind]
    one, again, differs = make(), make(), other()
    assert one is not again
    assert one == again
    assert pickle.loads(pickle.dumps(one)) == again  # noqa: S301 (our own)
    assert one != differs
    assert one != one.to_dict()
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("kind", ALL)
def test_text_and_notebook_say_the_same(kind: str) -> None:
    result = RESULTS[kind][0]()
    text, html = str(result), result._repr_html_()
    assert len(text) < 6_000
    assert "array(" not in text
    assert f"{type(result).__name__}(" not in text
    assert "<table" in html
    assert "<script" not in html
    printed: list[str] = []
    result._repr_pretty_(type("Printer", (), {"text": printed.append}), False)
    assert printed == [text]


@pytest.mark.parametrize(
    ("result", "command"),
    [
        (simulate, "simulate"),
        (lambda: simulate("2x16", pad=(4, 0)), "simulate --warp-shape 2x16 --pad 4,0"),
        (lambda: explain("LDS", "lane*32"), "explain --op LDS lane*32"),
        (lambda: explain("LDS", "lane*32", 0), "explain --op LDS lane*32 --mask 0"),
        (RESULTS["replay"][0], "replay leimao.v02 --m 256"),
        (RESULTS["sweep"][0], "sweep simulate --pad 0..4"),
        (RESULTS["optimize"][0], "optimize --tile 32x32 --access LDS:lane,0"),
        pytest.param(
            compiled,
            f"sass {CUBIN} --kernel transpose_naive --grid 4x4 --block 32x8 --arg"
            " zeros:f32[128,128] --arg zeros:f32[128,128] --arg i32=128",
            marks=needs_tools,
        ),
    ],
)
def test_str_is_what_the_command_prints(
    result: Callable[[], Result], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 0
    # Under the table of a launch, the command names the lines with most conflicts.
    printed, _, lines = capsys.readouterr().out.partition("\nMost bank conflicts:\n")
    assert printed == f"{result()}\n"
    assert lines.count("transpose.cu:16") == lines.count("\n") == (result is compiled)


def test_counts_print_as_the_command_does_but_for_the_instruction(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["count", "--op", "LDS", "tid*32", "--warps", "3"]) == 0
    table, under, *_ = capsys.readouterr().out.split("\n\n")
    assert under == "The worst of 3: 32-way bank conflict: 32 wavefronts where 1 is enough."
    printed = table.replace("-", " ").splitlines()
    counts = count("LDS", [COLUMN] * 3)
    words = [line.replace("op", "").replace("LDS", "").split() for line in printed]
    assert [line.replace("-", " ").split() for line in str(counts).splitlines()] == words


def test_millions_of_counts_print_the_first() -> None:
    text = str(count("LDS", np.zeros((1_000_000, 32), np.int32)))
    assert text.endswith("999,960 more rows: --format csv, json or md shows all.")
    assert text.count("\n") == 44
    assert "total" in text


def test_a_notebook_shows_the_layout_that_was_found() -> None:
    found = optimize([Access("LDS", "lane,0")], tile="32x32")
    html = found._repr_html_()
    assert "Index: row*32 + (col ^ row)" in html
    assert "CuTe: Sw&lt;5,0,5&gt; o 0 o (32,32):(32,1)" in html
    assert "Proved: no layout of any kind does better than 1 cycle" in html


def test_a_report_says_its_access_once_in_a_notebook() -> None:
    html = explain("LDS", COLUMN)._repr_html_()
    assert html.count("LDS, silicon rule: 32 wavefronts (1 ideal), 31 bank conflicts.") == 1
    assert html.count("lanes 0-31 read different words of bank 0") == 1


ARRAYS = st.builds(
    np.array,
    st.one_of(st.lists(st.floats(width=32)), st.lists(st.integers(-9, 9)), st.lists(st.booleans())),
)
VALUES = st.recursive(
    st.one_of(ARRAYS, st.none(), st.text(max_size=2), st.floats(), st.integers()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_equality_within_arrays_lists_and_mappings(first: Any, second: Any) -> None:
    assert equal(first, pickle.loads(pickle.dumps(first)))  # noqa: S301 (our own)
    assert equal(first, second) is equal(second, first)
    if equal(first, second):
        assert repr(first).replace("-0.0", "0.0") == repr(second).replace("-0.0", "0.0") or (
            "." in repr(first) + repr(second)  # 1 == 1.0
        )


def test_notebooks_show_a_table_and_coloured_cells_without_javascript() -> None:
    explanation = explain("LDS.64", PAIRS)
    html = explanation._repr_html_()
    page = Page(html)
    assert page.count("script") == 0
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    served = [a for t, a in page.tags if t == "td" and "background" in (a.get("style") or "")]
    words = len(explanation.to_dict()["served"]["word"])
    assert sum(int(attributes.get("colspan") or 1) for attributes in served) == words
    assert "banks 0-1, words 32-33, lane 1" in {attributes["title"] for attributes in served}
    both = Page(simulate("2x16")._repr_html_())
    assert both.count("script") == 0
    assert both.count("table") == 3


def test_wide_figures_beside_a_source_line_do_not_touch() -> None:
    wide = {"wavefronts": 34_135_924_736, "bank_conflicts": 17_751_924_736}
    listing = Listing("k.cu", ["first", "", "third"], {1: wide, 3: dict.fromkeys(wide, 0)})
    _, heading, first, _, third = as_text(Table([], {}, listings=[listing])).splitlines()
    assert first.split() == ["34,135,924,736", "17,751,924,736", "1", "first"]
    assert third.split() == ["0", "0", "3", "third"]
    width = len(first.partition("first")[0])
    assert third.index("third") == width
    assert first.index(" 17,751,924,736") == heading.index("wavefronts") + len("wavefronts") + 1


def test_a_bar_in_a_text_ends_no_cell_of_markdown() -> None:
    table = Table([{"text": "t[N | 1]", "bank_conflicts": 3}], {})
    *_, row = as_text(table, markdown=True).splitlines()
    assert row.replace(" ", "") == "|t[N\\|1]|3|"
    assert "t[N | 1]" in as_text(table)
