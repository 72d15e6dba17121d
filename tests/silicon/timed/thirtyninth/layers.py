"""Rows and elements as people write them in Triton: norms, softmaxes, losses, scans, lookups."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    """Softmax of a row of any length."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    x = x.to(tl.float32)
    num = tl.exp(x - tl.max(x, axis=0))
    y = num / tl.sum(num, axis=0)
    tl.store(y_ptr + row * n_cols + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def softmax_backward(y_ptr, dy_ptr, dx_ptr, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Gradients of a softmax, ROWS rows a program."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    offs = rows[:, None] * n_cols + cols[None, :]
    mask = cols[None, :] < n_cols
    y = tl.load(y_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=1)[:, None])
    tl.store(dx_ptr + offs, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm_rows(
    x_ptr, w_ptr, b_ptr, y_ptr, n_cols, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Normalise ROWS rows a program, which holds them."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    offs = rows[:, None] * n_cols + cols[None, :]
    mask = cols[None, :] < n_cols
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / n_cols
    diff = tl.where(mask, x - mean[:, None], 0.0)
    rstd = tl.rsqrt(tl.sum(diff * diff, axis=1) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    y = diff * rstd[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def dropout_add_rms_norm(
    x_ptr, res_ptr, w_ptr, y_ptr, n_cols, p, seed, eps, BLOCK: tl.constexpr
):  # fmt: skip
    """Drop elements, add what came in, keep the sum, and normalise it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    offs = row * n_cols + cols
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    x = tl.where(tl.rand(seed, offs) > p, x / (1 - p), 0.0)
    x += tl.load(res_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(res_ptr + offs, x.to(res_ptr.dtype.element_ty), mask=mask)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offs, (x * rstd * w).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def cross_entropy_forward(
    logits_ptr, labels_ptr, loss_ptr, lse_ptr, n_cols, smoothing, BLOCK: tl.constexpr
):
    """Losses with smoothed labels, in one walk along a row."""
    row = tl.program_id(0)
    logits_ptr += row.to(tl.int64) * n_cols
    label = tl.load(labels_ptr + row) % n_cols
    m, d, total = -float("inf"), 0.0, 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.where(cols < n_cols, x, 0.0))
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    lse = m + tl.log(d)
    target = tl.load(logits_ptr + label).to(tl.float32)
    loss = lse - (1 - smoothing) * target - smoothing * total / n_cols
    tl.store(loss_ptr + row, loss)
    tl.store(lse_ptr + row, lse)


@triton.jit
def cumsum_columns(
    x_ptr, y_ptr, n_rows, n_cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):  # fmt: skip
    """Sum up down the columns of a batch's matrices, a chunk of rows at a time."""
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    base = tl.program_id(1) * n_rows * n_cols
    carry = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, n_rows, BLOCK_R):
        rows = start + tl.arange(0, BLOCK_R)
        offs = base + rows[:, None] * n_cols + cols[None, :]
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        tl.store(y_ptr + offs, tl.cumsum(x, axis=0) + carry[None, :], mask=mask)
        carry += tl.sum(x, axis=0)


@triton.jit
def top_k(x_ptr, y_ptr, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr, K: tl.constexpr):
    """The K greatest of each row, by whole numbers."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + rows[:, None] * n_cols + cols[None, :]
    x = tl.load(x_ptrs, mask=cols[None, :] < n_cols, other=-1)
    best = tl.topk(x, K)
    tl.store(y_ptr + rows[:, None] * K + tl.arange(0, K)[None, :], best)


@triton.jit
def embedding_bag(
    ids_ptr, table_ptr, y_ptr, n_rows, BAG: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr
):
    """Mean of a bag's rows of a table, ROWS rows at a time."""
    bag = tl.program_id(0)
    cols = tl.arange(0, DIM)
    acc = tl.zeros((ROWS, DIM), dtype=tl.float32)
    for start in range(0, BAG, ROWS):
        ids = tl.load(ids_ptr + bag * BAG + start + tl.arange(0, ROWS)) % n_rows.to(tl.uint32)
        acc += tl.load(table_ptr + ids.to(tl.int64)[:, None] * DIM + cols[None, :]).to(tl.float32)
    tl.store(y_ptr + bag * DIM + cols, (tl.sum(acc, axis=0) / BAG).to(y_ptr.dtype.element_ty))


@triton.jit
def rotary_interleaved(x_ptr, cos_ptr, sin_ptr, seq_len, HEADS: tl.constexpr, HALF: tl.constexpr):
    """Turn neighbouring pairs of a token's heads in place."""
    token = tl.program_id(0)
    heads, pairs = tl.arange(0, HEADS), tl.arange(0, HALF)
    angle = token % seq_len * HALF + pairs
    cos = tl.load(cos_ptr + angle).to(tl.float32)[None, :]
    sin = tl.load(sin_ptr + angle).to(tl.float32)[None, :]
    base = x_ptr + (token * HEADS + heads[:, None]) * (2 * HALF) + 2 * pairs[None, :]
    even, odd = tl.load(base).to(tl.float32), tl.load(base + 1).to(tl.float32)
    tl.store(base, (even * cos - odd * sin).to(x_ptr.dtype.element_ty))
    tl.store(base + 1, (even * sin + odd * cos).to(x_ptr.dtype.element_ty))


@triton.jit
def permute_heads(x_ptr, y_ptr, SEQ: tl.constexpr, HEADS: tl.constexpr, DIM: tl.constexpr,
                  BLOCK_S: tl.constexpr):  # fmt: skip
    """Turn (batch, token, head, part) to (batch, head, part, token), for keys."""
    head, batch = tl.program_id(1), tl.program_id(2)
    tokens = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    parts = tl.arange(0, DIM)
    x = tl.load(x_ptr + ((batch * SEQ + tokens[:, None]) * HEADS + head) * DIM + parts[None, :])
    y_ptrs = y_ptr + ((batch * HEADS + head) * DIM + parts[:, None]) * SEQ + tokens[None, :]
    tl.store(y_ptrs, tl.trans(x))
