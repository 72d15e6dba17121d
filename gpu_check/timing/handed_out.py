"""How many blocks each SM gets of a grid of like blocks, by what its blocks wait for.

`python -m gpu_check.timing.handed_out` is the process that ncu watches.

Blocks of 128 threads do turns with a barrier at the end of each. A turn has loads of shared memory
that conflict, matrix products, or copies by cp.async of what all blocks copy; or all three. The
data pipe, the tensor cores and the L2 limit them. `resident` are on an SM at a time, `blocks` come
for each SM. Figures as in `tails`, of the second launch; and `begins`, `ends`: nanoseconds from the
first to the last SM, of its first block's begin, and of its first block's end. `within`: from the
first to the last end of the blocks that an SM began with, the median SM's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.tails import of_launch

__all__ = ["CASES", "handed_out_source", "measure_handed_out"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(128) handed_{kind}(
    const uint4* data, float* out, long long* when, int* where, int turns) {{
    extern __shared__ __align__(1024) uint4 held[];
    long long begin, end;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin) :: "memory");
    const long long start = clock64();
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned base = (unsigned)__cvta_generic_to_shared(held) + warp * 4096;
    unsigned v = t, a[4] = {{1, 2, 3, 4}};
    float sum[4] = {{}};
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {{
        {body}
        __syncthreads();
    }}
    asm volatile("cp.async.wait_all;");
    if (v + a[0] + sum[0] == 12345) *out = sum[0] + sum[1] + sum[2] + sum[3];
    __syncthreads();
    const long long took = clock64() - start;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end) :: "memory");
    if (t == 0) {{
        int sm;
        asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
        where[blockIdx.x] = sm;
        when[3 * blockIdx.x] = begin, when[3 * blockIdx.x + 1] = end;
        when[3 * blockIdx.x + 2] = took;
    }}
}}
"""
_COPIES = """
        asm volatile("cp.async.wait_group 1;");
        for (int k = 0; k < 4; ++k)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(base + turn % 2 * 2048 + k * 512 + lane * 16),
                            "l"(data + ((turn % 64 * 4 + warp) * 4 + k) * 32 + lane));
        asm volatile("cp.async.commit_group;");"""
_PRODUCTS = """
        for (int k = 0; k < 8; ++k)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3},"
                         " {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[1]), "r"(a[2]));"""
_FRAGMENTS = """
        for (int k = 0; k < 4; ++k)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                         : "r"(base + (1 - turn % 2) * 2048 + k * 512 + lane * 16));"""
_BODIES = {
    "conflicts": """
        for (int k = 0; k < 4; ++k)
            asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v)
                         : "r"(base + (lane * 32 + k * 4) % 4096));""",
    "products": _PRODUCTS,
    "copies": _COPIES,
    "tiles": _COPIES + _FRAGMENTS + _PRODUCTS,
}
_THREADS = 128
_SHARED = {2: 100_000, 3: 70_000, 5: 42_000, 6: 35_000}
"""Bytes of shared memory, by the blocks that an SM holds."""
CASES = [
    (kind, resident, blocks, turns)
    for kind, turns in (("conflicts", 400), ("products", 400), ("copies", 200), ("tiles", 200))
    for resident in _SHARED
    for blocks in sorted({resident, resident + 1, resident * 4 // 3, resident * 2, resident * 2 + 1,
                          resident * 4})
]  # fmt: skip
"""Kernel, blocks that an SM holds, blocks per SM, turns."""
_METRICS = ["sm__cycles_elapsed.max", "sm__cycles_active.min", "sm__cycles_active.avg",
            "sm__cycles_active.max"]  # fmt: skip
_NAMES = ("elapsed", "active_least", "active", "active_most")


def handed_out_source() -> str:
    """Return CUDA source of all kernels."""
    return "".join(_SOURCE.format(kind=kind, body=body) for kind, body in _BODIES.items())


def _firsts(when: NDArray[np.int64], where: NDArray[np.int32], resident: int) -> dict[str, float]:
    """Return how far first begins and ends of SMs are apart, and ends within one."""
    begin, end, _ = when.T
    sms = [where == sm for sm in np.unique(where)]
    begins, ends = ([int(column[mine].min()) for mine in sms] for column in (begin, end))
    first = [np.sort(end[mine][np.argsort(begin[mine])[:resident]]) for mine in sms]
    within = float(np.median([each[-1] - each[0] for each in first]))
    return {"begins": max(begins) - min(begins), "ends": max(ends) - min(ends), "within": within}


def measure_handed_out(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError.
    """
    found = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.handed_out", str(device)]
    seen = run_ncu(command, _METRICS, "regex:^handed_")[1::2]
    names = ("kernel", "resident", "blocks", "turns")
    return [
        dict(zip(names, case, strict=True)) | row
        | dict(zip(_NAMES, metrics_of(cells, _METRICS), strict=True))
        for case, row, cells in zip(CASES, found, seen, strict=True)
    ]  # fmt: skip


def _launch_all(device: int) -> list[dict[str, float]]:
    """Launch all cases twice, and return the figures of the second launches."""
    chip = open_gpu(device)
    import cupy

    found = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "handed.cubin")
        path.write_bytes(compiled(handed_out_source(), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data, out = cupy.zeros(1 << 24, np.uint8), cupy.zeros(1, np.float32)
        for kind, resident, blocks, turns in CASES:
            kernel = module.get_function(f"handed_{kind}")
            grid, shared = chip.multiprocessors * blocks, _SHARED[resident]
            kernel.max_dynamic_shared_size_bytes = shared
            when, where = cupy.zeros(3 * grid, np.int64), cupy.zeros(grid, np.int32)
            for _ in range(2):
                kernel((grid,), (_THREADS,), (data, out, when, where, np.int32(turns)),
                       shared_mem=shared)  # fmt: skip
            times, places = when.get().reshape(-1, 3), where.get()
            found.append({**of_launch(times, places, 1), **_firsts(times, places, resident)})
    return found


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
