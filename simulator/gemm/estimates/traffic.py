"""What tiles save: reads of global and shared memory, turns of the K loop, waves and the cache."""

from __future__ import annotations

from simulator.errors import QuantityError
from simulator.gemm.quantities import Size, ceil_div, checked, exact_div

__all__ = [
    "global_reads_naive",
    "global_reads_per_element",
    "global_reads_tiled",
    "l2_hit_rate",
    "loop_trips",
    "shared_reads_per_element",
    "split_k",
    "wave_extent",
    "wave_size",
]


@checked
def split_k(k: Size, parts: Size) -> tuple[int, int]:
    """K of each of the first parts - 1 kernels, and of the last, which takes the remainder.

    floor(K / parts) and K - (parts - 1)·floor(K / parts), in elements.

    >>> split_k(4096, 20)                              # [Bloonow] prints 204 and 220
    (204, 220)
    """
    if parts > k:
        raise QuantityError(
            f"parts {parts} is too many: parts without work (accepted: 1 to k = {k})"
        )
    return k // parts, k - (parts - 1) * (k // parts)


@checked
def loop_trips(k: Size, k_tile: Size) -> int:
    """Trips of the loop over K: ceil(K / K_tile).

    >>> loop_trips(512, 8)
    64

    [Mengyuan] prints K/Bk = 128/8 = 16 for its 512×512×512 example with Bk = 8; 128 is Bm, not
    K, and the loop makes 64 trips. [junstar92] writes K/32 and K/8.
    """
    return ceil_div(k, k_tile)


@checked
def global_reads_naive(m: Size, n: Size, k: Size) -> int:
    """Elements read when a thread computes one element of C: 2·M·N·K [Mengyuan].

    >>> global_reads_naive(512, 512, 512)
    268435456
    """
    return 2 * m * n * k


@checked
def global_reads_tiled(m: Size, n: Size, k: Size, m_tile: Size, n_tile: Size) -> int:
    """Elements read when a block computes an m_tile×n_tile tile of C [Mengyuan].

    M·N·K·(1/Bm + 1/Bn): each of the (M/Bm)·(N/Bn) blocks reads (Bm + Bn)·K elements.

    >>> global_reads_tiled(512, 512, 512, 128, 128)
    2097152

    Raises QuantityError unless the tiles divide the matrix: the formula knows no edge tiles.
    """
    blocks = exact_div("m by m_tile", m, m_tile) * exact_div("n by n_tile", n, n_tile)
    return blocks * (m_tile + n_tile) * k


@checked
def global_reads_per_element(k: Size, m_tile: Size, n_tile: Size) -> float:
    """Global reads for each element of C: K·(1/Bm + 1/Bn).

    >>> global_reads_per_element(4096, 32, 32) == 4096 / 16        # shared-memory kernel
    True
    >>> global_reads_per_element(4096, 64, 64) == 4096 / 32        # 1D and 2D block tiling
    True

    [junstar92] prints K/16 and K/32 GMEM "per A element"; the counts are for an element of
    the result, C.
    """
    return k * (m_tile + n_tile) / (m_tile * n_tile)


@checked
def shared_reads_per_element(k: Size, m_frag: Size = 1, n_frag: Size = 1) -> float:
    """Shared-memory reads for each element of C over k steps: k·(1/m_frag + 1/n_frag).

    A thread that owns an m_frag×n_frag tile reads m_frag + n_frag values a step.

    >>> shared_reads_per_element(32)                   # 2·d_bk: v02 of [Mao], no thread tile
    64.0
    >>> shared_reads_per_element(8, 8)                 # d_bk + d_bk/d_tm: v03
    9.0
    >>> shared_reads_per_element(16, 8, 8)             # d_bk/d_tm + d_bk/d_tn: v04, v05, v06
    4.0

    These are reads in one block tile. [Mao] writes the first once as 2·d_k, meaning 2·d_bk. It has
    no such figure for v00 and v01, which use no shared memory, nor for v07, whose fragments WMMA
    hides. Over all of K they are [junstar92]'s K*2, K*9/8 and K/4 SMEM (written as "per A element",
    counted per element of C). [ks] says v03's kind of kernel saves "~37.5%" of the shared-memory
    traffic at TM = 8; 9/8 for 2 saves 43.75%.
    """
    return k * (m_frag + n_frag) / (m_frag * n_frag)


@checked
def wave_size(blocks_per_sm: Size, sms: Size) -> int:
    """Blocks that run at once on the whole GPU: blocks per SM · SMs [Bloonow].

    >>> from simulator.gemm.occupancy import DEVICES, occupancy
    >>> wave_size(occupancy(256, 128, 0, "V100").blocks, DEVICES["V100"].sms)   # printed: 160
    160
    """
    return blocks_per_sm * sms


@checked
def wave_extent(m: Size, n: Size, m_tile: Size, n_tile: Size, wave: Size) -> tuple[int, int]:
    """Rows of A and columns of B (in elements) that one wave reads, blocks going along N first.

    ceil(wave / Wave_y)·M_tile and min(wave, Wave_y)·N_tile, with Wave_y = ceil(N / N_tile).

    >>> wave_extent(4096, 4096, 128, 128, 160)
    (640, 4096)

    [Bloonow] charges DRAM with (Wave_x + 1)·M_tile rows and all N columns, and defines Wave_x = M /
    M_tile. That would be all of A for every wave; what fits the argument, and its unused Wave_rem =
    Wave_gpu % Wave_y, is the full rows of blocks in a wave, Wave_gpu // Wave_y. One more comes with
    a remainder. So it is here.

    Raises QuantityError where the grid is smaller than a wave: the estimate does not hold there.
    """
    wave_y = ceil_div(n, n_tile)
    grid = ceil_div(m, m_tile) * wave_y
    if wave > grid:
        raise QuantityError(f"wave {wave} is more than the grid's blocks (accepted: 1 to {grid})")
    return ceil_div(wave, wave_y) * m_tile, min(wave, wave_y) * n_tile


@checked
def l2_hit_rate(wave_m: Size, wave_n: Size, m_tile: Size, n_tile: Size, wave: Size) -> float:
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
    if wave_m * wave_n < wave * m_tile * n_tile:
        raise QuantityError(
            f"wave_m {wave_m} by wave_n {wave_n} is too small for {wave} tiles of {m_tile}x{n_tile}"
            f" (accepted: at least {wave * m_tile * n_tile} elements)"
        )
    if wave_m > wave * m_tile or wave_n > wave * n_tile:
        raise QuantityError(
            f"wave_m {wave_m} by wave_n {wave_n} is more than {wave} tiles of {m_tile}x{n_tile}"
            f" read (accepted: up to {wave * m_tile} rows and {wave * n_tile} columns)"
        )
    requests = (m_tile + n_tile) * wave
    return (requests - wave_m - wave_n) / requests
