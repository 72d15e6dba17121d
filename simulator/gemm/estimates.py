"""The back-of-an-envelope arithmetic of five GEMM documents, as functions.

Before anyone replays a kernel they estimate: how many bytes, how many instructions, how much
reuse, how many warps at once. Each function here is one such estimate, over plain numbers, and
gives the figure its document prints. None of it is the bank-conflict law: the law counts what
one access costs, this arithmetic guesses what a whole kernel could reach at best.

Two habits of the documents matter when figures are compared. They mix 10^9 and 2^30 (137 and
128 GFLOP are the same 2·4096^3), and most of them truncate where one would round. Functions
return the exact value; each docstring says in which unit, and how cut, the document prints it.
Where a document disagrees with itself, its docstring says so and gives the right value.

Sources
    [Mao]        Lei Mao, "CUDA Matrix Multiplication Optimization",
                 https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/
    [Mengyuan]   猛猿, "从啥也不会到CUDA GEMM优化", https://zhuanlan.zhihu.com/p/703256080
    [junstar92]  junstar92, "Optimizing a Matmul Kernel",
                 https://github.com/junstar92/nvidia-libraries-study/blob/main/cuda/study/23_optimizing_a_matmul_kernel.md
    [ks]         ks, "Explore GEMMs - optimization journey",
                 https://github.com/gpusgobrr/explore-gemm
    [Bloonow]    Bloonow, "GEMM矩阵乘法和CUTLASS模板库", https://github.com/Bloonow/MyNotes
    [NVIDIA]     CUDA C++ Programming Guide, "Technical Specifications per Compute Capability",
                 https://docs.nvidia.com/cuda/cuda-c-programming-guide/, and the rounding rules
                 of the toolkit's header cuda_occupancy.h
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real

from layouts.errors import accepted
from layouts.shapes import is_integer
from layouts.warp import LANES
from simulator.errors import QuantityError

__all__ = [
    "DEVICES",
    "Device",
    "InstructionMix",
    "Occupancy",
    "break_even_bandwidth",
    "compute_memory_ratio",
    "ffma_per_shared_cycle",
    "fragment_registers",
    "gemm_flops",
    "gemm_intensity",
    "gemm_performance",
    "gemm_ratio",
    "global_reads_naive",
    "global_reads_per_element",
    "global_reads_tiled",
    "i_ratio",
    "inner_product_share",
    "instruction_mix",
    "l2_hit_rate",
    "least_seconds",
    "load_ffma_ratio",
    "loop_trips",
    "matrix_bytes",
    "naive_intensity",
    "occupancy",
    "output_bytes",
    "shared_cycles",
    "shared_reads_per_element",
    "split_k",
    "wave_extent",
    "wave_size",
    "weighted_bandwidth",
]

_CEILING = 2**63  # no size, rate or time of a GPU reaches it, and no product here overflows below


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # integers of thousands of digits have no repr
        return f"({type(value).__name__} of thousands of digits)"


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _size(name: str, value: int, least: int = 1) -> int:
    if not is_integer(value) or not least <= value < _CEILING:
        raise QuantityError(
            f"{name} {_shown(value)} is not a size (accepted: an integer from {least} to 2**63 - 1)"
        )
    return int(value)


def _sizes(**named: int) -> tuple[int, ...]:
    return tuple(_size(name, value) for name, value in named.items())


def _number(name: str, value: float) -> float:
    if not _is_real(value) or not 1 / _CEILING <= value < _CEILING:
        raise QuantityError(
            f"{name} {_shown(value)} is not a positive quantity"
            " (accepted: a finite number from 2**-63 to 2**63)"
        )
    return float(value)


def _whole(what: str, amount: int, part: int) -> int:
    if amount % part:
        raise QuantityError(
            f"{what}: {amount} is not a multiple of {part}"
            f" (accepted: multiples, such as {_up(amount, part) * part})"
        )
    return amount // part


def _up(amount: int, unit: int) -> int:
    return -(-amount // unit)


# The problem itself


def gemm_flops(m: int, n: int, k: int, epilogue: int = 0) -> int:
    """Floating-point operations of an m×n×k product: 2·M·N·K + epilogue·M·N, in FLOP.

    `epilogue` is the operations on each element of C besides its dot product: 3 for
    alpha·AB + beta·C.

    >>> gemm_flops(4096, 4096, 4096) // 10**9          # [ks] prints 137 GFLOPs (10^9)
    137
    >>> gemm_flops(4096, 4096, 4096, 3) // 2**30       # [junstar92] prints 128 GFLOPS (2^30)
    128

    [ks] writes the total as 2MNK + MK although it counts three operations an element of C:
    right would be 2MNK + 3MN, as [junstar92] has it. The printed 137 is 2MNK alone.
    """
    m, n, k = _sizes(m=m, n=n, k=k)
    return 2 * m * n * k + _size("epilogue", epilogue, 0) * m * n


def matrix_bytes(m: int, n: int, k: int, element: int = 4) -> int:
    """Bytes of A, B and C, each once: (M·K + K·N + M·N)·element.

    >>> matrix_bytes(4096, 4096, 4096) // 10**6        # [ks] prints 201 MB (10^6)
    201
    >>> matrix_bytes(4096, 4096, 4096) // 2**20        # [junstar92] prints 192 MB read (2^20)
    192
    """
    m, n, k, element = _sizes(m=m, n=n, k=k, element=element)
    return (m * k + k * n + m * n) * element


def output_bytes(m: int, n: int, element: int = 4) -> int:
    """Bytes of C, which are stored once: M·N·element.

    >>> output_bytes(4096, 4096) // 2**20              # [junstar92] prints 64 MB (2^20)
    64

    With the 192 MB read, [junstar92]'s least traffic is 256 MB.
    """
    m, n, element = _sizes(m=m, n=n, element=element)
    return m * n * element


def gemm_intensity(m: int, n: int, k: int, element: int = 4) -> float:
    """FLOP per byte if every matrix moves once: 2·M·N·K / ((M·K + K·N + M·N)·element).

    >>> int(gemm_intensity(4096, 4096, 4096))          # [ks] prints 682 FLOPs/byte, truncated
    682
    """
    return gemm_flops(m, n, k) / matrix_bytes(m, n, k, element)


def least_seconds(amount: float, rate: float) -> float:
    """Seconds for `amount` (FLOP, bytes) at `rate` (the same unit a second): amount / rate.

    >>> flops, peak = gemm_flops(4096, 4096, 4096, 3), 30
    >>> f"{least_seconds(flops, peak * 2**40) * 1e3:.2f} ms"
    '4.17 ms'
    >>> f"{least_seconds(256 * 2**20, 760 * 2**30) * 1e3:.2f} ms"
    '0.33 ms'

    [junstar92] prints 4.1 ms (truncated) and 0.33 ms for 30 TFLOPs/s and 760 GB/s, which takes
    both rates in powers of two. Vendors quote powers of ten: 4.58 ms and 0.35 ms.
    """
    return _number("amount", amount) / _number("rate", rate)


def split_k(k: int, parts: int) -> tuple[int, int]:
    """K of each of the first parts - 1 kernels, and of the last, which takes the remainder.

    floor(K / parts) and K - (parts - 1)·floor(K / parts), in elements.

    >>> split_k(4096, 20)                              # [Bloonow] prints 204 and 220
    (204, 220)
    """
    k, parts = _sizes(k=k, parts=parts)
    if parts > k:
        raise QuantityError(f"parts {parts} leaves kernels without work (accepted: 1 to k = {k})")
    return k // parts, k - (parts - 1) * (k // parts)


def loop_trips(k: int, k_tile: int) -> int:
    """Trips of the loop over K: ceil(K / K_tile).

    >>> loop_trips(512, 8)
    64

    [Mengyuan] prints K/Bk = 128/8 = 16 for its 512×512×512 example with Bk = 8; 128 is Bm, not
    K, and the loop makes 64 trips. [junstar92] writes K/32 and K/8.
    """
    k, k_tile = _sizes(k=k, k_tile=k_tile)
    return _up(k, k_tile)


# Global memory


def global_reads_naive(m: int, n: int, k: int) -> int:
    """Elements read when a thread computes one element of C: 2·M·N·K [Mengyuan].

    >>> global_reads_naive(512, 512, 512)
    268435456
    """
    m, n, k = _sizes(m=m, n=n, k=k)
    return 2 * m * n * k


def global_reads_tiled(m: int, n: int, k: int, m_tile: int, n_tile: int) -> int:
    """Elements read when a block computes an m_tile×n_tile tile of C [Mengyuan].

    M·N·K·(1/Bm + 1/Bn): each of the (M/Bm)·(N/Bn) blocks reads (Bm + Bn)·K elements.

    >>> global_reads_tiled(512, 512, 512, 128, 128)
    2097152

    Raises QuantityError unless the tiles divide the matrix: the formula knows no edge tiles.
    """
    m, n, k, m_tile, n_tile = _sizes(m=m, n=n, k=k, m_tile=m_tile, n_tile=n_tile)
    blocks = _whole("m by m_tile", m, m_tile) * _whole("n by n_tile", n, n_tile)
    return blocks * (m_tile + n_tile) * k


def global_reads_per_element(k: int, m_tile: int, n_tile: int) -> float:
    """Global reads for each element of C: K·(1/Bm + 1/Bn).

    >>> global_reads_per_element(4096, 32, 32) == 4096 / 16        # shared-memory kernel
    True
    >>> global_reads_per_element(4096, 64, 64) == 4096 / 32        # 1D and 2D block tiling
    True

    [junstar92] prints K/16 and K/32 GMEM "per A element"; the counts are for an element of
    the result, C.
    """
    k, m_tile, n_tile = _sizes(k=k, m_tile=m_tile, n_tile=n_tile)
    return k * (m_tile + n_tile) / (m_tile * n_tile)


def naive_intensity(element: int = 4) -> float:
    """FLOP per byte of a warp that reads 1 element of A and 32 of B for 32 FFMA.

    64 / (33·element).

    >>> f"{naive_intensity():.2f}"                     # [Bloonow] prints 0.48, 64 FLOP by 132 Byte
    '0.48'
    """
    return 2 * LANES / ((1 + LANES) * _size("element", element))


def compute_memory_ratio(x: int, y: int) -> float:
    """FLOP per element read of an x×y tile: 2 / (1/x + 1/y) [Mengyuan].

    2·x·y·Bk operations by x·Bk + Bk·y elements. At equal area the squarer tile wins, hence
    4×8 warps:

    >>> [round(compute_memory_ratio(8 * r, 8 * c), 1) for r, c in ((1, 32), (2, 16), (4, 8))]
    [15.5, 28.4, 42.7]
    """
    x, y = _sizes(x=x, y=y)
    return 2 * x * y / (x + y)


def gemm_ratio(m_tile: int, n_tile: int, element: int = 4) -> float:
    """FLOP per byte of a block tile: 1/2 · 1 / (1/M_tile + 1/N_tile) for 4-byte elements.

    In general `compute_memory_ratio` by the bytes of an element.

    >>> gemm_ratio(64, 64)                             # [Bloonow] prints 16
    16.0
    """
    m_tile, n_tile, element = _sizes(m_tile=m_tile, n_tile=n_tile, element=element)
    return compute_memory_ratio(m_tile, n_tile) / element


def break_even_bandwidth(p_ffma: float, intensity: float) -> float:
    """Bandwidth from which memory no longer limits: P_ffma / intensity, in P_ffma's unit per byte.

    >>> break_even_bandwidth(14 * 1024, 16)            # [Bloonow] prints 14TFLOPS÷16 = 896GiB/s
    896.0

    That takes a TFLOPS for 1024·2^30 FLOP a second. With 14·10^12 it is 875 GB/s, or 815 GiB/s.
    """
    return _number("p_ffma", p_ffma) / _number("intensity", intensity)


def weighted_bandwidth(l2_bandwidth: float, dram_bandwidth: float, hit_rate: float) -> float:
    """P_ldg = L2 bandwidth · hit rate + DRAM bandwidth · (1 - hit rate), in their unit.

    `hit_rate` lies between 0 and 1.

    >>> int(weighted_bandwidth(2624, 791, 0.1))        # [Bloonow] prints 974GiB/s, truncated
    974
    """
    l2, dram = _number("l2_bandwidth", l2_bandwidth), _number("dram_bandwidth", dram_bandwidth)
    if not _is_real(hit_rate) or not 0 <= hit_rate <= 1:
        raise QuantityError(
            f"hit_rate {_shown(hit_rate)} is not a share (accepted: a number from 0 to 1)"
        )
    return l2 * float(hit_rate) + dram * (1 - float(hit_rate))


def gemm_performance(p_ldg: float, intensity: float, p_ffma: float) -> float:
    """P_gemm: P_ldg · intensity below the ridge P_ffma / P_ldg, P_ffma above it.

    `p_ldg` in bytes a second, `intensity` in FLOP per byte, `p_ffma` and the result in FLOP a
    second, all with the same prefix.

    >>> f"{gemm_performance(2624, 0.48, 14 * 1024) / 1024:.2f} TFLOPS"
    '1.23 TFLOPS'

    [Bloonow] prints that 1.23 for the naive kernel at a perfect L2 hit rate, with 0.48 already
    rounded and 1024 GiB for a T. Unrounded it is 1.24·2^40, or 1.37·10^12 FLOP a second.
    """
    p_ldg, intensity = _number("p_ldg", p_ldg), _number("intensity", intensity)
    return min(p_ldg * intensity, _number("p_ffma", p_ffma))


# Waves and the L2 cache


def wave_size(blocks_per_sm: int, sms: int) -> int:
    """Blocks that run at once on the whole GPU: blocks an SM · SMs [Bloonow].

    >>> wave_size(occupancy(256, 128, 0, "V100").blocks, DEVICES["V100"].sms)   # printed: 160
    160
    """
    blocks_per_sm, sms = _sizes(blocks_per_sm=blocks_per_sm, sms=sms)
    return blocks_per_sm * sms


def wave_extent(m: int, n: int, m_tile: int, n_tile: int, wave: int) -> tuple[int, int]:
    """Rows of A and columns of B (in elements) that one wave reads, blocks going along N first.

    ceil(wave / Wave_y)·M_tile and min(wave, Wave_y)·N_tile, with Wave_y = ceil(N / N_tile).

    >>> wave_extent(4096, 4096, 128, 128, 160)
    (640, 4096)

    [Bloonow] charges DRAM with (Wave_x + 1)·M_tile rows and all N columns, and defines
    Wave_x = M / M_tile. That would be all of A for every wave; what fits the argument, and its
    unused Wave_rem = Wave_gpu % Wave_y, is the full rows of blocks in a wave,
    Wave_gpu // Wave_y, and one more if there is a remainder. So it is here.

    Raises QuantityError where the grid is smaller than a wave: the estimate does not hold there.
    """
    m, n, m_tile, n_tile, wave = _sizes(m=m, n=n, m_tile=m_tile, n_tile=n_tile, wave=wave)
    wave_y = _up(n, n_tile)
    grid = _up(m, m_tile) * wave_y
    if wave > grid:
        raise QuantityError(f"wave {wave} is more than the grid's blocks (accepted: 1 to {grid})")
    return _up(wave, wave_y) * m_tile, min(wave, wave_y) * n_tile


def l2_hit_rate(wave_m: int, wave_n: int, m_tile: int, n_tile: int, wave: int) -> float:
    """Share of a wave's global reads that L2 serves.

    1 - (Wave_m + Wave_n) / ((M_tile + N_tile)·wave), where Wave_m and Wave_n are the rows and
    columns of C that the wave covers.

    >>> hit = l2_hit_rate(128, 128 * 160, 128, 128, 160)
    >>> f"{hit:.0%}, precisely {hit:.2%}"              # [Bloonow] prints 50%, N = 20480 on a V100
    '50%, precisely 49.69%'

    This is the second line of [Bloonow]'s derivation. Its third and fourth lines put
    1 / (Wave_m·Wave_n) for the wave, and drop M_tile·N_tile: wave = Wave_m·Wave_n /
    (M_tile·N_tile). As printed they would give 99.997% here.

    Raises QuantityError where `wave` distinct tiles cannot cover just these rows and columns.
    """
    wave_m, wave_n, m_tile, n_tile, wave = _sizes(
        wave_m=wave_m, wave_n=wave_n, m_tile=m_tile, n_tile=n_tile, wave=wave
    )
    if wave_m * wave_n < wave * m_tile * n_tile:
        raise QuantityError(
            f"wave_m {wave_m} by wave_n {wave_n} has no room for {wave} tiles of {m_tile}x{n_tile}"
            f" (accepted: at least {wave * m_tile * n_tile} elements)"
        )
    if wave_m > wave * m_tile or wave_n > wave * n_tile:
        raise QuantityError(
            f"wave_m {wave_m} by wave_n {wave_n} is more than {wave} tiles of {m_tile}x{n_tile}"
            f" read (accepted: up to {wave * m_tile} rows and {wave * n_tile} columns)"
        )
    requests = (m_tile + n_tile) * wave
    return (requests - wave_m - wave_n) / requests


# Shared memory and registers


def shared_reads_per_element(k: int, m_frag: int = 1, n_frag: int = 1) -> float:
    """Shared-memory reads for each element of C over k steps: k·(1/m_frag + 1/n_frag).

    A thread that owns an m_frag×n_frag tile reads m_frag + n_frag values a step.

    >>> shared_reads_per_element(32)                   # 2·d_bk: v02 of [Mao], no thread tile
    64.0
    >>> shared_reads_per_element(8, 8)                 # d_bk + d_bk/d_tm: v03
    9.0
    >>> shared_reads_per_element(16, 8, 8)             # d_bk/d_tm + d_bk/d_tn: v04, v05, v06
    4.0

    These are reads in one block tile. [Mao] writes the first once as 2·d_k, meaning 2·d_bk, and
    gives none for v00 and v01, which use no shared memory, nor for v07, whose fragments WMMA
    hides. Over all of K they are [junstar92]'s K*2, K*9/8 and K/4 SMEM (written as "per A
    element", counted per element of C). [ks] says v03's kind of kernel saves "~37.5%" of the
    shared-memory traffic at TM = 8; 9/8 for 2 saves 43.75%.
    """
    k, m_frag, n_frag = _sizes(k=k, m_frag=m_frag, n_frag=n_frag)
    return k * (m_frag + n_frag) / (m_frag * n_frag)


def fragment_registers(m_frag: int, n_frag: int, buffers: int = 1) -> int:
    """Count a thread's 32-bit registers for A, B and C.

    buffers·(m_frag + n_frag) + m_frag·n_frag, `buffers` being 2 with double buffering.

    >>> fragment_registers(8, 8)                       # [Bloonow] prints 8＋8＋64＝80
    80
    """
    m_frag, n_frag, buffers = _sizes(m_frag=m_frag, n_frag=n_frag, buffers=buffers)
    return buffers * (m_frag + n_frag) + m_frag * n_frag


def i_ratio(m_frag: int, n_frag: int, words_per_load: int = 1) -> float:
    """FFMA per LDS of the outer product: 1/α · M_frag·N_frag / (M_frag + N_frag) [Bloonow].

    `words_per_load` is 1/α: 1 for LDS.32, 2 for LDS.64, 4 for LDS.128. The second printed form,
    1/(4α) · ((M + N)^2 - (M - N)^2) / (M + N), is the same number.

    >>> i_ratio(8, 8), i_ratio(16, 4), i_ratio(8, 8, words_per_load=4)
    (4.0, 3.2, 16.0)
    """
    m_frag, n_frag, words = _sizes(m_frag=m_frag, n_frag=n_frag, words_per_load=words_per_load)
    return words * m_frag * n_frag / (m_frag + n_frag)


def inner_product_share(port: int = 128, ffma_per_cycle: int = 64) -> float:
    """Share of the FFMA peak that an inner-product kernel can feed from shared memory, at most 1.

    A step moves 2·32 words, 256 bytes, for 32 FFMA: 32 / (256/port · ffma_per_cycle), with
    `port` in bytes a cycle and `ffma_per_cycle` of one SM.

    >>> inner_product_share() * 14                     # [Bloonow] prints 14TFLOPS÷4 = 3.5TFLOPS
    3.5
    >>> inner_product_share(port=64)                   # an eighth, for a TU102's 64-byte port
    0.125

    The port is a parameter of this arithmetic. The law has none: it counts wavefronts.
    """
    port, ffma_per_cycle = _sizes(port=port, ffma_per_cycle=ffma_per_cycle)
    return min(1.0, LANES * port / (2 * LANES * 4 * ffma_per_cycle))


def shared_cycles(threads: int, frag: int, port: int = 128) -> int:
    """Cycles in which a warp reads one step of A or B, 4-byte elements: port-bound or load-bound.

    max(ceil(threads·frag·4 / port), 2·ceil(frag / 4)): `threads` neighbours along that side read
    `frag` elements each through `port` bytes a cycle, but a warp's LDS.128 takes 2 cycles even
    when every lane asks for the same bytes ("at least 4 cycles" for 8 elements).

    >>> shared_cycles(1, 8), shared_cycles(32, 8), shared_cycles(32, 8, port=64)
    (4, 8, 16)

    [Bloonow] prints 4, 8 and 16 for the sides of a 1×32 warp with 8×8 thread tiles.
    """
    threads, frag, port = _sizes(threads=threads, frag=frag, port=port)
    return max(_up(threads * frag * 4, port), 2 * _up(frag, 4))


def ffma_per_shared_cycle(
    rows: int, cols: int, m_frag: int = 8, n_frag: int = 8, port: int = 128
) -> float:
    """FFMA of a rows×cols warp per cycle that it reads shared memory.

    m_frag·n_frag·32 / (`shared_cycles` of A + of B), `port` in bytes a cycle.

    >>> int(ffma_per_shared_cycle(1, 32))              # [Bloonow] prints 2048÷12 = 170, truncated
    170
    >>> int(ffma_per_shared_cycle(1, 32, port=64))     # 2048÷20 = 102, truncated
    102
    >>> ffma_per_shared_cycle(4, 8, port=64)           # 2048÷8 = 256
    256.0

    The 64-byte port is a TU102's; it is a parameter of this arithmetic, not of the law.
    [Bloonow] calls 102 too little for a TU102, which it lets do 128 FFMA a cycle there; two
    sections earlier it says 64, which is what a TU102 has, and 102 is enough.
    """
    rows, cols, m_frag, n_frag = _sizes(rows=rows, cols=cols, m_frag=m_frag, n_frag=n_frag)
    if rows * cols != LANES:
        raise QuantityError(
            f"rows {rows} by cols {cols} is {rows * cols} lanes (accepted: {LANES} lanes)"
        )
    cycles = shared_cycles(rows, m_frag, port) + shared_cycles(cols, n_frag, port)
    return m_frag * n_frag * LANES / cycles


# Instruction mix


@dataclass(frozen=True)
class InstructionMix:
    """Instructions of one thread for one block tile step, loads in their 32-bit equivalents."""

    threads: int
    """Threads in the block: M_tile·N_tile / (M_frag·N_frag)."""
    ldg: int
    """(M_tile + N_tile)·K_tile / threads."""
    sts: int
    """As many as LDG: an STS.128 keeps the pipe as long as four STS.32."""
    lds: int
    """2·(M_frag/4 + N_frag/4)·K_tile: each LDS.128 takes two transactions."""
    ffma: int
    """M_frag·N_frag·K_tile."""


def instruction_mix(
    m_tile: int, n_tile: int, k_tile: int, m_frag: int, n_frag: int
) -> InstructionMix:
    """Count a thread's instructions for one step over K_tile, as [Bloonow] does.

    >>> instruction_mix(128, 128, 8, 8, 8)             # [Bloonow]: 256 threads
    InstructionMix(threads=256, ldg=8, sts=8, lds=64, ffma=512)

    Raises QuantityError where a count would not be whole: thread tiles that do not divide the
    block tile or that LDS.128 cannot read, block tiles that the threads cannot share evenly.
    """
    m_tile, n_tile, k_tile = _sizes(m_tile=m_tile, n_tile=n_tile, k_tile=k_tile)
    m_frag, n_frag = _sizes(m_frag=m_frag, n_frag=n_frag)
    threads = _whole("m_tile by m_frag", m_tile, m_frag) * _whole(
        "n_tile by n_frag", n_tile, n_frag
    )
    ldg = _whole("tile elements by threads", (m_tile + n_tile) * k_tile, threads)
    loads = _whole("m_frag by LDS.128", m_frag, 4) + _whole("n_frag by LDS.128", n_frag, 4)
    return InstructionMix(threads, ldg, ldg, 2 * loads * k_tile, m_frag * n_frag * k_tile)


def load_ffma_ratio(mix: InstructionMix, ldg_latency: float, sts_latency: float) -> float:
    """LDG and LDS per FFMA between the first LDG's data and its STS, latencies in cycles.

    n_ldg / (β·n_ffma) + n_lds / n_ffma with β = 1 - (LDG_latency + STS_latency) / n_ffma. Full
    FFMA rate wants at most P_lsu_ipc / P_ffma_ipc, 0.25 / 0.5 on a V100 [Bloonow].

    >>> mix = instruction_mix(128, 128, 8, 8, 8)
    >>> round(load_ffma_ratio(mix, ldg_latency=400, sts_latency=19), 3)
    0.211

    Raises QuantityError unless n_ffma exceeds the latencies: then no FFMA are left to hide them
    and the expression does not hold.
    """
    latency = _number("ldg_latency", ldg_latency) + _number("sts_latency", sts_latency)
    if mix.ffma <= latency:
        raise QuantityError(
            f"ldg_latency {ldg_latency!r} and sts_latency {sts_latency!r} are not covered by"
            f" {mix.ffma} FFMA (accepted: less than {mix.ffma} together, or a larger k_tile)"
        )
    return mix.ldg / (mix.ffma - latency) + mix.lds / mix.ffma


# Occupancy


@dataclass(frozen=True)
class Device:
    """What limits the blocks on one SM. Sizes in bytes, registers of 32 bits.

    Raises QuantityError for a limit that is not a positive integer (`shared_reserved` may be 0).
    """

    name: str
    sms: int
    warps_per_sm: int
    blocks_per_sm: int
    shared_per_sm: int
    shared_reserved: int = 1024
    """Taken from every block by the CUDA runtime, since compute capability 8.0."""
    shared_unit: int = 128
    """A block's shared memory is rounded up to this."""
    registers_per_sm: int = 65536
    register_unit: int = 256
    """A warp's registers are rounded up to this."""
    partitions: int = 4
    """Parts of an SM, each with its share of the registers."""
    threads_per_block: int = 1024
    registers_per_thread: int = 255

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "name":
                _size(field.name, getattr(self, field.name), int(field.name != "shared_reserved"))


