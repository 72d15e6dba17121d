"""A kernel's compiled code: lifted block by block, when execution first reaches one."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import simulator.sass.lift.atomics
import simulator.sass.lift.generic
import simulator.sass.lift.matrices
import simulator.sass.lift.memory
import simulator.sass.lift.subwarps
import simulator.sass.run.scheduler  # noqa: F401  helpers that blocks and the worker call
from simulator.sass.lift.block import lift, symbol
from simulator.sass.lift.engine import Engine, compile_module
from simulator.sass.lift.program import Program

__all__ = ["Code"]


class Code:
    """Compiled code of one program, for any number of launches and threads.

    `on_compile`, where given, is called with the number of instructions before they are compiled.
    """

    def __init__(self, program: Program, on_compile: Callable[[int], None] | None = None) -> None:
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
        for start in range(size):
            steps = program.run_from(start)
            self.lengths[start] = len(steps)
            self.sites[start] = sum(len(program.steps[number].sites) for number in steps)

    def compile(self, start: int, is_masked: bool) -> None:
        """Compile the block that begins at an instruction, unless it is there."""
        with self._lock:
            if self.tables[int(is_masked), start]:
                return
            if self.on_compile:
                self.on_compile(int(self.lengths[start]))
            compiled = compile_module(lift(self.program, start, is_masked))
            address = self._engine.add(symbol(start, is_masked), compiled)
            self.tables[int(is_masked), start] = address

    def executed(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give executions by instruction from those by block."""
        ends = np.zeros(len(counts) + 1, dtype=np.int64)
        starts = np.flatnonzero(counts)
        np.add.at(ends, starts, counts[starts])
        np.subtract.at(ends, starts + self.lengths[starts], counts[starts])
        total: NDArray[np.int64] = np.cumsum(ends)[: len(self.program.steps)]
        return total
