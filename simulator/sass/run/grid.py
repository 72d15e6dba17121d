"""Launching a kernel: its sizes, and the blocks of its grid one after the other or on threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from layouts.shapes import is_integer
from simulator.errors import LaunchError
from simulator.law.chips import Chip
from simulator.law.counting import Engine, engine_for
from simulator.law.instructions import Rule
from simulator.sass.architectures import Architecture
from simulator.sass.code.cubin import Cubin, CubinKernel
from simulator.sass.lift.program import Program
from simulator.sass.run.cluster import Cluster
from simulator.sass.run.code import Code
from simulator.sass.run.memory import PARAMETERS_AT, Banks, GlobalMemory, LaunchSizes
from simulator.sass.run.moves import Moves
from simulator.sass.run.races import RaceWatch
from simulator.sass.run.tally import FIGURES, Tally
from simulator.sass.run.timeline import Notes, Recorder, Timeline
from simulator.sass.run.witness import Witness

__all__ = ["Dim3", "GridRun", "Progress", "dim3"]

Dim3 = tuple[int, int, int]

_STACK = 1024  # bytes per thread, which a launch has by default
_MOST_LOCAL = 1 << 28
_MOST_CLUSTER = 16
_MOST_TOGETHER = 512
_HOPPER_BASE = 0x210
_TILES_AT = "c[0x0][0x6c]"
# Where sm_90 has parameters, and the address of the barriers of cooperative groups' tiles.

Progress = Callable[[int, int, int], None]
"""Called with thread instructions executed, blocks done, blocks to do."""


@dataclass
class GridRun:
    """A kernel with its arguments, ready to run block by block.

    Raises LaunchError for a grid, block, argument or size that cannot be launched.
    """

    cubin: Cubin
    program: Program
    grid: Dim3
    block: Dim3
    arguments: Sequence[Any]
    shared_bytes: int = 0
    max_instructions: int | None = None
    rule: Rule = "silicon"
    progress: Progress | None = None
    announce: Callable[[str], None] | None = None
    """Called with what it begins to wait for."""
    chip: Chip | None = None
    """Whose law counts, and whose shared memory there is; None: the H200's law."""
    cluster: Dim3 = (1, 1, 1)
    """Blocks that run together: of a cluster."""
    moves: Moves | None = None
    """Where shared memory's bytes lie instead of where the code puts them."""
    witness: Witness | None = None
    """What is told of every access to shared memory."""
    cooperative: bool = False
    """Whether all blocks run at once, so that the grid has a barrier."""
    done: Tally = field(init=False)
    """What has been counted so far, of blocks that had an error too."""
    spent: int = field(init=False, default=0)
    """Instructions that warps have executed."""
    stopped: bool = field(init=False, default=False)
    """Whether a block had an error: the others need not go on."""
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _threads: int = field(init=False, default=0)
    _blocks: int = field(init=False, default=0)
    _rows: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._check_sizes()
        threads = self.block[0] * self.block[1] * self.block[2]
        watch = RaceWatch(
            self.program, threads, self.reached_shared, self.architecture.shared_start,
            prod(self.cluster),
        )  # fmt: skip
        plain = self.witness is None and self.moves is None
        plain = plain and self.shared_start == self.architecture.shared_start  # tiles' own barriers
        self.races = watch if watch.is_needed and plain else None
        """What watches the first block for accesses that nothing orders."""
        self.code = Code(self.program, self._compiling)
        self._begin()

    def _begin(self) -> None:
        """Begin with memory as it was given, and nothing counted."""
        self.memory = GlobalMemory(
            self.cubin, self.kernel, self.arguments, self._reads_bank(), self.cooperative
        )
        sizes = LaunchSizes(self.block, self.grid, self.cluster, self.local_bytes, self.cooperative)
        self.banks = Banks(self.kernel, self.memory, sizes)
        size, sites = len(self.program.steps), len(self.program.sites)
        self.done = Tally(np.zeros(size, np.int64), np.zeros((sites, len(FIGURES)), np.int64))
        self._lock = threading.Lock()
        self.spent = self._threads = self._blocks = self._rows = 0
        self.stopped = False

    def anew(self) -> GridRun:
        """Return the launch before it ran; its code, once compiled, is the same."""
        again = copy(self)
        again._begin()
        return again

    @property
    def kernel(self) -> CubinKernel:
        """What is launched."""
        return self.program.kernel

    @property
    def taken_shared(self) -> int:
        """Bytes of shared memory that a block takes: with another layout, those of that."""
        return self.block_shared if self.moves is None else self.moves.taken

    @property
    def reached_shared(self) -> int:
        """Bytes up to which an access of 16 bytes goes that begins in a block's shared memory."""
        return -(-self.block_shared // 16) * 16

    @cached_property
    def shared_start(self) -> int:
        """The first shared address that the kernel may access.

        Tiles of cooperative groups of more than one warp keep their barriers in the kilobyte below
        the kernel's own memory, from 0 on (an H100: c[0x0][0x6c] is 0). Layouts that move arrays
        are not tried on such kernels.
        """
        plain = self.witness is None and self.moves is None
        tiles = self.kernel.parameter_base == _HOPPER_BASE and any(
            _TILES_AT in each.operands for each in self.program.instructions
        )
        return 0 if plain and tiles else self.architecture.shared_start

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-prod(self.block) // 32)

    @property
    def architecture(self) -> Architecture:
        """What it runs on."""
        return self.cubin.architecture

    def _compiling(self, first: int, count: int) -> None:
        """Say which instructions are compiled."""
        if self.announce:
            at = self.program.instructions[first].address
            self.announce(f"compiling {count} of {len(self.program.steps)} instructions at {at:#x}")

    def _check_sizes(self) -> None:
        threads = self.block[0] * self.block[1] * self.block[2]
        if threads > 1024:
            raise LaunchError(
                f"block {_x(self.block)} has {threads} threads (accepted: up to 1024)"
            )
        if self.block[2] > 64:
            raise LaunchError(f"block {_x(self.block)} (accepted: up to 1024x1024x64)")
        if self.grid[0] > 2**31 - 1 or max(self.grid[1:]) > 65535:
            raise LaunchError(f"grid {_x(self.grid)} (accepted: up to 2147483647x65535x65535)")
        self._check_cluster()
        most = self.max_instructions
        if most is not None and (not is_integer(most) or most < 1):
            raise LaunchError(f"max_instructions = {most!r} (accepted: an integer, 1 or more)")
        if not is_integer(self.shared_bytes):
            raise LaunchError(f"shared_bytes = {self.shared_bytes!r} (accepted: an integer)")
        static = max(self.kernel.shared_bytes - self.architecture.reserved, 0)
        room, whose = self._shared_limit()
        if static > room:
            raise LaunchError(
                f"{static} static bytes of shared memory ({whose} has {room} per block)"
            )
        if self.shared_bytes < 0 or static + self.shared_bytes > room:
            raise LaunchError(
                f"--shared-bytes {self.shared_bytes}, in Python shared_bytes={self.shared_bytes},"
                f" beside {static} static bytes (accepted for {whose}: 0 to {room - static})"
            )
        self.block_shared = static + self.shared_bytes
        stack = self.kernel.stack_bytes
        uses = self._mnemonics() & {"LDL", "STL"}
        self.local_bytes = -(-(stack + _STACK) // 16) * 16 if uses else 16
        if self.local_bytes * 1024 > _MOST_LOCAL * 4 or stack > _MOST_LOCAL // 1024:
            raise LaunchError(
                f"{stack} bytes of stack per thread (accepted: up to {_MOST_LOCAL // 1024})"
            )

    def _shared_limit(self) -> tuple[int, str]:
        """Return the bytes of shared memory that a block can have, and what says so."""
        limits = [(self.architecture.shared_bytes, self.architecture.name)]
        if self.chip is not None:
            limits.append((self.chip.shared_bytes, self.chip.name))
        return min(limits)

    def _check_cluster(self) -> None:
        x, y, z = self.cluster
        required = self.kernel.cluster
        if required and self.cluster != required:
            raise LaunchError(
                f"cluster {_x(self.cluster)} (accepted: {_x(required)}, which it requires)"
            )
        if any(blocks % size for blocks, size in zip(self.grid, self.cluster, strict=True)):
            raise LaunchError(
                f"grid {_x(self.grid)} in clusters of {_x(self.cluster)} (accepted: multiples)"
            )
        if x * y * z > _MOST_CLUSTER:
            raise LaunchError(
                f"a cluster of {x * y * z} blocks (accepted: up to {_MOST_CLUSTER}, and more than"
                " 8 only where a kernel asks for it)"
            )
        if x * y * z > 1 and self.architecture.capability < 90:
            raise LaunchError(f"a cluster on {self.architecture.name} (accepted: sm_90 and later)")
        if self.cooperative and prod(self.grid) > _MOST_TOGETHER:
            raise LaunchError(
                f"a cooperative launch of {prod(self.grid)} blocks, which all run at once (accepted"
                f" here: up to {_MOST_TOGETHER})"
            )
        if self.cooperative and x * y * z > 1:
            raise LaunchError(
                f"a cooperative launch in clusters of {_x(self.cluster)} is not replayed"
                " (accepted: without clusters)"
            )

    def _reads_bank(self) -> bool:
        """Whether the kernel takes the address of its parameters."""
        return any(
            place in each.operands for each in self.program.instructions for place in PARAMETERS_AT
        )

    def _mnemonics(self) -> set[str]:
        return {each.opcode.split(".")[0] for each in self.program.instructions}

    def members(self, first: Dim3) -> list[Dim3]:
        """List the blocks of the cluster whose first block this is, by rank."""
        x, y, z = self.cluster
        return [
            (first[0] + i, first[1] + j, first[2] + k)
            for k in range(z) for j in range(y) for i in range(x)
        ]  # fmt: skip

    def every(self) -> list[Dim3]:
        """List the first block of each cluster, in the order of the grid."""
        axes = [range(0, last, step) for last, step in zip(self.grid, self.cluster, strict=True)]
        return [(x, y, z) for z, y, x in product(*reversed(axes))]

    def place(self, number: int) -> str:
        """Name an instruction: its address and opcode."""
        instruction = self.program.instructions[number]
        return f"{instruction.address:#06x} {instruction.opcode}"

    def outputs(self) -> list[Any]:
        """Return one entry an argument: arrays as the kernel left them, all else unchanged."""
        return self.memory.outputs()

    # ---- Running. --------------------------------------------------------------------------
    def run_each(self, blocks: Iterable[Dim3]) -> list[Tally]:
        """Run the clusters that begin with some blocks one after the other; what each did."""
        todo = list(blocks)
        cluster = Cluster(self, races=self.races)
        tallies = []
        for block in todo:
            try:
                cluster.run(block, len(todo) * cluster.size)
            finally:
                tallies.append(cluster.take())
                self.done += tallies[-1]
        return tallies

    def run_all(self, blocks: Sequence[Dim3], threads: int | None = None) -> Tally:
        """Run the clusters that begin with some blocks; what all did.

        They run on several threads, where the kernel allows it.
        """
        atomics = self._mnemonics() & {"ATOM", "ATOMG", "RED", "REDG", "UTMAREDG", "UBLKRED"}
        in_order = atomics or self.kernel.system  # what is printed, and who gets memory first
        workers = 1 if in_order else min(threads or os.cpu_count() or 1, len(blocks), 16)

        def some(which: int) -> None:
            cluster = Cluster(self, races=None if which else self.races)
            try:
                for block in blocks[which::workers]:
                    if self.stopped:
                        break
                    cluster.run(block, len(blocks) * cluster.size)
            except BaseException:
                self.stopped = True
                raise
            finally:
                tally = cluster.take()
                with self._lock:
                    self.done += tally

        if workers == 1:
            some(0)
            return self.done
        with ThreadPoolExecutor(workers) as pool:
            try:
                for future in [pool.submit(some, which) for which in range(workers)]:
                    future.result()
            except BaseException:
                self.stopped = True  # Ctrl-C, which only the main thread gets
                raise
        return self.done

    def run_together(self, blocks: Sequence[Dim3]) -> Tally:
        """Run blocks at once, by turns, so that they may wait for each other; what all did."""
        clusters = [Cluster(self, races=None if which else self.races)
                    for which in range(len(blocks))]  # fmt: skip
        try:
            for cluster, block in zip(clusters, blocks, strict=True):
                cluster.begin(block)
            left = clusters
            while left:
                left = [cluster for cluster in left if cluster.take_turn(len(blocks))]
        finally:
            for cluster in clusters:
                self.done += cluster.take()
        return self.done

    def timelines(self, blocks: Iterable[Dim3]) -> list[Timeline]:
        """Run blocks anew, from the arguments as they were given, and tell what each warp did.

        Of clusters those that begin with the blocks run; the timelines are of all their blocks.
        """
        recorders = [
            Recorder(self.warps, self.code.lengths, self.program.sites)
            for _ in range(prod(self.cluster))
        ]
        return [recorders[rank].take() for _, rank in self.anew().noting(blocks, recorders)]

    def noting(self, blocks: Iterable[Dim3], notes: Sequence[Notes]) -> Iterator[tuple[Dim3, int]]:
        """Run the clusters that begin with some blocks; `notes` of each rank take note of them.

        Yields each block and its rank when its cluster is done.
        """
        if self.cooperative:
            raise LaunchError(
                "a cooperative launch has no timelines and no time (accepted: a launch whose blocks"
                " do not wait for each other)"
            )
        cluster = Cluster(self, notes)
        todo = list(blocks)
        for first in todo:
            cluster.run(first, len(todo) * cluster.size)
            for worker, block in zip(cluster.workers, self.members(first), strict=True):
                worker.flush()
                yield block, worker.rank

    def engine(self, rows: int) -> Engine:
        """Choose what counts so many more rows of a trace: the fastest for all of them so far."""
        with self._lock:
            self._rows += rows
            return engine_for(self._rows)

    def spend(self, instructions: int, threads: int, finished: int, of: int) -> None:
        """Take note of progress."""
        with self._lock:
            self.spent += instructions
            self._threads += threads
            self._blocks += finished
            if self.progress:
                self.progress(self._threads, self._blocks, of)


def _x(size: Dim3) -> str:
    """Return extents as the command line takes them."""
    return "x".join(map(str, size))


def dim3(size: object, what: str) -> Dim3:
    """Take an integer or up to three as (x, y, z).

    >>> dim3((8, 8), "grid")
    (8, 8, 1)

    Raises LaunchError for anything else.
    """
    values = size if isinstance(size, tuple | list) else (size,)
    good = 1 <= len(values) <= 3 and all(
        is_integer(value) and 1 <= value < 2**31 for value in values
    )
    if not good:
        raise LaunchError(
            f"{what} {size!r} (accepted: one to three integers, each from 1 to {2**31 - 1})"
        )
    x, y, z = (*(int(value) for value in values), 1, 1)[:3]
    return x, y, z
