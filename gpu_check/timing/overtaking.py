"""Which access to shared memory goes first: how many others one overtakes, what barriers stop.

`measure_overtaking`: a warp begins `count` accesses of 32 wavefronts, a second warp does one thing
beside it. `measure_barrier_loops`: blocks load five words, store one and meet, turn by turn.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["barrier_loop_source", "measure_barrier_loops", "measure_overtaking"]

_LOAD = 'asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(r{at}) : "r"(at{ways} + 4 * {at}));'
_STORE = 'asm volatile("st.volatile.shared.f32 [%0], %1;" :: "r"(at{ways} + 4 * {at}), "f"(sum));'
_GATHER = (
    'asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(r{at}) : "l"(data + lane * {ways} + {at}));'
)
_SUM = 'asm volatile("add.f32 %0, %0, %1;" : "+f"(sum) : "f"(r{at}));'
_CLOCK = 'asm volatile("mov.u32 %0, %%clock;" : "=r"({to}) :: "memory");'
_MEET = 'asm volatile("bar.sync 1, 64;" ::: "memory");'
_ARRIVE = 'asm volatile("bar.arrive 1, 64;" ::: "memory");'
_FENCE = 'asm volatile("membar.cta;" ::: "memory");'
_SHUFFLE = 'asm volatile("shfl.sync.idx.b32 %0, %1, 3, 31, -1;" : "=f"(r0) : "f"(sum));'

_FIRST = {"loads": _LOAD, "stores": _STORE, "gathers": _GATHER}
_LATE, _LATER = 60, 700
_SECOND: dict[str, dict[int, tuple[int, str]]] = {
    # By warp: when it begins, and what it does. The first of `_TIMED` that is there is timed.
    "load": {1: (_LATE, _LOAD)},
    "load of its sub-partition": {4: (_LATE, _LOAD)},
    "store and load": {1: (_LATE, _STORE + _LOAD)},
    "gather": {1: (_LATE, _GATHER)},
    "shuffle": {1: (_LATE, _SHUFFLE)},
    "load behind a barrier": {5: (_LATE, _MEET), 1: (_LATE, _MEET + _LOAD)},
    "gather behind a barrier": {5: (_LATE, _MEET), 1: (_LATE, _MEET + _GATHER)},
    "load behind a fence": {1: (_LATE, _FENCE + _LOAD)},
    "load behind the warp's vote": {1: (_LATE, "__syncwarp();" + _LOAD)},
    "load behind an arrival": {5: (_LATER, _MEET), 1: (_LATE, _ARRIVE + _LOAD)},
    "load beside a barrier that opened": {
        5: (_LATE, _MEET), 1: (_LATE, _MEET), 2: (_LATE + 80, _LOAD),
    },
    "load beside a barrier that is closed": {
        5: (_LATER, _MEET), 1: (_LATE, _MEET), 2: (_LATE + 80, _LOAD),
    },
    "load beside a fence": {1: (_LATE, _FENCE), 2: (_LATE + 80, _LOAD)},
}  # fmt: skip
_TIMED = (2, 1, 4)
_KERNEL = """
extern "C" __global__ void overtakes(unsigned* out, const float* data, float* sink) {{
    extern __shared__ float s[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = threadIdx.x; i < 1100; i += 512) s[i] = i;
    const unsigned at1 = (unsigned)__cvta_generic_to_shared(s) + 4 * lane, at32 = at1 + 124 * lane;
    for (int turn = 0; turn < 3; ++turn) {{
        __syncthreads();
        unsigned now;
        {clock}
        const unsigned zero = (now & ~0xfffu) + 0x2000u;
        {programs}
    }}
    if (sum == 12345) *sink = sum;
}}
"""
_PROGRAM = """
        if (warp == {warp}) {{
            unsigned issued = 0, first = 0, last = 0;
            float {registers};
            do {{ {clock} }} while ((int)(now - (zero + {late})) < 0);
            {body}
            if (lane == 0) {{
                unsigned* own = out + (blockIdx.x * 16 + warp) * 3;
                own[0] = issued - zero, own[1] = first - zero, own[2] = last - zero;
            }}
        }}
