"""What additions cost that sweep memory: cycles of an SM per warp, by width and size of the memory.

All SMs add to it in turn, words of their own; `side by side`: lanes to one, or to four words each,
in lines of their own; `anywhere`: each lane to words anywhere in it. Up to nearly all of the L2 it
takes what the L2 takes; of more, DRAM brings and takes all.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["atomic_sweep_source", "measure_atomic_sweeps"]

_TURNS, _EACH, _WARPS = 16, 8, 32
_WIDTHS = {
    1: 'asm volatile("red.global.add.f32 [%0], %1;" :: "l"(at), "f"(1.0f) : "memory")',
    4: 'asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" :: "l"(at), "f"(1.0f)'
    ' : "memory")',
}
_HOW = ("side by side", "anywhere")
_MEBIBYTES = (16, 24, 32, 40, 48, 64, 96, 128, 192)
_SOURCE = """
__device__ __forceinline__ unsigned mixed_WIDTH(unsigned x) {
    x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; return x ^ x >> 16;
}
extern "C" __global__ void sweep_WIDTH(float* data, int anywhere, unsigned places,
                                       long long* when) {
    const unsigned lane = threadIdx.x & 31;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < TURNS; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int each = 0; each < EACH; ++each) {
            const unsigned mine = 32 * (warp + (turn * EACH + each) * 4224) + lane;
            float* at = data + (size_t)((anywhere ? mixed_WIDTH(mine) : mine) % places) * WIDTH;
            ADD;
        }
    }
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
"""


def atomic_sweep_source(width: int) -> str:
    """Return CUDA source of additions of one or four words per lane."""
    text = _SOURCE.replace("WIDTH", str(width)).replace("ADD", _WIDTHS[width])
    return text.replace("TURNS", str(_TURNS)).replace("EACH", str(_EACH))


def measure_atomic_sweeps(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per width, pattern and size."""
    chip = open_gpu(device)
    import cupy

    rows = []
    text = "".join(map(atomic_sweep_source, _WIDTHS))
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "sweeps.cubin")
        path.write_bytes(compiled(text, Path(folder)))
        module = cupy.RawModule(path=str(path))
        data = cupy.zeros(max(_MEBIBYTES) << 18, dtype=np.float32)
        for width, how, size in product(_WIDTHS, _HOW, _MEBIBYTES):
            when = cupy.zeros(chip.multiprocessors, dtype=np.int64)
            places = np.uint32((size << 18) // width)
            least = float("inf")
            for _ in range(3):
                module.get_function(f"sweep_{width}")(
                    (chip.multiprocessors,), (32 * _WARPS,),
                    (data, np.int32(_HOW.index(how)), places, when),
                )  # fmt: skip
                least = min(least, float(np.median(when.get())))
            cycles = round(least / (_TURNS * _EACH * _WARPS), 2)
            rows.append({"words": width, "how": how, "mebibytes": size, "cycles": cycles})
    return rows
