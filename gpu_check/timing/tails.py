"""When the SMs of a grid end, and how many blocks each gets.

`python -m gpu_check.timing.tails` is the process that ncu watches.

Blocks wait, add, load (and add so often), load and store, or load shared memory with 32-way
conflicts: as many on an SM at a time as `resident`, and `blocks` for each SM, in clusters of one to
eight. Every block notes its SM, and when it begins and ends by the clock that all SMs share.
Figures are of the second launch.

`life`: of a block, the median; `spread`: the middle half of lives; `most`, `least`: blocks of an
SM; `held`: blocks that an SM held at a time, the mean of their largest number; `used`: SMs that got
a block; `firsts`: SMs that got a first block of a cluster. `elapsed` and the three of `active`: by
the profiler, of another process; the least, mean and most of all SMs.
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

__all__ = ["CASES", "measure_tails", "of_launch", "tails_source"]

_SOURCE = """
extern __shared__ unsigned s[];
extern "C" __global__ void __launch_bounds__(256, 8) {shape}
{kind}_{cluster}(const uint4* in, uint4* out, long long* when,
                                       int* where, unsigned words, int turns) {{
    long long begin, end;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin) :: "memory");
    const long long start = clock64();
    uint4 v = make_uint4(threadIdx.x, 0, 0, 0);
    const unsigned first = blockIdx.x * 256u * 4 * turns + threadIdx.x;
    for (int turn = 0; turn < turns; ++turn) {{
        {body}
    }}
    {after}
    if (v.x + v.y == 12345) out[0] = v;
    __syncthreads();
    const long long took = clock64() - start;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end) :: "memory");
    if (threadIdx.x == 0) {{
        int sm;
        asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
        where[blockIdx.x] = sm;
        when[3 * blockIdx.x] = begin, when[3 * blockIdx.x + 1] = end;
        when[3 * blockIdx.x + 2] = took;
    }}
}}
"""
_MEET = 'asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");'
_LOADS = (
    "uint4 a[4];\n        #pragma unroll\n        for (int k = 0; k < 4; ++k)"
    " a[k] = in[first + (turn * 4 + k) * 256u & words - 1];\n        "
)
_USED = "for (int k = 0; k < 4; ++k) v.x += a[k].x, v.y ^= a[k].y ^ a[k].w;"
_ADDS = "for (int k = 0; k < {}; ++k) v.x = v.x * 3 + turn;"
_BODIES = {
    "waits": ("while (clock64() - start < 1000 * (turn + 1)) {}", ""),
    "meets": ("while (clock64() - start < 1000 * (turn + 1)) {}", _MEET),
    "adds": (_ADDS.format(64), ""),
    "loads": (_LOADS + _USED, ""),
    **{f"loads{adds}": (_LOADS + _USED + _ADDS.format(adds), "") for adds in (256, 1024)},
    "conflicts": (
        (
            "if (!turn) { for (int k = 0; k < 4; ++k) s[threadIdx.x + 256 * k] = 0;"
            " __syncthreads(); }\n        "
            "for (int k = 0; k < 4; ++k) v.y = s[threadIdx.x % 32 * 32 + v.y];"
        ),
        "",
    ),
    "copies": (
        _LOADS
        + "for (int k = 0; k < 4; ++k) out[first + (turn * 4 + k) * 256u & words - 1] = a[k];",
        "",
    ),
}
_THREADS = 256
_MIB = 1 << 20
_SHARED = {8: 0, 6: 36_000, 4: 55_000}
"""Bytes of shared memory, by the blocks that an SM holds."""
_OF_CONFLICTS = 4096
"""Bytes of shared memory that blocks use that conflict."""
_CLUSTERS = (1, 2, 4, 8)
CASES = [
    (kind, 1, size, resident, resident * thirds // 3, turns)
    for kind, size, turns in (
        ("waits", 16, 4), ("adds", 16, 16), ("conflicts", 16, 4),
        ("loads1024", 16, 4), ("loads256", 16, 4),
        ("loads", 16, 2), ("loads", 16, 8), ("loads", 256, 8),
        ("copies", 16, 2), ("copies", 16, 8), ("copies", 256, 2), ("copies", 256, 8),
    )
    for resident in (8, 6)
    for thirds in (3, 4, 5, 6, 12, 24)
] + [
    (kind, cluster, 16, resident, blocks, 4)
    for kind in ("waits", "meets", "loads")
    for cluster in _CLUSTERS
    for resident in (8, 4)
    for blocks in (4, 8, 16, 32)
]  # fmt: skip
"""Kernel, blocks of a cluster, MiB of each array, blocks that an SM holds, blocks per SM, turns."""
_METRICS = ["sm__cycles_elapsed.max", "sm__cycles_active.min", "sm__cycles_active.avg",
            "sm__cycles_active.max"]  # fmt: skip


def tails_source() -> str:
    """Return CUDA source of all kernels."""
    made = []
    for kind, (body, after) in _BODIES.items():
        for cluster in _CLUSTERS:
            if cluster > 1 and kind not in ("waits", "meets", "loads"):
                continue
            made.append(
                _SOURCE.format(
                    kind=kind, cluster=cluster, body=body,
                    after=after if cluster > 1 else "",
                    shape=f"__cluster_dims__({cluster}, 1, 1) " if cluster > 1 else "",
                )
            )  # fmt: skip
    return "".join(made)


def of_launch(when: NDArray[np.int64], where: NDArray[np.int32], cluster: int) -> dict[str, float]:
    """Return the figures of a launch.

    `when`: begin and end in nanoseconds, and cycles between them, shape (blocks, 3).
    """
    begin, end, took = when.T
    sms, mine = np.unique(where, return_inverse=True)
    held = [_held(begin[mine == sm], end[mine == sm]) for sm in range(len(sms))]
    counts = np.bincount(mine)
    quarters = np.percentile(took, [25, 75])
    return {
        "life": float(np.median(took)), "spread": float(quarters[1] - quarters[0]),
        "most": int(counts.max()), "least": int(counts.min()),
        "held": round(float(np.mean(held)), 2), "used": len(sms),
        "firsts": len(np.unique(where[::cluster])),
    }  # fmt: skip


def _held(begin: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """Return the most blocks that were there at a time."""
    return max(int(((begin <= at) & (end > at)).sum()) for at in begin)


def measure_tails(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError.
    """
    found = _launch_all(device)
    command = [sys.executable, "-m", "gpu_check.timing.tails", str(device)]
    seen = run_ncu(
        command, _METRICS, "regex:^(waits|meets|adds|conflicts|loads|loads256|loads1024|copies)_"
    )[1::2]
    names = ("kernel", "cluster", "mebibytes", "resident", "blocks", "turns")
    return [
        dict(zip(names, case, strict=True)) | row
        | dict(zip(("elapsed", "active_least", "active", "active_most"),
                   metrics_of(cells, _METRICS), strict=True))
        for case, row, cells in zip(CASES, found, seen, strict=True)
    ]  # fmt: skip


def _launch_all(device: int) -> list[dict[str, float]]:
    """Launch all cases twice, and return the figures of the second launches."""
    chip = open_gpu(device)
    import cupy

    found = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "tails.cubin")
        path.write_bytes(compiled(tails_source(), Path(folder)))
        module = cupy.RawModule(path=str(path))
        data = [cupy.zeros(256 * _MIB, dtype=np.uint8) for _ in range(2)]
        for kind, cluster, size, resident, blocks, turns in CASES:
            kernel = module.get_function(f"{kind}_{cluster}")
            grid = chip.multiprocessors * blocks // cluster * cluster
            shared = max(_SHARED[resident], _OF_CONFLICTS * (kind == "conflicts"))
            kernel.max_dynamic_shared_size_bytes = shared
            when, where = cupy.zeros(3 * grid, np.int64), cupy.zeros(grid, np.int32)
            for _ in range(2):
                kernel((grid,), (_THREADS,), (*data, when, where, np.uint32(size * _MIB // 16),
                                              np.int32(turns)), shared_mem=shared)  # fmt: skip
            found.append(of_launch(when.get().reshape(-1, 3), where.get(), cluster))
    return found


if __name__ == "__main__":
    _launch_all(int(sys.argv[1]))
