"""Loads and stores of another block of the cluster: cycles of an SM per access of a warp, by shape.

`row`: lanes side by side, in one line; `crossed`: one to three words further, over two lines; `2
lines` to `16 lines`: equal parts of the lanes in as many rows of 32 words; `columns`: each lane in
a row of its own of 33 words; `meeting`: of 32; `lane`: one lane. All warps access the same lines;
of `own row` and `own row of 33` each has a row, of 32 and of 33 words. Blocks access the next one,
or each time another, themselves among them (`around` 1), all blocks of a cluster the same one
(`around` 2). Loads wait for the four before.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["SHAPES", "Shape", "measure_neighbour_shapes", "neighbour_shapes_source"]

_TURNS = 64
_EACH = 4
_CLUSTERS = (2, 4, 8)
_WARPS = (8, 32)


class Shape(NamedTuple):
    """Where lanes access, in words."""

    run: int
    """Lanes side by side."""
    pitch: int
    """From one run to the next one."""
    apart: int
    """From one access of a warp to the next one."""
    own: int = 0
    """From one warp to the next one."""
    lanes: int = 32

    @property
    def args(self) -> tuple[np.int32, ...]:
        """What the kernel takes of it."""
        return tuple(np.int32(each) for each in self)


SHAPES = {
    "row": Shape(32, 0, 128), "crossed": Shape(32, 0, 129),
    **{f"{lines} lines": Shape(32 // lines, 32, 128) for lines in (2, 4, 8, 16)},
    "columns": Shape(1, 33, 1), "meeting": Shape(1, 32, 1), "lane": Shape(1, 0, 128, lanes=1),
    "own row": Shape(32, 0, 0, 32), "own row of 33": Shape(32, 0, 0, 33),
}  # fmt: skip
_ACCESSES = {
    "loads": 'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(part[k]) : "r"(at) :'
    ' "memory")',
    "stores": 'asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(at), "r"(turn) : "memory")',
}
_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) __cluster_dims__(CLUSTER, 1, 1)
WHAT_CLUSTER(long long* when, unsigned* sink, int turns, int around, int run, int pitch, int apart,
             int own, int lanes) {
    __shared__ __align__(128) unsigned words[2048];
    unsigned rank, near = (unsigned)__cvta_generic_to_shared(words), far[CLUSTER], sum = 0;
    for (int k = threadIdx.x; k < 2048; k += blockDim.x) words[k] = 0;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    #pragma unroll
    for (unsigned k = 0; k < CLUSTER; ++k)
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far[k]) : "r"(near),
            "r"((around == 2 ? k : rank + (around ? k : 1)) % CLUSTER));
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned word = lane % run + pitch * (lane / run) + own * warp;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    long long start = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        if (turn == 2) { __syncthreads(); start = clock64(); }
        unsigned part[4] = {0, 0, 0, 0};
        if (lane < lanes) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned at = far[k % CLUSTER] + 4 * (word + apart * k) + (sum & 0x1000);
                ACCESS;
            }
        }
        sum += part[0] | part[1] | part[2] | part[3];
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 0x12345) *sink = sum;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


def neighbour_shapes_source(what: str, cluster: int) -> str:
    """Return CUDA source of `loads` or `stores`, for clusters of so many blocks."""
    text = _SOURCE.replace("ACCESS", _ACCESSES[what]).replace("WHAT", what)
    return text.replace("CLUSTER", str(cluster))


def measure_neighbour_shapes(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, shape, cluster, blocks and warps."""
    chip = open_gpu(device)
    import cupy

    rows = []
    both = [*product(_ACCESSES, _CLUSTERS)]
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        text = "".join(neighbour_shapes_source(*each) for each in both)
        path = Path(folder, "shapes.cubin")
        path.write_bytes(compiled(text, Path(folder)))
        module = cupy.RawModule(path=str(path))
        sink = cupy.zeros(1, dtype=np.uint32)
        for what, cluster in both:
            kernel = module.get_function(f"{what}_{cluster}")
            every = chip.multiprocessors // 8 * 8
            each = product(SHAPES, (0, 1, 2), (cluster, every), _WARPS)
            for shape, around, blocks, warps in each:
                when = cupy.zeros(blocks, dtype=np.int64)
                least = float("inf")
                for _ in range(3):
                    given = (when, sink, np.int32(_TURNS + 2), np.int32(around))
                    kernel((blocks,), (32 * warps,), (*given, *SHAPES[shape].args))
                    least = min(least, float(np.median(when.get())))
                cycles = round(least / (_TURNS * _EACH * warps), 2)
                rows.append(
                    {"what": what, "shape": shape, "around": around, "cluster": cluster,
                     "blocks": blocks, "warps": warps, "cycles": cycles}
                )  # fmt: skip
    return rows
