"""Matrix products as people write them in Triton: fused, persistent, mapped, quantised, routed."""

# ruff: noqa: N803 - constants are written as Triton's own tutorials do

import triton
import triton.language as tl


@triton.jit
def leaky_relu_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Multiply matrices by rows, and take a leaky ReLU."""
    pid = tl.program_id(0)
    num_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * num_n
    first_m = pid // in_group * GROUP_M
    group_size = min(tl.cdiv(M, BLOCK_M) - first_m, GROUP_M)
    pid_m = first_m + pid % in_group % group_size
    pid_n = pid % in_group // group_size
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + offs_cm[:, None] * stride_cm + offs_cn[None, :], c, mask=mask)


@triton.jit
def transposed_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply A' B, as the gradient of a layer's weights does; sides are whole tiles."""
    offs_m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_k[:, None] * M + offs_m[None, :])
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :])
        acc = tl.dot(tl.trans(a), b, acc)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, NUM_SMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Multiply by a program for each multiprocessor, which takes every NUM_SMS-th tile."""
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * num_n
    offs_k = tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), num_m * num_n, NUM_SMS):
        first_m = tile // in_group * GROUP_M
        group_size = min(num_m - first_m, GROUP_M)
        offs_m = (first_m + tile % group_size) * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = (tile % in_group // group_size) * BLOCK_N + tl.arange(0, BLOCK_N)
        a_ptrs = a_ptr + (offs_m % M)[:, None] * K + offs_k[None, :]
        b_ptrs = b_ptr + (offs_n % N)[None, :] * K + offs_k[:, None]
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for _ in range(0, K, BLOCK_K):
            acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
            a_ptrs += BLOCK_K
            b_ptrs += BLOCK_K
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        c = acc.to(c_ptr.dtype.element_ty)
        tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], c, mask=mask)


@triton.jit
def split_k_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr,
):  # fmt: skip
    """Multiply with the depth in SPLIT_K stretches, whose sums atomics add."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    stretch = K // SPLIT_K
    offs_k = tl.program_id(2) * stretch + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, stretch, BLOCK_K):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    tl.atomic_add(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc)


@triton.jit
def fused_moe(
    a_ptr, w_ptr, out_ptr, gate_ptr, token_ptr, expert_ptr, num_tokens, num_experts, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply gathered tokens by the weights of the expert of their block, and by their gates."""
    offs = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    token = tl.load(token_ptr + offs) % num_tokens
    expert = (tl.load(expert_ptr + tl.program_id(0)) % num_experts).to(tl.int64)
    a_ptrs = a_ptr + token[:, None] * K + offs_k[None, :]
    w_ptrs = w_ptr + expert * N * K + offs_n[None, :] * K + offs_k[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        acc = tl.dot(tl.load(a_ptrs), tl.load(w_ptrs), acc)
        a_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    acc *= tl.load(gate_ptr + offs)[:, None]
    tl.store(out_ptr + offs[:, None] * N + offs_n[None, :], acc.to(out_ptr.dtype.element_ty))


@triton.jit
def int8_weights(
    x_ptr, w_ptr, scale_ptr, out_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by weights of a byte each, with a scale for each column."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + offs_m[:, None] * K + offs_k[None, :], offs_m[:, None] < M, other=0.0)
        w = tl.load(w_ptr + offs_k[:, None] * N + offs_n[None, :])
        acc = tl.dot(x, w.to(x.dtype), acc)
    acc *= tl.load(scale_ptr + offs_n)[None, :]
    out = out_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(out, acc.to(out_ptr.dtype.element_ty), offs_m[:, None] < M)


@triton.jit
def int4_weights(
    x_ptr, w_ptr, scale_ptr, zero_ptr, out_ptr, N, K, GROUP_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by weights of four bits, two to a byte along the depth, with scales and zeros."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        half_k = k // 2 + tl.arange(0, BLOCK_K // 2)
        packed = tl.load(w_ptr + offs_n[:, None] * (K // 2) + half_k[None, :])
        scale = tl.load(scale_ptr + k // GROUP_SIZE * N + offs_n)[:, None]
        zero = tl.load(zero_ptr + k // GROUP_SIZE * N + offs_n)[:, None]
        low = ((packed & 15).to(tl.float16) - zero) * scale
        high = ((packed >> 4).to(tl.float16) - zero) * scale
        w = tl.interleave(low, high)
        x = tl.load(x_ptr + offs_m[:, None] * K + k + tl.arange(0, BLOCK_K)[None, :])
        acc = tl.dot(x, tl.trans(w), acc)
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16))


@triton.jit
def conv_stride_two(
    x_ptr, w_ptr, bias_ptr, y_ptr, pixels, H, W, OH, OW,
    C: tl.constexpr, F: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Convolve pictures of C channels, 3 x 3 by steps of two, as a product; channels lie last."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_f = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_c = tl.arange(0, C)
    image, place = offs_m // (OH * OW), offs_m % (OH * OW)
    row, col = place // OW * 2 - 1, place % OW * 2 - 1
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for tap in range(9):
        h, w = row + tap // 3, col + tap % 3
        inside = (offs_m < pixels) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
        x_ptrs = x_ptr + (((image * H + h) * W + w) * C)[:, None] + offs_c[None, :]
        x = tl.load(x_ptrs, inside[:, None], other=0.0)
        k = tl.load(w_ptr + (tap * C + offs_c)[:, None] * F + offs_f[None, :])
        acc = tl.dot(x, k, acc)
    acc = tl.maximum(acc + tl.load(bias_ptr + offs_f)[None, :], 0.0)
    out = y_ptr + offs_m[:, None] * F + offs_f[None, :]
    tl.store(out, acc.to(y_ptr.dtype.element_ty), (offs_m < pixels)[:, None])


@triton.jit
def mapped_matmul(
    a_desc, b_desc, c_desc, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by tensor maps of A by rows and of B by rows."""
    off_m, off_n = tl.program_id(1) * BLOCK_M, tl.program_id(0) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([off_m, k]), b_desc.load([k, off_n]), acc)
    c_desc.store([off_m, off_n], acc.to(tl.bfloat16))


@triton.jit
def mapped_persistent(
    a_desc, b_desc, c_desc, M, N, K, NUM_SMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiply by tensor maps, bytes of floats by columns, every NUM_SMS-th tile a program."""
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), num_m * num_n, NUM_SMS, flatten=True):
        off_m, off_n = tile // num_n * BLOCK_M, tile % num_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([off_m, k]), b_desc.load([off_n, k]).T, acc)
        c_desc.store([off_m, off_n], acc.to(tl.float16))
