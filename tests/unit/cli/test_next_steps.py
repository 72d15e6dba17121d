"""What a command that cannot be obeyed says of the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.cli import main
from simulator.sass.code.compiling import compile_source
from tests.sass_kernels import HERE, needs_compiler, needs_tools

CUBIN = str(HERE / "cubins" / "transpose.cubin")
LAUNCH = "--grid 4x4 --block 32x8 --arg random:f32[128,128] --arg zeros:f32[128,128] --arg i32=128"


@needs_tools
def test_a_cubin_without_arguments_gives_a_command_to_edit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sass", CUBIN, "--kernel", "transpose_padded"]) == 2
    said = capsys.readouterr().err
    command = (
        f"bankwise sass {CUBIN} --kernel transpose_padded --grid '<grid>' --block '<block>' --arg"
        " '<argument 0: 8 bytes>' --arg '<argument 1: 8 bytes>' --arg '<argument 2: 4 bytes>'"
    )
    assert f"takes 3 arguments, and no --arg was given (next: fill in):\n  {command}" in said
    assert main(["sass", CUBIN, "--list"]) == 0
    assert f"\n  {command}" in capsys.readouterr().out


@needs_tools
@needs_compiler
def test_types_in_a_symbol_are_in_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cubin = tmp_path / "k.cubin"
    source = "struct P { int n; }; __global__ void k(float *p, P q, int n) { p[n] = q.n; }"
    cubin.write_bytes(compile_source(source, "sm_90", "k.cu").cubin)
    assert main(["sass", str(cubin)]) == 2
    arguments = "--arg 'random:f32[<elements of argument 0>]' --arg '{<argument 1: P>}' --arg 'i32"
    assert arguments in capsys.readouterr().err


def test_a_second_file_is_told_of_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sass", "a.cu", "b.cu"]) == 2
    assert "sass takes one FILE (accepted: a command for each; next, to compare two: bankwise" in (
        capsys.readouterr().err
    )


def test_check_of_a_source_gives_the_lines_of_an_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {}")
    assert main(["check", str(source)]) == 2
    assert 'the lines [[kernel]], file = "k.cu" and conflicts = 0' in capsys.readouterr().err
    (tmp_path / "my.toml").write_text("x")
    assert main(["check", str(tmp_path / "my.toml")]) == 2
    assert "[[kernel]]" not in capsys.readouterr().err


@needs_tools
def test_long_commands_have_short_names(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole command stood in front of each row and picture."""
    both = [f"sass {CUBIN} --kernel transpose_{how} {LAUNCH}" for how in ("naive", "padded")]
    assert main(["compare", *both]) == 0
    said = capsys.readouterr().out
    assert said.startswith("transpose_padded: 1,024 wavefronts instead of ")
    assert "\ntranspose_naive " in said
    assert "\ntranspose_naive\n" in said
    assert "--arg" not in said
    assert main(["compare", *both, "--format", "json"]) == 0
    assert both[0] in capsys.readouterr().out
