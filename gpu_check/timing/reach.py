"""How long loads of several lines take: the slowest of them is what a warp waits for.

One lane in so many reads a line of its own, anywhere in a footprint that the L2 holds or that only
DRAM does; each load's address needs the one before. Each load is timed by itself, so the table has
the mean and quantiles. `barrier`: the warps of a block wait for each other after each load.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_reach"]

_MIB = 1 << 20
_TURNS = 64
_SOURCE = """
template <bool BARRIER> __device__ void run(const unsigned* data, unsigned lines, unsigned share,
                                          unsigned* took, unsigned* sink) {
    const unsigned lane = threadIdx.x % 32, me = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned group = me / share;
    unsigned x = group * 2654435761u + 12345, zero = 0, before = 0;
    #pragma unroll 1
    for (int turn = -4; turn <= TURNS; ++turn) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        const unsigned* at = data + (size_t)(x & lines - 1) * 32 + lane % share;
        // Issued in order: the load waits for the one before, and the clock is read behind it.
        asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(zero) : "l"(at + zero) : "memory");
        const unsigned now = (unsigned)clock64();
        if (lane == 0 && turn > 0) took[me / 32 * TURNS + turn - 1] = now - before;
        before = now;
        if (BARRIER) zero = __syncthreads_or(zero);
    }
    if (x + zero == 0) *sink = x;
}
extern "C" __global__ void apart(const unsigned* data, unsigned lines, unsigned share,
                                 unsigned* took, unsigned* sink) {
    run<false>(data, lines, share, took, sink);
}
extern "C" __global__ void barrier(const unsigned* data, unsigned lines, unsigned share,
                                   unsigned* took, unsigned* sink) {
    run<true>(data, lines, share, took, sink);
}
"""


def measure_reach(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel, footprint, SMs, warps and lines of a load: cycles of a load."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "reach.cubin")
        path.write_bytes(compiled(_SOURCE.replace("TURNS", str(_TURNS)), Path(folder)))
        module = cupy.RawModule(path=str(path))
        sink = cupy.zeros(1, dtype=np.uint32)
        for size in (1, 16, 1024):
            data = cupy.zeros(size * _MIB // 4, dtype=np.uint32)
            for sms in (1, chip.multiprocessors):
                for how in ("apart", "barrier"):
                    for warps in (1, 4, 8, 16, 32):
                        for lines in (1, 2, 4, 8, 16, 32):
                            if how == "barrier" and (warps == 1 or lines > 1):
                                continue
                            took = cupy.zeros(sms * warps * _TURNS, dtype=np.uint32)
                            for _ in range(2):
                                module.get_function(how)(
                                    (sms,), (32 * warps,),
                                    (data, np.uint32(size * _MIB // 128), np.uint32(32 // lines),
                                     took, sink),
                                )  # fmt: skip
                            each = took.get()
                            quantiles = np.percentile(each, [1, 10, 50, 90, 99])
                            rows.append(
                                {"how": how, "mebibytes": size, "sms": sms, "warps": warps,
                                 "lines": lines, "mean": round(float(each.mean()), 1),
                                 **{f"q{q}": round(float(v)) for q, v in
                                    zip((1, 10, 50, 90, 99), quantiles, strict=True)}}
                            )  # fmt: skip
            del data
    return rows
