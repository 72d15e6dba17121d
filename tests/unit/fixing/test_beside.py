"""Fixes of lines that other launches are compiled from: none of them may become worse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.cli import main
from simulator.fixing.beside import kernel_names
from simulator.fixing.launched import launched_beside
from simulator.fixing.patch import patch_of
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

SOURCE = """template <int PAD> __global__ void turn(const float *in, float *out) {
    __shared__ float tile[32][32 + PAD];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
    float *a, *b;
    cudaMalloc(&a, 4096), cudaMalloc(&b, 4096);
    turn<0><<<1, dim3(32, 32)>>>(a, b);
    turn<OTHER><<<1, dim3(32, 32)>>>(a, b);
}
"""
HARMED = (
    "tile[32][32 + PAD + 1]: it removes 992 bank conflicts of turn<0>, but turn<1> is compiled from"
    " the same lines, and goes from 0 to 32 bank conflicts, and from 64 to 96 wavefronts"
)


def written(folder: Path, other: str) -> Path:
    path = folder / "turn.cu"
    path.write_text(SOURCE.replace("OTHER", other))
    return path


def replayed(path: Path, kernel: str = "turn<0>") -> CompiledReport:
    return replay_compiled(
        path, kernel=kernel, grid=1, block=(32, 32),
        args=[np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)],
    )  # fmt: skip


def test_a_padding_that_harms_another_instantiation_is_not_proposed(tmp_path: Path) -> None:
    path = written(tmp_path, "1")
    report, other = replayed(path), replayed(path, "turn<1>")
    (alone,) = report.fixes()
    assert alone.text == "tile[32][32 + PAD + 1]"
    (fix,) = report.fixes([report, other])
    assert (fix.text, fix.after) == ("", fix.before)
    assert HARMED in fix.why
    patch = patch_of([report, other])
    assert patch.diff == ""
    assert patch.left[0].startswith("turn<0>, tile: not proposed: ")


def test_a_padding_that_helps_all_instantiations_is_proposed(tmp_path: Path) -> None:
    path = written(tmp_path, "32")
    report, other = replayed(path), replayed(path, "turn<32>")
    for one, both in (report, [report, other]), (other, [report, other]):
        (fix,) = one.fixes(both)
        assert (fix.text, fix.after.bank_conflicts) == ("tile[32][32 + PAD + 1]", 0)
    assert [each.bank_conflicts for each in patch_of([report, other]).reports] == [0, 0]


def test_instantiations_that_the_source_launches_are_found(tmp_path: Path) -> None:
    path = written(tmp_path, "1")
    found, missing = launched_beside([replayed(path)])
    assert ([each.title for each in found], missing) == (["turn<1>"], [])
    assert launched_beside([replayed(path), *found]) == ([], [])
    unknown = SOURCE.replace("OTHER", "1").replace("cudaMalloc(&b, 4096)", "cudaMalloc(&b, n)")
    path.write_text(unknown.replace("int main()", "int start(int n)"))
    found, missing = launched_beside([replayed(path)])
    assert found == []
    assert missing[0].startswith("turn<1> has the same lines, and was not run: ")


@pytest.mark.parametrize("other", ["1", "32"])
def test_the_command_names_each_kernel_and_fails_where_no_patch_helps(
    tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, other)
    assert main(["sass", str(path), "--fix"]) == 0
    shown = capsys.readouterr().out
    assert "What to change in turn<0>" in shown
    harms = other == "1"
    assert (HARMED in shown) == harms
    assert main(["sass", str(path), "--fix-diff"]) == int(harms)
    result = capsys.readouterr()
    if harms:
        assert result.out == ""
        assert "Nothing to fix in turn<1>" in shown
        assert "nothing was changed in the source, and 992 bank conflicts are left" in result.err
    else:
        for kernel in ("turn<0>", "turn<32>"):
            said = f"{kernel} compiled and replayed: 992 -> 0 bank conflicts, equal outputs"
            assert said in result.err


def test_a_launch_of_one_instantiation_is_checked_on_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = ("--kernel", "turn<0>", "--block", "32x32", "--arg", "random:f32[1024]", "--arg",
              "zeros:f32[1024]")  # fmt: skip
    assert main(["sass", str(written(tmp_path, "1")), *launch, "--fix"]) == 0
    assert HARMED in capsys.readouterr().out


def test_launches_of_one_kernel_are_told_apart(tmp_path: Path) -> None:
    path = written(tmp_path, "1")
    one, other = replayed(path), replayed(path, "turn<1>")
    assert kernel_names([one, other]) == ["turn<0>", "turn<1>"]
    assert kernel_names([one, one])[0] == "turn<0> (grid 1x1x1, block 32x32x1)"


def test_a_kernel_with_default_arguments_of_its_template_is_tried_once(tmp_path: Path) -> None:
    path = written(tmp_path, "1")
    head = "template <int PAD, int MORE = 0> __global__"
    path.write_text(path.read_text().replace("template <int PAD> __global__", head))
    reports = [replayed(path, f"turn<{pad}>") for pad in (0, 1)]
    assert launched_beside(reports) == ([], [])
