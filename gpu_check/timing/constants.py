"""How fast a loop reads constants: at an address that it computes, the same for all lanes.

The first read of a word by an SM goes far; what is measured here is what comes after: a loop reads
the words of a table in constant memory again, in 1 to 32 warps. `uniform`: through uniform
registers, once; `lanes`: through registers, sixteen times.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_constants"]

_TURNS = 16
_SOURCE = """
__constant__ float table[8192];
extern "C" __global__ void uniform(long long* when, float* sink, int words, int turns) {
    const float by = sink[0];
    float sum = 0;
    for (int k = 0; k < words; ++k) sum += table[k] * by;
    __syncthreads();
    const long long start = clock64();
    for (int k = 0; k < words; ++k) sum += table[k] * by;
    const long long end = clock64();
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }
}
extern "C" __global__ void lanes(long long* when, float* sink, int words, int turns) {
    float sum = 0;
    long long start = 0;
    int at = sink[0] == 1;
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll 4
        for (int k = 0; k < words; ++k) sum = sum * 0.5f + table[k + at];
    }
    const long long end = clock64();
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }
}
"""


def measure_constants(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, table and number of warps: cycles of the SM per word and warp."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "constants.cubin")
        path.write_bytes(compiled(_SOURCE, Path(folder)))
        module = cupy.RawModule(path=str(path))
        when, sink = cupy.zeros(64, dtype=np.int64), cupy.zeros(4, dtype=np.float32)
        for way in ("uniform", "lanes"):
            kernel, turns = module.get_function(way), 1 if way == "uniform" else _TURNS
            for words in (16, 64, 128, 256, 512, 1024, 4096):
                for warps in (1, 4, 8, 16, 32):
                    least = float("inf")
                    for _ in range(3):
                        kernel((1,), (32 * warps,), (when, sink, np.int32(words), np.int32(_TURNS)))
                        times = when.get()[: 2 * warps]
                        least = min(least, float(times[1::2].max() - times[::2].min()))
                    rows.append(
                        {"way": way, "words": words, "warps": warps,
                         "cycles": round(least / (turns * words * warps), 3)}
                    )  # fmt: skip
    return rows
