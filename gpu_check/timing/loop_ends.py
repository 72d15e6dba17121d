"""What the end of a loop costs a sub-partition: how many instructions are issued per cycle.

A loop has `count` arithmetic instructions that do not wait for each other, and what counts its
turns. `cycles`: of a sub-partition per turn of a warp. It has several warps, so that one is there
to issue while another one's branch is taken.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["COUNTERS", "COUNTS", "TEXTS", "least_cycles", "loop_ends_source", "measure_loop_ends"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) loops(
    const float* data, float* sink, int* when, int turns) {{
    const int lane = (threadIdx.x & 31) + __float_as_int(data[3]);
    float f[8], fa = data[1], fb = data[2];
    int n[8], na = __float_as_int(fa), nb = __float_as_int(fb);
    for (int k = 0; k < 8; ++k) f[k] = data[k + lane], n[k] = __float_as_int(f[k]);
    int start = 0;
    #pragma unroll 1
    for (int twice = 0; twice < 2; ++twice) {{  // first its instructions are fetched
        __syncthreads();
        start = (int)clock();
        int last = twice ? turns : 2;
        asm volatile("" : "+r"(last));
        #pragma unroll 1
        for (int turn = {begin}; turn < last; turn += {step}) {{
            {text}
        }}
    }}
    const int end = (int)clock();
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += f[k] + n[k];
    if (__float_as_int(sum) == 12345) sink[0] = sum;
    if (lane == 0) when[2 * (threadIdx.x >> 5)] = start, when[2 * (threadIdx.x >> 5) + 1] = end;
}}
"""
_FFMA = 'asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[K]) : "f"(fa), "f"(fb));'
_LOP3 = 'asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(n[K]) : "r"(na), "r"(nb));'
TEXTS = {"FFMA": (_FFMA,), "LOP3": (_LOP3,), "FFMA and LOP3": (_FFMA, _LOP3)}
"""Instructions that take turns. K: one of eight chains."""
COUNTS = (2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512, 768)
COUNTERS = ("register", "uniform")
_WARPS = (4, 8, 16, 32)


def loop_ends_source(name: str, count: int, counter: str) -> str:
    """Return CUDA source of a loop of `count` instructions, counted in a register of a kind."""
    begin, step = ("0", "1") if counter == "uniform" else ("lane >> 6", "1 + (lane >> 6)")
    texts = TEXTS[name]
    each = (texts[k % len(texts)].replace("K", str(k // len(texts) % 8)) for k in range(count))
    return _SOURCE.format(text="\n            ".join(each), begin=begin, step=step)


def least_cycles(
    kernel: Any, given: tuple[Any, ...], when: Any, warps: int, shared: int = 0
) -> int:
    """Return the cycles of a block from its first warp's start to its last one's end.

    The least of four launches. `when`: where each warp writes both; `shared`: dynamic bytes.
    """
    least = 1 << 30
    for _ in range(4):
        kernel((1,), (32 * warps,), given, shared_mem=shared)
        times = when.get()[: 2 * warps]
        least = min(least, int(times[1::2].max() - times[::2].min()))
    return least


def measure_loop_ends(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind and number of instructions, kind of counter, and number of warps."""
    open_gpu(device)
    import cupy

    data, sink = cupy.zeros(64, dtype=np.float32), cupy.zeros(64, dtype=np.float32)
    when = cupy.zeros(64, dtype=np.int32)

    def taken(kernel: Any, turns: int, warps: int) -> int:
        return least_cycles(kernel, (data, sink, when, np.int32(turns)), when, warps)

    rows = []
    with cupy.cuda.Device(device):
        for name, counter, count in product(TEXTS, COUNTERS, COUNTS):
            source = loop_ends_source(name, count, counter)
            kernel = cupy.RawModule(code=source).get_function("loops")
            few = max(16, 2048 // count)
            for warps in _WARPS:
                more = taken(kernel, 3 * few, warps) - taken(kernel, few, warps)
                rows.append(
                    {"instructions": name, "counter": counter, "count": count, "warps": warps,
                     "cycles": round(more / (2 * few * warps / 4), 3)}
                )  # fmt: skip
    return rows
