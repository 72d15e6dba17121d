"""Loads of lines that are on their way to L1, or there: cycles of an SM per load.

Each warp makes so many loads of 4 bytes per lane, one behind the other, then waits for all of them.
`how` says which lines a warp loads:

* `own`: each a line that nothing else loads.
* `shared 4`: as many lines, which four warps of the block load at the same time.
* `same`: its own line by all of its loads.
* `others`: its own line, then those of the warps beside it, which these load at the same time.
* `past`: its own line, then those that the warps beside it loaded two turns ago.
* `shifted`: its own line, then the same a word further each time, and so of two lines.
* `across`: two own lines, then as `shifted` across both of them.

`source`: where the lines are when a launch begins.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["HOWS", "SOURCE", "lines_of", "measure_rereads"]

HOWS = ("own", "shared 2", "shared 4", "shared 8", "same", "others", "past", "shifted", "across")
_LOADS = (1, 2, 4, 8)
_WARPS = (8, 16, 32, 64)
_OF_BLOCK = 16
_BEFORE = 2
"""Turns before time is taken."""
_MOST_TURNS, _LEAST_TURNS = 48, 4
_LINES = 1024
"""Of an SM."""
_MOST_BYTES = 24 << 20
_FAR = 1 << 30
SOURCE = """
#define KERNEL(LOADS) \
extern "C" __global__ void __launch_bounds__(512, 4) loads##LOADS( \
    const char* data, const int* offsets, int stride, int of_block, int turns, long long* when, \
    float* sink) { \
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32; \
    unsigned at[LOADS], begin = blockIdx.x * of_block + 2 * stride + threadIdx.x % 32 * 4; \
    for (int k = 0; k < LOADS; ++k) at[k] = begin + offsets[k * warps + warp]; \
    float sum = 0; \
    long long start = 0; \
    _Pragma("unroll 1") for (int turn = -BEFORE; turn < turns; ++turn) { \
        float v[LOADS]; \
        if (turn == 0) start = clock64(); \
        _Pragma("unroll") for (int k = 0; k < LOADS; ++k) \
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[k]) : "l"(data + at[k])); \
        _Pragma("unroll") for (int k = 0; k < LOADS; ++k) sum += v[k], at[k] += stride; \
    } \
    if (threadIdx.x % 32 == 0) { \
        unsigned sm; \
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm)); \
        long long* own = when + 3 * (blockIdx.x * warps + warp); \
        own[0] = sm, own[1] = start, own[2] = clock64(); \
    } \
    if (sum == 12345) *sink = sum; \
}
KERNEL(1) KERNEL(2) KERNEL(4) KERNEL(8)
"""


def lines_of(how: str, warps: int, loads: int) -> tuple[NDArray[np.int64], int]:
    """Return where loads begin, in words, shape (loads, warps), and how many lines a turn goes on.

    >>> lines_of("others", 2, 2)
    (array([[ 0, 32],
           [32,  0]]), 2)
    """
    warp, load = np.arange(warps)[None], np.arange(loads)[:, None]
    if how == "own" or how.startswith("shared"):
        share = min(int(how.split()[-1]), warps) if how != "own" else 1
        return 32 * (warp // share * loads + load), warps // share * loads
    if how == "same":
        return 32 * (warp + 0 * load), warps
    if how == "others":
        return 32 * ((warp + load) % warps), warps
    if how == "past":
        return 32 * ((warp + load) % warps - np.where(load, 2 * warps, 0)), warps
    if how == "shifted":
        return 32 * warp + load, warps
    return 64 * warp + np.where(load < 2, 32 * load, load), 2 * warps


def measure_rereads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per source, way, SMs, warps of an SM and loads of a warp and turn.

    `cycles`: of the median SM per turn of a warp and load, the least of some launches.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=SOURCE.replace("BEFORE", str(_BEFORE)))
        data, sink = cupy.zeros(_FAR, dtype=np.uint8), cupy.zeros(1, dtype=np.float32)
        far = 0
        for how, sms, warps, loads in product(HOWS, (1, chip.multiprocessors), _WARPS, _LOADS):
            of_block = min(warps, _OF_BLOCK)
            offsets, lines = lines_of(how, of_block, loads)
            blocks = warps // of_block
            if blocks > 1 and sms == 1:  # blocks of a small grid lie on SMs of their own
                continue
            turns = min(_MOST_TURNS, _LINES // (lines * blocks))
            size = 128 * (lines * (turns + _BEFORE + 2) + 2)
            if turns < _LEAST_TURNS or size * blocks * sms > _MOST_BYTES:
                continue
            where = cupy.asarray(4 * offsets, dtype=np.int32)
            for source in ("L2", "DRAM"):
                least = float("inf")
                for _ in range(4):
                    if source == "DRAM":
                        far = (far + _MOST_BYTES) % (_FAR - _MOST_BYTES)
                    when = cupy.zeros((sms * blocks * of_block, 3), dtype=np.int64)
                    module.get_function(f"loads{loads}")(
                        (sms * blocks,), (32 * of_block,),
                        (data[far if source == "DRAM" else 0 :], where, np.int32(128 * lines),
                         np.int32(size), np.int32(turns), when, sink),
                    )  # fmt: skip
                    least = min(least, _median(when.get(), warps))
                rows.append(
                    {"source": source, "how": how, "sms": sms, "warps": warps, "loads": loads,
                     "cycles": round(least / (turns * warps * loads), 3)}
                )  # fmt: skip
    return rows


def _median(when: NDArray[np.int64], warps: int) -> float:
    """Return the cycles of the median SM that had so many warps."""
    found = []
    for sm in np.unique(when[:, 0]):
        own = when[when[:, 0] == sm]
        if len(own) == warps:
            found.append(float(own[:, 2].max() - own[:, 1].min()))
    return float(np.median(found)) if found else float("inf")
