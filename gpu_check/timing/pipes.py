"""How long an instruction takes, and how often one can be issued: a loop per instruction.

Each instruction of `OPS` runs in two loops of 64 copies: `chain`, where each reads what the one
before it wrote, in one warp; and `apart`, eight independent chains, in 1 to 32 warps of a block.
The first gives its latency, the second, with more and more warps, the cycles that one SM spends per
warp instruction. The loop itself adds about one instruction to 64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_check.device import open_gpu

__all__ = ["MIXES", "OPS", "WARPS", "Op", "measure_mixes", "measure_pipes", "source"]

WARPS = (1, 2, 4, 8, 16, 32)
_COPIES, _CHAINS, _TURNS = 64, 8, 16


@dataclass(frozen=True)
class Op:
    """One PTX instruction, or a few that belong together; the chain goes through `{d}`."""

    ptx: str
    kind: str = "r"
    """The register's constraint: r (32 bits), l (64), f (float), d (double), h (16 bits)."""
    expected: str = ""
    """The SASS opcode that it must become."""
    apart: int = 4
    """Bytes between the addresses of neighbouring lanes in shared memory."""
    capability: int = 70
    is_mbarrier: bool = False
    """Whether all lanes use one mbarrier, at the address of lane 0 (`apart` is 0)."""


