"""How many lines of constants ULDC keeps while warps read different ones; what lies behind.

`line`: every block goes round the 16 words of one line; the blocks of an SM take so many `lines` in
turn. `pause`: sums between two reads. `cycles`: of a block per word, the median; `whole`: of an SM,
from its first block's begin to its last one's end.
`chain`: a warp follows a table of so many lines by LDC, one word of each, again and again.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["constant_places_source", "measure_constant_places"]

_TURNS = 64
"""Of 16 words."""
_WORDS = 16384
_SOURCE = """
__constant__ int table[16384];
template <int PAUSE> __device__ __forceinline__ void
go_round(long long* when, float* sink, int words, int turns, int sms, int lines) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (here >= sms) return;
    const float by = sink[0];
    float sum = 0;
    const int first = blockIdx.x / SMS * 16 & 16 * lines - 1;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -4; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll 1
        for (int k = 0; k < words; ++k) {
            const int at = (k & 15) + first & 16 * lines - 1;
            sum += __int_as_float(table[at]) * by;
            #pragma unroll
            for (int j = 0; j < PAUSE; ++j) sum = sum * by + by;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        when[3 * blockIdx.x] = start, when[3 * blockIdx.x + 1] = clock64();
        when[3 * blockIdx.x + 2] = here + 1;
    }
    if (sum == 12345) *sink = sum;
}
#define NAMED(PAUSE) extern "C" __global__ void __launch_bounds__(1024, 2) \\
line##PAUSE(long long* when, float* sink, int words, int turns, int sms, int lines) { \\
    go_round<PAUSE>(when, sink, words, turns, sms, lines); }
NAMED(0) NAMED(8) NAMED(64)
extern "C" __global__ void chain(long long* when, int* sink, int turns) {
    int at = threadIdx.x / 32;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -turns; turn < turns; ++turn) {
        if (turn == 0) start = clock64();
        at = table[at];
    }
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (at == -1) *sink = 1;
}
"""


def constant_places_source(sms: int = 132) -> str:
    """Return the CUDA source of the loops."""
    return _SOURCE.replace("SMS", str(sms))


def measure_constant_places(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pause, blocks, their threads, lines and SMs; and per table of a chain."""
    chip = open_gpu(device)
    import cupy

    most = chip.multiprocessors
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "places.cubin")
        path.write_bytes(compiled(constant_places_source(most), Path(folder)))
        module = cupy.RawModule(path=str(path))
        rows = []
        for pause in (0, 8, 64):
            kernel = module.get_function(f"line{pause}")
            for threads, blocks in ((128, 3), (128, 4), (128, 5), (128, 6), (128, 8),
                                    (128, 16), (256, 8), (512, 4)):  # fmt: skip
                for lines in (1, 2, 4, 8, 16):
                    for sms in (1, 8, most):
                        if lines < 2 * blocks:
                            each, whole = _round(kernel, most, (threads, blocks, sms, lines))
                            rows.append(
                                {"way": "line", "pause": pause, "threads": threads,
                                 "blocks": blocks, "lines": lines, "sms": sms,
                                 "cycles": each, "whole": whole}
                            )  # fmt: skip
        return rows + _chains(module, most)


def _round(kernel: Any, most: int, case: tuple[int, ...]) -> tuple[float, float]:
    import cupy

    threads, blocks, sms, lines = case
    sink = cupy.zeros(4, dtype=np.float32)
    least = (float("inf"), float("inf"))
    for _ in range(3):
        when = cupy.zeros(3 * most * blocks, dtype=np.int64)
        kernel((most * blocks,), (threads,),
               (when, sink, *map(np.int32, (16, _TURNS, sms, lines))))  # fmt: skip
        times = when.get().reshape(-1, 3)
        times = times[times[:, 2] > 0]
        whole = [
            float(mine[:, 1].max() - mine[:, 0].min())
            for mine in (times[times[:, 2] == sm] for sm in np.unique(times[:, 2]))
        ]
        each = float(np.median(times[:, 1] - times[:, 0]))
        least = min(least, (each, float(np.median(whole))))
    return round(least[0] / (16 * _TURNS), 2), round(least[1] / (16 * _TURNS), 2)


def _chains(module: Any, most: int) -> list[dict[str, Any]]:
    import cupy

    place = module.get_global("table")
    held = cupy.ndarray((_WORDS,), dtype=np.int32, memptr=place)
    sink, rows = cupy.zeros(4, dtype=np.int32), []
    for lines in (16, 32, 48, 64, 128, 256, 384, 512, 768, 1024):
        # A step that has no divisor in common with the lines: no line is next to the one before.
        held[:] = (cupy.arange(_WORDS, dtype=np.int32) + 16 * 37) % (16 * lines)
        for sms in (1, most):
            least = float("inf")
            for _ in range(3):
                when = cupy.zeros(sms, dtype=np.int64)
                module.get_function("chain")((sms,), (32,), (when, sink, np.int32(4 * lines)))
                least = min(least, float(np.median(when.get())))
            rows.append(
                {"way": "chain", "pause": 0, "threads": 32, "blocks": 1, "lines": lines,
                 "sms": sms, "cycles": round(least / (4 * lines), 2), "whole": 0}
            )  # fmt: skip
    return rows
