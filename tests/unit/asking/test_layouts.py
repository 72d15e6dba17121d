"""Questions about a layout, and on a chip: the same text everywhere, as `count` has it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts.errors import ExpressionError
from layouts.layout import Layout
from simulator import AddressError, InstructionError, OptionError, count, explain
from simulator.asking.compare import compare
from simulator.cli import main
from simulator.law import counting
from simulator.testing import assert_conflict_free

PLAIN, SWIZZLED = "(64,64):(64,1)", "Sw<3,3,3> o 0 o (64,64):(64,1)"
INDEX = "lane%16, lane/16*8"


def test_the_example_of_the_issue(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--op", "ldmatrix.x4", "--layout", SWIZZLED, "--element", "2", INDEX]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("Conflict-free: its 4 wavefronts are the 4 phases")
    assert "nothing to do" in said
    assert main([*words, "--chip", "A100"]) == 0
    assert "LDSM.16.M88.4 on A100: 4 phases" in capsys.readouterr().out


@pytest.mark.parametrize("op", ["ldmatrix.x4", "stmatrix.x4", "ldmatrix.x2.trans", "LDS.128"])
def test_a_layout_of_matrices_holds_halves_where_nobody_says(op: str) -> None:
    size = 4 if op == "LDS.128" else 2
    assumed, said = (explain(op, INDEX, layout=PLAIN, element=each) for each in (None, size))
    assert assumed.addresses == said.addresses
    assert [cure.text for cure in assumed.cures] == [cure.text for cure in said.cures]
    assert assumed.assumed[0].startswith(f"{size} bytes per element")
    assert ("b16" in str(assumed)) == (size == 2)
    rows = np.arange(32) % 16, np.arange(32) // 16 * 8
    assert counting.count(op, rows, layout=PLAIN).to_dict() == (
        counting.count(op, rows, layout=PLAIN, element=size).to_dict()
    )
    text = counting.count(op, rows, layout="row*72 + col")
    assert text.to_dict() == counting.count(op, rows, layout="row*72+col", element=size).to_dict()


@pytest.mark.parametrize(
    ("chip", "said"),
    [("A100", ("the H200's law for A100: not measured there",)), ("H100", ()), (None, ())],
)
def test_an_answer_says_that_the_law_of_a_chip_is_assumed(
    chip: str | None, said: tuple[str, ...]
) -> None:
    addresses = explain("LDS", [4 * lane for lane in range(32)], chip=chip)
    assert addresses.assumed == said
    asked = explain("float s[32]; s[lane]", block=32, chip=chip)
    assert asked.assumed == said
    assert f"Assumed  {''.join(said)}" in str(asked) if said else "Assumed" not in str(asked)


@given(st.integers(0, 40), st.integers(0, 31), st.booleans())
def test_a_text_is_the_same_as_its_arrays(pad: int, step: int, swizzled: bool) -> None:
    layout = f"(32,64):({64 + pad},1)" if not swizzled else "Sw<3,2,3> o 0 o (32,64):(64,1)"
    lanes = np.arange(32)
    arrays = counting.count("LDS", (lanes, lanes * step % 64), layout=layout)
    text = count("LDS", f"lane, lane*{step}%64", layout=layout)
    assert text.wavefronts.tolist() == [int(arrays.wavefronts)]
    one = explain("LDS", f"lane, lane*{step}%64", layout=layout)
    offsets = Layout.parse(layout)(lanes, lanes * step % 64)
    assert one.addresses == tuple((4 * offsets).tolist())
    assert one.wavefronts == int(arrays.wavefronts)
    assert one.tile is not None


@pytest.mark.parametrize("layout", [PLAIN, "(64,64):(1,64)", "(64,64):(128,1)"])
def test_a_cure_of_a_layout_is_a_layout_that_costs_what_it_says(layout: str) -> None:
    index = "lane%16, lane/16*8" if layout != "(64,64):(1,64)" else "lane%16*8, lane/16*8"
    asked = {"op": "ldmatrix.x4", "addresses": index, "layout": layout, "element": 2}
    if layout == "(64,64):(1,64)":  # rows of a matrix stand along the columns here
        asked = {"op": "LDS", "addresses": "0, lane", "layout": layout, "element": 4}
    one = explain(**asked)
    assert one.bank_conflicts > 0
    assert one.cures
    for cure in one.cures:
        again = count(**{**asked, "layout": cure.text})
        assert int(again.cycles.sum()) == cure.cycles < one.cycles


def test_columns_that_lie_side_by_side_are_laid_row_by_row() -> None:
    one = explain("LDS", "0, lane", layout="(32,32):(1,32)")
    assert [(cure.kind, cure.text) for cure in one.cures] == [("layout", "(32,32):(32,1)")]
    assert "lay as (32,32):(32,1)" in str(one)
    assert "4 bytes per element" in one.assumed


def test_warps_of_a_block_lie_in_a_layout_and_text_of_c_is_one() -> None:
    found = count("LDS", "threadIdx.x, threadIdx.y", layout="row*33 + col", block="32x8")
    assert found.wavefronts.tolist() == [1] * 8
    assert explain("LDS", "lane, 0", layout="row*32 + col").bank_conflicts == 31
    assert_conflict_free("LDS", "threadIdx.x, threadIdx.y", layout="(32,32):(33,1)", block="32x32")


def test_what_a_layout_refuses() -> None:
    with pytest.raises(ExpressionError, match="a layout and an array were given: s"):
        count("LDS", "float s[32][32]; s[lane][0]", layout=PLAIN)
    with pytest.raises(AddressError, match="outside of the tile"):
        count("LDS", "lane*4, 0", layout=PLAIN)
    with pytest.raises(AddressError, match="'lane' is not a row and a column of layout"):
        count("LDS", "lane", layout=PLAIN)
    with pytest.raises(OptionError, match="an expression needs --op"):
        count("lane, 0", layout=PLAIN)


def test_questions_on_a_chip(capsys: pytest.CaptureFixture[str]) -> None:
    question = "extern __shared__ float s[][32]; s[tid + 600][0]"
    assert count(question).wavefronts.tolist() == [32]
    with pytest.raises(AddressError, match="at most 64 KiB"):
        count(question, chip="T4")
    with pytest.raises(ExpressionError, match="up to 65,536"):
        count("float s[64][512]; s[tid][0]", chip="T4")
    with pytest.raises(InstructionError, match="T4 has no"):
        count("cp.async.cg.16", "half t[64][64]; &t[tid][0]", chip="T4")
    assert "LDS on T4:" in str(explain("float s[32][32]; s[tid][0]", chip="T4"))
    assert main(["float s[32][32]; s[tid][0]", "--chip", "T4", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["chip"] for row in rows} == {"T4"}
    assert main(["compare", "float s[32][32]; s[tid][0]", "float s[32][33]; s[tid][0]",
                 "--chip", "T4"]) == 0  # fmt: skip
    assert compare(PLAIN, SWIZZLED, op="ldmatrix.x4", index=INDEX, element=2, chip="T4").worse is (
        False
    )


def test_copies_from_anywhere_and_loops_of_atomics_answer_too() -> None:
    question = "float s[32][32]; s[0][lane]"
    apart = [128 * lane for lane in range(32)]
    copy = explain("cp.async.ca.4", question, sources=apart)
    assert copy.wavefronts == int(count("cp.async.ca.4", question, sources=apart).wavefronts[0])
    assert copy.verdict == f"{copy.wavefronts}-way bank conflict: 32 wavefronts where 1 is enough"
    assert "source bank" in copy.cause
    loop = explain("add.f32", "float s[32]; s[lane/4]", chip="T4")
    assert loop.verdict == (
        "8 wavefronts: up to 4 lanes update one word, and no layout serves them at once"
    )
    assert "4 rounds" in loop.cause
    assert "no layout helps" in str(loop)
    assert "nothing to do" in str(explain("add.f32", "float s[32]; s[lane]"))
    assert (
        loop.wavefronts == counting.count("add.f32", [4 * (k // 4) for k in range(32)]).wavefronts
    )
