"""Bytes per cycle of SMs that read what others read: which SMs share, how late, and how much.

Each SM reads 128 KiB again and again, past L1, in eight parts. `part` of these are the same for
`sharers` SMs, whose numbers are `apart` from each other: of `blocks` or of `sms`. Each one begins
`late` bytes further than the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.timing.bulk import loaded

__all__ = ["measure_late_reads"]

_REGION, _PARTS, _ROUNDS = 131072, 8, 8
_LATE = (512, 1024, 2048, 4096, 8192, 16384, 32768)
_CASES = [
    # by, sharers, apart, part, late
    ("blocks", 1, 1, 8, 0),
    *(("blocks", 2, apart, 8, 0) for apart in (1, 2, 4, 6, 8, 11, 16, 22, 33, 66)),
    *(("sms", 2, apart, 8, 0) for apart in (1, 2, 3, 6, 8, 11, 16, 22, 33, 66)),
    *(("blocks", sharers, 1, part, 0) for sharers in (2, 4, 132) for part in (2, 4, 6, 8)),
    *(("blocks", 2, 1, 8, late) for late in _LATE),
]  # fmt: skip
_SOURCE = (
    """
extern "C" __global__ void late_reads(long long* when, const float4* data, int by_sm, int sharers,
                                      int apart, int part, int late) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const unsigned at = by_sm ? sm : blockIdx.x;
    const unsigned group = at / (sharers * apart) * apart + at % apart;
    const unsigned first = threadIdx.x + at % (sharers * apart) / apart * late / 16;
    const float4* together = data + (size_t)group * (REGION / 16);
    const float4* own = data + (size_t)at * (REGION / 16);
    float sum = 0;
    __syncthreads();
    const long long start = clock64();
    for (int i = 0; i < ROUNDS; ++i) {
        float4 v[PARTS];
        for (int k = 0; k < PARTS; ++k)
            asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[k].x),
                         "=f"(v[k].y), "=f"(v[k].z), "=f"(v[k].w)
                         : "l"((k < part ? together : own)
                               + (first + k * (REGION / 16 / PARTS) & REGION / 16 - 1))
                         : "memory");
        for (int k = 0; k < PARTS; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    if (sum == 12345) when[0] = 1;
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
""".replace("REGION", str(_REGION))
    .replace("PARTS", str(_PARTS))
    .replace("ROUNDS", str(_ROUNDS))
)


def measure_late_reads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES: bytes per cycle of the median SM."""
    with loaded(_SOURCE, device) as (module, every, data, when):
        kernel, rows = module.get_function("late_reads"), []
        for by, sharers, apart, part, late in _CASES:
            numbers = (np.int32(each) for each in (by == "sms", sharers, apart, part, late))
            given = (when, data, *numbers)
            least = float("inf")
            for _ in range(6):
                kernel((every,), (1024,), given)
                least = min(least, float(np.median(when.get()[:every])))
            rows.append(
                {"by": by, "sharers": sharers, "apart": apart, "part": part, "late": late,
                 "bytes_per_cycle": round(_REGION * _ROUNDS / least, 2)}
            )  # fmt: skip
    return rows
