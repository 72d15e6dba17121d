"""How large L1 is beside shared memory: what a block reads again without the L2.

One block of an SM reads so many KiB four times, a word of each thread at a time. `room`: the most
of SIZES that L1 holds of that; of the next one, a part in 12 at least comes again. `resident`: so
many blocks an SM would hold, with `threads`, `registers` and `shared` bytes of dynamic shared
memory. `python -m gpu_check.timing.l1_room` is the process that ncu watches; no launch is
repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.watching import second_launches

__all__ = ["SIZES", "l1_room_source", "measure_l1_room"]

_SOURCE = """
template <int VALUES>
__device__ __forceinline__ void run(const float* in, float* out, int words, int passes) {
    extern __shared__ float held[];
    const size_t first = (size_t)blockIdx.x * words + threadIdx.x;
    float sum = 0, a[VALUES + 1];
    #pragma unroll
    for (int j = 0; j <= VALUES; ++j) a[j] = threadIdx.x * j;
    for (int pass = 0; pass < passes; ++pass) {
        for (int k = 0; k + threadIdx.x < words; k += blockDim.x) {
            const float v = in[first + k];
            sum += v;
            #pragma unroll
            for (int j = 0; j < VALUES; ++j) a[j] = a[j] * v + a[j + 1];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int j = 0; j <= VALUES; ++j) sum += a[j] * a[j];
    if (sum == 12345) out[first] = held[threadIdx.x];
}
#define KERNEL(VALUES) \\
    extern "C" __global__ void room_##VALUES(const float* in, float* out, int words, int passes) \\
    { run<VALUES>(in, out, words, passes); }
KERNEL(0)
KERNEL(40)
KERNEL(100)
"""
SIZES = (16, 44, 76, 108, 140, 174, 208, 232, 246)
"""KiB: between those that L1 may have."""
_KINDS = [
    *product((0,), (32, 64), (0, 1, 2, 4, 6)),
    *product((0, 40, 100), (128, 256), (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)),
    *product((0,), (192, 384, 640, 768), (3, 4, 6, 8, 12, 16)),
    *product((0, 40, 100), (512,), (4, 8, 16, 24, 32, 48)),
    *product((0,), (1024,), (4, 7, 8, 15, 16, 31, 32, 49, 52, 64, 66)),
]
"""Values that a thread keeps, threads, KiB of shared memory."""
_PASSES, _WORD, _LOST = 4, 4, 0.08
_METRICS = ["l1tex__m_xbar2l1tex_read_bytes.sum"]


def l1_room_source() -> str:
    """Return CUDA source of all kernels."""
    return _SOURCE


def measure_l1_room(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind of block.

    Raises CountersError as `count_on_gpu` does.
    """
    open_gpu(device)
    import cupy

    sms = int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
    with second_launches(
        "gpu_check.timing.l1_room", l1_room_source(), "regex:^room_", device, sms
    ) as launches:
        sent = [bytes_ for (bytes_,) in launches.counted(_METRICS)]
        blocks = _blocks(launches.cubin, device)
    rows = []
    for place, kind in enumerate(_KINDS):
        room = 0
        of_kind = sent[place * len(SIZES) : (place + 1) * len(SIZES)]
        for size, bytes_ in zip(SIZES, of_kind, strict=True):
            first = (size << 10) * sms
            if (bytes_ - first) / (first * (_PASSES - 1)) > _LOST:
                break
            room = size
        registers, resident = blocks[place]
        rows.append(
            {"threads": kind[1], "registers": registers, "shared": kind[2] << 10,
             "resident": resident, "room": room}
        )  # fmt: skip
    return rows


def _blocks(path: Path, device: int) -> list[tuple[int, int]]:
    """Return the registers of a thread and the blocks of an SM of each kind."""
    import cupy

    found = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=str(path))
        for values, threads, shared in _KINDS:
            kernel = module.get_function(f"room_{values}")
            kernel.max_dynamic_shared_size_bytes = shared << 10
            held = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                kernel.kernel.ptr, threads, shared << 10
            )
            found.append((kernel.num_regs, int(held)))
    return found


def _launch(path: str, device: int, sms: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        data = [cupy.zeros((256 << 10) * sms // _WORD, dtype=np.float32) for _ in range(2)]
        for (values, threads, shared), size in product(_KINDS, SIZES):
            kernel = module.get_function(f"room_{values}")
            kernel.max_dynamic_shared_size_bytes = shared << 10
            for _ in range(2):
                kernel(
                    (sms,), (threads,), (*data, np.int32((size << 10) // _WORD),
                    np.int32(_PASSES)), shared_mem=shared << 10,
                )  # fmt: skip
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
