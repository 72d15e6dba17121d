"""How much an SM may ask of memory before what it asks for is there, and what waits behind that.

`measure_outstanding`: 28 warps of an SM issue sixteen copies of 16 bytes per lane each (`shape`:
see `copying`), or sixteen loads of a line (`line`) or eight of four (`lines`) past L1. Their data
lie in DRAM (`sms` of them ask for some at the same time), or one SM asks the L2. `shared` bytes are
set aside, L1 has what is left. `issued`: so many have been by `cycles`, mean of the SMs.

`measure_behind_loads`: one block of 128 threads loads shared memory, each address from the load
before. Beside it, threads of so many blocks (`beside`) have ten loads of 4 or 16 bytes (`bytes`) on
their way. What these load is their own, in DRAM (`far`) or in the L2. `shared`: bytes of each
block; `cycles`: of a load of shared memory, mean of the SMs.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.copying import BYTES, COPIES, SHAPES, SHARED, shape_source

__all__ = ["measure_behind_loads", "measure_outstanding"]

_COPIES = 16
"""Of a warp."""
_LOADS = {"line": (16, "unsigned"), "lines": (8, "uint4")}
"""Of a warp, and what a lane loads."""
_WARPS, _EVERY, _REPEATS = 28, 16, 4
_NEAR, _FAR = 24 << 20, 1536 << 20
"""Bytes: the L2 has them, or nothing of what is asked for next."""
_ROOMS = (1024, 200_000)
"""Bytes of shared memory beside loads: L1 has 224 and 28 KiB."""
_LOAD = {
    "unsigned": 'asm volatile("ld.global.cg.b32 %0, [%1];"'
    ' : "=r"({to}) : "l"(from + {at}) : "memory");',
    "uint4": 'asm volatile("ld.global.cg.v4.b32 {{%0,%1,%2,%3}}, [%4];" : "=r"({to}.x),'
    ' "=r"({to}.y), "=r"({to}.z), "=r"({to}.w) : "l"(from + {at}) : "memory");',
}
_COPY = (
    'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"'
    ' :: "r"(to + {to}), "l"(from + {at}) : "memory");'
)
_STAMP = 'asm volatile("mov.u32 %0, %%clock;" : "=r"(when[{place}]) :: "memory");'
_ISSUE = """
    unsigned when[{count}], begun;
    __syncthreads();
    asm volatile("mov.u32 %0, %%clock;" : "=r"(begun) :: "memory");
    {body}
    {waits}
    if (lane == 0) {{
        int* out = times + (blockIdx.x * warps + warp) * {count};
        for (int k = 0; k < {count}; ++k) out[k] = (int)(when[k] - begun);
    }}
}}
"""
_FROM = "data + (first + (long long)(blockIdx.x * warps + warp) * {all}) % size"
_COPYING = (
    "    const char* from = " + _FROM + " + 16 * lane / {row} * 128 + 16 * lane % {row};" + _ISSUE
)
_LOADING = (
    """
