"""How long loads take beside stores: all SMs load from the L2, and store what they loaded.

Each warp loads some lines, waits for them, and stores some: `separate`, to other memory, or
`place`, where it loaded. `cycles` are those of a turn. With few warps a load takes its latency,
with many the L2 delivers and takes what it can.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["measure_mixed"]

_WORDS = 1 << 21
"""Of the memory that is loaded, and of that which is stored to: 8 MiB each."""
_TURNS = 64
_SOURCE = """
template <int WIDTH, int LOADS, int STORES, bool PLACE>
__device__ void run(unsigned* data, long long* when, unsigned* sink, int turns) {
    const unsigned all = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = me * WIDTH, sum = 0;
    unsigned v[LOADS ? LOADS : 1][4];
    long long start = 0;
    #pragma unroll 1
    for (int turn = -4; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const unsigned* from = data + (at + k * all * WIDTH & WORDS - 1) + sum;
            if (WIDTH == 4)
                asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[k][0]),
                             "=r"(v[k][1]), "=r"(v[k][2]), "=r"(v[k][3]) : "l"(from));
            else
                asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(v[k][0]) : "l"(from));
        }
        for (int k = 0; k < LOADS; ++k) sum |= v[k][0];  // zero, which nobody but the data knows
        #pragma unroll
        for (int k = 0; k < STORES; ++k) {
            unsigned* to = data + (PLACE ? 0 : WORDS) + (at + k * all * WIDTH & WORDS - 1) + sum;
            if (WIDTH == 4)
                asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" :: "l"(to), "r"(sum));
            else
                asm volatile("st.global.b32 [%0], %1;" :: "l"(to), "r"(sum));
        }
        at += all * WIDTH * (LOADS > STORES ? LOADS : STORES);
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}
#define KERNEL(W, L, S, P) extern "C" __global__ void __launch_bounds__(1024, 2) \\
    mixed_##W##_##L##_##S##_##P(unsigned* data, long long* when, unsigned* sink, int turns) \\
    { run<W, L, S, P>(data, when, sink, turns); }
"""
_CASES = [
    (width, loads, stores, place)
    for width in (1, 4)
    for loads, stores, place in (
        (1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 3, 0), (3, 1, 0), (3, 3, 0), (3, 3, 1), (0, 1, 0),
        (0, 4, 0), (4, 0, 0), (4, 4, 0), (4, 1, 1),
    )
]  # fmt: skip


def measure_mixed(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case, number of SMs and warps of an SM: cycles, bytes per cycle of an SM."""
    chip = open_gpu(device)
    import cupy

    rows = []
    lines = "".join("KERNEL({}, {}, {}, {})\n".format(*case) for case in _CASES)
    source = (_SOURCE + lines).replace("WORDS", f"{_WORDS}u")
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "mixed.cubin")
        path.write_bytes(compiled(source, Path(folder)))
        module = cupy.RawModule(path=str(path))
        data, sink = cupy.zeros(2 * _WORDS, dtype=np.uint32), cupy.zeros(1, dtype=np.uint32)
        for width, loads, stores, place in _CASES:
            kernel = module.get_function(f"mixed_{width}_{loads}_{stores}_{place}")
            for sms in (1, chip.multiprocessors):
                for warps in (1, 4, 8, 16, 32, 48, 64):
                    blocks = 2 if warps > 32 else 1
                    when = cupy.zeros(sms * blocks, dtype=np.int64)
                    least = float("inf")
                    for _ in range(3):
                        kernel(
                            (sms * blocks,), (32 * warps // blocks,),
                            (data, when, sink, np.int32(_TURNS)),
                        )  # fmt: skip
                        least = min(least, float(np.median(when.get())))
                    size = 128 * width * warps * _TURNS / least
                    rows.append(
                        {"bytes": 4 * width, "loads": loads, "stores": stores,
                         "place": "place" if place else "separate", "sms": sms, "warps": warps,
                         "cycles": round(least / _TURNS, 1), "read": round(loads * size, 2),
                         "written": round(stores * size, 2)}
                    )  # fmt: skip
    return rows
