"""Who holds the data pipe of an SM beside loads of shared memory: lines that arrive, and stores.

Each of 32 warps does some LDS of one wavefront, and one access of global memory or another
instruction, again and again. What a turn takes more than its LDS is what that takes of the pipe.
The data of an access is in L1 (near) or in the L2 (far).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.behind import SPECIAL, kernel_reading, rewritten

__all__ = ["BARE", "KINDS", "SHARED", "fills_source", "measure_fills"]

_WARPS, _TURNS, _EACH = 32, 32, 4
SHARED = 68_000
"""Bytes of the block."""

_SOURCE = """
__constant__ int table[64];
extern "C" __global__ void fills(char* data, long long* when, unsigned* sink, unsigned mask) {{
    extern __shared__ __align__(128) unsigned s[];
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * lane;
    const unsigned to = (unsigned)__cvta_generic_to_shared(s) + 1024 + 16 * threadIdx.x;
    unsigned w[4] = {{}}, x[4] = {{}}, y[4] = {{}}, z[4] = {{}}, v[8] = {{}}, sum = 0,
         place = {bytes} * 32 * {apart} * warp * {each};
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < {turns}; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
        for (int k = 0; k < {each}; ++k) sum ^= w[k] ^ x[k] ^ y[k] ^ z[k];
        for (int k = 0; k < 8; ++k) sum ^= v[k];
        place += {bytes} * 32 * {apart} * {each} * 32;
    }}
    asm volatile("cp.async.wait_all;");
    const long long end = clock64();
    if (sum == 12345) *sink = sum;
    if (lane == 0) {{ when[2 * warp] = start; when[2 * warp + 1] = end; }}
}}
"""
_LDS_CODE, _NOP_CODE = 0x984, 0x7918
_NEVER, _CONTROL = 15, 105
"""The predicate !PT, and the lowest bit of what the scheduler reads."""
_LDS = 'asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v[{k}]) : "r"(at));'
_ADDRESS = "data + ((place + {step} * {i} + {lane} * lane) & mask)"
_S2R = 'asm volatile("mov.u32 %0, %%warpid;" : "=r"(w[{i}]));'
BARE = "copy of 16 bytes, no LDS before it"
"""The compiler puts three LDS of no lane before a copy: these are taken out."""
KINDS: dict[str, tuple[str, int, int]] = {
    "no access": ("", 4, 1),
    "S2R": (_S2R, 4, 1),
    **dict.fromkeys(SPECIAL, (_S2R, 4, 1)),
    "LDS of no lane": (
        (
            'asm volatile("{{{{ .reg .pred p; setp.eq.u32 p, %1, 12345;'
            ' @p ld.volatile.shared.b32 %0, [%2]; }}}}" : "+r"(w[{i}]) : "r"(mask), "r"(at));'
        ), 4, 1,
    ),
    "STS": ('asm volatile("st.volatile.shared.b32 [%0], %1;" :: "r"(at + 4096), "r"(sum));', 4, 1),
    "SHFL": (
        'asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(w[{i}]) : "r"(sum));', 4, 1,
    ),
    "ATOMS": (
        (
            'asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(w[{i}])'
            ' : "r"(at + 4096) : "memory");'
        ), 4, 1,
    ),
    "LDC": (
        (
            'asm volatile("ld.const.b32 %0, [%1];" : "=r"(w[{i}])'
            ' : "l"(__cvta_generic_to_constant(table) + (mask & 4)));'
        ), 4, 1,
    ),
    "POPC": ('asm volatile("popc.b32 %0, %1;" : "=r"(w[{i}]) : "r"(sum));', 4, 1),
    "REDUX": ('asm volatile("redux.sync.add.s32 %0, %1, -1;" : "=r"(w[{i}]) : "r"(sum));', 4, 1),
    "MATCH": ('asm volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(w[{i}]) : "r"(sum));', 4, 1),
    "VOTE": ("w[{i}] = __ballot_sync(-1, sum & 1);", 4, 1),
    "load of 4 bytes": (
        'asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(w[{i}]) : "l"({address}));', 4, 1,
    ),
    "load of 16 bytes": (
        (
            'asm volatile("ld.global.ca.v4.b32 {{%0, %1, %2, %3}}, [%4];" : "=r"(w[{i}]),'
            ' "=r"(x[{i}]), "=r"(y[{i}]), "=r"(z[{i}]) : "l"({address}));'
        ), 16, 1,
    ),
    "load of 4 bytes, 32 sectors of 8 lines": (
        'asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(w[{i}]) : "l"({address}));', 4, 8,
    ),
    "copy of 16 bytes": (
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"({address}));',
        16, 1,
    ),
    BARE: (
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"({address}));',
        16, 1,
    ),
    "copy of 16 bytes to a place of its own": (
        (
            'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"'
            ' :: "r"(to + {i} * 16384), "l"({address}));'
        ), 16, 1,
    ),
    "copy of 4 bytes": (
        'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"({address}));',
        4, 1,
    ),
    "store of 4 bytes": (
        'asm volatile("st.global.b32 [%0], %1;" :: "l"({address}), "r"(sum));', 4, 1,
    ),
    "store of 16 bytes": (
        'asm volatile("st.global.v4.b32 [%0], {{%1, %1, %1, %1}};" :: "l"({address}), "r"(sum));',
        16, 1,
    ),
}  # fmt: skip
"""The access: PTX, bytes per lane, lanes' distance over the bytes."""


