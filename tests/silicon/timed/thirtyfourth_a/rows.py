"""Row by row: norms and their gradients, vocabularies, samples, scales, centres."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def rms_back(x, dy, weight, scales, dx, parts, rows, cols, BLOCK: tl.constexpr):
    """Take gradients of rows, a stretch of them a program, which keeps the weights' sums."""
    at = tl.arange(0, BLOCK)
    mask = at < cols
    each = tl.cdiv(rows, tl.num_programs(0))
    first = tl.program_id(0) * each
    w = tl.load(weight + at, mask, other=0).to(tl.float32)
    sums = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, tl.minimum(first + each, rows)):
        place = row.to(tl.int64) * cols + at
        values = tl.load(x + place, mask, other=0).to(tl.float32)
        slopes = tl.load(dy + place, mask, other=0).to(tl.float32)
        scale = tl.load(scales + row)
        normed, weighted = values * scale, slopes * w
        shift = tl.sum(normed * weighted, axis=0) / cols
        tl.store(dx + place, (scale * (weighted - normed * shift)).to(dx.dtype.element_ty), mask)
        sums += slopes * normed
    tl.store(parts + tl.program_id(0) * cols + at, sums, mask)


@triton.jit
def online_softmax(x, out, cols, BLOCK: tl.constexpr):
    """Take a row's softmax in two walks: the greatest and the sum in one of them."""
    row = tl.program_id(0).to(tl.int64) * cols
    most, norm = tl.full((BLOCK,), -1e30, tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row + at, at < cols, other=-1e30).to(tl.float32)
        new = tl.maximum(most, values)
        norm = norm * tl.exp(most - new) + tl.where(at < cols, tl.exp(values - new), 0.0)
        most = new
    top = tl.max(most, axis=0)
    total = tl.sum(norm * tl.exp(most - top), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row + at, at < cols, other=0).to(tl.float32)
        tl.store(out + row + at, (tl.exp(values - top) / total).to(out.dtype.element_ty), at < cols)


@triton.jit
def sample(logits, chosen, cols, warmth, seed, BLOCK: tl.constexpr):
    """Choose a word of a row by Gumbel's noise."""
    row = tl.program_id(0)
    best, place = tl.full((BLOCK,), -1e30, tl.float32), tl.zeros((BLOCK,), tl.int32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(logits + row * cols + at, at < cols, other=-1e30) / warmth
        noise = tl.rand(seed, row * cols + at)
        values -= tl.log(1e-9 - tl.log(noise + 1e-9))
        better = (values > best) & (at < cols)
        best, place = tl.where(better, values, best), tl.where(better, at, place)
    found = tl.argmax(best, axis=0)
    tl.store(chosen + row, tl.sum(tl.where(tl.arange(0, BLOCK) == found, place, 0), axis=0))


@triton.jit
def nucleus(logits, out, cols, share, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Keep the likeliest words that have a share together: halve where the least of them lies."""
    row, at = tl.program_id(0) * cols, tl.arange(0, BLOCK)
    values = tl.load(logits + row + at, at < cols, other=-1e30)
    powers = tl.exp(values - tl.max(values, axis=0))
    chances = powers / tl.sum(powers, axis=0)
    low, high = 0.0, tl.max(chances, axis=0)
    for _ in range(STEPS):
        middle = (low + high) * 0.5
        held = tl.sum(tl.where(chances >= middle, chances, 0.0), axis=0)
        low, high = tl.where(held >= share, middle, low), tl.where(held >= share, high, middle)
    kept = tl.where(chances >= low, chances, 0.0)
    tl.store(out + row + at, kept / tl.sum(kept, axis=0), at < cols)


@triton.jit
def quantize_blocks(x, out, scales, cols, SIZE: tl.constexpr):
    """Turn a block to eight-bit floats, by its greatest."""
    rows = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    place = rows[:, None] * cols + at[None, :]
    values = tl.load(x + place).to(tl.float32)
    scale = tl.maximum(tl.max(tl.max(tl.abs(values), axis=1), axis=0), 1e-6) / 448
    tl.store(out + place, (values / scale).to(out.dtype.element_ty))
    tl.store(scales + tl.program_id(1) * tl.num_programs(0) + tl.program_id(0), scale)


@triton.jit
def nearest(
    x, centres, squares, chosen, least, count, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """Find the nearest centre of each point, as a step of k-means does."""
    rows, inner = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    points = tl.load(x + rows[:, None] * D + inner[None, :])
    best, place = tl.full((BM,), 1e30, tl.float32), tl.zeros((BM,), tl.int32)
    for start in range(0, count, BN):
        cols = start + tl.arange(0, BN)
        found = tl.load(centres + cols[None, :] * D + inner[:, None])
        apart = tl.load(squares + cols)[None, :] - 2 * tl.dot(points, found)
        low, where = tl.min(apart, axis=1, return_indices=True)
        place = tl.where(low < best, start + where, place)
        best = tl.minimum(best, low)
    tl.store(chosen + rows, place)
    tl.store(least + rows, best)


@triton.jit
def _merged(mean_1, apart_1, count_1, mean_2, apart_2, count_2):
    count = count_1 + count_2
    part = tl.where(count == 0.0, 0.0, count_2 / count)
    delta = mean_2 - mean_1
    return mean_1 + delta * part, apart_1 + apart_2 + delta * delta * count_1 * part, count


@triton.jit
def welford(x, weight, out, xnumel, rnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    """Normalise rows by Welford's sums, as PyTorch's compiler writes a layer norm."""
    rows = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    base, inside = tl.arange(0, RBLOCK)[None, :], rows < xnumel
    mean = tl.zeros((XBLOCK, RBLOCK), tl.float32)
    apart, count = tl.zeros((XBLOCK, RBLOCK), tl.float32), tl.zeros((XBLOCK, RBLOCK), tl.float32)
    for start in range(0, rnumel, RBLOCK):
        at = start + base
        mask = inside & (at < rnumel)
        values = tl.load(x + at + rnumel * rows, mask, other=0.0, eviction_policy="evict_last")
        values = values.to(tl.float32)
        new = count + 1
        delta = values - mean
        moved = mean + delta / new
        apart = tl.where(mask, apart + delta * (values - moved), apart)
        mean, count = tl.where(mask, moved, mean), tl.where(mask, new, count)
    mean, apart, count = tl.reduce((mean, apart, count), 1, _merged)
    scale = tl.rsqrt(apart / rnumel + 1e-5)
    for start in range(0, rnumel, RBLOCK):
        at = start + base
        mask = inside & (at < rnumel)
        values = tl.load(x + at + rnumel * rows, mask, other=0.0, eviction_policy="evict_first")
        values = values.to(tl.float32)
        w = tl.load(weight + at, at < rnumel, other=0.0, eviction_policy="evict_last")
        y = (values - mean[:, None]) * scale[:, None] * w.to(tl.float32)
        tl.store(out + at + rnumel * rows, y.to(out.dtype.element_ty), mask)
