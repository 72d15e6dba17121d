"""Distributed shared memory: what accesses to a neighbour in a cluster of two blocks cost.

32 warps of one block access the shared memory of the other, which waits; the cluster is alone on
the chip. The same accesses are timed with both blocks at it (`both`), and within the block's own
memory through the same instruction (`home`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.hopper.cases import HEAD, Trial
from gpu_check.hopper.runner import Runner, compile_all, count_cases
from gpu_check.probe.patterns import draw
from simulator.law.instructions import instruction
from simulator.law.masks import active_table

__all__ = [
    "ATOMICS", "COUNTERS", "EVERY", "MORE", "OPS", "WAYS", "WINDOW", "Reach", "again", "count",
    "counted", "drawn", "measure", "sources", "trial",
]  # fmt: skip

COUNTERS = {
    "sectors": "l1tex__t_sectors_pipe_lsu_mem_dshared.sum",
    "requests": "l1tex__t_requests_pipe_lsu_mem_dshared.sum",
    "sectors_sent": "l1tex__m_l1tex2xbar_write_sectors_mem_dshared.sum",
    "sectors_got": "l1tex__m_xbar2l1tex_read_sectors_mem_dshared.sum",
    "link_cycles": "l1tex__m_l1tex2xbar_req_cycles_active_mem_dshared.sum",
    "pipe": "l1tex__data_pipe_lsu_wavefronts.sum",
    "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu.sum",
    "bank_reads": "l1tex__data_bank_reads.sum",
    "bank_writes": "l1tex__data_bank_writes.sum",
}
"""Columns of counters, per access: of both blocks together."""

WAYS = {"neighbour": 0, "both": 1, "home": 2}
"""Who accesses whom, as the kernels have it."""

WINDOW = 2048
"""Where the kernels' dynamic shared memory begins in the shared window."""

_WARPS = 32
_COPIES = 8
_SHARED = 48 << 10
_MULTIPLIER = 2654435761


@dataclass(frozen=True)
class Reach:
    """An access: `%0` … are registers v, then the address, then what is stored."""

    ptx: str
    width: int
    like: str
    """The instruction at home whose addresses it can have."""
    turns: tuple[int, int] = (8, 40)
    kind: str = "load"


OPS: dict[str, Reach] = {
    "ld.32": Reach("ld.shared::cluster.u32 %0, [%4];", 4, "LDS"),
    "ld.128": Reach("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];", 16, "LDS.128"),
    "st.32": Reach("st.shared::cluster.u32 [%4], %5;", 4, "STS", kind="store"),
    "red.add.32": Reach("red.shared::cluster.add.u32 [%4], 1;", 4, "ATOMS.ADD", kind="add"),
    "st.128": Reach(
        "st.shared::cluster.v4.u32 [%4], {%5, %5, %5, %5};", 16, "STS.128", kind="store"
    ),
    "ld.64": Reach("ld.shared::cluster.v2.u32 {%0, %1}, [%4];", 8, "LDS.64"),
    "st.64": Reach("st.shared::cluster.v2.u32 [%4], {%5, %5};", 8, "STS.64", kind="store"),
    "atom.add.32": Reach("atom.shared::cluster.add.u32 %0, [%4], 1;", 4, "ATOMS.ADD", kind="add"),
    "atom.exch.32": Reach(
        "atom.shared::cluster.exch.b32 %0, [%4], %5;", 4, "ATOMS.EXCH", kind="store"
    ),
    "atom.cas.32": Reach("atom.shared::cluster.cas.b32 %0, [%4], 0, %5;", 4, "ATOMS.CAS", kind=""),
    # Bytes of one barrier's phase end at 2^20: fewer turns.
    "st.async.32": Reach(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%4], %5, [%6];", 4, "STS",
        turns=(4, 20), kind="store",
    ),
    "st.async.128": Reach(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32"
        " [%4], {%5, %5, %5, %5}, [%6];",
        16, "STS.128", turns=(1, 6), kind="store",
    ),
}  # fmt: skip
"""Accesses by name, those of most worth first."""

