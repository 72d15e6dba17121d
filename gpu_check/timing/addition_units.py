"""What additions of all SMs to few sectors cost: cycles of the chip per addition of a warp.

Each warp adds at one of `places`, any of them, that lie `apart` bytes from each other. There, it
adds to `words` of each of `sectors` sectors, `lanes` of it in all: more lanes than words share
them. `red` gives nothing back, `atom` the old value, `float` adds floats; `store` stores. `bulk`:
eight blocks of each SM add so many sectors of shared memory, side by side (cp.reduce.async.bulk).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.timing.atomics import MIXED

__all__ = ["KINDS", "addition_units_source", "lanes_at", "launches", "measure_addition_units"]

_TURNS, _EACH, _WARPS = 8, 8, 8
_SOURCE = """\
template <int WHAT> __device__ void run(unsigned* data, const int* at, unsigned places,
                                        unsigned apart, long long* when, unsigned* sink) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int mine = at[threadIdx.x & 31];
    unsigned sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < TURNS; ++turn) {
        if (turn == 0) { __threadfence(); __syncthreads(); start = clock64(); }
        #pragma unroll
        for (int each = 0; each < EACH; ++each) {
            const unsigned one = warp + (turn * EACH + each) * 4224;
            unsigned* const to = data + (mixed(one) & (places - 1)) * apart + mine;
            if (mine >= 0) {
                if (WHAT == 0) asm volatile("red.global.add.u32 [%0], 1;" :: "l"(to));
                if (WHAT == 1) {
                    unsigned old;
                    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(to));
                    sum |= old;
                }
                if (WHAT == 2)
                    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(to), "f"(1.0f));
                if (WHAT == 3) asm volatile("st.global.u32 [%0], %1;" :: "l"(to), "r"(one));
            }
        }
    }
    if (sum == 1) *sink = sum;
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
}
#define KERNEL(NAME, WHAT) extern "C" __global__ void NAME(unsigned* data, const int* at, \\
    unsigned places, unsigned apart, long long* when, unsigned* sink) { \\
    run<WHAT>(data, at, places, apart, when, sink); }
KERNEL(red, 0) KERNEL(atom, 1) KERNEL(float_red, 2) KERNEL(store, 3)

extern "C" __global__ void bulk(unsigned* data, int bytes, long long* when, int turns) {
    __shared__ alignas(128) unsigned ones[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) ones[k] = 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x) return;
    const unsigned from = __cvta_generic_to_shared(ones);
    long long start = 0;
    for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) start = clock64();
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
                     :: "l"(data), "r"(from), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        if (turn == -1 || turn == turns - 1) asm volatile("cp.async.bulk.wait_group 0;");
        else asm volatile("cp.async.bulk.wait_group 6;");
    }
    when[blockIdx.x] = clock64() - start;
}
"""
KINDS = {"red": "red", "atom": "atom", "float": "float_red", "store": "store"}
"""What a warp does, and the name of its kernel."""


def addition_units_source(turns: int = _TURNS) -> str:
    """Return CUDA source of all kernels; `turns` of a loop that adds eight times per turn."""
    return MIXED + _SOURCE.replace("TURNS", str(turns)).replace("EACH", str(_EACH))


def lanes_at(sectors: int, words: int, lanes: int) -> NDArray[np.int32]:
    """Return each lane's word, of 32; −1: the lane does nothing."""
    own = np.arange(32)
    at = 8 * (own % sectors) + own // sectors % words
    return np.where(own < lanes, at, -1).astype(np.int32)


def launches() -> Iterator[tuple[int, int, int, int, int]]:
    """Yield places, bytes apart, sectors, words of each, and lanes."""
    for reach in range(5, 18):  # two places, and all sectors as far
        yield 2, 1 << reach, 1, 1, 1
        yield 1 << reach - 5, 32, 1, 1, 1
    for places, words in product((1, 8, 32), (1, 2, 4, 8)):
        for shared in (1, 2, 4, 8, 16, 32):
            if words * shared <= 32:
                yield places, 32, 1, words, words * shared
    for places, sectors, words in product((1, 2, 4, 8), (2, 4), (1, 2, 8)):
        for shared in (1, 4):
            if sectors * words * shared <= 32:
                yield places, 128, sectors, words, sectors * words * shared


def measure_addition_units(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind and way in which the lanes' words lie."""
    chip = open_gpu(device)
    import cupy

    rows = []
    sms = chip.multiprocessors
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=addition_units_source())
        data, sink = cupy.zeros(1 << 22, dtype=np.uint32), cupy.zeros(1, dtype=np.uint32)
        for kind, shape in product(KINDS, dict.fromkeys(launches())):
            places, apart, sectors, words, lanes = shape
            at = cupy.asarray(lanes_at(sectors, words, lanes))
            when = cupy.zeros(sms, dtype=np.int64)
            least = float("inf")
            for _ in range(3):
                module.get_function(KINDS[kind])(
                    (sms,), (32 * _WARPS,),
                    (data, at, np.uint32(places), np.uint32(apart // 4), when, sink),
                )  # fmt: skip
                least = min(least, float(np.median(when.get())))
            rows.append(
                {"kind": kind, "places": places, "apart": apart, "sectors": sectors,
                 "words": words, "lanes": lanes,
                 "cycles": round(least / (_TURNS * _EACH * _WARPS * sms), 3)}
            )  # fmt: skip
        blocks, turns = 8 * sms, 64
        for sectors in (1, 2, 4, 8, 16, 32, 64, 128):
            when = cupy.zeros(blocks, dtype=np.int64)
            least = float("inf")
            for _ in range(3):
                module.get_function("bulk")(
                    (blocks,), (32,), (data, np.int32(32 * sectors), when, np.int32(turns))
                )
                least = min(least, float(np.median(when.get())))
            rows.append(
                {"kind": "bulk", "places": 1, "apart": 0, "sectors": sectors, "words": 8,
                 "lanes": 1, "cycles": round(least / (turns * blocks), 3)}
            )  # fmt: skip
    return rows
