"""What a read of a table in constant memory costs where lanes read different words.

A warp's lanes follow the table: what is read is the next index. `lanes`: so many lanes read words
of their own, the others the same as one of them; `apart`: words between theirs; `words`: of the
table, which all warps walk through. `cycles`: of an SM per read and warp, all SMs at work.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["constant_lanes_source", "measure_constant_lanes"]

_TURNS = 32
_MOST = 16384
_SOURCE = """
__constant__ int table[16384];
extern "C" __global__ void __launch_bounds__(1024, 2)
follow(long long* when, int* sink, int words, int lanes, int apart, int turns) {
    int at = ((threadIdx.x & 31) % lanes * apart + threadIdx.x / 32 * 64) % words;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -4; turn < turns; turn += 4) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        at = table[at], at = table[at], at = table[at], at = table[at];
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (at == -1) *sink = 1;
}
"""


def constant_lanes_source() -> str:
    """Return the CUDA source of the loop."""
    return _SOURCE


def measure_constant_lanes(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per table, number of different words, distance and warps of an SM."""
    chip = open_gpu(device)
    import cupy

    rows = []
    sms = chip.multiprocessors
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "lanes.cubin")
        path.write_bytes(compiled(_SOURCE, Path(folder)))
        module = cupy.RawModule(path=str(path))
        kernel, place = module.get_function("follow"), module.get_global("table")
        held = cupy.ndarray((_MOST,), dtype=np.int32, memptr=place)
        sink = cupy.zeros(1, dtype=np.int32)
        for words in (64, 256, 512, 1024, 4096, _MOST):
            for apart in (1, 17):
                held[:words] = (cupy.arange(words, dtype=np.int32) + 32 * apart) % words
                for lanes in (1, 2, 4, 8, 16, 32):
                    for threads, blocks in ((32, 1), (128, 1), (512, 1), (128, 16)):
                        when = cupy.zeros(sms * blocks, dtype=np.int64)
                        least = float("inf")
                        for _ in range(3):
                            kernel((sms * blocks,), (threads,), (
                                when, sink, np.int32(words), np.int32(lanes), np.int32(apart),
                                np.int32(_TURNS)))  # fmt: skip
                            least = min(least, float(np.median(when.get())))
                        warps = threads * blocks // 32
                        rows.append(
                            {"words": words, "apart": apart, "lanes": lanes, "warps": warps,
                             "cycles": round(least / (_TURNS * warps), 3)}
                        )  # fmt: skip
    return rows
