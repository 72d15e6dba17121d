"""What several warps cost one another that add floats to the same shared words, or to one bank.

An add of f32 is a loop of a load, the add and ATOMS.CAST.SPIN (simulator.law.loops): alone, a warp
needs as many rounds as its fullest bank has lanes. A round is two wavefronts, so the profiler's
wavefronts tell how many rounds fail because another warp wrote the word in between.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.device import open_gpu
from gpu_check.probe.ops import probe_op

__all__ = ["PATTERNS", "measure_contention"]

_WARPS = (1, 2, 3, 4, 6, 8)
_FEW, _MANY = 16, 272
_SOURCE = """
extern "C" __global__ void contend(const unsigned* words, const unsigned* idle, unsigned repeats,
                                   long long* cycles) {
    extern __shared__ float s[];
    for (unsigned k = threadIdx.x; k < 1024; k += blockDim.x) s[k] = 0;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * words[threadIdx.x];
    const float add = 1.0f + (threadIdx.x & 31);
    const bool active = !idle[threadIdx.x];
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned turn = 0; turn < repeats; ++turn) {
        if (active)
            asm volatile("red.shared.add.f32 [%0], %1;" :: "r"(at), "f"(add) : "memory");
        __syncwarp();  // else lanes that are through begin the next turn beside the others
    }
    __syncthreads();
    if (threadIdx.x == 0) *cycles = clock64() - start;
}
"""
_LANE = np.arange(32)
PATTERNS: dict[str, Callable[[int], tuple[NDArray[np.int64], NDArray[np.bool_]]]] = {
    "one lane a warp, one word": lambda warp: (0 * _LANE, _LANE > 0),
    "one lane a warp, words of one bank": lambda warp: (32 * warp + 0 * _LANE, _LANE > 0),
    "one lane a warp, banks of their own": lambda warp: (warp + 0 * _LANE, _LANE > 0),
    "a word a lane, the same of all warps": lambda warp: (_LANE, _LANE < 0),
    "a word a lane, each warp its own": lambda warp: (32 * warp + _LANE, _LANE < 0),
    "four lanes a word, the same of all warps": lambda warp: (_LANE // 4, _LANE < 0),
    "four lanes a word, each warp its own": lambda warp: (32 * warp + _LANE // 4, _LANE < 0),
    "all lanes, one word": lambda warp: (0 * _LANE, _LANE < 0),
    "all lanes, a word a warp, one bank": lambda warp: (32 * warp + 0 * _LANE, _LANE < 0),
    "all lanes, a word a warp, banks of their own": lambda warp: (warp + 0 * _LANE, _LANE < 0),
}
"""Name → the words and the idle lanes of a warp."""


def measure_contention(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern and number of warps: rounds per add of a warp, and cycles.

    `rounds` are half the wavefronts of a warp's add, averaged over the warps; `cycles` are those
    of the block per add of each warp, by the clock, outside the profiler.
    """
    cycles = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.contention", str(device)]
    metrics = list(probe_op("add.f32").metrics)
    counted = [metrics_of(row, metrics)[0] for row in run_ncu(command, metrics, "contend")]
    wavefronts = np.array(counted).reshape(-1, 2)
    rows = []
    for (name, warps), seen, ticks in zip(_cases(), wavefronts, cycles, strict=True):
        adds = (_MANY - _FEW) * warps
        rows.append(
            {
                "pattern": name,
                "warps": warps,
                "rounds": round(float(seen[1] - seen[0]) / 2 / adds, 3),
                "cycles": round(float(ticks[1] - ticks[0]) / (_MANY - _FEW), 2),
            }
        )
    return rows


def _cases() -> list[tuple[str, int]]:
    return [(name, warps) for name in PATTERNS for warps in _WARPS]


def _launch_all(device: int) -> NDArray[np.int64]:
    """Launch each case with few repeats and with many: (cases, 2) cycles."""
    open_gpu(device)
    import cupy

    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=_SOURCE).get_function("contend")
        when = cupy.zeros(2 * len(_cases()), dtype=np.int64)
        for index, (name, warps) in enumerate(_cases()):
            given = [PATTERNS[name](warp) for warp in range(warps)]
            words = cupy.asarray(np.concatenate([each for each, _ in given]).astype(np.uint32))
            idle = cupy.asarray(np.concatenate([each for _, each in given]).astype(np.uint32))
            for part, repeats in enumerate((_FEW, _MANY)):
                place = when[2 * index + part :]
                arguments = (words, idle, np.uint32(repeats), place)
                kernel((1,), (32 * warps,), arguments, shared_mem=4096)
        found: NDArray[np.int64] = when.get().reshape(-1, 2)
    return found


if __name__ == "__main__":  # what ncu watches
    _launch_all(int(sys.argv[1]))
