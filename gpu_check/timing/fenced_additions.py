"""What additions with a memory order cost that many blocks make to few words.

Each warp adds one per turn, `lanes` of it to any of so many words; with 0 words, to words of its
own. `order`: as PTX says it. `sms`: blocks run on one SM or on all, `blocks` on each.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.atomics import MIXED

__all__ = ["ORDERS", "fenced_additions_source", "measure_fenced_additions"]

_TURNS = 16
ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_WORDS = (0, 64, 4096)
_LANES = (1, 16)
_SHAPES = ((1, 1), (1, 4), (1, 16), (4, 4), (4, 16))  # warps of a block, blocks of an SM
_SOURCE = """
extern "C" __global__ void {order}(unsigned* data, unsigned words, int lanes, long long* when,
                                   int turns) {{
    const unsigned lane = threadIdx.x & 31;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        unsigned word = warp * 32 + lane;
        if (words) word = mixed(word + turn * 540672) % words;
        unsigned was;
        if (lane < lanes)
            asm volatile("atom.{order}.gpu.global.add.u32 %0, [%1], 1;"
                         : "=r"(was) : "l"(data + word) : "memory");
    }}
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}}
"""


def fenced_additions_source() -> str:
    """Return CUDA source of a kernel per order, which has its name."""
    return MIXED + "".join(_SOURCE.format(order=order) for order in ORDERS)


def measure_fenced_additions(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per order, words, lanes, SMs, warps and blocks: cycles of a turn."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "additions.cubin")
        path.write_bytes(compiled(fenced_additions_source(), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data = cupy.zeros(1 << 20, dtype=np.uint32)
        each = product(ORDERS, _WORDS, _LANES, (1, chip.multiprocessors), _SHAPES)
        for order, words, lanes, sms, (warps, blocks) in each:
            if sms == 1 and blocks > 1:
                continue
            when = cupy.zeros(sms * blocks, dtype=np.int64)
            least = float("inf")
            for _ in range(3):
                module.get_function(order)(
                    (sms * blocks,), (32 * warps,),
                    (data, np.uint32(words), np.int32(lanes), when, np.int32(_TURNS)),
                )  # fmt: skip
                least = min(least, float(np.median(when.get())))
            rows.append(
                {"order": order, "words": words, "lanes": lanes, "sms": sms, "warps": warps,
                 "blocks": blocks, "cycles": round(least / _TURNS, 2)}
            )  # fmt: skip
    return rows
