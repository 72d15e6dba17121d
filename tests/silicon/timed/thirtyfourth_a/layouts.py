"""Kernels of Gluon that take the layout of shared memory as a constant."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_wait,
)


@gluon.jit
def turn(x, out, rows, cols, SHARED: gl.constexpr, BLOCK: gl.constexpr, VEC: gl.constexpr):
    """Transpose a matrix by tiles in shared memory."""
    wide: gl.constexpr = gl.BlockedLayout([1, VEC], [1, 32], [gl.num_warps(), 1], [1, 0])
    down = gl.arange(0, BLOCK, gl.SliceLayout(1, wide))[:, None]
    across = gl.arange(0, BLOCK, gl.SliceLayout(0, wide))[None, :]
    i, j = gl.program_id(0) * BLOCK, gl.program_id(1) * BLOCK
    tile = gl.allocate_shared_memory(x.dtype.element_ty, [BLOCK, BLOCK], SHARED)
    tile.store(gl.load(x + (i + down) * cols + j + across))
    turned = tile.permute((1, 0)).load(wide)
    gl.store(out + (j + down) * rows + i + across, turned)


@gluon.jit
def _sum(a, b):
    return a + b


@gluon.jit
def scan_rows(x, out, cols, SHARED: gl.constexpr, ROWS: gl.constexpr, COLS: gl.constexpr):
    """Sum up along rows, a row a thread: tiles go through shared memory both ways."""
    wide: gl.constexpr = gl.BlockedLayout(
        [1, 4], [128 // COLS, COLS // 4], [gl.num_warps(), 1], [1, 0]
    )
    own: gl.constexpr = gl.BlockedLayout([1, COLS], [32, 1], [gl.num_warps(), 1], [1, 0])
    down = gl.program_id(0) * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, wide))[:, None]
    across = gl.arange(0, COLS, gl.SliceLayout(0, wide))[None, :]
    tile = gl.allocate_shared_memory(gl.float32, [ROWS, COLS], SHARED)
    carried = gl.full([ROWS], 0.0, gl.float32, gl.SliceLayout(1, own))
    for start in range(0, cols, COLS):
        place = down * cols + start + across
        tile.store(gl.load(x + place))
        values = tile.load(own)
        sums = gl.associative_scan(values, 1, _sum) + carried[:, None]
        carried += gl.sum(values, axis=1)
        tile.store(sums)
        gl.store(out + place, tile.load(wide))


@gluon.jit
def _fetch(tile, start, rows, inner, stride):
    async_copy.async_load(tile, start + rows[:, None] * stride + inner[None, :])


@gluon.jit
def warp_product(
    a, b, c, N, K,
    A_SHARED: gl.constexpr, B_SHARED: gl.constexpr,
    BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr,
):  # fmt: skip
    """Multiply by tensor cores of warps, from two buffers that are filled asynchronously."""
    sums_in: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    one: gl.constexpr = gl.DotOperandLayout(0, sums_in, 2)
    two: gl.constexpr = gl.DotOperandLayout(1, sums_in, 2)
    a_in: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BK, BK // 8], [4, 1], [1, 0])
    b_in: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BN, BN // 8], [4, 1], [1, 0])
    dtype: gl.constexpr = a.dtype.element_ty
    a += gl.program_id(0) * BM * K
    b += gl.program_id(1) * BN
    a_rows = gl.arange(0, BM, gl.SliceLayout(1, a_in))
    a_inner = gl.arange(0, BK, gl.SliceLayout(0, a_in))
    b_rows = gl.arange(0, BK, gl.SliceLayout(1, b_in))
    b_inner = gl.arange(0, BN, gl.SliceLayout(0, b_in))
    a_tiles = gl.allocate_shared_memory(dtype, [2, BM, BK], A_SHARED)
    b_tiles = gl.allocate_shared_memory(dtype, [2, BK, BN], B_SHARED)
    _fetch(a_tiles.index(0), a, a_rows, a_inner, K)
    _fetch(b_tiles.index(0), b, b_rows, b_inner, N)
    async_copy.commit_group()
    sums = gl.zeros([BM, BN], gl.float32, sums_in)
    steps = K // BK
    for k in range(steps):
        async_copy.wait_group(0)
        gl.barrier()
        ahead = (k + 1) % steps
        _fetch(a_tiles.index((k + 1) % 2), a + ahead * BK, a_rows, a_inner, K)
        _fetch(b_tiles.index((k + 1) % 2), b + ahead * BK * N, b_rows, b_inner, N)
        async_copy.commit_group()
        x, y = a_tiles.index(k % 2).load(one), b_tiles.index(k % 2).load(two)
        sums = mma_v2(x, y, sums)
    async_copy.wait_group(0)
    rows = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, sums_in))
    cols = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, sums_in))
    gl.store(c + rows[:, None] * N + cols[None, :], sums.to(c.dtype.element_ty))


@gluon.jit
def group_product(
    a, b, c, N, K,
    SHARED: gl.constexpr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr,
):  # fmt: skip
    """Multiply by tensor cores of groups of warps, from two buffers; B by columns."""
    sums_in: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    wide: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BK, BK // 8], [4, 1], [1, 0])
    dtype: gl.constexpr = a.dtype.element_ty
    a += gl.program_id(0) * BM * K
    b += gl.program_id(1) * BN * K
    inner = gl.arange(0, BK, gl.SliceLayout(0, wide))
    a_rows = gl.arange(0, BM, gl.SliceLayout(1, wide))
    b_rows = gl.arange(0, BN, gl.SliceLayout(1, wide))
    a_tiles = gl.allocate_shared_memory(dtype, [2, BM, BK], SHARED)
    b_tiles = gl.allocate_shared_memory(dtype, [2, BN, BK], SHARED)
    _fetch(a_tiles.index(0), a, a_rows, inner, K)
    _fetch(b_tiles.index(0), b, b_rows, inner, K)
    async_copy.commit_group()
    sums = gl.zeros([BM, BN], gl.float32, sums_in)
    steps = K // BK
    for k in range(steps):
        async_copy.wait_group(0)
        fence_async_shared()
        gl.barrier()
        ahead = (k + 1) % steps
        _fetch(a_tiles.index((k + 1) % 2), a + ahead * BK, a_rows, inner, K)
        _fetch(b_tiles.index((k + 1) % 2), b + ahead * BK, b_rows, inner, K)
        async_copy.commit_group()
        x, y = a_tiles.index(k % 2), b_tiles.index(k % 2).permute((1, 0))
        sums = warpgroup_mma(x, y, sums, is_async=True)
        sums = warpgroup_mma_wait(0, deps=(sums,))
    async_copy.wait_group(0)
    rows = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, sums_in))
    cols = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, sums_in))
    gl.store(c + rows[:, None] * N + cols[None, :], sums.to(c.dtype.element_ty))
