"""wgmma: cycles and operand reads of each type, over N, with A in shared memory or in registers.

A warpgroup executes groups of 4 and of 12 products, each group with a fence before and a wait
behind it: the difference of the two is 8 products without a wait. Operands are ones, so that the
results tell whether all products were made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.hopper.cases import HEAD, Trial
from gpu_check.hopper.runner import compile_all, count_cases, time_cases

__all__ = [
    "COUNTERS", "FORMS", "LONG", "SHORT", "WgmmaForm", "counted", "instruction", "measure",
    "sources", "timed", "trial",
]  # fmt: skip

COUNTERS = {
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "sass_wavefronts": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "requests": "l1tex__lsuin_requests_op_gmma.sum",
    "bank_reads": "l1tex__data_bank_reads.sum",
}
"""Columns of counters, per product of a warpgroup."""

SHORT, LONG = 4, 12
"""Products of a group."""
_TURNS = (1, 65)
_A_BYTES = 64 * 32  # of every type: rows of 32 bytes
_SHARED = 64 << 10

# The accumulator's and the operands' types in PTX, and a word of ones.
_ONES = {
    "f16": 0x3C003C00, "bf16": 0x3F803F80, "tf32": 0x3F800000, "e4m3": 0x38383838,
    "e5m2": 0x3C3C3C3C, "s8": 0x01010101, "u8": 0x01010101, "b1": 0xFFFFFFFF,
}  # fmt: skip
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "b1": 1}


@dataclass(frozen=True)
class WgmmaForm:
    """One form of wgmma, m64nNkK with 32 bytes of K."""

    kind: str
    """Type of A and B."""
    accumulator: str
    """f32, f16 or s32."""
    n: int
    a: str
    """Where A lies: SS, shared memory; RS, registers."""
    transposed: str = ""
    """A, B or AB: which operands are MN-major."""

    @property
    def k(self) -> int:
        """Elements along K."""
        return 256 // _BITS.get(self.kind, 8)

    @property
    def registers(self) -> int:
        """Registers of a lane for the accumulators."""
        return self.n // (4 if self.accumulator == "f16" else 2)

    @property
    def word(self) -> str:
        """The type of such a register in CUDA."""
        return "float" if self.accumulator == "f32" else "unsigned"

    @property
    def names(self) -> dict[str, Any]:
        """The columns that tell it."""
        return {
            "type": self.kind, "accumulator": self.accumulator, "n": self.n, "k": self.k,
            "a": self.a, "transposed": self.transposed,
        }  # fmt: skip

    @property
    def name(self) -> str:
        """The name of its kernel, less `case_`."""
        return f"{self.kind}_{self.accumulator}_{self.n}_{self.a}{self.transposed}"


def _all_n(kind: str) -> list[int]:
    if kind in ("s8", "u8", "b1"):
        return [8, 16, 24, *range(32, 257, 16)]
    return list(range(8, 257, 8))


_FEW_N = (8, 16, 32, 64, 96, 128, 192, 256)


def _forms() -> list[WgmmaForm]:
    """List all forms, those of most worth first."""
    found = []
    for kind, accumulator in (("f16", "f32"), ("tf32", "f32"), ("e4m3", "f32"), ("s8", "s32")):
        found += [WgmmaForm(kind, accumulator, n, a) for n in _all_n(kind) for a in ("SS", "RS")]
    for kind in ("f16", "bf16"):
        found += [
            WgmmaForm(kind, "f32", n, a, transposed)
            for n in _FEW_N
            for a, transposed in (("SS", "A"), ("SS", "B"), ("SS", "AB"), ("RS", "B"))
        ]
    for kind, accumulator in (
        ("bf16", "f32"), ("f16", "f16"), ("e4m3", "f16"), ("e5m2", "f32"), ("u8", "s32"),
        ("b1", "s32"),
    ):  # fmt: skip
        found += [WgmmaForm(kind, accumulator, n, a) for n in _FEW_N for a in ("SS", "RS")]
    return found


FORMS: list[WgmmaForm] = _forms()
"""What is measured, in order of worth."""


def instruction(form: WgmmaForm) -> str:
    """Write one wgmma whose accumulators are d, A's descriptor or registers a, B's descriptor b."""
    count = form.registers
    constraint = "f" if form.accumulator == "f32" else "r"
    ds = ", ".join(f"%{i}" for i in range(count))
    if form.a == "SS":
        a, inputs = f"%{count}", '"l"(a), "l"(b)'
        b = f"%{count + 1}"
    else:
        a = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        inputs = '"r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w), "l"(b)'
        b = f"%{count + 4}"
    immediate = "p"
    if form.kind == "b1":
        shape, tail = f"m64n{form.n}k256.s32.b1.b1.and.popc", ""
    else:
        shape = f"m64n{form.n}k{form.k}.{form.accumulator}.{form.kind}.{form.kind}"
        tail = "" if form.accumulator == "s32" else ", 1, 1"
        if _BITS.get(form.kind) == 16:
            major_a = f", {int('A' in form.transposed)}" if form.a == "SS" else ""
            tail += f"{major_a}, {int('B' in form.transposed)}"
    outputs = ", ".join(f'"+{constraint}"(d[{i}])' for i in range(count))
    return (
        'asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;'
        f' wgmma.mma_async.sync.aligned.{shape} {{{ds}}}, {a}, {b}, {immediate}{tail}; }}"'
        f" : {outputs} : {inputs});"
    )


def _source(forms: list[WgmmaForm]) -> str:
    return HEAD + _GROUP + "".join(map(_kernel, forms))


_GROUP = """
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#define WAIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); \\
             asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
