"""The documents' estimates: laws first, then every printed figure, a class for each document."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from layouts.errors import BankwiseError
from simulator.errors import QuantityError
from simulator.gemm import estimates
from simulator.gemm.estimates import (
    DEVICES,
    Device,
    Occupancy,
    break_even_bandwidth,
    compute_memory_ratio,
    ffma_per_shared_cycle,
    fragment_registers,
    gemm_flops,
    gemm_intensity,
    gemm_performance,
    gemm_ratio,
    global_reads_naive,
    global_reads_per_element,
    global_reads_tiled,
    i_ratio,
    inner_product_share,
    instruction_mix,
    l2_hit_rate,
    least_seconds,
    load_ffma_ratio,
    loop_trips,
    matrix_bytes,
    naive_intensity,
    occupancy,
    output_bytes,
    shared_cycles,
    shared_reads_per_element,
    split_k,
    wave_extent,
    wave_size,
    weighted_bandwidth,
)

KIBI, MEBI, GIBI, TEBI = 2**10, 2**20, 2**30, 2**40
MEGA, GIGA, TERA = 10**6, 10**9, 10**12

V100, RTX_3080, RTX_4090 = (DEVICES[name] for name in ("V100", "RTX 3080", "RTX 4090"))

sides = st.integers(1, 512)
powers = st.integers(0, 9).map(lambda exponent: 2**exponent)


def truncated(value: float, digits: int = 0) -> float:
    """Cut after `digits` decimals, as the documents mostly do."""
    scale = 10.0**digits
    return math.floor(value * scale) / scale


class TestLaws:
    @given(sides, sides)
    def test_the_compute_to_memory_ratio_is_a_harmonic_mean(self, x: int, y: int) -> None:
        ratio = compute_memory_ratio(x, y)
        assert ratio == float(2 / (Fraction(1, x) + Fraction(1, y)))
        assert ratio == compute_memory_ratio(y, x)
        assert min(x, y) <= ratio <= max(x, y)

    @given(sides, sides)
    def test_of_two_tiles_with_one_area_the_squarer_reuses_more(self, x: int, y: int) -> None:
        assume(x != y)
        assert compute_memory_ratio(x * x, y * y) < compute_memory_ratio(x * y, x * y)

    @given(sides, sides, st.sampled_from([1, 2, 4]))
    def test_both_printed_forms_of_the_i_ratio_agree(self, m: int, n: int, words: int) -> None:
        second = Fraction(words, 4) * Fraction((m + n) ** 2 - (m - n) ** 2, m + n)
        assert i_ratio(m, n, words) == pytest.approx(float(second))

    @given(powers, powers, powers, powers, powers)
    def test_tiling_divides_the_global_reads_of_the_naive_kernel(
        self, blocks_m: int, blocks_n: int, k: int, m_tile: int, n_tile: int
    ) -> None:
        m, n = blocks_m * m_tile, blocks_n * n_tile
        tiled = global_reads_tiled(m, n, k, m_tile, n_tile)
        assert tiled == m * n * k * (Fraction(1, m_tile) + Fraction(1, n_tile))
        assert tiled == global_reads_per_element(k, m_tile, n_tile) * m * n
        assert tiled <= global_reads_naive(m, n, k) == global_reads_tiled(m, n, k, 1, 1)

    @given(sides, sides, sides)
    def test_a_larger_thread_tile_reads_less_shared_memory(self, k: int, m: int, n: int) -> None:
        reads = shared_reads_per_element(k, m, n)
        assert reads == pytest.approx(k / m + k / n)
        assert shared_reads_per_element(k, m + 1, n) < reads <= shared_reads_per_element(k) == 2 * k

    @given(st.integers(1, 10**6), st.data())
    def test_split_k_loses_nothing_and_the_last_part_is_the_largest(
        self, k: int, data: st.DataObject
    ) -> None:
        parts = data.draw(st.integers(1, k))
        size, last = split_k(k, parts)
        assert (parts - 1) * size + last == k
        assert size <= last < size + parts

    @given(powers, powers, sides, sides)
    def test_the_hit_rate_of_a_full_wave_needs_the_tile_area(
        self, m_tile: int, n_tile: int, blocks_m: int, blocks_n: int
    ) -> None:
        wave_m, wave_n = blocks_m * m_tile, blocks_n * n_tile
        third_line = 1 - Fraction(m_tile * n_tile, m_tile + n_tile) * Fraction(
            wave_m + wave_n, wave_m * wave_n
        )
        rate = l2_hit_rate(wave_m, wave_n, m_tile, n_tile, blocks_m * blocks_n)
        assert rate == pytest.approx(float(third_line), abs=1e-12)
        assert 0 <= rate < 1

    @given(sides, sides, powers, powers, st.data())
    def test_a_wave_of_any_grid_has_a_hit_rate(
        self, blocks_m: int, blocks_n: int, m_tile: int, n_tile: int, data: st.DataObject
    ) -> None:
        wave = data.draw(st.integers(1, blocks_m * blocks_n))
        m, n = blocks_m * m_tile, blocks_n * n_tile
        rows, columns = wave_extent(m, n, m_tile, n_tile, wave)
        covered = {(block // blocks_n, block % blocks_n) for block in range(wave)}
        assert rows == len({row for row, _ in covered}) * m_tile
        assert columns == len({column for _, column in covered}) * n_tile
        assert 0 <= l2_hit_rate(rows, columns, m_tile, n_tile, wave) < 1

    @given(st.floats(1, 1e4), st.floats(1, 1e4), st.floats(1, 1e6))
    def test_p_gemm_is_the_documents_two_cases(self, ldg: float, ratio: float, ffma: float) -> None:
        expected = ldg * ratio if ratio < ffma / ldg else ffma
        assert gemm_performance(ldg, ratio, ffma) == pytest.approx(expected)
        # The two cases meet at the break-even bandwidth.
        at_ridge = gemm_performance(break_even_bandwidth(ffma, ratio), ratio, ffma)
        assert at_ridge == pytest.approx(ffma)

    @given(
        st.sampled_from([64, 128, 256]),
        st.sampled_from([64, 128, 256]),
        st.sampled_from([8, 16, 32]),
        st.sampled_from([4, 8, 16]),
        st.floats(1, 5000),
        st.floats(1, 100),
    )
    def test_the_load_ratio_has_the_printed_closed_form(
        self, tile: int, other: int, k_tile: int, frag: int, ldg: float, sts: float
    ) -> None:
        assume((tile + other) * k_tile % (tile * other // (8 * frag)) == 0)
        mix = instruction_mix(tile, other, k_tile, 8, frag)
        assume(mix.ffma > ldg + sts + 1)
        area = 8 * frag
        closed = area * (1 / tile + 1 / other) / (area - (ldg + sts) / k_tile)
        closed += (8 + frag) / (2 * area)
        assert load_ffma_ratio(mix, ldg, sts) == pytest.approx(closed)

    @given(
        st.integers(1, 1024),
        st.integers(1, 255),
        st.integers(0, 98304),
        st.sampled_from([*DEVICES]),
    )
    def test_resident_blocks_fit_and_one_more_does_not(
        self, threads: int, registers: int, shared: int, name: str
    ) -> None:
        device = DEVICES[name]
        found = occupancy(threads, registers, shared, device)
        assert found == occupancy(threads, registers, shared, name)
        warps = math.ceil(threads / 32)
        per_warp = math.ceil(32 * registers / 256) * 256
        needs = [
            (warps, device.warps_per_sm),
            (1, device.blocks_per_sm),
            (shared + device.shared_reserved, device.shared_per_sm),
            (warps * per_warp, device.registers_per_sm),
        ]
        assert all(found.blocks * need <= has for need, has in needs)
        assert found.warps == found.blocks * warps
        assert found.ratio == found.warps / device.warps_per_sm
        assert found.limited_by
        # One block more breaks a limit, up to what rounding and partitions cost.
        slack = [(0, 0), (0, 0), (device.shared_unit, 0), (0, 4 * (per_warp - 1) + 3 * per_warp)]
        assert any(
            (found.blocks + 1) * (need + unit) > has - lost
            for (need, has), (unit, lost) in zip(needs, slack, strict=True)
        )

    @given(st.integers(1, 1024), st.integers(1, 254), st.integers(0, 98303))
    def test_a_hungrier_block_is_never_more_resident(
        self, threads: int, registers: int, shared: int
    ) -> None:
        blocks = occupancy(threads, registers, shared, RTX_4090).blocks
        assert occupancy(threads, registers + 1, shared, RTX_4090).blocks <= blocks
        assert occupancy(threads, registers, shared + 1, RTX_4090).blocks <= blocks


class TestMao:
    """Lei Mao, "CUDA Matrix Multiplication Optimization".

    https://leimao.github.io/article/CUDA-Matrix-Multiplication-Optimization/
    """

    @pytest.mark.parametrize("d_bk", [8, 16, 32])
    @pytest.mark.parametrize("d_tm", [4, 8])
    @pytest.mark.parametrize("d_tn", [4, 8])
    def test_shared_reads_for_an_element(self, d_bk: int, d_tm: int, d_tn: int) -> None:
        v02 = shared_reads_per_element(d_bk)
        v03 = shared_reads_per_element(d_bk, d_tm)
        v04 = shared_reads_per_element(d_bk, d_tm, d_tn)
        assert v02 == 2 * d_bk  # printed once as 2·d_k
        assert v03 == d_bk + d_bk / d_tm
        assert v03 * d_tm == d_bk * d_tm + d_bk  # for a thread's d_tm elements
        assert v04 == d_bk / d_tm + d_bk / d_tn
        assert v04 * d_tm * d_tn == d_bk * (d_tm + d_tn)
        assert v04 < v03 < v02  # the two printed inequalities

    @pytest.mark.parametrize(
        ("version", "d_bk", "tile", "reads"),
        [
            ("v02", 32, (1, 1), 64),
            ("v03", 8, (8, 1), 9),
            ("v04", 16, (8, 8), 4),
            ("v05_vectorized", 16, (8, 8), 4),
            ("v06_vectorized", 16, (8, 8), 4),
        ],
    )
    def test_with_the_tile_sizes_of_its_code(
        self, version: str, d_bk: int, tile: tuple[int, int], reads: int
    ) -> None:
        assert shared_reads_per_element(d_bk, *tile) == reads, version


class TestMengyuan:
    """猛猿, "从啥也不会到CUDA GEMM优化", https://zhuanlan.zhihu.com/p/703256080 ."""

    def test_global_reads_of_the_naive_kernel(self) -> None:
        assert global_reads_naive(512, 512, 512) == 2 * 512 * 512 * 512
        assert global_reads_naive(512, 512, 512) // (512 * 512) == 2 * 512  # 2K for a thread

    def test_global_reads_of_the_tiled_kernel(self) -> None:
        tiled = global_reads_tiled(512, 512, 512, 128, 128)
        block = (128 * 8 + 8 * 128) * loop_trips(512, 8)  # (Bm·Bk + Bk·Bn) each trip
        assert tiled == 16 * block  # "4*4 = 16 blocks"
        assert global_reads_naive(512, 512, 512) == 128 * tiled

    def test_the_loop_makes_64_trips_where_16_is_printed(self) -> None:
        assert loop_trips(128, 8) == 16  # "K/Bk = 128/8 = 16", but its K is 512
        assert loop_trips(512, 8) == 64

    def test_4x8_warps_compute_most_for_what_they_read(self) -> None:
        shapes = [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2), (32, 1)]
        ratios = {shape: compute_memory_ratio(8 * shape[0], 8 * shape[1]) for shape in shapes}
        best = max(ratios.values())
        assert {shape for shape in shapes if ratios[shape] == best} == {(4, 8), (8, 4)}
        assert best == pytest.approx(2 / (1 / 32 + 1 / 64))


