"""One wave in which some SMs have a block more than others: when their blocks end.

Every thread asks the L2 for pieces of 16 bytes, `several` at a time before it waits for them, or
stores them; the blocks' pieces lie in the same 8 MiB, and no L1 keeps them. `uneven_far`: each is
asked for once in a gibibyte, so that DRAM brings or takes it. Cycles from the SM's
first begin to its last end, the median over the SMs that have the fewest blocks, and that have the
most; how many of the latter there are.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["FAR", "measure_uneven", "measure_uneven_far", "uneven_source"]

_PIECES, _MEBIBYTES = 256, 8
"""Of a thread; of all."""
FAR = {"pieces": 1024, "mebibytes": 1024}
"""The same of what DRAM brings."""
_SEVERAL = (1, 4, 16)
_GRIDS = (132, 140, 198, 264, 272, 330, 396, 404, 448, 528, 536, 660, 668)
_SOURCE = """
extern "C" __global__ void {access}_{several}(uint4* data, long long* when, unsigned* sink) {{
    const long long begin = clock64();
    unsigned at = blockIdx.x * blockDim.x * {several} + threadIdx.x, sum = 0;
    #pragma unroll 1
    for (int turn = 0; turn < {pieces} / {several}; ++turn) {{
        uint4 v[{several}];
        #pragma unroll
        for (int k = 0; k < {several}; ++k) {{
            uint4* const piece = data + ((at + k * blockDim.x) & {mask});
            if ({stores}) __stcg(piece, make_uint4(at, turn, k, 0));
            else v[k] = __ldcg(piece);
        }}
        if (!{stores}) {{
            #pragma unroll
            for (int k = 0; k < {several}; ++k) sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }}
        at += gridDim.x * blockDim.x * {several};
    }}
    __syncthreads();
    if (threadIdx.x == 0) {{
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        when[blockIdx.x * 3] = sm;
        when[blockIdx.x * 3 + 1] = begin;
        when[blockIdx.x * 3 + 2] = clock64();
    }}
    if (sum == 0x12345) *sink = sum;
}}"""


def uneven_source(pieces: int = _PIECES, mebibytes: int = _MEBIBYTES) -> str:
    """Return CUDA source of all kernels, whose threads ask for so many pieces of all mebibytes."""
    mask = (mebibytes << 20) // 16 - 1
    return "\n".join(
        _SOURCE.format(
            access=access, several=several, pieces=pieces, mask=mask, stores=int(access == "store")
        )
        for access, several in product(("load", "store"), _SEVERAL)
    )


def measure_uneven(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, pieces at a time, threads and blocks of the grid.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does.
    """
    return _measured(device, (64, 128, 256), _PIECES, _MEBIBYTES)


def measure_uneven_far(device: int = 0) -> list[dict[str, Any]]:
    """Return the same of what DRAM brings or takes; of blocks of 256 threads.

    `cycles_last`: of the SM that takes longest among those that have the most.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does.
    """
    return _measured(device, (256,), **FAR, is_far=True)


def _measured(
    device: int, sizes: tuple[int, ...], pieces: int, mebibytes: int, is_far: bool = False
) -> list[dict[str, Any]]:
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=uneven_source(pieces, mebibytes))
        data = cupy.zeros(mebibytes << 18, dtype=np.uint32)
        sink = cupy.zeros(1, dtype=np.uint32)
        for access, several, threads, blocks in product(("load", "store"), _SEVERAL, sizes, _GRIDS):
            found = []
            for _ in range(4):
                when = cupy.zeros((blocks, 3), dtype=np.int64)
                module.get_function(f"{access}_{several}")(
                    (blocks,), (threads,), (data, when, sink)
                )
                sm, begin, end = when.get().T
                own = {n: (end[sm == n].max() - begin[sm == n].min(), int((sm == n).sum()))
                       for n in set(sm.tolist())}  # fmt: skip
                counts = [count for _, count in own.values()]
                fewest, most = (
                    [cycles for cycles, count in own.values() if count == some]
                    for some in (min(counts), max(counts))
                )
                found.append((
                    np.median(most), np.median(fewest), max(counts), min(counts), len(most),
                    max(most),
                ))  # fmt: skip
            cycles, least, many, few, sms, last = min(found)
            rows.append({
                "access": access, "several": several, "threads": threads, "blocks": blocks,
                "fewest": few, "most": many, "sms": sms, "cycles_fewest": int(least),
                "cycles_most": int(cycles), **({"cycles_last": int(last)} if is_far else {}),
            })  # fmt: skip
    return rows
