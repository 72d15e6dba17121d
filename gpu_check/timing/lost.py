"""Where the lines lie that the L2 has lost when a kernel runs a second time.

Warps read a footprint line by line, each load by itself, and note how long it took; the second
launch counts. `copies`: a half of the footprint is written meanwhile. `lost`: the share of lines
that took longer than 620 cycles. `none`, `most`: the share of pieces of 16 KiB, which a block of
eight warps reads, of which no line or nine of ten were lost; `q10` to `q90`: quantiles of the
share of lost lines of a piece.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_lost", "of_pieces"]

_LINES = 128
_SLOW = 620
_SOURCE = """
template <bool COPIES> __device__ void run(const unsigned* in, unsigned* out, unsigned short* took,
                                           unsigned* sink) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned first = blockIdx.x * 128 + warp * 16;
    unsigned v = 0, before = 0, sum = 0;
    #pragma unroll 1
    for (unsigned k = 0; k <= 16; ++k) {
        const unsigned* at = in + (size_t)(first + min(k, 15)) * 32 + lane;
        // Issued in order: the load waits for the one before, and the clock is read behind it.
        asm volatile("ld.global.b32 %0, [%1];" : "=r"(v) : "l"(at + v) : "memory");
        const unsigned now = (unsigned)clock64();
        if (lane == 0 && k) took[first + k - 1] = min(now - before, 65535u);
        if (COPIES && k) out[(size_t)(first + k - 1) * 32 + lane] = sum;
        before = now;
    }
    sum = v;
    if (sum == 12345) *sink = sum;
}
extern "C" __global__ void reads(const unsigned* in, unsigned* out, unsigned short* took,
                                 unsigned* sink) { run<false>(in, out, took, sink); }
extern "C" __global__ void copies(const unsigned* in, unsigned* out, unsigned short* took,
                                  unsigned* sink) { run<true>(in, out, took, sink); }
"""


def of_pieces(cycles: NDArray[np.uint16]) -> dict[str, float]:
    """Return the figures of a launch, from the cycles of each line."""
    lost = (cycles > _SLOW).reshape(-1, _LINES).mean(axis=1)
    found = {"lost": lost.mean(), "none": (lost == 0).mean(), "most": (lost >= 0.9).mean()}
    found |= {f"q{q}": np.percentile(lost, q) for q in (10, 25, 50, 75, 90)}
    return {name: round(float(value), 3) for name, value in found.items()}


def measure_lost(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel and footprint."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "lost.cubin")
        path.write_bytes(compiled(_SOURCE, Path(folder)))
        module = cupy.RawModule(path=str(path))
        sink = cupy.zeros(1, dtype=np.uint32)
        for name in ("reads", "copies"):
            for size in (16, 24, 28, 30, 32, 34, 36, 38, 40, 44, 48):
                each = (size << 20) // (2 if name == "copies" else 1)
                data = [cupy.zeros(each // 4, dtype=np.uint32) for _ in range(2)]
                took = cupy.zeros(each // 128, dtype=np.uint16)
                for _ in range(2):
                    module.get_function(name)((each // 16384,), (256,), (*data, took, sink))
                rows.append({"kernel": name, "mebibytes": size, **of_pieces(took.get())})
                del data
    return rows
