"""Loops of a product of matrices, part by part: what its parts take alone and together.

Each turn of a warp copies tiles of halves to shared memory: cp.async of 16 bytes per lane. It loads
fragments (ldmatrix of four matrices) and multiplies them (m16n8k16). A turn ends at a barrier or
not. Rows of tiles are swizzled: no access conflicts. All SMs run a block; copies come from the L2.
`row`: bytes of a source's row; rows are 4 KiB apart. After `again` turns the same is copied again.
`same`: so many blocks, one beside the other, copy the same. `cycles`: of an SM per turn.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["CASES", "mainloop_source", "measure_mainloops"]

CASES = (
    (6, 0, 0), (0, 6, 0), (6, 6, 0), (0, 0, 32), (0, 6, 32), (6, 6, 32), (3, 6, 16), (6, 6, 16),
)  # fmt: skip
"""Copies, fragments and products of a turn."""
_WARPS, _TURNS = (4, 8, 16), (64, 320)
_ROWS, _AGAIN, _SAME = (512, 64), (2, 8), (1, 2, 132)
_SHARED = 100_000
_SOURCE = """
extern "C" __global__ void mainloop(const uint4* data, float* out, unsigned* took, int turns,
                                    int apart, int again) {
    extern __shared__ __align__(1024) uint4 held[];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned base = (unsigned)__cvta_generic_to_shared(held) + warp * 6144;
    const unsigned mine = base + (lane * 16 ^ (lane / 8 % 4) * 16);
    const uint4* from = data + (blockIdx.x / apart * (blockDim.x / 32) + warp) * 2048
                        + lane / LANES * 256 + lane % LANES;
    unsigned a[6][4] = {}, b[2] = {1, 2};
    float sum[8][4] = {};
    __syncthreads();
    const unsigned start = (unsigned)clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        WAIT
        BARRIER
        #pragma unroll
        for (int k = 0; k < COPIES; ++k)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(mine + turn % 2 * 3072 + k * 512),
                            "l"(from + ((turn & again - 1) * 6 + k) * LANES));
        asm volatile("cp.async.commit_group;");
        #pragma unroll
        for (int k = 0; k < FRAGMENTS; ++k)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a[k][0]), "=r"(a[k][1]), "=r"(a[k][2]), "=r"(a[k][3])
                         : "r"(mine + (1 - turn % 2) * 3072 + k * 512));
        #pragma unroll
        for (int k = 0; k < PRODUCTS; ++k) {
            float(&s)[4] = sum[k % 8];
            unsigned(&f)[4] = a[k % 6];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3},"
                         " {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                         : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(b[0]), "r"(b[1]));
        }
    }
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    if (t == 0) took[blockIdx.x] = (unsigned)clock64() - start;
    float all = 0;
    for (int k = 0; k < 8; ++k) all += sum[k][0] + sum[k][1] + sum[k][2] + sum[k][3];
    for (int k = 0; k < 6; ++k) all += a[k][0] + a[k][1] + a[k][2] + a[k][3];
    if (all == 12345) *out = all;
}
"""


def mainloop_source(copies: int, fragments: int, products: int, barrier: bool, row: int) -> str:
    """Return CUDA source of a loop."""
    source = _SOURCE.replace("WAIT", 'asm volatile("cp.async.wait_group 1;");' if copies else "")
    source = source.replace("BARRIER", "__syncthreads();" if barrier else "")
    source = source.replace("LANES", str(row // 16))
    for name, count in (("COPIES", copies), ("FRAGMENTS", fragments), ("PRODUCTS", products)):
        source = source.replace(name, str(count))
    return source


def measure_mainloops(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case, barrier, row, turns until a copy is repeated, sharers and warps."""
    blocks = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data, out = cupy.zeros(1 << 27, np.uint8), cupy.zeros(1, np.float32)
        took = cupy.zeros(blocks, np.uint32)
        for number, (case, barrier, row) in enumerate(product(CASES, (False, True), _ROWS)):
            if row != _ROWS[0] and not case[0]:
                continue
            path = Path(folder, f"{number}.cubin")
            path.write_bytes(compiled(mainloop_source(*case, barrier, row), Path(folder)))
            kernel = cupy.RawModule(path=str(path)).get_function("mainloop")
            kernel.max_dynamic_shared_size_bytes = _SHARED
            for warps, same, again in product(_WARPS, _SAME, _AGAIN):
                if not case[0] and (same, again) != (1, _AGAIN[0]):
                    continue
                means = []
                for turns in _TURNS:
                    given = (data, out, took, *map(np.int32, (turns, same, again)))
                    for _ in range(3):
                        kernel((blocks,), (32 * warps,), given, shared_mem=_SHARED)
                    means.append(float(took.get().mean()))
                copies, fragments, products = case
                rows.append(
                    {"copies": copies, "fragments": fragments, "products": products,
                     "barrier": int(barrier), "row": row, "warps": warps, "same": same,
                     "again": again,
                     "cycles": round((means[1] - means[0]) / (_TURNS[1] - _TURNS[0]), 2)}
                )  # fmt: skip
    return rows
