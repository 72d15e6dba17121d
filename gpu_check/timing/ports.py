"""How much of a sub-partition's dispatch a memory instruction takes, beside arithmetic.

A loop has one memory instruction, whose data are in shared memory or L1, and `count` arithmetic
ones; what is read is summed. While few are beside it, the way to memory decides; then what is
dispatched. `warps_N`: cycles of a sub-partition per memory instruction of a warp, where a block of
N warps runs alone on its SM. `measure_wide_ports`: of wide loads of shared memory, beside more
sums; one place is the same for all lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.loop_ends import least_cycles

__all__ = [
    "ARITHMETIC", "COUNTS", "MEMORY", "WIDE", "measure_ports", "measure_wide_ports", "ports_source",
]  # fmt: skip

_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) ports(
    const float* data, float* sink, int* when, int turns, int never) {{
    extern __shared__ __align__(128) float s[];
    const int lane = threadIdx.x & 31;
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) s[i] = data[i & 1023];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * {apart} * lane;
    const float* p = data + {apart} * lane;
    float v[4] = {{}}, sum = 0, f[8], fa = data[1], fb = data[2];
    int n[8], na = __float_as_int(fa), nb = __float_as_int(fb), start = 0;
    long long l[8];
    for (int k = 0; k < 8; ++k) f[k] = data[k + lane], n[k] = __float_as_int(f[k]), l[k] = n[k];
    #pragma unroll 1
    for (int twice = 0; twice < 2; ++twice) {{
        __syncthreads();
        start = (int)clock();
        int last = twice ? turns : 2;
        asm volatile("" : "+r"(last));
        #pragma unroll 1
        for (int turn = never * lane; turn < last; turn += 1 + never * lane) {{
            #pragma unroll
            for (int each = 0; each < {copies}; ++each) {{
                {text}
            }}
            p += never, at += never;  // zero
        }}
    }}
    const int end = (int)clock();
    for (int k = 0; k < 8; ++k) sum += f[k] + n[k] + (float)l[k] + v[k & 3];
    if (__float_as_int(sum) == 12345) sink[0] = sum;
    if (lane == 0) when[2 * (threadIdx.x >> 5)] = start, when[2 * (threadIdx.x >> 5) + 1] = end;
}}
"""
_COPIES = 16
_FEW, _MANY = 16, 48


def _load(text: str, words: int, address: str, kind: str) -> str:
    """Return CUDA that loads words per lane, and sums them."""
    names = [f"x{k}" for k in range(words)]
    given = ", ".join(f"%{k}" for k in range(words))
    given = "{" + given + "}" if words > 1 else given
    vector = f".v{words}" if words > 1 else ""
    out = ", ".join(f'"=f"({name})' for name in names)
    return (
        f"float {', '.join(names)};"
        f' asm volatile("{text}{vector}.f32 {given}, [%{words}];" : {out} : "{kind}"({address}));'
        f" sum += {' + '.join(names)};"
    )


def _global(words: int) -> str:
    return _load("ld.relaxed.cta.global", words, "p + 128 * each", "l")


def _shared(words: int) -> str:
    return _load("ld.volatile.shared", words, "at + 512 * each", "r")


