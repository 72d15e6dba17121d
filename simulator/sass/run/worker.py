"""One block of threads at a time: its memory, and the loop around compiled code."""

from __future__ import annotations

import ctypes
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.layout import (
    ALIVE,
    CONTEXT,
    NUMBER,
    PREDICATES,
    REGISTERS,
    ROW,
    SLOT_BITS,
    SPECIAL,
    SUBWARPS,
    Fault,
    State,
    Status,
)
from simulator.sass.run.clocks import SYNC, SYNC_WORDS
from simulator.sass.run.faults import fault, limit_reached
from simulator.sass.run.memory import DEVICE
from simulator.sass.run.races import RaceWatch
from simulator.sass.run.tally import FIGURES, Tally, figures_of
from simulator.sass.run.timeline import Noted, Notes
from simulator.sass.run.units import SERVE, Units
from simulator.sass.run.warps import Warps
from simulator.sass.run.watch import FIELDS, SUSPECT, Watch, is_watched

if TYPE_CHECKING:
    from simulator.sass.run.cluster import Cluster
    from simulator.sass.run.grid import Dim3, GridRun

__all__ = ["BLOCK_LIMIT", "Progress", "Worker"]

BLOCK_LIMIT = 2**26
"""Instructions that the warps of one block may execute, where the caller sets no limit."""

_TRACE_ROWS, _TRACE_ROWS_TOGETHER = 1 << 15, 1 << 11  # where all blocks of a grid have one
_EVENTS = 1 << 16
_SERVED_EVENTS = 1 << 14  # what served instructions add between two looks at the room
_SLICE = 1 << 22  # instructions of warps between two looks at limits and progress
_TURN = 1 << 12  # of a block among blocks that wait for each other


def _aligned(size: int) -> NDArray[np.uint8]:
    """Return zeros at an address that vector code likes."""
    raw = np.zeros(size + ROW, dtype=np.uint8)
    start = -raw.ctypes.data % ROW
    return raw[start : start + size]


class Progress(Enum):
    """How far a block came."""

    DONE = "done"
    PAUSED = "paused"
    """It may go on; it is the turn of the cluster's others."""
    STANDS = "stands"
    """No warp of it can go on."""