MORE: dict[str, Reach] = {
    "st.async.32": OPS["st.async.32"],
    "st.async.128": OPS["st.async.128"],
    "st.async.64": Reach(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%4], {%5, %5}, [%6];", 8,
        "STS.64", turns=(2, 12), kind="store",
    ),
    "ld.8": Reach("ld.shared::cluster.u8 %0, [%4];", 1, "LDS.U8"),
    "ld.16": Reach(
        "{ .reg .b16 h; ld.shared::cluster.u16 h, [%4]; cvt.u32.u16 %0, h; }", 2, "LDS.U16"
    ),
    "st.8": Reach("st.shared::cluster.u8 [%4], %5;", 1, "STS.U8", kind="store"),
    "st.16": Reach(
        "{ .reg .b16 h; cvt.u16.u32 h, %5; st.shared::cluster.u16 [%4], h; }", 2, "STS.U16",
        kind="store",
    ),
    "red.add.32": OPS["red.add.32"],
    "atom.exch.32": OPS["atom.exch.32"],
}  # fmt: skip
"""Accesses that `again` measures: with other addresses, and narrow ones."""


_WIDE = "{{ .reg .b64 x, y; cvt.u64.u32 y, %5; {}; cvt.u32.u64 %0, x; }}"
ATOMICS: dict[str, Reach] = {
    "atom.cas.32": OPS["atom.cas.32"],
    "red.min.32": Reach("red.shared::cluster.min.u32 [%4], %5;", 4, "ATOMS.MIN", kind=""),
    "red.or.32": Reach("red.shared::cluster.or.b32 [%4], %5;", 4, "ATOMS.OR", kind=""),
    "red.inc.32": Reach("red.shared::cluster.inc.u32 [%4], %5;", 4, "ATOMS.INC", kind=""),
    "atom.max.32": Reach(
        "atom.shared::cluster.max.u32 %0, [%4], %5;", 4, "ATOMS.MAX", kind=""
    ),
    "red.add.64": Reach(
        "{ .reg .b64 y; cvt.u64.u32 y, %5; red.shared::cluster.add.u64 [%4], y; }", 8,
        "ATOMS.EXCH.64", kind="",
    ),
    "atom.add.64": Reach(
        _WIDE.format("atom.shared::cluster.add.u64 x, [%4], y"), 8, "ATOMS.EXCH.64", kind=""
    ),
    "atom.exch.64": Reach(
        _WIDE.format("atom.shared::cluster.exch.b64 x, [%4], y"), 8, "ATOMS.EXCH.64", kind=""
    ),
    "atom.cas.64": Reach(
        _WIDE.format("atom.shared::cluster.cas.b64 x, [%4], 0, y"), 8, "ATOMS.CAS.64", kind=""
    ),
    "red.async.32": Reach(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32"
        " [%4], %5, [%6];", 4, "STS", turns=(4, 20), kind="",
    ),
    "red.async.64": Reach(
        "{ .reg .b64 y; cvt.u64.u32 y, %5;"
        " red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64"
        " [%4], y, [%6]; }", 8, "STS.64", turns=(2, 12), kind="",
    ),
}  # fmt: skip
"""Atomics that `neighbour_atomics` measures: other operations, 64 bits, asynchronous ones."""

EVERY = OPS | MORE | ATOMICS


def _kernel(name: str) -> str:
    return "case_" + name.replace(".", "_")


