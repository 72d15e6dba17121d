"""How long kernels take that pass once over several arrays, some of which they write.

A thread reads a word of each of `reads` arrays and writes one of each of `writes`. The arrays have
the same size and `mebibytes` together. `word`: bytes. All launches are second ones.

`cycles` is the median of three processes; `active` is that of the mean SM; `dram_read` and
`dram_write` are bytes. `python -m gpu_check.timing.streams` is the process that ncu watches; no
launch is repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

from gpu_check.timing.watching import second_launches

__all__ = ["measure_streams", "streams_source"]

_SOURCE = """
template <int R, int W, typename T> __device__ __forceinline__ void run(char* data, size_t apart) {
    const size_t at = (blockIdx.x * 256u + threadIdx.x) * sizeof(T);
    float sum = 0;
    T v[R + 1];
    #pragma unroll
    for (int k = 0; k < R; ++k) v[k] = *(const T*)(data + k * apart + at);
    #pragma unroll
    for (int k = 0; k < R; ++k) sum += *(const float*)(v + k);
    T out;
    for (int k = 0; k < sizeof(T) / 4; ++k) ((float*)&out)[k] = sum + k;
    #pragma unroll
    for (int k = R; k < R + W; ++k) *(T*)(data + k * apart + at) = out;
    if (W == 0 && sum == 12345) *(float*)data = sum;
}
#define KERNEL(R, W, T, BYTES) extern "C" __global__ __launch_bounds__(256) void \\
    streams_##R##_##W##_##BYTES(char* data, size_t apart) { run<R, W, T>(data, apart); }
"""
_ARRAYS = (
    (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (0, 1), (0, 4),
    (1, 1), (2, 1), (2, 2), (4, 1), (4, 4), (8, 1), (8, 8),
)  # fmt: skip
_TYPES = {4: "float", 16: "float4"}
_CASES = [*product(_ARRAYS, _TYPES, (24, 40, 160))]


def streams_source() -> str:
    """Return CUDA source of all kernels."""
    kernels = product(_ARRAYS, _TYPES.items())
    return _SOURCE + "".join(f"KERNEL({r}, {w}, {t}, {b})\n" for (r, w), (b, t) in kernels)


def measure_streams(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.streams", streams_source(), "regex:^streams", device
    ) as launches:
        return launches.passed([
            {"reads": reads, "writes": writes, "word": word, "mebibytes": size}
            for (reads, writes), word, size in _CASES
        ])  # fmt: skip


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        data = cupy.zeros(192 << 20, dtype=cupy.uint8)
        for (reads, writes), word, size in _CASES:
            kernel = module.get_function(f"streams_{reads}_{writes}_{word}")
            blocks = (size << 20) // (reads + writes) // (256 * word)
            for _ in range(2):
                kernel((blocks,), (256,), (data, cupy.uint64(blocks * 256 * word)))
            cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