extern "C" __global__ void __launch_bounds__(1024) outstanding(
    const char* data, int* times, long long size, long long first) {{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const {type}* from = (const {type}*)("""
    + _FROM
    + """) + lane;
    {type} held[{count}];"""
    + _ISSUE
)
_WAITS = """unsigned sum = 0;
    for (int k = 0; k < {count}; ++k) sum ^= *(unsigned*)(held + k);
    if (sum == 77) times[0] = sum;"""
_BESIDE = """
extern "C" __global__ void __launch_bounds__(128) behind_loads(
    const char* data, int* times, int turns, int wrap, int beside) {{
    extern __shared__ int held[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = 0;
    if (blockIdx.x < beside) {{
        const {type}* own = (const {type}*)data
            + (size_t)(blockIdx.x * 4 + warp) * 320 * (wrap + 1) + lane;
        for (int turn = 0; turn < turns; ++turn) {{
            const {type}* from = own + (turn & wrap) * 320;
            {type} some[10];
            {body}
            for (int k = 0; k < 10; ++k) sum ^= *(unsigned*)(some + k);
        }}
    }} else {{
        for (int k = threadIdx.x; k < 1024; k += 128) held[k] = 0;
        __syncthreads();
        unsigned at = (unsigned)__cvta_generic_to_shared(held) + threadIdx.x * 4, got;
        const long long begun = clock64();
        #pragma unroll 8
        for (int k = 0; k < {reads}; ++k) {{
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(got) : "r"(at) : "memory");
            at += got;
        }}
        __syncthreads();
        if (threadIdx.x == 0) times[blockIdx.x - beside] = (int)(clock64() - begun);
        sum = at;
    }}
    if (sum == 77) times[0] = sum;
}}
"""
_READS, _BLOCKS = 800, (0, 2, 4, 6, 8, 10, 12, 14)
_EACH = (9216, 14_000)
"""Bytes of shared memory of a block."""
_TURNS, _WRAP = {False: 200, True: 100}, {False: 0, True: 15}
"""Of ten loads, by whether their data lie far; behind so many the addresses begin anew."""


def _issued(body: list[str]) -> str:
    """Return statements, each with a stamp of the clock behind it."""
    return "\n    ".join(each + " " + _STAMP.format(place=k) for k, each in enumerate(body))


def _copying(shape: str) -> tuple[str, int, int]:
    """Return CUDA source of copies, how many a warp makes, and bytes that it reads."""
    row, pitch, _ = SHAPES[shape]
    lines = BYTES // row
    body = [_COPY.format(to=k % COPIES * lines * pitch, at=k * lines * 128) for k in range(_COPIES)]
    source = shape_source(
        shape, "outstanding", "long long size, long long first", _COPYING, body=_issued(body),
        count=_COPIES, all=_COPIES * lines * 128,
        waits='asm volatile("cp.async.wait_all;" ::: "memory");',
    ).replace("long long* when", "int* times")  # fmt: skip
    return source, _COPIES, _COPIES * lines * 128


def _loading(name: str) -> tuple[str, int, int]:
    """Return CUDA source of loads, how many a warp makes, and bytes that it reads."""
    count, type_ = _LOADS[name]
    body = [_LOAD[type_].format(to=f"held[{k}]", at=32 * k) for k in range(count)]
    of_warp = count * 32 * (4 if type_ == "unsigned" else 16)
    source = _LOADING.format(
        type=type_, count=count, all=of_warp, body=_issued(body), waits=_WAITS.format(count=count)
    )
    return source, count, of_warp


def measure_outstanding(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per shape, bytes of shared memory, SMs, and number of what was issued."""
    sms = open_gpu(device).multiprocessors
    import cupy

    cases = [(shape, SHARED, _copying(shape)) for shape in SHAPES if shape != "whole 16"]
    cases += [(name, room, _loading(name)) for name, room in product(_LOADS, _ROOMS)]
    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_FAR + (64 << 20), dtype=np.uint8)
        for shape, room, (source, count, of_warp) in cases:
            kernel = cupy.RawModule(code=source).get_function("outstanding")
            kernel.max_dynamic_shared_size_bytes = room
            for blocks, size in ((1, _NEAR), (sms, _FAR)):
                for repeat in range(_REPEATS):  # the last one is kept: the others warm the code up
                    times = cupy.zeros((blocks, _WARPS * count), dtype=np.int32)
                    first = repeat * blocks * _WARPS * of_warp if size == _FAR else 0
                    args = (data, times, np.int64(size // of_warp * of_warp), np.int64(first))
                    kernel((blocks,), (32 * _WARPS,), args, shared_mem=room)
                mean = np.sort(times.get(), axis=1).mean(axis=0)
                rows += [
                    {"shape": shape, "shared": room, "sms": blocks, "issued": issued,
                     "cycles": round(float(mean[issued - 1]))}
                    for issued in range(_EVERY, _WARPS * count + 1, _EVERY)
                ]  # fmt: skip
    return rows


def measure_behind_loads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per bytes of a load, blocks beside, bytes of each, and where data lie."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(640 << 20, dtype=np.uint8)
        for size, type_ in ((4, "unsigned"), (16, "uint4")):
            each = [_LOAD[type_].format(to=f"some[{k}]", at=32 * k) for k in range(10)]
            source = _BESIDE.format(type=type_, body="\n            ".join(each), reads=_READS)
            kernel = cupy.RawModule(code=source).get_function("behind_loads")
            for beside, room, far in product(_BLOCKS, _EACH, (False, True)):
                found = []
                for _ in range(_REPEATS):
                    times = cupy.zeros(sms, dtype=np.int32)
                    args = (data, times, *map(np.int32, (_TURNS[far], _WRAP[far], sms * beside)))
                    kernel((sms * (beside + 1),), (128,), args, shared_mem=room)
                    found.append(float(times.get().mean()) / _READS)
                rows.append(
                    {"bytes": size, "beside": beside, "shared": room, "far": int(far),
                     "cycles": round(float(np.median(found[1:])), 1)}
                )  # fmt: skip
    return rows
