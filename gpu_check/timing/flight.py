"""How long loads take while others are in flight: all SMs read, with more and more of them.

Warps load 16 bytes per lane, `chains` of them independent of each other, each behind the one before
it in its chain. With few in flight a load takes its latency; with many the L2 or DRAM delivers what
it can. `bytes` are those that an SM has in flight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["flight_source", "measure_flight", "turns_of"]

_MIB = 1 << 20
_SOURCE = """
template <int CHAINS> __device__ void run(const char* data, long long size, long long* when,
                                          int turns, unsigned* sink) {
    const long long all = (long long)gridDim.x * blockDim.x;
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long at[CHAINS];
    unsigned zero[CHAINS];
    for (int k = 0; k < CHAINS; ++k) { at[k] = 16 * (me + k * all); zero[k] = 0; }
    long long start = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int k = 0; k < CHAINS; ++k) {
            unsigned x, y, z;
            asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(zero[k]), "=r"(x), "=r"(y), "=r"(z)
                         : "l"(data + at[k] + zero[k]));
            at[k] += 16 * CHAINS * all;
            if (at[k] >= size) at[k] -= size;
        }
    }
    unsigned sum = 0;
    for (int k = 0; k < CHAINS; ++k) sum += zero[k];
    if (sum == 12345) *sink = sum;
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
#define KERNEL(C) extern "C" __global__ void __launch_bounds__(1024) flight##C(const char* data, \\
    long long size, long long* when, int turns, unsigned* sink) \\
    { run<C>(data, size, when, turns, sink); }
KERNEL(1) KERNEL(2) KERNEL(4)
"""


def flight_source() -> str:
    """Return CUDA source of the kernels, by the chains of a warp: flight1, flight2, flight4."""
    return _SOURCE


def turns_of(warps: int, chains: int, sms: int) -> tuple[int, int]:
    """Return the bytes that the SMs load in a turn, and how many turns are timed."""
    turn = sms * warps * 512 * chains
    return turn, max(8, min(400, 256 * _MIB // turn))


def measure_flight(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per footprint, warps of an SM and chains: cycles per load, bytes per cycle."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=_SOURCE)
        sink = cupy.zeros(1, dtype=np.uint32)
        for size in (16, 1024):
            data = cupy.zeros(size * _MIB // 4, dtype=np.uint32)
            for warps, chains in (
                (1, 1), (2, 1), (4, 1), (8, 1), (12, 1), (16, 1), (20, 1), (24, 1), (32, 1),
                (24, 2), (32, 2), (24, 4), (32, 4),
            ):  # fmt: skip
                sms = chip.multiprocessors
                when = cupy.zeros(sms, dtype=np.int64)
                turn, turns = turns_of(warps, chains, sms)
                least = float("inf")
                for _ in range(3):
                    module.get_function(f"flight{chains}")(
                        (sms,), (32 * warps,),
                        (data, np.int64(size * _MIB // turn * turn), when, np.int32(turns), sink),
                    )  # fmt: skip
                    least = min(least, float(np.median(when.get())))
                rows.append(
                    {"mebibytes": size, "warps": warps, "chains": chains,
                     "bytes": warps * chains * 512, "cycles": round(least / turns, 1),
                     "bytes_per_cycle": round(warps * chains * 512 * turns / least, 3)}
                )  # fmt: skip
            del data
    return rows
