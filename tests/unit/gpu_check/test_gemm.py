"""The GEMM kernels in CUDA."""

from __future__ import annotations

from gpu_check.gemm import GEMMS


def test_every_kernel_has_its_source_and_its_catalogue_entry() -> None:
    from gpu_check.device import source

    for gemm in GEMMS.values():
        assert f" {gemm.entry}(" in source(f"{gemm.file}.cu")
        assert gemm.replay(1024).totals()["all"]["wavefronts"] >= 0
