"""A GEMM against the roofline: its operations and bytes, their ratio, and what bandwidth allows."""

from __future__ import annotations

from layouts.warp import LANES
from simulator.gemm.quantities import Quantity, Share, Size, SizeOrZero, checked

__all__ = [
    "break_even_bandwidth",
    "compute_memory_ratio",
    "gemm_flops",
    "gemm_intensity",
    "gemm_performance",
    "gemm_ratio",
    "least_seconds",
    "matrix_bytes",
    "naive_intensity",
    "output_bytes",
    "weighted_bandwidth",
]


@checked
def gemm_flops(m: Size, n: Size, k: Size, epilogue: SizeOrZero = 0) -> int:
    """Floating-point operations of an m×n×k product: 2·M·N·K + epilogue·M·N, in FLOP.

    `epilogue` is the operations on each element of C besides its dot product: 3 for
    alpha·AB + beta·C.

    >>> gemm_flops(4096, 4096, 4096) // 10**9          # [ks] prints 137 GFLOPs (10^9)
    137
    >>> gemm_flops(4096, 4096, 4096, 3) // 2**30       # [junstar92] prints 128 GFLOPS (2^30)
    128

    [ks] writes the total as 2MNK + MK although it counts three operations for each element of C:
    right would be 2MNK + 3MN, as [junstar92] has it. The printed 137 is 2MNK alone.
    """
    return 2 * m * n * k + epilogue * m * n


@checked
def matrix_bytes(m: Size, n: Size, k: Size, element: Size = 4) -> int:
    """Bytes of A, B and C, each once: (M·K + K·N + M·N)·element.

    >>> matrix_bytes(4096, 4096, 4096) // 10**6        # [ks] prints 201 MB (10^6)
    201
    >>> matrix_bytes(4096, 4096, 4096) // 2**20        # [junstar92] prints 192 MB read (2^20)
    192
    """
    return (m * k + k * n + m * n) * element


@checked
def output_bytes(m: Size, n: Size, element: Size = 4) -> int:
    """Bytes of C, which are stored once: M·N·element.

    >>> output_bytes(4096, 4096) // 2**20              # [junstar92] prints 64 MB (2^20)
    64

    With the 192 MB read, [junstar92]'s least traffic is 256 MB.
    """
    return m * n * element


@checked
def gemm_intensity(m: Size, n: Size, k: Size, element: Size = 4) -> float:
    """FLOP per byte if every matrix moves once: 2·M·N·K / ((M·K + K·N + M·N)·element).

    >>> int(gemm_intensity(4096, 4096, 4096))          # [ks] prints 682 FLOPs/byte, truncated
    682
    """
    return gemm_flops(m, n, k) / matrix_bytes(m, n, k, element)


@checked
def least_seconds(amount: Quantity, rate: Quantity) -> float:
    """Seconds for `amount` (FLOP, bytes) at `rate` (the same unit per second): amount / rate.

    >>> flops, peak = gemm_flops(4096, 4096, 4096, 3), 30
    >>> f"{least_seconds(flops, peak * 2**40) * 1e3:.2f} ms"
    '4.17 ms'
    >>> f"{least_seconds(256 * 2**20, 760 * 2**30) * 1e3:.2f} ms"
    '0.33 ms'

    [junstar92] prints 4.1 ms (truncated) and 0.33 ms for 30 TFLOPs/s and 760 GB/s, which takes
    both rates in powers of two. Vendors quote powers of ten: 4.58 ms and 0.35 ms.
    """
    return amount / rate


@checked
def naive_intensity(element: Size = 4) -> float:
    """FLOP per byte of a warp that reads 1 element of A and 32 of B for 32 FFMA.

    64 / (33·element).

    >>> f"{naive_intensity():.2f}"                     # [Bloonow] prints 0.48, 64 FLOP by 132 Byte
    '0.48'
    """
    return 2 * LANES / ((1 + LANES) * element)


@checked
def compute_memory_ratio(x: Size, y: Size) -> float:
    """FLOP per element read of an x×y tile: 2 / (1/x + 1/y) [Mengyuan].

    2·x·y·Bk operations by x·Bk + Bk·y elements. At equal area the squarer tile wins, hence
    4×8 warps:

    >>> [round(compute_memory_ratio(8 * r, 8 * c), 1) for r, c in ((1, 32), (2, 16), (4, 8))]
    [15.5, 28.4, 42.7]
    """
    return 2 * x * y / (x + y)


@checked
def gemm_ratio(m_tile: Size, n_tile: Size, element: Size = 4) -> float:
    """FLOP per byte of a block tile: 1/2 · 1 / (1/M_tile + 1/N_tile) for 4-byte elements.

    In general `compute_memory_ratio` by the bytes of an element.

    >>> gemm_ratio(64, 64)                             # [Bloonow] prints 16
    16.0
    """
    return compute_memory_ratio(m_tile, n_tile) / element


@checked
def break_even_bandwidth(p_ffma: Quantity, intensity: Quantity) -> float:
    """Bandwidth from which memory no longer limits: P_ffma / intensity, in P_ffma's unit per byte.

    >>> break_even_bandwidth(14 * 1024, 16)            # [Bloonow] prints 14TFLOPS÷16 = 896GiB/s
    896.0

    That takes a TFLOPS for 1024·2^30 FLOP per second. With 14·10^12 it is 875 GB/s, or 815 GiB/s.
    """
    return p_ffma / intensity


@checked
def weighted_bandwidth(l2_bandwidth: Quantity, dram_bandwidth: Quantity, hit_rate: Share) -> float:
    """P_ldg = L2 bandwidth · hit rate + DRAM bandwidth · (1 - hit rate), in their unit.

    `hit_rate` lies between 0 and 1.

    >>> int(weighted_bandwidth(2624, 791, 0.1))        # [Bloonow] prints 974GiB/s, truncated
    974
    """
    return l2_bandwidth * hit_rate + dram_bandwidth * (1 - hit_rate)


@checked
def gemm_performance(p_ldg: Quantity, intensity: Quantity, p_ffma: Quantity) -> float:
    """P_gemm: P_ldg · intensity below the ridge P_ffma / P_ldg, P_ffma above it.

    `p_ldg` in bytes per second, `intensity` in FLOP per byte, `p_ffma` and the result in FLOP per
    second, all with the same prefix.

    >>> f"{gemm_performance(2624, 0.48, 14 * 1024) / 1024:.2f} TFLOPS"
    '1.23 TFLOPS'

    [Bloonow] prints that 1.23 for the naive kernel at a perfect L2 hit rate, with 0.48 already
    rounded and 1024 GiB for a T. Unrounded it is 1.24·2^40, or 1.37·10^12 FLOP per second.
    """
    return min(p_ldg * intensity, p_ffma)
