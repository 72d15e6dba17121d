"""What is said of code for a newer chip: which instruction is missing, since when, what to do."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import CompileError
from simulator.sass.code.diagnostics import explain
from simulator.sass.code.translation import translate
from tests.sass_kernels import needs_compiler

KERNEL = """__global__ void k(const int *in) {{
    __shared__ int s[32];
    {}
    asm volatile("{}" :: "r"((int)__cvta_generic_to_shared(s)), "l"(in) : "memory");
    asm volatile("cp.async.wait_all;");
}}"""
COPY = "cp.async.ca.shared.global [%0], [%1], 4;"


def told(text: str, chip: str) -> str:
    with pytest.raises(CompileError) as caught:
        replay_compiled(text, grid=1, block=32, args=[np.zeros(32, np.int32)], chip=chip)
    return str(caught.value)


@needs_compiler
def test_a_chip_without_asynchronous_copies_is_told_of() -> None:
    said = told(KERNEL.format("", COPY), "T4")
    assert said.splitlines() == [
        "source.cu does not compile:",
        "  sm_75 has no cp.async (sm_80 was the first; next: --chip A100, or --arch sm_80). For"
        " older chips write another way within #if __CUDA_ARCH__ < 800.",
        "  __pipeline_memcpy_async of <cuda_pipeline.h> needs no other way: there it copies through"
        " registers.",
    ]


@needs_compiler
def test_copies_that_the_chip_has_are_not_named() -> None:
    said = told(KERNEL.format("", "cp.async.bulk.prefetch.L2.global [%1], 16; // %0"), "A100")
    assert "sm_80 has no cp.async.bulk.prefetch (sm_90 was the first; next: --chip H100," in said
    assert "__pipeline" not in said
    assert "ptxas" not in said


def test_other_errors_are_told_beside() -> None:
    log = "\n".join(
        (
            "ptxas p, line 9; error   : Feature 'redux' requires .target sm_80 or higher",
            "ptxas p, line 12; error   : Unknown symbol 'x'",
            "ptxas fatal   : Ptx assembly aborted due to errors",
        )
    )
    said = explain(log, "k.cu", "", translate("", None, [], {}), "sm_75").splitlines()
    assert said[1].startswith("  sm_75 has no redux (sm_80 was the first;")
    assert said[2:] == log.splitlines()[1:]
