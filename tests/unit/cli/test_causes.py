"""What `bankwise sass` says of the lines with most bank conflicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from simulator.cli import causes
from simulator.cli.commands import cli
from tests.sass_kernels import needs_compiler, needs_tools

pytestmark = [needs_tools, needs_compiler]

WAYS = """__global__ void k(float4* a, int* b) {
    __shared__ float4 s[32][32];
    __shared__ int v[1024];
    s[threadIdx.x][0] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[0][threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = atomicCAS(&v[0], 1, b[threadIdx.x]);
    b[threadIdx.x] = atomicCAS(&v[threadIdx.x * 32], 2, b[threadIdx.x]);
}
int main() {
    float4* a; int* b;
    cudaMalloc(&a, 512); cudaMalloc(&b, 128);
    k<<<1, 32>>>(a, b);
}
"""
LOOP = """__global__ void k(float* a, int n) {
    __shared__ float s[256];
    float sum = 0;
    for (int i = 0; i < n; i++) {
        s[threadIdx.x] = sum;
        __syncthreads();
        sum += s[(2 * threadIdx.x + i) & 255];
        __syncthreads();
    }
    a[threadIdx.x] = sum;
}
int main() { float* a; cudaMalloc(&a, 1024); k<<<64, 256>>>(a, 4000); }
"""


def said_of(file: Path) -> str:
    """Return what is said of its lines with most bank conflicts."""
    result = CliRunner().invoke(cli, ["sass", str(file)], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout.partition("Most bank conflicts:")[2]


def test_a_way_is_a_wavefront_of_the_access_as_in_the_figures_of_explain(tmp_path: Path) -> None:
    (tmp_path / "ways.cu").write_text(WAYS)
    said = said_of(tmp_path / "ways.cu")
    assert re.search(
        r"ways\.cu:4 +k  32-way STS\.128 \(4-way at best\): in phase 0, lanes 0-7", said
    )
    assert re.search(r"ways\.cu:8 +k  64-way ATOMS\.CAS: lanes 0-31 update the same word", said)
    assert re.search(r"ways\.cu:9 +k  64-way ATOMS\.CAS \(2-way at best\): lanes 0-31", said)


def test_a_launch_that_runs_again_at_once_has_causes_and_a_longer_one_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had none, without a word, where more than 20 million thread instructions ran."""
    (tmp_path / "loop.cu").write_text(LOOP)
    said = said_of(tmp_path / "loop.cu")
    assert re.search(r"loop\.cu:7 +k  2-way LDS: lanes \d", said)
    monkeypatch.setattr(causes, "_MOST_WORK", 20_000_000)
    said = said_of(tmp_path / "loop.cu")
    assert "loop.cu:7  k  cause not looked for: a second run of this launch takes long" in said
    monkeypatch.undo()
    monkeypatch.setattr("simulator.asking.kernel.worst_accesses", lambda _: {})
    said = said_of(tmp_path / "loop.cu")
    assert "loop.cu:7  k  cause not found among the accesses that were looked at" in said


def test_of_a_copy_the_lanes_are_named_that_go_one_after_the_other(tmp_path: Path) -> None:
    """There was "1 phase of 32 wavefronts" alone."""
    (tmp_path / "copy.cu").write_text("""#include <cuda_pipeline.h>
__global__ void k(const float *a, float *b) {
    __shared__ float s[32][32];
    __pipeline_memcpy_async(&s[threadIdx.x][0], &a[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[threadIdx.x] = s[threadIdx.x][0];
}
int main() {
    float *a, *b; cudaMalloc(&a, 128); cudaMalloc(&b, 128);
    k<<<1, 32>>>(a, b);
}
""")
    said = said_of(tmp_path / "copy.cu")
    assert re.search(
        r"copy\.cu:4 +k  32-way LDGSTS\S*: one after the other, lanes 0-31 at destination bank 0\n",
        said,
    )
