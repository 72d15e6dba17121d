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

from gpu_check.hopper.wgmma import WgmmaForm, instruction
from gpu_check.timing.bulk import loaded

__all__ = [
    "BESIDE", "LOOPS", "beside_source", "loop_source", "measure_product_loops",
    "measure_products_beside",
]  # fmt: skip

_TURNS = (8, 72)
_SHARED = 65536
_MOST = 232448 - 1024
_STREAMS = {
    "sums": ("fma.rn.f32 %0, %0, %0, %0;", "z", "+f"),
    "sums of three": ("fma.rn.f32 %0, %1, %2, %0;", "z", "+f"),
    "additions": ("add.f32 %0, %0, %0;", "z", "+f"),
    "maxima": ("max.f32 %0, %0, %1;", "z", "+f"),
    "halves": ("fma.rn.f16x2 %0, %0, %0, %0;", "w", "+r"),
    "roots": ("ex2.approx.f32 %0, %0;", "z", "+f"),
    "loads": ("ld.volatile.shared.u32 %0, [%3];", "w", "+r"),
    "stores": ("st.volatile.shared.u32 [%3], %0;", "w", "+r"),
}
"""Instructions of a kind, one after the other: the text, its registers, and how they are used."""


def _stream(of: str) -> str:
    text, name, how = _STREAMS[of]
    kind = how[1]
    return "\n".join(
        f'asm volatile("{text}" : "{how}"({name}[{k % 8}]) : "{kind}"({name}[{(k + 3) % 8}]),'
        f' "{kind}"({name}[{(k + 6) % 8}]), "r"(own));'
        for k in range(32)
    )


BESIDE = [
    *product((64, 128, 256), ("f16 f32 SS",), _STREAMS),
    *product((128,), ("f16 f32 RS", "f16 f16 SS", "e4m3 f32 SS", "s8 s32 SS"), _STREAMS),
]
"""Columns of products, their form, what is done beside them."""
LOOPS = [*product((1, 2), (1, 2), (64, 128), (2, 4), (0, 4, 8), (0, 1))]
"""Blocks of an SM, warpgroups, columns, products, copies of a lane, whether turns have a fence."""

_HEAD = """
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#define SETUP(KIND, count) \\
    extern __shared__ __align__(1024) unsigned s[]; \\
    const int t = threadIdx.x; \\
    for (int i = t; i < 16384; i += blockDim.x) s[i] = 0; \\
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); \\
    const unsigned base = (unsigned)__cvta_generic_to_shared(s); \\
    const unsigned own = base + 49152 + t * 4; \\
    const uint4 *from = data + (size_t)blockIdx.x * 8192 + t; \\
    const unsigned long long rest = 1ull << 62 | 64ull << 32 | 64ull << 16; \\
    unsigned long long a = rest | (base & 0x3FFFF) >> 4; \\
    unsigned long long b = rest | (base + 16384 & 0x3FFFF) >> 4; \\
    KIND d[count]; \\
    const uint4 q = make_uint4(t, t, t, t); \\
    for (int i = 0; i < count; ++i) d[i] = 0; \\
    __syncthreads();
#define FIELDS unsigned w[8] = {1, 2, 3, 4, 5, 6, 7, 8}; float z[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#define KEEP(count) { float sum = 0; for (int i = 0; i < 8; ++i) sum += z[i] + w[i]; \\
    for (int i = 0; i < count; ++i) sum += d[i]; if (sum == 12345.f) when[0] = 1; }
"""
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
_HALVES = "f16 f32 SS"


def _filled(text: str, name: str, n: int, count: int, form: str = _HALVES, **more: object) -> str:
    kind, accumulator, a = form.split()
    made = WgmmaForm(kind, accumulator, n, a)
    given = {
        "NAME": name, "COUNT": made.registers, "PRODUCTS": "\n".join([instruction(made)] * count),
        "KIND": made.word, **more,
    }  # fmt: skip
    for word, value in given.items():
        text = text.replace(word, str(value))
    return text


def beside_source(n: int, form: str, work: str, name: str = "beside") -> str:
    """Return CUDA source of products, and of something else beside them."""
    return _HEAD + _beside(n, form, work, name)


def _beside(n: int, form: str, work: str, name: str) -> str:
    return _filled(_BESIDE, name, n, 4, form, WORK=_stream(work))


def loop_source(groups: int, n: int, count: int, copies: int, fenced: int) -> str:
    """Return CUDA source of a loop of products, `loop`, as an element of LOOPS has it."""
    return _HEAD + _loop(groups, n, count, copies, fenced, "loop")


def _loop(groups: int, n: int, count: int, copies: int, fenced: int, name: str) -> str:
    return _filled(
        _LOOP, name, n, count, THREADS=128 * groups, COPIES=copies, PROXY=_PROXY if fenced else ""
    )


def _name(*of: object) -> str:
    return "_".join(["case", *map(str, of)]).replace(" ", "_")


def measure_products_beside(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of BESIDE.

    Raises NoGpuError, DeviceError, CompileError and ToolError as `loaded` does.
    """
    turns, products = 2000, {64: 4000, 128: 2000, 256: 1000}
    source = _HEAD + "".join(_beside(*case, _name(*case)) for case in BESIDE)
    rows = []
    with loaded(source, device) as (module, _, data, when):
        for n, form, work in BESIDE:
            kernel = module.get_function(_name(n, form, work))

            def took(turns: int, products: int, kernel: Any = kernel) -> Any:
                given = (np.int32(turns), np.int32(products))
                each = [_ran(kernel, (1,), 256, data, when, *given, size=2) for _ in range(3)]
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
    source = _HEAD + "".join(_loop(*kind, _name(*kind)) for kind in kinds)
    rows = []
    with loaded(source, device) as (module, sms, _, _):
        import cupy

        data = cupy.zeros(sms * 2 * 131072, dtype=np.uint8)
        when = cupy.zeros(sms * 2, dtype=np.int64)
        for blocks, groups, n, count, copies, fenced in LOOPS:
            kernel = module.get_function(_name(groups, n, count, copies, fenced))
            room = _MOST // blocks - 1024 if blocks > 1 else _SHARED * 2
            few, many = (
                min(
                    float(np.median(
                        _ran(kernel, (sms * blocks,), 128 * groups, data, when, np.int32(turns),
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


def _ran(
    kernel: Any, grid: tuple[int, ...], threads: int, data: Any, when: Any, *given: Any, size: int,
    room: int = _SHARED,
) -> Any:  # fmt: skip
    """Launch a kernel, and return what it leaves in `when`."""
    kernel.max_dynamic_shared_size_bytes = room
    kernel(grid, (threads,), (data, when, *given), shared_mem=room)
    return when.get()[:size].astype(np.float64)
