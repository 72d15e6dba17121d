"""Element by element: streams, gathers, tails and transposes, as people write them in Triton."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """Add two vectors."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    """Drop elements by Philox's numbers of a seed."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    values = tl.load(x + at, at < n)
    tl.store(out + at, tl.where(keep, values / (1 - p), 0.0), at < n)


@triton.jit
def swiglu(gate, up, out, cols, BLOCK: tl.constexpr):
    """Multiply by silu of a gate: a row a program, as Liger's kernel does."""
    row, at = tl.program_id(0).to(tl.int64) * cols, tl.arange(0, BLOCK)
    a = tl.load(gate + row + at, at < cols, other=0).to(tl.float32)
    b = tl.load(up + row + at, at < cols, other=0)
    tl.store(out + row + at, (a * tl.sigmoid(a)).to(b.dtype) * b, at < cols)


@triton.jit
def rope(q, k, cos, sin, seq, Q: tl.constexpr, K: tl.constexpr, D: tl.constexpr):
    """Rotate all heads of a token's queries and keys, in place."""
    token, half = tl.program_id(0), tl.arange(0, D // 2)
    c = tl.load(cos + token % seq * (D // 2) + half)[None, :]
    s = tl.load(sin + token % seq * (D // 2) + half)[None, :]
    q_at = q + token * Q * D + tl.arange(0, Q)[:, None] * D + half[None, :]
    a, b = tl.load(q_at), tl.load(q_at + D // 2)
    tl.store(q_at, a * c - b * s)
    tl.store(q_at + D // 2, b * c + a * s)
    k_at = k + token * K * D + tl.arange(0, K)[:, None] * D + half[None, :]
    a, b = tl.load(k_at), tl.load(k_at + D // 2)
    tl.store(k_at, a * c - b * s)
    tl.store(k_at + D // 2, b * c + a * s)


@triton.jit
def embedding(ids, table, out, words, D: tl.constexpr, ROWS: tl.constexpr):
    """Gather rows of a table by hashed words."""
    rows, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    found = (tl.load(ids + rows) % words.to(tl.uint32)).to(tl.int64)
    values = tl.load(table + found[:, None] * D + at[None, :])
    tl.store(out + rows[:, None].to(tl.int64) * D + at[None, :], values)


@triton.jit
def ragged_mean(x, lengths, out, most, D: tl.constexpr, STEP: tl.constexpr):
    """Take the mean over as many steps as a sequence has."""
    row, at = tl.program_id(0), tl.arange(0, D)
    length = tl.load(lengths + row)
    sums = tl.zeros((D,), tl.float32)
    for start in range(0, length, STEP):
        steps = start + tl.arange(0, STEP)
        place = x + (row.to(tl.int64) * most + steps[:, None]) * D + at[None, :]
        sums += tl.sum(tl.load(place, (steps < length)[:, None], other=0).to(tl.float32), axis=0)
    tl.store(out + row * D + at, sums / tl.maximum(length, 1))


@triton.jit
def conv1d(x, weight, bias, out, dim, seq, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Convolve channels by themselves with what came before, then silu, as Mamba does."""
    channel, at = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32) + tl.load(bias + channel % dim)
    for i in tl.static_range(WIDTH):
        place = at + (i - WIDTH + 1)
        values = tl.load(x + channel * seq + place, (place >= 0) & (place < seq), other=0)
        sums += values.to(tl.float32) * tl.load(weight + channel % dim * WIDTH + i)
    tl.store(out + channel * seq + at, sums * tl.sigmoid(sums), at < seq)


@triton.jit
def adamw(p, g, m, v, n, rate, decay, eps, BLOCK: tl.constexpr):
    """Take a step of AdamW, with moments in f32."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    slope, weight = tl.load(g + at, mask).to(tl.float32), tl.load(p + at, mask)
    first = 0.9 * tl.load(m + at, mask) + 0.1 * slope
    second = 0.99 * tl.abs(tl.load(v + at, mask)) + 0.01 * slope * slope
    tl.store(m + at, first, mask)
    tl.store(v + at, second, mask)
    tl.store(p + at, weight * (1 - decay) - rate * first / (tl.sqrt(second) + eps), mask)


@triton.jit
def transpose(x, out, rows, cols, BLOCK: tl.constexpr):
    """Transpose a matrix by square tiles."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i[:, None] < rows) & (j[None, :] < cols)
    tile = tl.load(x + i[:, None] * cols + j[None, :], mask)
    tl.store(out + j[:, None] * rows + i[None, :], tile.T, mask.T)


@triton.jit
def four_bit_rows(x, words, scales, out, K: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr):
    """Multiply a vector by weights of four bits, with a scale for each group."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    sums = tl.zeros((ROWS,), tl.float32)
    for group in range(K // GROUP):
        at = group * (GROUP // 2) + tl.arange(0, GROUP // 2)
        both = tl.load(words + rows[:, None] * (K // 2) + at[None, :])
        low, high = (both & 15).to(tl.float32) - 8, (both >> 4).to(tl.float32) - 8
        even, odd = tl.load(x + 2 * at).to(tl.float32), tl.load(x + 2 * at + 1).to(tl.float32)
        part = tl.sum(low * even[None, :] + high * odd[None, :], axis=1)
        sums += part * tl.load(scales + rows * (K // GROUP) + group).to(tl.float32)
    tl.store(out + rows, sums.to(tl.float16))
