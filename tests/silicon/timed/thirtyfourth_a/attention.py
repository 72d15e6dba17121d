"""Attention and what is used in its place: forward, backward, over caches, with states."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def _seen(
    q, sums, norm, most, k, v, rows, start, stop, stride, scale,
    BN: tl.constexpr, D: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    inner = tl.arange(0, D)
    for at in range(start, stop, BN):
        cols = at + tl.arange(0, BN)
        scores = tl.dot(q, tl.load(k + cols[None, :] * stride + inner[:, None])) * scale
        if MASKED:
            scores = tl.where(rows[:, None] >= cols[None, :], scores, -1e6)
        new = tl.maximum(most, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        norm = norm * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + cols[:, None] * stride + inner[None, :])
        sums = tl.dot(powers.to(values.dtype), values, sums * shrink[:, None])
        most = new
    return sums, norm, most


@triton.jit
def shared_heads(
    q, k, v, out, logs, seq, heads, kv_heads, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Attend causally, the last rows first; several heads of queries share one of keys."""
    first, head = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM, tl.program_id(1)
    rows, inner = first + tl.arange(0, BM), tl.arange(0, D)
    place = rows[:, None] * (heads * D) + head * D + inner[None, :]
    queries = tl.load(q + place)
    own, stride = head // (heads // kv_heads) * D, kv_heads * D
    sums, norm = tl.zeros((BM, D), tl.float32), tl.zeros((BM,), tl.float32)
    most = tl.full((BM,), -1e6, tl.float32)
    sums, norm, most = _seen(
        queries, sums, norm, most, k + own, v + own, rows, 0, first, stride, scale, BN, D, False
    )
    sums, norm, most = _seen(
        queries, sums, norm, most, k + own, v + own, rows, first, first + BM, stride, scale, BN, D,
        True,
    )  # fmt: skip
    tl.store(logs + head * seq + rows, most + tl.log2(norm))
    tl.store(out + place, (sums / norm[:, None]).to(out.dtype.element_ty))