OPS: dict[str, Op] = {
    "IMAD.IADD+LOP3": Op("add.s32 {d}, {d}, {b}; xor.b32 {d}, {d}, {c};", expected="IMAD.IADD"),
    "IMAD": Op("mad.lo.s32 {d}, {d}, {b}, {d};", expected="IMAD"),
    "IMAD.WIDE": Op(
        "{{ .reg .b32 t, u; mov.b64 {{t, u}}, {d}; mad.wide.s32 {d}, t, %2, {d}; }}",
        "l", "IMAD.WIDE",
    ),
    "LOP3": Op("lop3.b32 {d}, {d}, {b}, {c}, 0x96;", expected="LOP3"),
    "SHF": Op("shf.l.wrap.b32 {d}, {d}, {b}, {c};", expected="SHF"),
    "PRMT": Op("prmt.b32 {d}, {d}, {b}, {c};", expected="PRMT"),
    "IMNMX+LOP3": Op("max.s32 {d}, {d}, {b}; xor.b32 {d}, {d}, {c};", expected="VIMNMX"),
    "POPC": Op("popc.b32 {d}, {d};", expected="POPC"),
    "FLO": Op("bfind.u32 {d}, {d};", expected="FLO"),
    "BREV": Op("brev.b32 {d}, {d};", expected="BREV"),
    "IDP": Op("dp4a.s32.s32 {d}, {d}, {b}, {c};", expected="IDP"),
    "FADD": Op("add.rn.f32 {d}, {d}, {b};", "f", "FADD"),
    "FMUL": Op("mul.rn.f32 {d}, {d}, {b};", "f", "FMUL"),
    "FFMA": Op("fma.rn.f32 {d}, {d}, {b}, {c};", "f", "FFMA"),
    "FMNMX+FMNMX": Op("max.f32 {d}, {d}, {b}; min.f32 {d}, {d}, {c};", "f", "FMNMX"),
    "DFMA": Op("fma.rn.f64 {d}, {d}, {b}, {c};", "d", "DFMA"),
    "DADD": Op("add.rn.f64 {d}, {d}, {b};", "d", "DADD"),
    "HFMA2": Op("fma.rn.f16x2 {d}, {d}, {b}, {c};", expected="HFMA2"),
    "HADD2": Op("add.rn.f16x2 {d}, {d}, {b};", expected="HADD2"),
    "MUFU.LG2": Op("lg2.approx.ftz.f32 {d}, {d};", "f", "MUFU.LG2"),
    "MUFU.RSQ": Op("rsqrt.approx.ftz.f32 {d}, {d};", "f", "MUFU.RSQ"),
    "MUFU.EX2": Op("ex2.approx.ftz.f32 {d}, {d};", "f", "MUFU.EX2"),
    "MUFU.SQRT": Op("sqrt.approx.ftz.f32 {d}, {d};", "f", "MUFU.SQRT"),
    "MUFU.SIN+FMUL": Op("sin.approx.ftz.f32 {d}, {d};", "f", "MUFU.SIN"),
    "F2I": Op("{{ .reg .s32 t; cvt.rni.s32.f32 t, {d}; mov.b32 {d}, t; }}", "f", "F2I"),
    "I2F": Op("{{ .reg .f32 t; cvt.rn.f32.s32 t, {d}; mov.b32 {d}, t; }}", "r", "I2FP"),
    "F2F.32.64+F2F.64.32": Op(
        "{{ .reg .f32 t; cvt.rn.f32.f64 t, {d}; cvt.f64.f32 {d}, t; }}", "d", "F2F"
    ),
    "SHFL": Op("shfl.sync.bfly.b32 {d}, {d}, 1, 31, -1;", expected="SHFL"),
    "VOTE+ISETP": Op(
        "{{ .reg .pred p; setp.ne.s32 p, {d}, {b}; vote.sync.ballot.b32 {d}, p, -1; }}",
        expected="VOTE",
    ),
    "MATCH": Op("match.any.sync.b32 {d}, {d}, -1;", expected="MATCH"),
    "REDUX": Op("redux.sync.add.s32 {d}, {d}, -1;", expected="REDUX", capability=80),
    "LDS": Op("ld.shared.b32 {d}, [{d}];", expected="LDS"),
    "LDS.64": Op(
        "{{ .reg .b32 t; ld.volatile.shared.v2.b32 {{{d}, t}}, [{d}]; }}",
        expected="LDS.64", apart=8,
    ),
    "LDS.128": Op(
        "{{ .reg .b32 t, u, v; ld.volatile.shared.v4.b32 {{{d}, t, u, v}}, [{d}]; }}",
        expected="LDS.128",
        apart=16,
    ),
    "STS": Op("st.volatile.shared.b32 [%1], {d};", expected="STS"),
    "STS.128": Op(
        "st.volatile.shared.v4.b32 [%1], {{{d}, {d}, {d}, {d}}};", expected="STS.128", apart=16
    ),
    "LDSM.1": Op(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{{d}}}, [{d}];", expected="LDSM", apart=16
    ),
    "LDSM.4": Op(
        "{{ .reg .b32 t, u, v;"
        " ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{d}, t, u, v}}, [{d}]; }}",
        expected="LDSM", apart=16,
    ),
    "ATOMS.ADD": Op("atom.shared.add.u32 {d}, [%1], {d};", expected="ATOMS"),
    "BAR": Op("bar.sync 0;", expected="BAR"),
    "MEMBAR.CTA": Op("membar.cta;", expected="MEMBAR"),
}  # fmt: skip
"""Instructions by the name that their rows have."""