def _source(name: str) -> str:
    op = EVERY[name]
    one = (
        f'asm volatile("{op.ptx}" : "+r"(v[0]), "+r"(v[1]), "+r"(v[2]), "+r"(v[3])'
        ' : "r"(place), "r"(lane + 1), "r"(remote) : "memory"); place += step; sum += v[0];'
        " rest += v[1] + v[2] + v[3];"
        if op.kind == "load" or name.startswith("atom")
        else f'asm volatile("{op.ptx}" :: "r"(0), "r"(0), "r"(0), "r"(0), "r"(place),'
        ' "r"(lane + 1), "r"(remote) : "memory"); place += step;'
    )
    body = "\n                ".join([one] * _COPIES)
    return (
        HEAD
        + f"""
__device__ __forceinline__ void meet() {{
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}}
__device__ __forceinline__ unsigned of(unsigned address, unsigned rank) {{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__({32 * _WARPS})
{_kernel(name)}(long long* when, unsigned* out, const u8* given, u8* data, int turns, int way,
        int row, int step) {{
    extern __shared__ __align__(1024) unsigned s[];
    __shared__ __align__(8) u64 bar;
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const unsigned lane = threadIdx.x & 31, *mine = (const unsigned*)given + 33 * row;
    const bool is_on = mine[32] >> lane & 1;
    for (int i = threadIdx.x; i < {_SHARED // 4}; i += blockDim.x)
        s[i] = {"0" if op.kind == "add" else f"{_MULTIPLIER}u * i + rank"};
    if (threadIdx.x == 0) {{
        begin(at(&bar), 1);
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                     :: "r"(at(&bar)), "r"((1 << 20) - 1) : "memory");
    }}
    const unsigned target = way == 2 ? rank : rank ^ 1, remote = of(at(&bar), target);
    unsigned place = of(at(s) + mine[lane], target), sum = 0, rest = 0, v[4] = {{0, 0, 0, 0}};
    meet();
    if (rank == 0 || way == 1) {{
        __syncthreads();
        const long long start = clock64();
        if (is_on) {{
            #pragma unroll 1
            for (int turn = 0; turn < turns; ++turn) {{
                {body}
            }}
        }}
        __syncthreads();
        if (threadIdx.x == 0 && rank == 0) when[0] = clock64() - start;
        if (rank == 0 && threadIdx.x < 32) out[lane] = sum;
        if (sum == 0x5EED5EED) out[40] = 1; if (rest == 0x5EED5EED) out[41] = 1;
    }}
    meet();
    const long long until = clock64() + 20000;
    while (clock64() < until) {{}}
    meet();
    {
            ""
            if op.kind not in ("store", "add")
            else "if (rank == (way == 2 ? 0 : 1) && threadIdx.x < 32) out[lane] ="
            " s[mine[lane] / 4];"
        }
}}
"""
    )


_SOURCES = {name: _source(name) for name in EVERY}


def sources() -> list[str]:
    """Return every source that is compiled."""
    return list(_SOURCES.values())


