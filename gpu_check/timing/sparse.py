"""What a second launch finds in the L2 of lines that it reads, or writes, a part of.

Each thread loads a word, or stores one, `unit` bytes behind that of the thread before: of 32, each
sector of a line is touched, of 128 one. `mebibytes`: what lies between the first word and the last
one. Blocks of 256 threads make four such rows each.

`cycles` is the median of three processes, second launches. `dram_read` and `dram_write` are in
bytes; `python -m gpu_check.timing.sparse` is the process that ncu watches, and no launch is
repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["measure_sparse", "sparse_source"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(256) sparse_reads(unsigned* data, unsigned unit) {
    const size_t first = (size_t)blockIdx.x * 1024 + threadIdx.x;
    unsigned v[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = data[(first + 256 * k) * unit];
    if ((v[0] ^ v[1] ^ v[2] ^ v[3]) == 12345) *data = 0;
}
extern "C" __global__ void __launch_bounds__(256) sparse_writes(unsigned* data, unsigned unit) {
    const size_t first = (size_t)blockIdx.x * 1024 + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < 4; ++k) data[(first + 256 * k) * unit] = k;
}
"""
_CASES = [*product(("reads", "writes"), (16, 20, 24, 28, 32, 36, 40, 48, 64, 96), (32, 64, 128))]
_WORD, _OF_BLOCK = 4, 1024
_TIMES = ["sm__cycles_elapsed.max"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]


def sparse_source() -> str:
    """Return CUDA source of both kernels."""
    return _SOURCE


def measure_sparse(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.sparse", sparse_source(), "regex:^sparse_", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    rows = []
    for place, case in enumerate(_CASES):
        read, written = moved[place]
        rows.append(
            dict(zip(("way", "mebibytes", "unit"), case, strict=True))
            | {**cycles_of(timed, place),
               "dram_read": read, "dram_write": written}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        for way, size, unit in _CASES:
            data = cupy.zeros((size << 20) // _WORD, dtype=np.uint32)
            blocks = (size << 20) // unit // _OF_BLOCK
            for _ in range(2):
                module.get_function(f"sparse_{way}")(
                    (blocks,), (256,), (data, np.uint32(unit // _WORD))
                )
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
