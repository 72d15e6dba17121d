"""The documents' estimates: laws first, then every printed figure, a class for each document."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.errors import QuantityError
from simulator.gemm.estimates import (
    break_even_bandwidth,
    compute_memory_ratio,
    ffma_per_shared_cycle,
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
    output_bytes,
    shared_cycles,
    shared_reads_per_element,
    split_k,
    wave_extent,
    wave_size,
    weighted_bandwidth,
)
from simulator.gemm.occupancy import DEVICES, occupancy

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


class TestKs:
    """ks, "Explore GEMMs - optimization journey", https://github.com/gpusgobrr/explore-gemm ."""

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
