"""What loads of several lines cost where L1 does not have them: cycles of an SM per load.

One lane in so many reads a line of its own, anywhere in a footprint, and every lane a word of
another bank. Loads do not wait for each other: four are in flight per warp. `kept`: L1 keeps what
is read; `passed`: it is not asked (.cg). `wavefronts`: of the data pipe, per load; `hits`: sectors
that L1 had, of those asked for.

`python -m gpu_check.timing.misses` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.timing.bulk import loaded

__all__ = ["CASES", "SOURCE", "measure_misses"]

_TURNS = 32
_LOADS = 4
SOURCE = """
template <bool KEPT> __device__ void run(const unsigned* data, unsigned lines, unsigned share,
                                         long long* when, unsigned* sink) {
    const unsigned lane = threadIdx.x % 32, me = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = me / share * 2654435761u + 12345, sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -4; turn < TURNS; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        unsigned v[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            x = x * 1664525u + 1013904223u;
            const unsigned* at = data + (size_t)((x >> 8) & lines - 1) * 32 + lane;
            if (KEPT) asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v[k]) : "l"(at));
            else asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(v[k]) : "l"(at));
        }
        for (int k = 0; k < LOADS; ++k) sum += v[k];
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}
extern "C" __global__ void kept(const unsigned* data, unsigned lines, unsigned share,
                                long long* when, unsigned* sink) {
    run<true>(data, lines, share, when, sink);
}
extern "C" __global__ void passed(const unsigned* data, unsigned lines, unsigned share,
                                  long long* when, unsigned* sink) {
    run<false>(data, lines, share, when, sink);
}
"""
CASES = [
    (how, kibibytes, sms, warps, lines)
    for how, kibibytes in (("kept", 64), ("kept", 512), ("kept", 2048), ("kept", 16384),
                           ("passed", 2048))
    for sms in (1, 132)
    for warps in (4, 32)
    for lines in (1, 2, 4, 8, 16, 32)
]  # fmt: skip
"""How L1 is asked, KiB of the footprint, SMs, warps of each, lines of a load."""
_METRICS = [
    "smsp__inst_executed_op_global_ld.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
]  # fmt: skip


def measure_misses(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError.
    """
    found = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.misses", str(device)]
    seen = run_ncu(command, _METRICS, "regex:^(kept|passed)$")[1::2]
    rows = []
    for case, cycles, cells in zip(CASES, found, seen, strict=True):
        how, size, sms, warps, lines = case
        loads, wavefronts, sectors, hits = metrics_of(cells, _METRICS)
        rows.append(
            {"how": how, "kibibytes": size, "sms": sms, "warps": warps, "lines": lines,
             "cycles": round(cycles / (_TURNS * _LOADS * warps), 3),
             "wavefronts": round(wavefronts / max(loads, 1), 3),
             "hits": round(hits / max(sectors, 1), 3)}
        )  # fmt: skip
    return rows


def _launch_all(device: int) -> list[float]:
    """Launch all cases twice, and return the median SM's cycles of the second launches."""
    found = []
    source = SOURCE.replace("TURNS", str(_TURNS)).replace("LOADS", str(_LOADS))
    with loaded(source, device) as (module, *_):
        import cupy

        data, sink = cupy.zeros(1 << 22, dtype=np.uint32), cupy.zeros(1, dtype=np.uint32)
        for how, size, sms, warps, lines in CASES:
            when = cupy.zeros(sms, dtype=np.int64)
            for _ in range(2):
                module.get_function(how)(
                    (sms,), (32 * warps,),
                    (data, np.uint32(size * 8), np.uint32(32 // lines), when, sink),
                )  # fmt: skip
            found.append(float(np.median(when.get())))
    return found


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
