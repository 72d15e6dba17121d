"""Loads of windows that overlap, as of a stencil: cycles and wavefronts of an SM per load.

Each turn a warp loads eight words per lane, without arithmetic for their addresses, then waits for
all of them. `how` says where the eight loads begin:

* `shifted`: a word further each time, so all but the first load parts of two lines.
* `held`: as `shifted`, from lines that L1 holds.
* `rows`: a row of two lines further each time, a word off a line's begin; the next turn is a row
  further, so seven of the eight were loaded by the turn before.

`wavefronts`: of the data pipe, per load; `hits`: sectors that L1 had, or had asked for.

`python -m gpu_check.timing.windows` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.timing.bulk import loaded

__all__ = ["CASES", "SOURCE", "measure_windows"]

_TURNS = 24
_EACH = 8
_HOWS = {
    "shifted": (0, 1, 64), "held": (0, 1, 0), "rows": (1, 64, 64),
}  # fmt: skip
"""Words: the first load's begin, from load to load, from turn to turn."""
SOURCE = """
template <int BEGIN, int APART> __device__ void run(const float* data, int further, int warp_apart,
                                                    int turns, long long* when, float* sink) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* at = data + (blockIdx.x * (blockDim.x / 32) + warp) * warp_apart + lane + BEGIN;
    float sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; ++turn) {
        if (turn == 0) { __syncthreads(); start = clock64(); }
        float v[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[k]) : "l"(at + APART * k));
        #pragma unroll
        for (int k = 0; k < 8; ++k) sum += v[k];
        at += further;
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}
#define KERNEL(NAME, BEGIN, APART) extern "C" __global__ void __launch_bounds__(1024, 1) \\
    windows_##NAME(const float* data, int further, int warp_apart, int turns, long long* when, \\
                   float* sink) { run<BEGIN, APART>(data, further, warp_apart, turns, when, sink); }
""" + "".join(f"KERNEL({name}, {begin}, {apart})\n" for name, (begin, apart, _) in _HOWS.items())
CASES = [(how, sms, warps) for how in _HOWS for sms in (1, 132) for warps in (4, 16, 32)]
"""Which windows, SMs, warps of each."""
_METRICS = [
    "smsp__inst_executed_op_global_ld.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
]  # fmt: skip


def measure_windows(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError.
    """
    found = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.windows", str(device)]
    seen = run_ncu(command, _METRICS, "regex:^windows")[1::2]
    rows = []
    for (how, sms, warps), cycles, cells in zip(CASES, found, seen, strict=True):
        loads, wavefronts, sectors, hits = metrics_of(cells, _METRICS)
        rows.append(
            {"how": how, "sms": sms, "warps": warps,
             "cycles": round(cycles / (_TURNS * _EACH * warps), 3),
             "wavefronts": round(wavefronts / max(loads, 1), 3),
             "hits": round(hits / max(sectors, 1), 3)}
        )  # fmt: skip
    return rows


def _launch_all(device: int) -> list[float]:
    """Launch all cases twice, and return the median SM's cycles of the second launches."""
    found = []
    with loaded(SOURCE, device) as (module, *_):
        import cupy

        data, sink = cupy.zeros(8 << 20, dtype=np.float32), cupy.zeros(1, dtype=np.float32)
        for how, sms, warps in CASES:
            when = cupy.zeros(sms, dtype=np.int64)
            further = _HOWS[how][2]
            apart = further * (_TURNS + 2) if how != "held" else 64
            for _ in range(2):
                module.get_function(f"windows_{how}")(
                    (sms,), (32 * warps,),
                    (data, *map(np.int32, (further, apart, _TURNS)), when, sink),
                )  # fmt: skip
            found.append(float(np.median(when.get())))
    return found


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
