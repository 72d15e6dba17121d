"""Launches for the tests of time, made of instructions that are written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulator.timing.control import Control
from simulator.timing.traces import AccessRows, BlockTrace, Steps
from simulator.timing.work import Work, WorkInstruction

__all__ = ["Line", "exits", "with_rows", "work"]


@dataclass(frozen=True)
class Line:
    """One instruction, and what it accesses."""

    opcode: str
    operands: str = ""
    stall: int = 1
    write: int | None = None
    waits: int = 0
    cycles: int = 0
    """Of shared memory."""
    floor: int = 0
    lines: int = 0
    """Lines of global memory, a sector of each."""
    places: int = 0
    """Words of constants, or sectors of local memory, that lanes access."""
    table: int = 0
    """The line of a table of constants that lanes read, and one."""
    guard: str = ""
    yields: bool = False
    """Whether other warps may be preferred after it."""
    reuse: int = 0
    """A bit for each operand that is kept."""
    read: int | None = None
    asked: int = 0
    """Lines that a copy of 16 bytes per lane asks the L2 for."""
    sent: int = 0
    """Sectors that the L2 sends for it; 0: as many as it has lines."""


def exits() -> Line:
    return Line("EXIT", stall=5)


def work(
    body: Sequence[Line], *, warps: int = 1, times: int = 1, blocks: int = 1, resident: int = 1,
    apart: int = 1 << 20,
) -> Work:  # fmt: skip
    """Make a launch whose warps run a body some times, as a loop, and exit."""
    lines = [*body, exits()]
    instructions = tuple(
        WorkInstruction(
            16 * place, line.guard, line.opcode, line.operands,
            Control(line.stall, line.yields, line.write, line.read, line.waits, line.reuse),
            "k.cu", place + 1,
        )
        for place, line in enumerate(lines)
    )  # fmt: skip
    # Of a copy, what it does to shared memory comes first.
    numbered = [
        (place, line, is_shared)
        for place, line in enumerate(body)
        if line.cycles or line.lines or line.places or line.table
        for is_shared in ((True, False) if line.asked else (not line.lines,))
    ]
    touched = np.array(
        [0 if is_shared else line.lines for _, line, is_shared in numbered], dtype=np.int64
    )
    begin = np.concatenate([[0], np.cumsum(touched)]).astype(np.int64)
    rows = AccessRows(
        number=np.array([place for place, _, _ in numbered], dtype=np.int64),
        is_shared=np.array([is_shared for _, _, is_shared in numbered], dtype=np.bool_),
        cycles=np.array([line.cycles for _, line, _ in numbered], dtype=np.int64),
        floor=np.array([line.floor for _, line, _ in numbered], dtype=np.int64),
        sectors=np.array(
            [line.sent or line.places or line.lines for _, line, _ in numbered], dtype=np.int64
        ),
        bytes=np.full(len(numbered), 128, dtype=np.int64) * (touched > 0),
        line_begin=begin,
        line=np.concatenate([np.arange(count) for count in [0, *touched]]).astype(np.int64),
        mask=np.ones(int(touched.sum()), dtype=np.int64),
        table=np.array([line.table + 4096 * (line.table > 0) for _, line, _ in numbered], np.int64)
        if any(line.table for line in body)
        else None,
        asked=np.array([line.asked for _, line, _ in numbered], np.int64)
        if any(line.asked for line in body)
        else None,
    )  # fmt: skip
    steps = Steps(
        np.array([0, len(body)]), np.array([len(body), 1]), np.array([32, 32]),
        np.array([0, len(numbered), len(numbered)]), np.arange(len(numbered)),
    )  # fmt: skip
    loads = int((touched > 0).sum())
    traces = []
    for block in range(min(blocks, resident)):
        base = np.arange(warps * times * loads, dtype=np.int64) * 64 + apart * block
        traces.append(
            BlockTrace(
                (block, 0, 0), steps, rows, np.arange(warps + 1) * (times + 1),
                np.tile([0] * times + [1], warps), np.arange(warps + 1) * times * loads, base,
            )
        )  # fmt: skip
    return Work(
        kernel="k", capability=90, grid=(blocks, 1, 1), block=(32 * warps, 1, 1),
        cluster=(1, 1, 1), registers=32, shared_bytes=1024, resident=resident,
        instructions=instructions, traces=tuple(traces),
    )  # fmt: skip


def with_rows(made: Work, **figures: Any) -> Work:
    """Return a launch all of whose blocks access as they did, but for some figures of the rows."""
    rows = replace(made.traces[0].rows, **figures)
    return replace(made, traces=tuple(replace(each, rows=rows) for each in made.traces))
