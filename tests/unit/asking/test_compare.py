"""Comparisons: figures are those of the inputs, differences those of the first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simulator import AddressError, OptionError, compare, count, explain, replay, simulate
from simulator.cli import main
from tests.sass_kernels import HERE, needs_tools

CONFLICT = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
PADDED = "float s[32][33]; s[threadIdx.x][threadIdx.y]"
PLAIN, SWIZZLED = "(64,64):(64,1)", "Sw<3,3,3> o 0 o (64,64):(64,1)"
MATRIX = {"op": "ldmatrix.x4", "index": "lane%16, lane/16*8", "element": 2}


def test_questions() -> None:
    found = compare(CONFLICT, PADDED)
    first, second = found.rows()
    counts = count(CONFLICT).totals(), count(PADDED).totals()
    for row, total in zip((first, second), counts, strict=True):
        for name in ("wavefronts", "ideal", "excessive", "bank_conflicts", "cycles"):
            assert row[name] == total[name]
            if f"{name}_change" in row:
                assert row[f"{name}_change"] == row[name] - first[name]
    assert (first["input"], second["input"]) == (CONFLICT, PADDED)
    assert not found.worse
    assert compare(PADDED, CONFLICT).worse
    assert not compare(PADDED, PADDED).worse
    assert compare(PADDED, PADDED).verdict.startswith("No difference: 32 wavefronts, 0 bank")


def test_the_text_is_one_screen_with_two_pictures() -> None:
    lines = str(compare(CONFLICT, PADDED)).splitlines()
    assert lines[0] == f"{PADDED}: 32 wavefronts instead of 1,024, 0 bank conflicts"
    assert len(lines) <= 24
    assert sum(line.startswith("words ") for line in lines) == 2
    html = compare(CONFLICT, PADDED)._repr_html_()
    assert html.count("<pre>") == 2
    assert "<script" not in html


def test_layouts() -> None:
    found = compare(PLAIN, SWIZZLED, **MATRIX)
    assert [row["wavefronts"] for row in found.rows()] == [32, 4]
    assert [row["bank_conflicts"] for row in found.rows()] == [28, 0]
    # The layout says where the elements lie; so does a declaration.
    declared = count("ldmatrix.x4", "half t[64][64]; &t[lane%16][lane/16*8]")
    assert found.rows()[0]["wavefronts"] == int(declared.wavefronts.sum())
    with pytest.raises(OptionError, match="is a layout, and needs the access that reads it"):
        compare(PLAIN, SWIZZLED)
    with pytest.raises(AddressError, match="at row 1, column 0, outside of the tile 1x64"):
        compare("(64):(1)", "(64):(1)", **MATRIX)


def test_geometries_and_results() -> None:
    found = compare("4x8", "2x16", simulate("8x4"), names=["a", "b", "c"])
    wavefronts = [simulate(shape).wavefronts for shape in ("4x8", "2x16", "8x4")]
    assert [row["wavefronts"] for row in found.rows()] == wavefronts
    assert [row["input"] for row in found.rows()] == ["a", "b", "c"]
    assert found.worse  # 2x16 has conflicts that cost nothing, and 4x8 has none
    addresses = [[128 * lane for lane in range(32)], [132 * lane for lane in range(32)]]
    found = compare(count("LDS", addresses), explain("LDS", addresses[1]))
    assert [row["wavefronts"] for row in found.rows()] == [33, 1]


def test_kernels() -> None:
    size = {"m": 256, "n": 256, "k": 256}
    before, after = replay("leimao.v06", **size), replay("leimao.v07", **size)
    found = compare(before, after, names=["v06", "v07"])
    totals = [each.totals()["all"] for each in (before, after)]
    assert [row["wavefronts"] for row in found.rows()] == [each["wavefronts"] for each in totals]
    assert "cycles" not in found.rows()[0]
    longest = [max(line.count("#") for line in one.picture) for one in found.inputs]
    assert max(longest) == 32  # one scale for both


@needs_tools
def test_compiled_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    launch = "--grid 4x4 --block 32x8 --arg zeros:f32[128,128] --arg zeros:f32[128,128]"
    commands = [
        f"sass {HERE / 'cubins' / 'transpose.cubin'} --kernel {kernel} {launch} --arg i32=128"
        for kernel in ("transpose_naive", "transpose_padded")
    ]
    assert main(["compare", *commands, "--format", "json"]) == 0
    naive, padded = json.loads(capsys.readouterr().out)["rows"]
    assert padded["wavefronts_change"] == padded["wavefronts"] - naive["wavefronts"]
    assert padded["wavefronts"] < naive["wavefronts"]
    assert padded["bank_conflicts"] == 0 < naive["bank_conflicts"]


def test_what_has_no_common_scale_is_refused() -> None:
    with pytest.raises(OptionError, match="they have no common scale"):
        compare(CONFLICT, "4x8")
    with pytest.raises(OptionError, match="cannot be compared"):
        compare(CONFLICT, 7)
    with pytest.raises(OptionError, match="3 names for 2 inputs"):
        compare(CONFLICT, PADDED, names=["a", "b", "c"])


def test_task_g_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", CONFLICT, PADDED]) == 0
    assert capsys.readouterr().out == f"{compare(CONFLICT, PADDED)}\n"
    options = ["--op", "ldmatrix.x4", "--index", "lane%16, lane/16*8", "--element", "2"]
    assert main(["compare", PLAIN, SWIZZLED, *options, "--fail-if-worse"]) == 0
    assert main(["compare", SWIZZLED, PLAIN, *options, "--fail-if-worse"]) == 1
    capsys.readouterr()
    assert main(["compare", "4x8", "simulate --pad 4", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][1]["wavefronts"] == simulate(pad=4).wavefronts
    assert shown["totals"] == {"worse": False}
    for words, problem in (
        ([CONFLICT], "only one input was given"),
        (["4x8", "schema"], "is not a command with a report"),
        (["4x8", "ops"], "ops, a Table, cannot be compared"),
        (["4x8", "simulate --compare"], "has 2 results"),
        ([CONFLICT, PADDED, "--rule", "x"], "unknown rule 'x'"),
    ):
        assert main(["compare", *words]) == 2
        assert problem in capsys.readouterr().err


def test_a_page_of_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["compare", CONFLICT, PADDED, "--html", str(page), "--cdn"]) == 0
    assert "32 wavefronts" in page.read_text()
    both = tmp_path / "both.html"
    inputs = ["explain 'float4 s[32]; s[lane]'", f"compare '{CONFLICT}' '{PADDED}'"]
    assert main(["report", str(both), *inputs, "--cdn"]) == 0
    assert "LDS.128" in both.read_text()  # the first input is still there


def test_each_warp_of_a_layout_is_counted() -> None:
    found = compare("(64,64):(64,1)", "(64,64):(65,1)", op="LDS", index="lane, warp", block=64)
    assert [row["wavefronts"] for row in found.rows()] == [64, 2]
    assert isinstance(found.inputs[0].result.warps.wavefronts, np.ndarray)


def test_comparing_is_imported_when_it_is_asked_for() -> None:
    code = "import simulator, sys; print('simulator.asking.compare' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"


def test_a_padding_and_a_swizzle_of_equal_cost_differ_in_bytes_and_operations() -> None:
    """'No difference' was said of them."""
    padded, swizzled = "(128,32):(40,1)", "Sw<2,3,3> o 0 o (128,32):(32,1)"
    found = compare(padded, swizzled, **MATRIX)
    assert found.verdict == (
        "Equal costs: 4 wavefronts, 0 bank conflicts each; but 10,240 and 8,192 bytes, 0 and 3"
        " operations per index"
    )
    assert [row["array_bytes"] for row in found.rows()] == [10240, 8192]
    assert [row["operations"] for row in found.rows()] == [0, 3]
    assert [row["array_bytes"] for row in compare(CONFLICT, PADDED).rows()] == [4096, 4224]
    assert "array_bytes" not in compare(PADDED, "float s[][33]; s[0][lane]").rows()[0]
