"""A kernel's compiled code: lifted block by block, when execution first reaches one."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

import simulator.sass.lift.atomics
import simulator.sass.lift.generic
import simulator.sass.lift.matrices
import simulator.sass.lift.memory
import simulator.sass.lift.subwarps
import simulator.sass.lift.yielding
import simulator.sass.run.scheduler  # noqa: F401  helpers that blocks and the worker call
from simulator.sass import kept
from simulator.sass.lift.block import lift, symbol
from simulator.sass.lift.engine import Engine, compiled
from simulator.sass.lift.program import Program

__all__ = ["Code"]


class Code:
    """Compiled code of one program, for any number of launches and threads.

    `on_compile`, where given, is called before instructions are compiled: the first, how many.
    """

    def __init__(
        self, program: Program, on_compile: Callable[[int, int], None] | None = None
    ) -> None:
        size = len(program.steps)
        self.program = program
        self.on_compile = on_compile
        self.tables = np.zeros((2, size + 1), dtype=np.int64)
        """Addresses of functions by first instruction: for all lanes, and for a mask."""
        self.lengths = np.zeros(size + 1, dtype=np.int64)
        self.sites = np.zeros(size + 1, dtype=np.int64)
        """Memory instructions that are counted, by the first instruction of a block."""
        self._engine = Engine()
        self._lock = threading.Lock()
        self.run = self._engine.helper("bankwise.run")
        """Address of the scheduler."""
        ends = program.ends()
        self.lengths[:size] = ends - np.arange(size)
        before = np.cumsum([0, *(len(step.sites) for step in program.steps)])
        self.sites[:size] = before[ends] - before[:size]
        self._digest = program.digest()

    def compile(self, start: int, is_masked: bool) -> None:
        """Compile the block that begins at an instruction, unless it is there."""
        with self._lock:
            if self.tables[int(is_masked), start]:
                return

            def write() -> ir.Module:
                if self.on_compile:
                    self.on_compile(start, int(self.lengths[start]))
                return lift(self.program, start, is_masked)

            code = compiled(kept.key(self._digest, start, is_masked), write)
            address = self._engine.add(symbol(start, is_masked), code)
            self.tables[int(is_masked), start] = address

    def executed(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return executions by instruction from those by block."""
        ends = np.zeros(len(counts) + 1, dtype=np.int64)
        starts = np.flatnonzero(counts)
        np.add.at(ends, starts, counts[starts])
        np.subtract.at(ends, starts + self.lengths[starts], counts[starts])
        total: NDArray[np.int64] = np.cumsum(ends)[: len(self.program.steps)]
        return total
