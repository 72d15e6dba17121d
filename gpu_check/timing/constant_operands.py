"""What words of constant memory cost, by how many the code reads and how many warps read them.

A loop of FFMAs, each with a word of a table in constant memory. `named`: the code names each word;
`indexed`: at an index that a loop counts. `uniform`: at such an index, by ULDC, each word with one
that a lane loads.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["constants_source", "measure_constant_operands"]

_WORDS = (16, 32, 64, 96, 128, 192, 256, 512, 1024)
_SOURCE = """
__constant__ float table[8192];
extern "C" __global__ void __launch_bounds__(1024, 2)
named{words}(long long* when, float* sink, int turns) {{
    const float by = sink[0];
    float sum[4] = {{by, by + 1, by + 2, by + 3}};
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        #pragma unroll
        for (int k = 0; k < {words}; ++k) sum[k % 4] = sum[k % 4] * table[k] + by;
    }}
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum[0] + sum[1] + sum[2] + sum[3] == 12345) *sink = 1;
}}
"""
_INDEXED = """
extern "C" __global__ void __launch_bounds__(1024) indexed(long long* when, float* sink, int turns,
                                                           int words) {
    float sum = sink[0];
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll 1
        for (int k = 0; k < words; k += 4) {
            sum = sum * 0.5f + table[k], sum = sum * 0.5f + table[k + 1];
            sum = sum * 0.5f + table[k + 2], sum = sum * 0.5f + table[k + 3];
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = 1;
}
"""
_UNIFORM = """
extern "C" __global__ void __launch_bounds__(1024, 2) uniform(long long* when, float* sink,
                                                              int turns, int words) {
    const float* in = sink + 4 + threadIdx.x;
    float sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        for (int k = 0; k < words; ++k) sum += table[k] * in[k];
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = 1;
}
"""


def constants_source() -> str:
    """Return CUDA source of all loops."""
    head = "__constant__ float table[8192];\n"
    loops = [_SOURCE.format(words=words).removeprefix("\n").removeprefix(head) for words in _WORDS]
    return head + "".join(loops) + _INDEXED + _UNIFORM


def measure_constant_operands(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel, words and warps of an SM: cycles of an SM per word and warp."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "operands.cubin")
        path.write_bytes(compiled(constants_source(), Path(folder)))
        module = cupy.RawModule(path=str(path))
        sink, sms = cupy.zeros(4096, dtype=np.float32), chip.multiprocessors
        for how in ("named", "indexed", "uniform"):
            for words in _WORDS:
                kernel = module.get_function(f"named{words}" if how == "named" else how)
                turns = max(4, 4096 // words)
                more = () if how == "named" else (np.int32(words),)
                for threads, blocks in ((32, 1), (128, 1), (256, 1), (512, 1), (1024, 1), (128, 8),
                                        (256, 8), (1024, 2)):  # fmt: skip
                    when = cupy.zeros(sms * blocks, dtype=np.int64)
                    least = float("inf")
                    for _ in range(3):
                        kernel((sms * blocks,), (threads,), (when, sink, np.int32(turns), *more))
                        least = min(least, float(np.median(when.get())))
                    warps = threads * blocks // 32
                    rows.append(
                        {"how": how, "words": words, "warps": warps, "blocks": blocks,
                         "cycles": round(least / (turns * words * warps), 3)}
                    )  # fmt: skip
    return rows
