"""Stores that fill sectors together: cycles of an SM per store of a warp.

Each lane has a record of `record` words, and stores its words one by one. `beside`: a word after
the other of a record; `apart`: the first word of eight records, then their second one. All lies in
16 MiB. `l2_sectors`: what reaches the L2, per store.

`python -m gpu_check.timing.store_halves` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.timing.bulk import loaded

__all__ = ["CASES", "WORDS", "measure_store_halves", "store_halves_source"]

_TURNS = 16
_RECORDS = 8
_WORDS = (1, 2, 4)
_SOURCE = """
template <int WORDS, bool APART> __device__ void run(unsigned* data, long long* when, int turns) {
    const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    unsigned at = (warp * 8 * 32 + threadIdx.x % 32) * WORDS;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        unsigned* to = data + (at & MASK);
        #pragma unroll
        for (int k = 0; k < 8 * WORDS; ++k) {
            const int record = APART ? k % 8 : k / WORDS, word = APART ? k / 8 : k % WORDS;
            asm volatile("st.global.b32 [%0], %1;" :: "l"(to + record * 32 * WORDS + word),
                         "r"(turn));
        }
        at += gridDim.x * (blockDim.x / 32) * 8 * 32 * WORDS;
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
#define KERNEL(W, A) extern "C" __global__ void __launch_bounds__(1024, 1) \\
    halves_##W##_##A(unsigned* data, long long* when, int turns) { run<W, A>(data, when, turns); }
KERNEL(1, 0) KERNEL(2, 0) KERNEL(2, 1) KERNEL(4, 0) KERNEL(4, 1)
"""
CASES = [
    (words, apart, sms, warps)
    for words in _WORDS for apart in (0, 1) if words > 1 or not apart
    for sms in (1, 132) for warps in (8, 32)
]  # fmt: skip
"""Words of a record, whether they are stored apart, SMs, warps of each."""
WORDS = 4 << 20
"""Of the data. A turn of a warp stays within its records: they are 1,024 words more at most."""
_METRICS = [
    "smsp__inst_executed_op_global_st.sum", "lts__t_sectors_srcunit_tex_op_write.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
]  # fmt: skip


def store_halves_source() -> str:
    """Return CUDA source of the kernels."""
    return _SOURCE.replace("MASK", str(WORDS - 1))


def measure_store_halves(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError.
    """
    found = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.store_halves", str(device)]
    seen = run_ncu(command, _METRICS, "regex:^halves")[1::2]
    rows = []
    for (words, apart, sms, warps), cycles, cells in zip(CASES, found, seen, strict=True):
        stores, sectors, wavefronts = metrics_of(cells, _METRICS)
        rows.append(
            {"record": words, "how": "apart" if apart else "beside", "sms": sms, "warps": warps,
             "cycles": round(cycles / (_TURNS * _RECORDS * words * warps), 3),
             "l2_sectors": round(sectors / max(stores, 1), 3),
             "wavefronts": round(wavefronts / max(stores, 1), 3)}
        )  # fmt: skip
    return rows


def _launch_all(device: int) -> list[float]:
    """Launch all cases twice, and return the median SM's cycles of the second launches."""
    found = []
    with loaded(store_halves_source(), device) as (module, *_):
        import cupy

        data = cupy.zeros(WORDS + 1024, dtype=np.uint32)
        for words, apart, sms, warps in CASES:
            when = cupy.zeros(sms, dtype=np.int64)
            for _ in range(2):
                module.get_function(f"halves_{words}_{apart}")(
                    (sms,), (32 * warps,), (data, when, np.int32(_TURNS))
                )
            found.append(float(np.median(when.get())))
    return found


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
