"""Rows, pictures, gathers and bodies in Triton, as people write them who come from PyTorch."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def geglu_backward(dout_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, BLOCK: tl.constexpr):
    """Take the gradients of gelu(gate) * up, with the exact GELU."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    dout = tl.load(dout_ptr + at).to(tl.float32)
    gate = tl.load(gate_ptr + at).to(tl.float32)
    up = tl.load(up_ptr + at).to(tl.float32)
    share = 0.5 * (1.0 + tl.erf(gate * 0.70710678))
    slope = share + gate * 0.39894228 * tl.exp(-0.5 * gate * gate)
    tl.store(dgate_ptr + at, (dout * up * slope).to(dgate_ptr.dtype.element_ty))
    tl.store(dup_ptr + at, (dout * gate * share).to(dup_ptr.dtype.element_ty))


@triton.jit
def group_norm_silu(
    x_ptr, gain_ptr, bias_ptr, out_ptr, eps,
    PIXELS: tl.constexpr, CHANNELS: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Norm a group of channels of a picture, channels last, then SiLU (a diffusion U-Net's)."""
    channels = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    base = tl.program_id(1).to(tl.int64) * PIXELS * CHANNELS
    total = tl.zeros((BLOCK, GROUP), dtype=tl.float32)
    squares = tl.zeros((BLOCK, GROUP), dtype=tl.float32)
    for start in range(0, PIXELS, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + rows[:, None] * CHANNELS + channels[None, :]).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(tl.sum(total, 1), 0) / (PIXELS * GROUP)
    variance = tl.sum(tl.sum(squares, 1), 0) / (PIXELS * GROUP) - mean * mean
    rstd = 1.0 / tl.sqrt(variance + eps)
    gain = tl.load(gain_ptr + channels).to(tl.float32) * rstd
    bias = tl.load(bias_ptr + channels).to(tl.float32) - mean * gain
    for start in range(0, PIXELS, BLOCK):
        at = base + (start + tl.arange(0, BLOCK))[:, None] * CHANNELS + channels[None, :]
        y = tl.load(x_ptr + at).to(tl.float32) * gain[None, :] + bias[None, :]
        tl.store(out_ptr + at, (y * tl.sigmoid(y)).to(out_ptr.dtype.element_ty))


@triton.jit
def kl_of_logits(student_ptr, teacher_ptr, loss_ptr, n_cols, heat, BLOCK: tl.constexpr):
    """Take the divergence of a student's logits from a teacher's, a row a program."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    at = row * n_cols + cols
    s = tl.load(student_ptr + at, mask=mask, other=float("-inf")).to(tl.float32) / heat
    t = tl.load(teacher_ptr + at, mask=mask, other=float("-inf")).to(tl.float32) / heat
    s -= tl.max(s, 0)
    t -= tl.max(t, 0)
    s -= tl.log(tl.sum(tl.exp(s), 0))
    t -= tl.log(tl.sum(tl.exp(t), 0))
    tl.store(loss_ptr + row, tl.sum(tl.where(mask, tl.exp(t) * (t - s), 0.0), 0) * heat * heat)


@triton.jit
def adaln_modulate(
    x_ptr, shift_ptr, scale_ptr, out_ptr, n_cols, tokens, eps, BLOCK: tl.constexpr
):  # fmt: skip
    """Norm a row, then scale and shift it by what its picture says (DiT's)."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, 0) / n_cols + eps)
    said = row // tokens * n_cols + cols
    scale = tl.load(scale_ptr + said, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(shift_ptr + said, mask=mask, other=0.0).to(tl.float32)
    y = centred * rstd * (1.0 + scale) + shift
    tl.store(out_ptr + row * n_cols + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def max_pool(
    x_ptr, out_ptr, height, width, out_height, out_width,
    C: tl.constexpr, BLOCK_P: tl.constexpr,
):  # fmt: skip
    """Pool 3 x 3 by two, channels last, with a margin of one."""
    pixel = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    ox = pixel % out_width
    oy = pixel // out_width % out_height
    picture = pixel // (out_width * out_height)
    channels = tl.arange(0, C)
    most = tl.full((BLOCK_P, C), float("-inf"), dtype=tl.float32)
    for ky in tl.static_range(3):
        for kx in tl.static_range(3):
            y = oy * 2 + ky - 1
            x = ox * 2 + kx - 1
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            at = ((picture * height + y) * width + x)[:, None] * C + channels[None, :]
            v = tl.load(x_ptr + at, mask=inside[:, None], other=float("-inf"))
            most = tl.maximum(most, v.to(tl.float32))
    tl.store(out_ptr + pixel[:, None] * C + channels[None, :], most.to(out_ptr.dtype.element_ty))


@triton.jit
def grid_sample(
    image_ptr, where_ptr, out_ptr, height, width, C: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Sample a picture, channels last, at places in [-1, 1), bilinearly; edges repeat."""
    point = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channels = tl.arange(0, C)
    x = (tl.load(where_ptr + 2 * point) + 1.0) * 0.5 * (width - 1)
    y = (tl.load(where_ptr + 2 * point + 1) + 1.0) * 0.5 * (height - 1)
    x0 = tl.floor(x).to(tl.int32)
    y0 = tl.floor(y).to(tl.int32)
    fx = (x - x0)[:, None]
    fy = (y - y0)[:, None]
    x1 = tl.minimum(x0 + 1, width - 1)
    y1 = tl.minimum(y0 + 1, height - 1)
    a = tl.load(image_ptr + (y0 * width + x0)[:, None] * C + channels[None, :])
    b = tl.load(image_ptr + (y0 * width + x1)[:, None] * C + channels[None, :])
    c = tl.load(image_ptr + (y1 * width + x0)[:, None] * C + channels[None, :])
    d = tl.load(image_ptr + (y1 * width + x1)[:, None] * C + channels[None, :])
    above = a + (b - a) * fx
    below = c + (d - c) * fx
    tl.store(out_ptr + point[:, None] * C + channels[None, :], above + (below - above) * fy)


@triton.jit
def index_add(src_ptr, index_ptr, out_ptr, n_out, DIM: tl.constexpr, ROWS: tl.constexpr):
    """Add rows to where their indexes say: messages to the nodes of a graph."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, DIM)
    to = (tl.load(index_ptr + rows) & 0x7FFFFFFF).to(tl.int32) % n_out
    x = tl.load(src_ptr + rows[:, None] * DIM + cols[None, :])
    tl.atomic_add(out_ptr + to[:, None] * DIM + cols[None, :], x, sem="relaxed")


@triton.jit
def pull_of_bodies(
    x_ptr, y_ptr, z_ptr, mass_ptr, ax_ptr, ay_ptr, az_ptr, n,
    BLOCK: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """Sum the pull of all bodies on BLOCK of them."""
    mine = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + mine)[:, None]
    y = tl.load(y_ptr + mine)[:, None]
    z = tl.load(z_ptr + mine)[:, None]
    ax = tl.zeros((BLOCK, OTHERS), dtype=tl.float32)
    ay = tl.zeros((BLOCK, OTHERS), dtype=tl.float32)
    az = tl.zeros((BLOCK, OTHERS), dtype=tl.float32)
    for start in range(0, n, OTHERS):
        others = start + tl.arange(0, OTHERS)
        dx = tl.load(x_ptr + others)[None, :] - x
        dy = tl.load(y_ptr + others)[None, :] - y
        dz = tl.load(z_ptr + others)[None, :] - z
        near = tl.rsqrt(dx * dx + dy * dy + dz * dz + 1.0e-3)
        pull = tl.load(mass_ptr + others)[None, :] * near * near * near
        ax += pull * dx
        ay += pull * dy
        az += pull * dz
    tl.store(ax_ptr + mine, tl.sum(ax, 1))
    tl.store(ay_ptr + mine, tl.sum(ay, 1))
    tl.store(az_ptr + mine, tl.sum(az, 1))


@triton.jit
def row_medians(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Sort short rows, and keep what lies in the middle of each."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    x = tl.sort(tl.load(x_ptr + rows[:, None] * COLS + cols[None, :]), dim=1)
    middle = (cols == COLS // 2 - 1) | (cols == COLS // 2)
    tl.store(out_ptr + rows, tl.sum(tl.where(middle[None, :], x, 0.0), 1) * 0.5)
