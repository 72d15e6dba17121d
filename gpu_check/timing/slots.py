"""Which warp a scheduler prefers, and which place of an SM a block gets.

The scheduler prefers those of the block that began first, as `refills` tells. Blocks that begin
together got their places in that order. A later one gets the lowest place that is free.

`measure_order`: blocks that fill an SM begin the same work together, and each warp says when it has
done it. `work`: 32 stores or loads of 32 wavefronts, or 512 additions. `block` is the block's place
on the SM, from the lowest on, `warp` the warp's among those of its block on the sub-partition.
`begin` and `end` are cycles, medians over SMs. Blocks that missed the common begin are left out.

`measure_slots`: a grid of many waves passes once over memory, as in `conflicts_beside`. `blocks`:
how many of them had a place of an SM, a block after another; `life`: cycles from one's begin to
that of the next one there, which is longer where the place is empty for a while; means over SMs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["measure_order", "measure_slots", "order_source", "slots_source"]

_WARPS = 32
_ORDER = """
extern "C" __global__ void order(int* when) {{
    extern __shared__ int s[];
    unsigned sm, slot;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned far = (unsigned)__cvta_generic_to_shared(s) + 128 * lane;
    const unsigned near = (unsigned)__cvta_generic_to_shared(s) + 4 * lane;
    int sum = lane;
    float v[8];
    for (int i = 0; i < 8; ++i) v[i] = lane + i;
    const int together = ((int)clock() & ~0x7fff) + 0x10000;
    while ((int)clock() - together < 0);
    __syncwarp();
    const int begin = (int)clock();
    #pragma unroll
    for (int i = 0; i < 32; ++i) {{ {text} }}
    const int end = (int)clock();
    for (int i = 0; i < 8; ++i) sum ^= __float_as_int(v[i]);
    if (sum == 123456789) *when = 1;
    if (lane == 0) {{
        int* w = when + 4 * (blockIdx.x * (blockDim.x >> 5) + warp);
        w[0] = sm; w[1] = slot; w[2] = begin - together; w[3] = end - together;
    }}
}}
"""
_ADD = 'asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v[{}]) : "f"(1.5f));'
_WORK = {
    "stores": 'asm volatile("st.volatile.shared.b32 [%0], %1;" :: "r"(far), "r"(sum));',
    "loads": (
        'int b; asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(b) : "r"(far));'
        " if (i % 8 == 7) sum ^= b;"
    ),
    "additions": " ".join(_ADD.format(each % 8) for each in range(16)),
    "two chains": " ".join(_ADD.format(each % 2) for each in range(16)),
    "a chain": " ".join(_ADD.format(0) for each in range(16)),
    "loads among additions": (
        'int b; asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(b) : "r"(near)); sum ^= b; '
        + " ".join(_ADD.format(each % 8) for each in range(16))
    ),
}
_BLOCKS = {128: 8, 256: 4, 512: 2, 1024: 1}
"""Threads of a block, and blocks of an SM."""

_SLOTS = """
template <int D> __device__ __forceinline__ int place(int x, int row) {{
    return x % (32 / D) + 32 / D * (row % D) + 32 * (x / (32 / D) + D * (row / D));
}}
extern "C" __global__ void slots(const float* in, float* out, int* when) {{
    __shared__ float tile[1024];
    const int begin = (int)clock();
    const int x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * 1024 + y * 32 + x;
    float v[4], sum = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = in[first + k * 256];
    if (x == 0 && y == 0) {{
        unsigned sm, slot;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
        *(int4*)(when + 4 * blockIdx.x) = make_int4(sm, slot, begin, 0);
    }}
    #pragma unroll
    for (int k = 0; k < 4; ++k) tile[place<1>(x, y + k * 8)] = v[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 4; ++k) {{
        const float u = tile[place<{ways}>(x, y + k * 8)];
        {use}
    }}
    if (sum == 12345) *out = sum;
}}
"""
_USES = {"reads": "sum += u;", "copies": "out[first + k * 256] = u;"}
_RESIDENT, _MEBIBYTES = 8, 64


def order_source(work: str) -> str:
    """Return CUDA source of warps that begin `work` together."""
    return _ORDER.format(text=_WORK[work])


def slots_source(way: str, ways: int) -> str:
    """Return CUDA source of blocks that pass once over memory, and load with conflicts."""
    return _SLOTS.format(ways=ways, use=_USES[way])


def _ordered(found: NDArray[np.int32], threads: int) -> list[dict[str, int]]:
    """Return a row per warp of the first sub-partition: medians over the SMs that began together.

    `found`: rows of SM, slot, begin and end.
    """
    each = threads // 128
    table = []
    for sm in np.unique(found[:, 0]):
        mine = found[(found[:, 0] == sm) & (found[:, 1] % 4 == 0)]
        if len(mine) == _WARPS // 4 and (mine[:, 2] >= 0).all() and mine[:, 3].max() < 60000:
            table.append(mine[np.argsort(mine[:, 1])][:, 2:])
    middle = np.median(np.array(table), axis=0)
    return [
        {"block": place // each, "warp": place % each, "begin": int(begin), "end": int(end)}
        for place, (begin, end) in enumerate(middle)
    ]


def measure_order(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per work, block size and warp of a sub-partition."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows: list[dict[str, Any]] = []
    with cupy.cuda.Device(device):
        for work in _WORK:
            kernel = cupy.RawModule(code=order_source(work)).get_function("order")
            kernel.max_dynamic_shared_size_bytes = 200 << 10
            for threads, blocks in _BLOCKS.items():
                when = cupy.zeros(4 * sms * _WARPS, dtype=np.int32)
                for _ in range(2):
                    shared = (200 << 10) // blocks - 1024
                    kernel((sms * blocks,), (threads,), (when,), shared_mem=shared)
                found = _ordered(when.get().reshape(-1, 4), threads)
                rows += [{"work": work, "threads": threads} | row for row in found]
    return rows


def measure_slots(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, conflict and place of a block."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for way, ways in (("reads", 8), ("reads", 16), ("reads", 32), ("copies", 32)):
            kernel = cupy.RawModule(code=slots_source(way, ways)).get_function("slots")
            blocks = (_MEBIBYTES << 20) // (4096 * (2 if way == "copies" else 1))
            data = [cupy.zeros(1024 * blocks, dtype=np.float32) for _ in range(2)]
            when = cupy.zeros(4 * blocks, dtype=np.int32)
            for _ in range(2):
                kernel((blocks,), (32, 8), (*data, when))
            found = when.get().reshape(-1, 4).astype(np.int64)
            for place in range(_RESIDENT):
                lives = [_lives(found, int(sm), place) for sm in np.unique(found[:, 0])]
                rows.append(
                    {"way": way, "ways": ways, "place": place,
                     "blocks": round(float(np.mean([len(each) for each in lives])), 1),
                     "life": int(np.mean(np.concatenate(lives)))}
                )  # fmt: skip
    return rows


def _lives(found: NDArray[np.int64], sm: int, place: int) -> NDArray[np.int64]:
    """Return the cycles between the begins of blocks in one place of an SM."""
    mine = (found[:, 0] == sm) & (found[:, 1] // 8 == place)
    lives: NDArray[np.int64] = np.diff(np.sort(found[mine, 2]))
    return lives
