"""Traces of blocks for the estimate of time: like a timeline, with the lines that were accessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.layout import (
    CONSTANT,
    CONSTANT_SHIFT,
    LINE_MASK,
    LINE_SHIFT,
    MARK,
    TABLE_NUMBER,
    TABLE_SHIFT,
    VALUE,
)
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.phases import Phases
from simulator.sass.run.tally import FIGURES
from simulator.sass.run.timeline import START, WARP
from simulator.timing.code import ATOMICS
from simulator.timing.distinct import distinct
from simulator.timing.lines import copy_asks, copy_fills, load_cycles, store_cycles
from simulator.timing.traces import AccessRows, BlockTrace, Steps

if TYPE_CHECKING:
    from simulator.sass.run.timeline import Noted

__all__ = ["Tracer"]

_SECTORS, _WAY = FIGURES.index("sectors"), FIGURES.index("mutual_tenths")
_BYPASSING = "LDGSTS.E.BYPASS.128"


@dataclass(frozen=True)
class _Row:
    """A kind of access."""

    number: int
    is_shared: bool
    cycles: int
    """For which it holds the data pipe."""
    floor: int
    sectors: int
    bytes: int
    lines: tuple[tuple[int, int, int], ...]
    """Of global memory: each line from the first lane's on, its sectors as bits, and of an atomic
    how many lanes meet in each (`AccessRows.crowd`)."""
    away: int = 0
    """Of a neighbour's memory: tenths of cycles of the way there, where the neighbour does so."""
    asked: int = 0
    """Of a copy into shared memory: lines that it asks the L2 for."""
    table: int = 0
    """Of a table of constants: see `AccessRows`."""


@dataclass(frozen=True, eq=False)
class Did:
    """What the warps of a block did: an element each."""

    steps: list[NDArray[np.int64]]
    bases: list[NDArray[np.int64]]
    """Lines of accesses to global memory."""
    events: list[NDArray[np.int64]]
    """What went on beside it: rows as `Phases.take` returns them."""
    copied: Mapping[int, tuple[NDArray[np.int64], ...]]
    """Of the block: the sectors that copies touched, by instruction and turn."""


