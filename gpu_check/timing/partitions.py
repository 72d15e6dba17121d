"""Sub-partitions: which of them run the warps of a block, and how fast one alone is served.

`measure_first_warps` has the blocks of each SM say which warps of the SM they got. A warp's number
modulo four is its sub-partition. `measure_partitions` lets warps of one sub-partition, or of
several, access shared memory with conflicts.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_first_warps", "measure_partitions"]

_SPIN, _TURNS, _EACH = 20_000, 200, 8
_WHERE = """
extern "C" __global__ void where(int* out, int spin) {
    unsigned sm, warp;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    const long long begun = clock64();
    while (clock64() - begun < spin + 977 * (blockIdx.x % 7)) ;
    if (threadIdx.x % 32 == 0) {
        int* own = out + 3 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
        own[0] = sm, own[1] = warp, own[2] = (int)(begun & 0x7fffffff);
    }
}
"""
_ACCESSES = """
extern "C" __global__ void {op}(long long* when, float* sink, int stride, int turns, int who) {{
    extern __shared__ float s[];
    float sum = 0, v = threadIdx.x;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * (threadIdx.x % 32 * stride);
    __syncthreads();
    const long long start = clock64();
    if (who >> threadIdx.x / 32 & 1) {{
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {{
            {body}
        }}
        when[blockIdx.x * 16 + threadIdx.x / 32] = clock64() - start;
    }}
    if (sum == 12345) *sink = sum;
}}
"""
_OPS = {
    "load": 'asm volatile("{{ .reg .f32 t; ld.volatile.shared.f32 t, [%1+{at}];'
    ' add.f32 %0, %0, t; }}" : "+f"(sum) : "r"(at));',
    "store": 'asm volatile("st.volatile.shared.f32 [%0+{at}], %1;" :: "r"(at), "f"(v));',
    "add": 'asm volatile("red.shared.add.u32 [%0+{at}], %1;" :: "r"(at), "r"(turn));',
}


def measure_first_warps(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per block size and place of a block among those of its SM.

    `further` is how many sub-partitions behind the first block's first warp its own lies, `sms` how
    many SMs have it so; `in_order` says that its other warps follow one by one.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=_WHERE).get_function("where")
        for threads in (32, 64, 96, 128, 160, 192, 256, 384, 512):
            warps = threads // 32
            grid = chip.multiprocessors * min(32, 64 // warps) * 2
            out = cupy.zeros((grid, warps, 3), dtype=np.int32)
            kernel((grid,), (threads,), (out, np.int32(_SPIN)))
            kernel((grid,), (threads,), (out, np.int32(_SPIN)))
            found = out.get()
            counts: Counter[tuple[int, int, bool]] = Counter()
            for sm in np.unique(found[:, 0, 0]):
                own = found[found[:, 0, 0] == sm]
                own = own[np.argsort(own[:, :, 2].min(axis=1), kind="stable")]
                first = own[0, 0, 1]
                for place, block in enumerate(own[: min(32, 64 // warps)]):
                    steps = np.diff(block[:, 1]) % 4
                    further = int(block[0, 1] - first) % 4
                    counts[place, further, bool((steps == 1).all())] += 1
            rows += [
                {"threads": threads, "place": place, "further": further,
                 "in_order": int(in_order), "sms": many}
                for (place, further, in_order), many in sorted(counts.items())
            ]  # fmt: skip
    return rows


def measure_partitions(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, conflict, and warps: cycles of the SM per access and warp.

    `partitions` is how many sub-partitions the warps are spread over.
    """
    chip = open_gpu(device)
    import cupy

    source = "".join(
        _ACCESSES.format(op=op, body=" ".join(text.format(at=4 * k) for k in range(_EACH)))
        for op, text in _OPS.items()
    )
    warps_of = {
        (1, 1): [0], (2, 1): [0, 4], (4, 1): [0, 4, 8, 12], (2, 2): [0, 1], (4, 2): [0, 1, 4, 5],
        (4, 4): [0, 1, 2, 3], (16, 4): list(range(16)),
    }  # fmt: skip
    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=source)
        sink = cupy.zeros(1, dtype=np.float32)
        for op in _OPS:
            for stride in (1, 2, 4, 8, 16, 32):
                for (warps, partitions), which in warps_of.items():
                    who, least = sum(1 << each for each in which), float("inf")
                    for _ in range(3):
                        when = cupy.zeros((chip.multiprocessors, 16), dtype=np.int64)
                        module.get_function(op)(
                            (chip.multiprocessors,), (512,),
                            (when, sink, np.int32(stride), np.int32(_TURNS), np.int32(who)),
                            shared_mem=8192,
                        )  # fmt: skip
                        least = min(least, float(np.median(when.get().max(axis=1))))
                    cycles = round(least / (_TURNS * _EACH * warps), 2)
                    rows.append(
                        {"op": op, "ways": stride, "warps": warps, "partitions": partitions,
                         "cycles": cycles}
                    )  # fmt: skip
    return rows
