"""How long an instruction takes where other warps keep the data pipe of the SM busy for long.

Two blocks share an SM. Warps of one load or store 32 words of one bank again and again, so that its
sub-partitions' queues are full. Four warps of the other execute one instruction after the other,
one on each sub-partition. What goes through the same queue waits for what is in it.

`beside`: what the first block does; `warps`: how many of it do; `place`: whether the block that is
timed has the lower or the higher place on the SM. `cycles` is the median, `low` and `high` are the
tenth and the ninetieth percentile, over all SMs.

No compiler reads some special registers again and again. Those are put into the machine code of a
kernel that reads %warpid (SR_VIRTID).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["BESIDE", "SPECIAL", "behind_source", "kernel_reading", "measure_behind", "rewritten"]

_TIMES, _SKIPPED = 24, 4
_SOURCE = """
__constant__ int table[64];
extern "C" __global__ void behind(int* when, const int* data, int* count, int timed, int busy) {{
    extern __shared__ int s[];
    __shared__ int place;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) place = atomicAdd(count + sm, 1);
    __syncthreads();
    const int begin = (int)clock();
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned own = (unsigned)__cvta_generic_to_shared(s) + 4 * lane, far = own + 124 * lane;
    const int* from = data + blockIdx.x * 256 + threadIdx.x;
    int sum = 0, t[{times} + 1];
    if (place == timed && warp < 4) {{
        asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(sum) : "l"(from));
        while ((int)clock() - begin - 12000 + sum < 0);
        #pragma unroll
        for (int i = 0; i < {times}; ++i) {{
            t[i] = (int)clock();
            int v = 0;
            {text}
            asm volatile("xor.b32 %0, %0, %1;" : "+r"(sum) : "r"(v & 2));
        }}
        t[{times}] = (int)clock();
        if (lane == 0)
            for (int i = 0; i < {times}; ++i) when[(sm * 4 + warp) * {times} + i] = t[i + 1] - t[i];
    }} else if (place != timed && warp < busy) {{
        #pragma unroll 1
        while ((int)clock() - begin < 60000) {{
            int b[8] = {{}};
            #pragma unroll
            for (int i = 0; i < 8; ++i) {beside}
            for (int i = 0; i < 8; ++i) sum ^= b[i];
        }}
    }}
    if (sum == 123456789) *when = 1;
}}
"""
BESIDE = {
    "loads": 'asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(b[i]) : "r"(far));',
    "stores": 'asm volatile("st.volatile.shared.b32 [%0], %1;" :: "r"(far), "r"(sum));',
}
"""What other warps do at `far` that keeps the data pipe busy, by name."""
_TEXTS = {
    "S2R": 'asm volatile("mov.u32 %0, %%warpid;" : "=r"(v));',
    "SHFL": 'asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(v) : "r"(sum));',
    "LDS": 'asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v) : "r"(own));',
    "ATOMS": 'asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(own));',
    "LDG, in L1": 'asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v) : "l"(from + (sum & 1)));',
    "LDG, in L2": 'asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(v) : "l"(from + (sum & 1)));',
    "LDC": (
        'asm volatile("ld.const.b32 %0, [%1];" : "=r"(v)'
        ' : "l"(__cvta_generic_to_constant(table) + (sum & 4)));'
    ),
    "POPC": "v = __popc(sum);",
    "MUFU": (
        'asm volatile("{{ .reg .f32 f; cvt.rn.f32.s32 f, %1; ex2.approx.ftz.f32 f, f;'
        ' mov.b32 %0, f; }}" : "=r"(v) : "r"(sum));'
    ),
    "VOTE": "v = __ballot_sync(-1, sum & 1);",
    "REDUX": "v = __reduce_add_sync(-1, sum & 1);",
    "MATCH": "v = __match_any_sync(-1, sum & 1);",
    "BAR": 'asm volatile("bar.sync 1, 128;");',
    "IMAD": 'asm volatile("mul.lo.s32 %0, %1, %1;" : "=r"(v) : "r"(sum + i));',
}
SPECIAL = {
    "S2R SR_LANEID": 0x00, "S2R SR_TID.X": 0x21, "S2R SR_CTAID.X": 0x25, "S2R SR_CgaCtaId": 0x88,
}  # fmt: skip
"""Special registers by their numbers in machine code."""
_S2R, _VIRTID = 0x919, 0x03
_SHARED = 100_000
"""Bytes of a block: two blocks fit an SM."""


def behind_source(name: str, beside: str) -> str:
    """Return CUDA source of a timed instruction beside what keeps the data pipe busy."""
    text = _TEXTS["S2R" if name in SPECIAL else name].format()
    return _SOURCE.format(times=_TIMES, text=text, beside=BESIDE[beside])


def kernel_reading(name: str, source: str, function: str, path: Path) -> Any:
    """Compile a kernel to a file; if `name` is in SPECIAL it reads that register."""
    import cupy

    def reading(word: int) -> int:
        if name in SPECIAL and word & 0xFFF == _S2R and word >> 72 & 0xFF == _VIRTID:
            return word ^ (_VIRTID ^ SPECIAL[name]) << 72
        return word

    path.write_bytes(rewritten(compiled(source, path.parent), reading))
    return cupy.RawModule(path=str(path)).get_function(function)


def rewritten(cubin: bytes, change: Callable[[int], int]) -> bytes:
    """Return machine code each of whose instructions, as a number of 128 bits, is changed.

    >>> rewritten(bytes(15) + bytes([1]) + bytes(3), lambda word: word >> 120).hex()
    '01000000000000000000000000000000000000'
    """
    code = bytearray(cubin)
    for at in range(0, len(code) - 15, 16):
        word = int.from_bytes(code[at : at + 16], "little")
        code[at : at + 16] = change(word).to_bytes(16, "little")
    return bytes(code)


def measure_behind(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per instruction, what is beside it, and the place of its block."""
    import cupy

    sms = open_gpu(device).multiprocessors
    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data = cupy.zeros(1 << 20, dtype=np.int32)
        for number, (name, beside) in enumerate(product((*_TEXTS, *SPECIAL), BESIDE)):
            source, path = behind_source(name, beside), Path(folder, f"{number}.cubin")
            kernel = kernel_reading(name, source, "behind", path)
            kernel.max_dynamic_shared_size_bytes = _SHARED
            for (place, timed), warps in product((("lower", 0), ("higher", 1)), (0, 4, 8)):
                for _ in range(2):
                    when = cupy.zeros(sms * 4 * _TIMES, dtype=np.int32)
                    count = cupy.zeros(sms, dtype=np.int32)
                    given = (when, data, count, np.int32(timed), np.int32(warps))
                    kernel((2 * sms,), (256,), given, shared_mem=_SHARED)
                found = when.get().reshape(sms * 4, _TIMES)[:, _SKIPPED:]
                low, cycles, high = (int(np.percentile(found, each)) for each in (10, 50, 90))
                rows.append(
                    {"op": name, "beside": beside, "warps": warps, "place": place,
                     "cycles": cycles, "low": low, "high": high}
                )  # fmt: skip
    return rows