@dataclass
class Tracer:
    """Makes traces of what compiled code notes: steps and rows are those of all blocks."""

    warp_count: int
    lengths: NDArray[np.int64]
    """Of straight runs, by their first instruction."""
    sites: list[MemorySite]
    _rows: dict[_Row, int] = field(default_factory=dict)
    _steps: dict[tuple[int, int, bytes], int] = field(default_factory=dict)
    _keys: dict[bytes, int] = field(default_factory=dict)
    _named_rows: dict[bytes, int] = field(default_factory=dict)
    """Rows by all that was noted of them."""
    phases: Phases = field(init=False)
    _done: list[list[int]] = field(default_factory=list)
    _bases: list[list[NDArray[np.int64]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.phases = Phases(self.warp_count)
        self._begin()

    @cached_property
    def _is_global(self) -> NDArray[np.bool_]:
        """Of each site, whether it is noted which lines an access touches."""
        return np.array([_has_lines(site) for site in self.sites] or [False])

    @cached_property
    def _is_bypassing(self) -> NDArray[np.bool_]:
        """Of each site, whether it copies 16 bytes per lane."""
        return np.array([site.op == _BYPASSING for site in self.sites] or [False])

    @cached_property
    def _loading(self) -> dict[int, NDArray[np.bool_]]:
        """Of each site, whether it loads so many bytes per lane of global memory into registers."""
        widths = {site.width for site in self.sites if _loads_lines(site)}
        return {
            width: np.array([_loads_lines(each) and each.width == width for each in self.sites])
            for width in widths
        }

    def _begin(self) -> None:
        self._done = [[] for _ in range(self.warp_count)]
        self._bases = [[] for _ in range(self.warp_count)]

    def add(self, noted: Noted) -> None:
        """Take what was noted."""
        if not len(noted.events):
            return
        known = self._named(noted)
        is_constant = noted.events >> CONSTANT & 3 == 3
        is_constant &= noted.events >> MARK == 0
        events = noted.events[(noted.events >> VALUE & 1 == 0) | is_constant]
        is_mark = events >> MARK != 0
        coded = np.where(is_mark, events & ~(31 << WARP), 0)
        reads = events >> VALUE & 1 != 0
        coded[reads] = self._constants(events[reads])
        is_mark_or_read = is_mark | reads
        rows = events[~is_mark_or_read] & (1 << LINE_SHIFT) - 1
        coded[~is_mark_or_read] = known[rows]
        marks = np.flatnonzero(is_mark)
        warps = (events[marks] >> WARP & 31).tolist()
        ends = [*marks[1:].tolist(), len(events)]
        for warp, begin, end in zip(warps, marks.tolist(), ends, strict=True):
            key = coded[begin:end].tobytes()
            step = self._keys.get(key)
            if step is None:
                event = int(coded[begin])
                start = event >> START & (1 << (WARP - START)) - 1
                lanes = (event & 0xFFFFFFFF).bit_count()
                found = (start, lanes, coded[begin + 1 : end].tobytes())
                step = self._keys[key] = self._steps.setdefault(found, len(self._steps))
            self._done[warp].append(step)
        # The lines of accesses to global memory, each with its warp.
        of = np.repeat(events[marks] >> WARP & 31, np.diff([*marks, len(events)]))
        of = of[~is_mark_or_read]
        chosen = self._is_global[noted.heads[rows, 0]] if len(rows) else np.zeros(0, np.bool_)
        # Lines count from the middle of 4 GiB.
        lines = (events[~is_mark_or_read][chosen] >> LINE_SHIFT & LINE_MASK) ^ (LINE_MASK + 1) >> 1
        for warp in range(self.warp_count):
            mine = lines[of[chosen] == warp]
            if len(mine):
                self._bases[warp].append(mine)

    def _constants(self, events: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of accesses to constants or local memory at so many places: sectors.

        A barrier that is turned off has a row, too, of none.
        """
        kinds, which = np.unique(events, return_inverse=True)
        named = np.zeros(len(kinds), dtype=np.int64)
        for place, event in enumerate(kinds.tolist()):
            words = event & (1 << CONSTANT_SHIFT) - 1
            number = event >> CONSTANT_SHIFT & TABLE_NUMBER
            table = event >> TABLE_SHIFT & (1 << CONSTANT - TABLE_SHIFT) - 1
            row = _Row(number, True, 0, 0, words, 0, (), table=table)
            named[place] = self._rows.setdefault(row, len(self._rows))
        return named[which]

    def _named(self, noted: Noted) -> NDArray[np.int64]:
        """Return the numbers of the rows that are among what was noted: most were noted before."""
        keys = self._row_keys(noted)
        named = np.array([self._named_rows.get(key, -1) for key in keys], np.int64)
        new = np.flatnonzero(named < 0)
        if len(new):
            of_rows = ("heads", "trace", "sources", "figures", "cycles", "floors")
            part = replace(noted, **{name: getattr(noted, name)[new] for name in of_rows})
            named[new] = self._new_rows(part)
            self._named_rows.update((keys[at], int(named[at])) for at in new.tolist())
        return named

    def _row_keys(self, noted: Noted) -> list[bytes]:
        """Return all that is noted of each row, but for lanes' places that tell nothing of it."""
        which = noted.heads[:, :1]
        copies, lines = self._is_bypassing[which], self._is_global[which]
        figures = (noted.figures[:, _SECTORS], noted.figures[:, _WAY], noted.cycles, noted.floors)
        numbers = np.ascontiguousarray(np.stack(figures, axis=1, dtype=np.int64))
        parts = [noted.heads, np.where(copies | lines, noted.trace, 0),
                 np.where(copies, noted.sources, 0), numbers.view(np.int32)]  # fmt: skip
        whole = np.concatenate(parts, axis=1, dtype=np.int32)
        size = whole.shape[1] * whole.itemsize
        every = whole.tobytes()
        return [every[at : at + size] for at in range(0, len(every), size)]

    def _new_rows(self, noted: Noted) -> NDArray[np.int64]:
        """Return the numbers of rows that may be new."""
        floors, cycles = noted.floors.tolist(), noted.cycles.tolist()
        sectors, ways = noted.figures[:, _SECTORS].tolist(), noted.figures[:, _WAY].tolist()
        loads, fills = self._loads(noted), self._fills(noted)
        named = np.zeros(len(noted.heads), dtype=np.int64)
        for place, (which, mask, turn, amount) in enumerate(noted.heads.tolist()):
            site = self.sites[which]
            if (not _has_lines(site) and site.space != "shared") or site.unit != "lsu":
                # Of a unit: sectors and bytes of TMA. What wgmma reads follows from its shape. Of
                # a neighbour: the way there.
                size = amount if site.unit == "tma" else 0
                away = ways[place] if site.space == "neighbour" and site.unit == "lsu" else 0
                row = _Row(site.number, True, 0, 0, 0 if away else turn, size, (), away)
                named[place] = self._rows.setdefault(row, len(self._rows))
                continue
            is_shared = site.space == "shared"
            lanes = [lane for lane in range(32) if mask >> lane & 1]
            meets = site.instruction.opcode.split(".")[0] in ATOMICS
            lines = () if is_shared else _lines(noted.trace[place, lanes], turn, site.width, meets)
            size, held = len(lanes) * site.width, (cycles[place], floors[place])
            if not is_shared:
                held = loads.get(place) or (store_cycles(size, [mask for _, mask, _ in lines]),) * 2
            sent, asked = fills.get(place, (sectors[place], 0))
            row = _Row(site.number, is_shared, *held, sent, size, lines, asked=asked)
            named[place] = self._rows.setdefault(row, len(self._rows))
        return named

    def _loads(self, noted: Noted) -> dict[int, tuple[int, int]]:
        """Return what loads of global memory hold the data pipe, and the least, by their rows."""
        found: dict[int, tuple[int, int]] = {}
        which = noted.heads[:, 0]
        for width, chosen in self._loading.items():
            places = np.flatnonzero(chosen[which])
            if len(places):
                first = noted.heads[places, 2:3].astype(np.int64)
                masks = noted.heads[places, 1].view(np.uint32)
                offsets = noted.trace[places] + first
                offsets -= offsets.min(axis=1, keepdims=True) & -128
                pairs = zip(*(each.tolist() for each in load_cycles(width, offsets, masks)),
                            strict=True)  # fmt: skip
                found.update(zip(places.tolist(), pairs, strict=True))
        return found

    def _fills(self, noted: Noted) -> dict[int, tuple[int, int]]:
        """Return the sectors that the L2 sends for copies of 16 bytes, and the lines asked for."""
        places = np.flatnonzero(self._is_bypassing[noted.heads[:, 0]])
        if not len(places):
            return {}
        targets = noted.trace[places].astype(np.int64) + noted.heads[places, 2:3]
        sources = noted.sources[places].astype(np.int64)
        masks = noted.heads[places, 1].view(np.uint32)
        pairs = zip(copy_fills(targets, sources, masks).tolist(),
                    copy_asks(targets, sources, masks).tolist(), strict=True)  # fmt: skip
        return dict(zip(places.tolist(), pairs, strict=True))

    def beside(self) -> Tracer:
        """Return a tracer of another block that runs at the same time: it knows the same steps."""
        return Tracer(
            self.warp_count, self.lengths, self.sites, self._rows, self._steps, self._keys,
            self._named_rows,
        )  # fmt: skip

    def take(self) -> Did:
        """Return what the warps of a block did, and begin the next block."""
        steps = [np.array(done, dtype=np.int64) for done in self._done]
        bases = [np.concatenate([np.zeros(0, np.int64), *each]) for each in self._bases]
        self._begin()
        return Did(steps, bases, *self.phases.take())

    def tables(self) -> tuple[Steps, AccessRows]:
        """Return the steps and rows of all blocks."""
        rows = list(self._rows)
        begins = np.cumsum([0, *(len(row.lines) for row in rows)])
        lines = np.array([line for row in rows for line in row.lines], np.int64).reshape(-1, 3)
        names = ("number", "cycles", "floor", "sectors", "bytes", "away", "asked", "table")
        columns = {name: np.array([getattr(row, name) for row in rows], np.int64) for name in names}
        is_shared = np.array([row.is_shared for row in rows], np.bool_)
        table = AccessRows(
            is_shared=is_shared, line_begin=begins, line=lines[:, 0].copy(),
            mask=lines[:, 1].copy(), crowd=lines[:, 2].copy(), **columns,
        )  # fmt: skip
        found = [np.frombuffer(accessed, np.int64) for _, _, accessed in self._steps]
        starts = np.array([start for start, _, _ in self._steps], np.int64)
        steps = Steps(
            starts,
            self.lengths[starts] if len(starts) else starts,
            np.array([lanes for _, lanes, _ in self._steps], np.int64),
            np.cumsum([0, *map(len, found)]),
            np.concatenate([np.zeros(0, np.int64), *found]),
        )
        return steps, table


def block_trace(
    block: tuple[int, int, int], steps: Steps, rows: AccessRows, did: Did
) -> BlockTrace:
    """Join what the warps of a block did."""

    def begins(each: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.cumsum([0, *map(len, each)])

    return BlockTrace(
        block, steps, rows, begins(did.steps), np.concatenate(did.steps), begins(did.bases),
        np.concatenate(did.bases), begins(did.events), np.concatenate(did.events), did.copied,
    )  # fmt: skip


def _has_lines(site: MemorySite) -> bool:
    """Whether it is noted which lines of global memory an access touches."""
    return site.space == "global" and site.unit == "lsu"


def _loads_lines(site: MemorySite) -> bool:
    """Whether it is a load of global memory into registers."""
    return _has_lines(site) and site.instruction.opcode.split(".")[0] in ("LDG", "LD")


def _lines(
    offsets: NDArray[np.int32], turn: int, width: int, meets: bool = False
) -> tuple[tuple[int, int, int], ...]:
    """Return the lines that lanes touch, from the first lane's on, and their sectors as bits.

    `meets`: whether it is an atomic. Then, how many lanes at most change the same word of each
    sector, eight bits each, else 0.

    >>> _lines(np.array([0, 4, 120], np.int32), 8, 4)
    ((0, 1, 0), (1, 1, 0))
    >>> _lines(np.array([0, 4, 4, 32], np.int32), 0, 4, True) == ((0, 3, 1 << 8 | 2),)
    True
    """
    first = offsets.astype(np.int64) + turn
    sectors = distinct(np.concatenate([first >> 5, (first + width - 1) >> 5]))
    found: dict[int, int] = {}
    for sector in sectors.tolist():
        found[sector >> 2] = found.get(sector >> 2, 0) | 1 << (sector & 3)
    if not meets:
        return tuple((line, mask, 0) for line, mask in found.items())
    crowds: dict[int, int] = {}
    for place, lanes in Counter(first.tolist()).items():
        crowds[place >> 5] = max(crowds.get(place >> 5, 0), lanes)
    return tuple(
        (line, mask, sum(crowds.get(4 * line + each, 0) << 8 * each for each in range(4)))
        for line, mask in found.items()
    )
