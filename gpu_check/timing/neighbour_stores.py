"""Stores to another block of the cluster: cycles of an SM per store of a warp.

`rows`: lanes side by side; `columns`: each lane in a row of its own of 33 words, so in a bank of
its own; `meeting`: rows of 32 words, so all in one bank. Blocks store to the next one, or each time
to another, themselves among them (`around`); none waits for a store.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["PITCHES", "SOURCE", "measure_neighbour_stores"]

_TURNS = 64
_STORES = 4
_CLUSTERS = (2, 4, 8)
_WARPS = (1, 8, 32)
PITCHES = {"rows": 0, "columns": 33, "meeting": 32}
SOURCE = """
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
stores_CLUSTER(long long* when, int turns, int pitch, int around) {
    __shared__ __align__(128) unsigned words[2048];
    unsigned rank, near = (unsigned)__cvta_generic_to_shared(words), far[CLUSTER];
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    #pragma unroll
    for (unsigned k = 0; k < CLUSTER; ++k)
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far[k]) : "r"(near),
            "r"((rank + (around ? k : 1)) % CLUSTER));
    const unsigned lane = threadIdx.x % 32, to = 4 * (pitch ? pitch * lane : lane);
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    long long start = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        if (turn == 2) { __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(far[k % CLUSTER] + to + 4 * k),
                         "r"(turn) : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


def measure_neighbour_stores(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern, cluster, blocks and warps."""
    chip = open_gpu(device)
    import cupy

    rows = []
    text = "".join(SOURCE.replace("CLUSTER", str(cluster)) for cluster in _CLUSTERS)
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "stores.cubin")
        path.write_bytes(compiled(text, Path(folder)))
        module = cupy.RawModule(path=str(path))
        for cluster in _CLUSTERS:
            kernel = module.get_function(f"stores_{cluster}")
            for (what, pitch), around in [
                (each, around) for each in PITCHES.items() for around in (0, 1)
            ]:
                for blocks in (cluster, chip.multiprocessors // 8 * 8):
                    for warps in _WARPS:
                        when = cupy.zeros(blocks, dtype=np.int64)
                        least = float("inf")
                        for _ in range(3):
                            given = (when, *map(np.int32, (_TURNS + 2, pitch, around)))
                            kernel((blocks,), (32 * warps,), given)
                            least = min(least, float(np.median(when.get())))
                        cycles = round(least / (_TURNS * _STORES * warps), 2)
                        rows.append(
                            {"what": what, "around": around, "cluster": cluster,
                             "blocks": blocks, "warps": warps, "cycles": cycles}
                        )  # fmt: skip
    return rows
