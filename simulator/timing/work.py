"""The work of a launch: what its machine code is, what runs together, what sampled blocks did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from simulator.timing.control import Control
from simulator.timing.footprint import Footprint, footprint
from simulator.timing.traces import SECTOR, SECTORS, BlockTrace

__all__ = ["Work", "WorkInstruction", "writes_global"]


_FEW = 4
"""What all blocks share is so many times less than what the grid reads: it stays in the L2."""


@dataclass(frozen=True)
class WorkInstruction:
    """One machine instruction of a kernel."""

    address: int
    guard: str
    """@P0, @!UP1, or nothing."""
    opcode: str
    """With its modifiers: LDS.128."""
    operands: str
    control: Control
    file: str = ""
    line: int = 0

    @property
    def name(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.partition(".")[0]


_STORES = ("STG", "ST", "RED", "REDG", "ATOM", "ATOMG", "UTMASTG", "UTMAREDG")


def writes_global(opcode: str) -> bool:
    """Whether an instruction writes global memory.

    >>> [writes_global(each) for each in ("STG.E.64", "UBLKCP.G.S", "UBLKCP.S.G", "STS")]
    [True, True, False, False]
    """
    name, _, rest = opcode.partition(".")
    return name in _STORES or (name in ("UBLKCP", "UBLKRED") and rest.startswith("G.S"))


@dataclass(frozen=True, eq=False)
class Work:
    """A launch as time needs it."""

    kernel: str
    capability: int
    """Of the machine code, times ten."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    registers: int
    """Of a thread."""
    shared_bytes: int
    """Of a block, static and dynamic."""
    resident: int
    """Blocks that one SM holds at a time."""
    instructions: tuple[WorkInstruction, ...]
    traces: tuple[BlockTrace, ...]
    """Of the blocks that ran; their mean stands for the grid."""
    probes: tuple[BlockTrace, ...] = ()
    """Of the blocks that tell how addresses depend on the block: see `footprint.probe_blocks`."""
    longest: tuple[BlockTrace, ...] = ()
    """The block with the longest warp, where all of one wave ran, and it is rare; else none."""
    notes: tuple[str, ...] = ()
    """What is to be said of the launch that was traced."""

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return prod(self.grid)

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-prod(self.block) // 32)

    @cached_property
    def stores(self) -> list[int]:
        """The instructions that write global memory, from 0."""
        each = enumerate(self.instructions)
        return [number for number, one in each if writes_global(one.opcode)]

    @cached_property
    def footprint(self) -> Footprint:
        """What the grid touches of global memory."""
        return footprint(self.probes, self.traces, self.grid, self.stores, self.cluster)

    @cached_property
    def common(self) -> NDArray[np.int64]:
        """Sectors of global memory that all blocks access, of those that ran, by any instruction.

        Empty if one block ran, or one cluster, or if it is most of what the grid reads. What TMA
        copies and what blocks draw at random is left out.
        """
        places = {tuple(np.floor_divide(each.block, self.cluster)) for each in self.traces}
        if len(places) < 2:
            return np.zeros(0, np.int64)
        drawn = frozenset[int]().union(*(pool.numbers for pool in self.footprint.drawn))
        each = (trace.sectors_of(trace.touched.keys() - trace.copied - drawn)
                for trace in self.traces)  # fmt: skip
        found = next(each)
        for other in each:
            found = found[np.isin(found, other)]
        is_small = _FEW * SECTOR * len(found) <= self.footprint.reads
        return found if is_small else found[:0]

    @cached_property
    def _bypassing(self) -> list[int]:
        """The copies past L1, from 0."""
        each = enumerate(self.instructions)
        return [number for number, one in each if one.opcode.startswith("LDGSTS.E.BYPASS")]

    @cached_property
    def copied_in_common(self) -> NDArray[np.int64]:
        """Lines of `common` that are copied past L1, 16 bytes per lane (LDGSTS.BYPASS)."""
        sectors = self.traces[0].sectors_of(self._bypassing)
        lines: NDArray[np.int64] = np.unique(sectors[np.isin(sectors, self.common)] // SECTORS)
        return lines

    @cached_property
    def copied_at_once(self) -> float:
        """Bytes of `common` that a block copies past L1 before it waits for them, on average."""
        ends = [one.name == "LDGDEPBAR" for one in self.instructions]
        copied = 0
        for trace in self.traces:
            rows = trace.global_rows()
            chosen = np.isin(trace.rows.number[rows], self._bypassing) & trace.lies_in(self.common)
            copied += int(trace.rows.bytes[rows[chosen]].sum())
        waits = float(self.executed[ends].sum()) / self.warps
        return copied / len(self.traces) / max(waits, 1.0)

    @cached_property
    def bases(self) -> NDArray[np.int64]:
        """The line of each access's first lane, of all blocks that ran, in order.

        Its complement, where all that the access touches is `common`.
        """
        found = np.concatenate([each.base for each in self.traces])
        if not len(self.common):
            return found
        is_common = np.concatenate([each.lies_in(self.common) for each in self.traces])
        return np.where(is_common, ~found, found)

    @cached_property
    def executed(self) -> NDArray[np.float64]:
        """Executions by warps of each instruction, of the mean block."""
        return self._mean([each.executed(len(self.instructions)) for each in self.traces])

    @cached_property
    def shared_cycles(self) -> NDArray[np.float64]:
        """Cycles for which each instruction holds the pipe of shared memory, of the mean block."""
        return self.mean("cycles", is_shared=True)

    @cached_property
    def shared_floor(self) -> NDArray[np.float64]:
        """The same without bank conflicts."""
        return self.mean("floor", is_shared=True)

    @cached_property
    def sectors(self) -> NDArray[np.float64]:
        """Sectors of global memory that each instruction asks for, of the mean block."""
        return self.mean("sectors", is_shared=False)

    def mean(self, figure: str, *, is_shared: bool) -> NDArray[np.float64]:
        """Return a figure of `AccessRows` by instruction, of the mean block."""
        count = len(self.instructions)
        return self._mean([each.summed(figure, count, is_shared=is_shared) for each in self.traces])

    def _mean(self, blocks: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = np.mean(np.array(blocks, dtype=np.float64), axis=0)
        return mean
