"""What blocks take that bring tiles from the L2 and read them with conflicts, turn by turn.

In each turn a block of four warps brings its tile of 8 KiB to shared memory: as `brings` says by
`copies` (cp.async) that it waits for, by `loads` and stores, or by copies of the next turn's tile,
`ahead`; with `none` it brings nothing. Behind a barrier each warp reads four matrices four times
(LDSM.x4), `ways` rows in the same banks, and meets the others. An SM holds so many `blocks`.
`cycles`: of an SM per turn, the median of all SMs, the least of five launches.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.timing.bulk import loaded

__all__ = ["CASES", "ROOMS", "copies_beside_source", "measure_copies_beside", "spans_of"]

_SOURCE = """
extern "C" __global__ void {name}(const char* data, long long* when, unsigned* sink, int turns) {{
    extern __shared__ __align__(128) char s[];
    const unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5, row = lane & 7;
    const unsigned base = (unsigned)__cvta_generic_to_shared(s), to = base + t * 16;
    const unsigned at = base + warp * 2048 + (lane >> 3) * 256 + row * 128 + row % {rows} * 16;
    const char* mine = data + (size_t)blockIdx.x * 8192 + t * 16;
    unsigned sum = 0;
    __syncthreads();
    const long long start = clock64();
    {first}
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {{
        {brings}
        #pragma unroll
        for (int k = 0; k < 4; ++k) {{
            unsigned x, y, z, w;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];"
                : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"((at ^ k * 16){of_turn}));
            sum ^= x ^ y ^ z ^ w;
        }}
        __syncthreads();
    }}
    asm volatile("cp.async.wait_all;");
    if (sum == 12345) *sink = sum;
    __syncthreads();
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    long long* mine_when = when + 3 * blockIdx.x;
    if (t == 0) {{ mine_when[0] = start; mine_when[1] = clock64(); mine_when[2] = sm; }}
}}
"""


def _copies(stage: str) -> str:
    return " ".join(
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"'
        f' :: "r"(to + {stage} * 8192 + {at}), "l"(mine + {at}));'
        for at in range(0, 8192, 2048)
    )


_CLOSE = ' asm volatile("cp.async.commit_group;");'
_LOADED = "uint4 v[4]; " + " ".join(
    'asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"'
    f' : "=r"(v[{k}].x), "=r"(v[{k}].y), "=r"(v[{k}].z), "=r"(v[{k}].w) : "l"(mine + {k * 2048}));'
    for k in range(4)
)
_STORED = " ".join(
    f'asm volatile("st.shared.v4.u32 [%0], {{%1, %2, %3, %4}};" :: "r"(to + {k * 2048}),'
    f' "r"(v[{k}].x), "r"(v[{k}].y), "r"(v[{k}].z), "r"(v[{k}].w));'
    for k in range(4)
)
_KINDS = {
    "none": ("", "", ""),
    "copies": ("", _copies("0") + ' asm volatile("cp.async.wait_all;"); __syncthreads();', ""),
    "loads": ("", f"{_LOADED} {_STORED} __syncthreads();", ""),
    "ahead": (
        _copies("0") + _CLOSE,
        _copies("(turn + 1 & 1)")
        + _CLOSE
        + ' asm volatile("cp.async.wait_group 1;"); __syncthreads();',
        " + (turn & 1) * 8192",
    ),
}
"""Before the turns; in a turn, before it reads; where it reads."""
CASES = [*product(_KINDS, (1, 4, 8), (1, 2, 4))]
"""What brings tiles, ways, blocks of an SM."""
ROOMS = {1: 120_000, 2: 100_000, 4: 52_000}
"""Bytes of shared memory of a block, by how many an SM shall hold."""
_FEW, _MANY = 20, 120
"""Turns; what is between them is what counts."""


def copies_beside_source(brings: str, ways: int, name: str = "beside") -> str:
    """Return CUDA source of a kernel."""
    first, text, of_turn = _KINDS[brings]
    return _SOURCE.format(name=name, rows=8 // ways, first=first, brings=text, of_turn=of_turn)


def spans_of(when: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cycles from each SM's first begin to its last end.

    `when`: of each block its begin, its end and its SM.

    >>> spans_of(np.array([[5, 20, 1], [3, 9, 0], [4, 30, 1]])).tolist()
    [6, 26]
    """
    begin, end, sm = when.T
    return np.array([end[sm == one].max() - begin[sm == one].min() for one in np.unique(sm)])


def measure_copies_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    names = {case: f"{case[0]}_{case[1]}" for case in dict.fromkeys(each[:2] for each in CASES)}
    source = "".join(copies_beside_source(*case, name) for case, name in names.items())
    rows = []
    with loaded(source, device) as (module, sms, data, _):
        import cupy

        when = cupy.zeros((sms * max(ROOMS), 3), dtype=np.int64)
        sink = cupy.zeros(1, dtype=np.uint32)
        for brings, ways, blocks in CASES:
            kernel = module.get_function(names[brings, ways])
            kernel.max_dynamic_shared_size_bytes = ROOMS[blocks]
            least = {}
            for turns in (_FEW, _MANY):
                spans = []
                for _ in range(5):
                    kernel(
                        (sms * blocks,), (128,), (data, when, sink, np.int32(turns)),
                        shared_mem=ROOMS[blocks],
                    )  # fmt: skip
                    spans.append(float(np.median(spans_of(when.get()[: sms * blocks]))))
                least[turns] = min(spans)
            cycles = (least[_MANY] - least[_FEW]) / (_MANY - _FEW)
            rows.append(
                {"brings": brings, "ways": ways, "blocks": blocks, "cycles": round(cycles, 1)}
            )
    return rows
