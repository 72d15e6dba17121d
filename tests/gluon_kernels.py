"""Kernels in Gluon, Triton's language with layouts, for tests."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def transpose(src, dst, N: gl.constexpr):
    by_row: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    by_column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    row = gl.arange(0, N, layout=gl.SliceLayout(1, by_row))
    col = gl.arange(0, N, layout=gl.SliceLayout(0, by_row))
    tile = gl.allocate_shared_memory(
        gl.float32, [N, N], plain, gl.load(src + row[:, None] * N + col[None, :])
    )
    row = gl.arange(0, N, layout=gl.SliceLayout(1, by_column))
    col = gl.arange(0, N, layout=gl.SliceLayout(0, by_column))
    gl.store(dst + col[None, :] * N + row[:, None], tile.load(by_column))
