"""How long kernels take that pass once over a footprint, by how much of it they write.

Threads load some pieces of 16 bytes, and store some, a second time: `loads` and `stores` of a
thread. `way`: `plain`; `meets`, through shared memory behind a barrier; `parts`, a thread's pieces
side by side, so that each store writes halves of sectors; `within`, in 4 MiB of each array;
`looped`, eight at a time, by so few blocks that one wave has them all.
`mebibytes`: read and written, where all pieces lie apart.

`cycles` is the median of three processes; `active` and `active_most` are those of the mean and the
last SM. In bytes: what DRAM moves, and `crossed`, what goes from one of the L2's two parts to the
other. Half of what is stored does. `python -m gpu_check.timing.turnover` is the process that ncu
watches; no launch is repeated.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["measure_turnover", "turnover_source"]

_SOURCE = """
template <int L, int S, int WAY>
__device__ __forceinline__ void run(const float4* in, float4* out, unsigned mask) {
    extern __shared__ float4 tile[];
    if (WAY == 3) {
        float sum = 0;
        #pragma unroll 8
        for (int k = 0; k < L; ++k) {
            const float4 v = in[blockIdx.x * (256 * L) + k * 256 + threadIdx.x & mask];
            sum += v.x + v.y + v.z + v.w;
        }
        if (sum == 12345) out[0].x = sum;
        return;
    }
    float4 v[L ? L : 1];
    v[0] = {(float)threadIdx.x, 1, 2, 3};
    #pragma unroll
    for (int k = 0; k < L; ++k) v[k] = in[blockIdx.x * (256 * L) + k * 256 + threadIdx.x & mask];
    for (int k = S ? S : 1; k < L; ++k) v[0].x += v[k].x + v[k].y + v[k].z + v[k].w;
    if (WAY == 1) {
        #pragma unroll
        for (int k = 0; k < L; ++k) tile[k * 256 + threadIdx.x] = v[k];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < L; ++k) v[k] = tile[k * 256 + (threadIdx.x ^ 32)];
    }
    #pragma unroll
    for (int k = 0; k < S; ++k)
        out[blockIdx.x * (256 * S) + (WAY == 2 ? threadIdx.x * S + k : k * 256 + threadIdx.x)
            & mask] = v[k % (L ? L : 1)];
    if (!S && v[0].x == 12345) out[0] = v[0];
}
#define KERNEL(L, S, WAY) extern "C" __global__ void \\
    __launch_bounds__(256, L > 4 && WAY < 3 ? 4 : 8) \\
    pass_##L##_##S##_##WAY(const float4* in, float4* out, unsigned mask) \\
    { run<L, S, WAY>(in, out, mask); }
"""
_WAYS = {"plain": 0, "meets": 1, "parts": 2, "within": 0, "looped": 3}
_SIZES = (16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 64)
_CASES = [
    (loads, stores, way, size)
    for loads, stores, way, sizes in (
        (4, 0, "plain", _SIZES), (3, 1, "plain", _SIZES), (2, 2, "plain", _SIZES),
        (1, 3, "plain", _SIZES), (0, 4, "plain", _SIZES), (2, 2, "meets", _SIZES),
        (1, 1, "plain", _SIZES), (8, 8, "plain", _SIZES), (4, 4, "meets", _SIZES),
        (1, 4, "parts", (16, 20, 24, 32)), (2, 2, "within", (16, 24, 32, 64)),
        (4, 0, "within", (16, 24, 32, 64)), (16, 0, "looped", _SIZES),
    )
    for size in sizes
]  # fmt: skip
_WITHIN = (4 << 20) // 16 - 1
_TIMES = ["sm__cycles_elapsed.max", "sm__cycles_active.avg", "sm__cycles_active.max"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_ltcfabric.sum"]
_SECTOR = 32


def turnover_source() -> str:
    """Return CUDA source of all kernels."""
    kinds = dict.fromkeys((loads, stores, _WAYS[way]) for loads, stores, way, _ in _CASES)
    return _SOURCE + "".join("KERNEL({}, {}, {})\n".format(*kind) for kind in kinds)


def measure_turnover(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.turnover", turnover_source(), "regex:^pass_", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    rows = []
    for place, case in enumerate(_CASES):
        read, written, crossed = moved[place]
        rows.append(
            dict(zip(("loads", "stores", "way", "mebibytes"), case, strict=True))
            | {**cycles_of(timed, place),
               "active": median(run[place][1] for run in timed),
               "active_most": median(run[place][2] for run in timed),
               "dram_read": read, "dram_write": written, "crossed": _SECTOR * crossed}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        host = np.random.default_rng(0).random(_SIZES[-1] << 18, dtype=np.float32)
        for loads, stores, way, size in _CASES:
            kernel = module.get_function(f"pass_{loads}_{stores}_{_WAYS[way]}")
            blocks = (size << 20) // (4096 * (loads + stores))
            shared = 4096 * loads if way == "meets" else 0
            mask = np.uint32(_WITHIN if way == "within" else 2**32 - 1)
            data = [cupy.asarray(host[: max(1024 * blocks * each, 64)]) for each in (loads, stores)]
            kernel.max_dynamic_shared_size_bytes = max(shared, 1)
            for _ in range(2):
                kernel((blocks,), (256,), (*data, mask), shared_mem=shared)
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
