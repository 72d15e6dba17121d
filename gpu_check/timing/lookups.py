"""How what goes to global memory shares an SM with conflicts, and how much is on its way.

`measure_lookups`: each warp begins `conflicts` loads of 32 wavefronts from shared memory, and
`count` accesses of global memory. The compiler puts loads of global memory before the conflicts,
whatever the source says. How long it takes until all are issued says what an SM takes at a time;
how long until all results are there, what shares the data pipe.
`measure_backlog`: stores and additions alone, of one SM and of all: where the L2 is what they wait
for, how many are on their way to it before the SM takes no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["ACCESSES", "lookups_source", "measure_backlog", "measure_lookups"]

_KERNEL = """
extern "C" __global__ void lookups(int* data, int* when, int* sink) {{
    extern __shared__ int s[];
    const unsigned conflicting = (unsigned)__cvta_generic_to_shared(s) + 128 * (threadIdx.x & 31);
    const int lane = threadIdx.x % 32, side = {side};
    int* own = data + lane / side * 32 + (lane % side + lane / side * {turn}) * {words} % 32
        + threadIdx.x / 32 * 65536 + (blockIdx.x << 20);
    int sum = 0;
    #pragma unroll 1
    for (int turn = 0; turn < 3; ++turn) {{  // the first brings what caches hold
        __syncthreads();
        __nanosleep(20000);  // nothing is on its way any more
        __syncthreads();
        int begun, issued, ended;
        asm volatile("mov.u32 %0, %%clock;" : "=r"(begun) :: "memory");
        {body}
        asm volatile("mov.u32 %0, %%clock;" : "=r"(issued) :: "memory");
        {use}
        __syncthreads();
        asm volatile("mov.u32 %0, %%clock;" : "=r"(ended) :: "memory");
        if (lane == 0) {{
            int* row = when + (blockIdx.x * blockDim.x + threadIdx.x) / 16;
            row[0] = issued - begun;
            row[1] = ended - begun;
        }}
    }}
    // No register of an access may be written while its operands are still to be read.
    if (sum == 12345) *sink = sum + lane + conflicting + (int)(size_t)own;
}}
"""
_CONFLICT = (
    'int v{at}; asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v{at}) : "r"(conflicting));'
)
_USE = 'asm volatile("xor.b32 %0, %0, %1;" : "+r"(sum) : "r"({name}{at}));'
_FOUR = ', "=r"(w{at}), "=r"(x{at}), "=r"(y{at})'
_LOAD = {
    1: 'int v{at}; asm volatile("ld.global.{how}.b32 %0, [%1];" : "=r"(v{at}) : "l"(own + {to}));',
    4: (
        "int v{at}, w{at}, x{at}, y{at};"
        ' asm volatile("ld.global.{how}.v4.b32 {{%0, %1, %2, %3}}, [%4];"'
        ' : "=r"(v{at})' + _FOUR + ' : "l"(own + {to}));'
    ),
}
_STORE = {
    1: 'asm volatile("st.global.b32 [%0], %1;" :: "l"(own + {to}), "r"(lane));',
    4: 'asm volatile("st.global.v4.b32 [%0], {{%1, %1, %1, %1}};" :: "l"(own + {to}), "r"(lane));',
}
_ADD = 'asm volatile("red.global.add.u32 [%0], %1;" :: "l"(own + {to}), "r"(lane));'
ACCESSES = ("load in L1", "load of the L2", "store", "addition", "two stores and loads in L1")


def _one(access: str, words: int, at: int) -> tuple[str, str]:
    """Return an access of global memory, and what waits for its result."""
    to = at * 1024
    if access.startswith("load"):
        how = "ca" if access == "load in L1" else "cg"
        text = _LOAD[words].format(at=at, to=to, how=how)
        use = "".join(_USE.format(name=name, at=at) for name in "vwxy"[:words])
        return text, use
    return (_ADD if access == "addition" else _STORE[words]).format(at=at, to=to), ""


def lookups_source(
    access: str, words: int, lines: int, own_banks: bool, conflicts: int, count: int
) -> str:
    """Return the kernel in CUDA C.

    Parameters
    ----------
    access
        One of `ACCESSES`.
    words
        Words that a lane accesses: 1 or 4.
    lines
        Lines of 128 bytes that a warp's lanes lie in.
    own_banks
        Whether each line's lanes lie in banks of their own; otherwise all begin at bank 0.
    conflicts
        Loads of 32 wavefronts from shared memory: before, in the source.
    count
        Accesses of global memory.
    """
    pairs = [
        (_CONFLICT.format(at=at), _USE.format(name="v", at=at)) for at in range(conflicts)
    ]  # fmt: skip
    several = access.startswith("two")
    pairs += [_one("store", words, at) for at in range(conflicts, conflicts + 2 * several)]
    first, each = len(pairs), "load in L1" if several else access
    pairs += [_one(each, words, at) for at in range(first, first + count)]
    return _KERNEL.format(
        side=32 // lines, words=words, turn=32 // lines if own_banks else 0,
        body="\n        ".join(text for text, _ in pairs),
        use="\n        ".join(use for _, use in pairs),
    )  # fmt: skip


def _cases() -> Iterator[tuple[str, int, int, bool]]:
    """Yield access, words of a lane, lines, and whether each has banks of its own."""
    for access in ACCESSES:
        yield from ((access, 1, 1, False), (access, 1, 4, False))
        if access.startswith("load"):
            yield from ((access, 1, 4, True), (access, 1, 32, False), (access, 4, 4, False))


def measure_lookups(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, pattern, conflicts, warps and count.

    Its cycles, of the third turn, are those until the last warp has issued all, and until it has
    all results.
    """
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        data, sink = cupy.zeros(1 << 22, dtype=np.int32), cupy.zeros(1, dtype=np.int32)
        for (access, words, lines, own_banks), conflicts in product(_cases(), (0, 8)):
            for count, warps in product((4, 8, 12, 16, 20, 24, 28), (1, 4, 8)):
                when = cupy.zeros(2 * warps, dtype=np.int32)
                source = lookups_source(access, words, lines, own_banks, conflicts, count)
                kernel = cupy.RawModule(code=source).get_function("lookups")
                kernel((1,), (32 * warps,), (data, when, sink), shared_mem=8192)
                issued, done = when.get().reshape(-1, 2).max(axis=0)
                rows.append(
                    {"access": access, "words": words, "lines": lines,
                     "own_banks": int(own_banks), "conflicts": conflicts, "warps": warps,
                     "count": count, "issued": int(issued), "done": int(done)}
                )  # fmt: skip
    return rows


def measure_backlog(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per access, lines, SMs, warps and count: cycles until the last warp has issued.

    They are those of the third turn, the median over the SMs.
    """
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        sink = cupy.zeros(1, dtype=np.int32)
        data = cupy.zeros(chip.multiprocessors << 20, dtype=np.int32)
        for access, lines, sms in product(
            ("store", "addition"), (1, 4), (1, chip.multiprocessors)
        ):  # fmt: skip
            for count, warps in product((8, 16, 24, 40, 56), (1, 4, 8)):
                when = cupy.zeros((sms, warps, 2), dtype=np.int32)
                source = lookups_source(access, 1, lines, False, 0, count)
                kernel = cupy.RawModule(code=source).get_function("lookups")
                kernel((sms,), (32 * warps,), (data, when, sink), shared_mem=8192)
                issued = np.median(when.get()[:, :, 0].max(axis=1))
                rows.append(
                    {"access": access, "lines": lines, "sms": sms, "warps": warps,
                     "count": count, "issued": int(issued)}
                )  # fmt: skip
    return rows
