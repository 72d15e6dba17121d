"""Products and attention in Triton, whose epilogues or inner loops are a little different."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def relu_squared_layer(
    x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply, add a bias, and square what is above zero; programs go in groups of rows."""
    program = tl.program_id(0)
    across, down = tl.cdiv(N, BLOCK_N), tl.cdiv(M, BLOCK_M)
    group = program // (GROUP * across)
    tall = tl.minimum(down - group * GROUP, GROUP)
    row = group * GROUP + program % (GROUP * across) % tall
    column = program % (GROUP * across) // tall
    rm = row * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = column * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rm[:, None] * K + start + rk[None, :])
        w = tl.load(w_ptr + (start + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, w, acc)
    acc = tl.maximum(acc + tl.load(bias_ptr + rn)[None, :], 0.0)
    tl.store(out_ptr + rm[:, None] * N + rn[None, :], (acc * acc).to(out_ptr.dtype.element_ty))


@triton.jit
def ternary_weights(
    a_ptr, w_ptr, scale_ptr, c_ptr, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by weights of two bits, sixteen of a column's depth in a word."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    shift = (rk % 16 * 2)[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rm[:, None] * K + start + rk[None, :])
        packed = tl.load(w_ptr + (start // 16 + rk // 16)[:, None] * N + rn[None, :])
        w = ((packed >> shift) & 3).to(tl.float16) - 1.0
        acc = tl.dot(a, w.to(tl.float16), acc)
    acc = acc * tl.load(scale_ptr + rn)[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def differential_attention(
    q_ptr, k_ptr, v_ptr, share_ptr, out_ptr, seq, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Attend twice to the same values, and subtract a share of the second from the first."""
    start, head = tl.program_id(0) * BLOCK_M, tl.program_id(1)
    base = head.to(tl.int64) * 2 * seq * DIM
    rm = start + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, DIM)
    rv = tl.arange(0, 2 * DIM)
    q = tl.load(q_ptr + base + rm[:, None] * DIM + rd[None, :])
    r = tl.load(q_ptr + base + seq * DIM + rm[:, None] * DIM + rd[None, :])
    top = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    peak = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    whole = tl.zeros((BLOCK_M,), dtype=tl.float32)
    one = tl.zeros((BLOCK_M, 2 * DIM), dtype=tl.float32)
    two = tl.zeros((BLOCK_M, 2 * DIM), dtype=tl.float32)
    for n in range(0, seq, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        at = base + rn[:, None] * DIM + rd[None, :]
        v = tl.load(v_ptr + base + rn[:, None] * (2 * DIM) + rv[None, :])
        s = tl.dot(q, tl.trans(tl.load(k_ptr + at))) * scale
        most = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - most[:, None])
        fade = tl.exp2(top - most)
        total = total * fade + tl.sum(p, 1)
        one = tl.dot(p.to(v.dtype), v, one * fade[:, None])
        top = most
        s = tl.dot(r, tl.trans(tl.load(k_ptr + at + seq * DIM))) * scale
        most = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - most[:, None])
        fade = tl.exp2(peak - most)
        whole = whole * fade + tl.sum(p, 1)
        two = tl.dot(p.to(v.dtype), v, two * fade[:, None])
        peak = most
    share = tl.load(share_ptr + head)
    out = one / total[:, None] - share * two / whole[:, None]
    at = base + rm[:, None] * (2 * DIM) + rv[None, :]
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty))


@triton.jit
def chunk_states(
    k_ptr, v_ptr, state_ptr, seq, decay,
    LONG: tl.constexpr, BLOCK: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr,
    BLOCK_V: tl.constexpr,
):  # fmt: skip
    """Sum the outer products of a chunk's keys and values, those far from its end faded."""
    part, chunk, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rk = tl.arange(0, KEYS)
    rv = part * BLOCK_V + tl.arange(0, BLOCK_V)
    state = tl.zeros((KEYS, BLOCK_V), dtype=tl.float32)
    first = head.to(tl.int64) * seq + chunk * LONG
    for start in range(0, LONG, BLOCK):
        rt = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + (first + rt)[None, :] * KEYS + rk[:, None])
        v = tl.load(v_ptr + (first + rt)[:, None] * VALUES + rv[None, :])
        fade = tl.exp2(decay * (LONG - 1 - rt).to(tl.float32))
        state = tl.dot((k * fade[None, :]).to(v.dtype), v, state)
    to = (head * tl.num_programs(1) + chunk).to(tl.int64) * KEYS * VALUES
    tl.store(state_ptr + to + rk[:, None] * VALUES + rv[None, :], state)


@triton.jit
def chosen_blocks(
    q_ptr, k_ptr, v_ptr, chosen_ptr, out_ptr, seq, scale,
    MANY: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Attend to a few blocks of keys, which a list names for each block of queries."""
    tile, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * seq * DIM
    rm = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, DIM)
    q = tl.load(q_ptr + base + rm[:, None] * DIM + rd[None, :])
    names = chosen_ptr + (head * tl.num_programs(0) + tile) * MANY
    top = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for i in range(MANY):
        block = tl.load(names + i) % (seq // BLOCK_N)
        rn = block * BLOCK_N + tl.arange(0, BLOCK_N)
        at = base + rn[:, None] * DIM + rd[None, :]
        s = tl.dot(q, tl.trans(tl.load(k_ptr + at))) * scale
        most = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - most[:, None])
        fade = tl.exp2(top - most)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + at)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        top = most
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + base + rm[:, None] * DIM + rd[None, :], out)


@triton.jit
def linear_losses(
    x_ptr, w_ptr, label_ptr, most_ptr, sum_ptr, right_ptr, M, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by a vocabulary, and keep of a tile's logits what a cross entropy wants."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rm[:, None] * K + start + rk[None, :])
        w = tl.load(w_ptr + rn[None, :] * K + start + rk[:, None])
        acc = tl.dot(x, w, acc)
    most = tl.max(acc, 1)
    tl.store(most_ptr + tl.program_id(1) * M + rm, most)
    tl.store(sum_ptr + tl.program_id(1) * M + rm, tl.sum(tl.exp(acc - most[:, None]), 1))
    label = tl.load(label_ptr + rm)
    right = tl.sum(tl.where(rn[None, :] == label[:, None], acc, 0.0), 1)
    tl.store(right_ptr + rm, right, mask=label // BLOCK_N == tl.program_id(1))
