"""Products and attention in Triton, as people write them for language models."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def three_projections(
    x_ptr, wq_ptr, wk_ptr, wv_ptr, out_ptr, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply one input by three weights at once; rows of the output hold all three."""
    rm = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    q = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    k = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    v = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rm[:, None] * K + start + rk[None, :])
        at = (start + rk)[:, None] * N + rn[None, :]
        q = tl.dot(x, tl.load(wq_ptr + at), q)
        k = tl.dot(x, tl.load(wk_ptr + at), k)
        v = tl.dot(x, tl.load(wv_ptr + at), v)
    out = out_ptr + rm[:, None] * (3 * N) + rn[None, :]
    tl.store(out, q.to(out_ptr.dtype.element_ty))
    tl.store(out + N, k.to(out_ptr.dtype.element_ty))
    tl.store(out + 2 * N, v.to(out_ptr.dtype.element_ty))


@triton.jit
def fp8_block_weights(
    a_ptr, w_ptr, scale_ptr, c_ptr, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply halves by weights of eight bits, with a scale for each 128 x 128 of them."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    scales = scale_ptr + rn // 128 * (K // 128)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rm[:, None] * K + start + rk[None, :])
        w = tl.load(w_ptr + rn[None, :] * K + start + rk[:, None]).to(tl.float16)
        acc += tl.dot(a, w) * tl.load(scales + start // 128)[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def int8_group_weights(
    a_ptr, w_ptr, scale_ptr, c_ptr, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by weights of a byte each, BLOCK_K of a column with a scale, dequantized first."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(K // BLOCK_K):
        at = step * BLOCK_K + rk
        a = tl.load(a_ptr + rm[:, None] * K + at[None, :])
        w = tl.load(w_ptr + at[:, None] * N + rn[None, :])
        scale = tl.load(scale_ptr + step * N + rn)
        acc = tl.dot(a, w.to(tl.bfloat16) * scale[None, :], acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def keys_values_back(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, seq, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Take the gradients of a tile of keys and values over all queries behind it."""
    start = tl.program_id(0) * BLOCK_N
    base = tl.program_id(1).to(tl.int64) * seq * DIM
    rows = tl.program_id(1) * seq
    rn = start + tl.arange(0, BLOCK_N)
    rd = tl.arange(0, DIM)
    tile = base + rn[:, None] * DIM + rd[None, :]
    k = tl.load(k_ptr + tile)
    v = tl.load(v_ptr + tile)
    dk = tl.zeros((BLOCK_N, DIM), dtype=tl.float32)
    dv = tl.zeros((BLOCK_N, DIM), dtype=tl.float32)
    for m in range(start, seq, BLOCK_M):
        rm = m + tl.arange(0, BLOCK_M)
        at = base + rm[:, None] * DIM + rd[None, :]
        q = tl.load(q_ptr + at)
        do = tl.load(do_ptr + at)
        s = tl.dot(k, tl.trans(q)) * (scale * 1.44269504)
        p = tl.exp2(s - tl.load(lse_ptr + rows + rm)[None, :])
        p = tl.where(rm[None, :] >= rn[:, None], p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv)
        ds = p * (tl.dot(v, tl.trans(do)) - tl.load(delta_ptr + rows + rm)[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
    tl.store(dk_ptr + tile, (dk * scale).to(dk_ptr.dtype.element_ty))
    tl.store(dv_ptr + tile, dv.to(dv_ptr.dtype.element_ty))


@triton.jit
def sink_window_attention(
    q_ptr, k_ptr, v_ptr, sink_ptr, out_ptr, seq, scale, slope,
    WINDOW: tl.constexpr, GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):  # fmt: skip
    """Attend to a window with ALiBi; each head adds a learned sink to its sum."""
    start, head = tl.program_id(0) * BLOCK_M, tl.program_id(1)
    base = head.to(tl.int64) * seq * DIM
    shared = (head // GROUP).to(tl.int64) * seq * DIM
    rm = start + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, DIM)
    q = tl.load(q_ptr + base + rm[:, None] * DIM + rd[None, :])
    fall = tl.exp2(slope * (head % 16 + 1).to(tl.float32))
    most = tl.full((BLOCK_M,), 0.0, dtype=tl.float32) + tl.load(sink_ptr + head)
    total = tl.full((BLOCK_M,), 1.0, dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for n in range(tl.maximum(start - WINDOW, 0), start + BLOCK_M, BLOCK_N):
        rn = n + tl.arange(0, BLOCK_N)
        at = shared + rn[:, None] * DIM + rd[None, :]
        s = tl.dot(q, tl.trans(tl.load(k_ptr + at))) * scale
        far = rm[:, None] - rn[None, :]
        s = tl.where((far >= 0) & (far < WINDOW), s - fall * far.to(tl.float32), -1.0e30)
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - top[:, None])
        fade = tl.exp(most - top)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + at)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        most = top
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + base + rm[:, None] * DIM + rd[None, :], out)


@triton.jit
def latent_decode_splits(
    q_ptr, cache_ptr, out_ptr, lse_ptr, tokens, each, scale,
    HEADS: tl.constexpr, BLOCK_N: tl.constexpr, LATENT: tl.constexpr, ROPE: tl.constexpr,
):  # fmt: skip
    """Decode HEADS heads from a cache of latents and turned keys, a stretch of it a program."""
    split, which = tl.program_id(0), tl.program_id(1)
    wide = LATENT + ROPE
    rh = tl.arange(0, HEADS)
    rl = tl.arange(0, LATENT)
    rr = LATENT + tl.arange(0, ROPE)
    mine = q_ptr + (which * HEADS + rh)[:, None] * wide
    q = tl.load(mine + rl[None, :])
    turned = tl.load(mine + rr[None, :])
    cache = cache_ptr + which.to(tl.int64) * tokens * wide
    most = tl.full((HEADS,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((HEADS,), dtype=tl.float32)
    acc = tl.zeros((HEADS, LATENT), dtype=tl.float32)
    for n in range(split * each, (split + 1) * each, BLOCK_N):
        rows = cache + (n + tl.arange(0, BLOCK_N))[:, None] * wide
        latent = tl.load(rows + rl[None, :])
        s = tl.dot(q, tl.trans(latent))
        s = tl.dot(turned, tl.trans(tl.load(rows + rr[None, :])), s) * (scale * 1.44269504)
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - top[:, None])
        fade = tl.exp2(most - top)
        total = total * fade + tl.sum(p, 1)
        acc = tl.dot(p.to(latent.dtype), latent, acc * fade[:, None])
        most = top
    part = (which * tl.num_programs(0) + split) * HEADS + rh
    tl.store(out_ptr + part[:, None] * LATENT + rl[None, :], acc / total[:, None])
    tl.store(lse_ptr + part, most + tl.log2(total))


@triton.jit
def ssd_chunk_output(
    x_ptr, dt_ptr, b_ptr, c_ptr, state_ptr, y_ptr, heads, rate,
    LONG: tl.constexpr, STATE: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Take a chunk's output of Mamba-2: what its tokens and the state before them bring."""
    chunk, head = tl.program_id(0), tl.program_id(1)
    rl = tl.arange(0, LONG)
    rs = tl.arange(0, STATE)
    rp = tl.arange(0, DIM)
    rows = chunk * LONG + rl
    dt = tl.abs(tl.load(dt_ptr + rows * heads + head))
    decay = tl.cumsum(dt * rate, 0)
    b = tl.load(b_ptr + rows[:, None] * STATE + rs[None, :])
    c = tl.load(c_ptr + rows[:, None] * STATE + rs[None, :])
    at = (rows[:, None] * heads + head) * DIM + rp[None, :]
    x = tl.load(x_ptr + at)
    before = (chunk * heads + head) * STATE * DIM
    state = tl.load(state_ptr + before + rs[:, None] * DIM + rp[None, :])
    y = tl.dot(c, state) * tl.exp(decay)[:, None]
    gate = tl.exp(decay[:, None] - decay[None, :]) * dt[None, :]
    s = tl.where(rl[:, None] >= rl[None, :], tl.dot(c, tl.trans(b)) * gate, 0.0)
    y = tl.dot(s.to(x.dtype), x, y)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty))


@triton.jit
def groups_of_sizes(
    a_ptr, b_ptr, c_ptr, size_ptr, N, K,
    GROUPS: tl.constexpr, MOST: tl.constexpr, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply each group's rows by its own weights; programs walk along all groups' tiles."""
    tile = tl.program_id(0)
    done = 0
    rk = tl.arange(0, BLOCK_K)
    columns = N // BLOCK_N
    for group in range(GROUPS):
        size = tl.load(size_ptr + group) + 1
        tiles = tl.cdiv(size, BLOCK_M) * columns
        while tile < done + tiles:
            inside = tile - done
            rm = inside // columns * BLOCK_M + tl.arange(0, BLOCK_M)
            rn = inside % columns * BLOCK_N + tl.arange(0, BLOCK_N)
            there = rm[:, None] < size
            a = a_ptr + (group * MOST + rm)[:, None] * K + rk[None, :]
            b = b_ptr + group.to(tl.int64) * K * N + rk[:, None] * N + rn[None, :]
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for _ in range(0, K, BLOCK_K):
                acc = tl.dot(tl.load(a, mask=there, other=0.0), tl.load(b), acc)
                a += BLOCK_K
                b += BLOCK_K * N
            c = c_ptr + (group * MOST + rm)[:, None] * N + rn[None, :]
            tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=there)
            tile += PROGRAMS
        done += tiles


@triton.jit
def split_k_of_bytes(
    a_ptr, b_ptr, c_ptr, N, K, EACH,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply bytes by rows, a stretch of the depth a program; atomics add whole numbers."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    first = tl.program_id(2) * EACH
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(first, first + EACH, BLOCK_K):
        rk = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
        b = tl.load(b_ptr + rn[None, :] * K + rk[:, None])
        acc = tl.dot(a, b, acc)
    tl.atomic_add(c_ptr + rm[:, None] * N + rn[None, :], acc, sem="relaxed")
