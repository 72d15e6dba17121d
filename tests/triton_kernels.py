"""Triton kernels of all kinds, for tests and the documents' examples."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def transpose(src, dst, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(dst + cols * n + rows, tl.load(src + rows * n + cols))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def softmax(out, x, row_stride, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * row_stride + at, at < cols, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * row_stride + at, powers / tl.sum(powers, axis=0), at < cols)


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["cols"])})
@triton.jit
def layer_norm(x, out, weight, bias, cols, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / cols
    apart = tl.where(at < cols, values - mean, 0.0)
    scale = tl.rsqrt(tl.sum(apart * apart, axis=0) / cols + eps)
    y = apart * scale * tl.load(weight + at, at < cols) + tl.load(bias + at, at < cols)
    tl.store(out + row * cols + at, y, at < cols)


@triton.jit
def activated(x, out, n, factor, ACTIVATION: tl.constexpr, MORE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, at < n)
    if ACTIVATION == "leaky_relu":
        values = tl.where(values >= 0, values, factor * values)
    if MORE is not None:
        values += MORE
    tl.store(out + at, values, at < n)


@triton.jit
def matmul(
    a, b, c, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_at = a + (rows % M)[:, None] * a_row + inner[None, :] * a_col
    b_at = b + inner[:, None] * b_row + (cols % N)[None, :] * b_col
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        left = inner < K - k * BLOCK_K
        sums = tl.dot(
            tl.load(a_at, left[None, :], other=0.0), tl.load(b_at, left[:, None], other=0.0), sums
        )
        a_at += BLOCK_K * a_col
        b_at += BLOCK_K * b_row
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, sums.to(c.dtype.element_ty), inside)


CONFIGS = [
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=2, num_stages=3),
    triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 64}, num_warps=4, num_stages=4),
]
tuned_matmul = triton.autotune(CONFIGS, key=["M", "N", "K"])(matmul)


@triton.autotune(
    [triton.Config({"BLOCK": size}) for size in (128, 256)], key=["n"], reset_to_zero=["total"]
)
@triton.jit
def tuned_sum(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, at < n, other=0.0), axis=0))


@triton.jit
def attention(q, k, v, out, n, scale, BLOCK: tl.constexpr, HEAD: tl.constexpr):
    rows, inner = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, HEAD)
    queries = tl.load(q + rows[:, None] * HEAD + inner[None, :])
    sums = tl.zeros((BLOCK, HEAD), tl.float32)
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    norm = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        keys = tl.load(k + cols[None, :] * HEAD + inner[:, None])
        scores = tl.dot(queries, keys) * scale
        new = tl.maximum(most, tl.max(scores, axis=1))
        powers, shrink = tl.exp(scores - new[:, None]), tl.exp(most - new)
        norm = norm * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + cols[:, None] * HEAD + inner[None, :])
        sums = tl.dot(powers.to(values.dtype), values, sums * shrink[:, None])
        most = new
    tl.store(out + rows[:, None] * HEAD + inner[None, :], sums / norm[:, None])


@triton.jit
def own_maps(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_map = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a_map.load([m, k]), b_map.load([k, n]), sums)
    rows, cols = m + tl.arange(0, BM), n + tl.arange(0, BN)
    tl.store(c + rows[:, None] * N + cols[None, :], sums)


@triton.jit
def given_maps(a_map, c_map, factor, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    c_map.store([m, n], a_map.load([m, n]) * factor)


@triton.jit
def pairs(both, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(both[0] + at, at < n) - tl.load(both[1] + at, at < n), at < n)


@triton.jit
def pointed_to(pointers, sizes, factor, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    own = tl.load(pointers + row).to(tl.pointer_type(tl.float32)) + at
    mask = at < tl.load(sizes + row)
    tl.store(own, tl.load(own, mask) * factor, mask)
