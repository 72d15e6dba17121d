"""What a fence of the chip costs while other blocks of its SM load: cycles of a turn.

Each SM holds one block that fences, of 1 to 8 warps. Beside it, 0 to 7 blocks of 256 threads load
from `kibibytes`, which they read again and again: 16 bytes per lane, `loads` in flight per warp.
`own`: so many such loads by the fencing warps before each fence, which wait for them. `loaded`:
bytes per cycle that the others get of the SM meanwhile. `alone`: without the fence.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_fences_beside"]

_TURNS = 24
_SOURCE = """
template <bool FENCE, int LOADS> __device__ void run(const uint4* data, unsigned words, int warps,
                                   int turns, int own, volatile int* stop, long long* when,
                                   unsigned* sink) {
    const int part = blockIdx.x / SMS;
    const unsigned me = blockIdx.x * 256 + threadIdx.x, all = gridDim.x * 256;
    unsigned sum = 0, at = me;
    const long long start = clock64();
    if (part == 0) {
        while (clock64() - start < 8000) {}
        long long begin = clock64();
        if (threadIdx.x < 32 * warps) {
            for (int turn = 0; turn < turns; ++turn) {
                for (int k = 0; k < own; ++k) {
                    const uint4 v = data[at & words - 1];
                    at += all, sum += v.x ^ v.y ^ v.z ^ v.w;
                }
                if (sum == 12345) *sink = sum;
                if (FENCE) __threadfence();
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) when[2 * blockIdx.x] = clock64() - begin;
        __threadfence();
        if (threadIdx.x == 0) atomicAdd((int*)stop, 1);
    } else {
        int turn = 0;
        for (; turn < 4096; ++turn) {
            uint4 v[LOADS];
            #pragma unroll
            for (int k = 0; k < LOADS; ++k)
                v[k] = data[at + k * all & words - 1];
            at += LOADS * all;
            #pragma unroll
            for (int k = 0; k < LOADS; ++k) sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
            if (turn % 8 == 7 && *stop >= SMS) break;
        }
        if (threadIdx.x == 0) {
            when[2 * blockIdx.x] = clock64() - start;
            when[2 * blockIdx.x + 1] = turn + 1;
        }
    }
    if (sum == 12345) *sink = sum;
}
#define KERNEL(NAME, F, L) extern "C" __global__ void __launch_bounds__(256, 8) \\
NAME(const uint4* data, unsigned words, int warps, int turns, int own, volatile int* stop, \\
     long long* when, unsigned* sink) { \\
    run<F, L>(data, words, warps, turns, own, stop, when, sink); }
KERNEL(fence_1, true, 1) KERNEL(fence_4, true, 4)
KERNEL(alone_1, false, 1) KERNEL(alone_4, false, 4)
"""


def measure_fences_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel, footprint, fencing warps, own loads and blocks beside."""
    chip = open_gpu(device)
    import cupy

    rows = []
    sms = chip.multiprocessors
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "beside.cubin")
        path.write_bytes(compiled(_SOURCE.replace("SMS", str(sms)), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data, sink = cupy.zeros(1 << 26, dtype=np.uint32), cupy.zeros(1, dtype=np.uint32)
        for name in ("fence", "alone"):
            for size in (64, 16384, 262144):
                for loads in (1, 4):
                    for warps in (1, 8):
                        for own in (0, 4):
                            for others in (0, 1, 3, 7):
                                if name == "alone" and own == 0:
                                    continue
                                rows.append(
                                    {"kernel": name, "kibibytes": size, "loads": loads,
                                     "warps": warps, "own": own, "others": others,
                                     **_run(module.get_function(f"{name}_{loads}"), data, sink,
                                            sms, (size, loads, warps, own, others))}
                                )  # fmt: skip
    return rows


def _run(kernel: Any, data: Any, sink: Any, sms: int, case: tuple[int, ...]) -> dict[str, float]:
    """Return the figures of a case: the second launch's."""
    import cupy

    size, loads, warps, own, others = case
    blocks = sms * (1 + others)
    when = cupy.zeros((blocks, 2), dtype=np.int64)
    for _ in range(2):
        stop = cupy.zeros(1, dtype=np.int32)
        kernel((blocks,), (256,), (data, np.uint32(size * 64), np.int32(warps), np.int32(_TURNS),
                                   np.int32(own), stop, when, sink))  # fmt: skip
    found = when.get()
    beside = found[sms:]
    rate = 0.0
    if others:
        rate = float(np.median(beside[:, 1] * loads * 4096 / beside[:, 0])) * others
    return {"cycles": round(float(np.median(found[:sms, 0])) / _TURNS, 1),
            "loaded": round(rate, 2)}  # fmt: skip
