"""Exit codes for CI: --fail-on-conflict, --fail-on-excess, and launches that cannot be replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.cli import main
from tests.sass_kernels import needs_compiler, needs_tools

BAD = "float s[32][32]; s[threadIdx.x][threadIdx.y]"
GOOD = "float s[32][33]; s[threadIdx.x][threadIdx.y]"
FUSED = "128*(lane/16) + 8*(lane/2%8)"  # with LDS.64: a conflict that costs nothing
KERNEL = """__global__ void turn(float* out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void fine(float* out) {
  __shared__ float row[32];
  row[threadIdx.x] = 1;
  out[threadIdx.x] = row[31 - threadIdx.x];
}
int main(int argc, char** argv) {
  float* a;
  cudaMalloc(&a, 4096);
  fine<<<1, 32>>>(a);
  LAUNCH
}
"""


@pytest.mark.parametrize(
    ("words", "conflict", "excess"),
    [
        (("explain", BAD), 1, 1),
        ((BAD,), 1, 1),
        ((GOOD,), 0, 0),
        (("count", BAD), 1, 1),
        (("count", "--op", "LDS.64", "--element", "1", FUSED), 1, 0),
        (("explain", "--op", "LDS.64", "--element", "1", FUSED), 1, 0),
        (("simulate", "--warp-shape", "2x16"), 1, 0),
        (("simulate", "--warp-shape", "4x8"), 0, 0),
        (("replay", "leimao.v07", "--m", "512"), 1, 1),
    ],
    ids=str,
)
def test_conflicts_that_cost_nothing_are_no_excess(
    words: tuple[str, ...], conflict: int, excess: int
) -> None:
    assert main(list(words)) == 0
    assert main([*words, "--fail-on-conflict"]) == conflict
    assert main([*words, "--fail-on-excess"]) == excess
    assert main([*words, "--fail-on-conflict", "--fail-on-excess"]) == conflict


def test_the_rule_decides(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["count", "--op", "LDS.64", "--element", "1", FUSED, "--compare"]
    assert main([*words, "--fail-on-conflict"]) == 1
    assert main([*words, "--fail-on-conflict", "--rule", "documented"]) == 0


def test_optimize_fails_where_the_best_conflicts() -> None:
    access = ["optimize", "--fail-on-conflict", "--access"]
    assert main([*access, BAD]) == 0
    assert main([*access, "LDS: lane*ld", "--free", "ld=32,64"]) == 1


def test_a_report_fails_where_an_input_does(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    page = str(tmp_path / "r.html")
    inputs = ["simulate", "simulate --warp-shape 2x16"]
    assert main(["report", page, *inputs]) == 0
    assert main(["report", page, *inputs, "--force", "--fail-on-conflict"]) == 1
    assert main(["report", page, inputs[0], "--force", "--fail-on-conflict"]) == 0
    assert main(["report", page, "compare 4x8 2x16", "--force", "--fail-on-conflict"]) == 0


@needs_tools
@needs_compiler
def test_a_launch_that_is_not_replayed_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.cu"
    path.write_text(KERNEL.replace("LAUNCH", "turn<<<1, atoi(argv[1])>>>(a);"))
    for flags in ([], ["--fail-on-conflict"], ["--fail-on-excess"], ["--format", "json"]):
        assert main(["sass", str(path), *flags]) == 2
        said = capsys.readouterr()
        assert "values that are not known" in said.err
        assert said.err.endswith(
            "1 of 2 launches could not be replayed, and may have bank conflicts\n"
        )
        assert "fine" in said.out
    assert main(["sass", str(path), "--kernel", "fine", "--fail-on-conflict"]) == 0
    path.write_text(KERNEL.replace("LAUNCH", "turn<<<1, dim3(32, 32)>>>(a);"))
    assert main(["sass", str(path)]) == 0
    assert main(["sass", str(path), "--fail-on-excess"]) == 1
    assert main(["sass", str(path), "--list", "--fail-on-excess"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [(["-V"], "bankwise "), (["version"], "bankwise "), (["help"], "Usage: bankwise [OPTIONS]"),
     (["help", "check"], "Usage: bankwise check")],
)  # fmt: skip
def test_words_that_people_try(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(said)
