"""Of which lines L1 still has something, where one lane goes along them again and again.

An SM's only block sets aside `shared` bytes of dynamic shared memory, so that L1 is what
`simulator.timing.machine.l1_bytes` says. A lane goes in a circle along `lines`, each `stride` lines
behind the one before, and each load waits for the one before. `missed`: the share of its last eight
rounds that took more than 120 cycles, as what the L2 sends does.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.timing.bulk import loaded

__all__ = ["CASES", "ROOMS", "ROUNDS", "THREADS", "circle", "l1_lines_source", "measure_l1_lines"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) circle(
    const int* data, float* missed, int* sink, int warm, int steps) {
    if (threadIdx.x) return;
    int at = 0, slow = 0;
    #pragma unroll 1
    for (int k = 0; k < warm; ++k) at = data[(size_t)at * 32];
    #pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        unsigned begin, end;
        asm volatile("mov.u32 %0, %%clock;" : "=r"(begin) : "r"(at) : "memory");
        at = data[(size_t)at * 32];
        asm volatile("mov.u32 %0, %%clock;" : "=r"(end) : "r"(at) : "memory");
        slow += end - begin > 120;
    }
    *missed = (float)slow / steps;
    *sink = at;
}
"""
THREADS, ROUNDS = 1024, (10, 8)
"""Of the block; rounds before, and those that count."""
ROOMS = {114_688: 28, 98_304: 60, 61_440: 124, 30_720: 192}
"""Bytes of shared memory, and the KiB that are left to L1."""
_STRIDES = (1, 3, 8, 100, 125, 1000, 2000)
_PARTS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.15, 1.3)
CASES = [
    (shared, stride, int(8 * room * part))
    for (shared, room), stride, part in product(ROOMS.items(), _STRIDES, _PARTS)
]
"""Bytes of shared memory, stride, lines."""


def l1_lines_source() -> str:
    """Return CUDA source of the kernel."""
    return _SOURCE


def circle(stride: int, lines: int) -> NDArray[np.int32]:
    """Return its data: the first word of each line says which line is next."""
    data = np.zeros(stride * lines * 32, dtype=np.int32)
    along = np.arange(lines) * stride
    data[along * 32] = np.roll(along, -1)
    return data


def measure_l1_lines(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    rows = []
    with loaded(_SOURCE, device) as (module, _, _data, _when):
        import cupy

        kernel = module.get_function("circle")
        kernel.max_dynamic_shared_size_bytes = max(ROOMS)
        missed, sink = cupy.zeros(1, dtype=np.float32), cupy.zeros(1, dtype=np.int32)
        for shared, stride, lines in CASES:
            data = cupy.asarray(circle(stride, lines))
            warm, steps = (np.int32(each * lines) for each in ROUNDS)
            kernel((1,), (THREADS,), (data, missed, sink, warm, steps), shared_mem=shared)
            rows.append(
                {"shared": shared, "stride": stride, "lines": lines,
                 "missed": round(float(missed.get()[0]), 3)}
            )  # fmt: skip
    return rows
