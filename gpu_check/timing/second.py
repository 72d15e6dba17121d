"""Second launches under the profiler: what starts and ends cost, and what the L2 still holds.

`measure_starts`: kernels that do next to nothing, as empty ones do: one reads a parameter, one
loads, one stores. `measure_residency`: kernels that stream through a footprint once; bytes that
DRAM moves say what the L2 had kept from the first launch. `python -m gpu_check.timing.second WHAT`
is the process that ncu watches; its counters fit into one pass, so that no launch is repeated.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu

__all__ = ["measure_residency", "measure_starts"]

_MIB = 1 << 20
_STARTS = ("empty", "reads_parameter", "loads", "stores", "loads_stores", "meets", "runs_far")
_GRIDS = ((132, 32), (132, 256), (132, 1024), (1056, 256), (4224, 256))
_KINDS = ("reads", "writes", "copies", "reads_16", "copies_16")
_FOOTPRINTS = (2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128)

_SOURCE = (
    """
extern "C" __global__ void empty(const float* in, float* out, int n) {}
extern "C" __global__ void reads_parameter(const float* in, float* out, int n) {
    if (n == 12345) out[threadIdx.x] = 1;
}
extern "C" __global__ void loads(const float* in, float* out, int n) {
    const float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (v == 12345) out[threadIdx.x] = v;
}
extern "C" __global__ void stores(const float* in, float* out, int n) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
extern "C" __global__ void loads_stores(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
}
extern "C" __global__ void meets(const float* in, float* out, int n) {
    __syncthreads();
}
extern "C" __global__ void runs_far(const float* in, float* out, int n) {
    float v = n;
    """
     'asm volatile("' + "fma.rn.f32 %0, %0, %0, %0; " * 512 + '" : "+f"(v));'
    + """
    if (v == 12345) out[threadIdx.x] = v;
}
extern "C" __global__ void reads(const float* in, float* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    const float v = in[i];
    if (v == 12345) out[0] = v;
}
extern "C" __global__ void writes(const float* in, float* out, long long n) {
    out[blockIdx.x * 256ll + threadIdx.x] = 1;
}
extern "C" __global__ void copies(const float* in, float* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    out[i] = in[i];
}
extern "C" __global__ void reads_16(const float4* in, float4* out, long long n) {
    const long long i = blockIdx.x * 1024ll + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; ++k) { const float4 v = in[i + 256 * k]; sum += v.x + v.y + v.z + v.w; }
    if (sum == 12345) ((float*)out)[0] = sum;
}
extern "C" __global__ void copies_16(const float4* in, float4* out, long long n) {
    const long long i = blockIdx.x * 1024ll + threadIdx.x;
    float4 v[4];
    for (int k = 0; k < 4; ++k) v[k] = in[i + 256 * k];
    for (int k = 0; k < 4; ++k) out[i + 256 * k] = v[k];
}
"""
)  # fmt: skip
_CYCLES = "sm__cycles_elapsed.max"
_TRAFFIC = [_CYCLES, "dram__bytes_read.sum", "dram__bytes_write.sum"]


def measure_starts(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel and grid: elapsed cycles of the second launch.

    Raises CountersError as `count_on_gpu` does.
    """
    runs = [_watched("starts", device, [_CYCLES], _STARTS) for _ in range(3)]
    cases = [(name, *grid) for name in _STARTS for grid in _GRIDS]
    return [
        {"kernel": name, "blocks": blocks, "threads": threads,
         "cycles": sorted(run[place][0] for run in runs)[1]}
        for place, (name, blocks, threads) in enumerate(cases)
    ]  # fmt: skip


def measure_residency(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind and footprint: cycles, bytes that DRAM read and wrote.

    `mebibytes`: all that a kernel touches, half of it written where it copies.

    Raises CountersError as `count_on_gpu` does.
    """
    rows = _watched("residency", device, _TRAFFIC, _KINDS)
    cases = [(kind, size) for kind in _KINDS for size in _FOOTPRINTS]
    return [
        {"kind": kind, "mebibytes": size, "cycles": cycles, "dram_read": read, "dram_write": write}
        for (kind, size), (cycles, read, write) in zip(cases, rows, strict=True)
    ]


def _watched(what: str, device: int, metrics: list[str], names: tuple[str, ...]) -> list[list[int]]:
    """Return the metrics of the second launches of a process."""
    command = [sys.executable, "-m", "gpu_check.timing.second", what, str(device)]
    rows = run_ncu(command, metrics, f"regex:^({'|'.join(names)})$")
    return [metrics_of(row, metrics) for row in rows[1::2]]


def _launch(what: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=_SOURCE)
        if what == "starts":
            data = cupy.zeros((2, 4224 * 256), dtype=np.float32)
            for name in _STARTS:
                kernel = module.get_function(name)
                for blocks, threads in _GRIDS:
                    for _ in range(2):
                        kernel((blocks,), (threads,), (data[0], data[1], np.int32(1)))
        else:
            for kind in _KINDS:
                kernel = module.get_function(kind)
                for size in _FOOTPRINTS:
                    each = size * _MIB // (2 if "copies" in kind else 1)
                    arrays = cupy.zeros((2, each // 4), dtype=np.float32)
                    blocks = each // (16384 if "16" in kind else 1024)
                    for _ in range(2):
                        kernel((blocks,), (256,), (arrays[0], arrays[1], np.int64(each)))
                    cupy.cuda.Device(device).synchronize()
                    del arrays
                    cupy.get_default_memory_pool().free_all_blocks()
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
