"""What fences cost: of the block, the chip, the system, and those of a cluster's barrier.

A turn of each warp: some stores, a fence, a load. `alone`: without a fence. `cluster`: the barrier
of a cluster of one or two blocks that releases and acquires, `relaxed`: one that does not.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["FENCES", "fences_source", "measure_fences"]

_TURNS = 32
FENCES = {
    "alone": "",
    "cta": "fence.acq_rel.cta;",
    "gpu": "fence.acq_rel.gpu;",
    "gpu sc": "fence.sc.gpu;",
    "sys": "fence.acq_rel.sys;",
    "cluster": "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
    "relaxed": "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
    "release": "fence.acq_rel.cluster;",
}
"""Name → PTX."""
_STORES = (0, 1, 4)
_SOURCE = """
extern "C" __global__ void {shape}{name}(unsigned* data, unsigned* hot, long long* when,
                                         unsigned* sink, int turns) {{
    unsigned* mine = data + (blockIdx.x * blockDim.x + threadIdx.x);
    const unsigned all = gridDim.x * blockDim.x;
    unsigned sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
    }}
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum;
}}
"""
_STORE = 'asm volatile("st.global.b32 [%0], %1;" :: "l"(mine + {k} * all), "r"(turn) : "memory");'
_LOAD = (
    '{ unsigned v; asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v) : "l"(hot + (threadIdx.x'
    ' & 31) + (sum & 1)) : "memory"); sum += v; }'
)


def fences_source(cluster: int) -> tuple[str, dict[str, tuple[str, int, bool]]]:
    """Return CUDA source of all loops, and of each its fence, stores, and whether it loads.

    `cluster`: blocks of a cluster.
    """
    text, found = "", {}
    for number, fence in enumerate(FENCES):
        for stores in _STORES:
            for loads in (False, True):
                name = f"fence_{number}_{stores}_{int(loads)}_{cluster}"
                body = [_STORE.format(k=k) for k in range(stores)]
                body.append(f'asm volatile("{FENCES[fence]}" ::: "memory");')
                body += [_LOAD] if loads else []
                shape = f"__cluster_dims__({cluster}, 1, 1) " if cluster > 1 else ""
                text += _SOURCE.format(name=name, shape=shape, body="\n        ".join(body))
                found[name] = fence, stores, loads
    return text, found


def measure_fences(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per fence, stores, load, cluster, SMs and warps: cycles of a turn."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data = cupy.zeros(1 << 22, dtype=np.uint32)
        hot, sink = cupy.zeros(64, dtype=np.uint32), cupy.zeros(1, dtype=np.uint32)
        for cluster in (1, 2):
            source, names = fences_source(cluster)
            path = Path(folder, f"fences_{cluster}.cubin")
            path.write_bytes(compiled(source, Path(folder)))
            module = cupy.RawModule(path=str(path))
            for name, (fence, stores, loads) in names.items():
                if cluster > 1 and "barrier" not in FENCES[fence]:
                    continue
                for sms in (cluster, chip.multiprocessors):
                    for warps in (1, 4, 8, 32):
                        when = cupy.zeros(sms, dtype=np.int64)
                        least = float("inf")
                        for _ in range(3):
                            module.get_function(name)(
                                (sms,), (32 * warps,), (data, hot, when, sink, np.int32(_TURNS))
                            )
                            least = min(least, float(np.median(when.get())))
                        rows.append(
                            {"fence": fence, "stores": stores, "loads": int(loads),
                             "cluster": cluster, "sms": sms, "warps": warps,
                             "cycles": round(least / _TURNS, 2)}
                        )  # fmt: skip
    return rows
