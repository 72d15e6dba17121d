"""Launching a lowered kernel: memory, parameters, blocks, and the law on what they touched.

Global memory is one arena at a made-up device address; each array has its own range in it, with
a gap behind, and an access must lie within one of them: so an index that is off by a row of up
to 1 MiB is an error, and does not read the next array. Blocks run one after the other, or on
several threads where the kernel has no global atomics.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import (
    DeadlockError,
    ExecutionError,
    LaunchError,
    LimitError,
    MemoryAccessError,
    UnsupportedError,
)
from simulator.law.counting import count
from simulator.law.instructions import Rule
from simulator.sass import machine as m
from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW, Architecture
from simulator.sass.code.cubin import Cubin, CubinKernel
from simulator.sass.decode.line import SPECIAL, Lowered
from simulator.sass.parameters import Parameters

__all__ = ["BLOCK_LIMIT", "Dim3", "GridRun", "Progress", "Tally", "dim3"]

Dim3 = tuple[int, int, int]

BLOCK_LIMIT = 2**26
"""Instructions that the warps of one block may execute, where the caller sets no limit."""

_DEVICE = 0x7F00_0000_0000
_GAP = 1 << 20  # behind an array; memory that nobody touches costs nothing
_SMALL_GAP = 1 << 16  # behind a variable of the module, of which there may be many
_MOST_MEMORY = 2 << 30
_STACK = 1024  # bytes a thread, which a launch has by default
_MOST_LOCAL = 1 << 28
_TRACE_ROWS = 1 << 15
_SLICE = 1 << 22  # instructions of warps between two looks at limits and progress

Progress = Callable[[int, int, int], None]
"""Called with thread instructions executed, blocks done, blocks to do."""


@dataclass(frozen=True)
class Tally:
    """What some blocks executed, by instruction and by shared-memory site."""

    executed: NDArray[np.int64]
    """By instruction: executions by a warp."""
    figures: NDArray[np.int64]
    """(site, 5): requests, wavefronts, ideal, bank conflicts, scattered asynchronous copies."""
    threads: int = 0
    """Instructions by threads."""
    generic: int = 0
    """Accesses of threads to shared memory through generic addresses, which have no site."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.executed + other.executed,
            self.figures + other.figures,
            self.threads + other.threads,
            self.generic + other.generic,
        )

    def agrees(self, other: Tally, sites: NDArray[np.int64]) -> bool:
        """Whether both did the same at every site; `sites`: their instruction numbers."""
        return bool(
            np.array_equal(self.executed[sites], other.executed[sites])
            and np.array_equal(self.figures, other.figures)
        )