_STORE = 'asm volatile("st.volatile.shared.f32 [%0], %1;" :: "r"(at + 512 * each), "f"(v[0]));'
_STORES = (
    'asm volatile("st.volatile.shared.v4.f32 [%0], {%1, %2, %3, %4};"'
    ' :: "r"(at + 512 * each), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]));'
)
_MATRICES = (
    'int x0, x1, x2, x3; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16'
    ' {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3)'
    ' : "r"(at + 512 * each)); n[0] ^= x0 ^ x1; n[1] ^= x2 ^ x3;'
)
MEMORY = {
    "nothing": ("", 1),
    "LDG": (_global(1), 1), "LDG, one word": (_global(1), 0), "LDG.64": (_global(2), 2),
    "LDG.128": (_global(4), 4),
    "LDS": (_shared(1), 1), "LDS, one word": (_shared(1), 0), "LDS.64": (_shared(2), 2),
    "LDS.128": (_shared(4), 4),
    "STS": (_STORE, 1), "STS.128": (_STORES, 4),
    "SHFL": ('asm volatile("shfl.sync.down.b32 %0, %0, 1, 31, -1;" : "+f"(v[each & 3]));', 1),
    "MUFU": ('asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v[each & 3]));', 1),
    "LDSM.4": (_MATRICES, 4),
}  # fmt: skip
"""What is read or written, and the words between the addresses of lanes."""
WIDE = {
    **{name: MEMORY[name] for name in ("nothing", "LDS", "LDS, one word", "LDS.64", "LDS.128")},
    "LDS.64, one place": (_shared(2), 0), "LDS.128, one place": (_shared(4), 0),
    "LDG.128, one place": (_global(4), 0), "LDSM.4": MEMORY["LDSM.4"],
}  # fmt: skip
"""The same of `measure_wide_ports`."""
ARITHMETIC = {
    "FFMA": 'asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f[K]) : "f"(fa), "f"(fb));',
    "LOP3": 'asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(n[K]) : "r"(na), "r"(nb));',
    "IMAD": 'asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(n[K]) : "r"(na), "r"(nb));',
    "IMAD.WIDE": (
        'asm volatile("mad.wide.s32 %0, %1, 12, %0;" : "+l"(l[K]) : "r"((int)l[K + 1 & 7]));'
    ),
}
"""K: one of eight chains. The compiler makes a product and two sums of the last."""
COUNTS = {"FFMA": (1, 2, 3, 4, 6, 8), "LOP3": (1, 2, 3, 4), "IMAD": (1, 2, 3, 4),
          "IMAD.WIDE": (1, 2)}  # fmt: skip
_MORE = {"FFMA": (2, 4, 8, 12, 16, 24)}
_WARPS = (8, 16, 32)


def ports_source(memory: str, arithmetic: str, count: int) -> str:
    """Return CUDA source of a loop of one memory instruction and `count` others."""
    text, apart = (MEMORY | WIDE)[memory]
    others = [ARITHMETIC[arithmetic].replace("K", f"(each * {count} + {k} & 7)")
              for k in range(count)]  # fmt: skip
    return _SOURCE.format(apart=apart, copies=_COPIES, text="\n            ".join([text, *others]))


def measure_ports(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per memory instruction, arithmetic one and number of these."""
    return _measured(MEMORY, COUNTS, device)


def measure_wide_ports(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per load and number of sums beside it."""
    return _measured(WIDE, _MORE, device)


def _measured(
    loads: Mapping[str, tuple[str, int]], counts: Mapping[str, tuple[int, ...]], device: int
) -> list[dict[str, Any]]:
    open_gpu(device)
    import cupy

    data, sink = cupy.zeros(8192, dtype=np.float32), cupy.zeros(64, dtype=np.float32)
    when = cupy.zeros(64, dtype=np.int32)

    def taken(kernel: Any, turns: int, warps: int) -> int:
        given = (data, sink, when, np.int32(turns), np.int32(0))
        return least_cycles(kernel, given, when, warps, 32768)

    rows = []
    with cupy.cuda.Device(device):
        for memory in loads:
            for arithmetic, count in ((name, k) for name, every in counts.items() for k in every):
                source = ports_source(memory, arithmetic, count)
                kernel = cupy.RawModule(code=source).get_function("ports")
                row: dict[str, Any] = {"memory": memory, "arithmetic": arithmetic, "count": count}
                for warps in _WARPS:
                    more = taken(kernel, _MANY, warps) - taken(kernel, _FEW, warps)
                    row[f"warps_{warps}"] = round(more / ((_MANY - _FEW) * _COPIES * warps / 4), 3)
                rows.append(row)
    return rows
