"""`--layout` of the commands: what `optimize` prints is what the others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import simulate
from simulator.cli import main

SWIZZLED = "Sw<3,3,3> o 0 o (64,64):(64,1)"
INDEX = "lane%16, lane/16*8"


def run(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    code = main([*args, "--format", "json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main([*args]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("layout", "conflicts"),
    [
        (SWIZZLED, 0),
        ("Sw<3,4,3>_smem_ptr[16b](0x0) o (_64,_64):(_64,_1)", 0),
        ("row*64 + (col ^ ((row & 7) << 3))", 0),
        ("64x64: #ttg.swizzled_shared<{vec=8, perPhase=1, maxPhase=8, order=[1, 0]}>", 0),
        ("row*64 + col", 28),
    ],
)
def test_count_and_explain_read_rows_and_columns(
    layout: str, conflicts: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--op", "ldmatrix.x4", "--layout", layout, "--element", "2", INDEX]
    assert run(capsys, "count", *options)["totals"]["bank_conflicts"] == conflicts
    assert run(capsys, "explain", *options)["totals"]["bank_conflicts"] == conflicts


def test_what_optimize_prints_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    access = ["--access", "LDS: lane, i", "--access", "STS: i, lane", "--loop", "i=32"]
    for free in (
        ["--free", "pad=0..32"],
        ["--free", "swizzle"],
        ["--free", "pad=1", "--free", "swizzle"],
    ):
        found = run(capsys, "optimize", "--tile", "32x32", *access, *free)["totals"]["optimum"]
        assert found["cost"] == 64
        for text in filter(None, (found["expression"], found["notation"])):
            for op, index in (("LDS", "lane, 7"), ("STS", "7, lane")):
                asked = ["--op", op, "--layout", text, index]
                assert run(capsys, "count", *asked)["totals"]["bank_conflicts"] == 0


def test_optimize_says_why_cute_has_no_notation(capsys: pytest.CaptureFixture[str]) -> None:
    space = ["--free", "pad=1", "--free", "swizzle=Sw<1,0,5>"]
    assert main(["optimize", "--tile", "32x32", "--access", "LDS: 0, lane", *space]) == 0
    assert "CuTe: no notation. CuTe's swizzles move offsets" in capsys.readouterr().out


def test_simulate_reads_one_layout_or_a_pair(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = simulate(layout=(None, "row*132 + col")).totals()
    for pair in ("A=none,B=row*132 + col", "none;row*132 + col"):
        assert run(capsys, "simulate", "--layout", pair)["totals"] == wanted
    both = run(capsys, "simulate", "--layout", "(8,128):(132,1)")
    assert both["totals"] == simulate(pad=4).totals()
    pair = "(A=none,B=(8,128):(132,1)),none"
    rows = run(capsys, "sweep", "simulate", "--layout", pair)["rows"]
    assert len(rows) == 2


def test_a_page_shows_the_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    options = ["--op", "ldmatrix.x4", "--layout", SWIZZLED, "--element", "2", INDEX]
    assert main(["explain", *options, "--html", str(page)]) == 0
    assert "a row of the tile begins" in page.read_text(encoding="utf-8")


def test_a_caret_stands_under_the_fault(capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(capsys, "count", "--op", "LDS", "--layout", "(32,32:(32,1)", "lane, 0")
    _, shown, caret = text.splitlines()
    assert shown[caret.index("^")] == ":"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["count", "--op", "LDS", "--layout", "(32,32):(32,1)", "lane + 1, 0"],
         "lane 31 is at row 32"),
        (["count", "--op", "LDS", "--layout", "(32,32):(32,1"], "--layout: for an expression"),
        (["count", "--op", "LDS", "--layout", "(32,32):(32,1", "lane, 0"], "expected ',' or ')'"),
        (["count", "--op", "LDS", "--layout", "row*", "lane, 0"], "expression ends too early"),
        (["simulate", "--layout", "(8,128):(128,1)", "--pad", "4"], "and padding 4"),
        (["simulate", "--layout", "A=(8,128):(128,1)"], "expected a shape"),
    ],
)  # fmt: skip
def test_refusals(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    assert message in refused(capsys, *args)
