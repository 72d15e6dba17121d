"""Element by element, and by index: tables, optimizers, pictures, caches, sparse rows."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def embedding_back(ids, slopes, table, words, D: tl.constexpr, ROWS: tl.constexpr):
    """Add rows of gradients to a table's rows, by atomics."""
    rows, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    found = (tl.load(ids + rows) % words.to(tl.uint32)).to(tl.int64)
    values = tl.load(slopes + rows[:, None] * D + at[None, :]).to(tl.float32)
    tl.atomic_add(table + found[:, None] * D + at[None, :], values, sem="relaxed")


@triton.jit
def adam_in_bytes(
    p, g, m, v, m_scale, v_scale, rate, decay, first, second, eps, BLOCK: tl.constexpr
):
    """Take a step of Adam whose moments are bytes, with a scale for each block."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    weight, slope = tl.load(p + at), tl.load(g + at).to(tl.float32)
    mean = tl.load(m + at).to(tl.float32) * tl.load(m_scale + block)
    square = tl.load(v + at).to(tl.float32) * tl.abs(tl.load(v_scale + block))
    mean = first * mean + (1 - first) * slope
    square = second * square + (1 - second) * slope * slope
    weight = weight * (1 - rate * decay) - rate * mean / (tl.sqrt(square) + eps)
    tl.store(p + at, weight)
    most = tl.maximum(tl.max(tl.abs(mean), axis=0), 1e-12) / 127
    tl.store(m_scale + block, most)
    tl.store(m + at, tl.extra.cuda.libdevice.rint(mean / most).to(tl.int8))
    most = tl.maximum(tl.max(square, axis=0), 1e-12) / 255
    tl.store(v_scale + block, most)
    tl.store(v + at, tl.extra.cuda.libdevice.rint(square / most).to(tl.uint8))


@triton.jit
def upsample(x, out, n, H, W, BLOCK: tl.constexpr):
    """Double a picture's sides, between its pixels in straight lines."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    plane, row, col = at // (4 * H * W), at // (2 * W) % (2 * H), at % (2 * W)
    y = tl.maximum((row.to(tl.float32) + 0.5) * 0.5 - 0.5, 0.0)
    z = tl.maximum((col.to(tl.float32) + 0.5) * 0.5 - 0.5, 0.0)
    top, left = y.to(tl.int32), z.to(tl.int32)
    down, right = tl.minimum(top + 1, H - 1), tl.minimum(left + 1, W - 1)
    fy, fz = y - top.to(tl.float32), z - left.to(tl.float32)
    base = x + plane * H * W
    a, b = tl.load(base + top * W + left, mask), tl.load(base + top * W + right, mask)
    c, d = tl.load(base + down * W + left, mask), tl.load(base + down * W + right, mask)
    above, below = a * (1 - fz) + b * fz, c * (1 - fz) + d * fz
    tl.store(out + at, (above * (1 - fy) + below * fy).to(out.dtype.element_ty), mask)


@triton.jit
def cache_write(
    k, v, keys, values, slots, scale, places,
    HEADS: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, X: tl.constexpr,
):  # fmt: skip
    """Write a token's keys and values where its slot is: keys in pieces of X, both as bytes."""
    token = tl.program_id(0).to(tl.int64)
    slot = (tl.load(slots + token) % places.to(tl.uint32)).to(tl.int64)
    page, inside = slot // PAGE, slot % PAGE
    at = tl.arange(0, HEADS * D)
    head, inner = at // D, at % D
    shrink = 1 / tl.load(scale)
    key = tl.load(k + token * (HEADS * D) + at).to(tl.float32) * shrink
    value = tl.load(v + token * (HEADS * D) + at).to(tl.float32) * shrink
    place = ((page * HEADS + head) * (D // X) + inner // X) * (PAGE * X) + inside * X + inner % X
    tl.store(keys + place, key.to(keys.dtype.element_ty))
    tl.store(values + ((page * HEADS + head) * D + inner) * PAGE + inside,
             value.to(values.dtype.element_ty))  # fmt: skip


@triton.jit
def sparse_rows(
    values, columns, lengths, x, out, cols, EACH: tl.constexpr, ROWS: tl.constexpr, D: tl.constexpr
):
    """Multiply sparse rows of up to EACH numbers by a thin matrix."""
    rows, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    length = tl.load(lengths + rows) % EACH + 1
    sums = tl.zeros((ROWS, D), tl.float32)
    for i in range(tl.max(length, axis=0)):
        mask = i < length
        col = tl.load(columns + rows * EACH + i, mask, other=0) % cols.to(tl.uint32)
        value = tl.load(values + rows * EACH + i, mask, other=0.0)
        dense = tl.load(x + col.to(tl.int32)[:, None] * D + at[None, :], mask[:, None], other=0.0)
        sums += value[:, None] * dense
    tl.store(out + rows[:, None] * D + at[None, :], sums)


@triton.jit
def channels_last(x, scale, shift, out, ynumel, xnumel, YBLOCK: tl.constexpr, XBLOCK: tl.constexpr):
    """Turn channels to the end behind a norm and gelu, as PyTorch's compiler writes it."""
    y = tl.program_id(1) * YBLOCK + tl.arange(0, YBLOCK)[:, None]
    z = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[None, :]
    mask = (y < ynumel) & (z < xnumel)
    channel, image = y % 192, y // 192
    values = tl.load(x + z + xnumel * y, mask, eviction_policy="evict_last").to(tl.float32)
    values = values * tl.load(scale + channel, y < ynumel) + tl.load(shift + channel, y < ynumel)
    found = values * 0.5 * (tl.extra.cuda.libdevice.erf(values * 0.7071067811865476) + 1.0)
    tl.store(out + channel + 192 * z + 192 * xnumel * image, found.to(out.dtype.element_ty), mask)
