"""Assertions on kernels, and what pytest records of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simulator.errors import BankwiseError, CheckError
from simulator.testing import assert_kernel_conflict_free
from simulator.testing.kernels import KernelGuard
from tests.sass_kernels import needs_compiler, needs_tools
from tests.unit.testing.test_asserts import run_pytest

pytestmark = [needs_tools, needs_compiler]

KERNEL = """__global__ void turn(const float* in, float* out, int n) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
  float *a, *b;
  cudaMalloc(&a, 4096);
  cudaMalloc(&b, 4096);
  turn<<<1, dim3(32, 32)>>>(a, b, 32);
}
"""
FREE = KERNEL.replace("[32][32]", "[32][33]")
PROJECT = """
def test_turn(assert_kernel_conflict_free):
    assert_kernel_conflict_free("k.cu")

def test_again(assert_kernel_conflict_free):
    for grid in (1, 2):
        assert_kernel_conflict_free(
            "k.cu", kernel="turn", grid=grid, block=(32, 32), blocks="all",
            args=["zeros:f32[1024]", "zeros:f32[1024]", "i32=32"])
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)
    return path


def test_a_failure_names_the_line(kernel: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_kernel_conflict_free(kernel)
    assert str(caught.value) == (
        "k.cu: turn: k.cu:5: 992 bank conflicts (accepted: 0) (LDS: 32-way). Write"
        " tile[32][33]: 992 -> 0 bank conflicts, equal outputs.\n"
        "    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];"
    )
    kernel.write_text(FREE)
    assert_kernel_conflict_free(kernel)


def test_a_launch_of_ones_own(kernel: Path) -> None:
    launch = {
        "kernel": "turn", "grid": 1, "block": (32, 32), "define": {"UNUSED": 1},
        "args": [np.zeros((32, 32), np.float32), "zeros:f32[32,32]", np.int32(32)],
    }  # fmt: skip
    with pytest.raises(AssertionError, match="992 bank conflicts"):
        assert_kernel_conflict_free(kernel, **launch)  # type: ignore[arg-type]
    assert_kernel_conflict_free(kernel, limits={"ways": 32}, **launch)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"32-way \(accepted: at most 31\)"):
        assert_kernel_conflict_free(kernel, limits={"ways": 31}, **launch)  # type: ignore[arg-type]


def test_a_line_may_be_allowed_more(kernel: Path) -> None:
    last = "tile[threadIdx.x][threadIdx.y];"
    kernel.write_text(KERNEL.replace(last, f"{last}  // bankwise: allow 32-way"))
    assert_kernel_conflict_free(kernel)


def test_what_cannot_be_replayed_is_not_an_assertion(kernel: Path) -> None:
    with pytest.raises(CheckError, match=r"there is no file 'none.cu'"):
        assert_kernel_conflict_free(kernel.parent / "none.cu")
    with pytest.raises(BankwiseError, match="turn"):
        assert_kernel_conflict_free(kernel, kernel="trun")
    with pytest.raises(CheckError, match=r"conflict.*accepted: conflicts: an integer of 0 or"):
        assert_kernel_conflict_free(kernel, limits={"conflict": 0})
    with pytest.raises(TypeError, match="has no argument 'grids': "):
        assert_kernel_conflict_free(kernel, grids=3)
    with pytest.raises(CheckError, match="the key block is missing"):
        assert_kernel_conflict_free(kernel, grid=3)


@pytest.mark.slow
def test_a_baseline_in_a_project(kernel: Path) -> None:
    folder = kernel.parent
    (folder / "test_kernel.py").write_text(PROJECT)
    baseline = ("-B", "--bankwise-baseline", "base.json")
    done = run_pytest(folder)
    assert "2 failed" in done.stdout, done.stdout + done.stderr
    assert ">       assert_kernel_conflict_free(" in done.stdout.replace(
        "        assert", "  assert"
    )
    assert "kernels.py" not in done.stdout
    missing = run_pytest(folder, *baseline)
    assert "base.json is missing" in missing.stdout
    assert run_pytest(folder, "-B", "--bankwise-update").returncode == pytest.ExitCode.USAGE_ERROR

    update = run_pytest(folder, *baseline, "--bankwise-update")
    assert update.returncode == 0, update.stdout
    names = sorted(json.loads((folder / "base.json").read_text())["entries"])
    assert names == [
        "test_kernel.py::test_again: k.cu",
        "test_kernel.py::test_again: k.cu #2",
        "test_kernel.py::test_turn: k.cu: turn",
    ]
    assert run_pytest(folder, *baseline).returncode == 0

    kernel.write_text(FREE)
    assert run_pytest(folder, *baseline).returncode == 0
    one = (*baseline, "-k", "turn", "--bankwise-update")
    assert run_pytest(folder, *one).returncode == 0  # the others stay as they were
    assert sorted(json.loads((folder / "base.json").read_text())["entries"]) == names
    kernel.write_text(KERNEL)
    worse = run_pytest(folder, *baseline)
    assert "1 failed, 1 passed" in worse.stdout
    assert "992 bank conflicts instead of the baseline's 0" in worse.stdout


@pytest.mark.slow
def test_processes_of_xdist_record_together(kernel: Path) -> None:
    pytest.importorskip("xdist")
    folder = kernel.parent
    (folder / "test_kernel.py").write_text(PROJECT)
    options = ("-B", "--bankwise-baseline", "base.json", "--bankwise-update", "-n", "2")
    done = run_pytest(folder, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads((folder / "base.json").read_text())["entries"]) == 3


def test_a_damaged_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text("[]")
    with pytest.raises(CheckError, match="is not a baseline"):
        KernelGuard(tmp_path / "base.json")
    with pytest.raises(CheckError, match="is not a baseline"):
        KernelGuard(tmp_path / "base.json", update=True)
