"""When products of warpgroups are issued, and what single instructions take beside them.

`measure_products_issued`: one warpgroup, or two at the same time, issue a group of `count` products
and wait for it. `issued`: cycles from the barrier before until the last product is issued, of the
later warpgroup. `done`: cycles until its wait ends.

`measure_products_traced`: a warpgroup reads the clock between instructions of a kind of `work`, one
at a step; products of 64 bits in parts are three. `who` it is: "other", beside the products of
another; "own", behind its own products; "first of both" and "last of both", where two have products
and both go on so. The first is the one that has issued its products sooner. `at`: cycles from the
barrier before the products until the step begins. `cycles`: of the step.

All of it is of one SM, whose code is in its caches: a launch repeats it, and the last turn counts.
A clock behind a barrier may be read before the barrier ends. So there are two barriers, one behind
the other, and the last warp's clock is the one from which others are told.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.timing.bulk import loaded
from gpu_check.timing.product_kernels import HALVES, HEAD, filled, instructions, name_of, ran

__all__ = [
    "ISSUED", "STEPS", "TRACED", "WHO", "issued_source", "measure_products_issued",
    "measure_products_traced", "traced_source",
]  # fmt: skip

STEPS = 32
_COUNTS = (1, 2, 4, 6, 8, 10, 12, 16)
_HALVES_ADDED = "f16 f16 SS"
ISSUED = [
    *product((64, 128, 256), (HALVES,), _COUNTS),
    *product((128,), ("f16 f32 RS", _HALVES_ADDED), _COUNTS),
]
"""Columns of products, their form, and how many a group has."""
_WORK = ("products of 64 bits", "products of integers", "maxima", "none")
TRACED = [
    *product((64, 128), (HALVES,), (8,), _WORK),
    *product((256,), (HALVES,), (4,), _WORK),
    *product((128,), (_HALVES_ADDED,), (8,), _WORK),
    (128, HALVES, 8, "products of 64 bits alone"),
    (128, HALVES, 8, "products of 64 bits in parts"),
]
"""Columns of products, their form, how many a group has, and what is traced."""
WHO = {"other": (1, 2), "own": (1, 1), "both": (3, 3)}
"""Which warpgroups have products and which are traced: a bit for each."""

_RUNS = 9
_TURNS = 4
_TOLD = 3 + STEPS + 1
"""Clocks of a warp: at the barrier, behind the products, behind the wait, and of the steps."""
_CLOCK = """
#define CLOCK(x) asm volatile("mov.u32 %0, %%clock;" : "=r"(x) :: "memory");
"""
_ISSUED = """
extern "C" __global__ void __launch_bounds__(256) NAME(const uint4* data, unsigned* when,
                                                       int turns) {
    SETUP(KIND, COUNT)
    unsigned begin, issued, done;
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        __syncthreads();
        __syncthreads();
        CLOCK(begin)
        FENCE
        PRODUCTS
        COMMIT
        CLOCK(issued)
        WAIT
        CLOCK(done)
    }
    if (t % 32 == 0) {
        unsigned* told = when + t / 32 * 3;
        told[0] = begin; told[1] = issued; told[2] = done;
    }
    float sum = 0;
    for (int i = 0; i < COUNT; ++i) sum += d[i];
    if (sum == 12345.f) when[0] = 1;
}
"""
_TRACED = """
extern "C" __global__ void __launch_bounds__(256) NAME(const uint4* data, unsigned* when,
                                                       int turns, int multiply, int trace) {
    SETUP(KIND, COUNT) FIELDS
    unsigned begin, issued, done, clocks[CLOCKS];
    const int group = __shfl_sync(~0u, t / 128, 0);
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        __syncthreads();
        __syncthreads();
        CLOCK(begin)
        if (multiply >> group & 1) {
            FENCE
            PRODUCTS
            COMMIT
        }
        CLOCK(issued)
        if (trace >> group & 1) {
            WORK
        }
        WAIT
        CLOCK(done)
    }
    if (t % 32 == 0) {
        unsigned* told = when + t / 32 * TOLD;
        told[0] = begin; told[1] = issued; told[2] = done;
        if (trace >> group & 1) {
            #pragma unroll
            for (int k = 0; k < CLOCKS; ++k) told[3 + k] = clocks[k];
        }
    }
    KEEP(COUNT)
}
"""


def issued_source(n: int, form: str, count: int) -> str:
    """Return CUDA source of `issued`: a group of so many products a turn."""
    return HEAD + _CLOCK + _issued(n, form, count, "issued")


def _issued(n: int, form: str, count: int, name: str) -> str:
    return filled(_ISSUED, name, n, count, form)


def traced_source(n: int, form: str, count: int, work: str) -> str:
    """Return CUDA source of `traced`: a group of products a turn, and clocks between work."""
    return HEAD + _CLOCK + _traced(n, form, count, work, "traced")


def _traced(n: int, form: str, count: int, work: str, name: str) -> str:
    each = [""] * STEPS if work == "none" else instructions(work, STEPS)
    steps = [f"{one}\nCLOCK(clocks[{k}])" for k, one in enumerate(["", *each])]
    return filled(
        _TRACED, name, n, count, form, WORK="\n".join(steps), CLOCKS=STEPS + 1, TOLD=_TOLD
    )


def measure_products_issued(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of ISSUED, for one warpgroup and for two.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    source = HEAD + _CLOCK + "".join(_issued(*case, name_of(*case)) for case in ISSUED)
    rows = []
    with loaded(source, device) as (module, _, data, _):
        import cupy

        when = cupy.zeros(8 * 3, dtype=np.uint32)
        for (n, form, count), groups in product(ISSUED, (1, 2)):
            kernel = module.get_function(name_of(n, form, count))
            all_ = []
            for _ in range(_RUNS):
                told = ran(
                    kernel, (1,), 128 * groups, data, when, np.int32(_TURNS), size=12 * groups
                )
                all_.append(_since(told.reshape(-1, 3)).max(axis=0))
            _, issued, done = np.median(all_, axis=0)
            rows.append(
                {"n": n, "form": form, "count": count, "groups": groups, "issued": int(issued),
                 "done": int(done)}
            )  # fmt: skip
    return rows


def measure_products_traced(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of TRACED, warpgroup that is traced, and step.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    source = HEAD + _CLOCK + "".join(_traced(*case, name_of(*case)) for case in TRACED)
    rows: list[dict[str, Any]] = []
    with loaded(source, device) as (module, _, data, _):
        import cupy

        when = cupy.zeros(8 * _TOLD, dtype=np.uint32)
        for (n, form, count, work), who in product(TRACED, WHO):
            kernel = module.get_function(name_of(n, form, count, work))
            numbers = [np.int32(each) for each in (_TURNS, *WHO[who])]
            runs = [
                ran(kernel, (1,), 256, data, when, *numbers, size=8 * _TOLD).reshape(8, _TOLD)
                for _ in range(_RUNS)
            ]
            for name, at in _steps(who, runs).items():
                middle = np.median(at, axis=0)
                took = np.median(np.diff(at), axis=0)
                rows += [
                    {"n": n, "form": form, "count": count, "work": work, "who": name, "step": k,
                     "at": int(middle[k]), "cycles": int(took[k])}
                    for k in range(STEPS)
                ]  # fmt: skip
    return rows


def _since(told: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return clocks of warps less the last one's at the barrier, though they begin anew at 2^32."""
    near = _signed(told[:, 0] - told[0, 0])
    return _signed(told - told[0, 0] - near.max())


def _signed(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    return (apart + 2.0**31) % 2.0**32 - 2.0**31


def _steps(who: str, runs: list[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return the clocks of the first warp of each warpgroup that is traced, a row per run."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    for told in map(_since, runs):
        warps = {"other": [4], "own": [0], "both": sorted((0, 4), key=lambda warp: told[warp, 1])}
        names = ("first of both", "last of both") if who == "both" else (who,)
        for name, warp in zip(names, warps[who], strict=True):
            found.setdefault(name, []).append(told[warp, 3:])
    return {name: np.array(each) for name, each in found.items()}
