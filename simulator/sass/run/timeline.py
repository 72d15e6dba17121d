"""What each warp did, in order: its basic blocks, and what their memory accesses cost.

Off by default. Compiled code notes a number for each block of instructions that a warp runs and
for each access; `Recorder` makes steps of them, and codes repeats as a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.layout import LINE_SHIFT, MARK, VALUE
from simulator.sass.lift.sites import MemorySite, Unit
from simulator.sass.run.phases import Phases
from simulator.sass.run.tally import FIGURES

__all__ = [
    "START",
    "WARP",
    "Noted",
    "Notes",
    "Recorder",
    "Run",
    "Timeline",
    "TimelineAccess",
    "TimelineStep",
]

WARP, START = 56, 32
"""Where a block of instructions has its warp, five bits, and its first instruction."""
_LONGEST = 16  # steps of a loop


@dataclass(frozen=True)
class TimelineAccess:
    """One memory access of a warp."""

    number: int
    """The instruction, from 0."""
    space: str
    """shared or global."""
    cycles: int | None
    """How long it holds the pipe of shared memory; 0 for global memory; None: not known."""
    sectors: int
    """Sectors of 32 bytes of global memory."""
    lanes: int
    """Lanes that took part."""
    unit: Unit = "lsu"
    """A product of a warpgroup (gmma) stands in each of its four warps, with a share of cycles."""
    bytes: int = 0
    """What TMA copied."""


@dataclass(frozen=True)
class TimelineStep:
    """A straight run of instructions, executed by the lanes of a subwarp."""

    start: int
    """Its first instruction, from 0."""
    length: int
    lanes: int
    """How many lanes were active."""
    accesses: tuple[TimelineAccess, ...]


@dataclass(frozen=True)
class Run:
    """Some steps, one after the other, and all of them again: a loop's."""

    steps: tuple[int, ...]
    """Places in `Timeline.steps`."""
    times: int
    """How often, once at least."""


@dataclass(frozen=True)
class Timeline:
    """What the warps of one block of threads did, in each warp's order."""

    steps: tuple[TimelineStep, ...]
    """Each one once."""
    warps: tuple[tuple[Run, ...], ...]
    """What each warp did, from its first to its last step."""


@dataclass(frozen=True)
class Noted:
    """What compiled code noted of a block since the last time."""

    events: NDArray[np.int64]
    """Blocks of instructions, and rows of the trace with where they are."""
    heads: NDArray[np.int32]
    """Of each row of the trace: site, mask, first byte in its line."""
    trace: NDArray[np.int32]
    """Of each row: the lanes' offsets from the first."""
    sources: NDArray[np.int32]
    """Of each row: where copies read, as `count` takes it; of others anything."""
    figures: NDArray[np.int64]
    """Of each row, as `figures_of` returns them."""
    cycles: NDArray[np.int64]
    floors: NDArray[np.int64]
    """Cycles of each row with its bank conflicts, and without."""


class Notes(Protocol):
    """What takes note of what a block does."""

    @property
    def phases(self) -> Phases | None:
        """What takes note of mbarriers and copies; None: nobody wants to know."""

    def add(self, noted: Noted) -> None:
        """Take what was noted."""


@dataclass
class Recorder:
    """Makes a timeline of what compiled code notes."""

    warp_count: int
    lengths: NDArray[np.int64]
    """Of straight runs, by their first instruction."""
    sites: list[MemorySite]
    phases: None = None
    _known: dict[TimelineStep, int] = field(default_factory=dict)
    _done: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._done = [[] for _ in range(self.warp_count)]

    def add(self, noted: Noted) -> None:
        """Take what was noted."""
        events, accesses = noted.events, self._accesses(noted)
        marks = np.flatnonzero(events >> MARK)
        known: dict[bytes, int] = {}
        for begin, end in zip(marks, [*marks[1:], len(events)], strict=True):
            event = int(events[begin])
            rows = events[begin + 1 : end]
            rows = rows[rows >> VALUE == 0] & (1 << LINE_SHIFT) - 1
            key = (event & ~(31 << WARP)).to_bytes(8, "little") + rows.tobytes()
            if key not in known:
                start = event >> START & (1 << (WARP - START)) - 1
                lanes = (event & 0xFFFFFFFF).bit_count()
                found = tuple(accesses[row] for row in rows.tolist())
                step = TimelineStep(start, int(self.lengths[start]), lanes, found)
                known[key] = self._known.setdefault(step, len(self._known))
            self._done[event >> WARP & 31].append(known[key])

    def _accesses(self, noted: Noted) -> list[TimelineAccess]:
        found = []
        sectors_of = noted.figures[:, FIGURES.index("sectors")].tolist()
        for (which, mask, *amounts), cycles, sectors in zip(
            noted.heads.tolist(), noted.cycles.tolist(), sectors_of, strict=True
        ):
            site = self.sites[which]
            if site.unit != "lsu":
                found.append(_of_unit(site, mask, *amounts))
                continue
            known = site.space == "global" or site.op is not None
            lanes = (mask & 0xFFFFFFFF).bit_count()
            found.append(
                TimelineAccess(site.number, site.space, cycles if known else None, sectors, lanes)
            )
        return found

    def take(self) -> Timeline:
        """Return the timeline, and begin anew."""
        warps = tuple(_coded(np.array(done, dtype=np.int64)) for done in self._done)
        timeline = Timeline(tuple(self._known), warps)
        self._known = {}
        self.__post_init__()
        return timeline


def _of_unit(site: MemorySite, mask: int, sectors: int, amount: int) -> TimelineAccess:
    """Return the access of a unit; `amount`: wavefronts of wgmma, bytes of TMA."""
    is_copy = site.unit == "tma"
    lanes = (mask & 0xFFFFFFFF).bit_count()
    cycles, size = (0, amount) if is_copy else (amount, 0)
    return TimelineAccess(site.number, site.space, cycles, sectors, lanes, site.unit, size)


def _coded(steps: NDArray[np.int64]) -> tuple[Run, ...]:
    """Code what is repeated at once as a number: at each place the period that reaches furthest.

    >>> _coded(np.array([7, 1, 2, 1, 2, 1, 2, 9]))
    (Run(steps=(7,), times=1), Run(steps=(1, 2), times=3), Run(steps=(9,), times=1))
    """
    size = len(steps)
    # How many steps from each on are those a period later.
    equal = np.zeros((_LONGEST + 1, size + 1), dtype=np.int64)
    for period in range(1, min(_LONGEST, size - 1) + 1):
        same = steps[:-period] == steps[period:]
        places = np.arange(len(same))
        ends = np.minimum.accumulate(np.where(same, len(same), places)[::-1])[::-1]
        equal[period, : len(same)] = ends - places
    runs, place = [], 0
    while place < size:
        periods = np.arange(1, _LONGEST + 1)
        times = equal[1:, place] // periods + 1
        covered = np.where(times > 1, times * periods, 0)
        period = int(np.argmax(covered)) + 1  # of equals the shortest
        if covered[period - 1] == 0:
            period = 1
        count = int(times[period - 1])
        runs.append(Run(tuple(steps[place : place + period].tolist()), count))
        place += period * count
    return tuple(runs)
