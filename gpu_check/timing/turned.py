"""How long kernels take that read or store the pieces of an array in another order.

All warps go over an array together, piece after piece; a piece is what a warp accesses at once,
`word` bytes per lane, and four are on their way. The pieces of the array form a matrix of so many
`lines`. `rows`: they are read, and stored, as they lie; `in`: they are read column after column;
`out`: they are stored so. A matrix that is transposed by tiles goes so. `does`: reads, stores, or
copies from one array to another; `mebibytes`: of one. All launches are second ones.

`cycles` is the median of three processes; `active` is that of the mean SM; `dram_read` and
`dram_write` are bytes. `python -m gpu_check.timing.turned` is the process that ncu watches; no
launch is repeated.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

from gpu_check.timing.watching import second_launches

__all__ = ["measure_turned", "run_of", "turned_source"]

_SOURCE = """
template <int DOES, int HOW, typename T> __device__ __forceinline__ void run(
        const T* in, T* out, unsigned lines, unsigned each, float* none) {
    const unsigned warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x % 32;
    const unsigned pieces = lines * each;
    float sum = 0;
    for (unsigned i = threadIdx.x / 32 * gridDim.x + blockIdx.x; i < pieces; i += 4 * warps) {
        T v[4] = {};
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned at = i + k * warps;
            const unsigned from = HOW == 1 ? at % lines * each + at / lines : at;
            if (DOES != 1 && at < pieces) v[k] = in[from * 32ull + lane];
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned at = i + k * warps;
            const unsigned to = HOW == 2 ? at % lines * each + at / lines : at;
            if (DOES == 0) sum += *(const float*)(v + k);
            else if (at < pieces) out[to * 32ull + lane] = v[k];
        }
    }
    if (DOES == 0 && sum == 12345) *none = sum;
}
#define KERNEL(D, H, T, BYTES) extern "C" __global__ void turned_##D##_##H##_##BYTES( \\
        const T* in, T* out, unsigned lines, unsigned each, float* none) { \\
    run<D, H, T>(in, out, lines, each, none); }
"""
_DOES = ("read", "store", "copy")
_HOW = ("rows", "in", "out")
_TYPES = {4: "float", 16: "float4"}
_KINDS = (("read", "rows"), ("read", "in"), ("store", "rows"), ("store", "out"),
          ("copy", "rows"), ("copy", "in"), ("copy", "out"))  # fmt: skip
_LINES = (97, 3100)
_CASES = [
    (does, how, word, lines, size, warps)
    for (does, how), word, lines, size, warps in product(
        _KINDS, _TYPES, _LINES, (36, 96), (8, 16, 32, 64)
    )
    if how != "rows" or lines == _LINES[0]
]
_BLOCK = 256


def turned_source() -> str:
    """Return CUDA source of all kernels."""
    kernels = product(_KINDS, _TYPES.items())
    return _SOURCE + "".join(
        f"KERNEL({_DOES.index(does)}, {_HOW.index(how)}, {t}, {b})\n"
        for (does, how), (b, t) in kernels
    )


def run_of(
    does: str, how: str, word: int, lines: int, mebibytes: int, warps: int, sms: int
) -> tuple[str, int, int, int]:
    """Return the name of a kernel, its blocks, threads of one, and pieces of a line.

    Parameters
    ----------
    does, how
        Of `_KINDS`.
    word
        Bytes of a lane.
    lines, mebibytes
        Of an array.
    warps, sms
        Of an SM, and of the chip.
    """
    each = (mebibytes << 20) // (32 * word) // lines
    name = f"turned_{_DOES.index(does)}_{_HOW.index(how)}_{word}"
    return name, sms * warps * 32 // _BLOCK, _BLOCK, each


def measure_turned(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES; `warps`: of an SM.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.turned", turned_source(), "regex:^turned", device
    ) as launches:
        names = ("does", "how", "word", "lines", "mebibytes", "warps")
        return launches.passed([dict(zip(names, case, strict=True)) for case in _CASES])


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        sms = cupy.cuda.Device(device).attributes["MultiProcessorCount"]
        data = cupy.zeros(2 * (96 << 20), dtype=cupy.uint8)
        none = cupy.zeros(1, dtype=cupy.float32)
        for does, how, word, lines, size, warps in _CASES:
            name, blocks, threads, each = run_of(does, how, word, lines, size, warps, sms)
            given = (data, data[size << 20 :], cupy.uint32(lines), cupy.uint32(each), none)
            for _ in range(2):
                module.get_function(name)((blocks,), (threads,), given)
            cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
