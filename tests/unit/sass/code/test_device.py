"""What host code asks of its device is told of a chip."""

from __future__ import annotations

import pytest

from simulator.law.chips import Chip
from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")


KERNEL = "__global__ void k(float *a, int n) { a[n] = 1; }\n"


def test_a_chip_answers_what_host_code_asks() -> None:
    body = (
        "cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int n; cudaDeviceGetAttribute(&n,"
        " cudaDevAttrMaxSharedMemoryPerBlockOptin, 0); float *a; cudaMalloc(&a, 128);"
        " k<<<p.multiProcessorCount, p.major * 32, n>>>(a, 1);"
    )
    text = f"{KERNEL}int main() {{ {body} }}"
    told = {
        name: find_launches(text, chip=Chip.of(name)).launches[0] for name in ("A100", "H200", "T4")
    }
    assert [(each.grid, each.block, each.shared_bytes) for each in told.values()] == [
        ("108", "256", "166912"), ("132", "288", "232448"), ("40", "224", "65536"),
    ]  # fmt: skip
