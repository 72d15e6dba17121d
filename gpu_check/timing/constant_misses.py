"""What words that ULDC reads cost, by how many SMs read and how many blocks each of them holds.

A loop multiplies words of a table in constant memory with a register; `step`: how many words one
ULDC reads. Blocks of `threads` begin at places of their own in the table (`apart`), or all at its
begin. `cycles`: of an SM per word that all of its warps read.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["constant_misses_source", "measure_constant_misses"]

_SOURCE = """
__constant__ float table[8192];
template <int STEP> __device__ __forceinline__ void run(long long* when, float* sink, int words,
                                                        int turns, int sms, int apart) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (here >= sms) return;
    const float by = sink[0];
    float sum = 0;
    long long start = 0;
    const int first = apart ? blockIdx.x / SMS * 80 & words - 1 : 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll 1
        for (int k = 0; k < words; k += STEP) {
            const int at = k + first & words - 1;
            #pragma unroll
            for (int j = 0; j < STEP; ++j) sum += table[at + j] * by;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}
#define NAMED(STEP) extern "C" __global__ void __launch_bounds__(1024, 2) \\
by##STEP(long long* when, float* sink, int words, int turns, int sms, int apart) { \\
    run<STEP>(when, sink, words, turns, sms, apart); }
NAMED(1) NAMED(2) NAMED(8)
"""


def constant_misses_source(sms: int = 132) -> str:
    """Return the CUDA source of the loops."""
    return _SOURCE.replace("SMS", str(sms))


def measure_constant_misses(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per step, table, blocks, their threads and SMs."""
    chip = open_gpu(device)
    import cupy

    most = chip.multiprocessors
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "misses.cubin")
        path.write_bytes(compiled(constant_misses_source(most), Path(folder)))
        module = cupy.RawModule(path=str(path))
        sink = cupy.zeros(4, dtype=np.float32)
        return [
            {"step": step, "words": words, "threads": threads, "blocks": blocks, "sms": sms,
             "apart": apart, "cycles": _run(module.get_function(f"by{step}"), sink, most,
                                            (words, threads, blocks, sms, apart))}
            for step in (1, 2, 8)
            for words in (64, 128, 256, 1024)
            for threads, blocks in ((128, 1), (128, 4), (128, 8), (128, 16), (512, 4))
            for sms in (1, 8, 66, most)
            for apart in (0, 1)
        ]  # fmt: skip


def _run(kernel: Any, sink: Any, most: int, case: tuple[int, ...]) -> float:
    import cupy

    words, threads, blocks, sms, apart = case
    turns = max(2, 1024 // words)
    least = float("inf")
    for _ in range(2):
        when = cupy.zeros(most * blocks, dtype=np.int64)
        kernel((most * blocks,), (threads,), (when, sink, np.int32(words), np.int32(turns),
                                              np.int32(sms), np.int32(apart)))  # fmt: skip
        times = when.get()
        least = min(least, float(np.median(times[times > 0])))
    return round(least / (turns * words), 2)