def drawn(name: str, rows: int, seed: int = 11) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return addresses (n, 32) and masks (n,): the probe's patterns, and few or many sectors.

    Half of the rows are `gpu_check.probe.patterns`'; the other half draw each lane's place among
    1 to 64 sectors of 32 bytes.
    """
    op = EVERY[name]
    half = draw(instruction(op.like), rows // 2, seed=seed)
    rng = np.random.default_rng([seed, *name.encode()])
    others = np.zeros((rows - rows // 2, 32), dtype=np.uint32)
    for row in range(len(others)):
        sectors = rng.permutation(_SHARED // 32)[: int(rng.integers(1, 65))]
        within = rng.integers(0, 32 // op.width, 32) * op.width
        others[row] = sectors[rng.integers(0, len(sectors), 32)] * 32 + within
    masks = np.full(len(others), 0xFFFFFFFF, dtype=np.uint32)
    masks[::4] = rng.integers(1, 1 << 32, len(masks[::4]), dtype=np.uint32)
    return np.concatenate([half.addresses, others]), np.concatenate([half.masks, masks])


def _is_right(name: str, addresses: NDArray[np.uint32], mask: int, way: int) -> Callable[..., bool]:
    """Make the check of a launch for one access: what its lanes read, or left in memory."""
    op, on = EVERY[name], [lane for lane in range(32) if mask >> lane & 1]

    def check(out: NDArray[np.uint32], data: NDArray[np.uint32], turns: int) -> bool:
        words = addresses // 4
        part = (1 << 8 * min(op.width, 4)) - 1
        for lane in on:
            low = 8 * (int(addresses[lane]) % 4)
            if op.kind == "load":
                read = (_MULTIPLIER * int(words[lane]) + (0 if way == 2 else 1)) & 0xFFFFFFFF
                read = read >> low & part
                right = int(out[lane]) == turns * _COPIES * read & 0xFFFFFFFF
            elif op.kind == "store" and op.width < 4:
                same = [x + 1 for x in on if addresses[x] == addresses[lane]]
                right = int(out[lane]) >> low & part in same
            elif op.kind == "store":
                near = [x + 1 for x in on if abs(int(words[x]) - int(words[lane])) < op.width // 4]
                right = int(out[lane]) in near
            elif op.kind == "add":
                shared = sum(1 for x in on if words[x] == words[lane])
                each = turns * _COPIES * _WARPS * shared
                right = int(out[lane]) == each
            else:
                right = True
            if not right:
                return False
        return True

    return check


def trial(name: str, row: int, way: str, table: tuple[Any, Any]) -> Trial:
    """Return the trial of one access of a table of them, one of WAYS."""
    addresses, masks = table
    given = np.concatenate([addresses, masks[:, None]], axis=1).astype(np.uint32).tobytes()
    return Trial(
        names={"op": name, "row": row, "way": way}, source=_SOURCES[name], function=_kernel(name),
        each=_COPIES * _WARPS, turns=EVERY[name].turns, threads=32 * _WARPS, blocks=2,
        shared=_SHARED, numbers=(WAYS[way], row, 0), given=lambda _: given,
        is_right=_is_right(name, addresses[row], int(masks[row]), WAYS[way]),
    )  # fmt: skip


_ROWS = 160
_SEED = 29  # of `again`
_COUNTED = 24


def counted(few: int = 0) -> list[Trial]:
    """Return what is counted: some rows of each, the drawn ones and those of sectors."""
    found = []
    for name in list(OPS)[: few or None]:
        table = drawn(name, _ROWS)
        rows = range(0, _ROWS, _ROWS // (few or _COUNTED))
        found += [trial(name, row, "neighbour", table) for row in rows]
    return found


def measure(folder: Path, few: int = 0, device: int = 0) -> dict[str, NDArray[Any]]:
    """Return columns, a row per access: op, address, mask, and the cycles of each way.

    `spread` is that of the first way. Raises DeviceError where a launch moves the wrong bytes.
    """
    compile_all(counted(), folder)
    runner = Runner(folder, device)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("op", "address", "mask", "spread", *WAYS)
    }
    for name in list(OPS)[: few or None]:
        addresses, masks = table = drawn(name, _ROWS)
        active = active_table(masks)
        for row in range(0, _ROWS, _ROWS // few if few else 1):
            columns["op"].append(name)
            columns["address"].append(np.where(active[row], addresses[row], 0))
            columns["mask"].append(masks[row])
            for way in WAYS:
                case = trial(name, row, way, table)
                if way != "both" and row % 8 == 0:
                    runner.check(case)
                each = runner.ticks(case) / case.executions
                columns[way].append(np.median(each))
                if way == "neighbour":
                    columns["spread"].append(np.subtract(*np.quantile(each, [0.75, 0.25])))
    kinds = {"op": str, "address": np.uint32, "mask": np.uint32}
    return {name: np.array(found, dtype=kinds.get(name, np.float32))
            for name, found in columns.items()}  # fmt: skip


def again(folder: Path, few: int = 0, device: int = 0) -> dict[str, NDArray[Any]]:
    """Return columns, a row per access of MORE, none of them among those of `measure`.

    `neighbour`: its cycles; `spread`. Raises DeviceError where a launch moves the wrong bytes.
    """
    tables = {name: drawn(name, _ROWS, _SEED) for name in MORE}
    compile_all([trial(name, 0, "neighbour", tables[name]) for name in MORE], folder)
    runner = Runner(folder, device)
    rows = []
    for name, table in tables.items():
        active = active_table(table[1])
        for row in range(0, _ROWS, _ROWS // few if few else 1):
            case = trial(name, row, "neighbour", table)
            runner.check(case)
            each = runner.ticks(case) / case.executions
            spread = np.subtract(*np.quantile(each, [0.75, 0.25]))
            place = np.where(active[row], table[0][row], 0)
            rows.append((name, place, table[1][row], np.median(each), spread))
    names, places, masks, cycles, spreads = zip(*rows, strict=True)
    return {
        "op": np.array(names), "address": np.array(places, np.uint32),
        "mask": np.array(masks, np.uint32), "neighbour": np.array(cycles, np.float32),
        "spread": np.array(spreads, np.float32),
    }  # fmt: skip


def count(folder: Path, few: int = 0, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per counted access: op, row, and what one access adds to the counters."""
    cases = counted(few)
    counts = count_cases("neighbours", cases, COUNTERS, folder, few, device)
    return [
        {"op": case.names["op"], "row": case.names["row"], **counters}
        for case, counters in zip(cases, counts, strict=True)
    ]
