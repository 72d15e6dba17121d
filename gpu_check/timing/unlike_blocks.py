"""Which SM gets which block of a grid, and when the last one of blocks of many lengths ends.

Blocks of 128 threads note their SM. `measure_first_places`: blocks that wait, so that all begin
before one ends. `sms`: the SM of each block, in the grid's order, as many as have a slot.

`measure_unlike_blocks`: blocks do turns with a barrier at the end of each, as many as a rule says.
A turn waits 500 cycles, or has four loads of shared memory that conflict, or 512 FFMAs. `resident`
are on an SM at a time. Figures are of the second launch: `first`, the SM of the first block that
does not go to the SMs that stand apart; `last`, nanoseconds from the first begin to the last end;
`alone`, `among`: a block's cycles per turn, the median, where its SM has no other and all of them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["RULES", "measure_first_places", "measure_unlike_blocks", "turns_of"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(128) unlike_{kind}(
    const int* turns, float* out, long long* when, int* where) {{
    extern __shared__ __align__(1024) uint4 held[];
    long long begin, end;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin) :: "memory");
    const long long start = clock64();
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, mine = turns[blockIdx.x];
    const unsigned base = (unsigned)__cvta_generic_to_shared(held) + warp * 4096 + lane * 128;
    unsigned v = t;
    float f[8];
    for (int i = 0; i < 8; ++i) f[i] = t + i;
    #pragma unroll 1
    for (int turn = 0; turn < mine; ++turn) {{
        {body}
        __syncthreads();
    }}
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += f[i];
    if (v == 12345 || sum == 12345.0f) *out = sum + base;
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
_BODIES = {
    "waits": "while (clock64() - start < 500ll * (turn + 1)) {}",
    "conflicts": """
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v) : "r"(base + k * 4));""",
    "adds": """
        #pragma unroll 8
        for (int k = 0; k < 64; ++k)
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[i]) : "f"(1.5f));""",
}
_THREADS = 128
_SHARED = {1: 200_000, 2: 100_000, 4: 55_000, 8: 27_000}
"""Bytes of shared memory, by the blocks that an SM holds."""
_WAVES = (1, 1.5, 2, 4)
_BLOCKS = {
    1: (132, 400), 2: (264,), 4: (5, 66, 100, 124, 200, 512, 528, 800), 8: (300, 396, 1000, 1056),
}  # fmt: skip
"""Of a grid, by the blocks that an SM holds."""
_LONG = 40
RULES = ("like", "by 33", "by 16", "by 64", "rows up", "rows down", "random", "ragged")
"""How many turns a block does."""


def turns_of(rule: str, blocks: int) -> NDArray[np.int32]:
    """Return the turns of each block.

    >>> turns_of("by 16", 4).tolist(), turns_of("rows up", 4).tolist()
    ([32, 30, 28, 26], [1, 9, 17, 25])
    """
    number = np.arange(blocks)
    chance = number * 2654435761 % 2**32 >> 7
    found = {
        "like": number * 0 + 17, "by 33": 1 + number % 33, "by 16": 2 * (16 - number % 16),
        "by 64": number % 64 // 2 + 1, "rows up": 1 + 33 * number // blocks,
        "rows down": 33 - 33 * number // blocks, "random": 1 + chance % 33,
        "ragged": np.where(chance % 16 == 0, 96, 8),
    }[rule]  # fmt: skip
    return found.astype(np.int32)


class _Launcher:
    """Launches kernels that say where and when their blocks ran."""

    def __init__(self, folder: str) -> None:
        import cupy

        source = "".join(_SOURCE.format(kind=kind, body=body) for kind, body in _BODIES.items())
        path = Path(folder, "unlike.cubin")
        path.write_bytes(compiled(source, Path(folder)))
        self._module = cupy.RawModule(path=str(path))
        self._out = cupy.zeros(1, np.float32)

    def launch(
        self, kind: str, resident: int, turns: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return begins, ends and cycles of blocks, shape (blocks, 3), and their SMs."""
        import cupy

        kernel = self._module.get_function(f"unlike_{kind}")
        kernel.max_dynamic_shared_size_bytes = shared = _SHARED[resident]
        given, blocks = cupy.asarray(turns), len(turns)
        for _ in range(2):
            when, where = cupy.zeros(3 * blocks, np.int64), cupy.zeros(blocks, np.int32)
            cupy.cuda.Device().synchronize()
            kernel((blocks,), (_THREADS,), (given, self._out, when, where), shared_mem=shared)
            cupy.cuda.Device().synchronize()
        return when.get().reshape(-1, 3), where.get()


def measure_first_places(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per blocks that an SM holds and blocks of the grid.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does, CompileError and ToolError as
    `compiled` does.
    """
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        launcher = _Launcher(folder)
        for resident, grids in _BLOCKS.items():
            for blocks in grids:
                _, where = launcher.launch("waits", resident, np.full(blocks, _LONG, np.int32))
                places = " ".join(map(str, where[: resident * sms].tolist()))
                rows.append({"resident": resident, "blocks": blocks, "sms": places})
    return rows


def measure_unlike_blocks(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel, blocks that an SM holds, waves and rule. Raises as the above."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        launcher = _Launcher(folder)
        for kind in _BODIES:
            like = {
                count: launcher.launch(kind, count, turns_of("like", sms * count))[0][:, 2]
                for count in _SHARED
            }
            per_turn = {count: float(np.median(took)) / 17 for count, took in like.items()}
            for resident in _SHARED:
                for waves in _WAVES:
                    blocks = int(sms * resident * waves)
                    for rule in RULES:
                        when, where = launcher.launch(kind, resident, turns_of(rule, blocks))
                        last = int(when[:, 1].max() - when[:, 0].min())
                        rows.append(
                            {"kernel": kind, "resident": resident, "waves": waves, "rule": rule,
                             "first": int(where[8]), "last": last,
                             "alone": round(per_turn[1], 1), "among": round(per_turn[resident], 1)}
                        )  # fmt: skip
    return rows
