"""How many accesses to shared memory wait, in which order, and what goes beside what.

`measure_pool`: warps of different sub-partitions issue accesses of 32 wavefronts, one after the
other; `issued`: the cycle in which they issue that of a place, mean of the warps, from the first.

`measure_late_loads`: a warp begins a load of one wavefront when others, of other sub-partitions,
wait for `count` accesses of 32 wavefronts each. `issued`, `back`: when it begins it, and has its
result, from the first access.

`measure_in_order`: each warp does a sequence turn by turn, which ends when all of its results are
there: L is a load, S a store, of 32 or 4 wavefronts, H a shuffle. Each warp begins `skew` turns of
an addition later than the one before. `cycles`: of an SM per turn.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu

__all__ = ["SEQUENCES", "measure_in_order", "measure_late_loads", "measure_pool"]

PLACES = 36
TURNS = 200
SEQUENCES = (
    "L", "S", "LL", "SL", "SSLL", "LH", "LHHHH", "LLHHHH", "SLH", "SSLLH", "SSLLHH", "SSLLHHHH",
)  # fmt: skip
_COUNTS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36)
_LATE = 20

_TO = "    unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * {words} * lane;"
_ACCESSES = {
    "store of 4 bytes": 'asm volatile("st.volatile.shared.f32 [%0], %1;"'
    ' :: "r"(at + {at}), "f"(v));',
    "store of 8 bytes": 'asm volatile("st.volatile.shared.v2.f32 [%0], {{%1, %1}};"'
    ' :: "r"(at + {at}), "f"(v));',
    "store of 16 bytes": 'asm volatile("st.volatile.shared.v4.f32 [%0], {{%1, %1, %1, %1}};"'
    ' :: "r"(at + {at}), "f"(v));',
    "load of 4 bytes": "float r{k};"
    ' asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(r{k}) : "r"(at + {at}));',
}
_BEGIN = """
extern "C" __global__ void __launch_bounds__(256) {name}(long long* out, float* sink, {more}) {{
    __shared__ __align__(16) float s[1400];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float v = lane, sum = 0;
    {to}
"""
_POOL = (
    _BEGIN
    + """
    for (int twice = 0; twice < 2; ++twice) {{  // once for the machine code
        for (int i = threadIdx.x; i < 1400; i += blockDim.x) s[i] = i;
        __syncthreads();
        {body}
        {use}
        if (lane == 0) for (int k = 0; k < {places}; ++k)
            out[(blockIdx.x * warps + warp) * {places} + k] = t[k];
        __syncthreads();
    }}
    if (sum == 12345) *sink = sum;
}}
"""
)
_LATE_LOAD = (
    _BEGIN
    + """
    for (int twice = 0; twice < 2; ++twice) {{
        for (int i = threadIdx.x; i < 1400; i += blockDim.x) s[i] = i;
        long long begun = 0, issued = 0, back = 0;
        __syncthreads();
        begun = clock64();
        if (warp < warps - 1) {{
            {body}
            {use}
        }} else {{
            float w = zero;
            for (int i = 0; i < late; ++i) w = w * 0.5f + 1;
            issued = clock64();
            asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(w)
                         : "r"(at - 124 * lane + (w < 0 ? 4 : 0)));
            if (w == 12345.5f) *sink = w;
            back = clock64();
        }}
        if (lane == 0 && warp == warps - 1) {{
            out[2 * blockIdx.x] = issued - begun;
            out[2 * blockIdx.x + 1] = back - begun;
        }}
        __syncthreads();
    }}
    if (sum == 12345) *sink = sum;
}}
"""
)
_SEQUENCE = (
    _BEGIN
    + """
    for (int twice = 0; twice < 2; ++twice) {{
        for (int i = threadIdx.x; i < 1400; i += blockDim.x) s[i] = 0;
        const unsigned first = at;
        const int last = twice ? turns : 2;
        __syncthreads();
        const long long begun = clock64();
        #pragma unroll 1
        for (int i = 0; i < skew * warp; ++i) v = v * 0.5f + 1;
        #pragma unroll 1
        for (int turn = 0; turn < last; ++turn) {{
            {body}
            sum = {use};
            at = first + (__float_as_int(sum) & zero);
        }}
        const long long ended = clock64();
        if (lane == 0) {{
            out[2 * (blockIdx.x * warps + warp)] = begun;
            out[2 * (blockIdx.x * warps + warp) + 1] = ended;
        }}
        __syncthreads();
        at = first;
    }}
    if (sum + v == 12345) *sink = sum;
}}
"""
)
_LETTERS = {
    "L": _ACCESSES["load of 4 bytes"],
    "S": 'asm volatile("st.volatile.shared.f32 [%0], %1;" :: "r"(at + {at}), "f"(sum));',
    "H": 'float r{k}; asm volatile("shfl.sync.idx.b32 %0, %1, 3, 31, -1;" : "=f"(r{k}) : "f"(v));',
}


def _accesses(access: str, count: int, *, timed: bool = False) -> tuple[str, str]:
    """Return accesses one after the other, and what uses their results."""
    lines = []
    for k in range(count):
        lines.append(_ACCESSES[access].format(k=k, at=16 * (k % 2)))
        if timed:
            lines.append(f"t[{k}] = clock64();")
    use = " ".join(f"sum += r{k};" for k in range(count)) if "load" in access else ""
    return " ".join(lines), use


def pool_source(access: str) -> str:
    """Return CUDA source whose warps issue accesses, and say when."""
    body, use = _accesses(access, PLACES, timed=True)
    to = _TO.format(words=32) + f" long long t[{PLACES}];"
    return _POOL.format(name="pool", more="int", to=to, body=body, use=use, places=PLACES)


def late_source(access: str, count: int) -> str:
    """Return CUDA source whose last warp loads when the others' accesses wait."""
    body, use = _accesses(access, count)
    to = _TO.format(words=32)
    more = "float zero, int late"
    return _LATE_LOAD.format(name="late", more=more, to=to, body=body, use=use)