_LOAD = "cvt.u64.u32 a, {d}; add.s64 a, a, %3; ld.global.ca"
MIXES: dict[str, Op] = {
    "FFMA+LOP3": Op(
        "{{ .reg .b32 t; fma.rn.f32 {d}, {d}, {b}, {c}; mov.b32 t, {d}; xor.b32 t, t, %1;"
        " mov.b32 {d}, t; }}",
        "f", "LOP3",
    ),
    "FFMA+FFMA+LOP3": Op(
        "{{ .reg .b32 t; fma.rn.f32 {d}, {d}, {b}, {c}; fma.rn.f32 {d}, {d}, {c}, {b};"
        " mov.b32 t, {d}; xor.b32 t, t, %1; mov.b32 {d}, t; }}",
        "f", "LOP3",
    ),
    "FFMA+IMAD": Op(
        "{{ .reg .b32 t; fma.rn.f32 {d}, {d}, {b}, {c}; mov.b32 t, {d}; mad.lo.s32 t, t, %1, t;"
        " mov.b32 {d}, t; }}",
        "f", "IMAD",
    ),
    "FFMA+FFMA+IMAD": Op(
        "{{ .reg .b32 t; fma.rn.f32 {d}, {d}, {b}, {c}; fma.rn.f32 {d}, {d}, {c}, {b};"
        " mov.b32 t, {d}; mad.lo.s32 t, t, %1, t; mov.b32 {d}, t; }}",
        "f", "IMAD",
    ),
    "LDS+SHFL": Op(
        "ld.shared.b32 {d}, [{d}]; shfl.sync.bfly.b32 {d}, {d}, 1, 31, -1;", expected="SHFL"
    ),
    "STS+SHFL": Op(
        "st.volatile.shared.b32 [%1], {d}; shfl.sync.bfly.b32 {d}, {d}, 1, 31, -1;",
        expected="SHFL",
    ),
    "LDS+BAR": Op("ld.shared.b32 {d}, [{d}]; bar.sync 0;", expected="BAR"),
    "LDS+STS": Op("ld.shared.b32 {d}, [{d}]; st.volatile.shared.b32 [%1], {d};", expected="STS"),
    "LDS+LDG": Op(
        "{{ .reg .b32 t, u; .reg .b64 a; and.b32 u, {d}, 127; cvt.u64.u32 a, u; add.s64 a, a, %3;"
        " ld.global.ca.b32 t, [a]; ld.shared.b32 {d}, [{d}]; xor.b32 {d}, {d}, t; }}",
        expected="LDG",
    ),
    "LDG": Op("{{ .reg .b64 a; " + _LOAD + ".b32 {d}, [a]; }}", expected="LDG"),
    "LDG.64": Op(
        "{{ .reg .b64 a; .reg .b32 t; " + _LOAD + ".v2.b32 {{{d}, t}}, [a]; or.b32 {d}, {d}, t; }}",
        expected="LDG.E.64",
    ),
    "LDG.128": Op(
        "{{ .reg .b64 a; .reg .b32 t, u, v; " + _LOAD + ".v4.b32 {{{d}, t, u, v}}, [a];"
        " lop3.b32 {d}, {d}, t, u, 0xfe; or.b32 {d}, {d}, v; }}",
        expected="LDG.E.128",
    ),
    "SYNCS.ARRIVE": Op(
        "{{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%1]; }}", expected="SYNCS", apart=0,
        capability=90, is_mbarrier=True,
    ),
    "SYNCS.TRYWAIT": Op(
        "{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 1;"
        " selp.b32 {d}, {d}, {b}, p; }}",
        expected="SYNCS", apart=0, capability=90, is_mbarrier=True,
    ),
    **{
        f"LDS+{count}FFMA": Op(
            "{{ .reg .f32 t; ld.volatile.shared.f32 t, [%1];"
            + " fma.rn.f32 {d}, t, {b}, {d};" * count + " }}", "f", "LDS",
        )
        for count in (1, 2, 4)
    },
}  # fmt: skip
"""Pairs that may share a pipe; loads through L1, with arithmetic for their addresses; mbarriers;
loads beside additions."""

