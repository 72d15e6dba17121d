"""How long stores take that write parts of sectors: cycles of an SM per instruction of a warp.

Each lane stores `bytes`; `group` lanes lie side by side, and the next ones `stride` bytes further.
So an instruction writes whole sectors or parts of them, one to four of a line. All lies in 16 MiB.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_store_parts"]

_MASK = (16 << 20) - 1
_TURNS, _STORES = 16, 16
_SOURCE = """
template <int BYTES, int GROUP, int STRIDE>
__device__ __forceinline__ void run(char* data, long long* when, int turns, unsigned mask) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    unsigned at = warp * 16 * (32 / GROUP) * STRIDE + lane / GROUP * STRIDE + lane % GROUP * BYTES;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            char* to = data + (at + k * (32 / GROUP) * STRIDE & mask);
            if (BYTES == 16)
                asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" :: "l"(to), "r"(turn));
            else if (BYTES == 8)
                asm volatile("st.global.v2.b32 [%0], {%1, %1};" :: "l"(to), "r"(turn));
            else if (BYTES == 4)
                asm volatile("st.global.b32 [%0], %1;" :: "l"(to), "r"(turn));
            else
                asm volatile("st.global.b8 [%0], %1;" :: "l"(to), "r"(turn));
        }
        at += gridDim.x * (blockDim.x / 32) * 16 * (32 / GROUP) * STRIDE;
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
#define KERNEL(B, G, T) extern "C" __global__ void __launch_bounds__(1024, 1) \\
    parts_##B##_##G##_##T(char* data, long long* when, int turns, unsigned mask) \\
    { run<B, G, T>(data, when, turns, mask); }
"""
_CASES = [
    (size, group, stride)
    for size in (1, 4, 8, 16)
    for group in (1, 32 // size)
    for stride in (4, 8, 16, 32, 64, 128)
    if group <= 32 and stride >= size * group
]  # fmt: skip


def measure_store_parts(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case, number of SMs and warps of an SM."""
    chip = open_gpu(device)
    import cupy

    rows = []
    lines = "".join("KERNEL({}, {}, {})\n".format(*case) for case in _CASES)
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "parts.cubin")
        path.write_bytes(compiled(_SOURCE + lines, Path(folder)))
        module = cupy.RawModule(path=str(path))
        data = cupy.zeros(_MASK + 1, dtype=np.uint8)
        for size, group, stride in _CASES:
            kernel = module.get_function(f"parts_{size}_{group}_{stride}")
            for sms in (1, chip.multiprocessors):
                for warps in (8, 32):
                    when = cupy.zeros(sms, dtype=np.int64)
                    least = float("inf")
                    for _ in range(3):
                        given = (data, when, np.int32(_TURNS), np.uint32(_MASK))
                        kernel((sms,), (32 * warps,), given)
                        least = min(least, float(np.median(when.get())))
                    cycles = round(least / (_TURNS * _STORES * warps), 2)
                    rows.append(
                        {"bytes": size, "group": group, "stride": stride, "sms": sms,
                         "warps": warps, "cycles": cycles}
                    )  # fmt: skip
    return rows
