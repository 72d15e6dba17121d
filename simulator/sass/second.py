"""What blocks do in a second launch, which reads what the first left in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from simulator.errors import ExecutionError
from simulator.sass.run.tracing import Tracer, block_trace
from simulator.timing.unlike import UNLIKE
from simulator.timing.work import writes_global

if TYPE_CHECKING:
    from simulator.sass.run.grid import Dim3, GridRun
    from simulator.sass.run.tracing import Did
    from simulator.timing.traces import BlockTrace

__all__ = ["SecondLaunch"]


class SecondLaunch:
    """Traces blocks of a second launch, on memory as the first left it.

    Of the first the same blocks run; and none, where blocks read nothing that the grid writes.
    """

    def __init__(self, launch: GridRun, tracers: list[Tracer]) -> None:
        """Trace with a tracer per block of a cluster."""
        self.launch, self.tracers = launch, tracers
        self.twice = False
        """Whether blocks do in the second launch what they did not in the first."""
        self.notes: tuple[str, ...] = ()

    def begin(self, blocks: list[Dim3]) -> list[tuple[Dim3, Did]]:
        """Run blocks, find out whether they are to run twice, and return what they did last.

        Where the second launch fails, and the first does not, the first stands for it.
        """
        running = self.launch.noting([*blocks, *blocks], self.tracers)
        once = self._taken(islice(running, len(blocks) * prod(self.launch.cluster)))
        if not self._reads_what_it_wrote(self._traces(once)):
            return once
        try:
            again = self._taken(running)
        except ExecutionError as error:
            for tracer in self.tracers:
                tracer.take()
            why = str(error).partition("\n")[0]
            said = "a second launch fails on what the first leaves in memory: the first is timed"
            self.notes = (f"{said} ({why})",)
            return once
        self.twice = any(
            not _alike(one, two) for (_, one), (_, two) in zip(once, again, strict=True)
        )
        if not self.twice:
            return again
        before, behind = (
            sum(trace.instructions for trace in self._traces(each)) for each in (once, again)
        )
        if abs(behind - before) > UNLIKE * before:
            said = "a second launch is timed, which reads what the first wrote: sampled blocks"
            self.notes = (f"{said} execute {behind:,} instructions in it, {before:,} in the first",)
        return again

    def run(self, blocks: list[Dim3]) -> list[tuple[Dim3, Did]]:
        """Run blocks, once or twice, and return what they did last."""
        if not blocks:
            return []
        if not self.twice:
            return self._taken(self.launch.noting(blocks, self.tracers))
        each = self._taken(self.launch.noting([*blocks, *blocks], self.tracers))
        return each[len(each) // 2 :]

    def _taken(self, running: Iterable[tuple[Dim3, int]]) -> list[tuple[Dim3, Did]]:
        return [(block, self.tracers[rank].take()) for block, rank in running]

    def _traces(self, each: Sequence[tuple[Dim3, Did]]) -> list[BlockTrace]:
        tables = self.tracers[0].tables()
        return [block_trace(block, *tables, did) for block, did in each]

    def _reads_what_it_wrote(self, traces: Sequence[BlockTrace]) -> bool:
        """Whether blocks read sectors of global memory that some of them wrote."""
        none = np.zeros(0, np.int64)
        read, written = [none], [none]
        for trace in traces:
            for number, sectors in trace.touched.items():
                opcode = self.launch.program.instructions[number].opcode
                if writes_global(opcode):
                    written.append(sectors)
                if not writes_global(opcode) or opcode.startswith("ATOM"):
                    read.append(sectors)
        return len(np.intersect1d(np.concatenate(read), np.concatenate(written))) > 0


def _alike(one: Did, other: Did) -> bool:
    """Whether a block did the same both times."""
    pairs = zip((*one.steps, *one.bases), (*other.steps, *other.bases), strict=True)
    return all(np.array_equal(*each) for each in pairs)
