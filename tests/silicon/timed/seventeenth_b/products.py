"""Matrix products: plain, fused, quantised, split, batched, by tensor maps; in Triton."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def _place(M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Return a program's tile, in groups of rows that share columns."""
    tile = tl.program_id(0)
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = tile // (GROUP * across)
    high = min(down - group * GROUP, GROUP)
    inside = tile % (GROUP * across)
    return group * GROUP + inside % high, inside // high


@triton.jit
def _product(
    a, b, rows, cols, K, a_row, b_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """Return the sums of a tile; b_row is 0 for a B whose columns lie together."""
    inner = tl.arange(0, BK)
    a_at = a + rows[:, None] * a_row + inner[None, :]
    b_at = b + inner[:, None] * b_row + cols[None, :]
    sums = tl.zeros((BM, BN), KIND)
    for k in range(tl.cdiv(K, BK)):
        left = inner < K - k * BK
        x = tl.load(a_at, left[None, :], other=0)
        y = tl.load(b_at, left[:, None], other=0)
        sums = tl.dot(x, y, sums, out_dtype=KIND)
        a_at += BK
        b_at += BK * b_row
    return sums


@triton.jit
def matmul(
    a, b, c, M, N, K, a_row, b_row, c_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply matrices, as in Triton's tutorial."""
    i, j = _place(M, N, BM, BN, GROUP)
    rows, cols = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
    sums = _product(a, b, rows % M, cols % N, K, a_row, b_row, BM, BN, BK, tl.float32)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * c_row + cols[None, :], sums.to(c.dtype.element_ty), inside)


@triton.jit
def linear(
    a, b, bias, c, M, N, K, a_row, b_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply, add a bias and take gelu (by tanh)."""
    i, j = _place(M, N, BM, BN, GROUP)
    rows, cols = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
    sums = _product(a, b, rows % M, cols % N, K, a_row, b_row, BM, BN, BK, tl.float32)
    sums += tl.load(bias + cols, cols < N, other=0).to(tl.float32)[None, :]
    turned = 2 * tl.sigmoid(1.5957691 * (sums + 0.044715 * sums * sums * sums)) - 1
    y = 0.5 * sums * (1 + turned)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * N + cols[None, :], y.to(c.dtype.element_ty), inside)


@triton.jit
def scaled(
    a, b, a_scale, b_scale, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """Multiply quantised matrices, B by columns; a scale for each row and each column."""
    i, j = _place(M, N, BM, BN, GROUP)
    rows, cols = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_at = a + rows[:, None] * K + inner[None, :]
    b_at = b + cols[None, :] * K + inner[:, None]
    sums = tl.zeros((BM, BN), KIND)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(a_at), tl.load(b_at), sums, out_dtype=KIND)
        a_at += BK
        b_at += BK
    y = sums.to(tl.float32) * tl.load(a_scale + rows)[:, None] * tl.load(b_scale + cols)[None, :]
    tl.store(c + rows[:, None] * N + cols[None, :], y.to(c.dtype.element_ty))


@triton.jit
def split_k(
    a, b, c, M, N, K, c_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Multiply a few rows, with K in parts that are added by atomics."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.program_id(2) * BK + tl.arange(0, BK)
    a_at = a + (rows % M)[:, None] * K + inner[None, :]
    b_at = b + inner[:, None] * N + cols[None, :]
    sums = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK * PARTS):
        sums = tl.dot(tl.load(a_at), tl.load(b_at), sums)
        a_at += BK * PARTS
        b_at += BK * PARTS * N
    place = c + rows[:, None] * c_row + cols[None, :]
    tl.atomic_add(place, sums, (rows < M)[:, None], sem="relaxed")


@triton.jit
def batched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply a batch of matrices."""
    batch = tl.program_id(2)
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    sums = _product(
        a + batch * M * K, b + batch * K * N, rows, cols, K, K, N, BM, BN, BK, tl.float32
    )
    tl.store(c + batch * M * N + rows[:, None] * N + cols[None, :], sums.to(c.dtype.element_ty))


@triton.jit
def experts(
    x, w, chosen, c, tokens, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, E: tl.constexpr,
):  # fmt: skip
    """Multiply gathered tokens by their expert's weights: a block of rows has one expert."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    rows = (tl.load(chosen + at) % tokens.to(tl.uint32)).to(tl.int32)
    expert = (tl.program_id(0) * 5 % E).to(tl.int64)
    sums = _product(x, w + expert * K * N, rows, cols, K, K, N, BM, BN, BK, tl.float32)
    tl.store(c + at[:, None] * N + cols[None, :], sums.to(c.dtype.element_ty))


@triton.jit
def four_bits(
    a, words, scales, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Multiply by weights of four bits, eight to a word along K, as GPTQ's kernels do."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_at = a + (rows % M)[:, None] * K + inner[None, :]
    w_at = words + (inner // 8)[:, None] * N + cols[None, :]
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        four = ((tl.load(w_at) >> (inner % 8 * 4)[:, None]) & 15).to(tl.int32) - 8
        scale = tl.load(scales + k // SIZE * N + cols)
        sums = tl.dot(tl.load(a_at), four.to(tl.float16) * scale[None, :], sums)
        a_at += BK
        w_at += BK // 8 * N
    place = c + rows[:, None] * N + cols[None, :]
    tl.store(place, sums.to(tl.float16), (rows < M)[:, None])


@triton.jit
def mapped(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply by tensor maps that the host makes; B by columns."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([m, k]), b.load([n, k]).T, sums)
    c.store([m, n], sums.to(tl.float16))


@triton.jit
def persistent(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply by tensor maps that the kernel makes, every n-th tile a program."""
    a_map = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_map = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), down * across, tl.num_programs(0), flatten=True):
        group = tile // (GROUP * across)
        high = min(down - group * GROUP, GROUP)
        i = group * GROUP + tile % (GROUP * across) % high
        j = tile % (GROUP * across) // high
        sums = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            sums = tl.dot(a_map.load([i * BM, k * BK]), b_map.load([j * BN, k * BK]).T, sums)
        c_map.store([i * BM, j * BN], sums.to(tl.float16))


