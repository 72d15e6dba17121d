"""Which lines of what a grid read the L2 still has when it reads them again, in the same order.

A grid reads so much, or reads and writes as much, three times. Then another one reads a word of
each line in that order, four lines per warp, and times it: what takes longer than the L2 does comes
from DRAM. `missed`: of all lines, `first` and `last`: of the first and the last quarter; `apart_1`
to `apart_64`: of the lines so many lines behind one that does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["APART", "measure_in_turn"]

APART = (1, 2, 3, 4, 8, 16, 64)
"""Lines."""
_LINES = 4
"""Of a warp, one after the other."""
_SLOW = 520
"""Cycles: of the farthest line of the L2, and less than of any in DRAM."""
_CASES = (
    (16, True), (17, True), (20, True), (24, True), (24, False), (30, False), (36, False),
    (40, False), (48, False),
)  # fmt: skip
"""MiB that are read, and whether as much is written."""
_SOURCE = """
extern "C" __global__ void passes(const uint4* in, uint4* out, int writes, long long count) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const uint4 v = in[i];
    if (writes) out[i] = v;
    else if (v.x == 12345) out[0] = v;
}
extern "C" __global__ void asks(const unsigned* in, unsigned* cycles, int lines, int each) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (threadIdx.x & 31) return;
    unsigned last = 0;
    for (int k = 0; k < each && warp * each + k < lines; ++k) {
        const long long line = warp * each + k, start = clock64();
        unsigned v;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(in + line * 32 + (last & 1)));
        last = v >> 31;
        asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 1234567; @p trap; }" :: "r"(v));
        cycles[line] = (unsigned)(clock64() - start);
    }
}
"""


def measure_in_turn(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per size: the shares of its lines that DRAM brings."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=_SOURCE)
        passes, asks = (module.get_function(name) for name in ("passes", "asks"))
        for size, writes in _CASES:
            data = cupy.zeros(size << 18, dtype=np.uint32)
            out = cupy.zeros(size << 18 if writes else 64, dtype=np.uint32)
            count, lines = (size << 20) // 16, (size << 20) // 128
            cycles = cupy.zeros(lines, dtype=np.uint32)
            for _ in range(3):
                passes((-(-count // 256),), (256,), (data, out, np.int32(writes), np.int64(count)))
            warps = -(-lines // _LINES)
            asks((warps,), (32,), (data, cycles, np.int32(lines), np.int32(_LINES)))
            slow = cycles.get() > _SLOW
            shares = {
                "missed": slow, "first": slow[: lines // 4], "last": slow[-lines // 4 :],
                **{f"apart_{each}": slow[each:][slow[:-each]] for each in APART},
            }  # fmt: skip
            rows.append(
                {"mebibytes": size, "writes": int(writes)}
                | {name: round(float(each.mean()), 3) for name, each in shares.items()}
            )
    return rows