class TestJunstar92:
    """junstar92, "Optimizing a Matmul Kernel".

    https://github.com/junstar92/nvidia-libraries-study/blob/main/cuda/study/23_optimizing_a_matmul_kernel.md
    """

    def test_naive_bounds(self) -> None:
        flops = gemm_flops(4096, 4096, 4096, epilogue=3)
        assert flops == 2 * 4096**3 + 3 * 4096**2
        assert truncated(flops / GIBI) == 128  # "128 GFLOPS" is in 2^30 ...
        assert truncated(flops / GIGA) == 137  # ... and 137 in 10^9
        read, stored = matrix_bytes(4096, 4096, 4096), output_bytes(4096, 4096)
        assert (read, stored, read + stored) == (192 * MEBI, 64 * MEBI, 256 * MEBI)

    def test_naive_times(self) -> None:
        flops, traffic = gemm_flops(4096, 4096, 4096, epilogue=3), 256 * MEBI
        # Printed 4.1 ms and 0.33 ms: both rates taken in powers of two, the first truncated.
        assert truncated(least_seconds(flops, 30 * TEBI) * 1e3, 1) == 4.1
        assert round(least_seconds(traffic, 760 * GIBI) * 1e3, 2) == 0.33
        # What 30 TFLOPS and 760 GB/s mean on a data sheet; "over ten times" holds either way.
        compute, memory = least_seconds(flops, 30 * TERA), least_seconds(traffic, 760 * GIGA)
        assert (round(compute * 1e3, 2), round(memory * 1e3, 2)) == (4.58, 0.35)
        assert compute > 10 * memory

    @pytest.mark.parametrize(
        ("m_tile", "m_frag", "n_frag", "gmem", "smem"),
        [
            (32, 1, 1, Fraction(1, 16), Fraction(2)),  # shared memory: K/16 GMEM, K*2 SMEM
            (64, 8, 1, Fraction(1, 32), Fraction(9, 8)),  # 1D tiling: K/32 GMEM, K*9/8 SMEM
            (64, 8, 8, Fraction(1, 32), Fraction(1, 4)),  # 2D tiling: K/32 GMEM, K/4 SMEM
        ],
    )
    def test_memory_accesses_for_an_element(
        self, m_tile: int, m_frag: int, n_frag: int, gmem: Fraction, smem: Fraction
    ) -> None:
        # Headed "per A element"; the counts are those of an element of C.
        assert global_reads_per_element(4096, m_tile, m_tile) == 4096 * gmem
        assert shared_reads_per_element(4096, m_frag, n_frag) == 4096 * smem

    def test_memory_accesses_of_a_thread(self) -> None:
        k = 4096
        assert shared_reads_per_element(k) == loop_trips(k, 32) * 32 * 2
        assert global_reads_per_element(k, 32, 32) == loop_trips(k, 32) * 2
        assert shared_reads_per_element(k, 8) * 8 == loop_trips(k, 8) * 8 * (1 + 8)
        assert global_reads_per_element(k, 64, 64) * 8 == loop_trips(k, 8) * 2
        assert shared_reads_per_element(k, 8, 8) * 64 == loop_trips(k, 8) * 8 * 2 * 8
        assert global_reads_per_element(k, 64, 64) * 64 == loop_trips(k, 8) * 2 * 8

    def test_occupancy_of_the_shared_memory_kernel(self) -> None:
        found = occupancy(threads=1024, registers=37, shared=8192, device=RTX_3080)
        assert found == Occupancy(1, 32, 32 / 48, 1, 1, 11, 16)
        assert f"{found.ratio:.0%}" == "67%"
        # "11.11 => 11 Blocks": 8192 bytes and the runtime's 1024.
        assert truncated(RTX_3080.shared_per_sm / (8192 + RTX_3080.shared_reserved), 2) == 11.11
        # 37 registers round up to 1280 a warp; 36 registers fill 1152 and take 1280 as well.
        assert found == occupancy(1024, 36, 8192, RTX_3080) == occupancy(1024, 40, 8192, RTX_3080)
        assert occupancy(256, 41, 8192, RTX_3080).by_registers == 5

    def test_48_kb_a_block_leave_two_blocks(self) -> None:
        # The text says 48152 bytes once; the device query says 49152.
        assert occupancy(256, 37, 49152, RTX_3080).by_shared == 2


