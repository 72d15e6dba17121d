"""What cp.async takes whose rows in shared memory begin at multiples of other sizes than a row.

A warp copies rows; sources are rows 1 KiB apart that the L2 holds. In shared memory rows lie
`pitch` bytes apart, and a row's pieces, one per lane, `apart` bytes. Under the profiler, per copy
of a warp: elapsed cycles, what L1 was asked for, what the L2 looked up, and the sectors that came
to the SM (`filled`). Those of few turns are taken off.

`python -m gpu_check.timing.scattered_copies CUBIN` is the process that ncu watches.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["CASES", "SOURCE", "measure_scattered_copies"]

_METRICS = [
    "sm__cycles_elapsed.max",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
]
_TURNS, _EACH = 16, 4
SOURCE = """
template <int BYTES> __device__ void run(const char* data, int pitch, int lanes, int apart,
                                         int span, int shift, int from, int turns,
                                         unsigned* sink) {
    extern __shared__ __align__(1024) char s[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = lane / lanes, place = lane % lanes;
    const unsigned to = (unsigned)__cvta_generic_to_shared(s) + 4 * warp * span + row * pitch
                        + place * apart + shift;
    const char* source = data + ((blockIdx.x * blockDim.x / 32 + warp) * 61 % 512) * 8192
                         + row * 1024 + place * BYTES + from;
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        #pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const unsigned here = to + k * span;
            if (BYTES == 16)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(here),
                             "l"(source + k * 128));
            else
                asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(here),
                             "l"(source + k * 128), "n"(BYTES));
        }
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
        source += 8192 * 37;
        if (source >= data + (8 << 20)) source -= 8 << 20;
    }
    if (s[threadIdx.x] == 123) *sink = 1;
}
#define KERNEL(B) extern "C" __global__ void copies##B(const char* data, int pitch, int lanes, \\
    int apart, int span, int shift, int from, int turns, unsigned* sink) \\
    { run<B>(data, pitch, lanes, apart, span, shift, from, turns, sink); }
KERNEL(4) KERNEL(8) KERNEL(16)
"""
_ROWS = [
    (16, 4, pitch, shift, 0) for pitch in (64, 80, 96, 112, 128, 144) for shift in (0, 16)
] + [
    (16, 8, pitch, shift, 0) for pitch in (128, 144, 160, 192, 272) for shift in (0, 16, 64)
] + [
    (16, 2, pitch, 0, 0) for pitch in (32, 48, 64, 80)
] + [
    (16, 4, 64, 0, 16), (16, 4, 80, 0, 16), (16, 8, 128, 0, 16), (16, 8, 144, 0, 32),
    (16, 32, 512, 0, 0), (16, 32, 512, 16, 0), (16, 1, 16, 0, 0), (16, 1, 80, 0, 0),
    (8, 8, 64, 0, 0), (8, 8, 72, 0, 0), (8, 8, 80, 0, 0), (8, 32, 256, 8, 0),
    (4, 32, 128, 0, 0), (4, 32, 132, 4, 0), (4, 16, 64, 0, 0), (4, 16, 68, 0, 0),
    (4, 32, 128, 0, 4),
]  # fmt: skip
CASES = [(size, lanes, pitch, size, *begins) for size, lanes, pitch, *begins in _ROWS] + [
    (16, lanes, 16, apart, 0, 0)
    for lanes, apart in [
        (2, 528),
        *((lanes, apart) for lanes in (4, 8) for apart in (128, 144, 528)),
    ]
]
"""Bytes of a lane, lanes of a row, pitch, how far its pieces are apart, begin in shared memory,
begin of the sources."""
_WARPS = 8


def measure_scattered_copies(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case and number of SMs.

    Raises CountersError as `count_on_gpu` does.
    """
    chip = open_gpu(device)
    with TemporaryDirectory() as folder:
        path = Path(folder, "copies.cubin")
        path.write_bytes(compiled(SOURCE.replace("EACH", str(_EACH)), Path(folder)))
        command = [
            sys.executable,
            "-m",
            "gpu_check.timing.scattered_copies",
            str(path),
            str(device),
        ]
        rows = iter(run_ncu(command, _METRICS, "regex:^copies"))
        found = []
        for case in CASES:
            for sms in (1, chip.multiprocessors):
                few, many = (metrics_of(next(rows), _METRICS) for _ in range(2))
                copies = _TURNS * _EACH * _WARPS * 2
                cycles, *counts = (b - a for a, b in zip(few, many, strict=True))
                names = ("bytes", "lanes", "pitch", "apart", "shift", "source")
                given = dict(zip(names, case, strict=True))
                each = [round(count / sms / copies, 3) for count in counts]
                found.append(
                    {**given, "sms": sms, "cycles": round(cycles / copies, 3),
                     **dict(zip(("l1_sectors", "l2_sectors", "wavefronts", "filled"), each,
                                strict=True))}
                )  # fmt: skip
    return found


def _launch_all(path: str, device: int) -> None:
    import cupy

    sms = open_gpu(device).multiprocessors
    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=path)
        data, sink = cupy.zeros(1 << 24, dtype=np.uint8), cupy.zeros(1, dtype=np.uint32)
        for bytes_, *given in CASES:
            kernel = module.get_function(f"copies{bytes_}")
            lanes, pitch, apart, *begins = given
            span = max(32 // lanes * pitch, lanes * apart)
            shared = _WARPS * 4 * span + 1024
            kernel.max_dynamic_shared_size_bytes = shared
            for blocks in (1, sms):
                for turns in (_TURNS, 3 * _TURNS):
                    kernel(
                        (blocks,), (32 * _WARPS,),
                        (data, *map(np.int32, (pitch, lanes, apart, span, *begins, turns)), sink),
                        shared_mem=shared,
                    )  # fmt: skip
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch_all(sys.argv[1], int(sys.argv[2]))
