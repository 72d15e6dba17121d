"""What stores and additions cost that all SMs make to few words: cycles of an SM per warp of each.

Each lane stores to, or adds to, any of so many words; `store add`: to as many in another array,
too. What one SM stores to the same lines is joined before it goes to the L2.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["hot_stores_source", "measure_hot_stores"]

_TURNS, _EACH = 16, 4
_WORDS = (1, 8, 32, 256, 1024, 1500, 4096, 16384, 65536, 1 << 20)
_WARPS = (8, 32)
_APART = 1 << 21
_OPS = {
    "store": 'asm volatile("st.global.u32 [%0], %1;" :: "l"(at), "r"(word) : "memory")',
    "add": 'asm volatile("red.global.add.u32 [%0], %1;" :: "l"(at), "r"(1) : "memory")',
}
_KINDS = ("store", "add", "store add", "add add")
_SOURCE = """
extern "C" __global__ void NAME(unsigned* data, unsigned words, long long* when, int turns) {
    const unsigned lane = threadIdx.x & 31;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int each = 0; each < EACH; ++each) {
            unsigned word = (warp + (turn * EACH + each) * 4224) * 32 + lane;
            word ^= word >> 16; word *= 0x7feb352d; word ^= word >> 15; word *= 0x846ca68b;
            word = (word ^ word >> 16) % words;
            unsigned* at = data + word;
            OPS
        }
    }
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
"""


def hot_stores_source(kind: str) -> str:
    """Return CUDA source of one of the kinds, a kernel of that name without spaces."""
    ops = f"; at += {_APART}; ".join(_OPS[each] for each in kind.split())
    text = _SOURCE.replace("NAME", kind.replace(" ", "_")).replace("OPS", f"{ops};")
    return text.replace("EACH", str(_EACH))


def measure_hot_stores(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind, words and warps, all SMs."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code="".join(map(hot_stores_source, _KINDS)))
        data = cupy.zeros(2 * _APART, dtype=np.uint32)
        for kind, words, warps in product(_KINDS, _WORDS, _WARPS):
            when = cupy.zeros(chip.multiprocessors, dtype=np.int64)
            least = float("inf")
            for _ in range(3):
                module.get_function(kind.replace(" ", "_"))(
                    (chip.multiprocessors,), (32 * warps,),
                    (data, np.uint32(words), when, np.int32(_TURNS)),
                )  # fmt: skip
                least = min(least, float(np.median(when.get())))
            cycles = round(least / (_TURNS * _EACH * warps), 2)
            rows.append({"kind": kind, "words": words, "warps": warps, "cycles": cycles})
    return rows
