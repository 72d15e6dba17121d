"""When halves of sectors that a warp stores one after the other go to the L2 as one.

Each store of a warp has `lines` pieces of 16 bytes, each in a line of its own. A warp stores the
first halves of `group` times as many sectors, then their second halves. Then it goes on to other
lines. `sms` are at work, and `warps` of each. `sectors`: what reaches the L2, per store; half as
many as `lines` where all are joined. `cycles`: of an SM per store of a warp.

`python -m gpu_check.timing.store_joins` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.timing.bulk import loaded

__all__ = ["BYTES", "CASES", "TURNS", "measure_store_joins", "store_joins_source"]

_SOURCE = """
template <int LINES, int GROUP>
__device__ __forceinline__ void run(char* data, long long* when, int turns) {
    constexpr int LANES = LINES <= 8 ? 4 : 32 / LINES, PIECE = 16 / LANES;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    unsigned at = warp * turns * GROUP * LINES * 128 + lane / LANES * 128 + lane % LANES * PIECE;
    __syncthreads();
    const long long start = clock64();
    if (lane < LINES * LANES)
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {
            char* to = data + (at & MASK);
            #pragma unroll
            for (int k = 0; k < 2 * GROUP; ++k) {
                char* piece = to + k % GROUP * LINES * 128 + k / GROUP * 16;
                if (PIECE == 4)
                    asm volatile("st.global.b32 [%0], %1;" :: "l"(piece), "r"(turn) : "memory");
                else if (PIECE == 8)
                    asm volatile("st.global.v2.b32 [%0], {%1, %1};"
                        :: "l"(piece), "r"(turn) : "memory");
                else
                    asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};"
                        :: "l"(piece), "r"(turn) : "memory");
            }
            at += GROUP * LINES * 128;
        }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
"""
TURNS, BYTES = 64, 32 << 20
_GROUPS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32)
_LINES = (1, 2, 4, 8, 16, 32)
CASES = [
    *((lines, group, 1, 1) for lines, group in product(_LINES, _GROUPS) if lines * group <= 64),
    *((lines, group, sms, warps) for sms, (lines, group), warps in
      product((1, 132), ((1, 1), (1, 4), (8, 1), (8, 2), (8, 4)), (2, 3, 4, 6, 8, 16))),
    *((8, group, 132, 1) for group in (1, 2, 3, 4)),
]  # fmt: skip
"""Lines of a store, stores before the second halves, SMs, warps of each."""
_METRICS = ["smsp__inst_executed_op_global_st.sum", "lts__t_sectors_srcunit_tex_op_write.sum"]


def store_joins_source() -> str:
    """Return CUDA source of all kernels."""
    kinds = dict.fromkeys(case[:2] for case in CASES)
    return _SOURCE.replace("MASK", f"{BYTES - 1}u") + "".join(
        f'extern "C" __global__ void joins_{lines}_{group}(char* data, long long* when, int turns)'
        f" {{ run<{lines}, {group}>(data, when, turns); }}\n"
        for lines, group in kinds
    )


def measure_store_joins(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError.
    """
    found = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.store_joins", str(device)]
    seen = run_ncu(command, _METRICS, "regex:^joins")[1::2]
    rows = []
    for (lines, group, sms, warps), cycles, cells in zip(CASES, found, seen, strict=True):
        stores, sectors = metrics_of(cells, _METRICS)
        rows.append(
            {"lines": lines, "group": group, "sms": sms, "warps": warps,
             "sectors": round(sectors / stores, 3),
             "cycles": round(cycles / (TURNS * 2 * group * warps), 3)}
        )  # fmt: skip
    return rows


def _launch_all(device: int) -> list[float]:
    """Launch all cases twice, and return the median SM's cycles of the second launches."""
    found = []
    with loaded(store_joins_source(), device) as (module, *_):
        import cupy

        data = cupy.zeros(BYTES + (1 << 20), dtype=np.uint8)
        for lines, group, sms, warps in CASES:
            when = cupy.zeros(sms, dtype=np.int64)
            for _ in range(2):
                module.get_function(f"joins_{lines}_{group}")(
                    (sms,), (32 * warps,), (data, when, np.int32(TURNS))
                )
            found.append(float(np.median(when.get())))
    return found


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