def sequence_source(sequence: str, ways: int) -> str:
    """Return CUDA source whose warps do a sequence turn by turn; `ways`: of 32 or 4."""
    body = " ".join(_LETTERS[letter].format(k=k, at=4 * k) for k, letter in enumerate(sequence))
    use = " + ".join(f"r{k}" for k, letter in enumerate(sequence) if letter != "S") or "sum"
    to = _TO.format(words=32 if ways == 32 else 36)
    more = "int zero, int turns, int skew"
    return _SEQUENCE.format(name="sequence", more=more, to=to, body=body, use=use)


def _run(source: str, name: str, warps: int, count: int, *args: Any) -> NDArray[np.int64]:
    """Return what a block of each SM writes, shape (SMs, count)."""
    import cupy

    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    kernel = cupy.RawModule(code=source).get_function(name)
    out, sink = cupy.zeros((sms, count), dtype=np.int64), cupy.zeros(1, dtype=np.float32)
    for _ in range(2):
        kernel((sms,), (32 * warps,), (out, sink, *args))
    found: NDArray[np.int64] = out.get()
    return found


def measure_pool(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, warps and place: when warps issue it, median of the SMs."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for access, warps in product(_ACCESSES, (1, 2, 4)):
            out = _run(pool_source(access), "pool", warps, warps * PLACES, np.int32(0))
            when = out.reshape(-1, warps, PLACES)
            since = when - when.min(axis=(1, 2), keepdims=True)
            for place, issued in enumerate(np.median(since.mean(axis=1), axis=0)):
                rows.append(
                    {"access": access, "warps": warps, "place": place, "issued": float(issued)}
                )
    return rows


def measure_late_loads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, count and other warps: when the load is issued and back."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for access, warps in product(("store of 4 bytes", "load of 4 bytes"), (1, 2, 3)):
            for count in _COUNTS:
                source = late_source(access, count)
                out = _run(source, "late", warps + 1, 2, np.float32(0), np.int32(_LATE))
                issued, back = np.median(out, axis=0).astype(int).tolist()
                rows.append(
                    {"access": access, "warps": warps, "count": count, "issued": issued,
                     "back": back}
                )  # fmt: skip
    return rows


def measure_in_order(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per sequence, ways, warps and skew: cycles per turn, median of the SMs."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for sequence, ways in product(SEQUENCES, (32, 4)):
            source = sequence_source(sequence, ways)
            for warps, skew in ((1, 0), *product((2, 3, 4), (0, 5))):
                args = (np.int32(0), np.int32(TURNS), np.int32(skew))
                out = _run(source, "sequence", warps, 2 * warps, *args).reshape(-1, warps, 2)
                cycles = (out[..., 1].max(axis=1) - out[..., 0].min(axis=1)) / TURNS
                rows.append(
                    {"sequence": sequence, "ways": ways, "warps": warps, "skew": skew,
                     "cycles": round(float(np.median(cycles)), 1)}
                )  # fmt: skip
    return rows
