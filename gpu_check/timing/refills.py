"""Which blocks go first: those that began first, whatever their places on the SM.

Blocks do the same work, and an SM gets more of them than it holds. So a block that begins when
another has ended stands beside older ones, often in a lower place. `work`: loads of shared memory,
with conflicts and without, sums, and barriers among them. `threads` of a block; `blocks` of an SM.

A row per block of an SM, in the order in which they end: `begin`, when its first instructions were
issued; `end`, when it had done its work; means over the SMs that got so many blocks, in cycles
behind the first begin. `apart`: the standard deviation of `end`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["BLOCKS", "RESIDENT", "WORK", "measure_refills", "refills_source", "shared_bytes"]

RESIDENT = 6
"""Blocks that an SM holds."""
BLOCKS = (8, 18)
_THREADS = (128, 256)
_SOURCE = """
extern "C" __global__ void __launch_bounds__({threads}) refills(
    long long* when, const float* zeros, float* sink) {{
    extern __shared__ float s[];
    const long long begin = clock64();
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    float v[8], b = zeros[threadIdx.x & 31];
    for (int k = threadIdx.x; k < 4096; k += blockDim.x) s[k] = b;
    const unsigned near = (unsigned)__cvta_generic_to_shared(s) + 4 * (threadIdx.x & 31);
    const unsigned far = (unsigned)__cvta_generic_to_shared(s) + 32 * (threadIdx.x & 31);
    for (int k = 0; k < 8; ++k) v[k] = b;
    __syncthreads();
    #pragma unroll 1
    for (int turn = 0; turn < {turns}; ++turn) {{
        {body}
    }}
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += v[k];
    if (sum == 12345) *sink = sum;
    __syncthreads();
    if (threadIdx.x == 0) {{
        long long* w = when + 3 * blockIdx.x;
        w[0] = sm; w[1] = begin; w[2] = clock64();
    }}
}}
"""
_ADD = 'asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(v[{}]) : "f"(b));'
_LOAD = (
    '{{ float u; asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(u) : "r"({}));'
    " v[{}] += u; }}"
)


def _body(*parts: str) -> str:
    """Return CUDA of a turn, by the names of its parts."""
    adds = [_ADD.format(k) for k in range(8)]
    texts = {
        "sums": adds * 8,
        "a chain": [_ADD.format(0)] * 64,
        "loads": [text for k in range(8) for text in (_LOAD.format(f"near + {128 * k}", k), *adds)],
        "conflicts": [_LOAD.format(f"far + {4 * k}", k) for k in range(8)],
        "barrier": ["__syncthreads();"],
    }
    return "\n        ".join(text for part in parts for text in texts[part])


WORK = {
    "sums": (_body("sums"), 150),
    "a chain": (_body("a chain"), 40),
    "loads among sums": (_body("loads"), 100),
    "loads among sums, barrier": (_body("loads", "barrier"), 100),
    "conflicts": (_body("conflicts"), 60),
    "conflicts, barrier": (_body("conflicts", "barrier"), 60),
    "both, two barriers": (_body("loads", "barrier", "conflicts", "barrier"), 50),
}
"""What a turn does, and how many there are. Loads conflict 8 ways, or not at all."""


def refills_source(work: str, threads: int) -> str:
    """Return CUDA source of blocks of so many threads that do `work`."""
    body, turns = WORK[work]
    return _SOURCE.format(threads=threads, turns=turns, body=body)


def shared_bytes() -> int:
    """Return the bytes of dynamic shared memory of a block of which an SM holds RESIDENT."""
    return (220 << 10) // RESIDENT - 1024


def _rows(notes: NDArray[np.int64], blocks: int) -> list[dict[str, int]]:
    """Return a row per block of the mean SM; `notes`: of each block its SM, begin and end."""
    each = []
    for sm in np.unique(notes[:, 0]):
        mine = notes[notes[:, 0] == sm, 1:]
        if len(mine) == blocks:
            each.append(mine[np.argsort(mine[:, 1])] - mine[:, 0].min())
    found = np.array(each)
    return [
        {"block": block, "begin": round(begin), "end": round(end), "apart": round(apart)}
        for block, (begin, end, apart) in enumerate(
            np.column_stack([found.mean(axis=0), found[:, :, 1].std(axis=0)]).tolist()
        )
    ]


def measure_refills(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per work, threads of a block, blocks of an SM, and block."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows: list[dict[str, Any]] = []
    with cupy.cuda.Device(device):
        zeros = cupy.zeros(64, dtype=np.float32)
        for work, threads in ((work, threads) for work in WORK for threads in _THREADS):
            kernel = cupy.RawModule(code=refills_source(work, threads)).get_function("refills")
            kernel.max_dynamic_shared_size_bytes = shared_bytes()
            for blocks in BLOCKS:
                when = cupy.zeros((sms * blocks, 3), dtype=np.int64)
                for _ in range(3):
                    kernel(
                        (sms * blocks,), (threads,), (when, zeros, zeros), shared_mem=shared_bytes()
                    )
                given = {"work": work, "threads": threads, "blocks": blocks}
                rows += [given | row for row in _rows(when.get(), blocks)]
    return rows
