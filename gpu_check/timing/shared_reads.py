"""Bulk copies of what other SMs read, too: whether the L2 serves what is shared faster.

All SMs copy rows of global memory into shared memory, several at a time: each its own, or several
SMs the same at the same time. A matrix product reads so: blocks of a row of the grid share A.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.hopper.cases import HEAD
from gpu_check.timing.bulk import loaded

__all__ = ["measure_shared_reads"]

_TURNS, _FLIGHT, _BYTES = 128, 4, 8192
_SHARERS = (1, 2, 4, 8, 16, 132)
_REGIONS = (16384, 32768, 65536, 131072)
"""Bytes of an SM: how much all of them touch together."""
_SOURCE = (
    HEAD
    + """
extern "C" __global__ void reads(long long* when, const u8* data, int sharers, int bytes,
                                 int region) {
    extern __shared__ __align__(1024) u8 s[];
    __shared__ __align__(8) u64 bar[FLIGHT];
    if (threadIdx.x == 0) {
        for (int k = 0; k < FLIGHT; ++k) begin(at(bar + k), 1);
        fence();
        const u8* from = data + (u64)(blockIdx.x / sharers) * region;
        const long long start = clock64();
        for (int i = 0; i < TURNS + FLIGHT; ++i) {
            const unsigned b = at(bar + i % FLIGHT);
            if (i >= FLIGHT) wait(b, (i / FLIGHT - 1) & 1);
            if (i < TURNS) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(b), "r"(bytes) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                             " [%0], [%1], %2, [%3];"
                             :: "r"(at(s) + i % FLIGHT * bytes),
                                "l"(from + (i * bytes & region - 1)), "r"(bytes), "r"(b)
                             : "memory");
            }
        }
        when[blockIdx.x] = clock64() - start;
    }
}
extern "C" __global__ void loads(long long* when, const float4* data, int sharers, int bytes,
                                 int region) {
    const float4* from = data + (u64)(blockIdx.x / sharers) * (region / 16) + threadIdx.x;
    float sum = 0;
    __syncthreads();
    const long long start = clock64();
    for (int i = 0; i < 16; ++i) {
        float4 v[8];
        for (int k = 0; k < 8; ++k)
            asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[k].x),
                         "=f"(v[k].y), "=f"(v[k].z), "=f"(v[k].w)
                         : "l"(from + (k * 1024 & region / 16 - 1)) : "memory");
        for (int k = 0; k < 8; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    if (sum == 12345) when[0] = 1;
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
""".replace("TURNS", str(_TURNS)).replace("FLIGHT", str(_FLIGHT))
)


def measure_shared_reads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, SMs that read the same, and region: bytes per cycle of an SM."""
    with loaded(_SOURCE, device) as (module, every, data, when):
        rows = []
        for way, threads in (("reads", 32), ("loads", 1024)):
            kernel = module.get_function(way)
            kernel.max_dynamic_shared_size_bytes = 140_000
            moved = _TURNS * _BYTES if way == "reads" else 16 * 8 * 1024 * 16
            for sharers, region in product(_SHARERS, _REGIONS):
                least = float("inf")
                for _ in range(4):
                    kernel(
                        (every,), (threads,),
                        (when, data, np.int32(sharers), np.int32(_BYTES), np.int32(region)),
                        shared_mem=_FLIGHT * _BYTES,
                    )  # fmt: skip
                    least = min(least, float(np.median(when.get()[:every])))
                rows.append(
                    {
                        "way": way,
                        "sharers": sharers,
                        "region": region,
                        "bytes_per_cycle": round(moved / least, 2),
                    }
                )
    return rows