"""


def _kernel(form: WgmmaForm) -> str:
    """Write a kernel: `a` groups of 12 products a turn, or of 4, in each warpgroup."""
    count, kind = form.registers, form.word
    value = {"f32": "(unsigned)d[0]", "f16": "d[0]", "s32": "d[0]"}[form.accumulator]
    one = instruction(form)
    return f"""
extern "C" __global__ void __launch_bounds__(256) case_{form.name}(long long* when, unsigned* out,
        const u8* given, u8* data, int turns, int is_long, int, int) {{
    extern __shared__ __align__(1024) unsigned s[];
    for (int i = threadIdx.x; i < {_SHARED // 4}; i += blockDim.x) s[i] = 0x{_ONES[form.kind]:x}u;
    fence();
    __syncthreads();
    const uint4 q = *(const uint4*)(s + 4 * threadIdx.x);
    // 128-byte swizzle: 1024 bytes between groups of eight rows, or of columns of 128 bytes.
    const u64 rest = 1ull << 62 | 64ull << 32 | 64ull << 16;
    u64 a = rest | (at(s) & 0x3FFFF) >> 4, b = rest | (at(s) + 16384 & 0x3FFFF) >> 4;
    {kind} d[{count}];
    for (int i = 0; i < {count}; ++i) d[i] = 0;
    __syncthreads();
    const long long start = clock64();
    if (is_long) {{
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {{
            FENCE
            {chr(10).join([one] * LONG)}
            WAIT
        }}
    }} else {{
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {{
            FENCE
            {chr(10).join([one] * SHORT)}
            WAIT
        }}
    }}
    __syncthreads();
    const long long took = clock64() - start;
    if (threadIdx.x == 0) {{ when[0] = took; out[0] = {value}; }}
    unsigned same = 1;
    for (int i = 1; i < {count}; ++i) same &= d[i] == d[0];
    same = __syncthreads_and(same);
    if (threadIdx.x == 0) out[1] = same;
}}
"""


def _is_right(form: WgmmaForm, products: int) -> Callable[..., bool]:
    """Make the check of a launch: every element is the sum of so many ones."""

    def check(out: NDArray[np.uint32], data: NDArray[np.uint32], turns: int) -> bool:
        total = turns * products * form.k
        word = total
        if form.accumulator == "f16":
            half = int(np.float16(total).view(np.uint16))
            word = half << 16 | half
        return int(out[0]) == word and bool(out[1])

    return check


_SOURCES: dict[tuple[str, str, str, str, int], str] = {}


def _key(form: WgmmaForm) -> tuple[str, str, str, str, int]:
    # Four kernels to a source: sources are compiled side by side.
    return (form.kind, form.accumulator, form.a, form.transposed, form.n // 33)


def _source_of(form: WgmmaForm) -> str:
    """Return the source that holds this form's kernel, beside a few others."""
    key = _key(form)
    if key not in _SOURCES:
        _SOURCES[key] = _source([each for each in FORMS if _key(each) == key])
    return _SOURCES[key]


def sources() -> list[str]:
    """Return every source that is compiled."""
    return list(dict.fromkeys(map(_source_of, FORMS)))


def trial(form: WgmmaForm, products: int, warpgroups: int, *, alone: bool = False) -> Trial:
    """Return the trial of groups of so many products; `alone`: in a source of its own."""
    return Trial(
        names={**form.names, "products": products, "warpgroups": warpgroups},
        source=_source([form]) if alone else _source_of(form), function=f"case_{form.name}",
        each=products * warpgroups,
        turns=_TURNS, threads=128 * warpgroups, shared=_SHARED,
        numbers=(int(products == LONG), 0, 0), is_right=_is_right(form, products),
    )  # fmt: skip


def timed(few: int = 0) -> list[Trial]:
    """Return what is timed: groups of 4 and of 12, by one warpgroup and by two."""
    return [
        trial(form, products, warpgroups)
        for form in FORMS[: few or None]
        for products, warpgroups in ((SHORT, 1), (LONG, 1), (LONG, 2))
    ]


def counted(few: int = 0) -> list[Trial]:
    """Return what is counted: groups of 12."""
    return [trial(form, LONG, 1) for form in FORMS[: few or None]]


def measure(folder: Path, few: int = 0, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per form: `cycles` per product, what a `wait` adds, and the counters.

    `cycles` are those between groups of 12 and of 4 of one warpgroup; `wait` is what a group takes
    beside its products; `cycles_two` are those of two warpgroups, groups of 12, wait included.
    """
    compile_all(counted(few), folder)
    times = [row["cycles"] for row in time_cases(timed(few), folder, device)]
    counts = count_cases("wgmma", counted(few), COUNTERS, folder, few, device)
    rows = []
    for form, short, long, two, counters in zip(
        FORMS, times[::3], times[1::3], times[2::3], counts, strict=False
    ):
        each = (LONG * long - SHORT * short) / (LONG - SHORT)
        wait = SHORT * (short - each)
        rows.append(
            {**form.names, "cycles": round(each, 2), "wait": round(wait, 1), "cycles_two": two,
             **counters}
        )  # fmt: skip
    return rows
