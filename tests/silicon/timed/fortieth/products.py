"""Products and attention in Triton, as model repositories have them: gates, adapters, windows."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def swiglu_layer(
    x_ptr, gate_ptr, up_ptr, out_ptr, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Take silu(x G) * (x U): one tile of x for two products."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rm[:, None] * K + rk[None, :]
    gate_ptrs = gate_ptr + rk[:, None] * N + rn[None, :]
    up_ptrs = up_ptr + rk[:, None] * N + rn[None, :]
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs)
        gate = tl.dot(x, tl.load(gate_ptrs), gate)
        up = tl.dot(x, tl.load(up_ptrs), up)
        x_ptrs += BLOCK_K
        gate_ptrs += BLOCK_K * N
        up_ptrs += BLOCK_K * N
    y = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + rm[:, None] * N + rn[None, :], y.to(out_ptr.dtype.element_ty))


@triton.jit
def lora_linear(
    x_ptr, w_ptr, a_ptr, b_ptr, out_ptr, N, K, alpha,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, RANK: tl.constexpr,
):  # fmt: skip
    """Take x W + alpha (x A) B, with x A beside x W."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rr = tl.arange(0, RANK)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    low = tl.zeros((BLOCK_M, RANK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :])
        w = tl.load(w_ptr + rk[:, None] * N + rn[None, :])
        a = tl.load(a_ptr + rk[:, None] * RANK + rr[None, :])
        acc = tl.dot(x, w, acc)
        low = tl.dot(x, a, low)
    b = tl.load(b_ptr + rr[:, None] * N + rn[None, :])
    acc += alpha * tl.dot(low.to(b.dtype), b)
    tl.store(out_ptr + rm[:, None] * N + rn[None, :], acc.to(out_ptr.dtype.element_ty))


@triton.jit
def gram_lower(x_ptr, out_ptr, n, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """Take the lower tiles of X X', each mirrored: what Muon and Shampoo need."""
    pid = tl.program_id(0)
    i = ((tl.sqrt(8.0 * pid + 1.0) - 1.0) / 2.0).to(tl.int32)
    i = tl.where((i + 1) * (i + 2) // 2 <= pid, i + 1, i)
    i = tl.where(i * (i + 1) // 2 > pid, i - 1, i)
    j = pid - i * (i + 1) // 2
    ri = i * BLOCK + tl.arange(0, BLOCK)
    rj = j * BLOCK + tl.arange(0, BLOCK)
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = x_ptr + ri[:, None] * K + rk[None, :]
    b_ptrs = x_ptr + rj[None, :] * K + rk[:, None]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K
    c = acc.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + ri[:, None] * n + rj[None, :], c)
    if i > j:
        tl.store(out_ptr + rj[:, None] * n + ri[None, :], tl.trans(c))


@triton.jit
def gemv_rows(a_ptr, x_ptr, y_ptr, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Take y = A x, some rows a program."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        a = tl.load(a_ptr + rows[:, None] * N + cols[None, :])
        acc += a.to(tl.float32) * tl.load(x_ptr + cols).to(tl.float32)[None, :]
    tl.store(y_ptr + rows, tl.sum(acc, axis=1))


@triton.jit
def window_attention(
    q_ptr, k_ptr, v_ptr, out_ptr, seq, scale,
    WINDOW: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Attend causally to the WINDOW tokens before (Mistral's)."""
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1).to(tl.int64) * seq * DIM
    rm = start + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, DIM)
    q = tl.load(q_ptr + base + rm[:, None] * DIM + rd[None, :])
    most = tl.full((BLOCK_M,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for n in range(tl.maximum(start - WINDOW, 0), start + BLOCK_M, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + rn[None, :] * DIM + rd[:, None])
        s = tl.dot(q, k) * (scale * 1.44269504)
        seen = (rn[None, :] <= rm[:, None]) & (rn[None, :] > rm[:, None] - WINDOW)
        s = tl.where(seen, s, -1.0e30)
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.where(seen, tl.exp2(s - top[:, None]), 0.0)
        fade = tl.exp2(most - top)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + base + rn[:, None] * DIM + rd[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        most = top
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + base + rm[:, None] * DIM + rd[None, :], out)


@triton.jit
def relative_attention(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, seq,
    HEADS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Attend both ways with a bias by distance, which each head looks up (T5's)."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    base = tl.program_id(1).to(tl.int64) * seq * DIM
    biases = bias_ptr + tl.program_id(1) % HEADS * (2 * seq) + seq
    rd = tl.arange(0, DIM)
    q = tl.load(q_ptr + base + rm[:, None] * DIM + rd[None, :])
    most = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for n in range(0, seq, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + rn[:, None] * DIM + rd[None, :])
        s = tl.dot(q, tl.trans(k)) + tl.load(biases + rn[None, :] - rm[:, None])
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - top[:, None])
        fade = tl.exp(most - top)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + base + rn[:, None] * DIM + rd[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        most = top
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + base + rm[:, None] * DIM + rd[None, :], out)


@triton.jit
def ragged_attention(
    q_ptr, k_ptr, v_ptr, length_ptr, out_ptr, heads, scale,
    MOST: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Attend in sequences of unlike lengths: blocks past an end leave at once."""
    start, which = tl.program_id(0) * BLOCK_M, tl.program_id(1)
    length = tl.load(length_ptr + which) + 1
    if start >= length:
        return
    rm = start + tl.arange(0, BLOCK_M)
    rd = tl.program_id(2) * DIM + tl.arange(0, DIM)
    wide = heads * DIM
    first = which.to(tl.int64) * MOST * wide
    inside = rm[:, None] < length
    q = tl.load(q_ptr + first + rm[:, None] * wide + rd[None, :], mask=inside, other=0.0)
    most = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for n in range(0, length, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        there = rn < length
        at = first + rn[:, None] * wide + rd[None, :]
        k = tl.load(k_ptr + at, mask=there[:, None], other=0.0)
        s = tl.where(there[None, :], tl.dot(q, tl.trans(k)) * (scale * 1.44269504), float("-inf"))
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - top[:, None])
        fade = tl.exp2(most - top)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + at, mask=there[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        most = top
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + first + rm[:, None] * wide + rd[None, :], out, mask=inside)
