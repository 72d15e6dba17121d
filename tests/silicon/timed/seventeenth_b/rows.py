"""Rows and columns: norms, losses, reductions, scans and sorts, as people write them in Triton."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    """Softmax of a row that a program holds."""
    row, at = tl.program_id(0) * cols, tl.arange(0, BLOCK)
    values = tl.load(x + row + at, at < cols, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + at, powers / tl.sum(powers, axis=0), at < cols)


@triton.jit
def softmax_persistent(x, out, rows, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Softmax of every n-th row, loaded ahead, as in Triton's tutorial."""
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row * cols + at, at < cols, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * cols + at, powers / tl.sum(powers, axis=0), at < cols)


@triton.jit
def layer_norm(x, out, weight, bias, means, scales, cols, eps, BLOCK: tl.constexpr):
    """Normalise a row in three walks over it, as in Triton's tutorial."""
    row = tl.program_id(0)
    x += row * cols
    out += row * cols
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x + at, at < cols, other=0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / cols
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + at, at < cols, other=0).to(tl.float32)
        apart = tl.where(at < cols, values - mean, 0.0)
        squares += apart * apart
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + at, at < cols, other=0).to(tl.float32)
        y = (values - mean) * scale * tl.load(weight + at, at < cols)
        tl.store(out + at, y + tl.load(bias + at, at < cols), at < cols)