_MMA = {
    "HMMA.16816.F32": ("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, "HMMA.16816.F32"),
    "HMMA.16816.F16": ("m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, "HMMA.16816.F16"),
    "HMMA.16816.F32.BF16": ("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, "HMMA.16816.F32.BF16"),
    "HMMA.1688.F32": ("m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, "HMMA.1688.F32"),
    "HMMA.1688.F32.TF32": ("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, "HMMA.1688.F32.TF32"),
    "HMMA.1684.F32.TF32": ("m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1, 4, "HMMA.1684.F32.TF32"),
    "IMMA.16832.S8.S8": ("m16n8k32.row.col.s32.s8.s8.s32", 4, 2, 4, "IMMA.16832.S8.S8"),
}
"""mma shapes: PTX, registers of A, B and C, SASS."""

_MATRICES = {
    "HMMA.1688.F16": ("m16n8k8.row.col.f16.f16.f16.f16", 2, 1, 2, "HMMA.1688.F16"),
    "IMMA.16816.S8.S8": ("m16n8k16.row.col.s32.s8.s8.s32", 2, 1, 4, "IMMA.16816.S8.S8"),
    "IMMA.8816.S8.S8": ("m8n8k16.row.col.s32.s8.s8.s32", 1, 1, 2, "IMMA.8816.S8.S8"),
    "DMMA.8x8x4": ("m8n8k4.row.col.f64.f64.f64.f64", 1, 1, 2, "DMMA.8x8x4"),
    "DMMA.16x8x4": ("m16n8k4.row.col.f64.f64.f64.f64", 2, 1, 4, "DMMA.16x8x4"),
    "DMMA.16x8x8": ("m16n8k8.row.col.f64.f64.f64.f64", 4, 2, 4, "DMMA.16x8x8"),
    "DMMA.16x8x16": ("m16n8k16.row.col.f64.f64.f64.f64", 8, 4, 4, "DMMA.16x8x16"),
}
"""Others, recorded by themselves."""


def _mma(shape: str, a: int, b: int, c: int) -> str:
    """Write an mma whose accumulator is its chain."""
    doubles = ".f64" in shape
    floats = ".f32.f" in shape or ".f32.b" in shape or ".f32.t" in shape
    kind, given = ("d", "d") if doubles else ("f" if floats else "r", "r")
    accumulator = ", ".join(f'"+{kind}"(C[k][{i}])' for i in range(c))
    cs = ", ".join(f"%{i}" for i in range(c))
    registers_a = ", ".join(f"%{c + i}" for i in range(a))
    registers_b = ", ".join(f"%{c + a + i}" for i in range(b))
    inputs = ", ".join(f'"{given}"(A[{i}])' for i in range(a + b))
    return (
        f'asm volatile("mma.sync.aligned.{shape} {{{cs}}}, {{{registers_a}}}, {{{registers_b}}},'
        f' {{{cs}}};" : {accumulator} : {inputs});'
    )


_HEAD = """
extern "C" __global__ void {name}(long long* when, int* sink, const int* zeros, int turns) {{
    extern __shared__ __align__(128) int s[];
    unsigned base = (unsigned)__cvta_generic_to_shared(s), at = base + {apart} * (threadIdx.x & 31);
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) s[i] = base + 4 * (i & ~{mask});
    __syncthreads();  // each word that a chain reads holds its own address
    {begin}
    int seed = zeros[threadIdx.x & 31];
    {declare}
    long long start = 0, end = 0;
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
    }}
    end = clock64();
    {use}
    if ((threadIdx.x & 31) == 0) {{
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }}
}}
"""
_MBARRIER = """if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 524288;" :: "r"(base));
    __syncthreads();"""
_TYPES = {"r": "int", "l": "long long", "f": "float", "d": "double"}


def source(name: str, *, apart: bool) -> tuple[str, str]:
    """Return the kernel's function name and CUDA source; `apart`: eight chains, else one."""
    chains = _CHAINS if apart else 1
    function = "".join(c if c.isalnum() else "_" for c in name) + ("_apart" if apart else "_chain")
    if name in _MMA or name in _MATRICES:
        shape, a, b, c, _ = (_MMA | _MATRICES)[name]
        text = _mma(shape, a, b, c)
        kind = "float" if '"+f"' in text else "double" if '"+d"' in text else "int"
        given = "double" if kind == "double" else "int"
        declare = (
            f"{given} A[{a + b}]; {kind} C[{chains}][{c}];"
            f" for (int i = 0; i < {a + b}; ++i) A[i] = zeros[(threadIdx.x + i) & 31];"
            f" for (int k = 0; k < {chains}; ++k) for (int i = 0; i < {c}; ++i) C[k][i] = seed;"
        )
        use = f"{kind} sum = 0; for (int k = 0; k < {chains}; ++k) sum += C[k][0];"
        copies = _COPIES // chains
        body = "\n".join(
            text.replace("[k]", f"[{k}]") for _ in range(copies) for k in range(chains)
        )
        use += " if (sum == 12345) *sink = 1;"
        return function, _HEAD.format(
            name=function, declare=declare, body=body, use=use, apart=4, mask=0, begin=""
        )
    op = {**OPS, **MIXES}[name]
    kind = _TYPES[op.kind]
    start = "at" if "[{d}]" in op.ptx else "seed"
    text = op.ptx.format(d="%0", b="%4", c="%5")
    declare = f"{kind} v[{chains}], b = ({kind})zeros[1], c = ({kind})zeros[2];"
    declare += f" for (int k = 0; k < {chains}; ++k) v[k] = ({kind}){start};"
    each = (
        f'asm volatile("{text}" : "+{op.kind}"(v[K]) : "r"(at), "r"(seed), "l"(zeros),'
        f' "{op.kind}"(b), "{op.kind}"(c) : "memory");'
    )
    body = "\n".join(
        each.replace("v[K]", f"v[{k}]") for _ in range(_COPIES // chains) for k in range(chains)
    )
    use = f"{kind} sum = 0; for (int k = 0; k < {chains}; ++k) sum += v[k];"
    use += " if (sum == 12345) *sink = 1;"
    return function, _HEAD.format(
        name=function, declare=declare, body=body, use=use, apart=op.apart, mask=op.apart // 4 - 1,
        begin=_MBARRIER if op.is_mbarrier else "",
    )  # fmt: skip


def measure_pipes(device: int = 0) -> list[dict[str, Any]]:
    """Time every instruction: a row each, in cycles per warp instruction.

    `latency` is that of the chain; `warps_N` what one SM spends per instruction when N warps of
    one block issue eight independent chains each.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does.
    """
    return _measured([*OPS, *_MMA], device)


def measure_matrices(device: int = 0) -> list[dict[str, Any]]:
    """Time further matrix products, as `measure_pipes` does, of up to 8 warps."""
    return _measured([*_MATRICES], device, WARPS[:-2])


def measure_mixes(device: int = 0) -> list[dict[str, Any]]:
    """Time what MIXES holds, as `measure_pipes` does."""
    return _measured([*MIXES], device)


def _measured(names: list[str], device: int, counts: Sequence[int] = WARPS) -> list[dict[str, Any]]:
    chip = open_gpu(device)
    import cupy

    every, rows = {**OPS, **MIXES}, []
    with cupy.cuda.Device(device):
        zeros = cupy.zeros(32, dtype=np.int32)
        for name in names:
            if name in every and every[name].capability > chip.capability:
                continue
            row: dict[str, Any] = {"op": name}
            row["latency"] = _timed(cupy, name, False, 1, zeros)
            for warps in counts:
                row[f"warps_{warps}"] = _timed(cupy, name, True, warps, zeros)
            rows.append(row)
    return rows


def _timed(cupy: Any, name: str, apart: bool, warps: int, zeros: Any) -> float:
    """Cycles per instruction of an SM; a chain's of its warp. The least of five runs."""
    function, text = source(name, apart=apart)
    kernel = cupy.RawModule(code=text, options=("-std=c++17",)).get_function(function)
    when, sink = cupy.zeros(64, dtype=np.int64), cupy.zeros(1, dtype=np.int32)
    least = float("inf")
    for _ in range(5):
        kernel((1,), (32 * warps,), (when, sink, zeros, np.int32(_TURNS)), shared_mem=32768)
        times = when.get()[: 2 * warps]
        elapsed = int(times[1::2].max() - times[0::2].min())
        least = min(least, elapsed / (_TURNS * _COPIES * warps))
    return round(least, 4)
