"""What `--format json` prints is what docs/schema says, command by command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from simulator.cli import main
from simulator.cli.help import COMMANDS
from simulator.results.schema import PRINTED, schema, write_schemas
from tests.sass_kernels import needs_compiler, needs_tools

ROOT = Path(__file__).parents[3]
KERNEL = """template <int N> __global__ void turn(const float* in, float* out) {
  __shared__ float tile[N][N];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
  float *a, *b;
  cudaMalloc(&a, 4096);
  cudaMalloc(&b, 4096);
  turn<32><<<1, dim3(32, 32)>>>(a, b);
}
"""
LAUNCH = ("--kernel", "turn<32>", "--block", "32x32", "--arg", "zeros:f32[1024]", "--arg",
          "zeros:f32[1024]")  # fmt: skip
ASK = "float s[32][32]; s[threadIdx.x][threadIdx.y]"


@pytest.mark.parametrize("command", PRINTED)
def test_the_published_files_are_these(command: str) -> None:
    """`bankwise schema --write docs/schema` writes them anew."""
    published = ROOT / "docs" / "schema" / f"{command}.json"
    assert json.loads(published.read_text()) == schema(command)


def test_every_command_with_json_has_a_schema() -> None:
    from simulator.cli.commands import cli

    printing = []
    for name in COMMANDS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        if any(option.name == "output" for option in command.params):
            printing.append(name)
    assert sorted(printing) == sorted(PRINTED)
    assert sorted(each.stem for each in (ROOT / "docs" / "schema").iterdir()) == sorted(PRINTED)


@pytest.mark.parametrize("command", PRINTED)
def test_a_schema_is_one_and_refuses(command: str) -> None:
    for strict in (False, True):
        Draft202012Validator.check_schema(schema(command, strict=strict))
    for wrong in ([], {}, {"rows": []}, {"rows": [3], "totals": {}}, {"rows": {}, "totals": {}}):
        with pytest.raises(ValidationError):
            Draft202012Validator(schema(command)).validate(wrong)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = main([*words, "--format", "json"])
    said = capsys.readouterr()
    assert code in (0, 1), said.err
    return json.loads(said.out)


def check(command: str, data: Any) -> None:
    Draft202012Validator(schema(command)).validate(data)
    Draft202012Validator(schema(command, strict=True)).validate(data)
    assert data["rows"]


@pytest.mark.parametrize(
    "words",
    [
        ("explain", ASK), ("explain", ASK, "--compare"), ("explain", "--op", "LDS", "lane"),
        ("explain", "--op", "ldmatrix.x4", "--layout", "(64,64):(64,1)", "--element", "2",
         "lane%16, lane/16*8", "--chip", "A100"),
        ("count", ASK), ("count", ASK, "--compare", "--chip", "A100"),
        ("compare", "float s[32][32]; s[tx][0]", "float s[32][33]; s[tx][0]"),
        ("compare", "4x8", "2x16"), ("compare", "leimao.v07", "leimao.v06"),
        ("optimize", "--access", ASK),
        ("optimize", "--kernel", "leimao.v07", "--free", "pad_m=0..8:8"),
        ("optimize", "--fragment", "thread_tile=8x8", "--free", "warp_shape=all"),
        ("optimize", "--access", "LDS: lane*ld", "--free", "ld=32..40"),
        ("simulate",), ("simulate", "--compare", "--chip", "A100"),
        ("replay", "leimao.v07", "--m", "1024"),
        ("replay", "leimao.v07", "--m", "512", "--compare"),
        ("estimate",), ("estimate", "gemm_flops", "m=2", "n=3", "k=4"),
        ("kernels",), ("ops",), ("ops", "--chip", "A100"), ("chips",),
        ("sweep", "simulate", "--warp-shape", "4x8,2x16", "--pad", "0..2"),
        ("gpu-check", "--recorded"), ("gpu-check", "--recorded", "--kernels"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_is_printed_is_what_is_published(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    check(words[0], printed(capsys, *words))


@needs_tools
@needs_compiler
@pytest.mark.parametrize(
    "words", [(), ("--by", "line"), LAUNCH, (*LAUNCH, "--compare"), ("--list",),
              (*LAUNCH, "--fix"), (*LAUNCH, "--fix", "--compare"),
              ("--list", "--kernel", "turn<32>"), (*LAUNCH, "--time", "--by", "line"),
              ("--time", "--by", "line")], ids=" ".join
)  # fmt: skip
def test_compiled_kernels(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    check("sass", printed(capsys, "sass", str(tmp_path / "k.cu"), *words))


def test_a_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "bankwise.toml").write_text(f"[[access]]\nask='{ASK}'\nconflicts = 0\n")
    check("check", printed(capsys, "check", str(tmp_path / "bankwise.toml")))


def test_an_answer_is_part_of_an_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    answer = printed(capsys, "explain", ASK)["totals"]["answer"]
    assert answer["verdict"].startswith("32-way bank conflict")
    assert answer["cures"][0]["text"] == "float s[32][33]"
    assert (answer["level"], answer["block"], answer["no_cure"]) == ("conflict", "32x32x1", "")


def test_json_is_compact(capsys: pytest.CaptureFixture[str]) -> None:
    main(["count", ASK, "--format", "json"])
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 32 + 2
    assert '": ' not in said


def test_the_command_prints_and_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["schema", "explain"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("explain")
    assert main(["schema", "--write", str(tmp_path)]) == 0
    assert sorted(tmp_path.iterdir()) == sorted(write_schemas(tmp_path))
    for words, said in [
        ((), "give a COMMAND, or --write FOLDER (accepted: explain, "),
        (("explain", "--write", "x"), "give a COMMAND, or --write FOLDER"),
        (("explian",), "no JSON of 'explian': did you mean explain?"),
        (("--write", "none/x"), "there is no folder"),
    ]:
        assert main(["schema", *words]) == 2
        assert said in capsys.readouterr().err


@needs_tools
def test_triton_kernels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("triton")
    source = """
import triton, triton.language as tl

@triton.jit
def transpose(src, dst, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    tl.store(dst + cols * n + rows, tl.load(src + rows * n + cols) * 2)
"""
    (tmp_path / "k.py").write_text(source)
    target = ("sass", "--triton", f"{tmp_path / 'k.py'}:transpose")
    check("sass", printed(capsys, *target, "--list"))
    launch = ("--signature", "*fp32,*fp32,i32,64", "--arch", "sm_80", "--arg", "zeros:f32[64,64]",
              "--arg", "zeros:f32[64,64]", "--arg", "i32=64")  # fmt: skip
    check("sass", printed(capsys, *target, *launch))
