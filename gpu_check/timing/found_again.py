"""What a second launch finds in the L2, by who reads what: bytes from DRAM and across the L2.

Blocks of 256 threads read pieces of 4096 bytes, 1 or 4 of a block, and may copy them. `resident`
blocks of an SM, so that small footprints take several waves, too. `times`: so many neighbours
among the blocks read the same. `shift`: block b of the second launch does what block b + shift did
in the first. `row`: bytes from where a block begins to read to where the next one does.

`cycles` is the median of three processes. In bytes: what DRAM moves, and `crossed`, what goes from
one of the L2's two parts to the other; half of what is stored does, and 676,480 bytes of a
launch that moves nothing else. `python -m gpu_check.timing.found_again` is the process that ncu
watches; no launch is repeated.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpu_check.timing.watching import cycles_of, second_launches

__all__ = ["found_again_source", "measure_found_again"]

_SOURCE = """
template <int PIECES, int COPY>
__device__ __forceinline__ void run(const char* in, char* out, unsigned times, unsigned shift,
                                    unsigned row) {
    const size_t block = (blockIdx.x + shift) % gridDim.x;
    const size_t at = block / times * row + threadIdx.x * 16;
    float4 v[PIECES];
    #pragma unroll
    for (int k = 0; k < PIECES; ++k) v[k] = *(const float4*)(in + at + 4096 * k);
    #pragma unroll
    for (int k = 1; k < PIECES && !COPY; ++k) v[0].x += v[k].x + v[k].y + v[k].z + v[k].w;
    #pragma unroll
    for (int k = 0; k < PIECES && COPY; ++k) *(float4*)(out + at + 4096 * k) = v[k];
    if (!COPY && v[0].x == 12345) *(float4*)out = v[0];
}
#define KERNEL(P, C) extern "C" __global__ void __launch_bounds__(256, 8) found_##P##_##C \\
    (const char* in, char* out, unsigned times, unsigned shift, unsigned row) \\
    { run<P, C>(in, out, times, shift, row); }
KERNEL(1, 0)
KERNEL(1, 1)
KERNEL(4, 0)
KERNEL(4, 1)
"""
_SHARED = {1: 140_000, 2: 90_000, 8: 0}
"""Bytes of dynamic shared memory with which so many blocks are resident."""
_PIECE = 4096
_NONE = 16384
"""Bytes of a row where rows lie side by side."""
_CASES = [
    *(
        (kind, 1, size, resident, 1, 0, 0)
        for kind in ("reads", "copies")
        for resident in (1, 2, 8)
        for size in (1, 2, 4, 8, 12, 16, 20, 24, 28, 32)
    ),
    *(
        ("reads", 4, size, 8, times, shift, 0)
        for times, shift in ((1, 0), (1, 1), (1, 66), (1, 132), (2, 0), (8, 0), (64, 0))
        for size in (8, 12, 16, 20, 24, 28, 32, 36, 40, 44)
    ),
    *(("reads", 4, size, 8, 1, 0, row) for row in (16304, 16320, 16400) for size in (16, 24, 28)),
]
"""Kind, pieces of a block, MiB, resident, times, shift, row (0: side by side)."""
_MOST = 48 << 20
_TIMES = ["sm__cycles_elapsed.max"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_ltcfabric.sum"]
_SECTOR = 32


def found_again_source() -> str:
    """Return CUDA source of all kernels."""
    return _SOURCE


def measure_found_again(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of _CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with second_launches(
        "gpu_check.timing.found_again", found_again_source(), "regex:^found_", device
    ) as launches:
        timed, moved = launches.timed(_TIMES), launches.counted(_BYTES)
    names = ("kind", "pieces", "mebibytes", "resident", "times", "shift", "row")
    rows = []
    for place, case in enumerate(_CASES):
        read, written, crossed = moved[place]
        rows.append(
            dict(zip(names, case, strict=True))
            | {"blocks": _blocks(*case), **cycles_of(timed, place),
               "dram_read": read, "dram_write": written,
               "crossed": _SECTOR * crossed}
        )  # fmt: skip
    return rows


def _blocks(
    kind: str, pieces: int, size: int, _resident: int, times: int, _shift: int, row: int
) -> int:
    """Return how many blocks touch so many MiB."""
    each = (row or pieces * _PIECE) * (2 if kind == "copies" else 1)
    return (size << 20) // each * times


def _launch(path: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        host = np.random.default_rng(0).random(_MOST // 4, dtype=np.float32)
        for case in _CASES:
            kind, pieces, size, resident, times, shift, row = case
            kernel = module.get_function(f"found_{pieces}_{int(kind == 'copies')}")
            kernel.max_dynamic_shared_size_bytes = _SHARED[resident]
            data = [cupy.asarray(host[: (size << 18) + _NONE]) for _ in range(2)]
            for now in (0, shift):
                given = (*data, np.uint32(times), np.uint32(now), np.uint32(row or pieces * _PIECE))
                kernel((_blocks(*case),), (256,), given, shared_mem=_SHARED[resident])
            cupy.cuda.Device(device).synchronize()
            del data
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
