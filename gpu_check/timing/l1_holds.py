"""What L1 still has of what an SM's blocks read again: bytes that come again.

`blocks` of an SM read `kibibytes` together, each its own part, four times in the same order. They
have `threads`, which read a word each at a time, and `shared` bytes of dynamic shared memory.
`stores`: after each word they store one elsewhere. `again`: the share of what they read again that
came from the L2 again. `python -m gpu_check.timing.l1_holds` is the process that ncu watches; no
launch is repeated.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.timing.watching import second_launches

__all__ = ["l1_holds_source", "measure_l1_holds"]

_SOURCE = """
template <int STORES>
__device__ __forceinline__ void run(const float* in, float* out, int words, int passes) {
    extern __shared__ float held[];
    const size_t first = (size_t)blockIdx.x * words + threadIdx.x;
    float sum = 0;
    for (int pass = 0; pass < passes; ++pass) {
        for (int k = 0; k < words; k += blockDim.x) {
            const float v = in[first + k];
            sum += v;
            if (STORES) out[first + k] = v;
        }
        __syncthreads();
    }
    if (sum == 12345) out[first] = held[threadIdx.x];
}
extern "C" __global__ void holds_loads(const float* in, float* out, int words, int passes) {
    run<0>(in, out, words, passes);
}
extern "C" __global__ void holds_stores(const float* in, float* out, int words, int passes) {
    run<1>(in, out, words, passes);
}
"""
_PASSES, _SMS, _WORD = 4, 132, 4
_SIZES = (16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256)
_KINDS = (
    ("loads", 1, 1024, 0), ("loads", 2, 1024, 0), ("loads", 8, 256, 0), ("loads", 8, 256, 3072),
    ("loads", 4, 512, 16384), ("loads", 4, 512, 24576), ("loads", 2, 1024, 49152),
    ("loads", 8, 256, 12288), ("loads", 1, 1024, 40960), ("loads", 1, 256, 102400),
    ("stores", 8, 256, 0), ("stores", 4, 512, 24576),
)  # fmt: skip
_METRICS = ["l1tex__m_xbar2l1tex_read_bytes.sum"]


def l1_holds_source() -> str:
    """Return CUDA source of both kernels."""
    return _SOURCE


def _cases() -> list[tuple[str, int, int, int, int]]:
    return [
        (*kind, size) for kind in _KINDS for size in _SIZES
        if size * 1024 // _WORD % (kind[1] * kind[2]) == 0
    ]  # fmt: skip


def measure_l1_holds(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind of block and size.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.l1_holds", l1_holds_source(), "regex:^holds_", device
    ) as launches:
        counted = launches.counted(_METRICS)
    rows = []
    for (way, blocks, threads, shared, size), (sent,) in zip(_cases(), counted, strict=True):
        first = (size << 10) * _SMS
        rows.append(
            {"way": way, "blocks": blocks, "threads": threads, "shared": shared,
             "kibibytes": size, "sent": sent,
             "again": round((sent - first) / (first * (_PASSES - 1)), 3)}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        data = [cupy.zeros((256 << 10) * _SMS // _WORD, dtype=np.float32) for _ in range(2)]
        for way, blocks, threads, shared, size in _cases():
            kernel = module.get_function(f"holds_{way}")
            kernel.max_dynamic_shared_size_bytes = shared
            words = (size << 10) // _WORD // blocks
            for _ in range(2):
                kernel(
                    (blocks * _SMS,), (threads,), (*data, np.int32(words), np.int32(_PASSES)),
                    shared_mem=shared,
                )  # fmt: skip
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
