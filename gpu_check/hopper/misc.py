"""mbarrier operations, barriers, shuffles and votes: what they take of the shared-memory pipe.

A loop of 16 copies of one instruction, in one warp for the counters, in 1 and in 32 warps for the
time. mbarriers are counted with one lane, with all lanes on one barrier, and with a barrier each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_check.hopper.cases import HEAD, Trial
from gpu_check.hopper.runner import compile_all, count_cases, time_cases

__all__ = ["COUNTERS", "OPS", "counted", "measure", "sources", "timed"]

COUNTERS = {
    "misc": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_misc.sum",
    "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "pipe": "l1tex__data_pipe_lsu_wavefronts.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}
"""Columns of counters, per execution of a warp."""

_COPIES = 16
_TURNS = (2, 66)
_LANES = {"all": (0xFFFFFFFF, 0), "one": (1, 0), "apart": (0xFFFFFFFF, 8)}
"""Mask, and bytes between the lanes' barriers."""


@dataclass(frozen=True)
class PipeUser:
    """One PTX instruction; `%0` is an unsigned, `%1` a shared address, `%2` what was in `v`."""

    ptx: str
    sass: str
    """The SASS opcode that it becomes."""
    lanes: tuple[str, ...] = ("all",)


_BARRIER = ("one", "all", "apart")


def _try(form: str, state: str) -> str:
    return (
        f"{{ .reg .pred p; .reg .b64 s; mov.b64 s, 0; mbarrier.{form}.shared::cta.b64"
        f" p, [%1], {state}; selp.b32 %0, 1, 0, p; }}"
    )


OPS: dict[str, PipeUser] = {
    "shfl.idx": PipeUser("shfl.sync.idx.b32 %0, %2, 3, 31, -1;", "SHFL"),
    "shfl.bfly": PipeUser("shfl.sync.bfly.b32 %0, %2, 1, 31, -1;", "SHFL"),
    "shfl.up": PipeUser("shfl.sync.up.b32 %0, %2, 1, 0, -1;", "SHFL"),
    "shfl.down": PipeUser("shfl.sync.down.b32 %0, %2, 1, 31, -1;", "SHFL"),
    "shfl.idx, a lane each": PipeUser("shfl.sync.idx.b32 %0, %2, %3, 31, -1;", "SHFL"),
    "vote.ballot": PipeUser(
        "{ .reg .pred p; setp.ne.b32 p, %2, 0; vote.sync.ballot.b32 %0, p, -1; }", "VOTE"
    ),
    "match.any": PipeUser("match.any.sync.b32 %0, %2, -1;", "MATCH"),
    "redux.add": PipeUser("redux.sync.add.s32 %0, %2, -1;", "REDUX"),
    "elect": PipeUser("{ .reg .pred p; elect.sync %0|p, -1; }", "ELECT"),
    "bar.sync": PipeUser("bar.sync 0;", "BAR"),
    "bar.red.popc": PipeUser(
        "{ .reg .pred p; setp.ne.b32 p, %2, 0; bar.red.popc.u32 %0, 0, p; }", "BAR"
    ),
    "fence.proxy.async": PipeUser("fence.proxy.async.shared::cta;", "FENCE"),
    "mbarrier.init": PipeUser("mbarrier.init.shared::cta.b64 [%1], 1;", "SYNCS", _BARRIER),
    "mbarrier.init, inval": PipeUser(
        "mbarrier.init.shared::cta.b64 [%1], 1; mbarrier.inval.shared::cta.b64 [%1];",
        "SYNCS",
        ("one", "apart"),
    ),
    "mbarrier.arrive": PipeUser(
        "{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%1]; }", "SYNCS", _BARRIER
    ),
    "mbarrier.arrive _": PipeUser(
        "mbarrier.arrive.shared::cluster.b64 _, [%1];", "SYNCS", _BARRIER
    ),
    "mbarrier.arrive, 2": PipeUser(
        "{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%1], 2; }", "SYNCS", _BARRIER
    ),
    "mbarrier.arrive.expect_tx": PipeUser(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%1], 0;", "SYNCS", _BARRIER
    ),
    "mbarrier.expect_tx": PipeUser(
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%1], 0;", "SYNCS", _BARRIER
    ),
    "mbarrier.complete_tx": PipeUser(
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%1], 0;", "SYNCS", _BARRIER
    ),
    "mbarrier.test_wait": PipeUser(_try("test_wait", "s"), "SYNCS", _BARRIER),
    "mbarrier.test_wait.parity": PipeUser(_try("test_wait.parity", "1"), "SYNCS", _BARRIER),
    "mbarrier.try_wait.parity, done": PipeUser(_try("try_wait.parity", "1"), "SYNCS", _BARRIER),
    "cp.async.mbarrier.arrive": PipeUser(
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%1];", "ARRIVES", _BARRIER
    ),
    "ld.shared": PipeUser(
        "{ .reg .b32 t; ld.shared.b32 t, [%1]; add.u32 %0, t, %2; }", "LDS", ("all", "apart")
    ),
    "st.shared": PipeUser("st.shared.b32 [%1], %2;", "STS", ("all", "apart")),
}
"""Instructions by the name that their rows have; the loads and stores are there to compare."""


