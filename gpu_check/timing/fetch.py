"""What machine code costs that the instruction caches do not hold: straight loops of many lengths.

A loop of 16 bytes times 64 to 16,384 additions runs with 1 to 8 warps per sub-partition, in one SM
and in all. Up to a cache's size an addition costs what it costs in a short loop; beyond, what the
next cache delivers. `cold` is the first turn of a second launch: nothing of the code is in the SM.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["LENGTHS", "fetch_source", "measure_fetch"]

LENGTHS = (
    16, 32, 64, 128, 256, 512, 640, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 10240, 12288,
    16384,
)  # fmt: skip
"""Additions in a loop, of 16 bytes each."""
_CHAINS = 8

_SOURCE = """
extern "C" __global__ void fetch(long long* when, float* sink, const float* zeros, int turns) {{
    float v[{chains}], b = zeros[8];
    for (int k = 0; k < {chains}; ++k) v[k] = zeros[k];
    const long long first = clock64();
    long long cold = 0, start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ cold = clock64(); __syncthreads(); start = clock64(); }}
        {body}
    }}
    const long long end = clock64();
    float sum = 0;
    for (int k = 0; k < {chains}; ++k) sum += v[k];
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {{
        long long* mine = when + 3 * ((blockIdx.x * blockDim.x + threadIdx.x) / 32);
        mine[0] = cold - first; mine[1] = start; mine[2] = end;
    }}
}}
"""


def fetch_source(length: int) -> str:
    """Return CUDA source of a loop of `length` additions."""
    adds = "".join(f"add.rn.f32 %{k}, %{k}, %{_CHAINS}; " for k in range(_CHAINS))
    values = ", ".join(f'"+f"(v[{k}])' for k in range(_CHAINS))
    text = adds * (length // _CHAINS)  # in one statement: many take the compiler minutes
    return _SOURCE.format(chains=_CHAINS, body=f'asm volatile("{text}" : {values} : "f"(b));')


def measure_fetch(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per length, warps and SMs: cycles per addition of a sub-partition."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        zeros, sink = cupy.zeros(32, dtype=np.float32), cupy.zeros(1, dtype=np.float32)
        for length in LENGTHS:
            kernel = cupy.RawModule(code=fetch_source(length)).get_function("fetch")
            turns = max(4, 32768 // length)
            for sms in (1, chip.multiprocessors):
                for warps in (4, 8, 16, 32):
                    when = cupy.zeros((sms, warps, 3), dtype=np.int64)
                    cold, warm = [], []
                    for _ in range(4):
                        kernel((sms,), (32 * warps,), (when, sink, zeros, np.int32(turns)))
                        times = when.get()
                        elapsed = times[:, :, 2].max(axis=1) - times[:, :, 1].min(axis=1)
                        warm.append(float(np.median(elapsed)))
                        cold.append(float(np.median(times[:, :, 0].max(axis=1))))
                    per = length * (warps // 4)
                    rows.append(
                        {"length": length, "sms": sms, "warps": warps,
                         "cycles": round(min(warm) / turns / per, 4),
                         "cold": round(float(np.median(cold[1:])) / length, 3)}
                    )  # fmt: skip
    return rows
