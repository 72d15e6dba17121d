"""`bankwise sass`: tables, lines, JSON, pages, exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from simulator.cli import main, watching
from simulator.cli import sass as command
from simulator.cli.commands import cli
from simulator.sass import replay
from simulator.sass.architectures import ARCHITECTURES
from tests.sass_kernels import HERE, needs_compiler, needs_tools

pytestmark = needs_tools

TRANSPOSE = [
    "sass", str(HERE / "cubins" / "transpose.cubin"), "--kernel", "transpose_naive",
    "--grid", "4x4",
    "--block", "32x8", "--arg", "random:f32[128,128]", "--arg", "zeros:f32[128,128]",
    "--arg", "i32=128",
]  # fmt: skip


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout


def test_a_row_an_instruction_or_a_line() -> None:
    table = run(*TRANSPOSE)
    assert "transpose_naive (sm_90), grid 4x4x1, block 32x8x1" in table
    assert re.search(r"0x0270 +LDS +shared +transpose\.cu +16 +128 +4,096 +128", table)
    assert "counts are equal and are used for all 16" in table
    rows = json.loads(run(*TRANSPOSE, "--by", "line", "--format", "json"))["rows"]
    assert [(row["line"], row["wavefronts"]) for row in rows] == [(10, 512), (16, 16384)]
    assert all("opcode" not in row for row in rows)


def test_the_hottest_line_says_why() -> None:
    """Of launches in a file it was said; a launch on the command line left the reader to divide."""
    *_, heading, place = run(*TRANSPOSE).splitlines()
    assert heading == "Most bank conflicts:"
    assert re.search(
        r"15,872 +transpose\.cu:\d+ +transpose_naive  32-way LDS: lanes 0-31 read 32 different",
        place,
    )
    assert "Most bank" not in run(*["transpose_padded" if "naive" in x else x for x in TRANSPOSE])


def test_all_blocks_run_where_outputs_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*TRANSPOSE, "--save-outputs", str(tmp_path))
    given, turned = (np.load(tmp_path / f"argument_{place}.npy") for place in (0, 1))
    assert (turned == given.T).all()
    check = ["--check", f"1={tmp_path / 'argument_1.npy'}"]
    assert "argument 1 equals" in run(*TRANSPOSE, *check)
    assert main([*TRANSPOSE, *check, "--blocks", "sample"]) == 2
    said = capsys.readouterr().err
    assert "--blocks sample with --check: blocks that do not run store nothing" in said
    assert "(accepted with --check: --blocks all, or no --blocks)" in said


def test_help_names_every_architecture() -> None:
    said = run("sass", "--help")
    assert [each.name for each in ARCHITECTURES.values() if each.name not in said] == []


def test_json_and_csv_hold_the_same_rows() -> None:
    found = json.loads(run(*TRANSPOSE, "--format", "json"))
    assert set(found) == {"rows", "totals"}
    assert found["totals"]["bank_conflicts"] == 15872
    assert found["totals"]["sectors"] == found["totals"]["ideal_sectors"] == 4096
    kinds = [(row["opcode"], row["space"], row["unit"]) for row in found["rows"]]
    assert kinds == 4 * [("LDG.E", "global", "lsu")] + [
        *4 * [("STS", "shared", "lsu")], *4 * [("LDS", "shared", "lsu")],
        *4 * [("STG.E", "global", "lsu")],
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(run(*TRANSPOSE, "--format", "csv"))))
    assert [int(row["address"]) for row in rows] == [row["address"] for row in found["rows"]]


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TRANSPOSE) == 0
    assert main([*TRANSPOSE, "--fail-on-conflict"]) == 1
    padded = ["transpose_padded" if word == "transpose_naive" else word for word in TRANSPOSE]
    assert main([*padded, "--fail-on-conflict"]) == 0
    assert main([*TRANSPOSE, "--arch", "sm_1"]) == 2
    assert main(["sass", "nowhere.cu"]) == 2
    assert "nowhere.cu cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--grid", "4*4"], "accepted: 8, 8x8 or 8x8x8"),
        (["--grid", "0"], "Invalid value for --grid: '0' (accepted: 8, 8x8 or 8x8x8, each number"),
        (["--block", "8x0"], "Invalid value for --block: '8x0' (accepted"),
        (
            ["--grid", "99999999999"],
            "'99999999999' (accepted: 8, 8x8 or 8x8x8, each number from 1 to 2147483647)",
        ),
        (["--arg", "nonsense"], "argument 'nonsense' is not known (accepted: random:f32"),
        (["--arg", "i32=3000000000"], "out of range"),
        (["--arg", "i33=3"], "type 'i33'"),
        (["--arg", "zeros:f32[100000,100000]"], "takes 40000000000 bytes"),
        (["--arg", "zeros:f32[0]"], "positive integers"),
        (["--arg", "nowhere.npy"], "nowhere.npy cannot be read: No such file or directory\n"),
        (["--kernel", "transpose"], "no kernel 'transpose'"),
        (["--shared-bytes", "9999999"], "--shared-bytes 9999999, in Python shared_bytes=9999999,"),
    ],
)
def test_what_is_mistyped_is_said(
    option: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TRANSPOSE, *option]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_list_shows_the_kernels() -> None:
    rows = json.loads(run("sass", TRANSPOSE[1], "--list", "--format", "json"))["rows"]
    names = [row["kernel"] for row in rows]
    assert sorted(names) == ["transpose_naive", "transpose_padded", "transpose_swizzled"]
    assert {row["shared_bytes"] for row in rows} == {4096, 4224}


def test_arrays_from_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.ones((128, 128), np.float32))
    words = [str(path) if word.startswith("random") else word for word in TRANSPOSE]
    assert json.loads(run(*words, "--format", "json"))["totals"]["bank_conflicts"] == 15872


@needs_compiler
def test_source_is_shown_with_its_figures(tmp_path: Path) -> None:
    source = (HERE / "cuda" / "transpose.cu").read_text()
    path, page = tmp_path / "turn & turn.cu", tmp_path / "page.html"
    path.write_text(source + "// <script>alert(1)</script>\nint main() { undefined(1); }\n")
    words = [str(path) if word == TRANSPOSE[1] else word for word in TRANSPOSE]
    shown = run(*words, "--html", str(page), "--cdn")
    assert re.search(r"16,384 +15,872 +\d+ +out\[\(to_y", shown)
    text = page.read_text()
    assert "&lt;script&gt;alert" in text
    assert "<script>alert" not in text
    assert "turn &amp; turn.cu" in text


def test_a_page_is_written_as_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cubin, page = tmp_path / "transpose.cubin", tmp_path / "page.html"
    cubin.write_bytes(Path(TRANSPOSE[1]).read_bytes())
    (tmp_path / "transpose.cu").write_text((HERE / "cuda" / "transpose.cu").read_text())
    words = [str(cubin) if word == TRANSPOSE[1] else word for word in TRANSPOSE]
    assert main([*words, "--html", str(page), "--cdn"]) == 0
    assert capsys.readouterr().err == f"Wrote {page}\n"
    html = page.read_text()
    assert "How this was made" in html
    assert 'name="viewport"' in html
    assert "32-way bank conflicts at transpose.cu:16, 97% of the kernel&#x27;s wavefronts" in html
    assert "16,896 wavefronts where 1,024 would be ideal, 15,872 bank conflicts." in html
    told = (
        "1,024 executed, 16,384 wavefronts, 512 ideal, 15,872 excessive, 15,872 bank conflicts,"
        " 2,048 sectors, 2,048 ideal sectors, 32 wavefronts per request"
    )
    assert re.search(rf'data-line="0:16"[^>]*title="{told}"[^>]*><span>16.4k</span>', html)
    assert html.count("0x0270") == 2  # every instruction is in the page, and so are its stalls
    assert main([*words, "--html", str(page), "--cdn"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert page.read_text() == html
    assert main([*words, "--html", str(page), "--cdn", "--force"]) == 0


def test_a_report_has_the_compiled_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(page), shlex.join(TRANSPOSE), "simulate", "--cdn"]) == 0
    html = page.read_text()
    assert "32-way bank conflicts at " in html
    assert "16,896 wavefronts where 1,024 would be ideal" in html
    assert "4x8 warp" in html
    page.unlink()
    assert main(["report", str(page), shlex.join([*TRANSPOSE[:2], "--list"])]) == 2
    assert "--list' has no result to draw" in capsys.readouterr().err
    assert not page.exists()


def test_lines_are_rows_of_csv_too() -> None:
    rows = list(csv.DictReader(io.StringIO(run(*TRANSPOSE, "--by", "line", "--format", "csv"))))
    assert [row["instructions"] for row in rows] == ["8", "8"]
    assert [(row["sectors"], row["ideal_sectors"]) for row in rows] == [("2048", "2048")] * 2


@needs_compiler
def test_compile_errors_keep_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.cu"
    path.write_text("__global__ void k(int *a) {\n  a[0] = nothing;\n}\n")
    assert main(["sass", str(path), "--arg", "zeros:i32[1]"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert any("broken.cu(2): error" in line for line in said)
    assert any(line.strip() == "^" for line in said)
    assert main(["sass", str(path), "--cubin"]) == 2
    assert "is not device code" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "odd", "mode"),
    [
        (["a.cubin", "--warps", "8"], "--num-warps or --warps", "without --triton"),
        (["a.cubin", "--signature", "i32"], "--signature", "without --triton"),
        (["--triton", "a:b", "--kernel", "b"], "--kernel", "with --triton"),
        (["--triton", "a:b", "--block", "64", "--cubin"], "--block, --cubin", "with --triton"),
        (["--triton", "a:b", "--shared-bytes", "0"], "--shared-bytes", "with --triton"),
        (["a.cubin", "--list", "--html", "a.html"], "--html", "with --list"),
        (["a.cubin", "--list", "--grid", "2", "--arg", "i32=1"], "--grid, --arg", "with --list"),
        (["a.cubin", "--list", "--kernel", "a"], "--kernel", "with --list"),
        (["a.cubin", "--list", "--fail-on-conflict"], "--fail-on-conflict", "with --list"),
        (["a.cubin", "--list", "--rule", "documented"], "--rule", "with --list"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    words: list[str], odd: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sass", *words]) == 2
    assert f"bankwise: {odd}: would have no effect {mode}" in capsys.readouterr().err


def test_an_architecture_that_the_code_is_not_for_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*TRANSPOSE, "--arch", "sm_90"]) == 0
    assert main([*TRANSPOSE, "--arch", "sm_80"]) == 2
    assert "transpose.cubin is for sm_90 (accepted: sm_90, or no" in capsys.readouterr().err
    assert main([*TRANSPOSE[:2], "--list", "--arch", "sm_86"]) == 2


# ---- Tensor maps and clusters. -----------------------------------------------------------------
TILES = [
    "sass", str(HERE / "cubins" / "tma_tiles.cubin"), "--kernel", "turn_128", "--grid", "3x2",
    "--block", "128",
]  # fmt: skip


def test_a_tensor_map_is_an_argument_over_an_array_that_has_a_name(tmp_path: Path) -> None:
    outputs = ["--arg", "zeros:f32[2,3,32,64]", "--arg", "zeros:f32[2,3,64,32]"]
    named = ["--array", "a=random:f32[128,96]", "--arg", "tma:a:box=64x32:swizzle=128"]
    table = run(*TILES, *named, *outputs, "--save-outputs", str(tmp_path))
    assert re.search(r"UTMALDG\.2D +both +tma", table)
    assert "bytes copied" in table
    saved = np.load(tmp_path / "argument_0.npy"), np.load(tmp_path / "argument_2.npy")
    assert (saved[0].reshape(2, 64, 3, 32).swapaxes(1, 2) == saved[1]).all()
    at_once = run(*TILES, "--arg", "tma:random:f32[128,96]:box=64x32:swizzle=128", *outputs)
    assert at_once.splitlines()[0] == table.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--arg", "tma:random:f32[128,96]"], "has no box"),
        (["--arg", "tma:random:f32[128,96]:box=64x64:swizzle=128"], "swizzle span"),
        (["--arg", "tma:random:f32[128,96]:box=64:swizzle=128"], "2 integers"),
        (["--arg", "tma:random:f32[128,96]:box=axb"], "box='axb'"),
        (["--arg", "tma:random:f32[128,96]:size=1"], "'size'"),
        (["--arg", "tma:null:box=64"], "is not an array"),
        (["--array", "a=random:f32[4]", "--arg", "tma:b:box=4"], "named arrays: a"),
        (["--array", "a=i32=3"], "each name once"),
        (["--cluster", "2x1"], "multiples"),
        (["--cluster", "2y1"], "2y1"),
    ],
)  # fmt: skip
def test_what_is_no_tensor_map_or_cluster_is_refused(arguments: list[str], says: str) -> None:
    rest = ["--arg", "zeros:f32[2,3,32,64]", "--arg", "zeros:f32[2,3,64,32]"]
    filler = [] if "--arg" in arguments else ["--arg", "tma:random:f32[128,96]:box=64x32"]
    result = CliRunner().invoke(cli, [*TILES, *arguments, *filler, *rest], standalone_mode=False)
    assert result.exception is not None
    assert says in str(result.exception) or says in getattr(result.exception, "message", "")


def test_a_cluster_is_what_the_kernel_requires() -> None:
    table = run(
        "sass", str(HERE / "cubins" / "clusters.cubin"), "--kernel", "split_k", "--grid", "6x2",
        "--block", "256", "--arg", "random:f32[64,128]", "--arg", "random:f32[128,96]",
        "--arg", "zeros:f32[64,96]", "--arg", "i32=96", "--arg", "i32=128", "--cluster", "2",
    )  # fmt: skip
    assert "accesses of warps went to other blocks of their clusters" in table


def test_the_page_and_the_table_say_what_each_unit_takes(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    page = tmp_path / "page.html"
    table = run(
        "sass", str(HERE / "cubins" / "wgmma_rs.cubin"), "--kernel", "gemm_rs", "--grid", "3",
        "--block", "128", "--arg", "tma:random:f16[192,256]:box=64x64:swizzle=128",
        "--arg", "tma:random:f16[64,256]:box=64x64:swizzle=128", "--arg", "zeros:f32[192,64]",
        "--arg", "i32=256", "--html", str(page),
    )  # fmt: skip
    assert "loads, stores and atomics (lsu) 768 (50 %)" in table
    assert "wgmma's operand reads (gmma) 768 (50 %)" in table
    assert (
        "TMA moved 196,608 bytes in 1,536 rows. Its instructions were executed 24 times." in table
    )
    text = page.read_text(encoding="utf-8")
    assert "operand reads (gmma) 768 (50 %)" in text
    assert "gmma" in text


def test_a_log_is_told_what_a_slow_run_waits_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(given: object, *, announce: Callable[[str], None], **launch: object) -> str:
        announce("compiling the moon")
        time.sleep(1.0)
        return "done"

    monkeypatch.setattr(replay, "replay_compiled", slow)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    assert command._replay("x.cu") == "done"
    assert capsys.readouterr().err == "bankwise: compiling the moon …\n"
    monkeypatch.setattr(sys, "__stderr__", None)  # in a program of somebody else's: nothing
    command._replay("x.cu")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("threads", "said"),
    [(1000, ""), (90_000_000, r", \d+ million thread instructions/s")],
)
def test_a_log_is_told_now_and_then_how_far_a_long_run_is(
    threads: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its speed is not said before there is one: the first block may still be compiled."""

    def long(given: object, *, progress: Callable[[int, int, int], None], **more: object) -> None:
        time.sleep(0.25)  # progress that comes sooner is not told
        progress(threads, 3, 16)
        time.sleep(1.0)

    monkeypatch.setattr(replay, "replay_compiled", long)
    monkeypatch.setattr(watching, "_SELDOM", 0.3)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    command._replay("x.cu")
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == second
    assert re.fullmatch(f"bankwise: block 3 of 16({said}) …", first)


def test_saved_arrays_are_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TRANSPOSE, "--save-outputs", str(tmp_path / "out")]
    assert main(words) == 0
    capsys.readouterr()
    (tmp_path / "out" / "argument_0.npy").write_text("mine")
    assert main(words) == 2
    said = capsys.readouterr()
    first = tmp_path / "out" / "argument_0.npy"
    assert f"'{first}' exists already (accepted: another folder, or --force)" in said.err
    assert said.out == ""  # before the replay
    assert first.read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert np.load(first).shape == (128, 128)
    assert main([*TRANSPOSE, "--force"]) == 2


def test_a_launch_that_was_not_given_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRANSPOSE[:4], *TRANSPOSE[6:]]) == 0
    assert capsys.readouterr().err == "bankwise: assumed 1 block, because no --grid was given\n"


def test_kernels_of_a_file_are_those_of_its_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", TRANSPOSE[1]]) == 0
    listed = capsys.readouterr().out
    assert "transpose_naive" in listed
    assert main(["sass", TRANSPOSE[1], "--list"]) == 0
    assert capsys.readouterr().out == listed
