"""How much later the last SM ends than the mean one, where each loads or stores as much: one wave.

Four blocks of 128 threads on each SM load, or store, `kibibytes` of an SM, past L1: `whole` lines,
or `halves` of sectors, whose other halves follow eight stores later. `active` and `active_most` are
cycles of the mean and of the last SM, medians of three processes, second launches.
`python -m gpu_check.timing.slowest` is the process that ncu watches; no launch is repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from gpu_check.timing.watching import second_launches

__all__ = ["measure_slowest", "slowest_source"]

_SOURCE = """
extern "C" __global__ void slowest_loads(const uint4* in, uint4* out, int pieces) {
    const unsigned row = gridDim.x * 128, first = blockIdx.x * 128 + threadIdx.x;
    unsigned sum = 0;
    #pragma unroll 4
    for (int k = 0; k < pieces; ++k) {
        const uint4 v = __ldcg(in + (size_t)k * row + first);
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 12345) out[first] = make_uint4(sum, sum, sum, sum);
}
extern "C" __global__ void slowest_whole(const uint4* in, uint4* out, int pieces) {
    const unsigned row = gridDim.x * 128, first = blockIdx.x * 128 + threadIdx.x;
    #pragma unroll 4
    for (int k = 0; k < pieces; ++k) out[(size_t)k * row + first] = make_uint4(k, k, k, k);
}
extern "C" __global__ void slowest_halves(const uint4* in, uint4* out, int pieces) {
    // A warp's lanes take 32 halves of sectors, a line apart, of eight lines; then the next ones.
    const unsigned lane = threadIdx.x % 32, warp = blockIdx.x * 4 + threadIdx.x / 32;
    uint4* own = out + (size_t)warp * pieces * 32;
    for (int k = 0; k < pieces; ++k)
        own[(k / 8 * 32 + lane) * 8 + k % 8] = make_uint4(k, k, k, k);
}
"""
_WAYS, _SIZES = ("loads", "whole", "halves"), (16, 32, 64, 128)
_CASES = [*product(_WAYS, _SIZES)]
_BLOCKS, _THREADS, _VECTOR = 4, 128, 16
_TIMES = ["sm__cycles_active.avg", "sm__cycles_active.max", "sm__cycles_elapsed.max"]


def slowest_source() -> str:
    """Return CUDA source of all kernels."""
    return _SOURCE


def measure_slowest(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way and size.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.slowest", slowest_source(), "regex:^slowest_", device
    ) as launches:
        runs = launches.timed(_TIMES)
    return [
        dict(zip(("way", "kibibytes"), case, strict=True))
        | {
            name: median(run[place][at] for run in runs)
            for at, name in enumerate(("active", "active_most", "cycles"))
        }
        for place, case in enumerate(_CASES)
    ]


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        sms = int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
        module = cupy.RawModule(path=path)
        data = [cupy.zeros((_SIZES[-1] << 10) * sms // 4, dtype=np.uint32) for _ in range(2)]
        for way, size in _CASES:
            pieces = (size << 10) // (_BLOCKS * _THREADS * _VECTOR)
            for _ in range(2):
                module.get_function(f"slowest_{way}")(
                    (_BLOCKS * sms,), (_THREADS,), (*data, np.int32(pieces))
                )
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
