"""Hopper's waits: how long a bulk copy takes until its mbarrier opens, and one between warps.

One thread asks for a copy of global memory that the L2 holds, and waits for it: alone, or with
other SMs at it too. Two warps pass a mbarrier's phase to and fro. A warpgroup's products are in
`gpu_check.hopper.wgmma`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.hopper.cases import HEAD
from gpu_check.timing.bulk import loaded

__all__ = ["measure_waits"]

_TURNS = 64
_SOURCE = (
    HEAD
    + """
template <int FLIGHT> __device__ void bulk(long long* when, const u8* data, int bytes) {
    extern __shared__ __align__(1024) u8 s[];
    __shared__ __align__(8) u64 bar[8];
    if (threadIdx.x == 0) {
        for (int k = 0; k < FLIGHT; ++k) begin(at(bar + k), 1);
        fence();
        const u8* from = data + (u64)blockIdx.x * 131072;
        const long long start = clock64();
        for (int i = 0; i < TURNS + FLIGHT; ++i) {
            const unsigned b = at(bar + i % FLIGHT);
            if (i >= FLIGHT) wait(b, (i / FLIGHT - 1) & 1);
            if (i < TURNS) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(b), "r"(bytes) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                             " [%0], [%1], %2, [%3];"
                             :: "r"(at(s) + i % FLIGHT * bytes), "l"(from + (i * bytes & 131071)),
                                "r"(bytes), "r"(b) : "memory");
            }
        }
        when[blockIdx.x] = clock64() - start;
    }
}
#define KERNEL(N) extern "C" __global__ void bulk##N(long long* when, const u8* data, int bytes) \\
    { bulk<N>(when, data, bytes); }
KERNEL(1) KERNEL(2) KERNEL(4) KERNEL(8)
extern "C" __global__ void passing(long long* when, const u8* data, int bytes) {
    __shared__ __align__(8) u64 bar[2];
    if (threadIdx.x == 0) { begin(at(bar), 32), begin(at(bar + 1), 32); fence(); }
    __syncthreads();
    const int me = threadIdx.x >> 5;
    const long long start = clock64();
    for (int i = 0; i < TURNS; ++i) {
        if (me == 1) wait(at(bar), i & 1);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(bar + me)) : "memory");
        if (me == 0) wait(at(bar + 1), i & 1);
    }
    if (threadIdx.x == 0) when[0] = clock64() - start;
}
""".replace("TURNS", str(_TURNS))
)


def measure_waits(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per wait: cycles per copy, or per passing of a phase to and fro."""
    with loaded(_SOURCE, device) as (module, every, data, when):
        cases = [("passing", 0, 1, 1)] + [
            ("bulk", bytes_, flight, sms)
            for sms in (1, every)
            for flight in (1, 2, 4, 8)
            for bytes_ in (16, 128, 512, 1024, 2048, 4096, 8192, 16384)
        ]
        rows = []
        for name, bytes_, flight, sms in cases:
            kernel = module.get_function(name if name == "passing" else f"bulk{flight}")
            kernel.max_dynamic_shared_size_bytes = 140_000
            least = float("inf")
            for _ in range(4):
                kernel(
                    (sms,), (64,), (when, data, np.int32(bytes_)),
                    shared_mem=max(flight * bytes_, 16),
                )  # fmt: skip
                least = min(least, float(np.median(when.get()[:sms])) / _TURNS)
            rows.append(
                {"wait": name, "bytes": bytes_, "in_flight": flight, "sms": sms,
                 "cycles": round(least, 1)}
            )  # fmt: skip
    return rows