@triton.jit
def paged(
    q, keys, values, table, lengths, out, logs, pages, longest, scale,
    HEADS: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr, STEP: tl.constexpr,
    PART: tl.constexpr,
):  # fmt: skip
    """Attend from one token to a part of its pages; HEADS queries share a head of keys."""
    sequence, head, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    kv_heads, parts = tl.num_programs(1), tl.num_programs(2)
    group, inner = tl.arange(0, 16), tl.arange(0, D)
    first = (sequence * kv_heads + head) * HEADS
    real = (group < HEADS)[:, None]
    queries = tl.load(q + (first + group)[:, None] * D + inner[None, :], real, other=0)
    length = longest - tl.load(lengths + sequence)
    sums, norm = tl.zeros((16, D), tl.float32), tl.zeros((16,), tl.float32)
    most = tl.full((16,), -1e30, tl.float32)
    for at in range(part * PART, tl.minimum((part + 1) * PART, length), STEP):
        steps = at + tl.arange(0, STEP)
        mask = steps < length
        page = tl.load(table + sequence * (longest // PAGE) + steps // PAGE, mask, other=0)
        page = (page % pages.to(tl.uint32)).to(tl.int64)
        slots = ((page * kv_heads + head) * PAGE + steps % PAGE) * D
        k = tl.load(keys + slots[None, :] + inner[:, None], mask[None, :], other=0)
        scores = tl.where(mask[None, :], tl.dot(queries, k) * scale, -1e30)
        new = tl.maximum(most, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        norm = norm * shrink + tl.sum(powers, axis=1)
        v = tl.load(values + slots[:, None] + inner[None, :], mask[:, None], other=0)
        sums = tl.dot(powers.to(v.dtype), v, sums * shrink[:, None])
        most = new
    row = (first + group) * parts + part
    norm = tl.where(norm > 0, norm, 1)
    tl.store(out + row[:, None] * D + inner[None, :], sums / norm[:, None], real)
    tl.store(logs + row, most + tl.log2(norm), group < HEADS)


@triton.jit
def join_parts(out, logs, joined, PARTS: tl.constexpr, D: tl.constexpr):
    """Join what parts of a cache gave a head, by their logarithms."""
    row, inner, part = tl.program_id(0).to(tl.int64), tl.arange(0, D), tl.arange(0, PARTS)
    found = tl.load(logs + row * PARTS + part)
    weights = tl.exp2(found - tl.max(found, axis=0))
    values = tl.load(out + (row * PARTS + part)[:, None] * D + inner[None, :])
    total = tl.sum(values * weights[:, None], axis=0) / tl.sum(weights, axis=0)
    tl.store(joined + row * D + inner, total.to(joined.dtype.element_ty))


@triton.jit
def latent(
    q, cache, out, logs, steps_of, scale,
    HEADS: tl.constexpr, D: tl.constexpr, R: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Attend from one token to a part of latent rows, which are keys and values at once."""
    sequence, part, parts = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    heads, inner, turned = tl.arange(0, HEADS), tl.arange(0, D), D + tl.arange(0, R)
    row = q + (sequence * HEADS + heads)[:, None] * (D + R)
    queries, rotated = tl.load(row + inner[None, :]), tl.load(row + turned[None, :])
    cache += sequence.to(tl.int64) * steps_of * (D + R)
    each = steps_of // parts
    sums, norm = tl.zeros((HEADS, D), tl.float32), tl.zeros((HEADS,), tl.float32)
    most = tl.full((HEADS,), -1e30, tl.float32)
    for at in range(part * each, (part + 1) * each, STEP):
        steps = cache + (at + tl.arange(0, STEP))[:, None] * (D + R)
        rows, ends = tl.load(steps + inner[None, :]), tl.load(steps + turned[None, :])
        scores = (tl.dot(queries, rows.T) + tl.dot(rotated, ends.T)) * scale
        new = tl.maximum(most, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        norm = norm * shrink + tl.sum(powers, axis=1)
        sums = tl.dot(powers.to(rows.dtype), rows, sums * shrink[:, None])
        most = new
    row = (sequence * parts + part) * HEADS + heads
    tl.store(out + row[:, None] * D + inner[None, :], sums / norm[:, None])
    tl.store(logs + row, most + tl.log2(norm))


@triton.jit
def queries_back(
    q, k, v, do, logs, delta, dq, seq, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Take the gradient of queries: over all keys that a row saw."""
    first, head = tl.program_id(0) * BM, tl.program_id(1)
    rows, inner = first + tl.arange(0, BM), tl.arange(0, D)
    base = head * seq * D
    place = base + rows[:, None] * D + inner[None, :]
    queries, slopes = tl.load(q + place), tl.load(do + place)
    log, own = tl.load(logs + head * seq + rows), tl.load(delta + head * seq + rows)
    sums = tl.zeros((BM, D), tl.float32)
    for at in range(0, first + BM, BN):
        cols = at + tl.arange(0, BN)
        keys = tl.load(k + base + cols[:, None] * D + inner[None, :])
        values = tl.load(v + base + cols[None, :] * D + inner[:, None])
        powers = tl.exp2(tl.dot(queries, keys.T) * (scale * 1.44269504) - log[:, None])
        powers = tl.where(rows[:, None] >= cols[None, :], powers, 0.0)
        back = powers * (tl.dot(slopes, values) - own[:, None])
        sums = tl.dot(back.to(keys.dtype), keys, sums)
    tl.store(dq + place, (sums * scale).to(dq.dtype.element_ty))


@triton.jit
def keys_back(
    q, k, v, do, logs, delta, dk, dv, seq, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Take the gradients of keys and values: over all queries that saw them."""
    first, head = tl.program_id(0) * BN, tl.program_id(1)
    cols, inner = first + tl.arange(0, BN), tl.arange(0, D)
    base = head * seq * D
    place = base + cols[:, None] * D + inner[None, :]
    keys, values = tl.load(k + place), tl.load(v + place)
    sums_k, sums_v = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for at in range(first, seq, BM):
        rows = at + tl.arange(0, BM)
        turned = tl.load(q + base + rows[None, :] * D + inner[:, None])
        log, own = tl.load(logs + head * seq + rows), tl.load(delta + head * seq + rows)
        powers = tl.exp2(tl.dot(keys, turned) * (scale * 1.44269504) - log[None, :])
        powers = tl.where(rows[None, :] >= cols[:, None], powers, 0.0)
        slopes = tl.load(do + base + rows[:, None] * D + inner[None, :])
        sums_v = tl.dot(powers.to(slopes.dtype), slopes, sums_v)
        back = powers * (tl.dot(values, slopes.T) - own[None, :])
        sums_k = tl.dot(back.to(slopes.dtype), turned.T, sums_k)
    tl.store(dk + place, (sums_k * scale).to(dk.dtype.element_ty))
    tl.store(dv + place, sums_v.to(dv.dtype.element_ty))


@triton.jit
def retention(
    q, k, v, out, seq, heads, T: tl.constexpr, D: tl.constexpr, V: tl.constexpr, BV: tl.constexpr
):
    """Attend linearly with a decay, chunk by chunk, with a state between chunks."""
    head = tl.program_id(1)
    time, inner = tl.arange(0, T), tl.arange(0, D)
    own = tl.program_id(0) * BV + tl.arange(0, BV)
    decay = tl.log2(1 - tl.exp2(-5.0 - (head % heads).to(tl.float32)))
    apart = time[:, None] - time[None, :]
    fading = tl.where(apart >= 0, tl.exp2(tl.maximum(apart, 0) * decay), 0.0)
    before, after = tl.exp2((time + 1) * decay), tl.exp2((T - 1 - time) * decay)
    state = tl.zeros((D, BV), tl.float32)
    for start in range(0, seq, T):
        rows = head.to(tl.int64) * seq + start + time
        queries = tl.load(q + rows[:, None] * D + inner[None, :])
        keys = tl.load(k + rows[None, :] * D + inner[:, None])
        values = tl.load(v + rows[:, None] * V + own[None, :])
        scores = (tl.dot(queries, keys) * fading).to(values.dtype)
        found = tl.dot(queries, state.to(queries.dtype)) * before[:, None]
        found = tl.dot(scores, values, found)
        state *= tl.exp2(T * decay)
        state = tl.dot((keys * after[None, :]).to(values.dtype), values, state)
        tl.store(out + rows[:, None] * V + own[None, :], found.to(out.dtype.element_ty))


@triton.jit
def chunk_scan(
    x, dt, a, b, c, states, out, seq, heads,
    T: tl.constexpr, N: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """Give what a chunk of Mamba-2 makes of its own steps and of the state before them."""
    chunk, head = tl.program_id(0), tl.program_id(1)
    time, inner, own = chunk * T + tl.arange(0, T), tl.arange(0, N), tl.arange(0, P)
    step = tl.load(dt + head * seq + time)
    step = tl.log(1 + tl.exp(step))
    grown = tl.cumsum(step * -tl.exp(tl.load(a + head)), axis=0)
    c_rows = tl.load(c + time[:, None] * N + inner[None, :])
    b_cols = tl.load(b + time[None, :] * N + inner[:, None])
    scores = tl.dot(c_rows, b_cols) * tl.exp(tl.minimum(grown[:, None] - grown[None, :], 0))
    scores = tl.where(time[:, None] >= time[None, :], scores * step[None, :], 0.0)
    place = time[:, None] * (heads * P) + head * P + own[None, :]
    values = tl.load(x + place)
    state = states + (chunk * heads + head) * N * P + inner[:, None] * P + own[None, :]
    found = tl.dot(c_rows, tl.load(state)) * tl.exp(grown)[:, None]
    found = tl.dot(scores.to(values.dtype), values, found)
    tl.store(out + place, found.to(out.dtype.element_ty))


@triton.jit
def receptance(r, k, v, w, bonus, out, seq, heads, D: tl.constexpr, BV: tl.constexpr):
    """Run RWKV's recurrence step by step, with a state of D x BV in registers."""
    head, inner = tl.program_id(1), tl.arange(0, D)
    own = tl.program_id(0) * BV + tl.arange(0, BV)
    extra = tl.load(bonus + head % heads * D + inner)
    state = tl.zeros((D, BV), tl.float32)
    for t in range(seq):
        row = (head * seq + t) * D
        receives, key = tl.load(r + row + inner), tl.load(k + row + inner)
        value, decay = tl.load(v + row + own), tl.exp(-tl.exp(tl.load(w + row + inner)))
        both = key[:, None] * value[None, :]
        found = tl.sum(receives[:, None] * (state + extra[:, None] * both), axis=0)
        state = state * decay[:, None] + both
        tl.store(out + row + own, found)
