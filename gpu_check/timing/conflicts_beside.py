"""How long kernels take that pass once over memory and conflict in shared memory meanwhile.

A block of 32 by 8 threads loads a tile of 32 by 32 words and stores it in shared memory. Behind a
barrier it loads it from there. One of both has conflicts of `ways` lanes, as `conflicts` says.
`way`: `reads` ends there, `copies` writes the tile elsewhere. `mebibytes`: what the grid touches.
All launches are second ones.

`cycles` is the median of three processes; `active` and `active_most` are those of the mean and the
last SM; `dram_read` and `dram_write` are bytes. `python -m gpu_check.timing.conflicts_beside` is
the process that ncu watches; no launch is repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["conflicts_beside_source", "measure_conflicts_beside"]

_SOURCE = """
template <int D>
__device__ __forceinline__ int place(int x, int row) {  // of a word: D lanes share a bank
    return x % (32 / D) + 32 / D * (row % D) + 32 * (x / (32 / D) + D * (row / D));
}
template <int STORES, int LOADS, int COPIES>
__device__ __forceinline__ void run(const float* in, float* out) {
    __shared__ float tile[1024];
    const int x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * 1024 + y * 32 + x;
    float v[4], sum = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = in[first + k * 256];
    #pragma unroll
    for (int k = 0; k < 4; ++k) tile[place<STORES>(x, y + k * 8)] = v[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float u = tile[place<LOADS>(x, y + k * 8)];
        if (COPIES) out[first + k * 256] = u; else sum += u;
    }
    if (!COPIES && sum == 12345) *out = sum;
}
#define KERNEL(STORES, LOADS, COPIES) \\
    extern "C" __global__ void tiles_##STORES##_##LOADS##_##COPIES(const float* in, float* out) \\
    { run<STORES, LOADS, COPIES>(in, out); }
"""
_CASES = [*product(("reads", "copies"), ("stores", "loads"), (1, 4, 8, 16, 32), (16, 64))]
_TIMES = ["sm__cycles_elapsed.max", "sm__cycles_active.avg", "sm__cycles_active.max"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]


def _kind(way: str, conflicts: str, ways: int) -> tuple[int, int, int]:
    """Return the kernel's parameters: lanes at a bank of stores and of loads, whether it copies."""
    of_stores = conflicts == "stores"
    return ways if of_stores else 1, 1 if of_stores else ways, int(way == "copies")


def conflicts_beside_source() -> str:
    """Return CUDA source of all kernels."""
    kinds = dict.fromkeys(_kind(*case[:3]) for case in _CASES)
    return _SOURCE + "".join("KERNEL({}, {}, {})\n".format(*kind) for kind in kinds)


def measure_conflicts_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.conflicts_beside", conflicts_beside_source(), "regex:^tiles_", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    rows = []
    for place, case in enumerate(_CASES):
        read, written = moved[place]
        rows.append(
            dict(zip(("way", "conflicts", "ways", "mebibytes"), case, strict=True))
            | {**cycles_of(timed, place),
               "active": median(run[place][1] for run in timed),
               "active_most": median(run[place][2] for run in timed),
               "dram_read": read, "dram_write": written}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        host = np.random.default_rng(0).random(_CASES[-1][-1] << 18, dtype=np.float32)
        for way, conflicts, ways, size in _CASES:
            kind = _kind(way, conflicts, ways)
            kernel = module.get_function("tiles_{}_{}_{}".format(*kind))
            blocks = (size << 20) // (4096 * (1 + kind[2]))
            data = [cupy.asarray(host[: max(1024 * blocks * each, 64)]) for each in (1, kind[2])]
            for _ in range(2):
                kernel((blocks,), (32, 8), tuple(data))
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
