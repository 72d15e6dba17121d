"""`bankwise sass … --time` and `bankwise compare … --time`: text, JSON, refusals."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from simulator.cli import main
from simulator.cli.commands import cli
from simulator.results.schema import schema
from simulator.sass.code.compiling import compile_source
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler, needs_tools
from tests.unit.cli.test_sass import TRANSPOSE

pytestmark = needs_tools

PADDED = ["transpose_padded" if word == "transpose_naive" else word for word in TRANSPOSE]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout


def printed(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--format", "json"))
    Draft202012Validator(schema(arguments[0], strict=True)).validate(found)
    return found


def test_text_says_the_cycles_where_warps_wait_and_what_conflicts_cost() -> None:
    text = run(*TRANSPOSE, "--time", "--chip", "H100")
    first, *_ = text.splitlines()
    assert first == "transpose_naive on H100: grid 4x4x1, block 32x8x1"
    assert re.search(r"\n0x0270 +LDS +transpose\.cu:16 +[\d.]+ +barrier \d+ %, ", text)
    assert re.search(r"\nLimited by the launch itself: [\d,]+ of the cycles", text)
    assert "A larger grid may gain more by a change than this one." in text
    assert max(map(len, text[text.index("\naddress") :].split("\n\n")[0].splitlines())) <= 100
    assert re.search(r"\n\d+ more rows?, each below 1 % of warp cycles: --format csv or json", text)
    assert re.search(
        r"\nAbout [\d,]+ cycles, [\d.]+ µs at 1,980 MHz\."
        r" A measurement should lie between [\d,]+ and [\d,]+",
        text,
    )
    assert re.search(r"\nWithout bank conflicts about [\d,]+ cycles: ×\d\.\d\d\.", text)
    assert text.index("About ") < text.index("\n0x0270") < text.index("Warp cycles are those")
    assert "Warp cycles are those of all warps that one SM runs" in text
    assert "bank conflicts  " not in text  # the columns of conflicts are not beside it


def test_json_holds_every_field_and_every_reason() -> None:
    found = printed(*TRANSPOSE, "--time", "--by", "line")
    totals = found["totals"]
    assert totals["bound_cycles"] <= totals["active_cycles"] < totals["cycles"]
    assert totals["speedup_without_conflicts"] == (
        totals["cycles"] / totals["cycles_without_conflicts"]
    )
    assert totals["limiter"] in totals["pipes"]
    reasons = [name for name in totals["reasons"] if name in found["rows"][0]]
    assert len(reasons) == len(totals["reasons"]) > 10
    for row in found["rows"]:
        assert row["warp_cycles"] == sum(row[name] for name in reasons)


def test_a_chip_without_timing_data_says_so_and_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("simulator.timing.launch_time.machine_of", lambda _: None)
    found = printed(*TRANSPOSE, "--time")
    assert found["totals"]["cycles"] is None
    assert found["totals"]["bound_cycles"] > 0
    assert found["totals"]["notes"][-1].startswith("Its cycles are not known: latencies")
    assert found["rows"] == []


def test_a_long_wait_says_that_the_estimate_compiles_itself_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first time took 36 seconds, and the last that was said was how far the replay is."""
    plain = CompiledReport.time

    def slow(report: CompiledReport, *given: Any) -> Any:
        sleep(0.6)
        return plain(report, *given)

    monkeypatch.setattr(CompiledReport, "time", slow)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    assert main([*TRANSPOSE, "--time"]) == 0
    assert "estimating the time (the first time it compiles itself" in capsys.readouterr().err


@needs_compiler
def test_rows_that_take_little_are_counted_and_lines_have_their_text(tmp_path: Path) -> None:
    """All reasons stood beside each other, 171 columns wide, without the code."""
    text = run(*TRANSPOSE, "--time", "--by", "line")
    table = text[text.index("\nplace") + 1 :].split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 100
    assert table[0].split() == ["place", "warp", "cycles", "%", "mostly"]
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(float *p) {\n  p[threadIdx.x] *= 2;\n}\n")
    given = ["sass", str(source), "--block", "32", "--arg", "zeros:f32[32]", "--time"]
    assert re.search(r"\nk\.cu:2 .* p\[threadIdx\.x\] \*= 2;\n", run(*given, "--by", "line"))


