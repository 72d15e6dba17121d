"""How long loads from DRAM take while the SM stores beside them: cycles per turn of a warp.

Each warp goes through rows of its own: in a turn it loads `bytes` of a row, and the next load's
address hangs on what came. In `writes` rows it stores as many bytes each. All rows are new in each
launch, and the L2 is full of what launches before wrote. `warps`: of each SM.

`cycles` is of the mean SM and per turn. `python -m gpu_check.timing.reads_beside_writes` is the
process that ncu watches.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.hopper.runner import compiled

__all__ = ["CASES", "SOURCE", "TURNS", "measure_reads_beside_writes"]

SOURCE = """
template <typename T> __device__ void run(char* in, char* out, size_t apart, int turns,
                                          int writes) {
    const size_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const size_t at = warp * turns * 32 * sizeof(T) + threadIdx.x % 32 * sizeof(T);
    unsigned sum = 0;
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        const size_t here = at + turn * 32 * sizeof(T);
        const T got = *(const T*)(in + here + (sum & 0x80000000u));
        sum = got & 1;
        for (int k = 0; k < writes; ++k) *(T*)(out + k * apart + here) = sum + turn;
    }
    if (sum == 12345) *in = sum;
}
extern "C" __global__ void beside_2(char* in, char* out, size_t apart, int turns, int writes) {
    run<unsigned short>(in, out, apart, turns, writes);
}
extern "C" __global__ void beside_4(char* in, char* out, size_t apart, int turns, int writes) {
    run<unsigned>(in, out, apart, turns, writes);
}
"""
CASES = [*product((2, 4), (1, 2, 4, 8, 16, 32), (1, 2, 4))]
"""Bytes of a lane, warps, rows that are stored."""
TURNS = {1: 1024, 2: 1024, 4: 512, 8: 256, 16: 128, 32: 64}
"""Of a warp, by warps."""
_LAUNCHES = 4
_REGION = 36 << 20
_METRICS = ["sm__cycles_active.avg"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]


def measure_reads_beside_writes(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "beside.cubin")
        path.write_bytes(compiled(SOURCE, Path(folder)))
        command = [
            sys.executable, "-m", "gpu_check.timing.reads_beside_writes", str(path), str(device)
        ]  # fmt: skip

        def watched(metrics: list[str]) -> list[list[int]]:
            seen = run_ncu(command, metrics, "regex:^beside")[_LAUNCHES - 1 :: _LAUNCHES]
            return [metrics_of(row, metrics) for row in seen]

        timed = sorted(watched(_METRICS) for _ in range(3)), watched(_BYTES)
    rows = []
    for place, (width, warps, writes) in enumerate(CASES):
        active = sorted(run[place][0] for run in timed[0])[1]
        read, written = timed[1][place]
        rows.append(
            {"bytes": 32 * width, "warps": warps, "writes": writes,
             "cycles": round(active / TURNS[warps], 2), "dram_read": read, "dram_write": written}
        )  # fmt: skip
    return rows


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device) as chosen:
        sms = chosen.attributes["MultiProcessorCount"]
        module = cupy.RawModule(path=path)
        size = _REGION * len(CASES) * _LAUNCHES
        data = cupy.zeros(size, dtype=cupy.uint8)
        out = cupy.zeros(4 * size, dtype=cupy.uint8)
        at = 0
        for width, warps, writes in CASES:
            kernel = module.get_function(f"beside_{width}")
            for _ in range(_LAUNCHES):
                given = (data[at:], out[at:], cupy.uint64(size), cupy.int32(TURNS[warps]))
                kernel((sms,), (32 * warps,), (*given, cupy.int32(writes)))
                at += _REGION
            chosen.synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
