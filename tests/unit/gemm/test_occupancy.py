"""Occupancy: laws, the figures that documents print, and blocks that do not fit."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.gemm.occupancy import DEVICES, Device, Occupancy, fragment_registers, occupancy

KIBI = 2**10

V100, RTX_3080, RTX_4090 = (DEVICES[name] for name in ("V100", "RTX 3080", "RTX 4090"))


class TestLaws:
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


class TestJunstar92:
    """junstar92, "Optimizing a Matmul Kernel".

    https://github.com/junstar92/nvidia-libraries-study/blob/main/cuda/study/23_optimizing_a_matmul_kernel.md
    """

    def test_occupancy_of_the_shared_memory_kernel(self) -> None:
        found = occupancy(threads=1024, registers=37, shared=8192, device=RTX_3080)
        assert found == Occupancy(1, 32, 32 / 48, 1, 1, 11, 16)
        assert f"{found.ratio:.0%}" == "67%"
        # "11.11 => 11 Blocks": 8192 bytes and the runtime's 1024.
        per_block = 8192 + RTX_3080.shared_reserved
        assert math.floor(100 * RTX_3080.shared_per_sm / per_block) / 100 == 11.11
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

    def test_registers_and_occupancy(self) -> None:
        assert fragment_registers(8, 8) == 80
        assert fragment_registers(8, 8, buffers=2) == 2 * 16 + 64
        assert fragment_registers(16, 16) > V100.registers_per_thread == 255
        found = occupancy(threads=256, registers=128, shared=0, device=V100)
        assert (found.warps, found.ratio, found.limited_by) == (16, 0.25, ("registers",))
        assert found.warps // V100.partitions == 4  # warps a scheduler can choose from


class TestLimits:
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
