"""How blocks follow one another on an SM: what is between the end of one and the start of the next.

Every warp notes when it begins and ends. Blocks wait for a given time, or load some lines that the
L2 holds. All figures are cycles, and medians but for two.

`interval`: from one block's start to the next one's on the same SM while places are free; `slow`:
the same at 90 %. `gap`: from the end of a block to the start of the one in its place, while all are
taken; `place`: the same at 90 %. `spread`: from the start of a block's first warp to that of its
last; `life`: from the first start to the block's end; `warp`: from a warp's start to its end;
`all`: from an SM's first start to its last end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["block_gaps", "measure_blocks"]

_SOURCE = """
template <int LOADS, int STORES> __device__ void run(unsigned* data, int wait,
                                         long long* when, int* where, unsigned* sink) {
    const long long start = clock64();
    unsigned sum = 0;
    const unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (LOADS) {
        unsigned v[LOADS ? LOADS : 1];
        #pragma unroll
        for (int k = 0; k < LOADS; ++k)
            asm volatile("ld.global.b32 %0, [%1];" : "=r"(v[k])
                         : "l"(data + (me + k * gridDim.x * blockDim.x) % WORDS));
        for (int k = 0; k < LOADS; ++k) sum += v[k];
    }
    while (clock64() - start < wait) {}
    for (int k = 0; k < STORES; ++k)
        asm volatile("st.global.b32 [%0], %1;" :: "l"(data + WORDS
                     + (me + k * gridDim.x * blockDim.x) % WORDS), "r"(sum));
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {
        int sm;
        asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
        const unsigned warp = me / 32;
        where[warp] = sm, when[2 * warp] = start, when[2 * warp + 1] = clock64();
    }
}
#define KERNEL(NAME, L, S) extern "C" __global__ void NAME(unsigned* data, int wait, \\
    long long* when, int* where, unsigned* sink) { run<L, S>(data, wait, when, where, sink); }
KERNEL(waits, 0, 0) KERNEL(loads, 4, 0) KERNEL(copies, 4, 4)
"""
_WORDS = 1 << 21


def measure_blocks(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel, time, threads of a block, and blocks of an SM."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "blocks.cubin")
        path.write_bytes(compiled(_SOURCE.replace("WORDS", f"{_WORDS}u"), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data, sink = cupy.zeros(2 * _WORDS, dtype=np.uint32), cupy.zeros(1, dtype=np.uint32)
        for name, wait, shared in (
            ("waits", 0, 0), ("waits", 300, 0), ("waits", 1000, 0), ("waits", 4000, 0),
            ("waits", 1000, 20480), ("loads", 0, 0), ("copies", 0, 0),
        ):  # fmt: skip
            for threads in (32, 64, 128, 256, 512, 1024):
                resident = min(2048 // threads, 32)
                kernel = module.get_function(name)
                if shared:
                    resident = min(resident, 8)
                    kernel.max_dynamic_shared_size_bytes = shared
                blocks = chip.multiprocessors * resident * (8 if wait < 4000 else 3)
                warps = blocks * threads // 32
                when, where = cupy.zeros(2 * warps, np.int64), cupy.zeros(warps, np.int32)
                for _ in range(2):
                    kernel(
                        (blocks,), (threads,),
                        (data, np.int32(wait), when, where, sink),
                        shared_mem=shared,
                    )  # fmt: skip
                found = block_gaps(when.get().reshape(blocks, -1, 2), where.get()[:: threads // 32],
                                   resident)  # fmt: skip
                rows.append({"kernel": name, "wait": wait, "shared": shared, "threads": threads,
                             "resident": resident, **found})  # fmt: skip
    return rows


def block_gaps(
    when: NDArray[np.int64], where: NDArray[np.int32], resident: int
) -> dict[str, float]:
    """Return the figures of a launch, in cycles.

    `when`: starts and ends, shape (blocks, warps, 2); `where`: the SM of each block; `resident`:
    blocks that an SM holds at a time.
    """
    interval, gap, all_ = [], [], []
    begin, end = when[:, :, 0].min(axis=1), when[:, :, 1].max(axis=1)
    for sm in np.unique(where):
        mine = where == sm
        begins, ends = np.sort(begin[mine]), np.sort(end[mine])
        free = np.searchsorted(ends, begins)  # blocks that ended before each start
        held = np.arange(len(begins)) - free
        interval += np.diff(begins)[held[1:] < resident - 1].tolist()
        later = np.arange(resident, len(begins))
        gap += (begins[later] - ends[later - resident]).tolist()
        all_.append(ends[-1] - begins[0])
    life = end - begin
    return {
        "interval": _share(interval, 50), "slow": _share(interval, 90),
        "gap": _share(gap, 50), "place": _share(gap, 90),
        "spread": _share((when[:, :, 0].max(axis=1) - begin).tolist(), 50),
        "life": _share(life.tolist(), 50),
        "warp": _share((when[:, :, 1] - when[:, :, 0]).ravel().tolist(), 50),
        "all": _share(all_, 50),
    }  # fmt: skip


def _share(values: Sequence[float], percent: int) -> float:
    return round(float(np.percentile(values, percent)), 1) if values else float("nan")
