"""What stores and additions cost that change all of some memory, piece by piece in no order.

An array of `mebibytes` is cut into pieces of `piece` bytes. Each is changed once, by lanes that
change `bytes` each and lie side by side; which piece follows which is drawn. A kernel stores, or it
adds, and does not use what was there. So a sector of a piece that is smaller is changed by other
warps at other times. `cycles` is the median of three processes, second launches. `dram_read` and
`dram_write` are in bytes; `python -m gpu_check.timing.scattered_stores` is the process that ncu
watches, and no launch is repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from gpu_check.timing.watching import second_launches

__all__ = ["measure_scattered_stores", "scattered_stores_source", "shape_of"]

_SOURCE = """
__device__ __forceinline__ unsigned drawn(unsigned x, int bits) {  // of 2^bits numbers another
    const unsigned most = (1u << bits) - 1;
    x = x * 2654435761u & most; x ^= x >> (bits + 1) / 2;
    x = x * 2246822519u & most; x ^= x >> (bits + 1) / 2;
    return x * 3266489917u & most;
}
__device__ __forceinline__ unsigned place(unsigned x, unsigned pieces, int bits) {  // below pieces
    do x = drawn(x, bits); while (x >= pieces);
    return x;
}
template <typename T, bool ADDS>
__device__ __forceinline__ void run(T* data, unsigned pieces, int bits, int lanes, T value) {
    const unsigned first = blockIdx.x * 256 + threadIdx.x, threads = gridDim.x * 256;
    #pragma unroll 4
    for (int turn = 0; turn < 16; ++turn) {
        const unsigned i = first + turn * threads;
        T* to = data + (size_t)place(i / lanes, pieces, bits) * lanes + i % lanes;
        if constexpr (ADDS) atomicAdd(to, value); else *to = value;
    }
}
extern "C" __global__ void __launch_bounds__(256) store_4(unsigned* data, unsigned pieces, int bits,
    int lanes)
{ run<unsigned, false>(data, pieces, bits, lanes, threadIdx.x); }
extern "C" __global__ void __launch_bounds__(256) add_4(unsigned* data, unsigned pieces, int bits,
    int lanes)
{ run<unsigned, true>(data, pieces, bits, lanes, threadIdx.x); }
extern "C" __global__ void __launch_bounds__(256) store_16(uint4* data, unsigned pieces, int bits,
    int lanes)
{ run<uint4, false>(data, pieces, bits, lanes, make_uint4(threadIdx.x, 1, 2, 3)); }
"""
_KINDS = [
    *(("store", 4, piece) for piece in (4, 16)),
    *(("store", 16, piece) for piece in (16, 32, 64, 128, 512)),
    *(("add", 4, piece) for piece in (4, 16, 32, 64, 128, 512)),
]
CASES = [(*kind, size) for kind, size in product(_KINDS, (8, 32, 40, 48, 56, 64, 96, 128, 256))]
"""What it does, bytes of a lane, bytes of a piece, MiB."""
_TURNS = 16


def scattered_stores_source() -> str:
    """Return CUDA source of the kernels."""
    return _SOURCE


def shape_of(width: int, piece: int, size: int) -> tuple[int, tuple[int, int, int]]:
    """Return the blocks of a launch, and its pieces, the two's power above, and lanes of each."""
    pieces = (size << 20) // piece
    bits = (pieces - 1).bit_length()
    return (size << 20) // width // (256 * _TURNS), (pieces, bits, piece // width)


def measure_scattered_stores(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.scattered_stores", scattered_stores_source(), "regex:^(store|add)_",
        device,
    ) as launches:  # fmt: skip
        names = ("access", "bytes", "piece", "mebibytes")
        return launches.passed([dict(zip(names, case, strict=True)) for case in CASES])


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        for access, width, piece, size in CASES:
            kernel = module.get_function(f"{access}_{width}")
            data = cupy.zeros((size << 20) // 4, dtype=np.uint32)
            blocks, shape = shape_of(width, piece, size)
            for _ in range(2):
                kernel((blocks,), (256,), (data, *map(np.int32, shape)))
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