class Worker:
    """The state of one block of a cluster: warps, shared memory, the trace."""

    def __init__(
        self, launch: GridRun, cluster: Cluster, rank: int = 0, recorder: Notes | None = None,
        races: RaceWatch | None = None,
    ) -> None:  # fmt: skip
        self.launch = launch
        self.recorder = recorder
        self.races = races
        self.notes = recorder is not None or races is not None
        """Whether what warps do is noted, in the first block."""
        self.rank = rank
        self.is_alone = launch.cluster == (1, 1, 1) and not launch.cooperative
        room = _TRACE_ROWS_TOGETHER if launch.cooperative else _TRACE_ROWS
        program, x, y, z = launch.program, *launch.block
        self.threads = x * y * z
        self.count = -(-self.threads // 32)
        self.warp_bytes = REGISTERS + ROW * (program.registers + 4)
        self.warps = _aligned(self.count * self.warp_bytes).reshape(self.count, self.warp_bytes)
        start = launch.architecture.shared_start
        moves = launch.moves
        size = launch.block_shared if moves is None else moves.bytes
        self.window = _aligned(start + max(16, -(-size // 16) * 16))
        """Shared memory by its address within the block, from 0."""
        self.shared = self.window[launch.shared_start :]
        self.local = _aligned(launch.local_bytes * 32 * self.count)
        self.context = np.zeros(len(CONTEXT), dtype=np.int64)
        self.group = np.zeros(self.count + 1, dtype=np.int64)
        self.barriers = np.zeros((2, 16), dtype=np.int64)
        size = len(program.steps)
        self.counts = np.zeros(size + 1, dtype=np.int64)
        self.partly = np.zeros(size, dtype=np.int64)
        """Executions of instructions in blocks of instructions that had a fault."""
        self.trace = _aligned(room * ROW).view(np.int32).reshape(room, 32)
        self.heads = np.zeros((room, 4), dtype=np.int32)
        self.weights = np.zeros(room, dtype=np.int64)
        self.slots = np.full(1 << SLOT_BITS, -1, dtype=np.int32)
        self.sources = _aligned(self.trace.nbytes).view(np.int32).reshape(self.trace.shape)
        """Of rows of copies: where their lanes read."""
        self.figures = np.zeros((len(program.sites), len(FIGURES)), dtype=np.int64)
        events = _EVENTS + _SERVED_EVENTS if self.notes else 1
        self.events = np.zeros(events, dtype=np.int64)
        self.total = 0
        self.watch = None
        if is_watched(program.requests) and moves is None:
            self.watch = Watch(program, self.window.size, start, self.count)
            self._suspect = SUSPECT(self.watch.suspect)
        self.units = Units(
            cluster, rank, Warps(self.warps), self.window, start,
            self.local.reshape(32 * self.count, -1), self.figures, self.watch,
        )  # fmt: skip
        self.units.moves, self.units.witness = moves, launch.witness
        if races and not recorder:
            self.units.order = self._order
        if recorder:
            self.units.notes, self.units.phases = self._note, recorder.phases
        self._serve = SERVE(self.units.serve)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(launch.code.run)
        self._fill_context(cluster)
        self._template = self._first_state()
        self._begun = False

    def _fill_context(self, cluster: Cluster) -> None:
        launch, code, memory = self.launch, self.launch.code, self.launch.memory
        start = launch.architecture.shared_start
        values = {
            "warps": self.warps, "warp_count": self.count, "warp_bytes": self.warp_bytes,
            "group": self.group, "extra": self.barriers[0], "needed": self.barriers[1],
            "length": len(launch.program.steps), "whole": code.tables[0], "masked": code.tables[1],
            "lengths": code.lengths, "sites": code.sites, "counts": self.counts,
            "shared": self.shared, "rank": self.rank,
            "blocks": len(cluster.bases), "blocks_shared": cluster.bases,
            "shared_start": (self.rank << 24) + launch.shared_start,
            "serve": ctypes.cast(self._serve, ctypes.c_void_p).value or 0,
            "shared_bytes": launch.block_shared + start - launch.shared_start,
            "arena": memory.arena, "arena_start": DEVICE,
            "starts": memory.starts, "ends": memory.ends, "ranges": len(memory.starts),
            "local": self.local, "local_bytes": launch.local_bytes, "banks": launch.banks.bytes,
            "bank_at": launch.banks.starts, "trace": self.trace, "heads": self.heads,
            "weights": self.weights, "slots": self.slots, "trace_rows": len(self.trace),
            "sources": self.sources, "noting": int(self.notes),
            "events": self.events, "event_room": _EVENTS if self.notes else 1 << 62,
            "moves": 0 if launch.moves is None else launch.moves.table,
            "places": 127 if launch.witness is None else -1,
        }  # fmt: skip
        for name, value in values.items():
            self.set(name, value.ctypes.data if isinstance(value, np.ndarray) else value)
        if self.watch:
            self._fill_watch(self.watch)
        cluster.bases[self.rank] = self.shared.ctypes.data
        # 32 signed bits reach 4 GiB from the middle.
        self.set("arena", self.get("arena") + (1 << 31))

    def _fill_watch(self, watch: Watch) -> None:
        first = watch.first
        self.set("watch", 1)
        self.set("suspect", ctypes.cast(self._suspect, ctypes.c_void_p).value or 0)
        self.set("written", watch.written[first:].ctypes.data)
        self.set("landing", watch.landing[first:].ctypes.data)
        self.set("reading", watch.reading[first:].ctypes.data)
        self.set("fenced", watch.fenced.ctypes.data)
        place = CONTEXT["read_until"] // 8
        watch.use(self.context[place : place + FIELDS])

    def get(self, name: str) -> int:
        """Read a field of the context."""
        return int(self.context[CONTEXT[name] // 8])

    def set(self, name: str, value: int) -> None:
        """Write a field of the context."""
        self.context[CONTEXT[name] // 8] = value

    def row(self, warp: int, offset: int) -> NDArray[np.uint32]:
        """Return 32 words of a warp's memory."""
        return self.warps[warp, offset : offset + ROW].view(np.uint32)

    def register(self, number: int) -> NDArray[np.uint32]:
        """Return a register of all threads of the block."""
        rows = [self.row(warp, REGISTERS + number * ROW) for warp in range(self.count)]
        return np.concatenate(rows)[: self.threads]

    def predicate(self, number: int) -> NDArray[np.uint32]:
        """Return a predicate of all threads of the block."""
        words = self.warps[:, PREDICATES + 4 * number : PREDICATES + 4 * number + 4]
        masks = np.ascontiguousarray(words).view(np.uint32)
        bits: NDArray[np.uint32] = masks >> np.arange(32, dtype=np.uint32) & np.uint32(1)
        return bits.reshape(-1)[: self.threads]

    def _first_state(self) -> NDArray[np.uint8]:
        """Return the warps' memory as it is when a block begins."""
        self.warps[:] = 0
        x, y, _ = self.launch.block
        for warp in range(self.count):
            lanes = min(32, self.threads - 32 * warp)
            mask = (1 << lanes) - 1
            head = self.warps[warp]
            head[:8].view(np.int64)[0] = self.context.ctypes.data
            head[NUMBER : NUMBER + 8].view(np.int64)[0] = warp
            head[ALIVE : ALIVE + 4].view(np.uint32)[0] = mask
            for part, value in enumerate((0, mask, int(State.READY), 0)):
                self.row(warp, SUBWARPS + part * ROW)[0] = value
            thread = np.arange(32 * warp, 32 * warp + 32, dtype=np.uint32)
            axes = (thread % x, thread // x % y, thread // (x * y))
            packed = axes[0] | axes[1] << 16 | axes[2] << 26
            for place, values in enumerate((*axes, packed)):
                self.row(warp, SPECIAL + place * ROW)[:] = values
        return self.warps.copy()

    def begin(self, block: Dim3) -> None:
        """Set the state up for a block."""
        if self.races and self._begun:
            self._end_races()
        self._begun = True
        self.warps[:] = self._template
        self.shared[:] = 0
        self.local[:] = 0
        self.barriers[:] = 0
        for axis, value in zip("xyz", block, strict=True):
            self.set(f"block_{axis}", value)
        for name in ("votes_yes", "votes_no", "result_yes", "result_no"):
            self.set(name, 0)
        self.set("resume", -1)
        self.block = block
        self.units.begin()
        if self.watch:
            self.watch.begin(block)
        self._spent, self._left = 0, self._slice(0)

    def choose_again(self) -> None:
        """Let the scheduler look for warps that can go on, though a group runs on its own."""
        self.set("joined", 1 << 62)

    def go_on(self, of: int) -> Progress:
        """Run the block from where it stands; `of`: how many blocks there are to run."""
        launch = self.launch
        while True:
            left = self._left
            self.set("budget", left)
            self.set("running", -1)
            before = self.get("threads")
            status = Status(self._call(self.context.ctypes.data))
            used = left - self.get("budget")
            self._left -= used
            self._spent += used
            if status == Status.FAULT:
                self._complete()
            threads = self.get("threads") - before
            self.total += threads
            launch.spend(used, threads, int(status == Status.DONE), of)
            if status == Status.DONE:
                self.units.end()
                if self.watch:
                    self.watch.end()
                if self.units.problem:
                    raise self.fault()
                return Progress.DONE
            if status == Status.FAULT:
                if self.get("why") == Fault.DEADLOCK:
                    return Progress.STANDS
                raise self.fault()
            if status == Status.COMPILE:
                launch.code.compile(self.get("pc"), bool(self.get("why")))
            elif status == Status.FLUSH:
                self.flush()
            elif launch.stopped:
                self.set("resume", -1)
                return Progress.DONE
            else:
                self._left = self._more(self._spent, self._left)
                if not self.is_alone:
                    return Progress.PAUSED

    def fault(self) -> BaseException:
        """Make the error of what went wrong."""
        problem, number, thread = self.units.problem, self.get("pc"), self.get("thread")
        why = Fault.SERVED if problem else Fault(self.get("why"))
        if self.units.blamed:
            number, warp = self.units.blamed
            thread = 32 * warp
        return fault(
            self.launch, why, number, thread, self.get("address"), self.block, self.total, problem
        )

    def _slice(self, spent: int) -> int:
        """Return how many instructions may run before the next look."""
        launch = self.launch
        limit = launch.max_instructions
        allowed = BLOCK_LIMIT - spent if limit is None else limit - launch.spent
        return min(allowed, _TURN if launch.cooperative else _SLICE)

    def _more(self, spent: int, left: int) -> int:
        """Return the next slice, where the last was not enough."""
        more = self._slice(spent)
        if more <= left:
            limit = self.launch.max_instructions
            raise limit_reached(
                self.launch, self.get("pc"), limit or BLOCK_LIMIT, limit is not None
            )
        return more

    def _complete(self) -> None:
        """Count the instructions up to a fault, within its block of instructions."""
        first, last = self.get("running"), self.get("pc")
        if first >= 0:
            self.partly[first : last + 1] += 1
            lanes = self.get("lanes").bit_count()
            self.set("threads", self.get("threads") + lanes * (last + 1 - first))

    def flush(self) -> None:
        """Count what the trace holds, by the law, and empty it."""
        rows = self.get("traced")
        if rows or self.get("event_count"):
            heads = self.heads[:rows]
            launch = self.launch
            figures, cycles, floors = figures_of(
                launch.program.sites, heads, self.trace[:rows], launch.rule, launch.engine(rows),
                launch.chip, self.sources[:rows],
            )  # fmt: skip
            if self.races:
                events = self.events[: self.get("event_count")]
                self.races.add(events, heads, self.trace[:rows], self.rank)
                self.set("event_count", 0)
                self.set("noting", int(not self.races.is_over))
            if self.recorder:
                events = self.events[: self.get("event_count")]
                noted = Noted(
                    events, heads, self.trace[:rows], self.sources[:rows], figures, cycles, floors
                )
                self.recorder.add(noted)
                self.set("event_count", 0)
            if launch.witness:
                weights, sources = self.weights[:rows], self.sources[:rows]
                launch.witness.see(heads, self.trace[:rows], weights, sources)
            figures *= self.weights[:rows, None]
            order = np.argsort(heads[:, 0], kind="stable")
            which, starts = np.unique(heads[order, 0], return_index=True)
            self.figures[which] += np.add.reduceat(figures[order], starts)
        self.slots[:] = -1
        self.set("traced", 0)

    def _end_races(self) -> None:
        """End the watch, when its block is done."""
        self.flush()
        self.races = None
        self.set("noting", 0)

    def _note(self, access: tuple[int, int, int, int]) -> None:
        """Note an access of a unit in the trace, which has room; it is counted elsewhere."""
        row, event = self.get("traced"), self.get("event_count")
        self.heads[row], self.trace[row], self.weights[row] = access, 0, 0
        self.events[event] = row
        self.set("traced", row + 1)
        self.set("event_count", event + 1)

    def _order(self, kind: int, warp: int, number: int, *words: int) -> None:
        """Note what is done at an mbarrier, for the watch: see `clocks.SYNC_WORDS`."""
        count = self.get("event_count")
        if self.races is None or not self.get("noting"):
            return
        if count + SYNC_WORDS > len(self.events):
            self.races.stop()
            return
        given = (1 << SYNC | kind << 58 | warp << 32 | number, *words)
        self.events[count : count + SYNC_WORDS] = [*given, *[0] * (SYNC_WORDS - len(given))]
        self.set("event_count", count + SYNC_WORDS)

    def take(self) -> Tally:
        """Return what was counted since the last time."""
        self.flush()
        executed = self.launch.code.executed(self.counts) + self.partly
        tally = Tally(
            executed, self.figures.copy(), self.total, self.get("generic_shared"),
            self.watch.take() if self.watch else {},
        )  # fmt: skip
        for each in (self.counts, self.partly, self.figures):
            each[:] = 0
        self.set("generic_shared", 0)
        self.total = 0
        return tally
