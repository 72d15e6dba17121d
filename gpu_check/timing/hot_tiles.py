"""How fast copies of 16 bytes per lane come of tiles that all blocks copy, tile after tile.

A block of 128 threads copies sixteen tiles of `size` bytes, and waits for each before the next.
Rows of `row` bytes begin `pitch` bytes apart in shared memory, the first at `begin`. In global
memory they lie side by side, tile behind tile, or 4,096 bytes apart (`step`), as tiles of a matrix
do. `blocks`: of an SM; all SMs work. `cycles`: of a tile, mean of the blocks, the median of five
launches.

`measure_hot_tiles`: `same` is whether all blocks copy the same tiles. `measure_shared_tiles`: so
many blocks do whose numbers follow one another (`group`).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_hot_tiles", "measure_shared_tiles"]

_SHAPES = ((128, 128, 0), (128, 144, 0), (128, 128, 16), (64, 80, 0), (256, 272, 0))
"""Bytes of a row, how far rows lie from each other in shared memory, and where the first begins."""
_SHARED_SHAPES = (
    (128, 128, 128), (128, 144, 128), (64, 64, 1024), (64, 80, 1024), (256, 256, 1024),
    (256, 288, 1024),
)  # fmt: skip
"""Bytes of a row, how far rows lie from each other in shared memory, and in global memory."""
_GROUPS = (1, 2, 4, 8, 16)
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
    const char* data, int* when, long long apart, int group) {{
    extern __shared__ __align__(128) char held[];
    const unsigned to = (unsigned)__cvta_generic_to_shared(held) + {begin};
    const char* from = data + (blockIdx.x / group * apart & {wraps});
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
    """Return a row per shape, step, size of a tile, blocks of an SM, and whether all copy it."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_DATA, dtype=np.uint8)
        for (row, pitch, begin), far, size in product(_SHAPES, (False, True), _SIZES):
            step = _FAR if far else row
            kernel = _kernel(row, pitch, begin, step, size)
            for blocks, same in product(_BLOCKS, (True, False)):
                if size // row * pitch + begin > _room(blocks):
                    continue
                group = sms * blocks if same else 1
                rows.append(
                    {"row": row, "pitch": pitch, "begin": begin, "step": step, "size": size,
                     "blocks": blocks, "same": int(same),
                     "cycles": _cycles(kernel, data, sms, blocks, group)}
                )  # fmt: skip
    return rows


def measure_shared_tiles(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per shape, blocks of an SM, and blocks that copy the same tiles."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_DATA, dtype=np.uint8)
        for row, pitch, step in _SHARED_SHAPES:
            kernel = _kernel(row, pitch, 0, step, _SIZES[1])
            for blocks, group in product(_BLOCKS[2:], _GROUPS):
                rows.append(
                    {"row": row, "pitch": pitch, "step": step, "size": _SIZES[1], "blocks": blocks,
                     "group": group, "cycles": _cycles(kernel, data, sms, blocks, group)}
                )  # fmt: skip
    return rows


def _room(blocks: int) -> int:
    """Return bytes of shared memory of a block so that no more blocks fit an SM."""
    return min(_SHARED // blocks - 1024, 100_000)


def _kernel(row: int, pitch: int, begin: int, step: int, size: int) -> Any:
    import cupy

    source = _SOURCE.format(
        row=row, pitch=pitch, begin=begin, step=step, size=size, tiles=_TILES, wraps=_WRAPS,
        next=size if step == row else row,
    )  # fmt: skip
    kernel = cupy.RawModule(code=source).get_function("hot_tiles")
    kernel.max_dynamic_shared_size_bytes = _room(1)
    return kernel


def _cycles(kernel: Any, data: Any, sms: int, blocks: int, group: int) -> int:
    """Return cycles of a tile, mean of the blocks, the median of some launches."""
    import cupy

    found = []
    for _ in range(_REPEATS):
        when = cupy.zeros(sms * blocks, dtype=np.int32)
        args = (data, when, np.int64(_APART), np.int32(group))
        kernel((sms * blocks,), (_THREADS,), args, shared_mem=_room(blocks))
        found.append(float(when.get().mean()) / _TILES)
    return round(float(np.median(found)))