"""


def _program(warp: int, late: int, accesses: str, results: int) -> str:
    """Return what one warp does: its accesses, and when the first and the last result is back."""
    body = [accesses, _CLOCK.format(to="issued")]
    for at in range(results):
        body.append(_SUM.format(at=at))
        if at in (0, results - 1):
            body += [_CLOCK.format(to="first")] * (at == 0) + [_CLOCK.format(to="last")]
    registers = ", ".join(f"r{at} = 0" for at in range(max(results, 1)))
    return _PROGRAM.format(
        warp=warp, late=late, registers=registers, clock=_CLOCK.format(to="now"),
        body=" ".join(body),
    )  # fmt: skip


def _overtaking_source(first: str, count: int, second: str) -> str:
    accesses = " ".join(_FIRST[first].format(at=at, ways=32) for at in range(count))
    programs = [_program(0, 0, accesses, 0 if first == "stores" else count)]
    for warp, (late, does) in _SECOND[second].items():
        results = int(any(word in does for word in ("ld.", "shfl")))
        programs.append(_program(warp, late, does.format(at=0, ways=1), results))
    return _KERNEL.format(clock=_CLOCK.format(to="now"), programs="".join(programs))


def measure_overtaking(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, count and second: cycles from the begin of the first warp.

    `first_back` and `last_back` are when the first warp has its first and its last result (0: it
    stores), `issued` is when the second has issued what is timed, `back` when it has the result.
    Each is the median over the SMs.
    """
    chip = open_gpu(device)
    import cupy

    cases = [
        *product(("loads",), (1, 2, 3, 4, 5, 6, 8, 10), ("load", "load of its sub-partition")),
        *product(("stores",), (1, 2, 4, 6, 8), ("load", "store and load")),
        *product(("loads",), (2, 4, 6, 8), ("store and load", "shuffle", "gather")),
        *product(("gathers",), (2, 4, 6), ("load", "gather")),
        *product(("loads", "stores", "gathers"), (6,), tuple(_SECOND)[5:]),
    ]
    rows = []
    with cupy.cuda.Device(device):
        sink, data = cupy.zeros(1, dtype=np.float32), cupy.zeros(4096, dtype=np.float32)
        for first, count, second in dict.fromkeys(cases):
            kernel = cupy.RawModule(code=_overtaking_source(first, count, second)).get_function(
                "overtakes"
            )
            out = cupy.zeros((chip.multiprocessors, 16, 3), dtype=np.int32)
            kernel((chip.multiprocessors,), (512,), (out, data, sink), shared_mem=8192)
            found = np.median(out.get(), axis=0).astype(int)
            timed = found[next(warp for warp in _TIMED if warp in _SECOND[second])]
            is_back = first != "stores"
            rows.append(
                {"first": first, "count": count, "second": second,
                 "first_back": int(found[0, 1]) if is_back else 0,
                 "last_back": int(found[0, 2]) if is_back else 0,
                 "issued": int(timed[0]), "back": int(timed[2])}
            )  # fmt: skip
    return rows


_LOOP = """
extern "C" __global__ void barrier_loop(
    unsigned* out, float* sink, int ways, int others, int turns, float omega
) {
    __shared__ float s[8 * 1100];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < 8 * 1100; i += blockDim.x) s[i] = i;
    const unsigned at = (unsigned)__cvta_generic_to_shared(s) + 4 * (
        1100 * (warp % 8) + lane * (warp ? others : ways) + 40);
    __syncthreads();
    unsigned begun, ended, sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%clock;" : "=r"(begun) :: "memory");
    for (int turn = 0; turn < turns; ++turn) {
        float a, b, c, d, own;
        asm volatile("ld.volatile.shared.f32 %0, [%1 + -4];" : "=f"(a) : "r"(at));
        asm volatile("ld.volatile.shared.f32 %0, [%1 + 4];" : "=f"(b) : "r"(at));
        asm volatile("ld.volatile.shared.f32 %0, [%1 + -128];" : "=f"(c) : "r"(at));
        asm volatile("ld.volatile.shared.f32 %0, [%1 + 128];" : "=f"(d) : "r"(at));
        asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(own) : "r"(at));
        own += omega * (0.25f * (a + b + c + d) - own);
        asm volatile("st.volatile.shared.f32 [%0], %1;" :: "r"(at), "f"(own));
        __syncthreads();
    }
    asm volatile("mov.u32 %0, %%clock;" : "=r"(ended) :: "memory");
    if (threadIdx.x == 0) {
        unsigned* own = out + 3 * blockIdx.x;
        own[0] = sm, own[1] = begun, own[2] = ended;
    }
    if (s[threadIdx.x] == 12345.678f) *sink = 1;
}
"""
_TURNS = 400


def barrier_loop_source() -> str:
    """Return the kernel of the loops, in CUDA C."""
    return _LOOP


def measure_barrier_loops(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per warps and blocks of an SM, and ways: its cycles per turn of all its blocks.

    `ways` are those of a block's first warp, `others` those of its other warps.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=_LOOP).get_function("barrier_loop")
        sink = cupy.zeros(1, dtype=np.float32)
        for warps, blocks, (ways, others) in product(
            (2, 4, 8), (1, 2, 3, 4, 6),
            ((1, 1), (4, 4), (8, 1), (8, 8), (16, 1), (32, 1), (32, 16), (32, 32)),
        ):  # fmt: skip
            grid = chip.multiprocessors * blocks
            out = cupy.zeros((grid, 3), dtype=np.uint32)
            for _ in range(2):
                kernel(
                    (grid,), (32 * warps,),
                    (out, sink, np.int32(ways), np.int32(others), np.int32(_TURNS),
                     np.float32(1.5)),
                )  # fmt: skip
            found = out.get()
            spans = [
                int((own[:, 2] - own[:, 1].min()).max())
                for own in (found[found[:, 0] == sm] for sm in np.unique(found[:, 0]))
            ]
            rows.append(
                {"warps": warps, "blocks": blocks, "ways": ways, "others": others,
                 "cycles": round(float(np.median(spans)) / _TURNS, 1)}
            )  # fmt: skip
    return rows
