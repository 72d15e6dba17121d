"""Atomics beside gathers: cycles of an SM per turn of a warp, all SMs at work.

A turn loads `loads` times and adds `atoms` times; every lane loads, or adds to, a word anywhere in
4 MiB. Loads bring results that are waited for at the turn's end.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["MIXES", "gathers_source", "measure_gathers_beside"]

_TURNS, _WORDS = 64, 1 << 20
MIXES = ((1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (2, 1), (1, 2), (2, 2), (4, 1))
"""Loads and atomics of a turn."""
_SOURCE = """
extern "C" __global__ void mix_{loads}_{atoms}(const unsigned* data, unsigned* sums,
                                               long long* when, unsigned* sink) {{
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 12345, sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -4; turn < {turns}; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        unsigned v[{loads} + 1];
        #pragma unroll
        for (int k = 0; k < {loads}; ++k) {{
            x = x * 1664525u + 1013904223u;
            asm volatile("ld.global.b32 %0, [%1];" : "=r"(v[k]) : "l"(data + (x >> 12)));
        }}
        #pragma unroll
        for (int k = 0; k < {atoms}; ++k) {{
            x = x * 1664525u + 1013904223u;
            asm volatile("red.global.add.u32 [%0], %1;"
                         :: "l"(sums + (x >> 12)), "r"(1) : "memory");
        }}
        for (int k = 0; k < {loads}; ++k) sum += v[k];
    }}
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}}
"""


def gathers_source() -> str:
    """Return CUDA source of all loops."""
    return "".join(_SOURCE.format(loads=a, atoms=b, turns=_TURNS) for a, b in MIXES)


def measure_gathers_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per mix, SMs and warps of an SM."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "gathers.cubin")
        path.write_bytes(compiled(gathers_source(), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data, sums = (cupy.zeros(_WORDS, dtype=np.uint32) for _ in range(2))
        sink = cupy.zeros(1, dtype=np.uint32)
        for loads, atoms in MIXES:
            for sms in (1, chip.multiprocessors):
                for warps in (4, 16, 32):
                    when = cupy.zeros(sms, dtype=np.int64)
                    for _ in range(2):
                        module.get_function(f"mix_{loads}_{atoms}")(
                            (sms,), (32 * warps,), (data, sums, when, sink)
                        )
                    cycles = float(np.median(when.get())) / _TURNS / warps
                    rows.append({"loads": loads, "atoms": atoms, "sms": sms, "warps": warps,
                                 "cycles": round(cycles, 2)})  # fmt: skip
    return rows
