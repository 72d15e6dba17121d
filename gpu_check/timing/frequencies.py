"""At which clocks the SMs, the L2 and DRAM run, and what that does to loads, in cycles of an SM.

Eight warps of each SM wait, follow pointers or read; eight more execute something beside them
until they are done: sums, or products of one kind on tensor cores. `few`: one of them per 512 sums.
`cycles`: per load of a chain, or per line that an SM reads. Clocks are the profiler's, in MHz.

`python -m gpu_check.timing.frequencies OUT` is the process that ncu watches.
"""

from __future__ import annotations

import csv
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.counters import run_ncu
from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.recordings import write_table

__all__ = ["measure_frequencies"]

_MIB = 1 << 20
_LINE = 128
_WORK = {"nothing": (0, 8), "chain L2": (1, 8), "chain DRAM": (1, 512),
         "read L2": (2, 16), "read DRAM": (2, 512)}  # fmt: skip
"""Which part of the kernel, and of how many MiB."""
_TURNS = {0: 20000, 1: 512, 2: 96}
_LOADS = 8
_CLOCKS = ("sm", "lts", "dram")
_ROUNDS = 3
_OPS = {
    "sums": "",
    "f16": '"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, '
           '{%4,%5}, {%0,%1,%2,%3};" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])',
    "s8": '"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, '
          '{%4,%5}, {%0,%1,%2,%3};" : "+r"(y[0]), "+r"(y[1]), "+r"(y[2]), "+r"(y[3])',
    "f64": '"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};"'
           ' : "+d"(z[0]), "+d"(z[1])',
}  # fmt: skip
_READS = {"f16": "r", "s8": "r", "f64": "d"}
_SOURCE = """
extern "C" __global__ void NAME(const uint4* data, unsigned lines, int what, int turns,
                                unsigned first, unsigned* took, unsigned* sink) {
    __shared__ volatile int done;
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
    if (threadIdx.x >= 256) {
        float x[4] = {1, 2, 3, 4}, v = threadIdx.x;
        int y[4] = {1, 2, 3, 4};
        double z[2] = {1, 2};
        unsigned a[4] = {1, 2, 3, 4};
        const double d = threadIdx.x;
        while (!done) {
            #pragma unroll
            for (int k = 0; k < SUMS; ++k) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(v));
            #pragma unroll
            for (int k = 0; k < PRODUCTS; ++k) { OP }
        }
        if (x[0] + y[0] + z[0] + v + a[0] + d == 12345) *sink = 1;
        return;
    }
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned start = (unsigned)clock64();
    unsigned sum = 0;
    if (what == 0) {
        float v = lane;
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn)
            asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(v));
        sum = (unsigned)v;
    } else if (what == 1) {
        if (warp == 0) {
            unsigned at = (blockIdx.x * 977u + first) & lines - 1;
            #pragma unroll 1
            for (int turn = 0; turn < turns; ++turn)
                asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(at) : "l"(data + at * 8ull));
            sum = at;
        }
    } else {
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {
            const unsigned here = (turn * gridDim.x + blockIdx.x) * 8 + warp;
            uint4 v[8];
            #pragma unroll
            for (int k = 0; k < 8; ++k)
                asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                             : "l"(data + (size_t)(here * 32 + k * 4 & lines - 1) * 8 + lane));
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
        }
    }
    if (sum == 12345) *sink = sum;
    asm volatile("bar.sync 1, 256;" ::: "memory");
    if (threadIdx.x == 0) {
        took[blockIdx.x] = (unsigned)clock64() - start;
        done = 1;
    }
}
"""


def _sources() -> dict[str, str]:
    """Return a kernel per companion."""
    found = {}
    for name, op in _OPS.items():
        given = "d" if name == "f64" else "a"
        reads = [f'"d"({given})'] if name == "f64" else [f'"r"(a[{k}])' for k in range(4)]
        body = f"asm volatile({op} : {', '.join(reads)});" if op else ""
        for few in (False, True) if op else (False,):
            sums, products = (512, 1) if few else (64, 0) if not op else (0, 16)
            source = _SOURCE.replace("OP }", body + " }").replace("SUMS", str(sums))
            found[f"{name} few" if few else name] = source.replace("PRODUCTS", str(products))
    return found


def measure_frequencies(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per companion and work: clocks, and cycles of what loads take.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does, CountersError where ncu is
    absent, CompileError and ToolError as `compiled` does.
    """
    open_gpu(device)
    with TemporaryDirectory() as folder:
        own = Path(folder, "took.csv")
        clocks = [f"{clock}__cycles_elapsed.avg.per_second" for clock in _CLOCKS]
        command = [sys.executable, "-m", "gpu_check.timing.frequencies", str(own), str(device)]
        watched = run_ncu(command, clocks, "regex:^beside_")[_ROUNDS - 1 :: _ROUNDS]
        with own.open(encoding="utf-8", newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row, of in zip(rows, watched, strict=True):
        for clock, metric in zip(_CLOCKS, clocks, strict=True):
            row[f"{clock}_mhz"] = round(float(of[metric].replace(",", "")) / 1e6)
    return rows


def _launch(out: str, device: int) -> None:
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        blocks = cupy.cuda.Device(device).attributes["MultiProcessorCount"]
        sink, took = cupy.zeros(1, np.uint32), cupy.zeros(blocks, np.uint32)
        kernels = {}
        for number, (name, source) in enumerate(_sources().items()):
            path = Path(folder, f"{number}.cubin")
            path.write_bytes(compiled(source.replace("NAME", f"beside_{number}"), Path(folder)))
            kernels[name] = cupy.RawModule(path=str(path)).get_function(f"beside_{number}")
        for (what, (part, size)), (name, kernel) in product(_WORK.items(), kernels.items()):
            lines = size * _MIB // _LINE
            data = _chain(lines) if part == 1 else cupy.zeros(size * _MIB // 4, np.uint32)
            for turn in range(_ROUNDS):  # chains begin elsewhere each time
                first = np.uint32(turn * lines // _ROUNDS)
                numbers = np.int32(part), np.int32(_TURNS[part])
                given = (data, np.uint32(lines), *numbers, first, took, sink)
                kernel((blocks,), (512,), given)
            each = _TURNS[part] * (1 if part < 2 else 8 * _LOADS * 4)
            rows.append({"beside": name, "work": what,
                         "cycles": round(float(took.get().mean()) / each, 3)})  # fmt: skip
    write_table(out, rows)


def _chain(lines: int) -> Any:
    """Return lines of 32 words, of which each first has the next line's number: one circle."""
    import cupy

    order = cupy.random.RandomState(1).permutation(lines).astype(np.uint32)
    data = cupy.zeros((lines, _LINE // 4), np.uint32)
    data[order, 0] = cupy.roll(order, -1)
    return data


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