@dataclass
class GridRun:
    """A kernel with its arguments, ready to run block by block.

    Raises LaunchError for a grid, block, argument or size that cannot be launched.
    """

    cubin: Cubin
    lowered: Lowered
    grid: Dim3
    block: Dim3
    arguments: Sequence[Any]
    shared_bytes: int = 0
    max_instructions: int | None = None
    rule: Rule = "silicon"
    progress: Progress | None = None
    done: Tally = field(init=False)
    """What has been counted so far, of blocks that had an error too."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _spent: int = 0
    _threads: int = 0
    _blocks: int = 0
    _stop: bool = False

    def __post_init__(self) -> None:
        self._check_sizes()
        self.sites = np.flatnonzero(self.lowered.program[:, m.SITE] >= 0)
        self.done = self._nothing()
        self._place_arguments()
        self._bank_bytes()

    @property
    def kernel(self) -> CubinKernel:
        """What is launched."""
        return self.lowered.kernel

    @property
    def architecture(self) -> Architecture:
        """What it runs on."""
        return self.cubin.architecture

    def _nothing(self) -> Tally:
        return Tally(
            np.zeros(len(self.lowered.program), dtype=np.int64),
            np.zeros((len(self.lowered.sites), 5), dtype=np.int64),
        )

    def _check_sizes(self) -> None:
        threads = self.block[0] * self.block[1] * self.block[2]
        if threads > 1024 or self.block[2] > 64:
            raise LaunchError(f"block {self.block} has {threads} threads (accepted: up to 1024)")
        if self.grid[0] > 2**31 - 1 or max(self.grid[1:]) > 65535:
            raise LaunchError(f"grid {self.grid} (accepted: up to 2147483647 x 65535 x 65535)")
        if self.max_instructions is not None and self.max_instructions < 1:
            raise LaunchError(f"max_instructions = {self.max_instructions} (accepted: 1 and more)")
        static = self.kernel.shared_bytes - self.architecture.reserved
        static = max(static, 0)
        most = self.architecture.shared_bytes
        if self.shared_bytes < 0 or static + self.shared_bytes > most:
            raise LaunchError(
                f"shared_bytes = {self.shared_bytes} beside {static} static bytes (accepted for"
                f" {self.architecture.name}: 0 to {most - static})"
            )
        self.block_shared = static + self.shared_bytes
        uses = {each.opcode.split(".")[0] for each in self.lowered.instructions}
        stack = self.kernel.stack_bytes
        self.local_bytes = -(-(stack + _STACK) // 16) * 16 if uses & {"LDL", "STL"} else 16
        if self.local_bytes * 1024 > _MOST_LOCAL * 4 or stack > _MOST_LOCAL // 1024:
            raise LaunchError(f"{stack} bytes of stack a thread (accepted: {_MOST_LOCAL // 1024})")

    def _place_arguments(self) -> None:
        """Copy arrays and module variables into the arena."""
        self.parameters = Parameters(self.kernel.parameters, self.arguments, self.kernel.name)
        pieces: list[NDArray[np.uint8]] = []
        starts, offset = [], 0
        self._at: list[int] = []
        self._variables: dict[str, int] = {}
        total = sum(array.nbytes for array in self.parameters.arrays)
        if total > _MOST_MEMORY:
            raise LaunchError(
                f"the arguments take {total} bytes (accepted: up to {_MOST_MEMORY} together)"
            )

        def place(data: NDArray[np.uint8], gap: int) -> int:
            nonlocal offset
            pieces.append(data)
            starts.append(offset)
            here = offset
            offset += -(-len(data) // 256) * 256 + gap
            return here

        for array in self.parameters.arrays:
            self._at.append(place(np.ascontiguousarray(array).reshape(-1).view(np.uint8), _GAP))
        for variable in self.cubin.variables:
            data = np.frombuffer(variable.data, dtype=np.uint8)
            self._variables[variable.name] = place(data, _SMALL_GAP)
        self.arena = np.zeros(max(offset, 16), dtype=np.uint8)
        for start, piece in zip(starts, pieces, strict=True):
            self.arena[start : start + len(piece)] = piece
        self._starts = np.array(starts or [0], dtype=np.int64) + _DEVICE
        sizes = np.array([len(piece) for piece in pieces] or [0], dtype=np.int64)
        self._ends = self._starts + sizes

    def _bank_bytes(self) -> None:
        """Fill in the constant banks: launch geometry, parameters, addresses of variables."""
        base = self.kernel.parameter_base
        need = base + max((p.offset + p.size for p in self.kernel.parameters), default=0)
        banks = {number: bytearray(data) for number, data in self.kernel.banks.items()}
        first = banks.setdefault(0, bytearray())
        first.extend(bytes(max(need - len(first), 0x218 - len(first), 0)))
        geometry = np.array([*self.block, *self.grid], dtype=np.uint32).tobytes()
        first[: len(geometry)] = geometry
        first[0x18:0x20] = (SHARED_WINDOW << 32).to_bytes(8, "little")
        first[0x20:0x28] = (LOCAL_WINDOW << 32).to_bytes(8, "little")
        first[0x28:0x2C] = self.local_bytes.to_bytes(4, "little")
        given = self.parameters.data([_DEVICE + at for at in self._at])
        for data, parameter in zip(given, self.kernel.parameters, strict=True):
            first[base + parameter.offset : base + parameter.offset + parameter.size] = data
        for at, array in zip(self._at, self.parameters.arrays, strict=True):
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self.arena[at : at + len(flat)] = flat  # arrays of pointers have their addresses now
        for bank, offset, variable, inside in self.kernel.addresses:
            if bank in banks and variable in self._variables and offset + 8 <= len(banks[bank]):
                address = _DEVICE + self._variables[variable] + inside
                banks[bank][offset : offset + 8] = address.to_bytes(8, "little")
        joined = bytearray()
        self._bank_at = np.zeros(33, dtype=np.int64)
        for number in range(32):
            self._bank_at[number] = len(joined)
            joined += banks.get(number, b"")
            joined += bytes(-len(joined) % 16)
        self._bank_at[32] = len(joined)
        self._banks = np.frombuffer(bytes(joined), dtype=np.uint8)

    def outputs(self) -> list[Any]:
        """Return one entry per argument: arrays as the kernel left them, all else unchanged."""

        def read(number: int) -> NDArray[Any]:
            array, at = self.parameters.arrays[number], self._at[number]
            return self.arena[at : at + array.nbytes].copy().view(array.dtype).reshape(array.shape)

        return self.parameters.outputs(read)

    # ---- Running. --------------------------------------------------------------------------
    def run_each(self, blocks: Iterable[Dim3]) -> list[Tally]:
        """Run blocks one after the other; what each did."""
        todo = list(blocks)
        worker = _Worker(self)
        tallies = []
        for block in todo:
            worker.run(block, len(todo))
            tallies.append(worker.take())
            self.done += tallies[-1]
        return tallies

    def run_all(self, blocks: Sequence[Dim3], threads: int | None = None) -> Tally:
        """Run blocks on several threads, where the kernel allows it; what all did."""
        names = {each.opcode.split(".")[0] for each in self.lowered.instructions}
        atomics = names & {"ATOM", "ATOMG", "RED", "REDG"}
        workers = 1 if atomics else min(threads or os.cpu_count() or 1, len(blocks), 16)

        def some(which: int) -> None:
            worker = _Worker(self)
            try:
                for block in blocks[which::workers]:
                    if self._stop:
                        break
                    worker.run(block, len(blocks))
            except BaseException:
                self._stop = True
                raise
            finally:
                tally = worker.take()
                with self._lock:
                    self.done += tally

        if workers == 1:
            some(0)
        else:
            with ThreadPoolExecutor(workers) as pool:
                for future in [pool.submit(some, which) for which in range(workers)]:
                    future.result()
        return self.done

    def spend(self, instructions: int, threads: int, finished: int, of: int) -> None:
        """Take note of progress, and refuse to go on past the limit."""
        with self._lock:
            self._spent += instructions
            self._threads += threads
            self._blocks += finished
            if self.progress:
                self.progress(self._threads, self._blocks, of)


class _Worker:
    """The state of one block at a time: registers, shared memory, subwarps, the trace."""

    def __init__(self, launch: GridRun) -> None:
        self.launch = launch
        lowered, kernel_bytes = launch.lowered, launch.block_shared
        x, y, z = launch.block
        self.threads = x * y * z
        self.warps = -(-self.threads // 32)
        size = 32 * self.warps
        self.registers = np.zeros((lowered.rows + 4, size), dtype=np.uint32)
        self.predicates = np.zeros((16, size), dtype=np.uint8)
        self.subwarps = np.zeros((5, self.warps, 32), dtype=np.int64)
        self.convergence = np.zeros((16, size), dtype=np.uint32)
        self.alive = np.zeros(self.warps, dtype=np.int64)
        self.extra, self.need = np.zeros(16, dtype=np.int64), np.zeros(16, dtype=np.int64)
        self.results = np.zeros(4, dtype=np.int64)
        self.shared = np.zeros(max(16, -(-kernel_bytes // 16) * 16), dtype=np.uint8)
        self.local = np.zeros(launch.local_bytes * size, dtype=np.uint8)
        self.memory = np.array(
            [_DEVICE, launch.architecture.shared_start, kernel_bytes, launch.local_bytes,
             SHARED_WINDOW, LOCAL_WINDOW], dtype=np.int64,
        )  # fmt: skip
        sites = max(1, len(lowered.sites))
        self.executed = np.zeros(len(lowered.program), dtype=np.int64)
        self.scattered = np.zeros(sites, dtype=np.int64)
        self.trace = np.zeros((_TRACE_ROWS, 34), dtype=np.int32)
        self.weights = np.zeros(_TRACE_ROWS, dtype=np.int64)
        self.latest = np.full(sites * self.warps, -1, dtype=np.int64)
        self.scratch = np.zeros((8, size), dtype=np.uint32)
        self.state = np.zeros(m.STATE, dtype=np.int64)
        self.figures = np.zeros((len(lowered.sites), 5), dtype=np.int64)
        self.total = 0
        self.generic = 0
        self._constant_rows()

    def _constant_rows(self) -> None:
        """Rows of constants and of special registers that are the same in every block."""
        launch, registers = self.launch, self.registers
        for (kind, bank, value), row in launch.lowered.constants.items():
            words = int(kind[-1])
            if kind.startswith("bits"):
                parts = [value & 0xFFFFFFFF, value >> 32][:words]
            else:
                at = launch._bank_at[bank] + value
                parts = launch._banks[at : at + 4 * words].view(np.uint32).tolist()
            for word, bits in enumerate(parts):
                registers[row + word] = bits
        x, y, _ = launch.block
        thread = np.arange(registers.shape[1], dtype=np.uint32)
        lane = thread % 32
        one = np.uint32(1)
        below = (one << lane) - one
        values: dict[str, Any] = {
            "SR_TID.X": thread % x, "SR_TID.Y": thread // x % y, "SR_TID.Z": thread // (x * y),
            "SR_LANEID": lane, "SR_EQMASK": one << lane, "SR_LTMASK": below,
            "SR_LEMASK": below | (one << lane), "SR_GTMASK": ~(below | (one << lane)),
            "SR_GEMASK": ~below, "SR_SWINHI": SHARED_WINDOW, "SR_LWINHI": LOCAL_WINDOW,
            "SR_CgaCtaId": 0, "SR_CgaSize": 1, "SR_VIRTUALSMID": 0, "SR_VIRTID": 0,
            "SR_TID": thread % x | thread // x % y << 16 | thread // (x * y) << 26,
        }  # fmt: skip
        for name, special in values.items():
            registers[m.FIRST_FREE + SPECIAL.index(name)] = special

    def run(self, block: Dim3, of: int) -> None:
        """Run one block to its end."""
        launch, state = self.launch, self.state
        self.registers[: m.FIRST_FREE] = 0
        self.predicates[:] = 0
        self.predicates[[7, 15]] = 1
        for axis, name in enumerate("XYZ"):
            self.registers[m.FIRST_FREE + SPECIAL.index(f"SR_CTAID.{name}")] = block[axis]
        self.subwarps[:] = 0
        self.extra[:] = self.need[:] = self.results[:] = 0
        self.shared[:] = 0
        self.local[:] = 0
        for warp in range(self.warps):
            lanes = min(32, self.threads - 32 * warp)
            mask = (1 << lanes) - 1
            self.alive[warp] = mask
            self.subwarps[:, warp, 0] = (0, mask, m.READY, 0, 1)
        spent = 0
        while True:
            slice_ = self._allowed(spent)
            state[m.BUDGET], state[m.STATUS], state[m.WHY] = slice_, m.DONE, m.NO_FAULT
            before = int(state[m.THREADS])
            self._step()
            used = slice_ - int(state[m.BUDGET])
            spent += used
            status = int(state[m.STATUS])
            threads = int(state[m.THREADS]) - before
            self.total += threads
            launch.spend(used, threads, int(status == m.DONE), of)
            if status == m.FLUSH:
                self.flush()
            elif status == m.FAULT:
                raise self._error(block)
            elif status == m.DONE:
                break
        self.generic += int(state[m.GENERIC_SHARED])
        state[m.GENERIC_SHARED] = 0

    def _allowed(self, spent: int) -> int:
        launch = self.launch
        limit = launch.max_instructions
        left = BLOCK_LIMIT - spent if limit is None else limit - launch._spent
        if left <= 0:
            name = "max_instructions" if limit is not None else "the limit of a block"
            raise LimitError(
                f"{launch.kernel.name} executed {limit or BLOCK_LIMIT} warp instructions, {name}"
                f"; it stands at {self._standing()} (accepted: a larger max_instructions, if it is"
                " no endless loop)"
            )
        return min(left, _SLICE)

    def _standing(self) -> str:
        number = int(self.state[m.F_PC])
        instruction = self.launch.lowered.instructions[number]
        place = f" ({instruction.file}:{instruction.line})" if instruction.line else ""
        return f"{instruction.address:#06x} {instruction}{place}"

    def _step(self) -> None:
        launch, arena = self.launch, self.launch.arena
        m.run(
            launch.lowered.program, self.registers, self.predicates, self.subwarps,
            self.convergence, self.alive, self.extra, self.need, self.results,
            self.shared.view(np.uint32), self.shared, arena.view(np.uint32), arena,
            self.local.view(np.uint32), self.local, self.memory, launch._starts, launch._ends,
            launch._banks, launch._bank_at, self.executed, self.scattered, self.trace,
            self.weights, self.latest, self.scratch, self.state,
        )  # fmt: skip

    def flush(self) -> None:
        """Count what the trace holds, by the law, and empty it."""
        rows = int(self.state[m.TRACED])
        trace, weights = self.trace[:rows], self.weights[:rows]
        which = trace[:, 0]
        sites = self.launch.lowered.sites
        np.add.at(self.figures[:, 0], which, weights)
        for op in {site.op for site in sites if site.op is not None}:
            chosen = np.array([site.op == op for site in sites])[which]
            if not chosen.any():
                continue
            masks = trace[chosen, 1].view(np.uint32)
            counts = count(op, trace[chosen, 2:], masks, rule=self.launch.rule)
            for place, figure in enumerate(
                (counts.wavefronts, counts.ideal, counts.bank_conflicts)
            ):
                np.add.at(self.figures[:, 1 + place], which[chosen], figure * weights[chosen])
        self.latest[:] = -1
        self.state[m.TRACED] = 0

    def take(self) -> Tally:
        """Give what was counted since the last time."""
        self.flush()
        self.figures[:, 4] = self.scattered[: len(self.figures)]
        tally = Tally(self.executed.copy(), self.figures.copy(), self.total, self.generic)
        self.executed[:] = 0
        self.scattered[:] = 0
        self.figures[:] = 0
        self.total = self.generic = 0
        return tally

    def _error(self, block: Dim3) -> ExecutionError:
        state, launch = self.state, self.launch
        number, why = int(state[m.F_PC]), int(state[m.WHY])
        thread, address = int(state[m.F_THREAD]), int(state[m.F_ADDRESS])
        x, y, _ = launch.block
        who = f"thread ({thread % x}, {thread // x % y}, {thread // (x * y)}) of block {block}"
        where = f"{self._standing()}, {who}"
        far = f"; {self.total} thread instructions were executed before"
        if why == m.F_UNKNOWN:
            reason = launch.lowered.problems.get(number, "")
            return UnsupportedError(f"not modelled: {reason}, at {where}{far}")
        if why == m.F_DEADLOCK:
            return DeadlockError(
                f"no warp can go on: {where} waits for threads that never come{far}"
            )
        if why == m.F_KILL:
            return ExecutionError(f"the kernel trapped at {where}{far}")
        if why == m.F_LANES:
            return UnsupportedError(
                f"some lanes are inactive where all must take part: {where}{far}"
            )
        if why == m.F_BRANCH:
            return ExecutionError(f"a branch to {address:#x}, outside the kernel: {where}{far}")
        if why == m.F_ALIGN:
            return MemoryAccessError(f"misaligned address {address:#x}: {where}{far}")
        if why == m.F_CONSTANT:
            return MemoryAccessError(f"constant offset {address:#x} out of bounds: {where}{far}")
        return MemoryAccessError(
            f"address {address:#x} out of bounds: {where}{far} ({self._accepted(number, address)})"
        )

    def _accepted(self, number: int, address: int) -> str:
        """Say what the kernel may access there."""
        launch = self.launch
        space = int(launch.lowered.program[number, m.PB])
        if space == m.SHARED and address < 1 << 32:
            start = launch.architecture.shared_start
            return f"accepted: {start:#x} to {start + launch.block_shared - 1:#x}, shared memory"
        if space == m.LOCAL:
            return f"accepted: 0x0 to {launch.local_bytes - 1:#x}, local memory"
        ranges = [
            f"{start:#x} to {end - 1:#x}"
            for start, end in zip(launch._starts.tolist(), launch._ends.tolist(), strict=True)
        ]
        return f"accepted: {', '.join(ranges)}, the arrays in global memory"


def dim3(given: object, what: str) -> Dim3:
    """Take an integer or up to three as (x, y, z).

    >>> dim3((8, 8), "grid")
    (8, 8, 1)

    Raises LaunchError for anything else.
    """
    values = given if isinstance(given, tuple | list) else (given,)
    good = 1 <= len(values) <= 3 and all(
        isinstance(value, int | np.integer) and not isinstance(value, bool) and 1 <= value < 2**31
        for value in values
    )
    if not good:
        raise LaunchError(f"{what} {given!r} (accepted: one to three positive integers)")
    x, y, z = (*(int(value) for value in values), 1, 1)[:3]
    return x, y, z