def fills_source(kind: str, lds: int) -> str:
    """Return CUDA source of turns of four accesses, each behind `lds` loads of shared memory."""
    text, width, apart = KINDS[kind]
    step = width * 32 * apart
    body = []
    for i in range(_EACH):
        body += [_LDS.format(k=k % 8) for k in range(lds)]
        address = _ADDRESS.format(step=step, i=i, lane=width * apart)
        body.append(text.format(i=i, address=address))
    return _SOURCE.format(
        bytes=width, apart=apart, each=_EACH, turns=_TURNS, body="\n        ".join(body)
    )


def _bare(word: int) -> int:
    """Return an instruction that does nothing for an LDS that is predicated off."""
    if word & 0xFFF == _LDS_CODE and word >> 12 & 15 == _NEVER:
        return word >> _CONTROL << _CONTROL | _NOP_CODE
    return word


def measure_fills(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, LDS beside it and place of the data: cycles of an SM per access."""
    open_gpu(device)
    import cupy

    rows: list[dict[str, Any]] = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        data = cupy.zeros(1 << 20, dtype=np.uint8)
        sink, when = cupy.zeros(4, dtype=np.uint32), cupy.zeros(2 * _WARPS, dtype=np.int64)
        for kind in KINDS:
            for lds in (4, 16, 32):
                source, path = fills_source(kind, lds), Path(folder, f"{len(rows)}.cubin")
                kernel = kernel_reading(kind, source, "fills", path)
                if kind == BARE:
                    bare = Path(folder, f"bare{lds}.cubin")
                    bare.write_bytes(rewritten(path.read_bytes(), _bare))
                    kernel = cupy.RawModule(path=str(bare)).get_function("fills")
                kernel.max_dynamic_shared_size_bytes = SHARED
                row: dict[str, Any] = {"access": kind, "lds": lds}
                for name, mask in (("near", (1 << 14) - 1), ("far", (1 << 20) - 1)):
                    least = float("inf")
                    for _ in range(4):
                        kernel(
                            (1,), (32 * _WARPS,), (data, when, sink, np.uint32(mask)),
                            shared_mem=SHARED,
                        )  # fmt: skip
                        times = when.get()
                        elapsed = int(times[1::2].max() - times[0::2].min())
                        least = min(least, elapsed / (_TURNS * _EACH * _WARPS))
                    row[name] = round(least, 3)
                rows.append(row)
    return rows
