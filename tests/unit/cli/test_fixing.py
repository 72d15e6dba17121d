"""`bankwise sass … --fix`, `--fix-diff` and `--write`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simulator.cli.commands import cli, main
from simulator.sass.report import CompiledReport
from tests.sass_kernels import HERE, needs_compiler

pytestmark = needs_compiler

SOURCE = """constexpr int N = 32;
__global__ void turn(const float *in, float *out) {
    __shared__ float tile[N][N];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
    float *a, *b;
    cudaMalloc(&a, N * N * 4), cudaMalloc(&b, N * N * 4);
    turn<<<1, dim3(32, 32)>>>(a, b);
}
"""
LAUNCH = ["--kernel", "turn", "--block", "32x32", "--arg", "random:f32[1024]", "--arg",
          "zeros:f32[1024]"]  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "turn.cu"
    path.write_text(SOURCE)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["sass", *map(str, arguments)])


def test_fix_says_below_the_table_what_to_change(source: Path) -> None:
    result = run(source, *LAUNCH, "--fix")
    assert result.exit_code == 0, result.output
    table, _, fixes = result.stdout.partition("What to change\n")
    assert "LDS" in table
    assert "tile: write tile[N][N + 1]. 992 → 0 bank conflicts" in fixes
    assert "Or write tile[row][col ^ row]" in fixes


def test_fix_as_json_stands_in_the_totals(source: Path) -> None:
    found = json.loads(run(source, *LAUNCH, "--fix", "--format", "json").stdout)
    (fix,) = found["totals"]["fixes"]
    assert (fix["totals"]["array"], fix["totals"]["text"]) == ("tile", "tile[N][N + 1]")
    assert fix["lines"]["bank_conflicts_before"] == [0, 992]
    assert fix["lines"]["bank_conflicts"] == [0, 0]


def test_a_kernel_without_conflicts_has_nothing_to_fix() -> None:
    result = run(
        HERE / "cubins" / "transpose.cubin", "--kernel", "transpose_padded", "--grid", "4x4",
        "--block", "32x8", "--arg", "random:f32[128,128]", "--arg", "zeros:f32[128,128]",
        "--arg", "i32=128", "--fix",
    )  # fmt: skip
    assert result.stdout.rstrip().endswith("Nothing to fix: no bank conflicts in shared memory.")


@pytest.mark.parametrize("launch", [[], LAUNCH], ids=["its own launches", "a launch"])
def test_fix_diff_prints_a_diff_alone(source: Path, launch: list[str]) -> None:
    result = run(source, *launch, "--fix-diff")
    lines = result.stdout.splitlines()
    assert [line for line in lines if line[:1] in "+-"] == [
        f"--- {source}", f"+++ {source}",
        "-    __shared__ float tile[N][N];", "+    __shared__ float tile[N][N + 1];",
    ]  # fmt: skip
    assert all(line[0] in "+-@ " for line in lines)
    assert "turn compiled and replayed: 992 -> 0 bank conflicts, equal outputs" in result.stderr
    assert source.read_text() == SOURCE


def test_outputs_do_not_tell_about_lines_that_no_lane_came_by(source: Path) -> None:
    last = "    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];\n"
    more = "    if (in[0] > 9) out[threadIdx.x] = (&tile[0][0])[N + threadIdx.x];\n"
    source.write_text(SOURCE.replace(last, last + more))
    diff = run(source, "--fix-diff").stderr
    assert "equal outputs (they do not tell about line 7: no lane came by)" in diff
    said = run(source, *LAUNCH, "--fix").stdout
    assert "same outputs. They do not tell about line 7: no lane came by with this data." in said
    source.write_text(SOURCE)
    assert "tell about" not in run(source, "--fix-diff").stderr


def test_write_changes_the_file_and_then_there_is_nothing_left(source: Path) -> None:
    assert run(source, "--fix-diff", "--write").exit_code == 0
    assert source.read_text() == SOURCE.replace("tile[N][N];", "tile[N][N + 1];")
    again = run(source, "--fix-diff", "--write")
    assert again.stdout == ""
    assert "nothing was changed in the source" in again.stderr


@pytest.mark.parametrize(
    ("head", "ends"),
    [
        ("// Zeile\x0cü\u2028\n".encode(), b"\n"),
        ("\ufeff// ü\n".encode(), b"\r\n"),
        (b"// \xfc\n", b"\n"),
        (b"// two\r\n\n", b"\n"),
    ],
    ids=["marks that end no line", "as Windows has it", "Latin-1", "both line ends"],
)
def test_a_diff_applies_whatever_encoding_and_line_ends_a_file_has(
    source: Path, head: bytes, ends: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (head + SOURCE.encode()).replace(b"\n", ends).replace(b"\r\r", b"\r")
    source.write_bytes(text)
    monkeypatch.chdir(source.parent)
    diff = run(source, "--fix-diff").stdout_bytes
    subprocess.run(["git", "apply", "-"], input=diff, check=True, cwd=source.parent)
    fixed = text.replace(b"tile[N][N];", b"tile[N][N + 1];")
    assert source.read_bytes() == fixed
    source.write_bytes(text)
    assert run("turn.cu", "--fix-diff", "--write").stdout_bytes == diff
    assert source.read_bytes() == fixed


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--write"], "--write needs --fix-diff"),
        (["--fix-diff", "--fix"], "--fix-diff prints a diff alone"),
        (["--fix-diff", "--format", "json"], "--fix-diff prints a diff alone"),
        (["--fix", "--format", "csv"], "--fix has sentences"),
        (["--fix", "--format", "json"], "--fix of all launches of a file is text"),
        (["--list", "--fix"], "--fix"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    source: Path, options: list[str], problem: str
) -> None:
    result = run(source, *options)
    assert result.exit_code == 2
    assert problem in result.stderr


SLOWER = """__global__ void k(const float *in, float *out) {
    __shared__ float s[64][64];
    __shared__ int t[64][64];
    __shared__ int u[64][64];
    int x = threadIdx.x;
    for (int i = 0; i < 64; i++) {
        s[i][x] = in[i * 32 + x]; s[i][x + 32] = in[i + x];
        t[i][x] = (i * 7 + x * 3) % 64; t[i][x + 32] = (i + x) % 64;
        u[i][x] = (i + 5 * x) % 64; u[i][x + 32] = i;
    }
    __syncthreads();
    float z = 0;
    for (int i = 0; i < 64; i++) z += s[u[x][0]][1] * i + s[x][t[x][u[x][i]]];
    out[x] = z;
}
"""


def test_a_slower_change_is_left_and_does_not_block_another(source: Path) -> None:
    """It was written, and that of `s`, whose subscript holds it, was not."""
    source.write_text(SLOWER)
    launch = ["--grid", "1", "--block", "32", "--arg", "random:f32[4096]", "--arg",
              "zeros:f32[64]"]  # fmt: skip
    said = run(source, *launch, "--fix").stdout
    assert "u: leave it. To write u[row][col ^ " in said
    assert "u: write " not in said
    assert "s: write s[row][col ^ (row & 31)]" in said
    result = run(source, *launch, "--fix-diff", "--write")
    assert "u: left as it is: with u[row][col ^ ((row & 7) << 2)] it is slower" in result.stderr
    assert "s[i][x ^ (i & 31)]" in source.read_text()
    assert "u[i][x] = " in source.read_text()


def test_a_change_that_gains_nothing_is_written_and_said_to(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was said."""
    monkeypatch.setattr("simulator.fixing.fix._gain", lambda *_: 1.004)
    result = run(source, *LAUNCH, "--fix-diff")
    assert "+    __shared__ float tile[N][N + 1];" in result.stdout
    said = r"equal outputs\. Predicted on H100: .* ×1\.00, not worth changing \(the launch itself"
    assert re.search(rf"{said} takes most of it: a larger grid may gain more\)\.", result.stderr)


def test_a_diff_says_what_is_gained_by_it(source: Path) -> None:
    """It said so only where nothing was."""
    said = run(source, *LAUNCH, "--fix-diff").stderr
    found = re.search(r"Predicted on H100: ([\d,]+) → ([\d,]+) cycles, ×(\d\.\d+)\.", said)
    assert found is not None
    before, after = (int(each.replace(",", "")) for each in found.groups()[:2])
    assert float(found[3]) == pytest.approx(before / after, abs=0.005)
    assert before > after


def test_a_log_is_told_that_changes_are_tried(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one waits for the estimate to compile itself: a minute without a word."""

    def slow(report: CompiledReport, beside: object = ()) -> list[object]:
        time.sleep(0.6)
        return []

    monkeypatch.setattr(CompiledReport, "fixes", slow)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    assert main(["sass", str(source), *LAUNCH, "--fix"]) == 0
    assert "bankwise: trying changes, and timing them" in capsys.readouterr().err
