"""How long a global load takes from each level of memory, and how much each level delivers.

A chain of loads through a random cycle of 128-byte lines gives the latency for a footprint; warps
that read a footprint again and again give the bytes per cycle of one SM, and of all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_bandwidth", "measure_latency"]

_SOURCE = """
extern "C" __global__ void chase(const unsigned* start, long long* when, unsigned* sink,
                                 int steps, unsigned at) {
    const unsigned* base = start;
    for (int i = 0; i < 2 * steps; ++i) {
        if (i == steps) when[0] = clock64();
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(base + 32ll * at) : "memory");
    }
    when[1] = clock64() + (at == 0xffffffffu);
    *sink = at;
}

extern "C" __global__ void stream(const uint4* from, long long vectors, long long* when, int rounds,
                                  uint4* sink, int apart) {
    uint4 sum = {0, 0, 0, 0};
    const long long mine = apart ? (long long)blockIdx.x * vectors : 0;
    const long long first = apart ? threadIdx.x : (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long step = apart ? blockDim.x : (long long)gridDim.x * blockDim.x;
    long long start = 0;
    for (int round = -1; round < rounds; ++round) {
        if (round == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll 8
        for (long long i = first; i < vectors; i += step) {
            uint4 v;
            asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + mine + i));
            sum.x ^= v.x; sum.y ^= v.y; sum.z ^= v.z; sum.w ^= v.w;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum.x == 12345) *sink = sum;
}
"""

_KIB, _MIB = 1 << 10, 1 << 20
FOOTPRINTS = (
    8 * _KIB, 64 * _KIB, 160 * _KIB, 512 * _KIB, 2 * _MIB, 8 * _MIB, 16 * _MIB, 24 * _MIB,
    32 * _MIB, 48 * _MIB, 64 * _MIB, 128 * _MIB, 512 * _MIB, 2048 * _MIB,
)  # fmt: skip


def measure_latency(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per footprint: bytes, and cycles per dependent load once all of it was read.

    The loop around a load takes some cycles of its own, 15 or so.
    """
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        chase = cupy.RawModule(code=_SOURCE).get_function("chase")
        when, sink = cupy.zeros(2, dtype=np.int64), cupy.zeros(1, dtype=np.uint32)
        rng = np.random.default_rng(1)
        for size in FOOTPRINTS:
            lines = size // 128
            order = rng.permutation(lines).astype(np.uint32)
            table = np.zeros((lines, 32), dtype=np.uint32)
            table[order, 0] = np.roll(order, -1)
            start = cupy.asarray(table)
            steps = min(lines, 20_000)
            times = []
            for first in rng.integers(0, lines, 3):
                start.sum()  # every line was read: L2 holds what it can
                chase((1,), (1,), (start, when, sink, np.int32(steps), np.uint32(first)))
                begin, end = when.get()
                times.append((end - begin) / steps)
            rows.append({"bytes": size, "cycles": round(float(min(times)), 2)})
            del start
    return rows


def measure_bandwidth(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per footprint, each SM reading its own: bytes per cycle of one SM."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        stream = cupy.RawModule(code=_SOURCE).get_function("stream")
        sms = chip.multiprocessors
        sink = cupy.zeros(4, dtype=np.uint32)
        for per_sm, blocks, threads in (
            (16 * _KIB, 1, 1024), (96 * _KIB, 1, 1024), (16 * _KIB, sms, 1024),
            (128 * _KIB, 1, 1024), (160 * _KIB, sms, 1024), (256 * _KIB, 1, 1024),
            (1024 * _KIB, 1, 1024), (192 * _KIB, sms, 1024), (256 * _KIB, sms, 1024),
            (16 * _MIB, sms, 1024), (32 * _MIB, sms, 1024),
        ):  # fmt: skip
            whole = cupy.zeros(per_sm * blocks // 4, dtype=np.uint32)
            when = cupy.zeros(blocks, dtype=np.int64)
            rounds = max(1, min(200, 64 * _MIB // per_sm))
            least = float("inf")
            for _ in range(3):
                stream(
                    (blocks,), (threads,),
                    (whole, np.int64(per_sm // 16), when, np.int32(rounds), sink, np.int32(1)),
                )  # fmt: skip
                least = min(least, float(when.get().max()))
            rows.append(
                {"bytes_per_sm": per_sm, "sms": blocks,
                 "bytes_per_cycle_per_sm": round(per_sm * rounds / least, 3)}
            )  # fmt: skip
            del whole
    return rows
