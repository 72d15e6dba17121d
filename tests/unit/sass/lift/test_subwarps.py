"""Lanes that part and meet, in functions that call themselves."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

FIBONACCI = """
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void k(const int *in, int *out) {
    int found = -1;
    if (in[threadIdx.x] % 7 == 0) found = fibonacci(in[threadIdx.x] % 9);
    out[threadIdx.x] = found;
}"""


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_lanes_wait_for_those_of_their_own_call(arch: str) -> None:
    given = np.random.default_rng(3).integers(0, 1000, 256, dtype=np.int32)
    arguments = [given, np.zeros(256, np.int32)]
    report = replay_compiled(FIBONACCI, grid=1, block=256, args=arguments, arch=arch)  # type: ignore[arg-type]
    wanted = [fibonacci(n % 9) if n % 7 == 0 else -1 for n in given.tolist()]
    assert report.outputs[1].tolist() == wanted
