"""What a grid finds in the L2 of what it wrote itself, in the same launch.

A wave of 528 blocks of 256 threads writes `pieces` of 4096 bytes of each block, one after the
other. Then it reads them, in the same order or the other way round. `copies`: it writes what it
reads elsewhere, so that half of what it touches first is read.

`cycles` is the median of three processes, second launches. `dram_read` and `dram_write` are in
bytes; `python -m gpu_check.timing.read_back` is the process that ncu watches, and no launch is
repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["measure_read_back", "read_back_source"]

_SOURCE = """
template <int COPIES, int BACK>
__device__ __forceinline__ void run(const uint4* in, uint4* out, int pieces) {
    const unsigned row = gridDim.x * 256, first = blockIdx.x * 256 + threadIdx.x;
    for (int k = 0; k < pieces; ++k) {
        uint4 v = make_uint4(k, k, k, k);
        if (COPIES) v = in[(size_t)k * row + first];
        out[(size_t)k * row + first] = v;
    }
    unsigned sum = 0;
    for (int k = 0; k < pieces; ++k) {
        const uint4 v = out[(size_t)(BACK ? pieces - 1 - k : k) * row + first];
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 12345) out[first].x = 1;
}
#define KERNEL(NAME, COPIES, BACK) \\
    extern "C" __global__ void __launch_bounds__(256) \\
    back_##NAME(const uint4* in, uint4* out, int pieces) { run<COPIES, BACK>(in, out, pieces); }
KERNEL(writes_same, 0, 0)
KERNEL(writes_back, 0, 1)
KERNEL(copies_same, 1, 0)
KERNEL(copies_back, 1, 1)
"""
_BLOCKS, _PIECE = 528, 4096
_CASES = [
    (way, order, pieces)
    for way, order in product(("writes", "copies"), ("same", "back"))
    for pieces in (4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32)
]
_TIMES = ["sm__cycles_elapsed.max"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]


def read_back_source() -> str:
    """Return CUDA source of all kernels."""
    return _SOURCE


def measure_read_back(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES. `written`: bytes that the grid writes.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.read_back", read_back_source(), "regex:^back_", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    rows = []
    for place, (way, order, pieces) in enumerate(_CASES):
        read, written = moved[place]
        rows.append(
            {"way": way, "order": order, "pieces": pieces, "written": _BLOCKS * _PIECE * pieces,
             **cycles_of(timed, place),
             "dram_read": read, "dram_write": written}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        for way, order, pieces in _CASES:
            count = _BLOCKS * _PIECE * pieces // 4
            data = [cupy.zeros(count, dtype=np.uint32) for _ in range(2)]
            for _ in range(2):
                module.get_function(f"back_{way}_{order}")(
                    (_BLOCKS,), (256,), (*data, np.int32(pieces))
                )
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
