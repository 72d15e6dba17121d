"""What L1 and the L2 still have, as an H100's had: what was read or stored, parts of lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gpu_check.recordings import PackagedTable, packaged_table
from gpu_check.timing.l1_holds import l1_holds_source
from gpu_check.timing.l1_room import SIZES
from gpu_check.timing.read_back import read_back_source
from gpu_check.timing.slowest import slowest_source
from gpu_check.timing.sparse import sparse_source
from simulator import replay_compiled
from simulator.timing.machine import l1_bytes
from tests.sass_kernels import needs_compiler

Row = Mapping[str, str]
SMS = 132


def row_of(name: PackagedTable, **values: str) -> Row:
    """Return the row of a recording that has these values."""
    return next(
        row for row in packaged_table(name)
        if all(row[column] == value for column, value in values.items())
    )  # fmt: skip


def test_l1_is_as_large_as_it_was() -> None:
    for row in packaged_table("h100_l1_room"):
        room, warps = int(row["room"]), int(row["threads"]) // 32
        has = l1_bytes(int(row["shared"]), int(row["resident"]), warps) // 1024
        # Of the last size a part comes again, whatever L1 has.
        more = [size for size in SIZES[:-1] if size > room] or [1 << 10]
        assert room <= has < more[0], row


def holds() -> list[object]:
    """Return rows of h100_l1_holds.csv around what L1 holds."""
    chosen = {
        ("loads", "1", "1024", "0"): (208, 256), ("loads", "4", "512", "24576"): (96, 144, 192),
        ("loads", "2", "1024", "49152"): (144, 192), ("loads", "1", "256", "102400"): (16, 48),
        ("stores", "8", "256", "0"): (96, 176, 192), ("stores", "4", "512", "24576"): (48, 80, 112),
    }  # fmt: skip
    return [
        pytest.param(row, id=" ".join([*key, row["kibibytes"]]))
        for row in packaged_table("h100_l1_holds")
        if (key := tuple(row[name] for name in ("way", "blocks", "threads", "shared"))) in chosen
        and int(row["kibibytes"]) in chosen[key]
    ]


@needs_compiler
@pytest.mark.parametrize("row", holds())
def test_what_is_read_again_comes_again_as_often(row: Row) -> None:
    blocks, size = int(row["blocks"]) * SMS, int(row["kibibytes"])
    words = (size << 8) // int(row["blocks"])
    report = replay_compiled(
        l1_holds_source(), kernel=f"holds_{row['way']}", grid=blocks, block=int(row["threads"]),
        shared_bytes=int(row["shared"]), chip="H100",
        args=[np.zeros(words * blocks, np.float32), np.zeros(words * blocks, np.float32),
              np.int32(words), np.int32(4)],
    )  # fmt: skip
    sent = report.time("H100").counts["sent_sectors"] * 32
    first = size << 10
    assert (sent - first) / (3 * first) == pytest.approx(float(row["again"]), abs=0.2)


@needs_compiler
@pytest.mark.parametrize("unit", [32, 64, 128])
@pytest.mark.parametrize("mebibytes", [24, 64])
def test_dram_brings_pairs_of_sectors_and_the_l2_keeps_lines(mebibytes: int, unit: int) -> None:
    row = row_of("h100_sparse", way="reads", mebibytes=str(mebibytes), unit=str(unit))
    report = replay_compiled(
        sparse_source(), kernel="sparse_reads", grid=(mebibytes << 20) // unit // 1024, block=256,
        args=[np.zeros(mebibytes << 18, np.uint32), np.uint32(unit // 4)], chip="H100",
    )  # fmt: skip
    time = report.time("H100")
    sectors = float(row["dram_read"]) / SMS / 32
    of_pair = 1 if unit == 32 else 2
    assert time.counts["dram_sectors"] * of_pair == pytest.approx(sectors, rel=0.1, abs=200)
    assert time.cycles == pytest.approx(float(row["cycles"]), rel=0.2)


@needs_compiler
@pytest.mark.parametrize("way", ["writes", "copies"])
@pytest.mark.parametrize("order", ["same", pytest.param("back", marks=pytest.mark.slow)])
@pytest.mark.parametrize("pieces", [pytest.param(8, marks=pytest.mark.slow), 16, 24])
def test_what_a_grid_wrote_is_in_the_l2_as_long(way: str, order: str, pieces: int) -> None:
    row = row_of("h100_read_back", way=way, order=order, pieces=str(pieces))
    size = int(row["written"])
    report = replay_compiled(
        read_back_source(), kernel=f"back_{way}_{order}", grid=528, block=256, chip="H100",
        args=[np.zeros(size, np.uint8), np.zeros(size, np.uint8), np.int32(pieces)],
    )  # fmt: skip
    brought = report.time("H100").counts["dram_sectors"] * 32 * SMS
    moved = float(row["dram_read"]) + float(row["dram_write"])
    # Of what it reads in the same order, the estimate brings less than the chip.
    assert brought == pytest.approx(moved, rel=0.25, abs=8e6)


@needs_compiler
@pytest.mark.parametrize("way", ["loads", "halves"])
@pytest.mark.parametrize("kibibytes", [64, 128])
def test_the_slowest_sm_of_a_wave_ends_when_it_did(way: str, kibibytes: int) -> None:
    """Of halves of sectors it takes 13 to 15 % longer than the mean one, of loads 4 to 8 %."""
    row = row_of("h100_slowest", way=way, kibibytes=str(kibibytes))
    size = (kibibytes << 10) * SMS
    report = replay_compiled(
        slowest_source(), kernel=f"slowest_{way}", grid=4 * SMS, block=128, chip="H100",
        args=[np.zeros(size, np.uint8), np.zeros(size, np.uint8), np.int32(kibibytes // 8)],
    )  # fmt: skip
    assert report.time("H100").active_cycles == pytest.approx(float(row["active_most"]), rel=0.12)


@needs_compiler
def test_dram_brings_nothing_of_a_table_that_all_blocks_read() -> None:
    """It brings what is copied, as where no table is read beside it, and L1 has the table."""
    source = """
        template <bool TABLE> __device__ __forceinline__ void copy(
            const float4* from, const float4* table, float4* to
        ) {
            const int i = blockIdx.x * 256 + threadIdx.x;
            const float4 a = from[i], b = TABLE ? table[threadIdx.x] : make_float4(1, 2, 3, 4);
            to[i] = make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
        }
        extern "C" __global__ void with(const float4* from, const float4* table, float4* to) {
            copy<true>(from, table, to);
        }
        extern "C" __global__ void without(const float4* from, const float4* table, float4* to) {
            copy<false>(from, table, to);
        }"""
    blocks, table = 64 * SMS, 256 * 16 // 32
    arrays = [np.zeros(size, np.float32) for size in (blocks * 1024, 1024, blocks * 1024)]
    of = {
        kernel: replay_compiled(
            source, kernel=kernel, grid=blocks, block=256, chip="H100", args=arrays
        ).time("H100").counts
        for kernel in ("with", "without")
    }  # fmt: skip
    plain, beside = of["without"], of["with"]
    assert beside["load_sectors"] == 2 * plain["load_sectors"]
    assert beside["sent_sectors"] == plain["sent_sectors"] + table
    assert plain["dram_sectors"] > 0.9 * (plain["load_sectors"] + plain["store_sectors"])
    assert beside["dram_sectors"] == pytest.approx(plain["dram_sectors"], rel=0.02)