@needs_compiler
def test_what_limits_a_launch_is_a_pipe_or_what_warps_wait_for(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(float *p) { p[threadIdx.x] *= 2; }\n")
    given = ("sass", str(source), "--block", "32", "--arg", "zeros:f32[32000000]", "--time")
    text = run(*given, "--grid", "8000")
    assert re.search(
        r"\nLimited by what warps wait for: \w.* \(.*%\) and \w.* \(.*%\)\. The b", text
    )
    assert re.search(r"\. The busiest pipe is .*, busy \d+% of the time that blocks run\.\n", text)
    loop = "for (int i = 0; i < 999; i++) *p = s[(32 * threadIdx.x + i) % 1024];"
    source.write_text(
        f"__global__ void k(float *p) {{ volatile __shared__ float s[1024]; {loop} }}\n"
    )
    text = run("sass", str(source), "--block", "1024", "--arg", "zeros:f32[1024]", "--time")
    assert "\nLimited by L1 and shared memory's data pipe, busy " in text


@needs_compiler
def test_code_that_an_h100_does_not_run_is_timed_where_it_is_counted(tmp_path: Path) -> None:
    """The count was of an A100, and the time said that an H100 does not run the code."""
    cubin = tmp_path / "k.cubin"
    source = "__global__ void k(float *p) { p[threadIdx.x] *= 2; }"
    cubin.write_bytes(compile_source(source, "sm_80", "k.cu").cubin)
    text = run("sass", str(cubin), "--arg", "zeros:f32[32]", "--time")
    assert " on A100: grid " in text
    assert "No table: where warps wait is not known on A100." in text


def test_what_would_be_ignored_and_what_is_not_known_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*TRANSPOSE, "--time", "--chip", "H1000"]) == 2
    assert "H1000" in capsys.readouterr().err
    assert main([*TRANSPOSE[:2], "--list", "--time"]) == 2
    assert "--time: would have no effect with --list" in capsys.readouterr().err


@pytest.mark.parametrize("rule", [["--rule", "documented"], ["--both-rules"]])
def test_a_time_by_the_documented_rule_is_refused(
    rule: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures of silicon were printed as those of both rules."""
    assert main([*TRANSPOSE, "--time", *rule]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "(accepted: --time without --rule documented and without --both-rules)" in said.err
    assert main([*TRANSPOSE, "--time", "--rule", "silicon"]) == 0


def test_a_comparison_by_time_and_the_documented_rule_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (
        [shlex.join(TRANSPOSE), shlex.join(PADDED), "--rule", "documented"],
        [shlex.join(TRANSPOSE), shlex.join([*PADDED, "--rule", "documented"])],
    ):
        assert main(["compare", *words, "--time"]) == 2
        assert "(accepted: rule silicon, or no time)" in capsys.readouterr().err
        assert main(["compare", *words]) == 0


def test_two_kernels_are_compared_by_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = [shlex.join(TRANSPOSE), shlex.join(PADDED), "--time", "--chip", "H100"]
    found = printed("compare", *words)
    first, second = found["rows"]
    assert first["elapsed_cycles_change"] == 0
    assert first["speedup"] == 1
    assert second["elapsed_cycles"] < first["elapsed_cycles"]
    assert second["elapsed_cycles_change"] == second["elapsed_cycles"] - first["elapsed_cycles"]
    assert second["speedup"] > 1
    text = run("compare", *words)
    cycles = f"{second['elapsed_cycles']:,} cycles instead of {first['elapsed_cycles']:,}, ×"
    assert cycles in text.splitlines()[0]
    assert "times as fast" in text
    slower = [*reversed(words[:2]), *words[2:], "--fail-if-worse"]
    assert main(["compare", *slower]) == 1
    capsys.readouterr()
    assert "elapsed_cycles" not in printed("compare", *words[:2])["rows"][0]


def test_of_several_the_slowest_is_what_the_fastest_is_compared_with() -> None:
    swizzled = [word.replace("transpose_naive", "transpose_swizzled") for word in TRANSPOSE]
    words = [shlex.join(each) for each in (PADDED, TRANSPOSE, swizzled)]
    first = run("compare", *words, "--time", "--chip", "H100").splitlines()[0]
    assert re.search(r"×\d\.\d\d as fast as the slowest", first)


def test_inputs_are_called_by_the_words_that_tell_them_apart() -> None:
    from simulator import compare

    questions = ["float s[32][32]; s[lane][0]", "float s[32][33]; s[lane][0]"]
    found = compare(*questions, names=["sass k.cu -DA=1", "sass k.cu -DA=2"])
    assert found.labels == ["-DA=1", "-DA=2"]
    assert compare(*questions, names=["a b", "a"]).labels == ["a b", "a"]


def test_what_has_no_time_is_not_compared_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "4x8", "2x16", "--time"]) == 2
    assert "4x8 has no time: it is not a compiled kernel (accepted: commands such as" in (
        capsys.readouterr().err
    )


def test_a_page_has_the_time_of_each_kernel(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    page = tmp_path / "page.html"
    text = run(*TRANSPOSE, "--time", "--html", str(page), "--cdn")
    cycles = re.search(r"About ([\d,]+) cycles", text)
    assert cycles is not None
    html = page.read_text(encoding="utf-8")
    assert html.count("<h3>Where the time goes</h3>") == 1
    assert f"{cycles[1]} cycles" in html
    assert 'class="jump" data-line=' in html
