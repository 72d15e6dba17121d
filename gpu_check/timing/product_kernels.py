"""Text of kernels with products of warpgroups (wgmma), what is beside them, and their launch.

Products are of a form, as "f16 f32 SS": the type, the accumulator's type, and whether A is in
shared memory (SS) or in registers (RS).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.hopper.wgmma import WgmmaForm, instruction

__all__ = ["HALVES", "HEAD", "ROOM", "STREAMS", "filled", "instructions", "name_of", "ran"]

ROOM = 65536
"""Bytes of shared memory that each kernel here needs."""
HALVES = "f16 f32 SS"
_ADDED = (
    "{ .reg .u32 l, h; mov.b64 {l, h}, %0; mad.lo.cc.u32 l, %1, %2, l;"
    " madc.hi.u32 h, %1, %2, h; mov.b64 %0, {l, h}; }"
)
STREAMS = {
    "sums": ("fma.rn.f32 %0, %0, %0, %0;", "z", "+f"),
    "sums of three": ("fma.rn.f32 %0, %1, %2, %0;", "z", "+f"),
    "additions": ("add.f32 %0, %0, %0;", "z", "+f"),
    "maxima": ("max.f32 %0, %0, %1;", "z", "+f"),
    "halves": ("fma.rn.f16x2 %0, %0, %0, %0;", "w", "+r"),
    "roots": ("ex2.approx.f32 %0, %0;", "z", "+f"),
    "loads": ("ld.volatile.shared.u32 %0, [%3];", "w", "+r"),
    "stores": ("st.volatile.shared.u32 [%3], %0;", "w", "+r"),
    "products of integers": ("mad.lo.u32 %0, %1, %2, %0;", "w", "+r"),
    "products of 64 bits": (_ADDED, "v", "+l"),
    "products of 64 bits in parts": ("mad.wide.u32 %0, %1, %2, %0;", "v", "+l"),
    "products of 64 bits alone": ("mul.wide.u32 %0, %1, %2;", "v", "+l"),
    "sums of integers": ("add.u32 %0, %0, %1;", "w", "+r"),
    "shifts": ("shf.l.wrap.b32 %0, %0, %1, %2;", "w", "+r"),
    "selections": ("lop3.b32 %0, %0, %1, %2, 0x6a;", "w", "+r"),
}
"""Instructions of a kind, one after the other: the text, its registers, and how they are used.

A product of 64 bits that adds is one instruction (IMAD.WIDE) only where it is written as two. Else
the compiler makes three of it: a product that adds nothing, and a sum for each word. Its factors
are a low word and a high one: high words that nothing reads would not be computed.
"""
HEAD = """
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
#define FIELDS float z[8]; unsigned w[8]; unsigned long long v[8]; \\
    for (int i = 0; i < 8; ++i) z[i] = v[i] = w[i] = t + i;
#define KEEP(count) { float sum = 0; for (int i = 0; i < 8; ++i) sum += z[i] + w[i] + v[i]; \\
    for (int i = 0; i < count; ++i) sum += d[i]; if (sum == 12345.f) when[0] = 1; }
"""


def instructions(of: str, count: int) -> list[str]:
    """Return statements of so many instructions of a kind, whose registers take turns."""
    text, name, how = STREAMS[of]
    wide = name == "v"
    kind = "r" if wide else how[1]
    made = []
    for k in range(count):
        first, second = f"{name}[{(k + 3) % 8}]", f"{name}[{(k + 6) % 8}]"
        if wide:
            first, second = f"(unsigned){first}", f"(unsigned)({second} >> 32)"
        made.append(
            f'asm volatile("{text}" : "{how}"({name}[{k % 8}])'
            f' : "{kind}"({first}), "{kind}"({second}), "r"(own));'
        )
    return made


def filled(text: str, name: str, n: int, count: int, form: str = HALVES, **more: object) -> str:
    """Return text of a kernel with its words replaced.

    Parameters
    ----------
    text
        What has the words.
    name
        The kernel's.
    n, form
        Columns of a product, and its form.
    count
        Products of a group.
    **more
        Other words, and what they become.
    """
    kind, accumulator, a = form.split()
    made = WgmmaForm(kind, accumulator, n, a)
    given = {
        "NAME": name, "COUNT": made.registers, "PRODUCTS": "\n".join([instruction(made)] * count),
        "KIND": made.word, **more,
    }  # fmt: skip
    for word, value in given.items():
        text = text.replace(word, str(value))
    return text


def name_of(*of: object) -> str:
    """Return the name of a case's kernel."""
    return "_".join(["case", *map(str, of)]).replace(" ", "_")


def ran(
    kernel: Any, grid: tuple[int, ...], threads: int, data: Any, when: Any, *given: Any, size: int,
    room: int = ROOM,
) -> Any:  # fmt: skip
    """Launch a kernel, and return what it leaves in `when`.

    Parameters
    ----------
    kernel, grid, threads
        What is launched, and its sizes.
    data, when, *given
        Its arguments: memory to read, memory for times, numbers.
    size
        How many times it leaves.
    room
        Bytes of shared memory.
    """
    kernel.max_dynamic_shared_size_bytes = room
    kernel(grid, (threads,), (data, when, *given), shared_mem=room)
    return when.get()[:size].astype(np.float64)
