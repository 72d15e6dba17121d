"""How long kernels take that pass once over rows in several waves, and where the L2 has these.

A block reads a row of `row` bytes, in words of `word` bytes of a thread, and writes it elsewhere
where `way` is `copies`. `threads`: of a block. `resident`: blocks of an SM at a time. `bytes`: what
the grid touches. All launches are second ones.

`cycles` is the median of three processes; `active` and `active_most` are those of the mean and the
last SM. In bytes: what DRAM moves, and `crossed`, what goes from one of the L2's two parts to the
other. `python -m gpu_check.timing.waves` is the process that ncu watches; no launch is repeated.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["measure_waves", "waves_source"]

_SOURCE = """
template <typename W>
__device__ __forceinline__ void run(const W* in, W* out, int words, int copies) {
    const size_t first = (size_t)blockIdx.x * words;
    float sum = 0;
    #pragma unroll 4
    for (int k = threadIdx.x; k < words; k += blockDim.x) {
        const W v = in[first + k];
        if (copies) out[first + k] = v; else sum += *(const float*)&v;
    }
    if (sum == 12345) *(float*)out = sum;
}
extern "C" __global__ void rows_4(const float* in, float* out, int words, int copies)
    { run(in, out, words, copies); }
extern "C" __global__ void rows_8(const double* in, double* out, int words, int copies)
    { run(in, out, words, copies); }
extern "C" __global__ void rows_16(const float4* in, float4* out, int words, int copies)
    { run(in, out, words, copies); }
"""
_MIB = 1 << 20
_SHARED = 227 << 10
"""Bytes of an SM that its blocks have, and a kibibyte of each is the system's."""
_FORMS = (
    # word, row, threads, resident, mebibytes
    (4, 1024, 256, 8, (2, 4, 8, 12, 16, 20, 24)),
    (16, 4096, 256, 8, (8, 12, 16, 20, 24, 28, 32)),
    (16, 4096, 256, 2, (2, 4, 8, 12, 16, 24, 32)),
    (16, 8192, 256, 8, (12, 16, 20, 24, 28, 32)),
    (8, 12288, 128, 16, (16, 20, 24, 28, 32)),
    (8, 12248, 128, 16, (16, 20, 24, 28, 32)),
    (4, 131072, 1024, 2, (12, 24, 28, 32)),
)
_CASES = [
    (way, word, row, threads, resident, (size * _MIB) // (row * (1 + (way == "copies"))))
    for way in ("reads", "copies") for word, row, threads, resident, sizes in _FORMS
    for size in sizes
]  # fmt: skip
_TIMES = ["sm__cycles_elapsed.max", "sm__cycles_active.avg", "sm__cycles_active.max"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_ltcfabric.sum"]
_SECTOR = 32


def waves_source() -> str:
    """Return CUDA source of all kernels."""
    return _SOURCE


def measure_waves(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, form and size.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.waves", waves_source(), "regex:^rows_", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    rows = []
    for place, (way, word, row, threads, resident, blocks) in enumerate(_CASES):
        read, written, crossed = moved[place]
        rows.append(
            {"way": way, "word": word, "row": row, "threads": threads, "resident": resident,
             "blocks": blocks, "bytes": blocks * row * (1 + (way == "copies")),
             **cycles_of(timed, place),
             "active": median(run[place][1] for run in timed),
             "active_most": median(run[place][2] for run in timed),
             "dram_read": read, "dram_write": written, "crossed": _SECTOR * crossed}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        host = np.random.default_rng(0).random(_MIB * 8, dtype=np.float32)
        for way, word, row, threads, resident, blocks in _CASES:
            kernel = module.get_function(f"rows_{word}")
            whole = resident * threads == 2048
            shared = 0 if whole else _SHARED // resident - 1024
            copies = int(way == "copies")
            data = [cupy.asarray(host[: max(size // 4, 64)])
                    for size in (blocks * row, copies * blocks * row)]  # fmt: skip
            kernel.max_dynamic_shared_size_bytes = max(shared, 1)
            given = (*data, np.int32(row // word), np.int32(copies))
            for _ in range(2):
                kernel((blocks,), (threads,), given, shared_mem=shared)
            cupy.cuda.Device(device).synchronize()
            del data, given
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
