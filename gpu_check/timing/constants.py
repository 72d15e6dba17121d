"""How fast a loop reads constants: at an address that it computes, the same for all lanes.

The first read of a word by an SM goes far; what is measured here is what comes after: a loop reads
the words of a table in constant memory again, in 1 to 32 warps. `uniform`: through uniform
registers, once; `lanes`: through registers, sixteen times;
`together`: as `uniform`, by blocks of four warps; `apart`: by such blocks that began at other
times, so that they read at places of their own.
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
extern "C" __global__ void blocks(long long* when, float* sink, int words, int turns, int step) {
    const float by = sink[0];
    float sum = 0;
    const long long begin = clock64();
    while (clock64() - begin < blockIdx.x / SMS * step) {}
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        for (int k = 0; k < words; ++k) sum += table[k] * by;
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}
"""


def measure_constants(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, table and number of warps: cycles of the SM per word and warp."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "constants.cubin")
        path.write_bytes(compiled(_SOURCE.replace("SMS", str(chip.multiprocessors)), Path(folder)))
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
        rows += _of_blocks(module.get_function("blocks"), chip.multiprocessors, sink)
    return rows


def _of_blocks(kernel: Any, sms: int, sink: Any) -> list[dict[str, Any]]:
    """Time blocks of four warps on all SMs, so many on each."""
    import cupy

    rows = []
    for way in ("together", "apart"):
        for words in (16, 32, 64, 128, 256, 1024, 4096):
            for blocks in (1, 2, 4, 8, 16):
                step = 8 * words // blocks if way == "apart" else 0
                when = cupy.zeros(sms * blocks, dtype=np.int64)
                least = float("inf")
                for _ in range(3):
                    kernel(
                        (sms * blocks,), (128,),
                        (when, sink, np.int32(words), np.int32(_TURNS), np.int32(step)),
                    )  # fmt: skip
                    least = min(least, float(np.median(when.get())))
                warps = 4 * blocks
                rows.append(
                    {"way": way, "words": words, "warps": warps,
                     "cycles": round(least / (_TURNS * words * warps), 3)}
                )  # fmt: skip
    return rows
