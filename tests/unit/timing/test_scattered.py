"""What lies all over memory that the L2 does not hold, as an H200 took it (scattered_stores)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.scattered_stores import scattered_stores_source, shape_of
from simulator.law.chips import Chip
from simulator.sass.replay import replay_compiled
from simulator.sass.report import CompiledReport
from simulator.timing.machine import machine_of
from simulator.timing.rates import table
from simulator.timing.scattered import Scattered, scattered
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

H200 = Chip.of("H200")
MACHINE = machine_of(H200)
QUICK = {
    ("store", 4, 4, 128), ("store", 16, 32, 128), ("store", 16, 512, 64), ("add", 4, 16, 96),
}  # fmt: skip
STEEP = {("add", 4, piece, size) for piece in (4, 16, 32, 64) for size in (56, 64)}
"""Around the size of the L2 a sector more or less of what a grid is likely to change is felt."""
NEARLY = {("store", 16, 128, size) for size in (56, 64)}
"""They take 1.05 times what a stream takes, and are taken for one."""


def rows() -> list[Any]:
    found = []
    for row in packaged_table("h200_scattered_stores"):
        case = (row["access"], *(int(row[name]) for name in ("bytes", "piece", "mebibytes")))
        if case[3] >= 56:
            marks = () if case in QUICK else pytest.mark.slow
            found.append(pytest.param(case, float(row["cycles"]), marks=marks, id=str(case)))
    return found


def report_of(source: str, kernel: str, blocks: int, *args: Any) -> CompiledReport:
    return replay_compiled(
        source, kernel=kernel, grid=blocks, block=256, args=list(args), chip="H200"
    )


def change(access: str, width: int, piece: int, size: int) -> CompiledReport:
    blocks, shape = shape_of(width, piece, size)
    data = np.zeros((size << 20) // 4, np.uint32)
    source = scattered_stores_source()
    return report_of(source, f"{access}_{width}", blocks, data, *map(np.int32, shape))


def found(report: CompiledReport, atomics: bool = False) -> Scattered:
    assert MACHINE is not None
    return scattered(report.relaunch().work(H200), H200, MACHINE, atomics=atomics)


@pytest.mark.parametrize(("case", "cycles"), rows())
def test_stores_all_over_memory_take_what_they_took(
    case: tuple[str, int, int, int], cycles: float
) -> None:
    rel = 0.45 if case in STEEP else 0.14 if case in NEARLY else 0.12
    assert change(*case).time("H200").cycles == pytest.approx(cycles, rel=rel)


def test_what_the_l2_holds_and_what_lies_side_by_side_is_none() -> None:
    assert found(change("store", 16, 16, 32)) == Scattered()
    assert found(change("store", 16, 512, 64)) == Scattered()
    assert found(change("store", 16, 16, 64)).part == 1
    assert found(change("store", 16, 16, 64), atomics=True) == Scattered()


def test_what_the_next_block_changes_beside_it_is_none() -> None:
    """Each block has every sixteenth word of what some have together, in an order of its own."""
    source = """
        extern "C" __global__ void near(unsigned* data) {
            unsigned of = (blockIdx.x / 16 * 2654435761u & 1023) * 16 * 256;
            #pragma unroll
            for (int k = 0; k < 16; ++k)
                data[(of + k * 1024 * 16 * 256) + threadIdx.x * 16 + blockIdx.x % 16] = k;
        }"""
    report = report_of(source, "near", 1024 * 16, np.zeros(1 << 26, np.uint32))
    assert found(report) == Scattered()


@pytest.mark.parametrize("unrolled", ["unroll 1", "unroll"])
def test_a_sector_that_a_block_fills_in_two_steps_is_whole(unrolled: str) -> None:
    """DRAM reads what is not whole before it writes it: longer than what is.

    One instruction of a loop that fills it was counted once.
    """
    source = f"""
        extern "C" __global__ void fill(uint4* data, int count) {{
            unsigned x = (blockIdx.x * 256 + threadIdx.x) * 2654435761u & (1 << 21) - 1;
            #pragma {unrolled}
            for (int k = 0; k < 2; ++k) if (k < count) data[x * 2 + k] = make_uint4(1, 2, 3, x);
        }}"""
    cycles = [
        found(report_of(source, "fill", 1 << 13, np.zeros(1 << 24, np.uint32), np.int32(n))).cycles
        for n in (1, 2)
    ]
    assert cycles[0] > 2 * cycles[1] > 0


def test_the_table_rises_with_the_size_and_falls_with_the_piece() -> None:
    at = [{name: float(value) for name, value in row.items() if name != "source"}
          for row in table("scattered_stores")]  # fmt: skip
    sizes = [row["share"] for row in at]
    assert sizes == sorted(sizes)
    for row in at[3:]:
        assert row["stored_part"] > row["stored_1"] > row["stored_2"] > row["stored_4"]
        assert row["added_1"] > row["added_2"] > row["added_4"] > row["added_16"]


def test_what_the_last_block_alone_stores_is_none() -> None:
    """It is a probe, and no other block that ran stores there: none had a least sector."""
    source = """
        extern "C" __global__ void last(unsigned* data, unsigned* other, unsigned n) {
            if (blockIdx.x == gridDim.x - 1) data[threadIdx.x * 2654435761u & (1 << 24) - 1] = n;
            else if (n == blockIdx.x) other[n] = threadIdx.x;
        }"""
    arrays = np.zeros(1 << 24, np.uint32), np.zeros(4096, np.uint32)
    report = report_of(source, "last", 4096, *arrays, np.uint32(66))
    assert found(report) == Scattered()
    assert report.time("H200").cycles
