"""Matrix products and what comes around them: scales, groups, experts, sparse blocks."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def _place(M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Return a program's tile, in groups of rows that share columns."""
    tile = tl.program_id(0)
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = tile // (GROUP * across)
    high = min(down - group * GROUP, GROUP)
    inside = tile % (GROUP * across)
    return group * GROUP + inside % high, inside // high


@triton.jit
def gelu_residual(
    a, b, bias, residual, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply, add a bias, take gelu by erf, and add what went around the layer."""
    i, j = _place(M, N, BM, BN, GROUP)
    rows, cols, inner = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at, b_at = a + rows[:, None] * K + inner[None, :], b + inner[:, None] * N + cols[None, :]
    sums = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(a_at), tl.load(b_at), sums)
        a_at += BK
        b_at += BK * N
    sums += tl.load(bias + cols).to(tl.float32)[None, :]
    y = 0.5 * sums * (1 + tl.erf(sums * 0.70710678))
    place = rows[:, None] * N + cols[None, :]
    tl.store(c + place, (y + tl.load(residual + place)).to(c.dtype.element_ty))


@triton.jit
def linear(
    x, w, out, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply by weights that lie as PyTorch's do, with every edge masked."""
    i, j = _place(M, N, BM, BN, GROUP)
    rows, cols, inner = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    x_at, w_at = x + rows[:, None] * K + inner[None, :], w + cols[None, :] * K + inner[:, None]
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        left = inner < K - k * BK
        one = tl.load(x_at, (rows[:, None] < M) & left[None, :], other=0)
        two = tl.load(w_at, left[:, None] & (cols[None, :] < N), other=0)
        sums = tl.dot(one, two, sums)
        x_at += BK
        w_at += BK
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out + rows[:, None] * N + cols[None, :], sums.to(out.dtype.element_ty), inside)


