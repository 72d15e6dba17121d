"""Rows, pictures and additions in global memory, in Triton."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def class_sums(
    x_ptr, label_ptr, sum_ptr, count_ptr,
    CLASSES: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Add rows to the sums of their classes, of which there are few."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, WIDE)
    label = tl.load(label_ptr + rows) % CLASSES
    x = tl.load(x_ptr + rows[:, None] * WIDE + cols[None, :])
    tl.atomic_add(sum_ptr + label[:, None] * WIDE + cols[None, :], x)
    tl.atomic_add(count_ptr + label, 1)


@triton.jit
def squared_error_total(a_ptr, b_ptr, total_ptr, over_all, BLOCK: tl.constexpr):
    """Add each program's share of a mean squared error to one number."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    off = tl.load(a_ptr + at).to(tl.float32) - tl.load(b_ptr + at).to(tl.float32)
    tl.atomic_add(total_ptr, tl.sum(off * off, 0) * over_all)


@triton.jit
def moments_by_adds(
    x_ptr, sum_ptr, square_ptr, channels,
    PIXELS: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Add up channels and their squares over pixels, as a batch norm in training wants."""
    cols = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    first = tl.program_id(1) * PIXELS
    total = tl.zeros((WIDE,), dtype=tl.float32)
    square = tl.zeros((WIDE,), dtype=tl.float32)
    for start in range(0, PIXELS, BLOCK):
        rows = first + start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + rows[:, None] * channels + cols[None, :]).to(tl.float32)
        total += tl.sum(x, 0)
        square += tl.sum(x * x, 0)
    tl.atomic_add(sum_ptr + cols, total, sem="relaxed")
    tl.atomic_add(square_ptr + cols, square, sem="relaxed")


@triton.jit
def causal_conv_back(
    dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr, seq, channels,
    TAPS: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """Take the gradients of a short causal convolution of each channel."""
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    rt = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    base = tl.program_id(2) * seq
    at = (base + rt)[:, None] * channels + cols[None, :]
    dy = tl.load(dy_ptr + at).to(tl.float32)
    dx = tl.zeros((BLOCK_T, BLOCK_C), dtype=tl.float32)
    program = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    for tap in tl.static_range(TAPS):
        back = TAPS - 1 - tap
        later = tl.load(dy_ptr + at + back * channels, mask=(rt + back < seq)[:, None], other=0.0)
        dx += tl.load(w_ptr + tap * channels + cols)[None, :] * later.to(tl.float32)
        before = tl.load(x_ptr + at - back * channels, mask=(rt >= back)[:, None], other=0.0)
        dw = tl.sum(dy * before.to(tl.float32), 0)
        tl.store(dw_ptr + (program * TAPS + tap) * channels + cols, dw)
    tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty))


@triton.jit
def silu_to_fp8(x_ptr, q_ptr, scale_ptr, wide, ROWS: tl.constexpr, GROUP: tl.constexpr):
    """Gate one half of a row by the other, and quantize it in groups to eight bits."""
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    at = rows[:, None] * (2 * wide) + cols[None, :]
    gate = tl.load(x_ptr + at).to(tl.float32)
    up = tl.load(x_ptr + at + wide).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    scale = tl.maximum(tl.max(tl.abs(y), 1), 1.0e-10) / 448.0
    q = (y / scale[:, None]).to(q_ptr.dtype.element_ty)
    tl.store(q_ptr + rows[:, None] * wide + cols[None, :], q)
    tl.store(scale_ptr + rows * tl.num_programs(0) + tl.program_id(0), scale)


@triton.jit
def expert_slots(
    id_ptr, count_ptr, slot_ptr, EXPERTS: tl.constexpr, ROOM: tl.constexpr, BLOCK: tl.constexpr
):
    """Give each token the next slot of its expert."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(id_ptr + at) % EXPERTS
    slot = tl.atomic_add(count_ptr + expert, 1, sem="relaxed")
    tl.store(slot_ptr + at, expert * ROOM + slot % ROOM)


@triton.jit
def depthwise_pictures(
    x_ptr, w_ptr, out_ptr, side, channels, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr
):
    """Convolve each channel by three by three, channels last."""
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    pixel = tl.program_id(1) * BLOCK_P + tl.arange(0, BLOCK_P)
    x = pixel % side
    y = pixel // side % side
    acc = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for tap in tl.static_range(9):
        dy, dx = tap // 3 - 1, tap % 3 - 1
        inside = (x + dx >= 0) & (x + dx < side) & (y + dy >= 0) & (y + dy < side)
        at = (pixel + dy * side + dx)[:, None] * channels + cols[None, :]
        w = tl.load(w_ptr + tap * channels + cols).to(tl.float32)
        acc += w[None, :] * tl.load(x_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
    at = pixel[:, None] * channels + cols[None, :]
    tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty))


@triton.jit
def random_normals(x_ptr, out_ptr, seed, spread, BLOCK: tl.constexpr):
    """Add normal noise to halves."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.float32) + spread * tl.randn(seed, at)
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty))
