"""What atomics in global memory cost: by how the lanes' words lie, in one SM and in all.

A warp's lanes add to one word, or to words side by side, apart, or anywhere among so many.
`red` gives nothing back, `atom` the old value, which the next one waits for; `red_float`,
`red_double`, `red_halves` and `red_brains` add floats, doubles, and pairs of halves and of
bfloat16, `red_least` keeps the least. An H100's table is of loops that did not wait for the turn
before the first one: where additions wait for each other, it counts up to a turn of 17 among 16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["MIXED", "PATTERNS", "SOURCE", "measure_atomics"]

_TURNS, _EACH = 16, 8
MIXED = """
__device__ __forceinline__ unsigned mixed(unsigned x) {
    x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; return x ^ x >> 16;
}
"""
"""CUDA source of a function that draws a number by another one."""
_SOURCE = """\
template <int WHAT> __device__ void run(unsigned* data, int how, unsigned words,
                                        long long* when, unsigned* sink) {
    const unsigned lane = threadIdx.x & 31;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    unsigned sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < TURNS; ++turn) {
        if (turn == 0) { __threadfence(); __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int each = 0; each < EACH; ++each) {
            const unsigned one = warp + (turn * EACH + each) * 4224;
            unsigned word = how == 0 ? 0 : how == 1 ? lane : how == 2 ? 8 * lane
                          : how == 3 ? 32 * one + lane : how == 6 ? lane & 7
                          : how == 7 ? 8 * mixed(one) : mixed(one * 32 + lane);
            word &= words - 1;
            if (how != 5 || lane == 0) {
                unsigned* const at = data + word;
                if (WHAT == 1) {
                    unsigned old;
                    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old)
                                 : "l"(at + (sum & 0x40000000)), "r"(1));
                    sum |= old;
                }
                if (WHAT == 0) asm volatile("red.global.add.u32 [%0], %1;" :: "l"(at), "r"(1));
                if (WHAT == 2)
                    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(at), "f"(1.0f));
                if (WHAT == 3)
                    asm volatile("red.global.add.f64 [%0], %1;" :: "l"(at + word), "d"(1.0));
                if (WHAT == 4)
                    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" :: "l"(at), "r"(1));
                if (WHAT == 5)
                    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" :: "l"(at), "r"(1));
                if (WHAT == 6)
                    asm volatile("red.global.min.u32 [%0], %1;" :: "l"(at), "r"(1));
            }
        }
    }
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 0xffffffff) *sink = sum;
}
#define KERNEL(NAME, WHAT) extern "C" __global__ void NAME(unsigned* data, int how, \\
    unsigned words, long long* when, unsigned* sink) \\
    { run<WHAT>(data, how, words, when, sink); }
KERNEL(red, 0) KERNEL(atom, 1) KERNEL(red_float, 2) KERNEL(red_double, 3) KERNEL(red_halves, 4)
KERNEL(red_brains, 5) KERNEL(red_least, 6)
"""
SOURCE = MIXED + _SOURCE.replace("TURNS", str(_TURNS)).replace("EACH", str(_EACH))
PATTERNS = (
    ("one word", 0, 32), ("a word a lane", 1, 32), ("a sector a lane", 2, 256),
    ("lines of their own", 3, 1 << 22), ("any of 256 words", 4, 256),
    ("any of 1024 words", 4, 1 << 10), ("any of 4096 words", 4, 1 << 12),
    ("any of 16384 words", 4, 1 << 14), ("any of 65536 words", 4, 1 << 16),
    ("any of 4194304 words", 4, 1 << 22),
    ("eight words of a sector", 6, 8), ("any of the words of a sector", 4, 8),
    ("a warp a word of 32 sectors", 7, 256),
    ("one lane, one word", 5, 1), ("one lane, any of 4194304 words", 5, 1 << 22),
)  # fmt: skip
"""Name, how the words lie, words."""
_KINDS = ("red", "atom", "red_float", "red_double", "red_halves", "red_brains", "red_least")


def measure_atomics(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per atomic, pattern and SMs: cycles of one SM per warp instruction."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=SOURCE)
        data = cupy.zeros((1 << 23) + 64, dtype=np.uint32)
        sink = cupy.zeros(1, dtype=np.uint32)
        for name in _KINDS:
            for pattern, how, words in PATTERNS:
                for sms in (1, chip.multiprocessors):
                    row: dict[str, Any] = {"atomic": name, "words": pattern, "sms": sms}
                    for warps in (1, 8, 32):
                        when = cupy.zeros(sms, dtype=np.int64)
                        least = float("inf")
                        for _ in range(3):
                            module.get_function(name)(
                                (sms,), (32 * warps,),
                                (data, np.int32(how), np.uint32(words), when, sink),
                            )  # fmt: skip
                            least = min(least, float(np.median(when.get())))
                        row[f"warps_{warps}"] = round(least / (_TURNS * _EACH * warps), 2)
                    rows.append(row)
    return rows
