"""Rows of models in Triton: gradients of norms, routers, losses, caches and quantized tiles."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def rms_norm_grads(
    dy_ptr, x_ptr, gain_ptr, rstd_ptr, dx_ptr, dgain_ptr, rows, n_cols, BLOCK: tl.constexpr
):
    """Take an RMS norm's gradients; a program keeps its rows' share of the gain's."""
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    gain = tl.load(gain_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dgain = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(program, rows, tl.num_programs(0)):
        at = row * n_cols + cols
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        m = dy * gain
        dx = rstd * (m - x * (rstd * rstd * tl.sum(m * x, 0) / n_cols))
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dgain += dy * x * rstd
    tl.store(dgain_ptr + program * n_cols + cols, dgain, mask=mask)


@triton.jit
def router_top_k(
    logit_ptr, weight_ptr, id_ptr, count_ptr,
    EXPERTS: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Choose each token's K experts by softmax, share their weights, and count their tokens."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    experts = tl.arange(0, EXPERTS)
    logits = tl.load(logit_ptr + rows[:, None] * EXPERTS + experts[None, :]).to(tl.float32)
    p = tl.exp(logits - tl.max(logits, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    left = p
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for k in tl.static_range(K):
        best = tl.argmax(left, 1)
        weight = tl.max(left, 1)
        total += weight
        tl.store(id_ptr + rows * K + k, best)
        tl.atomic_add(count_ptr + best, 1)
        left = tl.where(experts[None, :] == best[:, None], -1.0, left)
    for k in tl.static_range(K):
        best = tl.argmax(p, 1)
        tl.store(weight_ptr + rows * K + k, tl.max(p, 1) / total)
        p = tl.where(experts[None, :] == best[:, None], -1.0, p)


@triton.jit
def token_table_grads(dy_ptr, id_ptr, dtable_ptr, words, n_cols, BLOCK: tl.constexpr):
    """Add each token's gradient to its word's row of a table."""
    token = tl.program_id(0)
    word = tl.load(id_ptr + token).to(tl.int64) % words
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        dy = tl.load(dy_ptr + token * n_cols + cols).to(tl.float32)
        tl.atomic_add(dtable_ptr + word * n_cols + cols, dy, sem="relaxed")


@triton.jit
def smoothed_loss_grads(
    logit_ptr, label_ptr, loss_ptr, n_cols, smooth, over_rows, BLOCK: tl.constexpr
):
    """Take a cross entropy with smoothed labels, and put its gradient where the logits were."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    base = logit_ptr + row * n_cols
    most = float("-inf")
    total = 0.0
    plain = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        plain += tl.sum(tl.where(cols < n_cols, x, 0.0), 0)
        top = tl.maximum(most, tl.max(x, 0))
        total = total * tl.exp(most - top) + tl.sum(tl.exp(x - top), 0)
        most = top
    lse = most + tl.log(total)
    right = tl.load(base + label).to(tl.float32)
    tl.debug_barrier()
    share = smooth / n_cols
    tl.store(loss_ptr + row, (lse - right) * (1.0 - smooth) + smooth * lse - share * plain)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        d = tl.exp(x - lse) - share - tl.where(cols == label, 1.0 - smooth, 0.0)
        tl.store(base + cols, (d * over_rows).to(logit_ptr.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def rope_into_cache(
    q_ptr, k_ptr, v_ptr, cos_ptr, sin_ptr, slot_ptr, key_cache_ptr, value_cache_ptr,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """Turn a token's queries in place, and its keys on their way to the cache with the values."""
    token = tl.program_id(0)
    slot = tl.load(slot_ptr + token).to(tl.int64)
    rd = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + rd)[None, :]
    sin = tl.load(sin_ptr + token * HALF + rd)[None, :]
    at = (token * HEADS + tl.arange(0, HEADS))[:, None] * (2 * HALF) + rd[None, :]
    low = tl.load(q_ptr + at).to(tl.float32)
    high = tl.load(q_ptr + at + HALF).to(tl.float32)
    tl.store(q_ptr + at, (low * cos - high * sin).to(q_ptr.dtype.element_ty))
    tl.store(q_ptr + at + HALF, (high * cos + low * sin).to(q_ptr.dtype.element_ty))
    rk = tl.arange(0, KV_HEADS)
    at = (token * KV_HEADS + rk)[:, None] * (2 * HALF) + rd[None, :]
    to = (slot * KV_HEADS + rk)[:, None] * (2 * HALF) + rd[None, :]
    low = tl.load(k_ptr + at).to(tl.float32)
    high = tl.load(k_ptr + at + HALF).to(tl.float32)
    kind = key_cache_ptr.dtype.element_ty
    tl.store(key_cache_ptr + to, (low * cos - high * sin).to(kind))
    tl.store(key_cache_ptr + to + HALF, (high * cos + low * sin).to(kind))
    tl.store(value_cache_ptr + to, tl.load(v_ptr + at))
    tl.store(value_cache_ptr + to + HALF, tl.load(v_ptr + at + HALF))


@triton.jit
def nucleus_draw(logit_ptr, chance_ptr, token_ptr, sum_ptr, n_cols, BLOCK: tl.constexpr):
    """Draw a token of each row by its cumulative chances, and note the likeliest."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(logit_ptr + row * n_cols + cols, mask=mask, other=float("-inf")).to(tl.float32)
    p = tl.exp(x - tl.max(x, 0))
    sums = tl.cumsum(p, 0)
    total = tl.max(tl.where(mask, sums, 0.0), 0)
    wanted = tl.abs(tl.load(chance_ptr + row)) * total
    drawn = tl.sum((sums < wanted).to(tl.int32), 0)
    tl.store(token_ptr + row * 2, tl.minimum(drawn, n_cols - 1))
    tl.store(token_ptr + row * 2 + 1, tl.argmax(x, 0))
    tl.store(sum_ptr + row * n_cols + cols, sums / total, mask=mask)


@triton.jit
def fp8_tiles_both_ways(x_ptr, q_ptr, turned_ptr, scale_ptr, M, N, BLOCK: tl.constexpr):
    """Quantize square tiles by their greatest elements, and write them by rows and by columns."""
    rm = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :]).to(tl.float32)
    most = tl.max(tl.max(tl.abs(x), 1), 0)
    scale = tl.maximum(most, 1.0e-12) / 448.0
    q = (x / scale).to(q_ptr.dtype.element_ty)
    tl.store(q_ptr + rm[:, None] * N + rn[None, :], q)
    tl.store(turned_ptr + rn[:, None] * M + rm[None, :], tl.trans(q))
    tl.store(scale_ptr + tl.program_id(1) * tl.num_programs(0) + tl.program_id(0), scale)
