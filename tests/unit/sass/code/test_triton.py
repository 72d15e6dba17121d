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
        args=[data, np.zeros_like(data), np.int32(64), *[np.uint64(0)] * compiled.hidden],
        shared_bytes=compiled.shared_bytes,
    )
    np.testing.assert_array_equal(report.outputs[1], 2 * data.T)
    assert report.totals()["all"]["wavefronts"] >= 2 * 64 * 64 * 4 // 128
