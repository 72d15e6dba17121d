"""The catalogue's compiled forms against the instructions that an H200 executed.

nvcc 13.0 compiled the documents' sources for sm_90; Nsight Compute's source view counted each
shared-memory instruction at M = N = K = 1024.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from simulator import INSTRUCTIONS, replay

DATA = Path(__file__).parent / "data"

KERNELS = {
    "gemm_v02<float, 32, 32, 32>": ("leimao.v02", {}),
    "gemm_v03<float, 64, 64, 8, 8>": ("leimao.v03", {}),
    "gemm_v04<float, 128, 128, 16, 8, 8>": ("leimao.v04", {}),
    "gemm_v05<float, 128, 128, 16, 8, 8>": ("leimao.v05", {"vector": 1}),
    "gemm_v05_vectorized<float, 128, 128, 16, 8, 8>": ("leimao.v05", {}),
    "gemm_v06<float, 128, 128, 16, 32, 64, 8, 8, 4, 8>": ("leimao.v06", {"vector": 1}),
    "gemm_v06_vectorized<float, 128, 128, 16, 32, 64, 8, 8, 4, 8>": ("leimao.v06", {}),
    "gemm_v07<__half, 128, 128, 16, 16, 16, 32, 64, 16, 16, 16, 256>": (
        "leimao.v07",
        {"vector": 1},
    ),
    "gemm_v07_vectorized<__half, 128, 128, 16, 16, 16, 32, 64, 16, 16, 16, 256>": (
        "leimao.v07",
        {},
    ),
    "matrixMul": ("illustrated.warp_tile", {}),
    "smem_sgemm_kernel<32>": ("junstar92.smem", {}),
    "smem_1d_blocktiling_sgemm_kernel<64, 64, 8, 8>": ("junstar92.1d", {}),
    "smem_2d_blocktiling_sgemm_kernel<64, 64, 8, 8, 8>": ("junstar92.2d", {}),
    "vectorize_sgemm_kernel<64, 64, 8, 8, 8>": ("junstar92.vectorized", {}),
    "vectorize_sgemm_kernel<128, 128, 8, 8, 8>": ("junstar92.vectorized_128", {}),
    "warptiling_sgemm_kernel<64, 64, 64, 8, 64, 32, 8>": ("junstar92.warptiling", {}),
    "warptiling_sgemm_kernel<256, 128, 128, 8, 64, 32, 8>": ("junstar92.warptiling_128", {}),
}


def rows(file, **wanted):
    with (DATA / file).open() as lines:
        return [row for row in csv.DictReader(lines) if wanted.items() <= row.items()]


@pytest.mark.parametrize("compiled", KERNELS)
def test_instructions_equal_the_chips(compiled) -> None:
    name, parameters = KERNELS[compiled]
    recorded = Counter(
        (row["opcode"], int(row["executed"]), int(row["wavefronts"]), int(row["ideal"]))
        for row in rows("h200_instructions.csv", kernel=compiled)
    )
    assert recorded
    report = replay(name, m=1024, n=1024, k=1024, **parameters)
    assert Counter(report.instructions) == recorded


@pytest.mark.parametrize("compiled", KERNELS)
def test_launch_and_totals_equal_the_chips(compiled) -> None:
    name, parameters = KERNELS[compiled]
    (row,) = rows("h200_kernels.csv", kernel=compiled)
    report = replay(name, m=1024, n=1024, k=1024, **parameters)
    assert str((*report.grid, 1)) == row["grid"]
    assert report.block[0] * report.block[1] == threads_in(row["block"])
    matrices = [site for site in report.sites if site.op.startswith("LDSM")]
    plain = [site for site in report.sites if site.memory == "shared" and site not in matrices]

    def total(figure, kind):
        return sum(getattr(site, figure) for site in plain if site.kind == kind)

    assert total("requests", "load") == int(row["ld_instructions"])
    assert total("requests", "store") == int(row["st_instructions"])
    assert total("wavefronts", "load") == int(row["ld_wavefronts"])
    assert total("wavefronts", "store") == int(row["st_wavefronts"])
    assert sum(site.wavefronts for site in matrices) == int(row["ldsm_wavefronts"])


@pytest.mark.parametrize("compiled", KERNELS)
def test_conflicts_are_the_counters_but_for_noise(compiled) -> None:
    # The hardware counters add arbitration with other traffic: 0.2 % of the loads' wavefronts
    # at most here, 20 % of the stores'. They never show fewer conflicts than there are.
    name, parameters = KERNELS[compiled]
    (row,) = rows("h200_kernels.csv", kernel=compiled)
    totals = replay(name, m=1024, n=1024, k=1024, **parameters).totals()
    for kind, short, noise in (("load", "ld", 0.002), ("store", "st", 0.2)):
        excess = int(row[f"counter_{short}_conflicts"]) - totals[kind]["bank_conflicts"]
        assert 0 <= excess <= noise * totals[kind]["wavefronts"]


def test_every_recorded_opcode_is_known() -> None:
    assert {row["opcode"] for row in rows("h200_instructions.csv")} <= set(INSTRUCTIONS)


def threads_in(block):
    x, y, z = (int(size) for size in block.strip("()").split(","))
    return x * y * z