class TestKs:
    """ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm ."""

    as_printed = replace(RTX_4090, shared_per_sm=131072, shared_reserved=0, blocks_per_sm=32)
    """With 128 KB an SM, nothing reserved and 32 blocks, against its own device table."""

    def test_work_of_a_4096_gemm(self) -> None:
        assert truncated(gemm_flops(4096, 4096, 4096) / GIGA) == 137  # GFLOPs, 10^9
        assert truncated(matrix_bytes(4096, 4096, 4096) / MEGA) == 201  # MB, 10^6
        assert truncated(gemm_intensity(4096, 4096, 4096)) == 682  # FLOPs/byte
        assert round(gemm_intensity(4096, 4096, 4096)) == 683
        assert f"{matrix_bytes(4096, 4096, 4096) / GIGA:.2f} GB" == "0.20 GB"
        assert f"{output_bytes(4096, 4096) / GIGA:.2f} GB" == "0.07 GB"

    def test_the_total_flops_are_not_2mnk_and_mk(self) -> None:
        # Printed "2MNK + MK"; three operations on each element of C make it 2MNK + 3MN.
        assert gemm_flops(2, 3, 5, epilogue=3) == 2 * 2 * 3 * 5 + 3 * 2 * 3 != 2 * 2 * 3 * 5 + 2 * 5

    def test_each_element_is_read_about_1000_times(self) -> None:
        reads = global_reads_naive(1024, 1024, 1024)
        assert reads / (2 * 1024 * 1024) == 1024

    def test_caching_b_saves_43_75_percent_where_37_5_is_printed(self) -> None:
        saved = 1 - shared_reads_per_element(8, 8) / shared_reads_per_element(8)
        assert saved == 0.4375

    def test_its_device_table(self) -> None:
        limits = (RTX_4090.shared_per_sm, RTX_4090.registers_per_sm, RTX_4090.blocks_per_sm)
        assert limits == (102400, 65536, 24)
        assert (RTX_4090.warps_per_sm * 32, RTX_4090.sms) == (1536, 128)

    @pytest.mark.parametrize("threads", [128, 256, 512])
    @pytest.mark.parametrize(
        ("registers", "max_threads", "warps", "printed"),
        [(32, 1536, 48, "100%"), (64, 1024, 32, "66.7%"), (128, 512, 16, "33.3%")],
    )
    def test_registers_table(
        self, threads: int, registers: int, max_threads: int, warps: int, printed: str
    ) -> None:
        found = occupancy(threads, registers, 0, RTX_4090)
        assert (found.blocks * threads, found.warps) == (max_threads, warps)
        assert f"{found.ratio:.1%}".replace(".0", "") == printed

    @pytest.mark.parametrize(
        ("kilobytes", "printed", "right"), [(0, 32, 24), (32, 4, 3), (64, 2, 1), (96, 1, 1)]
    )
    def test_shared_memory_table(self, kilobytes: int, printed: int, right: int) -> None:
        # One warp a block, so that only shared memory and the number of blocks limit.
        assert occupancy(32, 32, kilobytes * KIBI, self.as_printed).blocks == printed
        # What its device table's 102400 bytes and 24 blocks, and the reserved 1 KB, give.
        assert occupancy(32, 32, kilobytes * KIBI, RTX_4090).blocks == right

    @pytest.mark.parametrize(
        ("threads", "blocks", "warps", "printed"),
        [(128, 12, 48, "100%"), (256, 6, 48, "100%"), (512, 3, 48, "100%"), (1024, 1, 32, "66.7%")],
    )
    @pytest.mark.parametrize("device", [RTX_4090, as_printed])
    def test_block_size_table(
        self, threads: int, blocks: int, warps: int, printed: str, device: Device
    ) -> None:
        found = occupancy(threads, 32, 0, device)
        assert (found.blocks, found.warps) == (blocks, warps)
        assert f"{found.ratio:.1%}".replace(".0", "") == printed

    def test_occupancy_of_the_shared_memory_kernel(self) -> None:
        found = occupancy(1024, 32, 8192, self.as_printed)
        assert (found.by_warps, found.by_shared, found.by_blocks) == (1, 16, 32)
        assert (found.blocks, found.warps, f"{found.ratio:.1%}") == (1, 32, "66.7%")
        # Its device's own limits change two of the three, and not the result.
        honest = occupancy(1024, 32, 8192, RTX_4090)
        assert (honest.by_warps, honest.by_shared, honest.by_blocks) == (1, 11, 24)
        assert honest.ratio == found.ratio