DEVICES = {
    device.name: device
    for device in (
        Device("V100", 80, 64, 32, 96 * 1024, shared_reserved=0, shared_unit=256),
        Device("RTX 3080", 68, 48, 16, 100 * 1024),
        Device("RTX 4090", 128, 48, 24, 100 * 1024),
    )
}
"""The documents' GPUs, compute capability 7.0, 8.6 and 8.9 [NVIDIA], by name.

[Bloonow] gives the V100's SMs, registers and warps, [junstar92] queries all of the RTX 3080 but
its 16 blocks, [ks] tabulates all of the RTX 4090.
"""


@dataclass(frozen=True)
class Occupancy:
    """How many blocks and warps one SM holds, and what each resource alone would allow."""

    blocks: int
    warps: int
    ratio: float
    """Active warps by the most an SM can hold."""
    by_warps: int
    by_registers: int
    by_shared: int | None
    """None: neither the block nor the runtime takes any shared memory."""
    by_blocks: int

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow no more blocks than there are.

        >>> occupancy(1024, 37, 8192, "RTX 3080").limited_by
        ('warps', 'registers')
        """
        resources = ("warps", "registers", "shared", "blocks")
        return tuple(name for name in resources if getattr(self, f"by_{name}") == self.blocks)


def occupancy(threads: int, registers: int, shared: int, device: Device | str) -> Occupancy:
    """Find how many blocks of `threads` fit an SM, with `registers` a thread and `shared` bytes.

    The least of four limits: whole warps; registers, rounded up for each warp and taken from the
    partition that the warp runs on; shared memory, rounded up, with what the runtime reserves;
    and the SM's number of blocks. A block too large to start gives 0 blocks, as CUDA's own
    occupancy functions do. More than 48 KB is taken to be opted into.

    >>> found = occupancy(1024, 37, 8192, "RTX 3080")
    >>> found.by_shared, found.by_warps, found.by_registers, f"{found.ratio:.0%}"
    (11, 1, 1, '67%')
    >>> occupancy(256, 128, 0, "V100").ratio
    0.25

    [junstar92] prints the first line, [Bloonow] the second. [ks]'s tables come out too, but for
    the shared-memory ones: they take 128 KB an SM and 32 blocks where its own device table (and
    the chip) says 100 KB and 24 blocks, and they leave out the reserved 1 KB a block.

    Raises QuantityError for a device that is neither a Device nor one of `DEVICES`.
    """
    known = DEVICES.get(device) if isinstance(device, str) else device
    if not isinstance(known, Device):
        raise QuantityError(f"unknown device {device!r}: {accepted(device, DEVICES)}, or a Device")
    threads, registers = _sizes(threads=threads, registers=registers)
    shared = _size("shared", shared, 0)
    warps = _up(threads, LANES)
    by_warps = known.warps_per_sm // warps if threads <= known.threads_per_block else 0

    warp_registers = _up(registers * LANES, known.register_unit) * known.register_unit
    by_registers = 0
    if registers <= known.registers_per_thread:
        per_partition = known.registers_per_sm // known.partitions // warp_registers
        by_registers = per_partition * known.partitions // warps

    taken = _up(shared + known.shared_reserved, known.shared_unit) * known.shared_unit
    by_shared = known.shared_per_sm // taken if taken else None

    limits = (by_warps, by_registers, by_shared, known.blocks_per_sm)
    blocks = min(limit for limit in limits if limit is not None)
    return Occupancy(blocks, blocks * warps, blocks * warps / known.warps_per_sm, *limits)
