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

__all__ = ["measure_in_order", "measure_late_loads", "measure_pool"]

_PLACES, _TURNS, _LATE = 36, 200, 20
_SEQUENCES = (
    "L", "S", "LL", "SL", "SSLL", "LH", "LHHHH", "LLHHHH", "SLH", "SSLLH", "SSLLHH", "SSLLHHHH",
)  # fmt: skip
_COUNTS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36)

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
extern "C" __global__ void __launch_bounds__(256) {name}(long long* out, float* sink{more}) {{
    __shared__ __align__(16) float s[1400];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned first = (unsigned)__cvta_generic_to_shared(s) + 4 * {words} * lane;
    unsigned at = first;
    float v = lane, sum = 0;
    for (int twice = 0; twice < 2; ++twice) {{  // once for the machine code
        for (int i = threadIdx.x; i < 1400; i += blockDim.x) s[i] = 0;
        __syncthreads();
        const long long begun = clock64();
"""
_END = """
        __syncthreads();
    }}
    if (sum + v == 12345) *sink = sum;
}}
"""
_POOL = """
        long long t[{places}];
        {body}
        {use}
        if (lane == 0) for (int k = 0; k < {places}; ++k)
            out[(blockIdx.x * warps + warp) * {places} + k] = t[k];
"""
_LATE_LOAD = """
        long long issued = 0, back = 0;
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
"""
_SEQUENCE = """
        const int last = twice ? turns : 2;
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
"""
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


def _source(name: str, parameters: str, does: str, words: int = 32, **parts: Any) -> str:
    """Return CUDA source of a kernel whose lanes begin so many words apart."""
    more = f", {parameters}" if parameters else ""
    return (_BEGIN + does + _END).format(name=name, more=more, words=words, **parts)


def _pool_source(access: str) -> str:
    """Return CUDA source whose warps issue accesses, and say when."""
    body, use = _accesses(access, _PLACES, timed=True)
    return _source("pool", "", _POOL, body=body, use=use, places=_PLACES)


def _late_source(access: str, count: int) -> str:
    """Return CUDA source whose last warp loads when the others' accesses wait."""
    body, use = _accesses(access, count)
    return _source("late", "float zero, int late", _LATE_LOAD, body=body, use=use)


def _sequence_source(sequence: str, ways: int) -> str:
    """Return CUDA source whose warps do a sequence turn by turn; `ways`: of 32 or 4."""
    body = " ".join(_LETTERS[letter].format(k=k, at=4 * k) for k, letter in enumerate(sequence))
    use = " + ".join(f"r{k}" for k, letter in enumerate(sequence) if letter != "S") or "sum"
    words = 32 if ways == 32 else 36
    parameters = "int zero, int turns, int skew"
    return _source("sequence", parameters, _SEQUENCE, words, body=body, use=use)


def _run(sms: int, source: str, name: str, warps: int, count: int, *args: Any) -> NDArray[np.int64]:
    """Return what a block of each SM writes, shape (SMs, count)."""
    import cupy

    kernel = cupy.RawModule(code=source).get_function(name)
    out, sink = cupy.zeros((sms, count), dtype=np.int64), cupy.zeros(1, dtype=np.float32)
    for _ in range(2):
        kernel((sms,), (32 * warps,), (out, sink, *args))
    found: NDArray[np.int64] = out.get()
    return found


def measure_pool(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, warps and place: when warps issue it, median of the SMs."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for access, warps in product(_ACCESSES, (1, 2, 4)):
            out = _run(sms, _pool_source(access), "pool", warps, warps * _PLACES)
            when = out.reshape(-1, warps, _PLACES)
            since = when - when.min(axis=(1, 2), keepdims=True)
            for place, issued in enumerate(np.median(since.mean(axis=1), axis=0)):
                rows.append(
                    {"access": access, "warps": warps, "place": place, "issued": float(issued)}
                )
    return rows


def measure_late_loads(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, count and other warps: when the load is issued and back."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for access, warps in product(("store of 4 bytes", "load of 4 bytes"), (1, 2, 3)):
            for count in _COUNTS:
                source = _late_source(access, count)
                out = _run(sms, source, "late", warps + 1, 2, np.float32(0), np.int32(_LATE))
                issued, back = np.median(out, axis=0).astype(int).tolist()
                rows.append(
                    {"access": access, "warps": warps, "count": count, "issued": issued,
                     "back": back}
                )  # fmt: skip
    return rows


def measure_in_order(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per sequence, ways, warps and skew: cycles per turn, median of the SMs."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        for sequence, ways in product(_SEQUENCES, (32, 4)):
            source = _sequence_source(sequence, ways)
            for warps, skew in ((1, 0), *product((2, 3, 4), (0, 5))):
                args = (np.int32(0), np.int32(_TURNS), np.int32(skew))
                out = _run(sms, source, "sequence", warps, 2 * warps, *args).reshape(-1, warps, 2)
                cycles = (out[..., 1].max(axis=1) - out[..., 0].min(axis=1)) / _TURNS
                rows.append(
                    {"sequence": sequence, "ways": ways, "warps": warps, "skew": skew,
                     "cycles": round(float(np.median(cycles)), 1)}
                )  # fmt: skip
    return rows
