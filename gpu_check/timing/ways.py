"""How fast each SM reaches the L2 where all of them do: those that share a way there with fewer.

The SMs of a GPC go to the L2 by a way for six of them, or for four where two were left out. Warps
of all SMs do the same for `window` cycles: load, copy, store, or add four times 512 bytes or less.
`what`: `loads` of a word per lane, `apart` 32 or 128 bytes; copies of rows (see `copying.SHAPES`);
`adds`; `both`, loads of 16 bytes and as many stores. `cycles`: of the mean SM per turn of a warp's
four accesses; `few` and `many`: those of the SMs that store fastest, and of the others, beside it;
`least` and `most`: of an SM. `sms`: how many store fast.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.copying import BYTES, SHAPES

__all__ = ["WHAT", "measure_ways", "ways_source"]

_WINDOW, _MEBIBYTES, _SHARED = 300_000, 20, 220_000
_WARPS = (8, 24)
_SOURCE = """
extern "C" __global__ void __launch_bounds__(1024) ways(int* out, char* data, int window) {{
    extern __shared__ __align__(128) char held[];
    __shared__ int turns;
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x / 32;
    const unsigned to = (unsigned)__cvta_generic_to_shared(held) + warp * {held};
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) turns = 0;
    __syncthreads();
    const size_t step = (size_t)gridDim.x * warps * {unit}, size = {size};
    size_t at = ((size_t)blockIdx.x * warps + warp) * {unit} % size;
    int sum = 0, mine = 0;
    const unsigned begun = (unsigned)clock64();
    while ((unsigned)clock64() - begun < window) {{
        char* p = data + at;
        {body}
        at += step;
        while (at >= size) at -= size;
        ++mine;
    }}
    if (lane == 0) atomicAdd(&turns, mine);
    __syncthreads();
    if (threadIdx.x == 0) out[2 * blockIdx.x] = sm, out[2 * blockIdx.x + 1] = turns;
    if (sum == 123456789) *out = 1;
}}
"""
_EACH = '_Pragma("unroll") for (int i = 0; i < 4; ++i) '
_LOAD = (
    "int a[4]; " + _EACH + 'asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(a[i])'
    ' : "l"(p + i * {line} + {apart} * lane) : "memory"); for (int i = 0; i < 4; ++i) sum ^= a[i];'
)
_STORE = _EACH + (
    'asm volatile("st.global.b32 [%0], %1;" :: "l"(p + i * {line} + {apart} * lane), "r"(sum)'
    ' : "memory");'
)
_COPY = _EACH + (
    'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"'
    ' :: "r"(to + i * {lies} + 16 * lane / {row} * {pitch} + 16 * lane % {row} + {begins}),'
    ' "l"(p + i * {line} + 16 * lane / {row} * 128 + 16 * lane % {row}) : "memory");'
    ' asm volatile("cp.async.wait_all;" ::: "memory");'
)
_ADD = _EACH + (
    'asm volatile("red.global.add.u32 [%0], %1;" :: "l"(p + i * 128 + 4 * lane), "r"(1)'
    ' : "memory");'
)
_STORE_16 = _EACH + (
    'asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" :: "l"(p + i * 512 + 16 * lane),'
    ' "r"(sum) : "memory");'
)
_BOTH = (
    "int4 a[4]; " + _EACH + "a[i] = __ldcg((const int4*)(p + i * 512 + 16 * lane)); "
    + _EACH + "*(int4*)(p + size + i * 512 + 16 * lane) = a[i];"
)  # fmt: skip


def _words(text: str, apart: int) -> tuple[str, int, int]:
    return text.format(line=32 * apart, apart=apart), 128 * apart, 16


def _rows(shape: str) -> tuple[str, int, int]:
    row, pitch, begins = SHAPES[shape]
    lines = BYTES // row
    text = _COPY.format(lies=lines * pitch, row=row, pitch=pitch, begins=begins, line=lines * 128)
    return text, 4 * lines * 128, 4 * lines * pitch + 128


WHAT = {
    "stores of 16 bytes": (_STORE_16, 2048, 16),
    "stores": _words(_STORE, 4), "stores apart": _words(_STORE, 32),
    "loads": _words(_LOAD, 4), "loads apart": _words(_LOAD, 32),
    "loads of lines": _words(_LOAD, 128),
    **{f"copies {shape}": _rows(shape) for shape in SHAPES},
    "adds": (_ADD, 512, 16), "both": (_BOTH, 2048, 16),
}  # fmt: skip
"""What a warp does in a turn, and its bytes: of memory, and of shared memory."""


def ways_source(what: str) -> str:
    """Return CUDA source of warps that do it again and again."""
    body, unit, held = WHAT[what]
    return _SOURCE.format(body=body, unit=unit, held=held, size=_MEBIBYTES << 20)


def _turn(kernel: Any, data: Any, sms: int, warps: int) -> NDArray[np.float64]:
    """Return the cycles of a warp's turn, beside others, by SM."""
    import cupy

    out = cupy.zeros((sms, 2), dtype=np.int32)
    for _ in range(3):
        kernel((sms,), (32 * warps,), (out, data, np.int32(_WINDOW)), shared_mem=_SHARED)
    found = out.get()
    turns: NDArray[np.float64] = np.maximum(found[np.argsort(found[:, 0]), 1], 1)
    return _WINDOW / turns


def measure_ways(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind of access, and warps of an SM."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    few: NDArray[np.bool_] | None = None
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data = cupy.zeros(3 * _MEBIBYTES << 20, dtype=np.uint8)
        for number, what in enumerate(WHAT):
            path = Path(folder, f"{number}.cubin")
            path.write_bytes(compiled(ways_source(what), Path(folder)))
            kernel = cupy.RawModule(path=str(path)).get_function("ways")
            kernel.max_dynamic_shared_size_bytes = _SHARED
            for warps in _WARPS:
                turn = _turn(kernel, data, sms, warps)
                mean = 1 / (1 / turn).mean()
                if few is None:  # stores come first: they tell who shares a way with fewer
                    few = turn < (turn.min() + turn.max()) / 2
                rows.append(
                    {"what": what, "warps": warps, "sms": int(few.sum()), "cycles": round(mean, 2),
                     "few": round(turn[few].mean() / mean, 3),
                     "many": round(turn[~few].mean() / mean, 3),
                     "least": round(turn.min() / mean, 3), "most": round(turn.max() / mean, 3)}
                )  # fmt: skip
    return rows
