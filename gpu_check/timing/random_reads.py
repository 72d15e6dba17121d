"""What the L2 keeps of memory that all SMs read at random: bytes from DRAM, and cycles.

Each thread loads 64 words from an array of `mebibytes`, at places that are drawn anew. Each place
is a multiple of `unit` bytes from the array's beginning. So each load of a lane is a sector, and L1
has next to none. `cycles` is the median of three processes, second launches. `dram_read` is in
bytes, `sectors` what L1 gets; `python -m gpu_check.timing.random_reads` is the process that ncu
watches, and no launch is repeated.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["measure_random_reads", "random_reads_source"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(256) random_reads(
    const unsigned* data, unsigned* sink, unsigned places, int unit) {
    unsigned x = (blockIdx.x * 256 + threadIdx.x) * 2654435761u + 12345u, sum = 0;
    #pragma unroll 4
    for (int turn = 0; turn < 64; ++turn) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        sum += data[((unsigned long long)x * places >> 32) * unit];
    }
    if (sum == 12345) *sink = sum;
}
"""
_BLOCKS = 1056
_CASES = [
    (size, unit)
    for size in (8, 16, 20, 24, 26, 28, 30, 32, 36, 40, 48, 64, 96, 160)
    for unit in (32, 128)
]
"""MiB, and bytes."""
_SECTOR, _WORD = 32, 4
_TIMES = ["sm__cycles_elapsed.max"]
_BYTES = ["dram__bytes_read.sum", "l1tex__m_xbar2l1tex_read_bytes.sum"]


def random_reads_source() -> str:
    """Return CUDA source of the kernel."""
    return _SOURCE


def measure_random_reads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.random_reads", random_reads_source(), "random_reads", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    rows = []
    for place, (size, unit) in enumerate(_CASES):
        read, filled = moved[place]
        rows.append(
            {"mebibytes": size, "unit": unit, "loads": _BLOCKS * 256 * 64,
             **cycles_of(timed, place),
             "dram_read": read, "sectors": filled // _SECTOR}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(path=path).get_function("random_reads")
        sink = cupy.zeros(1, dtype=np.uint32)
        for size, unit in _CASES:
            data = cupy.zeros((size << 20) // _WORD, dtype=np.uint32)
            given = (data, sink, np.uint32((size << 20) // unit), np.int32(unit // _WORD))
            for _ in range(2):
                kernel((_BLOCKS,), (256,), given)
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