@triton.jit
def layer_norm_dx(
    dx, dy, dw, db, x, weight, means, scales, locks, cols,
    GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Take a row's gradient, and add to one of GROUP sums under its lock."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < cols
    values = tl.load(x + row * cols + at, mask, other=0).to(tl.float32)
    slopes = tl.load(dy + row * cols + at, mask, other=0).to(tl.float32)
    w = tl.load(weight + at, mask).to(tl.float32)
    mean, scale = tl.load(means + row), tl.load(scales + row)
    xhat = tl.where(mask, (values - mean) * scale, 0.0)
    wdy = tl.where(mask, w * slopes, 0.0)
    c1, c2 = tl.sum(xhat * wdy, axis=0) / cols, tl.sum(wdy, axis=0) / cols
    tl.store(dx + row * cols + at, (wdy - (xhat * c1 + c2)) * scale, mask)
    own = row % GROUP
    part_w, part_b = slopes * xhat, slopes
    while tl.atomic_cas(locks + own, 0, 1) == 1:
        pass
    count = tl.load(locks + GROUP + own)
    if count == 0:
        tl.atomic_xchg(locks + GROUP + own, 1)
    else:
        part_w += tl.load(dw + own * cols + at, mask)
        part_b += tl.load(db + own * cols + at, mask)
    tl.store(dw + own * cols + at, part_w, mask)
    tl.store(db + own * cols + at, part_b, mask)
    tl.debug_barrier()
    tl.atomic_xchg(locks + own, 0)


@triton.jit
def layer_norm_dw(dw, db, total_w, total_b, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    """Sum up what the rows' programs left."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    sums_w, sums_b = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for i in range(0, rows, BM):
        row = i + tl.arange(0, BM)
        mask = (row[:, None] < rows) & (at[None, :] < cols)
        place = row[:, None] * cols + at[None, :]
        sums_w += tl.load(dw + place, mask, other=0.0)
        sums_b += tl.load(db + place, mask, other=0.0)
    tl.store(total_w + at, tl.sum(sums_w, axis=0), at < cols)
    tl.store(total_b + at, tl.sum(sums_b, axis=0), at < cols)


@triton.jit
def rms_norm(x, residual, weight, out, cols, eps, BLOCK: tl.constexpr):
    """Add a residual, and normalise the row."""
    row, at = tl.program_id(0) * cols, tl.arange(0, BLOCK)
    values = tl.load(x + row + at, at < cols, other=0).to(tl.float32)
    values += tl.load(residual + row + at, at < cols, other=0).to(tl.float32)
    tl.store(residual + row + at, values, at < cols)
    scale = tl.rsqrt(tl.sum(values * values, axis=0) / cols + eps)
    tl.store(out + row + at, values * scale * tl.load(weight + at, at < cols), at < cols)


@triton.jit
def group_norm(x, weight, bias, out, SIZE: tl.constexpr, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """Normalise a group of EACH channels of SIZE pixels, read twice."""
    groups, group = tl.num_programs(1), tl.program_id(1)
    first = (tl.program_id(0) * groups + group) * EACH * SIZE
    sums, squares = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, EACH * SIZE, BLOCK):
        values = tl.load(x + first + start + tl.arange(0, BLOCK)).to(tl.float32)
        sums += values
        squares += values * values
    mean = tl.sum(sums, axis=0) / (EACH * SIZE)
    scale = tl.rsqrt(tl.sum(squares, axis=0) / (EACH * SIZE) - mean * mean + 1e-5)
    for start in range(0, EACH * SIZE, BLOCK):
        at = start + tl.arange(0, BLOCK)
        channel = group * EACH + at // SIZE
        values = (tl.load(x + first + at).to(tl.float32) - mean) * scale
        y = values * tl.load(weight + channel) + tl.load(bias + channel)
        tl.store(out + first + at, y * tl.sigmoid(y))


@triton.jit
def cross_entropy(logits, labels, losses, words, factor, BLOCK: tl.constexpr):
    """Take a row's loss by online softmax, then leave its gradient, as Liger's kernel does."""
    row = tl.program_id(0)
    logits += row.to(tl.int64) * words
    label = tl.load(labels + row)
    most, norm = -float("inf"), 0.0
    own = tl.load(logits + label).to(tl.float32)
    for start in range(0, words, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(logits + at, at < words, other=-float("inf")).to(tl.float32)
        new = tl.maximum(most, tl.max(values))
        norm = norm * tl.exp(most - new) + tl.sum(tl.exp(values - new))
        most = new
    for start in range(0, words, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(logits + at, at < words, other=-float("inf")).to(tl.float32)
        slopes = tl.exp(values - most) / norm - tl.where(at == label, 1.0, 0.0)
        tl.store(logits + at, slopes * factor, at < words)
    tl.store(losses + row, most + tl.log(norm) - own)


@triton.jit
def argmax(x, out, cols, BLOCK: tl.constexpr):
    """Find the greatest of a row, a piece at a time."""
    row = tl.program_id(0)
    best, place = -float("inf"), 0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * cols + at, at < cols, other=-float("inf")).to(tl.float32)
        most, where = tl.max(values, axis=0, return_indices=True)
        place = tl.where(most > best, start + where, place)
        best = tl.maximum(best, most)
    tl.store(out + row, place)


@triton.jit
def quantize_rows(x, out, scales, cols, BLOCK: tl.constexpr):
    """Turn a row to bytes, by its greatest."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, at < cols, other=0).to(tl.float32)
    most = tl.maximum(tl.max(tl.abs(values), axis=0), 1e-6)
    tl.store(out + row * cols + at, (values * (127 / most)).to(tl.int8), at < cols)
    tl.store(scales + row, most / 127)


@triton.jit
def row_sums(x, out, cols, BM: tl.constexpr, BN: tl.constexpr):
    """Sum rows of a matrix, BM at a time."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, cols, BN):
        sums += tl.load(x + rows[:, None] * cols + start + tl.arange(0, BN)[None, :])
    tl.store(out + rows, tl.sum(sums, axis=1))


@triton.jit
def column_sums(x, out, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    """Sum columns of a matrix: a part of the rows a program, added by atomics."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(1) * BM, rows, tl.num_programs(1) * BM):
        row = start + tl.arange(0, BM)
        mask = (row[:, None] < rows) & (at[None, :] < cols)
        sums += tl.load(x + row[:, None] * cols + at[None, :], mask, other=0.0)
    tl.atomic_add(out + at, tl.sum(sums, axis=0), at < cols)


@triton.jit
def running_sums(x, out, cols, BLOCK: tl.constexpr):
    """Sum up along a row that a program holds."""
    row, at = tl.program_id(0) * cols, tl.arange(0, BLOCK)
    values = tl.load(x + row + at, at < cols, other=0.0)
    tl.store(out + row + at, tl.cumsum(values, axis=0), at < cols)


@triton.jit
def _joined(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(a, x, out, steps, dim, T: tl.constexpr, D: tl.constexpr):
    """Run h = a h + x over time, by chunks that are scanned."""
    at = tl.program_id(0) * D + tl.arange(0, D)
    first = tl.program_id(1).to(tl.int64) * steps * dim
    state = tl.zeros((D,), tl.float32)
    for start in range(0, steps, T):
        time = start + tl.arange(0, T)
        place = first + time[:, None] * dim + at[None, :]
        gates, values = tl.sigmoid(tl.load(a + place)), tl.load(x + place)
        grown, sums = tl.associative_scan((gates, values), 0, _joined)
        found = sums + grown * state[None, :]
        tl.store(out + place, found)
        state = tl.sum(tl.where((time == start + T - 1)[:, None], found, 0.0), axis=0)


@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr):
    """Count bytes, a program EACH pieces."""
    counts = tl.zeros((BINS,), tl.int32)
    for i in range(EACH):
        at = (tl.program_id(0) * EACH + i) * BLOCK + tl.arange(0, BLOCK)
        counts += tl.histogram(tl.load(x + at, at < n, other=0).to(tl.int32), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def sort(x, out, N: tl.constexpr):
    """Sort a row."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def gating(x, weights, places, N: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr):
    """Find the K greatest of a token's scores with their places, and their softmax."""
    rows, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, N)
    bits = tl.load(x + rows[:, None] * N + at[None, :]).to(tl.int32, bitcast=True)
    keys = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64) << 32 | at[None, :]
    found = tl.topk(keys, K)
    high = (found >> 32).to(tl.int32)
    scores = tl.where(high < 0, high ^ 0x7FFFFFFF, high).to(tl.float32, bitcast=True)
    powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    place = rows[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(weights + place, powers / tl.sum(powers, axis=1)[:, None])
    tl.store(places + place, (found & 0xFFFFFFFF).to(tl.int32))
