"""Running a few instructions in one warp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.sass.architectures import ARCHITECTURES
from simulator.sass.code.cubin import Cubin, CubinKernel
from simulator.sass.lift.layout import (
    PREDICATES,
    REGISTERS,
    ROW,
    UNIFORM,
    UNIFORM_PREDICATES,
)
from simulator.sass.lift.program import decode
from simulator.sass.run.cluster import Cluster
from simulator.sass.run.grid import GridRun
from tests.sass_kernels import program

KERNEL = CubinKernel("test", 0, (), 0x210, 1024 + 4096, 0, {0: bytes(range(256)) * 3}, (), {})
CUBIN = Cubin(b"", ARCHITECTURES[90], {"test": KERNEL}, ())
LANES = 32

Words = NDArray[np.uint32]
Values = Mapping[str, Any]
"""Values by register: R…, P…, UR…, UP…; a word for each lane, or one."""


@dataclass(frozen=True)
class Outcome:
    """What a warp's registers hold at the end."""

    read: Callable[[str], Words]
    """By a register's name, a word for each lane."""
    executed: Sequence[int]

    def register(self, number: int) -> list[int]:
        return [int(value) for value in self.read(f"R{number}")]

    def uniform(self, number: int) -> list[int]:
        return [int(value) for value in self.read(f"UR{number}")]

    def predicate(self, number: int) -> list[int]:
        return [int(value) for value in self.read(f"P{number}")]


def _named(name: str) -> tuple[str, int]:
    kind = name.rstrip("0123456789")
    return kind, int(name[len(kind) :])


def run_warp(lines: Sequence[str], values: Values, threads: int = LANES) -> Outcome:
    """Run lines, and the EXIT behind them."""
    decoded = decode(program(*lines), KERNEL)
    assert not decoded.problems, decoded.problems
    named = [number for kind, number in map(_named, values) if kind == "R"]
    decoded.registers = max([decoded.registers, *(number + 1 for number in named)])
    cluster = Cluster(GridRun(CUBIN, decoded, (1, 1, 1), (threads, 1, 1), ()))
    worker = cluster.workers[0]

    def place(name: str) -> Words:
        kind, number = _named(name)
        if kind == "R":
            if number >= decoded.registers:
                return np.zeros(LANES, dtype=np.uint32)
            return worker.row(0, REGISTERS + number * ROW)
        start = {"P": PREDICATES, "UR": UNIFORM, "UP": UNIFORM_PREDICATES}[kind] + 4 * number
        word: Words = worker.warps[0, start : start + 4].view(np.uint32)
        return word

    def read(name: str) -> Words:
        found = place(name)
        if name.startswith("P"):
            return found >> np.arange(LANES, dtype=np.uint32) & np.uint32(1)
        return np.broadcast_to(found, LANES).copy()

    cluster.begin((0, 0, 0))
    for name, given in values.items():
        words = np.asarray(given, dtype=np.int64).astype(np.uint32)
        if name.startswith("P"):
            lanes = np.broadcast_to(words != 0, LANES)
            words = np.packbits(lanes, bitorder="little").view(np.uint32)
        place(name)[:] = words
    cluster.go_on(1)
    return Outcome(read, worker.take().executed.tolist())
