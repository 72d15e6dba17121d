"""What the way to memory costs: a warp's global accesses in an SM, the L2, and queues before it.

`measure_accesses`: cycles that an SM spends per warp access of global memory that L1 holds, by
bytes per lane and lines of the lanes. `measure_traffic`: bytes per cycle of an SM, when all SMs
read or write the same footprint. `measure_queue`: how long one warp needs to issue a number of
accesses that are slow to serve: the place where the time begins to grow is the depth of the queue
behind the scheduler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["measure_accesses", "measure_queue", "measure_traffic"]

_MIB = 1 << 20
_COPIES, _TURNS = 64, 16
_WIDTHS = {4: "unsigned", 8: "uint2", 16: "uint4"}

_ACCESS = """
extern "C" __global__ void access(char* data, const int* offsets, long long* when,
                                  unsigned* sink) {{
    char* at[8];  // eight chains: what is loaded is zero, which nobody but the data knows
    for (int k = 0; k < 8; ++k) at[k] = data + offsets[threadIdx.x & 31];
    unsigned sum = 0;
    long long start = 0;
    for (int turn = -1; turn < {turns}; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
    }}
    long long end = clock64();
    for (int k = 0; k < 8; ++k) sum += (unsigned)(size_t)at[k];
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {{
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }}
}}
"""
_LOAD = {
    4: '.b32 %0, [%1];" : "=r"(v) : "l"(at[K])); at[K] += v;',
    8: '.v2.b32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "l"(at[K])); at[K] += v | w;',
    16: '.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y)'
    ' : "l"(at[K])); at[K] += v | w | x | y;',
}
_STORE = {4: ".b32 [%0], %1;", 8: ".v2.b32 [%0], {%1, %1};", 16: ".v4.b32 [%0], {%1, %1, %1, %1};"}


def access_source(kind: str, width: int) -> str:
    """Return CUDA source of a loop of one access, `kind` load or store."""
    each = []
    for copy in range(_COPIES):
        if kind == "load":
            text = 'asm volatile("ld.global.ca' + _LOAD[width].replace("K", str(copy % 8))
        else:  # each to a place of its own, or the assembler drops those before the last
            text = (
                f'asm volatile("st.global{_STORE[width]}" :: "l"(at[0] + {copy << 17}), "r"(sum));'
            )
        each.append("{ unsigned v, w, x, y; " + text + " }")
    return _ACCESS.format(turns=_TURNS, body="\n        ".join(each))


def access_offsets() -> list[tuple[int, str, list[int]]]:
    """Return (bytes per lane, name, offsets of 32 lanes) of the patterns that are timed."""
    found = []
    for width in _WIDTHS:
        found.append((width, "side by side", [width * lane for lane in range(32)]))
        found.append((width, "one word", [0] * 32))
        for lines in (2, 4, 8, 16, 32):
            share = 32 // lines
            # Lanes of a line are side by side; each line's begin in bank 0, or in banks of its own.
            for name, shift in (("lines, same banks", 0), ("lines, own banks", share * width)):
                offsets = [
                    (lane // share) * 128 + (lane % share * width + lane // share * shift) % 128
                    for lane in range(32)
                ]
                found.append((width, f"{lines} {name}", offsets))
        found.append((width, "32 rows", [lane * 4096 for lane in range(32)]))
    return found


def least_cycles(kernel: Any, warps: int, arguments: tuple[Any, Any, Any, Any]) -> float:
    """Return the fewest cycles of an SM per access, of three launches of `access_source`.

    `arguments` are the kernel's: the data, the table of offsets, the times, the sink.
    """
    least = float("inf")
    for _ in range(3):
        kernel((1,), (32 * warps,), arguments)
        times = arguments[2].get()[: 2 * warps]
        elapsed = int(times[1::2].max() - times[0::2].min())
        least = min(least, elapsed / (_TURNS * _COPIES * warps))
    return round(least, 3)


def measure_accesses(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern: cycles per warp access of an SM with 1, 8 and 32 warps."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(_COPIES << 17, dtype=np.uint8)
        sink, when = cupy.zeros(4, dtype=np.uint32), cupy.zeros(64, dtype=np.int64)
        for kind in ("load", "store"):
            kernels = {
                width: cupy.RawModule(code=access_source(kind, width)).get_function("access")
                for width in _WIDTHS
            }
            for width, pattern, offsets in access_offsets():
                table = cupy.asarray(np.array(offsets, dtype=np.int32))
                row: dict[str, Any] = {"kind": kind, "width": width, "pattern": pattern}
                for warps in (1, 8, 32):
                    arguments = (data, table, when, sink)
                    row[f"warps_{warps}"] = least_cycles(kernels[width], warps, arguments)
                rows.append(row)
    return rows


TRAFFIC = """
extern "C" __global__ void traffic(uint4* data, long long vectors, long long* when, int rounds,
                                   uint4* sink, int how) {
    uint4 sum = {0, 0, 0, 0};
    const long long all = (long long)gridDim.x * blockDim.x;
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    // 0: all read everything, each SM from its own place on; 1: each writes its part;
    // 2: reads its part; 3: copies its part of the first half to the second.
    const long long size = how == 3 ? vectors / 2 : vectors;
    const long long count = how == 0 ? size / blockDim.x : size / all;
    const long long first =
        how == 0 ? (long long)blockIdx.x * (size / gridDim.x) + threadIdx.x : me;
    const long long step = how == 0 ? blockDim.x : all;
    long long start = 0;
    for (int round = -1; round < rounds; ++round) {
        if (round == 0) { __syncthreads(); start = clock64(); }
        long long i = first % size;
        #pragma unroll 8
        for (long long k = 0; k < count; ++k) {
            uint4 v = {1, 2, 3, (unsigned)k};
            if (how != 1)
                asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(data + i));
            if (how == 1 || how == 3)
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(data + i
                             + (how == 3 ? size : 0)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
            sum.x ^= v.x; sum.y ^= v.y; sum.z ^= v.z; sum.w ^= v.w;
            i += step;
            if (i >= size) i -= size;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum.x == 12345) *sink = sum;
}
"""
"""Kernel source; `how` says what is done."""
_HOW = {"read, all everything": 0, "write": 1, "read": 2, "copy": 3}


def measure_traffic(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per footprint and kind: bytes per cycle of one SM, all SMs busy.

    A copy's bytes are those read and those written.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=TRAFFIC).get_function("traffic")
        sms = chip.multiprocessors
        for how, number in _HOW.items():
            for size in (2, 8, 16, 24, 32, 64, 512, 2048):
                if (number == 0 and size > 64) or (number and size < 16):
                    continue
                data = cupy.zeros(size * _MIB // 4, dtype=np.uint32)
                sink, when = cupy.zeros(4, dtype=np.uint32), cupy.zeros(2 * sms, dtype=np.int64)
                rounds = max(1, (64 if number == 0 else 256) // size)
                least = float("inf")
                for _ in range(3):
                    kernel(
                        (2 * sms,), (1024,),
                        (data, np.int64(size * _MIB // 16), when, np.int32(rounds), sink,
                         np.int32(number)),
                    )  # fmt: skip
                    least = min(least, float(when.get().max()))
                each = 2 * size * _MIB
                if number:  # whole turns of all threads
                    half = number == 3
                    turns = (size * _MIB // 16 >> half) // (2 * sms * 1024)
                    each = 2 * 1024 * turns * (16 << half)
                rows.append(
                    {"how": how, "mebibytes": size,
                     "bytes_per_cycle_per_sm": round(each * rounds / least, 3)}
                )  # fmt: skip
                del data
    return rows


_QUEUE = """
extern "C" __global__ void queue(const int* data, long long* when, int* sink) {{
    extern __shared__ int s[];
    unsigned conflicting = (unsigned)__cvta_generic_to_shared(s) + 128 * (threadIdx.x & 31);
    const int* far = data + 32 * (threadIdx.x & 31) + (threadIdx.x >> 5) * 65536;
    const int* near = data + (threadIdx.x & 31);
    int sum = 0;
    for (int turn = 0; turn < 2; ++turn) {{  // the second has its instructions in the cache
        __syncthreads();
        long long start = clock64();
        {body}
        long long issued = clock64();
        {use}
        __syncthreads();
        long long end = clock64();
        if ((threadIdx.x & 31) == 0) {{
            when[2 * (threadIdx.x >> 5)] = issued - start;
            when[2 * (threadIdx.x >> 5) + 1] = end - start;
        }}
    }}
    if (sum == 12345) *sink = sum;
}}
"""
_LOADED = ' %0, [%1];" : "=r"(v{i}) : '
_QUEUED = {
    "store of 32 wavefronts": (
        'asm volatile("st.volatile.shared.b32 [%0], %1;" :: "r"(conflicting), "r"({i}));'
    ),
    "load of 32 wavefronts": (
        f'int v{{i}}; asm volatile("ld.volatile.shared.b32{_LOADED}"r"(conflicting));'
    ),
    "load of 32 lines": (
        f'int v{{i}}; asm volatile("ld.global.cg.b32{_LOADED}"l"(far + {{i}} * 1024));'
    ),
    "load of 1 line": (
        f'int v{{i}}; asm volatile("ld.global.cg.b32{_LOADED}"l"(near + {{i}} * 1024));'
    ),
}


def queue_source(name: str, count: int) -> str:
    """Return CUDA source that issues `count` accesses one after the other."""
    one, numbers = _QUEUED[name], range(count)
    use = "sum ^= v{i};" if "v{i}" in one else ""
    return _QUEUE.format(
        body="\n        ".join(one.replace("{i}", str(i)) for i in numbers),
        use=" ".join(use.replace("{i}", str(i)) for i in numbers),
    )


def measure_queue(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, number of them and warps: cycles until issued, and until done."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data = cupy.zeros(1 << 22, dtype=np.int32)
        sink, when = cupy.zeros(1, dtype=np.int32), cupy.zeros(64, dtype=np.int64)
        for name in _QUEUED:
            for count in (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32):
                kernel = cupy.RawModule(code=queue_source(name, count)).get_function("queue")
                for warps in (1, 2, 4, 8):
                    kernel((1,), (32 * warps,), (data, when, sink), shared_mem=8192)
                    times = when.get()[: 2 * warps].reshape(-1, 2)
                    rows.append(
                        {"access": name, "count": count, "warps": warps,
                         "issued": int(times[:, 0].max()), "done": int(times[:, 1].max())}
                    )  # fmt: skip
    return rows
