"""How long kernels take that pass once over a footprint near the size of the L2, a second time.

`copies`: 32 bytes of a thread from one place to another; `meets`: the same, through shared memory,
behind a barrier; `sums`: 64 bytes of a thread, added up in a block, one float out; `norms`: as
`copies`, divided by the block's sum. `mebibytes`: read and written. Columns as those of
`gpu_check.timing.kernels`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.kernels import measure_kernels

__all__ = ["measure_pass_bytes", "measure_passes", "write_passes"]

_BYTES = ["sm__cycles_elapsed.max", "dram__bytes_read.sum", "dram__bytes_write.sum"]

_SOURCE = """
extern "C" __global__ void __launch_bounds__(256, 8) copies(const float4* in, float4* out) {
    const int at = blockIdx.x * 512 + threadIdx.x;
    const float4 a = in[at], b = in[at + 256];
    out[at] = a, out[at + 256] = b;
}
extern "C" __global__ void __launch_bounds__(256, 8) meets(const float4* in, float4* out) {
    __shared__ float4 tile[512];
    const int at = blockIdx.x * 512 + threadIdx.x;
    tile[threadIdx.x] = in[at], tile[threadIdx.x + 256] = in[at + 256];
    __syncthreads();
    out[at] = tile[threadIdx.x ^ 32], out[at + 256] = tile[256 + (threadIdx.x ^ 32)];
}
__device__ __forceinline__ float added(float sum) {
    __shared__ float parts[8];
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 8; ++k) sum += parts[k];
    return sum;
}
extern "C" __global__ void __launch_bounds__(256, 8) sums(const float4* in, float* out) {
    const int at = blockIdx.x * 1024 + threadIdx.x;
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float4 v = in[at + 256 * k];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = added(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(256, 8) norms(const float4* in, float4* out) {
    const int at = blockIdx.x * 512 + threadIdx.x;
    const float4 a = in[at], b = in[at + 256];
    const float by = 1 / added(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
    out[at] = {a.x * by, a.y * by, a.z * by, a.w * by};
    out[at + 256] = {b.x * by, b.y * by, b.z * by, b.w * by};
}
"""
_SIZES = (16, 24, 28, 32, 36, 40, 48)


def write_passes(folder: Path) -> Path:
    """Compile the kernels into a folder, and return the list of launches there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "passes.cubin").write_bytes(compiled(_SOURCE, folder))
    cases = []
    for kernel in ("copies", "meets", "sums", "norms"):
        for size in _SIZES:
            blocks = size * 64
            floats = blocks * (4096 if kernel == "sums" else 2048)
            out = blocks if kernel == "sums" else floats
            cases.append(
                {"name": f"{kernel} {size}", "cubin": "passes.cubin", "kernel": kernel,
                 "grid": [blocks, 1, 1], "block": [256, 1, 1], "shared": 0, "pair": "",
                 "args": [f"random:f32[{floats}]", f"zeros:f32[{out}]"]}
            )  # fmt: skip
    path = folder / "passes.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    return path


def measure_passes(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel and footprint."""
    with TemporaryDirectory() as folder:
        rows = measure_kernels(write_passes(Path(folder)), device)
    return [{**row, "mebibytes": int(row["case"].split()[1])} for row in rows]


def measure_pass_bytes(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kernel and footprint: what DRAM moves in a launch that is not repeated."""
    with TemporaryDirectory() as folder:
        path = write_passes(Path(folder))
        names = [case["name"] for case in json.loads(path.read_text("utf-8"))]
        launch = [sys.executable, "-m", "gpu_check.timing.kernels", "--launch", str(path)]
        seconds = run_ncu([*launch, str(device), folder], _BYTES, "regex:.")[1::2]
    columns = ("cycles", "dram_read", "dram_write")
    return [
        {"case": name, **dict(zip(columns, metrics_of(row, _BYTES), strict=True))}
        for name, row in zip(names, seconds, strict=True)
    ]
