"""How fast copies of 16 bytes per lane come of tiles that all blocks copy, tile after tile.

A block of 128 threads copies sixteen tiles of `size` bytes, and waits for each before the next.
Rows of `row` bytes begin `pitch` bytes apart in shared memory, the first at `begin`. In global
memory they lie side by side, tile behind tile, or 4,096 bytes apart (`step`), as tiles of a matrix
do. `same`: whether all blocks copy the same tiles. `blocks`: of an SM; all SMs work. `cycles`: of a
tile, mean of the blocks, the median of five launches.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_hot_tiles"]

_SHAPES = ((128, 128, 0), (128, 144, 0), (128, 128, 16), (64, 80, 0), (256, 272, 0))
"""Bytes of a row, how far rows lie from each other in shared memory, and where the first begins."""
_SIZES = (2048, 4096, 8192, 16384, 32768)
_BLOCKS = (1, 2, 4, 8)
_FAR = 4096
_TILES, _THREADS, _REPEATS = 16, 128, 5
_DATA = 64 << 20
_WRAPS = (16 << 20) - 1
"""Blocks' own tiles begin within so many bytes: the L2 has them."""
_APART = 65536 + 37 * 128
_SHARED = 220_000
"""Bytes of an SM for all its blocks."""
_SOURCE = """
extern "C" __global__ void __launch_bounds__(128) hot_tiles(
    const char* data, int* when, long long apart) {{
    extern __shared__ __align__(128) char held[];
    const unsigned to = (unsigned)__cvta_generic_to_shared(held) + {begin};
    const char* from = data + (blockIdx.x * apart & {wraps});
    __syncthreads();
    const int begun = (int)clock();
    #pragma unroll 1
    for (int tile = 0; tile < {tiles}; ++tile) {{
        #pragma unroll
        for (int i = 0; i < {size} / 2048; ++i) {{
            const int at = 16 * (threadIdx.x + 128 * i);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                :: "r"(to + at / {row} * {pitch} + at % {row}),
                   "l"(from + (size_t)(at / {row}) * {step} + at % {row}) : "memory");
        }}
        from += {next};
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }}
    if (threadIdx.x == 0) when[blockIdx.x] = (int)clock() - begun;
}}
"""


def measure_hot_tiles(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per shape, step, size of a tile, and blocks of an SM."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_DATA, dtype=np.uint8)
        for (row, pitch, begin), far, size in product(_SHAPES, (False, True), _SIZES):
            step = _FAR if far else row
            source = _SOURCE.format(
                row=row, pitch=pitch, begin=begin, step=step, size=size, tiles=_TILES,
                wraps=_WRAPS, next=row if far else size,
            )  # fmt: skip
            kernel = cupy.RawModule(code=source).get_function("hot_tiles")
            kernel.max_dynamic_shared_size_bytes = _SHARED
            shared = size // row * pitch + begin
            for blocks, same in product(_BLOCKS, (True, False)):
                room = min(_SHARED // blocks - 1024, 100_000)  # no more blocks fit an SM
                if shared > room:
                    continue
                found = []
                for _ in range(_REPEATS):
                    when = cupy.zeros(sms * blocks, dtype=np.int32)
                    args = (data, when, np.int64(0 if same else _APART))
                    kernel((sms * blocks,), (_THREADS,), args, shared_mem=room)
                    found.append(float(when.get().mean()) / _TILES)
                rows.append(
                    {"row": row, "pitch": pitch, "begin": begin, "step": step, "size": size,
                     "blocks": blocks, "same": int(same), "cycles": round(float(np.median(found)))}
                )  # fmt: skip
    return rows