def _name(op: str) -> str:
    return "case_" + "".join(each if each.isalnum() else "_" for each in op)


def _kernel(name: str, op: PipeUser) -> str:
    # Inside asm, a brace is a brace; % of operands stays as it is.
    one = (
        f'asm volatile("{op.ptx}" : "+r"(v[K]) : "r"(place), "r"(v[K]), "r"(lane ^ 5) : "memory");'
        " place += step;"
    )
    body = "\n        ".join(one.replace("[K]", f"[{i % 4}]") for i in range(_COPIES))
    return f"""
extern "C" __global__ void __launch_bounds__(1024) {_name(name)}(long long* when, unsigned* out,
        const u8* given, u8* data, int turns, unsigned mask, int apart, int step) {{
    __shared__ __align__(128) u64 s[64];
    const unsigned lane = threadIdx.x & 31, first = at(s);
    unsigned place = first + apart * lane, v[4] = {{lane, lane, lane, lane}};
    if (threadIdx.x < 32) begin(first + 8 * lane, 1 << 19);
    __syncthreads();
    const long long start = clock64();
    if (mask >> lane & 1) {{
        #pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {{
        {body}
        }}
    }}
    __syncthreads();
    if (threadIdx.x == 0) {{ when[0] = clock64() - start; out[1] = 1; }}
    if (v[0] + v[1] + v[2] + v[3] == 0x12345) out[0] = 1;
}}
"""


def _sources() -> dict[str, str]:
    """Return each instruction's source."""
    return {name: HEAD + _kernel(name, op) for name, op in OPS.items()}


_SOURCES = _sources()


def sources() -> list[str]:
    """Return every source that is compiled."""
    return list(_SOURCES.values())


def _case(name: str, lanes: str, warps: int) -> Trial:
    mask, apart = _LANES[lanes]
    return Trial(
        names={"op": name, "lanes": lanes, "warps": warps}, source=_SOURCES[name],
        function=_name(name), each=_COPIES * warps, turns=_TURNS, threads=32 * warps,
        numbers=(mask - (1 << 32) if mask >> 31 else mask, apart, 0),
        is_right=lambda out, _data, _turns: int(out[1]) == 1,
    )  # fmt: skip


def _rows(few: int) -> list[tuple[str, str]]:
    return [(name, lanes) for name, op in OPS.items() for lanes in op.lanes][: few or None]


def timed(few: int = 0) -> list[Trial]:
    """Return what is timed: each instruction in one warp and in 32."""
    return [_case(*row, warps) for row in _rows(few) for warps in (1, 32)]


def counted(few: int = 0) -> list[Trial]:
    """Return what is counted: one warp."""
    return [_case(*row, 1) for row in _rows(few)]


def measure(folder: Path, few: int = 0, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per instruction and lanes: cycles in 1 and 32 warps, and the counters."""
    compile_all(timed(few), folder)
    times = time_cases(timed(few), folder, device)
    counts = count_cases("misc", counted(few), COUNTERS, folder, few, device)
    return [
        {"op": one["op"], "lanes": one["lanes"], "cycles_1_warp": one["cycles"],
         "cycles_32_warps": many["cycles"], **counters}
        for one, many, counters in zip(times[::2], times[1::2], counts, strict=True)
    ]  # fmt: skip