@triton.jit
def _walked(
    q, sums, norm, most, k, v, first, start, stop, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, DIAGONAL: tl.constexpr,
):  # fmt: skip
    rows, inner = first + tl.arange(0, BM), tl.arange(0, D)
    for at in range(start, stop, BN):
        cols = at + tl.arange(0, BN)
        scores = tl.dot(q, tl.load(k + cols[None, :] * D + inner[:, None])) * scale
        if DIAGONAL:
            scores = tl.where(rows[:, None] >= cols[None, :], scores, -1e6)
        new = tl.maximum(most, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        norm = norm * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + cols[:, None] * D + inner[None, :])
        sums = tl.dot(powers.to(values.dtype), values, sums * shrink[:, None])
        most = new
    return sums, norm, most


@triton.jit
def attention(
    q, k, v, out, logs, seq, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Flash attention, forward, as in Triton's tutorial."""
    first, head = tl.program_id(0) * BM, tl.program_id(1)
    rows, inner = first + tl.arange(0, BM), tl.arange(0, D)
    k += head * seq * D
    v += head * seq * D
    place = head * seq * D + rows[:, None] * D + inner[None, :]
    queries = tl.load(q + place)
    scale *= 1.44269504
    sums, norm = tl.zeros((BM, D), tl.float32), tl.full((BM,), 0.0, tl.float32)
    most = tl.full((BM,), -float("inf"), tl.float32)
    stop = first if CAUSAL else seq
    sums, norm, most = _walked(
        queries, sums, norm, most, k, v, first, 0, stop, scale, BM, BN, D, False
    )
    if CAUSAL:
        sums, norm, most = _walked(
            queries, sums, norm, most, k, v, first, first, first + BM, scale, BM, BN, D, True
        )
    tl.store(logs + head * seq + rows, most + tl.log2(norm))
    tl.store(out + place, (sums / norm[:, None]).to(tl.float16))


@triton.jit
def decode(
    q, k, v, out, logs, lengths, most_steps, scale,
    HEADS: tl.constexpr, D: tl.constexpr, STEP: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    """Attend from one step of HEADS queries to a part of their cache, as flash decoding does."""
    sequence, part = tl.program_id(0), tl.program_id(1)
    heads, inner = tl.arange(0, HEADS), tl.arange(0, D)
    queries = tl.load(q + sequence * HEADS * D + heads[:, None] * D + inner[None, :])
    length = most_steps - tl.load(lengths + sequence)
    k += sequence.to(tl.int64) * most_steps * D
    v += sequence.to(tl.int64) * most_steps * D
    sums, norm = tl.zeros((HEADS, D), tl.float32), tl.zeros((HEADS,), tl.float32)
    most = tl.full((HEADS,), -1e30, tl.float32)
    for at in range(part * PART, tl.minimum((part + 1) * PART, length), STEP):
        steps = at + tl.arange(0, STEP)
        mask = steps < length
        keys = tl.load(k + steps[None, :] * D + inner[:, None], mask[None, :], other=0)
        scores = tl.where(mask[None, :], tl.dot(queries, keys) * scale, -1e30)
        new = tl.maximum(most, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        norm = norm * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + steps[:, None] * D + inner[None, :], mask[:, None], other=0)
        sums = tl.dot(powers.to(values.dtype), values, sums * shrink[:, None])
        most = new
    place = (sequence * tl.num_programs(1) + part) * HEADS + heads
    tl.store(logs + place, most + tl.log2(norm))
    tl.store(out + place[:, None] * D + inner[None, :], sums / norm[:, None])
