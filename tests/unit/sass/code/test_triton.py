"""A Triton kernel compiled for a GPU that is not there, and replayed; skipped without Triton."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled

pytest.importorskip("triton")
pytest.importorskip("elftools")

SOURCE = """
import triton, triton.language as tl

@triton.jit
def transpose(src, dst, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    tl.store(dst + cols * n + rows, tl.load(src + rows * n + cols) * 2)
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_transpose_is_executed_and_counted(tmp_path: Path, arch: str) -> None:
    from simulator.sass.code.triton import compile_kernel

    path = tmp_path / "kernels.py"
    path.write_text(SOURCE, encoding="utf-8")
    compiled = compile_kernel(f"{path}:transpose", "*fp32,*fp32,i32,64", arch, 4)
    data = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    report = replay_compiled(
        compiled.cubin,
        kernel=compiled.kernel,
        grid=1,
        block=128,
        args=[data, np.zeros_like(data), np.int32(64), *compiled.hidden_arguments(1)],
        shared_bytes=compiled.shared_bytes,
    )
    np.testing.assert_array_equal(report.outputs[1], 2 * data.T)
    assert report.totals()["all"]["wavefronts"] >= 2 * 64 * 64 * 4 // 128


GEMM = """
import triton, triton.language as tl

@triton.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_map = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a_map.load([m, k]), b_map.load([k, n]), sums)
    rows, cols = m + tl.arange(0, BM), n + tl.arange(0, BN)
    tl.store(c + rows[:, None] * N + cols[None, :], sums)
"""


def test_a_product_of_its_own_tensor_maps_runs_on_the_default_target(tmp_path: Path) -> None:
    from simulator.sass.code.triton import compile_kernel

    path = tmp_path / "products.py"
    path.write_text(GEMM, encoding="utf-8")
    signature = "*fp16,*fp16,*fp32,i32,i32,i32,64,64,64"
    compiled = compile_kernel(f"{path}:gemm", signature, "sm_90", 4)
    random = np.random.default_rng(2)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((128, 192), (192, 64)))
    report = replay_compiled(
        compiled.cubin,
        kernel=compiled.kernel,
        grid=(2, 1),
        block=128,
        args=[a, b, np.zeros((128, 64), np.float32), *map(np.int32, (128, 64, 192)),
              *compiled.hidden_arguments(2)],
        shared_bytes=compiled.shared_bytes,
        blocks="all",
    )  # fmt: skip
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(report.outputs[2] - wanted).max() <= 1e-4
    assert report.totals()["gmma"]["wavefronts"] == 2 * (192 // 16) * (16 + 16)
    assert report.totals()["tma"]["bytes"] == 2 * 2 * 64 * 192 * 2