class TestBloonow:
    """Bloonow, "GEMM矩阵乘法和CUTLASS模板库", https://github.com/Bloonow/MyNotes ."""

    def test_naive_kernel(self) -> None:
        assert naive_intensity() == 64 / 132
        assert round(naive_intensity(), 2) == 0.48
        # 2624 GiB/s × 0.48 printed as 1.23 TFLOPS: rounded first, and 1024 GiB to a T.
        assert round(gemm_performance(2624, 0.48, 14 * KIBI) / KIBI, 2) == 1.23
        exact = gemm_performance(2624 * GIBI, naive_intensity(), 14 * TERA)
        assert round(exact / TEBI, 2) == 1.24
        assert round(exact / TERA, 2) == 1.37

    def test_block_tile(self) -> None:
        assert gemm_ratio(64, 64) == 16
        assert gemm_ratio(64, 64) == compute_memory_ratio(64, 64) / 4
        assert break_even_bandwidth(14 * KIBI, 16) == 896  # GiB/s, T = 2^40
        assert break_even_bandwidth(14 * TERA, 16) == 875 * GIGA
        assert round(break_even_bandwidth(14 * TERA, 16) / GIBI) == 815

    def test_weighted_bandwidth_passes_the_ridge(self) -> None:
        p_ldg = weighted_bandwidth(2624, 791, 0.1)
        assert truncated(p_ldg) == 974  # GiB/s
        assert gemm_performance(p_ldg, 16, 14 * KIBI) == 14 * KIBI
        assert gemm_performance(weighted_bandwidth(2624, 791, 0), 16, 14 * KIBI) == 791 * 16
        # "Over 10 %" is safe, not sharp: 5.8 % reach 896 GiB/s.
        assert weighted_bandwidth(2624, 791, 0.057) < 896 < weighted_bandwidth(2624, 791, 0.058)

    def test_inner_product(self) -> None:
        assert inner_product_share(port=128, ffma_per_cycle=64) == 1 / 4
        assert inner_product_share() * 14 == 3.5  # TFLOPS
        assert inner_product_share(port=64, ffma_per_cycle=64) == 1 / 8  # TU102
        assert inner_product_share(port=2048) == 1

    def test_shared_memory_cycles(self) -> None:
        assert (shared_cycles(1, 8), shared_cycles(32, 8)) == (4, 8)  # V100, 12 together
        assert (shared_cycles(1, 8, 64), shared_cycles(32, 8, 64)) == (4, 16)  # TU102, 20
        assert (shared_cycles(4, 8, 64), shared_cycles(8, 8, 64)) == (4, 4)  # 4×8, 8

    def test_ffma_for_each_shared_memory_cycle(self) -> None:
        assert truncated(ffma_per_shared_cycle(1, 32)) == 170
        assert truncated(ffma_per_shared_cycle(1, 32, port=64)) == 102
        assert ffma_per_shared_cycle(4, 8, port=64) == 256
        assert ffma_per_shared_cycle(8, 4, port=64) == 256
        # 102 is called less than a TU102's 128 FFMA a cycle; its 64, as stated before, it covers.
        assert 64 < ffma_per_shared_cycle(1, 32, port=64) < 128

    def test_registers_and_occupancy(self) -> None:
        assert fragment_registers(8, 8) == 80
        assert fragment_registers(8, 8, buffers=2) == 2 * 16 + 64
        assert fragment_registers(16, 16) > V100.registers_per_thread == 255
        found = occupancy(threads=256, registers=128, shared=0, device=V100)
        assert (found.warps, found.ratio, found.limited_by) == (16, 0.25, ("registers",))
        assert found.warps // V100.partitions == 4  # warps a scheduler can choose from

    def test_wave(self) -> None:
        blocks = occupancy(256, 128, 0, V100).blocks
        assert blocks == 2
        assert wave_size(blocks, V100.sms) == 160

    def test_hit_rate_at_the_flat_extreme(self) -> None:
        wave_m, wave_n = wave_extent(40960, 40960, 128, 128, 160)
        assert (wave_m, wave_n) == (128, 20480)  # "128×160＝20480"
        rate = l2_hit_rate(wave_m, wave_n, 128, 128, 160)
        assert (f"{rate:.0%}", rate) == ("50%", 0.496875)
        assert abs(rate - 0.52) / 0.52 < 0.05  # measured 52%, "about 4%" away
        # The third line as printed, without the tile's area, says something else.
        assert f"{1 - (wave_m + wave_n) / (128 + 128) / (wave_m * wave_n):.3%}" == "99.997%"

    def test_50_percent_is_the_least_of_this_tile(self) -> None:
        sizes = [2048, 4096, 8192, 16384, 20480, 40960]
        rates = [
            l2_hit_rate(*wave_extent(m, n, 128, 128, 160), 128, 128, 160)
            for m in sizes
            for n in sizes
        ]
        assert min(rates) == 0.496875
        assert 0.7 < max(rates) < 1

    def test_printed_wave_x_charges_more_than_a_wave_reads(self) -> None:
        # Wave_x = M / M_tile, read literally, takes (160 + 1)·128 rows of A for 160 blocks.
        with pytest.raises(QuantityError, match="accepted: up to 20480 rows"):
            l2_hit_rate((20480 // 128 + 1) * 128, 20480, 128, 128, 160)
        # The rows in a wave, 4096 / 128 = 32 blocks each: 160 // 32 = 5 and no remainder.
        assert wave_extent(4096, 4096, 128, 128, 160) == (5 * 128, 4096)
        assert wave_extent(4096, 4224, 128, 128, 160) == (5 * 128, 4224)  # 160 // 33 + 1

    def test_instruction_mix(self) -> None:
        mix = instruction_mix(128, 128, 8, 8, 8)
        assert (mix.threads, mix.ldg, mix.sts, mix.lds, mix.ffma) == (256, 8, 8, 64, 512)

    def test_load_ratio_stays_below_the_v100s_pipes(self) -> None:
        # P_lsu_ipc / P_ffma_ipc = 0.25 / 0.5; latencies from its list of measurements.
        ratio = load_ffma_ratio(instruction_mix(128, 128, 8, 8, 8), 400, 19)
        assert ratio == pytest.approx(8 / (512 - 419) + 64 / 512)
        assert ratio < 0.25 / 0.5
        # Larger block tiles and a larger K_tile both lower it.
        assert ratio < load_ffma_ratio(instruction_mix(64, 64, 8, 8, 8), 400, 19)
        assert load_ffma_ratio(instruction_mix(128, 128, 16, 8, 8), 400, 19) < ratio

    def test_split_k(self) -> None:
        assert split_k(4096, 20) == (204, 220)
        assert split_k(4096, 16) == (256, 256)


class TestBadInput:
    VALID: ClassVar[dict[str, dict[str, object]]] = {
        "break_even_bandwidth": {"p_ffma": 14.0, "intensity": 16.0},
        "compute_memory_ratio": {"x": 4, "y": 8},
        "ffma_per_shared_cycle": {"rows": 4, "cols": 8, "m_frag": 8, "n_frag": 8, "port": 64},
        "fragment_registers": {"m_frag": 8, "n_frag": 8, "buffers": 2},
        "gemm_flops": {"m": 4, "n": 4, "k": 4, "epilogue": 3},
        "gemm_intensity": {"m": 4, "n": 4, "k": 4, "element": 4},
        "gemm_performance": {"p_ldg": 1.0, "intensity": 1.0, "p_ffma": 1.0},
        "gemm_ratio": {"m_tile": 64, "n_tile": 64, "element": 4},
        "global_reads_naive": {"m": 4, "n": 4, "k": 4},
        "global_reads_per_element": {"k": 4, "m_tile": 2, "n_tile": 2},
        "global_reads_tiled": {"m": 4, "n": 4, "k": 4, "m_tile": 2, "n_tile": 2},
        "i_ratio": {"m_frag": 8, "n_frag": 8, "words_per_load": 4},
        "inner_product_share": {"port": 64, "ffma_per_cycle": 64},
        "instruction_mix": {"m_tile": 128, "n_tile": 128, "k_tile": 8, "m_frag": 8, "n_frag": 8},
        "l2_hit_rate": {"wave_m": 2, "wave_n": 2, "m_tile": 1, "n_tile": 1, "wave": 4},
        "least_seconds": {"amount": 1.0, "rate": 1.0},
        "load_ffma_ratio": {
            "mix": instruction_mix(128, 128, 8, 8, 8),
            "ldg_latency": 400.0,
            "sts_latency": 19.0,
        },
        "loop_trips": {"k": 8, "k_tile": 8},
        "matrix_bytes": {"m": 4, "n": 4, "k": 4, "element": 4},
        "naive_intensity": {"element": 4},
        "occupancy": {"threads": 256, "registers": 32, "shared": 1024, "device": "V100"},
        "output_bytes": {"m": 4, "n": 4, "element": 4},
        "shared_cycles": {"threads": 4, "frag": 8, "port": 64},
        "shared_reads_per_element": {"k": 8, "m_frag": 8, "n_frag": 8},
        "split_k": {"k": 8, "parts": 2},
        "wave_extent": {"m": 4, "n": 4, "m_tile": 1, "n_tile": 1, "wave": 4},
        "wave_size": {"blocks_per_sm": 2, "sms": 80},
        "weighted_bandwidth": {"l2_bandwidth": 2.0, "dram_bandwidth": 1.0, "hit_rate": 0.5},
    }
    ZERO_IS_FINE = frozenset(
        {("gemm_flops", "epilogue"), ("occupancy", "shared"), ("weighted_bandwidth", "hit_rate")}
    )
    BAD: tuple[object, ...] = (
        0,
        -1,
        -0.5,
        math.nan,
        math.inf,
        -math.inf,
        2**63,
        1e300,
        1j,
        True,
        None,
        "4",
        b"4",
        [],
    )

    def test_every_function_is_tried(self) -> None:
        functions = {name for name in estimates.__all__ if name.islower()}
        assert functions == set(self.VALID)
        for name, arguments in self.VALID.items():
            getattr(estimates, name)(**arguments)

    @pytest.mark.parametrize("bad", BAD, ids=repr)
    @pytest.mark.parametrize(
        ("name", "argument"),
        [(name, each) for name, given_ in VALID.items() for each in given_ if each != "mix"],
    )
    def test_is_refused_with_what_was_given_and_what_is_accepted(
        self, name: str, argument: str, bad: object
    ) -> None:
        arguments = {**self.VALID[name], argument: bad}
        if bad == 0 and bad is not False and (name, argument) in self.ZERO_IS_FINE:
            getattr(estimates, name)(**arguments)
            return
        with pytest.raises(QuantityError) as refused:
            getattr(estimates, name)(**arguments)
        assert f"{argument} {bad!r}" in str(refused.value)
        assert "accepted: " in str(refused.value)

    def test_is_a_bankwise_error(self) -> None:
        with pytest.raises(BankwiseError):
            split_k(0, 1)

    def test_numpy_integers_count_as_integers(self) -> None:
        k, parts = np.array([4096, 20], dtype=np.int32)
        assert split_k(k, parts) == (204, 220)
        assert all(type(part) is int for part in split_k(k, parts))
        assert global_reads_naive(k, k, k) == 2**37  # NumPy's own product would wrap

    def test_sizes_are_never_truncated_to_a_machine_word(self) -> None:
        assert gemm_flops(2**40, 2**40, 2**40) == 2**121

    @pytest.mark.parametrize("digits", [400, 5000])
    def test_absurd_integers(self, digits: int) -> None:
        with pytest.raises(QuantityError, match=r"^k .* is not a size"):
            split_k(10**digits, 2)

    @pytest.mark.parametrize(
        ("refused", "message"),
        [
            (lambda: global_reads_tiled(100, 64, 8, 64, 64), r"100 is not a multiple of 64"),
            (lambda: instruction_mix(128, 128, 8, 6, 8), r"m_tile by m_frag: 128 .* of 6"),
            (
                lambda: instruction_mix(256, 256, 4, 4, 4),
                r"2048 .*accepted: multiples, such as 4096",
            ),
            (lambda: instruction_mix(8, 8, 8, 2, 2), r"m_frag by LDS\.128: 2"),
            (lambda: load_ffma_ratio(instruction_mix(64, 64, 8, 8, 8), 500, 12), "less than 512"),
            (lambda: split_k(4, 5), r"parts 5 .*accepted: 1 to k = 4"),
            (lambda: ffma_per_shared_cycle(4, 4), r"rows 4 by cols 4 is 16 lanes .* 32 lanes"),
            (lambda: wave_extent(512, 512, 128, 128, 17), r"wave 17 .*accepted: 1 to 16"),
            (lambda: l2_hit_rate(2, 2, 1, 1, 5), r"no room for 5 tiles .* at least 5 elements"),
            (lambda: weighted_bandwidth(1, 1, 1.5), r"hit_rate 1\.5 .*from 0 to 1"),
            (lambda: occupancy(1, 1, 0, "V10"), r"unknown device 'V10': did you mean V100\?"),
            (lambda: replace(V100, partitions=0), r"partitions 0 .*accepted"),
        ],
    )
    def test_what_does_not_fit_together(self, refused: Callable[[], object], message: str) -> None:
        with pytest.raises(QuantityError, match=message):
            refused()

    @pytest.mark.parametrize(
        ("threads", "registers", "shared", "limit"),
        [
            (1025, 32, 0, "warps"),
            (32, 256, 0, "registers"),
            (1024, 65, 0, "registers"),
            (32, 32, 100 * KIBI, "shared"),
        ],
    )
    def test_a_block_too_large_to_start_gives_no_blocks(
        self, threads: int, registers: int, shared: int, limit: str
    ) -> None:
        found = occupancy(threads, registers, shared, RTX_4090)
        assert (found.blocks, found.warps, found.ratio, found.limited_by) == (0, 0, 0, (limit,))

    def test_registers_are_taken_from_the_warps_own_partition(self) -> None:
        # 168 registers: 5376 a warp, 3 in each 16384-register quarter, not 65536 // 5376 = 12.19.
        assert occupancy(32, 168, 0, RTX_4090).by_registers == 12
        # 200 registers: 6400 a warp, 2 a quarter, where the whole file would hold 10.
        assert occupancy(32, 200, 0, RTX_4090).by_registers == 8
        # 255 registers: 8192 a warp, 2 a quarter, so 5 warps fit once.
        assert occupancy(160, 255, 0, RTX_4090).by_registers == 8 // 5
        # 216 registers: 9 warps would fit the whole file, but a quarter holds 2.
        assert occupancy(288, 216, 0, RTX_4090).by_registers == 0

    def test_shared_memory_is_taken_in_units(self) -> None:
        # 16042 + 1024 bytes fit 102400 six times; rounded up to 17152 they fit five times.
        assert occupancy(32, 32, 16042, RTX_4090).by_shared == 5
        # Units of 256: 8800 takes 8960 of 98304. Units of 128 would leave room for eleven.
        assert occupancy(32, 32, 8800, V100).by_shared == 10
        assert occupancy(32, 32, 0, V100).by_shared is None
