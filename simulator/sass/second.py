"""What blocks do in a second launch, which reads what the first left in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from simulator.errors import ExecutionError, LimitError
from simulator.sass.run.lengths import WarpLengths
from simulator.sass.run.tracing import Tracer, block_trace
from simulator.timing.unlike import UNLIKE
from simulator.timing.work import writes_global

if TYPE_CHECKING:
    from simulator.sass.run.grid import Dim3, GridRun
    from simulator.sass.run.tracing import Did
    from simulator.timing.traces import BlockTrace

__all__ = ["SecondLaunch"]

_MOST_INSTRUCTIONS = 20_000_000
"""Of warps, in a first launch that runs whole: some ten seconds."""
_MOST_BLOCKS = 1 << 18
"""Of the same: each takes some twenty microseconds beside."""


class SecondLaunch:
    """Traces blocks of a second launch, on memory as the first left it.

    Where blocks read nothing that the grid writes, there is no first. Where they read what other
    blocks write, or what an atomic returns, the whole grid runs first. Of a grid that is too large
    for that, or of which a block fails, the blocks that are traced run first.
    """

    def __init__(self, launch: GridRun, tracers: list[Tracer]) -> None:
        """Trace with a tracer per block of a cluster."""
        self.launch, self.tracers = launch, tracers
        self.is_first = False
        """Whether it is given up: the first launch is traced."""
        self.began = False
        """Whether blocks of the second launch have run."""
        self.twice = False
        """Whether blocks do in the second launch what they did not in the first."""
        self.left: GridRun | None = None
        """The launch after all its blocks ran, where they did."""
        self.notes: tuple[str, ...] = ()

    def begin(self, blocks: list[Dim3]) -> list[tuple[Dim3, Did]]:
        """Run blocks, find out whether they are to run twice, and return what they did last."""
        running = self.launch.anew().noting([*blocks, *blocks], self.tracers)
        once = self._taken(islice(running, len(blocks) * prod(self.launch.cluster)))
        if self.is_first:
            return once
        traces = self.traces(once)
        before, met = _instructions(traces), self._met(traces)
        if not met:
            return once
        if met == "others'" and self._is_small(before // len(once)):
            self.left = self._whole()
        self.began = True
        again = self._taken(running) if self.left is None else self._behind(self.left, blocks)
        self.twice = any(
            not _alike(one, two) for (_, one), (_, two) in zip(once, again, strict=True)
        )
        if not self.twice:
            return again
        behind = _instructions(self.traces(again))
        if abs(behind - before) > UNLIKE * before:
            said = "a second launch is timed, which reads what the first wrote: sampled blocks"
            said = f"{said} execute {behind:,} instructions in it, {before:,} in the first"
            self.notes = (*self.notes, said)
        return again

    def run(self, blocks: list[Dim3]) -> list[tuple[Dim3, Did]]:
        """Run blocks, once or twice, and return what they did last."""
        if not blocks:
            return []
        if self.left is not None:
            return self._behind(self.left, blocks)
        anew = self.launch.anew()
        if not self.twice:
            return self._taken(anew.noting(blocks, self.tracers))
        each = self._taken(anew.noting([*blocks, *blocks], self.tracers))
        return each[len(each) // 2 :]

    def longest_warps(self, blocks: list[Dim3], most: int) -> list[int]:
        """Run blocks of a grid without clusters; the instructions of each one's longest warp.

        Raises ExecutionError where they execute more than `most` instructions of warps, too.
        """
        lengths = WarpLengths(self.launch.code.lengths)
        turns = 2 if self.twice and self.left is None else 1
        launch = self.launch.anew() if self.left is None else copy(self.left)
        launch.spent = 0
        launch.max_instructions = min(turns * most, launch.max_instructions or turns * most)
        try:
            found = [lengths.take() for _ in launch.noting(turns * blocks, [lengths])]
        except LimitError:
            if launch.max_instructions == self.launch.max_instructions:
                self._note_limit("the search for a block that goes on for longer than all others")
            raise
        return found[-len(blocks) :]

    def give_up(self, error: ExecutionError) -> None:
        """Trace the first launch from now on, since the second one fails."""
        for tracer in self.tracers:
            tracer.take()
        why = str(error).partition("\n")[0]
        said = "a second launch fails on what the first leaves in memory: the first is timed"
        self.left, self.twice, self.began, self.is_first = None, False, False, True
        self.notes = (f"{said} ({why})",)

    def _is_small(self, instructions: int) -> bool:
        """Whether the whole grid runs in some seconds. `instructions`: of a block."""
        blocks = prod(self.launch.grid)
        return blocks <= _MOST_BLOCKS and instructions * blocks <= _MOST_INSTRUCTIONS

    def _whole(self) -> GridRun | None:
        """Return the launch after all its blocks ran; None where one of them fails.

        They run one after the other: what they leave does not depend on threads.
        """
        whole = self.launch.anew()
        whole.progress = whole.races = None
        try:
            whole.run_all(whole.every(), threads=1)
        except ExecutionError as error:
            if isinstance(error, LimitError) and self.launch.max_instructions:
                self._note_limit("the first launch: the second finds what traced blocks left")
            return None
        return whole

    def _note_limit(self, what: str) -> None:
        """Note what the limit of instructions that was given brings to an end."""
        said = f"max_instructions = {self.launch.max_instructions} ends {what}"
        self.notes = (*self.notes, said)

    def _behind(self, whole: GridRun, blocks: list[Dim3]) -> list[tuple[Dim3, Did]]:
        """Run blocks behind a whole launch; its instructions do not count as theirs."""
        whole.spent = 0
        return self._taken(whole.noting(blocks, self.tracers))

    def _taken(self, running: Iterable[tuple[Dim3, int]]) -> list[tuple[Dim3, Did]]:
        return [(block, self.tracers[rank].take()) for block, rank in running]

    def traces(self, each: Sequence[tuple[Dim3, Did]]) -> list[BlockTrace]:
        """Return the traces of blocks, of what they did."""
        tables = self.tracers[0].tables()
        return [block_trace(block, *tables, did) for block, did in each]

    def _met(self, traces: Sequence[BlockTrace]) -> Literal["", "own", "others'"]:
        """Return whose writing blocks read: sectors of global memory, by any of those that ran.

        What an atomic returns may be any block's: the few that ran may not have met there.
        """
        none = np.zeros(0, np.int64)
        read, written = [], []
        for trace in traces:
            reads, writes = [none], [none]
            for number, sectors in trace.touched.items():
                opcode = self.launch.program.instructions[number].opcode
                if opcode.startswith("ATOM"):
                    return "others'"
                (writes if writes_global(opcode) else reads).append(sectors)
            read.append(np.unique(np.concatenate(reads)))
            written.append(np.unique(np.concatenate(writes)))
        own = sum(len(np.intersect1d(*both)) for both in zip(read, written, strict=True))
        by, times = np.unique(np.concatenate(read), return_counts=True)
        to, changes = np.unique(np.concatenate(written), return_counts=True)
        _, at_read, at_written = np.intersect1d(by, to, return_indices=True)
        if times[at_read] @ changes[at_written] > own:
            return "others'"
        return "own" if own else ""


def _instructions(traces: Sequence[BlockTrace]) -> int:
    """Return how many instructions some blocks execute."""
    return sum(trace.instructions for trace in traces)


def _alike(one: Did, other: Did) -> bool:
    """Whether a block did the same both times."""
    pairs = zip((*one.steps, *one.bases), (*other.steps, *other.bases), strict=True)
    return all(np.array_equal(*each) for each in pairs)
