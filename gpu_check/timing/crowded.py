"""One queue for all that goes to memory: what waits in it, and for how long, as an H100 does.

`measure_full_queues`: each of the warps issues `count` accesses that take long (`first`: loads or
stores of 32 wavefronts, or gathers of 32 lines of L1), and others behind them (`behind`). `issued`:
when it issues the one of that place, from its first access, median of the warps.

`measure_crowded`: warps of one block access shared memory of `ways` wavefronts, eight times each,
again and again (`beside`); four warps of another block pause for a time that is drawn, and access
memory (`timed`). Which block is first on an SM is the same for all. `cycles`: of a pause and an
access, mean of the SMs that have both blocks.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.behind import BESIDE

__all__ = ["BEHIND", "measure_crowded", "measure_full_queues"]

_STAMP = 'asm volatile("mov.u64 %0, %%clock64;" : "=l"({to}));'
_TAKE_LONG = {
    "shared load": 'int a{i}; asm volatile("ld.volatile.shared.b32 %0, [%1];"'
    ' : "=r"(a{i}) : "r"(far + 4 * {i}));',
    "shared store": 'asm volatile("st.volatile.shared.b32 [%0], %1;"'
    ' :: "r"(far + 4 * {i}), "r"(sum));',
    "gather": 'int a{i}; asm volatile("ld.global.ca.b32 %0, [%1];"'
    ' : "=r"(a{i}) : "l"(gathered + 1024 * {i}));',
}
BEHIND = {
    "shared load": 'int b{i}; asm volatile("ld.volatile.shared.b32 %0, [%1];"'
    ' : "=r"(b{i}) : "r"(own + 4 * {i}));',
    "shared store": 'asm volatile("st.volatile.shared.b32 [%0], %1;"'
    ' :: "r"(own + 4 * {i}), "r"(sum));',
    "load in L1": 'int b{i}; asm volatile("ld.global.ca.b32 %0, [%1];"'
    ' : "=r"(b{i}) : "l"(from + 1024 * {i}));',
    "load of the L2": 'int b{i}; asm volatile("ld.global.cg.b32 %0, [%1];"'
    ' : "=r"(b{i}) : "l"(from + 1024 * {i}));',
    "store": 'asm volatile("st.global.b32 [%0], %1;" :: "l"(to + 1024 * {i}), "r"(sum));',
}
"""What is issued behind accesses that take long, by name."""
_FIRST = (("shared load", 12), ("shared load", 20), ("shared store", 12), ("gather", 8))
_BEHIND_COUNT = 14
_BYTES = 100_000
"""Of shared memory: an SM has two blocks at most."""
_QUEUE = """
extern "C" __global__ void __launch_bounds__(256) queue(long long* out, const int* data, int* sink)
{{
    extern __shared__ int s[];
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned base = (unsigned)__cvta_generic_to_shared(s) + warp * 8192;
    const unsigned own = base + 4 * lane, far = base + 128 * lane;
    const int* from = data + blockIdx.x * 65536 + warp * 16384 + lane;
    const int* gathered = data + blockIdx.x * 65536 + warp * 1024 + 32 * lane;
    int* to = sink + blockIdx.x * 65536 + warp * 16384 + lane;
    int sum = 0;
    long long begun, t[{count}];
    #pragma unroll 1
    for (int turn = 0; turn < 3; ++turn) {{  // the first brings what caches hold
        __syncthreads();
        int pause = sum;
        #pragma unroll 1
        for (int k = 0; k < 200; ++k) pause = pause * 3 + k;
        sum ^= pause & 2;
        __syncthreads();
        {begin}
        {body}
        {use}
    }}
    if (lane == 0)
        for (int k = 0; k < {count}; ++k)
            out[(blockIdx.x * (blockDim.x / 32) + warp) * {count} + k] = t[k] - begun;
    if (sum == 123456789) *sink = 1;
}}
"""
_TIMED = {
    "shared load": 'asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v) : "r"(own));',
    "load in L1": 'asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v) : "l"(from));',
    "load of the L2": 'asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(v) : "l"(from));',
    "shuffle": 'asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(v) : "r"(sum));',
}
_TURNS = 128
_CROWD = """
extern "C" __global__ void __launch_bounds__(1024) crowd(
    int* out, const int* data, int first, int loops, int busy, int ways)
{{
    extern __shared__ int s[];
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned begin = (unsigned)__cvta_generic_to_shared(s), own = begin + 4 * lane;
    const unsigned far = begin + 4 * (lane * ways % 32) + 128 * (lane * ways / 32);
    const int* from = data + blockIdx.x * 256 + threadIdx.x;
    int sum = 0;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) out[4 * gridDim.x + blockIdx.x] = sm;
    if (blockIdx.x >= first && warp < 4) {{
        unsigned x = warp * 77777 + 12345;
        const int begun = (int)clock64();
        #pragma unroll 1
        for (int i = 0; i < {turns}; ++i) {{
            int v, pause = sum;
            x = x * 1664525u + 1013904223u;
            #pragma unroll 1
            for (int k = 0; k < (int)(x >> 24 & 63); ++k) pause = pause * 3 + k;
            sum ^= pause & 2;
            {timed}
            asm volatile("xor.b32 %0, %0, %1;" : "+r"(sum) : "r"(v & 4));
        }}
        const int ended = (int)clock64();
        if (lane == 0) out[blockIdx.x * 4 + warp] = ended - begun;
    }} else if (blockIdx.x < first && warp < busy) {{
        #pragma unroll 1
        for (int k = 0; k < loops; ++k) {{
            int b[8] = {{}};
            #pragma unroll
            for (int i = 0; i < 8; ++i) {beside}
            for (int i = 0; i < 8; ++i) sum ^= b[i];
        }}
    }}
    if (sum == 123456789) *out = 1;
}}
"""


def _queue_source(first: str, count: int, behind: str) -> str:
    """Return CUDA source of warps that fill their queues, and say when they issue what."""
    body = [_TAKE_LONG[first].format(i=i) for i in range(count)]
    for i in range(_BEHIND_COUNT):
        body += [BEHIND[behind].format(i=i), _STAMP.format(to=f"t[{i}]")]
    use = [f"sum ^= a{i};" for i in range(count) if first != "shared store"]
    use += [f"sum ^= b{i};" for i in range(_BEHIND_COUNT) if not behind.endswith("store")]
    return _QUEUE.format(
        count=_BEHIND_COUNT, begin=_STAMP.format(to="begun"), body="\n        ".join(body),
        use=" ".join(use),
    )  # fmt: skip


def _kernel(source: str, name: str, path: Path) -> Any:
    """Return a compiled kernel that may use `_BYTES` of shared memory."""
    import cupy

    path.write_bytes(compiled(source, path.parent))
    kernel = cupy.RawModule(path=str(path)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = _BYTES
    return kernel


def measure_full_queues(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per first accesses, what is behind them, warps of each SM, and place."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data, sink = (cupy.zeros((sms + 1) << 16, dtype=np.int32) for _ in range(2))
        for number, ((first, count), behind) in enumerate(product(_FIRST, BEHIND)):
            source = _queue_source(first, count, behind)
            kernel = _kernel(source, "queue", Path(folder, f"{number}.cubin"))
            for warps in (4, 8):
                out = cupy.zeros((sms * warps, _BEHIND_COUNT), dtype=np.int64)
                for _ in range(2):
                    kernel((sms,), (32 * warps,), (out, data, sink), shared_mem=_BYTES)
                for place, issued in enumerate(np.median(out.get(), axis=0)):
                    rows.append(
                        {"first": first, "count": count, "behind": behind, "warps": warps,
                         "place": place, "issued": float(issued)}
                    )  # fmt: skip
    return rows


def measure_crowded(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per timed access, what is beside it, its wavefronts and its warps."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data = cupy.zeros(1 << 20, dtype=np.int32)
        for number, (beside, timed) in enumerate(product(BESIDE, _TIMED)):
            source = _CROWD.format(turns=_TURNS, timed=_TIMED[timed], beside=BESIDE[beside])
            kernel = _kernel(source, "crowd", Path(folder, f"{number}.cubin"))
            for ways, warps in product((32, 8, 2), (0, 1, 2, 4, 8, 16, 24)):
                # Until the timed warps have ended, the others have work.
                turn = max(8 * ways * warps, 16 * ways + 80)
                loops = 2 * _TURNS * (900 + 24 * ways * warps) // turn
                out = cupy.zeros(5 * 2 * sms, dtype=np.int32)
                for _ in range(2):
                    args = (out, data, *(np.int32(each) for each in (sms, loops, warps, ways)))
                    kernel((2 * sms,), (1024,), args, shared_mem=_BYTES)
                found = out.get()
                of_sm = found[8 * sms :]
                both = np.isin(of_sm[sms:], of_sm[:sms])
                cycles = found[4 * sms : 8 * sms].reshape(sms, 4)[both].mean() / _TURNS
                rows.append(
                    {"timed": timed, "beside": beside, "ways": ways, "warps": warps,
                     "cycles": round(float(cycles), 1)}
                )  # fmt: skip
    return rows
