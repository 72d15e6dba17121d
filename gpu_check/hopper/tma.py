"""TMA: cycles, sectors and bank writes of tile loads and stores by box and swizzle, and of copies.

One thread keeps as many copies in flight as shared memory has room for, at most 32. They go between
global memory that the L2 cache holds and the block's shared memory. Rows of a tensor are 1024 bytes
apart. The loop itself takes some 25 cycles per copy, which is what small copies show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpu_check.hopper.cases import DATA_BYTES, HEAD, Trial
from gpu_check.hopper.runner import compile_all, count_cases, time_cases
from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.tensor_map import encode

__all__ = [
    "COUNTERS", "PITCH", "TmaCopy", "copies", "counted", "measure", "sources", "timed", "trial",
]  # fmt: skip

PITCH = 1024
"""Bytes between the rows of a tensor."""
COUNTERS = {
    "sectors_read": "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "sectors_written": "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
    "l2_sectors_read": "lts__t_sectors_op_read.sum",
    "l2_sectors_written": "lts__t_sectors_op_write.sum",
    "bank_writes": "l1tex__data_bank_writes.sum",
    "bank_reads": "l1tex__data_bank_reads.sum",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}
"""Columns of counters, per copy."""

Kind = Literal["load", "store", "bulk load", "bulk store"]

_HEIGHT = DATA_BYTES // PITCH
_EACH = 16  # copies per turn
_ROOM = 216 << 10
_TURNS = (4, 132)


@dataclass(frozen=True)
class TmaCopy:
    """One kind of copy: a box of rows of bytes, or for bulk copies one row of many bytes."""

    kind: Kind
    inner: int
    """Bytes of a row of the box."""
    rows: int
    swizzle: int | None = None

    @property
    def bytes(self) -> int:
        """Bytes that one copy moves."""
        return self.inner * self.rows

    @property
    def stride(self) -> int:
        """Bytes between the boxes in shared memory: there is room for rows of a swizzle's span."""
        return -(-max(self.inner, self.swizzle or 0) * self.rows // 1024) * 1024

    @property
    def half(self) -> int:
        """Half of how many are in flight: a power of two."""
        return 1 << (min(32, _ROOM // self.stride) // 2).bit_length() - 1

    @property
    def names(self) -> dict[str, Any]:
        """The columns that tell it."""
        return {
            "copy": self.kind, "inner_bytes": self.inner, "rows": self.rows,
            "swizzle": self.swizzle or 0, "in_flight": 2 * self.half,
        }  # fmt: skip


def copies() -> list[TmaCopy]:
    """Return what is measured, in order of worth."""
    kinds: tuple[Kind, ...] = ("load", "store")
    found = [
        TmaCopy(kind, inner, rows, swizzle)
        for rows in (64, 8, 256, 128, 32)
        for inner in (128, 64, 32, 16, 256)
        for swizzle in (128, None, 64, 32)
        for kind in kinds
        if swizzle is None or inner <= swizzle
    ]
    bulk: tuple[Kind, ...] = ("bulk load", "bulk store")
    return found + [
        TmaCopy(kind, size, 1)
        for size in (16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536)
        for kind in bulk
    ]


_SOURCE = (
    HEAD
    + """
extern __shared__ __align__(1024) u8 s[];

// Two halves of what is in flight: while one arrives, the other is waited for and asked for anew.
#define LOAD(NAME, COPY)                                                                     \\
extern "C" __global__ void case_##NAME(long long* when, unsigned* out, const u8* given,      \\
        u8* data, int turns, int bytes, int rows, int half) {                                \\
    __shared__ __align__(8) u64 bars[2];                                                     \\
    const int stride = *(const int*)(given + 128);                                           \\
    for (int i = threadIdx.x; i < 2 * half * stride / 4; i += blockDim.x)                    \\
        ((unsigned*)s)[i] = 0;                                                               \\
    fence();                                                                                 \\
    __syncwarp();                                                                            \\
    if (threadIdx.x == 0) {                                                                  \\
        begin(at(bars), 1), begin(at(bars + 1), 1);                                          \\
        fence();                                                                             \\
        const int rounds = turns * EACH / half;                                              \\
        int y = 0;                                                                           \\
        const long long start = clock64();                                                   \\
        for (int i = 0; i < rounds; ++i) {                                                   \\
            const unsigned bar = at(bars + (i & 1));                                         \\
            unsigned to = at(s) + (i & 1) * half * stride;                                   \\
            if (i >= 2) wait(bar, (i / 2 - 1) & 1);                                          \\
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"            \\
                         :: "r"(bar), "r"(bytes * half) : "memory");                         \\
            for (int k = 0; k < half; ++k, to += stride) {                                   \\
                COPY                                                                         \\
                y = y + rows < HEIGHT ? y + rows : 0;                                        \\
            }                                                                                \\
        }                                                                                    \\
        for (int i = rounds - 2; i < rounds; ++i) wait(at(bars + (i & 1)), (i / 2) & 1);     \\
        when[0] = clock64() - start;                                                         \\
        unsigned sum = 0;                                                                    \\
        for (int i = 0; i < stride / 4; ++i) sum += ((unsigned*)s)[i];                       \\
        out[0] = sum;                                                                        \\
    }                                                                                        \\
}

LOAD(load, asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global"
                        ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                        :: "r"(to), "l"(given), "r"(0), "r"(y), "r"(bar) : "memory");)
LOAD(bulk_load, asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                             " [%0], [%1], %2, [%3];"
                             :: "r"(to), "l"(data + (u64)PITCH * y), "r"(bytes), "r"(bar)
                             : "memory");)

#define STORE(NAME, COPY)                                                                    \\
extern "C" __global__ void case_##NAME(long long* when, unsigned* out, const u8* given,      \\
        u8* data, int turns, int bytes, int rows, int half) {                                \\
    const int stride = *(const int*)(given + 128);                                           \\
    for (int i = threadIdx.x; i < 2 * half * stride / 4; i += blockDim.x)                      \\
        ((unsigned*)s)[i] = i * 4 / stride * 747796405u + 1;                                 \\
    fence();                                                                                 \\
    __syncwarp();                                                                            \\
    if (threadIdx.x == 0) {                                                                  \\
        int stage = 0, y = 0;                                                                \\
        const long long start = clock64();                                                   \\
        for (int i = 0; i < turns * EACH; ++i) {                                             \\
            const unsigned from = at(s) + stage * stride;                                    \\
            COPY                                                                             \\
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");                        \\
            y = y + rows < HEIGHT ? y + rows : 0;                                            \\
            if (++stage == 2 * half) stage = 0;                                                \\
        }                                                                                    \\
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");                            \\
        when[0] = clock64() - start;                                                         \\
    }                                                                                        \\
}

STORE(store, asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
                          " [%0, {%1, %2}], [%3];"
                          :: "l"(given), "r"(0), "r"(y), "r"(from) : "memory");)
STORE(bulk_store, asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                               :: "l"(data + (u64)PITCH * y), "r"(from), "r"(bytes) : "memory");)
"""
)
_SOURCE = (
    _SOURCE.replace("EACH", str(_EACH)).replace("HEIGHT", str(_HEIGHT))
    .replace("PITCH", str(PITCH))
)  # fmt: skip


def sources() -> list[str]:
    """Return every source that is compiled."""
    return [_SOURCE]


def _given(copy: TmaCopy) -> Callable[[int], bytes]:
    """Make what encodes the copy's tensor map over the data, and its stride behind."""
    stride = copy.stride.to_bytes(4, "little")

    def encoded(address: int) -> bytes:
        if " " in copy.kind:
            return bytes(128) + stride
        image = encode(
            MapFields(
                element="uint8", address=address, sizes=(PITCH, _HEIGHT), strides=(PITCH,),
                element_strides=(1, 1), box=(copy.inner, copy.rows), swizzle=copy.swizzle,
            )
        )  # fmt: skip
        return image + stride

    return encoded


def _places(copy: TmaCopy, turns: int) -> list[int]:
    """Return the first row of each copy, in order."""
    found, y = [], 0
    step = _step(copy)
    for _ in range(turns * _EACH):
        found.append(y)
        y = y + step if y + step < _HEIGHT else 0
    return found


def _step(copy: TmaCopy) -> int:
    """Rows from one copy to the next; a bulk copy may be longer than a row of the tensor."""
    return max(copy.rows, -(-copy.bytes // PITCH) if copy.kind.startswith("bulk") else 0)


def _is_right(copy: TmaCopy) -> Callable[..., bool]:
    """Make the check of a launch: the words moved are the source's, in whatever order."""

    def check(out: NDArray[np.uint32], data: NDArray[np.uint32], turns: int) -> bool:
        places = _places(copy, turns)
        flat = copy.kind.startswith("bulk")
        inner, rows = copy.inner // 4, copy.rows

        def words(y: int) -> NDArray[np.uint32]:
            first = y * PITCH // 4
            if flat:
                return data[first : first + inner]
            return data[first:][: rows * PITCH // 4].reshape(rows, -1)[:, :inner]

        if copy.kind.endswith("load"):
            last = (len(places) // copy.half - 1) // 2 * 2 * copy.half
            return int(words(places[last]).sum(dtype=np.uint32)) == int(out[0])
        last_to = {y: number % (2 * copy.half) for number, y in enumerate(places)}
        for y, stage in last_to.items():
            if (words(y) != (stage * 747796405 + 1) % (1 << 32)).any():
                return False
        return True

    return check


def trial(copy: TmaCopy) -> Trial:
    """Return the trial of one kind of copy."""
    return Trial(
        names=copy.names, source=_SOURCE, function=f"case_{copy.kind.replace(' ', '_')}",
        each=_EACH, turns=_TURNS, threads=32, shared=_ROOM,
        numbers=(copy.bytes, _step(copy), copy.half),
        given=_given(copy),
        is_right=_is_right(copy),
    )  # fmt: skip


def timed(few: int = 0) -> list[Trial]:
    """Return what is timed."""
    return [trial(copy) for copy in copies()[: few or None]]


counted = timed


def measure(folder: Path, few: int = 0, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per copy: cycles per copy, and what one copy adds to the counters."""
    compile_all(timed(few), folder)
    times = time_cases(timed(few), folder, device)
    counts = count_cases("tma", counted(few), COUNTERS, folder, few, device)
    return [{**time, **counters} for time, counters in zip(times, counts, strict=True)]
