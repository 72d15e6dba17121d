"""What is beside the products of a warpgroup, and loops of such products.

`measure_products_beside`: one warpgroup has groups of four products made all the time, another does
`work` all the time. `alone` and `beside`: cycles of the other each time, without products and with
them; `group` and `group_beside`: cycles of a group, without the other and beside it. Products are
of a `form`: the type, the accumulator's type, and whether A is in shared memory or in registers.

`measure_product_loops`: loops as products of matrices have them, of `blocks` on an SM, each of so
many `groups` of warps. A turn has a barrier, a fence for the tensor cores, `count` products and a
wait for them. Then come another barrier and `copies` of 16 bytes per lane (cp.async), for which the
turn after next waits. `cycles`: of an SM per turn. All SMs do it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.timing.bulk import loaded
from gpu_check.timing.product_kernels import (
    HEAD,
    ROOM,
    STREAMS,
    filled,
    instructions,
    name_of,
    ran,
)

__all__ = [
    "BESIDE", "LOOPS", "beside_source", "loop_source", "measure_product_loops",
    "measure_products_beside",
]  # fmt: skip

_TURNS = (8, 72)
_MOST = 232448 - 1024
BESIDE = [
    *product((64, 128, 256), ("f16 f32 SS",), STREAMS),
    *product((128,), ("f16 f32 RS", "f16 f16 SS", "e4m3 f32 SS", "s8 s32 SS"), STREAMS),
]
"""Columns of products, their form, what is done beside them."""
LOOPS = [*product((1, 2), (1, 2), (64, 128), (2, 4), (0, 4, 8), (0, 1))]
"""Blocks of an SM, warpgroups, columns, products, copies of a lane, whether turns have a fence."""

_BESIDE = """
extern "C" __global__ void __launch_bounds__(256) NAME(const uint4* data, long long* when,
                                                       int turns, int products) {
    SETUP(KIND, COUNT) FIELDS
    const long long begin = clock64();
    if (__shfl_sync(~0u, t / 128, 0) == 0) {
        #pragma unroll 1
        for (int turn = 0; turn < products; ++turn) {
            FENCE
            PRODUCTS
            COMMIT
            WAIT
        }
        if (t == 0) when[0] = clock64() - begin;
    } else {
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {
            WORK
        }
        if (t == 128) when[1] = clock64() - begin;
    }
    KEEP(COUNT)
}
"""
_LOOP = """
extern "C" __global__ void __launch_bounds__(THREADS) NAME(const uint4* data, long long* when,
                                                           int turns) {
    SETUP(KIND, COUNT)
    const long long begin = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        PROXY
        FENCE
        PRODUCTS
        COMMIT
        WAIT
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < COPIES; ++k)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(base + 32768 + (turn % 2 * COPIES + k) * THREADS * 16 + t * 16),
                            "l"(from + (turn % 2 * COPIES + k) * THREADS));
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    const long long took = clock64() - begin;
    float sum = 0;
    for (int i = 0; i < COUNT; ++i) sum += d[i];
    if (sum == 12345.f) when[0] = 1;
    if (t == 0) when[blockIdx.x] = took;
}
"""
_PROXY = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


def beside_source(n: int, form: str, work: str, name: str = "beside") -> str:
    """Return CUDA source of products, and of something else beside them."""
    return HEAD + _beside(n, form, work, name)


def _beside(n: int, form: str, work: str, name: str) -> str:
    return filled(_BESIDE, name, n, 4, form, WORK="\n".join(instructions(work, 32)))


def loop_source(groups: int, n: int, count: int, copies: int, fenced: int) -> str:
    """Return CUDA source of a loop of products, `loop`, as an element of LOOPS has it."""
    return HEAD + _loop(groups, n, count, copies, fenced, "loop")


def _loop(groups: int, n: int, count: int, copies: int, fenced: int, name: str) -> str:
    return filled(
        _LOOP, name, n, count, THREADS=128 * groups, COPIES=copies, PROXY=_PROXY if fenced else ""
    )


def measure_products_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of BESIDE.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    turns, products = 2000, {64: 4000, 128: 2000, 256: 1000}
    source = HEAD + "".join(_beside(*case, name_of(*case)) for case in BESIDE)
    rows = []
    with loaded(source, device) as (module, _, data, when):
        for n, form, work in BESIDE:
            kernel = module.get_function(name_of(n, form, work))

            def took(turns: int, products: int, kernel: Any = kernel) -> Any:
                given = (np.int32(turns), np.int32(products))
                each = [ran(kernel, (1,), 256, data, when, *given, size=2) for _ in range(3)]
                return np.median(each, axis=0)

            alone = took(turns, 0)[1] / turns
            # The products last longer than what is beside them: that counts only so long.
            many = int(products[n] * max(1.0, 3 * alone * turns / (products[n] * 2 * n)))
            both = took(turns, many)
            few = took(0, many)[0] / many
            rows.append(
                {"n": n, "form": form, "work": work, "alone": round(float(alone), 1),
                 "beside": round(float(both[1] / turns), 1), "group": round(float(few), 1),
                 "group_beside": round(float(_slowed(both, few, many)), 1)}
            )  # fmt: skip
    return rows


def _slowed(both: Any, few: float, many: int) -> float:
    """Return the cycles of a group while something is beside it, from what all of them took."""
    all_, beside = both
    more = all_ - few * many  # in those of the other's cycles
    return float(few / (1 - min(more / beside, 0.99)))


def measure_product_loops(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of LOOPS.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    kinds = dict.fromkeys(case[1:] for case in LOOPS)
    source = HEAD + "".join(_loop(*kind, name_of(*kind)) for kind in kinds)
    rows = []
    with loaded(source, device) as (module, sms, _, _):
        import cupy

        data = cupy.zeros(sms * 2 * 131072, dtype=np.uint8)
        when = cupy.zeros(sms * 2, dtype=np.int64)
        for blocks, groups, n, count, copies, fenced in LOOPS:
            kernel = module.get_function(name_of(groups, n, count, copies, fenced))
            room = _MOST // blocks - 1024 if blocks > 1 else ROOM * 2
            few, many = (
                min(
                    float(np.median(
                        ran(kernel, (sms * blocks,), 128 * groups, data, when, np.int32(turns),
                            size=sms * blocks, room=room)))
                    for _ in range(3)
                )
                for turns in _TURNS
            )  # fmt: skip
            cycles = (many - few) / (_TURNS[1] - _TURNS[0])
            rows.append(
                {"blocks": blocks, "groups": groups, "n": n, "count": count, "copies": copies,
                 "fenced": fenced, "cycles": round(cycles, 1)}
            )  # fmt: skip
    return rows
