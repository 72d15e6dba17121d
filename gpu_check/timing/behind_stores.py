"""How long a load of the L2 takes while other warps of the SM store or add, all SMs at work.

The first warp follows a chain of words in 1 MiB that the L2 holds. Others store, or add to, whole
lines or 32 words, one after the other, in memory of their block, until the first one has ended:
`busy` warps of them. Cycles of a link of the chain, the mean of the median block.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["SOURCE", "measure_behind_stores"]

_LINKS = 256
_WORDS = 1 << 18
SOURCE = """
template <int WHAT> __device__ void run(unsigned* chain, unsigned* out, long long* when,
                                        unsigned* sink) {
    __shared__ volatile int has_ended;
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) has_ended = 0;
    __syncthreads();
    if (warp == 0) {
        unsigned at = (blockIdx.x * 977 + 13) & WORDS - 1;
        for (int k = 0; k < 16; ++k) at = __ldcg(chain + at);
        const long long start = clock64();
        for (int k = 0; k < LINKS; ++k) at = __ldcg(chain + at);
        const long long end = clock64();
        if (at == 0xffffffff) *sink = at;
        if (lane == 0) when[blockIdx.x] = end - start, has_ended = 1;
    } else {
        unsigned* const own = out + (size_t)blockIdx.x * 16384;
        unsigned x = warp * 4096;
        while (!has_ended) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                x = x * 1664525u + 1013904223u;
                unsigned* const line = own + (x >> 12 & 0x1ff) * 32 + lane;
                unsigned* const word = own + ((x >> 12) + lane * 517 & 0x3fff);
                if (WHAT == 0) *line = x;
                if (WHAT == 1) *word = x;
                if (WHAT == 2) atomicAdd(line, 1u);
                if (WHAT == 3) atomicAdd(word, 1u);
            }
        }
    }
}
#define KERNEL(NAME, WHAT) extern "C" __global__ void NAME( \\
    unsigned* chain, unsigned* out, long long* when, unsigned* sink) \\
    { run<WHAT>(chain, out, when, sink); }
KERNEL(store_lines, 0) KERNEL(store_words, 1) KERNEL(add_lines, 2) KERNEL(add_words, 3)
""".replace("LINKS", str(_LINKS)).replace("WORDS", str(_WORDS))


def measure_behind_stores(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, SMs and busy warps."""
    chip = open_gpu(device)
    import cupy

    order = np.random.default_rng(1).permutation(_WORDS // 32).astype(np.uint32) * 32
    links = np.zeros(_WORDS, np.uint32)
    for word in range(32):
        links[order + word] = np.roll(order, -1) + word
    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=SOURCE)
        chain, sink = cupy.asarray(links), cupy.zeros(1, np.uint32)
        out = cupy.zeros(chip.multiprocessors * 16384, np.uint32)
        for access, sms, busy in product(
            ("store_lines", "store_words", "add_lines", "add_words"), (1, chip.multiprocessors),
            (0, 1, 2, 3, 7, 15, 31),
        ):  # fmt: skip
            when = cupy.zeros(sms, np.int64)
            for _ in range(2):
                module.get_function(access)((sms,), (32 + 32 * busy,), (chain, out, when, sink))
            cycles = float(np.median(when.get())) / _LINKS
            rows.append({"access": access, "sms": sms, "busy": busy, "cycles": round(cycles, 1)})
    return rows
