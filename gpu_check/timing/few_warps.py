"""Turns of four accesses to shared memory by few warps: with and without barriers between turns.

Each lane that takes part reads or writes a word of the same bank, so an access has as many
wavefronts as lanes. Warps of even and of odd numbers have numbers of lanes of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["few_warps_source", "measure_few_warps", "pack"]

_FEW, _MANY, _SHARED = 100, 300, 220 * 1024
_LOAD = (
    'asm volatile("{ .reg .pred p; setp.lt.s32 p, %3, %2; @p ld.volatile.shared.u32 %0, [%1+AT]; }"'
    ' : "+r"(tN) : "r"(at), "r"(nN), "r"(lane));'
)
_STORE = (
    'asm volatile("{ .reg .pred p; setp.lt.s32 p, %3, %2; @p st.volatile.shared.u32 [%1+AT], %0; }"'
    ' :: "r"(VALUE), "r"(at), "r"(nN), "r"(lane));'
)
_TURNS = {
    "loads": 4 * [_LOAD] + ["at += t0 + t1 + t2 + t3;"],
    "chain": 4 * [_LOAD + " at += tN;"],
    "stores": 4 * [_STORE.replace("VALUE", "zero")],
    "table": 3 * [_LOAD] + ["at += t0 ^ t1; v = min(t0, t1) + t2;" + _STORE],
}
"""`loads`: independent, then used; `chain`: each address waits for the load before; `table`: three
loads, and a store of what they brought."""
_SOURCE = """
extern "C" __global__ void NAME(long long* when, int* sink, int zero, int even, int odd,
                                int turns) {
    extern __shared__ int s[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, n = warp & 1 ? odd : even;
    const int n0 = n & 255, n1 = n >> 8 & 255, n2 = n >> 16 & 255, n3 = n >> 24 & 255;
    int t0 = zero, t1 = zero, t2 = zero, t3 = zero, v = zero;
    unsigned at = (unsigned)__cvta_generic_to_shared(s) + 128 * lane;
    for (int k = threadIdx.x; k < 1040; k += blockDim.x) s[k] = 0;
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        BODY
    }
    const long long end = clock64();
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (lane == 0) {
        long long* own = when + 3 * (blockIdx.x * (blockDim.x / 32) + warp);
        own[0] = start, own[1] = end, own[2] = sm;
    }
    if (at == 12345 && v == 54321) *sink = t0 + t1 + t2 + t3;
}
"""
_LANES = (
    ((32, 32, 32, 32), (32, 32, 32, 32)), ((8, 8, 8, 8), (8, 8, 8, 8)),
    ((1, 1, 1, 1), (1, 1, 1, 1)), ((32, 1, 32, 1), (32, 1, 32, 1)),
    ((32, 32, 32, 32), (0, 0, 0, 0)), ((24, 24, 24, 24), (8, 8, 8, 8)),
)  # fmt: skip
_SHAPES = (
    (1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4), (2, 8), (2, 13), (4, 1), (4, 4), (8, 1),
)  # fmt: skip
"""Warps of a block, blocks of an SM."""


def few_warps_source() -> str:
    """Return CUDA source of a kernel per turn, `table_1` with a barrier, `table_0` without."""
    kernels = []
    for name, accesses in _TURNS.items():
        lines = [
            text.replace("AT", str(4 * k)).replace("tN", f"t{k}").replace("nN", f"n{k}")
            for k, text in enumerate(accesses)
        ]
        body = "\n        ".join(lines).replace("VALUE", "v & zero")
        for barrier in (0, 1):
            own = body + ("\n        __syncthreads();" if barrier else "")
            kernels.append(_SOURCE.replace("NAME", f"{name}_{barrier}").replace("BODY", own))
    return "".join(kernels)


def pack(lanes: tuple[int, ...]) -> int:
    """Return the argument that gives a turn's accesses their numbers of lanes.

    >>> hex(pack((32, 1, 32, 1)))
    '0x1200120'
    """
    return sum(many << 8 * place for place, many in enumerate(lanes))


def measure_few_warps(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per turn, lanes and warps: cycles of the SM per turn of all of its warps."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=few_warps_source())
        sink = cupy.zeros(1, dtype=np.int32)
        for name in _TURNS:
            for barrier in (0, 1):
                kernel = module.get_function(f"{name}_{barrier}")
                kernel.max_dynamic_shared_size_bytes = _SHARED
                for even, odd in _LANES:
                    for warps, blocks in _SHAPES:
                        if warps == 1 and (even != odd or barrier):
                            continue
                        args = (np.int32(pack(even)), np.int32(pack(odd)))
                        grid, room = chip.multiprocessors * blocks, _SHARED // blocks - 1024
                        took = {}
                        for turns in (_FEW, _MANY):
                            when = cupy.zeros((grid, warps, 3), dtype=np.int64)
                            for _ in range(2):
                                kernel(
                                    (grid,), (32 * warps,),
                                    (when, sink, np.int32(0), *args, np.int32(turns)),
                                    shared_mem=room // 128 * 128,
                                )  # fmt: skip
                            took[turns] = _cycles(when.get().reshape(-1, 3), warps * blocks)
                        cycles = (took[_MANY] - took[_FEW]) / (_MANY - _FEW)
                        rows.append(
                            {"turn": name, "barrier": barrier, "warps": warps, "blocks": blocks,
                             "even": " ".join(map(str, even)), "odd": " ".join(map(str, odd)),
                             "cycles": round(cycles, 2)}
                        )  # fmt: skip
    return rows


def _cycles(when: Any, warps: int) -> float:
    """Return the median cycles of the SMs that had so many warps, from first start to last end."""
    each = [when[when[:, 2] == sm] for sm in np.unique(when[:, 2])]
    return float(
        np.median([own[:, 1].max() - own[:, 0].min() for own in each if len(own) == warps])
    )
