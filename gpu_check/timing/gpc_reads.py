"""Bytes per cycle that SMs get of what others read, too: by which of them read the same.

All SMs read rows, past L1, by loads or by copies to shared memory; half of what a block reads is of
one region, and half of another, as tiles of two matrices are. A table says which: its own, those of
others of its GPC, or of others elsewhere. Regions of a kind are 8 MiB together, and are read in
turns of 16 KiB: what is read together at first may come apart later. SMs are numbered GPC by GPC,
TPC by TPC (gpu_check/data/h100_first_places.csv).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["gpc_of", "groups", "measure_gpc_reads"]

_THREADS, _EACH = 256, 4
_STAGES = 3
"""Turns whose copies are on their way."""
_SHARED = _STAGES * _EACH * _THREADS * 16 + 1024
_BYTES = 8 << 20
"""Of each of both matrices."""
_BLOCKS = 3
"""Of an SM, at most."""
_SOURCE = """
extern "C" __global__ void gpc_reads(long long* when, const char* data, const int* region,
                                     int* taken, int rows, int turns) {
    extern __shared__ __align__(1024) char held[];
    __shared__ int own[2];
    unsigned sm, to;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) {
        const int slot = atomicAdd(taken + sm, 1);
        own[0] = region[2 * (BLOCKS * sm + slot % BLOCKS)];
        own[1] = region[2 * (BLOCKS * sm + slot % BLOCKS) + 1];
    }
    __syncthreads();
    const char* a = data + (size_t)own[0] * rows * 128;
    const char* b = data + BYTES + (size_t)own[1] * rows * 128;
    asm("{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}" : "=r"(to) : "l"(held));
    float sum = 0;
    const long long start = clock64();
    for (int turn = 0; turn < turns; ++turn) {
        float4 v[EACH];
        for (int k = 0; k < EACH; ++k) {
            const unsigned at = ((turn * (EACH / 2) + k / 2) * THREADS + threadIdx.x) * 16u;
            const char* from = (k & 1 ? b : a) + at / ROW % (unsigned)rows * 128 + at % ROW;
            GET
        }
        WAIT
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (sum == 12345) when[0] = 1;
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
"""
_LOADS = (
    'asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[k].x),'
    ' "=f"(v[k].y), "=f"(v[k].z), "=f"(v[k].w) : "l"(from) : "memory");'
)
_COPIES = (
    'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to'
    ' + ((turn % STAGES * EACH + k) * THREADS + threadIdx.x) * 16), "l"(from) : "memory");'
)
_WAIT = (
    'asm volatile("cp.async.commit_group; cp.async.wait_group 2;" ::: "memory");'
    " __syncthreads();"
)  # fmt: skip
_SUM = "for (int k = 0; k < EACH; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;"
_WAYS = {"loads": (_LOADS, _SUM), "copies": (_COPIES, _WAIT)}
"""What is done for each row that is read, and behind those of a turn."""
Numbers = NDArray[np.int64]


def gpc_of(sm: Numbers) -> Numbers:
    """Return the GPC of SMs of an H100, by their numbers.

    >>> gpc_of(np.array([0, 1, 2, 16, 64, 78, 120, 124])).tolist()
    [0, 0, 1, 0, 1, 1, 6, 0]
    """
    later = 1 + (sm - 64) % 14 // 2
    last = np.where(sm < 124, 6 + (sm - 120) // 2, 0)
    return np.where(sm < 64, sm % 16 // 2, np.where(sm < 120, later, last))


def groups(sm: Numbers) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Yield a name, and the regions of each SM in both matrices."""
    gpc = gpc_of(sm)
    within = np.array([int((gpc[:each] == gpc[each]).sum()) for each in range(len(sm))])
    yield "own", sm, sm
    for count in (12, 8, 6, 4, 2, 1):
        each = _numbered(18 * gpc + within % count)
        yield f"{count} of a GPC", each, each
    yield "1 of a GPC, and own", gpc, sm
    yield "4 of a GPC, and own", _numbered(18 * gpc + within % 4), sm
    yield "elsewhere", within, within
    yield "all", 0 * sm, 0 * sm
    rows, columns = within // 2 % 8, within % 2
    yield "rows and columns of a GPC", 8 * gpc + rows, 2 * gpc + columns
    yield "rows and columns", gpc % 2 * 8 + rows, gpc // 2 * 2 + columns
    yield "squares", gpc % 4 * 4 + within // 4 % 4, gpc // 4 * 4 + within % 4


def _numbered(each: Numbers) -> Numbers:
    """Return numbers from 0 on instead of others."""
    return np.searchsorted(np.unique(each), each)


def measure_gpc_reads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, bytes of a row, group, blocks per SM and turns.

    `bytes_per_cycle`: of the median SM; `least` and `most`: of all. Blocks of an SM lie at other
    regions.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does, CompileError and ToolError as
    `compiled` does.
    """
    sms = open_gpu(device).multiprocessors
    import cupy

    found = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data = cupy.zeros(3 * _BYTES, dtype=np.uint8)
        for way, row in (*(("copies", row) for row in (128, 64, 32)), ("loads", 128)):
            path = Path(folder, f"{way}{row}.cubin")
            path.write_bytes(compiled(_source(way, row), Path(folder)))
            kernel = cupy.RawModule(path=str(path)).get_function("gpc_reads")
            kernel.max_dynamic_shared_size_bytes = _SHARED
            for name, *both in groups(np.arange(sms)):
                regions = max(int(each.max()) for each in both) + 1
                rows = _BYTES // regions // 128 // 64 * 64
                for blocks in range(1, _BLOCKS + 1):
                    slots = max(1, regions // _BLOCKS) * np.arange(_BLOCKS)[None, :]
                    each = np.stack([(of[:, None] + slots) % regions for of in both], axis=2)
                    if "rows" in name or name == "squares":  # they share rows, not columns
                        each[:, :, 0] = both[0][:, None]
                    of = cupy.asarray(each.reshape(-1), dtype=np.int32)
                    for turns in (64, 256):
                        least = np.full(blocks * sms, np.inf)
                        for _ in range(5):
                            when = cupy.zeros(blocks * sms, dtype=np.int64)
                            taken = cupy.zeros(sms, dtype=np.int32)
                            kernel((blocks * sms,), (_THREADS,),
                                   (when, data, of, taken, np.int32(rows), np.int32(turns)),
                                   shared_mem=_SHARED)  # fmt: skip
                            took = when.get().astype(np.float64)
                            if np.median(took) < np.median(least):
                                least = took
                        rates = blocks * turns * _EACH * _THREADS * 16 / least
                        found.append(
                            {"way": way, "row": row, "group": name, "blocks": blocks,
                             "turns": turns, "bytes_per_cycle": round(float(np.median(rates)), 2),
                             "least": round(float(rates.min()), 2),
                             "most": round(float(rates.max()), 2)}
                        )  # fmt: skip
    return found


def _source(way: str, row: int) -> str:
    """Return CUDA source for rows of so many bytes, each in a line of its own."""
    source = _SOURCE
    for name, text in zip(("GET", "WAIT"), _WAYS[way], strict=True):
        source = source.replace(name, text)
    for name, value in (
        ("THREADS", _THREADS), ("EACH", _EACH), ("STAGES", _STAGES), ("BLOCKS", _BLOCKS),
        ("BYTES", _BYTES), ("ROW", row),
    ):  # fmt: skip
        source = source.replace(name, str(value))
    return source
