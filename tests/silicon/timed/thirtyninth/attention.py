"""Attention as people write it in Triton: forward, what the backward pass begins with, decoding."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def causal_attention(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, seq_len, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):  # fmt: skip
    """Attend to what came before, a tile of queries a program, the longest first."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    base = tl.program_id(1) * seq_len * HEAD_DIM
    offs_m = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n, offs_d = tl.arange(0, BLOCK_N), tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + base + offs_m[:, None] * HEAD_DIM + offs_d[None, :])
    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start in range(0, (tile + 1) * BLOCK_M, BLOCK_N):
        cols = start + offs_n
        k = tl.load(k_ptr + base + cols[None, :] * HEAD_DIM + offs_d[:, None])
        qk = tl.dot(q, k) * (scale * 1.44269504)
        qk = tl.where(offs_m[:, None] >= cols[None, :], qk, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + base + cols[:, None] * HEAD_DIM + offs_d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    tl.store(lse_ptr + tl.program_id(1) * seq_len + offs_m, m_i + tl.math.log2(l_i))
    o = (acc / l_i[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + base + offs_m[:, None] * HEAD_DIM + offs_d[None, :], o)


@triton.jit
def grouped_attention(
    q_ptr, k_ptr, v_ptr, o_ptr, seq_len, scale, stride_q, stride_k, GROUPS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):  # fmt: skip
    """Attend where GROUPS heads of queries share a head of keys; a batch's rows hold all heads."""
    head, batch = tl.program_id(1), tl.program_id(2)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n, offs_d = tl.arange(0, BLOCK_N), tl.arange(0, HEAD_DIM)
    q_base = q_ptr + batch * seq_len * stride_q + head * HEAD_DIM
    kv_base = batch * seq_len * stride_k + head // GROUPS * HEAD_DIM
    rows = offs_m[:, None] < seq_len
    q = tl.load(q_base + offs_m[:, None] * stride_q + offs_d[None, :], rows, other=0.0)
    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start in range(0, seq_len, BLOCK_N):
        cols = start + offs_n
        held = cols < seq_len
        k_ptrs = k_ptr + kv_base + cols[None, :] * stride_k + offs_d[:, None]
        k = tl.load(k_ptrs, held[None, :], other=0.0)
        qk = tl.where(held[None, :], tl.dot(q, k) * (scale * 1.44269504), -float("inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v_ptrs = v_ptr + kv_base + cols[:, None] * stride_k + offs_d[None, :]
        v = tl.load(v_ptrs, held[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    o_base = o_ptr + batch * seq_len * stride_q + head * HEAD_DIM
    o = (acc / l_i[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_base + offs_m[:, None] * stride_q + offs_d[None, :], o, rows)


@triton.jit
def backward_preprocess(o_ptr, do_ptr, delta_ptr, BLOCK_M: tl.constexpr, HEAD_DIM: tl.constexpr):
    """Sum up each row of the output times its gradient."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs = offs_m[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    o = tl.load(o_ptr + offs).to(tl.float32)
    do = tl.load(do_ptr + offs).to(tl.float32)
    tl.store(delta_ptr + offs_m, tl.sum(o * do, axis=1))


@triton.jit
def paged_decode(
    q_ptr, k_cache, v_cache, table_ptr, o_ptr, num_blocks, context_len, scale,
    PAGES: tl.constexpr, PAGE_SIZE: tl.constexpr, HEAD_DIM: tl.constexpr, KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """Attend from one token to a cache of pages, a head of keys a program, without tensor cores."""
    seq, kv_head = tl.program_id(0), tl.program_id(1)
    offs_g, offs_p = tl.arange(0, GROUP), tl.arange(0, PAGE_SIZE)
    offs_d = tl.arange(0, HEAD_DIM)
    heads = (seq * KV_HEADS + kv_head) * GROUP + offs_g
    q = tl.load(q_ptr + heads[:, None] * HEAD_DIM + offs_d[None, :]).to(tl.float32) * scale
    m_i = tl.full([GROUP], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([GROUP], dtype=tl.float32)
    acc = tl.zeros([GROUP, HEAD_DIM], dtype=tl.float32)
    for page in range(tl.cdiv(context_len, PAGE_SIZE)):
        block = (tl.load(table_ptr + seq * PAGES + page) % num_blocks).to(tl.int64)
        base = (block * KV_HEADS + kv_head) * PAGE_SIZE * HEAD_DIM
        offs = base + offs_p[:, None] * HEAD_DIM + offs_d[None, :]
        held = page * PAGE_SIZE + offs_p < context_len
        k = tl.load(k_cache + offs, held[:, None], other=0.0).to(tl.float32)
        qk = tl.sum(q[:, None, :] * k[None, :, :], axis=2)
        qk = tl.where(held[None, :], qk, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        v = tl.load(v_cache + offs, held[:, None], other=0.0).to(tl.float32)
        acc = acc * alpha[:, None] + tl.sum(p[:, :, None] * v[None, :, :], axis=1)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        m_i = m_new
    o = (acc / l_i[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + heads[:, None] * HEAD_DIM + offs_d[None, :], o)