@triton.jit
def scaled_blocks(
    a, b, a_scale, b_scale, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply eight-bit floats, with a scale for each 1 x BK of A and each BN x BK of B."""
    i, j = _place(M, N, BM, BN, GROUP)
    rows, cols, inner = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at, b_at = a + rows[:, None] * K + inner[None, :], b + cols[None, :] * K + inner[:, None]
    pieces = K // BK
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(pieces):
        scale = tl.load(a_scale + rows * pieces + k) * tl.load(b_scale + j * pieces + k)
        sums += tl.dot(tl.load(a_at), tl.load(b_at)) * scale[:, None]
        a_at += BK
        b_at += BK
    tl.store(c + rows[:, None] * N + cols[None, :], sums.to(c.dtype.element_ty))


@triton.jit
def bytes_and_nibbles(
    a, packed, a_scale, scales, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiply bytes by weights of four bits, two to a byte along K."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner, half = tl.arange(0, BK), tl.arange(0, BK // 2)
    a_at = a + rows[:, None] * K + inner[None, :]
    w_at = packed + half[:, None] * N + cols[None, :]
    sums = tl.zeros((BM, BN), tl.int32)
    for _ in range(0, K, BK):
        both = tl.load(w_at)
        low, high = (both << 4) >> 4, both >> 4
        weights = tl.join(low, high).permute(0, 2, 1).reshape(BK, BN)
        sums = tl.dot(tl.load(a_at), weights, sums, out_dtype=tl.int32)
        a_at += BK
        w_at += BK // 2 * N
    y = sums.to(tl.float32) * tl.load(a_scale + rows)[:, None] * tl.load(scales + cols)[None, :]
    tl.store(c + rows[:, None] * N + cols[None, :], y.to(c.dtype.element_ty))


@triton.jit
def stream_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Share the steps of all tiles evenly; parts of a tile are added by atomics."""
    steps, across = K // BK, tl.cdiv(N, BN)
    total = tl.cdiv(M, BM) * across * steps
    each = tl.cdiv(total, tl.num_programs(0))
    at = tl.program_id(0) * each
    stop = tl.minimum(at + each, total)
    inner = tl.arange(0, BK)
    while at < stop:
        tile, first = at // steps, at % steps
        last = tl.minimum(first + stop - at, steps)
        rows = tile // across * BM + tl.arange(0, BM)
        cols = tile % across * BN + tl.arange(0, BN)
        a_at = a + rows[:, None] * K + (first * BK + inner)[None, :]
        b_at = b + (first * BK + inner)[:, None] * N + cols[None, :]
        sums = tl.zeros((BM, BN), tl.float32)
        for _ in range(first, last):
            sums = tl.dot(tl.load(a_at), tl.load(b_at), sums)
            a_at += BK
            b_at += BK * N
        place = c + rows[:, None] * N + cols[None, :]
        if (first == 0) & (last == steps):
            tl.store(place, sums)
        else:
            tl.atomic_add(place, sums, sem="relaxed")
        at += last - first


@triton.jit
def grouped(
    a, b, c, sizes, most, N, K,
    GROUPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Multiply groups of unlike heights, every n-th tile of them all a program."""
    tile, done = tl.program_id(0), 0
    across, inner = tl.cdiv(N, BN), tl.arange(0, BK)
    for group in range(GROUPS):
        height = tl.load(sizes + group) % most + 1
        count = tl.cdiv(height, BM) * across
        while tile < done + count:
            own = tile - done
            rows = own // across * BM + tl.arange(0, BM)
            cols = own % across * BN + tl.arange(0, BN)
            a_at = a + (group * most + rows % height)[:, None] * K + inner[None, :]
            b_at = b + group * K * N + inner[:, None] * N + cols[None, :]
            sums = tl.zeros((BM, BN), tl.float32)
            for _ in range(0, K, BK):
                sums = tl.dot(tl.load(a_at), tl.load(b_at), sums)
                a_at += BK
                b_at += BK * N
            place = c + (group * most + rows)[:, None] * N + cols[None, :]
            tl.store(place, sums.to(c.dtype.element_ty), (rows < height)[:, None])
            tile += tl.num_programs(0)
        done += count


@triton.jit
def experts_out(
    x, w, places, experts, gates, out, tokens, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, E: tl.constexpr,
):  # fmt: skip
    """Multiply by an expert's weights, and add to the tokens' rows by their gates."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    cols, inner = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    expert = (tl.load(experts + tl.program_id(0)) % E).to(tl.int64)
    x_at = x + at[:, None] * K + inner[None, :]
    w_at = w + expert * N * K + cols[None, :] * K + inner[:, None]
    sums = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(x_at), tl.load(w_at), sums)
        x_at += BK
        w_at += BK
    token = (tl.load(places + at) % tokens.to(tl.uint32)).to(tl.int32)
    sums *= tl.load(gates + at)[:, None]
    tl.atomic_add(out + token[:, None] * N + cols[None, :], sums, sem="relaxed")


@triton.jit
def conv2d(
    x, w, out, images, H, W,
    C: tl.constexpr, F: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Convolve 3 x 3 with edges of zeros, channels last, as a product that is never laid out."""
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    filters, inner = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    image, row, col = pixel // (H * W), pixel // W % H, pixel % W
    sums = tl.zeros((BM, BN), tl.float32)
    for step in range(9 * C // BK):
        tap, channel = step * BK // C, step * BK % C + inner
        y, z = row + tap // 3 - 1, col + tap % 3 - 1
        inside = (image < images) & (y >= 0) & (y < H) & (z >= 0) & (z < W)
        place = ((image * H + y) * W + z) * C
        one = tl.load(x + place[:, None] + channel[None, :], inside[:, None], other=0)
        two = tl.load(w + (tap * C + channel)[:, None] * F + filters[None, :])
        sums = tl.dot(one, two, sums)
    place = out + pixel[:, None] * F + filters[None, :]
    tl.store(place, tl.maximum(sums, 0).to(out.dtype.element_ty), (image < images)[:, None])


@triton.jit
def sparse_blocks(
    values, columns, counts, b, c, down, N,
    MOST: tl.constexpr, SIZE: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Multiply a matrix of sparse blocks: a row of blocks has up to MOST of them."""
    row, cols = tl.program_id(1), tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, SIZE)
    count = MOST // 2 + tl.load(counts + row) % (MOST // 2)
    sums = tl.zeros((SIZE, BN), tl.float32)
    for i in range(count):
        at = row * MOST + i
        block = tl.load(values + at * SIZE * SIZE + inner[:, None] * SIZE + inner[None, :])
        first = (tl.load(columns + at) % down.to(tl.uint32)).to(tl.int32) * SIZE
        dense = tl.load(b + (first + inner)[:, None] * N + cols[None, :])
        sums = tl.dot(block, dense, sums)
    place = (row * SIZE + inner)[:, None] * N + cols[None, :]
    tl.store(c + place, sums.to(c.dtype.element_ty))


@triton.jit
def mapped(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, APART: tl.constexpr,
):  # fmt: skip
    """Multiply by tensor maps, every n-th tile a program; B by columns, C in two halves."""
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    for tile in tl.range(
        tl.program_id(0), tiles, tl.num_programs(0), flatten=not APART, warp_specialize=APART
    ):
        m, n = tile // across * BM, tile % across * BN
        sums = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            sums = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, sums)
        if APART:
            c.store([m, n], sums.to(tl.float16))
        else:
            left, right = tl.reshape(sums, (BM, 2, BN // 2)).permute(0, 2, 1).split()
            c.store([m, n], left.to(tl.float16))
            c.store([m, n + BN // 2], right.to(tl.float16))
