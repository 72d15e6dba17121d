"""How long launches take that do next to nothing: second launches, under the profiler.

A block of 128 threads does what `does` says, and ends: `KERNELS` has the source. All but the first
store in the end. A chain is of eight loads. Sums are a thousand products in a row. Copies go by
cp.async to shared memory.

`cycles` is the median of three processes; `active` is that of the mean SM. `python -m
gpu_check.timing.short_launches` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from gpu_check.timing.watching import second_launches

__all__ = ["CASES", "KERNELS", "WORDS", "measure_short_launches", "short_launches_source"]

KERNELS = {
    "nothing": "",
    "a store": "to[own] = n;",
    "a load": "to[own] = from[own];",
    "a chain": """
        int at = from[own];
        #pragma unroll
        for (int k = 1; k < 8; ++k) at = from[own + at + k * 300000];
        to[own] = at;""",
    "sums": """
        float x = own, y = n;
        #pragma unroll 10
        for (int k = 0; k < 1000; ++k) x = x * y + 1.5f;
        to[own] = x;""",
    "stores": """
        #pragma unroll
        for (int k = 0; k < 16; ++k) to[own + k * 150000] = n + k;""",
    "copies": """
        __shared__ __align__(128) char s[16 * 2048];
        const unsigned there = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 16;
        const char* here = (const char*)from + (size_t)blockIdx.x * 32768 + threadIdx.x * 16;
        #pragma unroll
        for (int k = 0; k < 16; ++k)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                :: "r"(there + k * 2048), "l"(here + k * 2048));
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        to[own] = s[threadIdx.x * 7];""",
}
"""What a block does, as CUDA source."""
CASES = [*product(KERNELS, (132, 528))]
"""What it does, and blocks."""
WORDS = 1 << 23
"""Of either array."""


def _name(does: str) -> str:
    return "short_" + does.replace(" ", "_")


def short_launches_source() -> str:
    """Return CUDA source of all kernels."""
    return "".join(
        f'extern "C" __global__ void __launch_bounds__(128) {_name(does)}(const int* from, int* to,'
        f" int n) {{\n    const int own = blockIdx.x * 128 + threadIdx.x;\n    {body}\n}}\n"
        for does, body in KERNELS.items()
    )


def measure_short_launches(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.short_launches", short_launches_source(), "regex:^short_", device
    ) as launches:
        names = ("does", "blocks")
        return launches.passed([dict(zip(names, case, strict=True)) for case in CASES])


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        data = [cupy.zeros(WORDS, dtype=np.int32) for _ in range(2)]
        for does, blocks in CASES:
            kernel = module.get_function(_name(does))
            for _ in range(2):
                kernel((blocks,), (128,), (*data, np.int32(3)))
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
