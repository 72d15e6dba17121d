"""Reads of what another SM reads, too: which SMs get it faster than what each reads alone.

All SMs load rows of global memory that L1 does not keep. Each has a partner, by their numbers, and
both read the same region, at the same time or so many bytes apart.

`measure_places` has the blocks of a grid say which SMs they began on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["measure_places", "measure_tpcs"]

_TURNS, _THREADS, _REGION = 32, 1024, 131072
Numbers = NDArray[np.int64]


def _step(step: int) -> Callable[[Numbers], Numbers]:
    return lambda sm: sm % step


_GROUPS: dict[str, Callable[[Numbers], Numbers]] = {
    "none": lambda sm: sm,
    "next": lambda sm: sm // 2,
    "second next": lambda sm: sm // 4 * 2 + sm % 2,
    "of four": lambda sm: sm // 4,
    "of six": lambda sm: sm // 6,
    "of eighteen": lambda sm: sm // 18,
    **{f"step {step}": _step(step) for step in (66, 44, 32, 22, 16, 8, 4)},
    "all": lambda sm: 0 * sm,
}
_OTHERS: dict[str, Callable[[Numbers], Numbers]] = {
    "of twelve, and step 12": lambda sm: sm % 12,
    "of twelve, and none": lambda sm: sm,
}
"""Of the loads that are left: blocks of a product share rows with some, columns with others."""
_SOURCE = """
__device__ unsigned sm() {
    unsigned found;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(found));
    return found;
}
extern "C" __global__ void reads(long long* when, const char* data, const int* begin, int some,
                                 int part) {
    const int own = begin[sm()], more = part * begin[gridDim.x + sm()];
    // `some` of 8 loads are of what the group reads, the others of its own.
    const char* from = data + own, *alone = data + (1 << 25) + begin[2 * gridDim.x + sm()];
    float sum = 0;
    __syncthreads();
    const long long start = clock64();
    for (int turn = 0; turn < TURNS; ++turn) {
        float4 v[8];
        for (int k = 0; k < 8; ++k) {
            const int at = (more + ((turn * 8 + k) * 1024 + threadIdx.x) * 16) % REGION;
            asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[k].x),
                         "=f"(v[k].y), "=f"(v[k].z), "=f"(v[k].w)
                         : "l"((k < some ? from : alone) + at) : "memory");
        }
        for (int k = 0; k < 8; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    if (sum == 12345) when[0] = 1;
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
extern "C" __global__ void places(int* out, int spin) {
    const long long begun = clock64();
    while (clock64() - begun < spin) ;
    if (threadIdx.x == 0) out[blockIdx.x] = sm();
}
"""


def measure_tpcs(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per partner, part of eight that is shared, and bytes apart: bytes per cycle.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    every = chip.multiprocessors
    sm = np.arange(every)
    with cupy.cuda.Device(device):
        source = _SOURCE.replace("REGION", str(_REGION)).replace("TURNS", str(_TURNS))
        kernel = cupy.RawModule(code=source).get_function("reads")
        data = cupy.zeros(1 << 26, dtype=np.uint8)
        for name in (*_GROUPS, *_OTHERS):
            group = _GROUPS[name](sm) if name in _GROUPS else sm // 12
            others = _OTHERS[name](sm) if name in _OTHERS else sm
            place = np.array([int((group[:each] == group[each]).sum()) for each in sm])
            begin = cupy.asarray(
                np.concatenate([group * _REGION, place, others * _REGION]), dtype=np.int32
            )
            for some, part in ((8, 0), (6, 0), (4, 0), (2, 0), (8, 16384), (8, 65536)):
                if name == "none" and (some < 8 or part):
                    continue
                least = float("inf")
                for _ in range(5):
                    when = cupy.zeros(every, dtype=np.int64)
                    kernel((every,), (_THREADS,),
                           (when, data, begin, np.int32(some), np.int32(part)))  # fmt: skip
                    least = min(least, float(np.median(when.get())))
                rows.append(
                    {"partner": name, "shared": some / 8, "apart": part,
                     "bytes_per_cycle": round(_TURNS * 8 * 16 * _THREADS / least, 2)}
                )  # fmt: skip
    return rows


def measure_places(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per grid of one wave and blocks of an SM: shares of pairs of blocks.

    `next`: of blocks with even numbers, how many lie on the SM beside that of the next block;
    `same`: on the same one. `wave`: of all, how many lie on the SM of the block 132 further.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    every = chip.multiprocessors
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=_SOURCE.replace("REGION", "1").replace("TURNS", "1"))
        for resident, threads, blocks in (
            (1, 1024, 132), (1, 1024, 100), (2, 1024, 264), (2, 1024, 162), (3, 640, 396),
            (3, 512, 162), (8, 256, 1056), (16, 128, 2112), (32, 64, 4224),
        ):  # fmt: skip
            for _ in range(2):
                out = cupy.zeros(blocks, dtype=np.int32)
                kernel.get_function("places")((blocks,), (threads,), (out, np.int32(20000)))
            found = out.get()
            pairs = [(int(a), int(b)) for place, (a, b) in enumerate(pairwise(found))
                     if place % 2 == 0]  # fmt: skip
            later = np.mean(found[:-every] == found[every:]) if blocks > every else 0.0
            rows.append(
                {"resident": resident, "blocks": blocks,
                 "next": round(float(np.mean([a // 2 == b // 2 and a != b for a, b in pairs])), 3),
                 "same": round(float(np.mean([a == b for a, b in pairs])), 3),
                 "wave": round(float(later), 3),
                 "most": int(np.bincount(found).max()), "used": len(np.unique(found)),
                 "first": " ".join(map(str, found[:8].tolist()))}
            )  # fmt: skip
    return rows
