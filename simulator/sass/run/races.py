"""Accesses of different warps to one shared address that no barrier orders, one of them a store.

A replay runs such accesses in one order; a chip may choose another. One block of a launch is
watched, for so many accesses, by vector clocks: each warp knows up to where it is behind each
other. What orders warps is taken for more than it is, never for less: any mbarrier, fence or lock
orders all before it with all behind it. So what is found has no order, and some may not be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit
from simulator.sass.lift.program import Program
from simulator.sass.lift.sites import MemorySite

__all__ = ["Race", "RaceWatch"]

MOST_ACCESSES = 1 << 17
"""Of warps, in the block that is watched."""

_MOST_PAIRS = 64
_SYNCS = (
    "SYNCS", "ARRIVES", "UCGABAR_ARV", "UCGABAR_WAIT", "MEMBAR", "STAS", "REDAS", "ERRBAR",
    "CGAERRBAR",
)  # fmt: skip
_LOCKS = ("CAS", "EXCH", "ARRIVE")
_LOAD, _STORE, _ATOMIC = 1, 2, 3
_LOOSE = -2


@dataclass(frozen=True)
class Race:
    """Two accesses without an order: the sites, and the warps that were seen there."""

    first: MemorySite
    second: MemorySite
    warps: tuple[int, int]

    def __str__(self) -> str:
        (one, here), (other, there) = (
            (_verb(site), _place(site)) for site in (self.first, self.second)
        )
        return (
            f"{there}, warp {self.warps[1]}, {other} what {here}, warp {self.warps[0]}, {one} in"
            " shared memory, with no barrier between: the result depends on timing"
        )


def _verb(site: MemorySite) -> str:
    name = site.instruction.opcode.split(".")[0]
    if name.startswith(("ATOM", "RED")):
        return "adds to"
    return "stores to" if site.is_store else "loads"


def _place(site: MemorySite) -> str:
    code = site.instruction
    at = f"{code.address:#06x} {code.opcode}"
    return f"{code.file}:{code.line} ({at})" if code.line else at


class _State(NamedTuple):
    """What is known of the program, and of the block so far; arrays of integers."""

    about: NDArray[np.int64]
    """Of each site: load, store or atomic, its bytes, its lanes."""
    options: NDArray[np.int64]
    """Bits of an address within a granule, whether there are locks, and spinning loops."""
    syncs: NDArray[np.int64]
    """How many instructions before each order warps, but for barriers."""
    bars: NDArray[np.int64]
    """Of each instruction: the barrier, as `_barrier` gives it; -1: it is none."""
    ends: NDArray[np.int64]
    """Where the straight run from each instruction ends."""
    lanes: NDArray[np.int64]
    """Of each warp: all its lanes."""
    clocks: NDArray[np.int64]
    """Of each warp; of all locks and fences; of each barrier in this turn and the one before."""
    barriers: NDArray[np.int64]
    """Of each: who has arrived, its turn, and whether a part of a warp has arrived."""
    waiting: NDArray[np.int64]
    """Of each warp: the barrier at which it waits, in which turn; whether it passed a fence."""
    writes: NDArray[np.int64]
    """The last of each granule: warp + 1, clock, site, value; of atomics the first three."""
    reads: NDArray[np.int32]
    """The last of each granule by each warp: clock, site."""
    pairs: NDArray[np.int64]
    """What was found: both sites, both warps."""
    done: NDArray[np.int64]
    """How many pairs were found, and how many accesses seen."""


class RaceWatch:
    """Watches the accesses of one block to shared memory, as compiled code notes them."""

    def __init__(self, program: Program, threads: int, shared_bytes: int) -> None:
        self._sites = program.sites
        kinds, widths, lanes, locks = [], [], [], False
        for site in program.sites:
            name, *modifiers = site.instruction.opcode.split(".")
            is_atomic = name in ("ATOMS", "ATOM", "RED")
            counted = site.space == "shared" and site.unit == "lsu" and site.width > 0
            kind = _ATOMIC if is_atomic else _STORE if site.is_store else _LOAD
            kinds.append(kind if counted else 0)
            widths.append(max(site.width, 1))
            matrices = _matrices(modifiers) if name in ("LDSM", "STSM") else 4
            lanes.append(8 * matrices)
            locks |= counted and is_atomic and any(each in _LOCKS for each in modifiers)
        spins = any("CAST" in each.instruction.opcode for each in program.sites)
        shared = [width for width, kind in zip(widths, kinds, strict=True) if kind]
        self.is_needed = threads > 32 and {_STORE, _ATOMIC} & set(kinds) != set()
        """Whether there can be any."""
        granule = min([*shared, 4])
        warps = -(-threads // 32)
        names = [each.opcode.split(".")[0] for each in program.instructions]
        bars = [
            _barrier(each.operands, each.opcode, each.guard) if name == "BAR" else -1
            for name, each in zip(names, program.instructions, strict=True)
        ]
        full = [(1 << min(32, threads - 32 * warp)) - 1 for warp in range(warps)]
        clocks = np.zeros((warps + 1 + 32, warps), np.int64)
        clocks[:warps] = np.eye(warps, dtype=np.int64)
        size = -(-shared_bytes // granule) if self.is_needed else 0
        writes = np.zeros((size, 7), np.int64)
        writes[:, 3] = -1
        self._state = _State(
            about=np.array([kinds, widths, lanes], np.int64),
            options=np.array([granule.bit_length() - 1, int(locks), int(spins)], np.int64),
            syncs=np.cumsum([0, *(name in _SYNCS for name in names)]).astype(np.int64),
            bars=np.array(bars, np.int64),
            ends=program.ends(),
            lanes=np.array(full, np.int64),
            clocks=clocks,
            barriers=np.zeros((3, 16), np.int64),
            waiting=np.full((3, warps), -1, np.int64),
            writes=writes,
            reads=np.zeros((size, warps, 2), np.int32),
            pairs=np.zeros((_MOST_PAIRS, 4), np.int64),
            done=np.zeros(2, np.int64),
        )

    @property
    def is_over(self) -> bool:
        """Whether so many accesses have been seen that it is enough."""
        return not self.is_needed or int(self._state.done[1]) >= MOST_ACCESSES

    def add(
        self, events: NDArray[np.int64], heads: NDArray[np.int32], trace: NDArray[np.int32]
    ) -> None:
        """Take what was noted, and the rows of the trace that it names."""
        if not self.is_over:
            _examine(events, heads, trace, self._state)

    def found(self) -> list[Race]:
        """Return what was found, each pair of instructions once."""
        return [
            Race(self._sites[first], self._sites[second], (one, other))
            for first, second, one, other in self._state.pairs[: self._state.done[0]].tolist()
        ]


def _matrices(modifiers: Sequence[str]) -> int:
    """Return how many matrices LDSM or STSM moves: LDSM.16.M88.4 four, LDSM.16.M88 one."""
    return int(modifiers[-1]) if modifiers[-1] in ("2", "4") else 1


def _barrier(operands: str, opcode: str, guard: str) -> int:
    """Return a barrier's number, and 16 more where nobody waits; 32: it is not known here."""
    number = operands.split(",")[0].strip()
    modifiers = opcode.split(".")
    arrives = 16 if "ARV" in modifiers and "RED" not in modifiers else 0
    if guard:
        return 32
    if not number or number.startswith(("!", "P", "UP")):
        return arrives
    try:
        value = int(number, 0)
    except ValueError:
        return 32
    return value + arrives if 0 <= value < 16 else 32


@jit()
def _join(clocks, to, other):  # type: ignore[no-untyped-def]
    for warp in range(clocks.shape[1]):
        clocks[to, warp] = max(clocks[to, warp], clocks[other, warp])


@jit()
def _report(pairs, done, first, second, one, other):  # type: ignore[no-untyped-def]
    for place in range(done[0]):
        same = pairs[place, 0] == first and pairs[place, 1] == second
        if same or (pairs[place, 0] == second and pairs[place, 1] == first):
            return
    if done[0] < len(pairs):
        place = done[0]
        pairs[place, 0], pairs[place, 1] = first, second
        pairs[place, 2], pairs[place, 3] = one, other
        done[0] += 1


@jit()
def _arrive(clocks, barriers, waiting, warp, which, is_part):  # type: ignore[no-untyped-def]
    """Let a warp arrive at a barrier."""
    warps = clocks.shape[1]
    shared = warps
    if which == 32:
        _join(clocks, shared, warp)
        waiting[2, warp] = 1
    else:
        number = which & 15
        bit = np.int64(1) << warp
        if is_part:
            barriers[2, number] = 1
        now, before = shared + 1 + number, shared + 17 + number
        if barriers[0, number] & bit and not barriers[2, number]:
            clocks[before] = clocks[now]
            clocks[now] = 0
            barriers[0, number] = 0
            barriers[1, number] += 1
        _join(clocks, now, warp)
        barriers[0, number] |= bit
        if which < 16:
            waiting[0, warp] = number
            waiting[1, warp] = barriers[1, number]
    clocks[warp, warp] += 1


@jit()
def _go_on(clocks, barriers, waiting, warp):  # type: ignore[no-untyped-def]
    """Let a warp know what those knew that it has waited for."""
    shared = clocks.shape[1]
    if waiting[2, warp] == 1:
        _join(clocks, warp, shared)
        waiting[2, warp] = -1
    number = waiting[0, warp]
    if number >= 0:
        loose = barriers[2, number] == 1
        if loose or waiting[1, warp] == barriers[1, number]:
            _join(clocks, warp, shared + 1 + number)
        if loose or waiting[1, warp] != barriers[1, number]:
            _join(clocks, warp, shared + 17 + number)
        waiting[0, warp] = -1


@jit()
def _examine(events, heads, trace, state):  # type: ignore[no-untyped-def]
    about, syncs, bars, ends, lanes = state.about, state.syncs, state.bars, state.ends, state.lanes
    clocks, barriers, waiting = state.clocks, state.barriers, state.waiting
    writes, reads, pairs, done = state.writes, state.reads, state.pairs, state.done
    warps = clocks.shape[1]
    shift, locks, spins = state.options
    warp = np.int64(-1)
    after_sync = False
    which_bar = np.int64(-1)
    part = False
    place = 0
    while place <= len(events):
        is_end = place == len(events)
        event = np.int64(0) if is_end else events[place]
        if is_end or event >> 62:
            if warp >= 0:  # what the last straight run ends with
                if after_sync:
                    _join(clocks, warps, warp)
                    clocks[warp, warp] += 1
                    waiting[2, warp] = 1
                if which_bar >= 0:
                    _arrive(clocks, barriers, waiting, warp, which_bar, part)
            if is_end:
                break
            warp = (event >> 56) & 31
            start = (event >> 32) & 0xFFFFFF
            _go_on(clocks, barriers, waiting, warp)
            after_sync = syncs[ends[start]] > syncs[start]
            if after_sync:
                _join(clocks, warp, warps)
            which_bar = bars[ends[start] - 1]
            part = (event & 0xFFFFFFFF) != lanes[warp]
            place += 1
            continue
        row = event & 0xFFFFFFFF
        value = np.int64(-1)
        if place + 1 < len(events) and (events[place + 1] >> 61) == 1:
            value = events[place + 1] & 0xFFFFFFFF
            place += 1
        place += 1
        site = np.int64(heads[row, 0])
        kind = about[0, site]
        if kind == 0 or warp < 0:
            continue
        done[1] += 1
        if kind == 3 and locks:
            _join(clocks, warp, warps)
        mask = np.int64(heads[row, 1]) & 0xFFFFFFFF
        first = (((event >> 32) & 0x1FFFFFF) << 7) + heads[row, 2]
        own = clocks[warp, warp]
        granules = max(1, about[1, site] >> shift)
        for lane in range(about[2, site]):
            if not (mask >> lane) & 1:
                continue
            begin = (first + trace[row, lane]) >> shift
            for g in range(begin, min(begin + granules, len(writes))):
                writer = writes[g, 0] - 1
                if writer >= 0 and writer != warp and writes[g, 1] > clocks[warp, writer]:
                    same = kind == 2 and value >= 0 and value == writes[g, 3]
                    if not same and not (kind == 3 and locks):
                        _report(pairs, done, writes[g, 2], site, writer, warp)
                writer = writes[g, 4] - 1
                if kind != 3 and writer >= 0 and writer != warp:
                    if locks:
                        _join(clocks, warp, warps)
                    elif writes[g, 5] > clocks[warp, writer] and not (kind == 1 and spins):
                        _report(pairs, done, writes[g, 6], site, writer, warp)
                if kind == 1:
                    reads[g, warp, 0] = own
                    reads[g, warp, 1] = site
                    continue
                if not (kind == 3 and (spins or locks)):
                    for reader in range(warps):
                        if reader != warp and reads[g, reader, 0] > clocks[warp, reader]:
                            _report(pairs, done, reads[g, reader, 1], site, reader, warp)
                last = 0 if kind == 2 else 4
                writes[g, last] = warp + 1
                writes[g, last + 1] = own
                writes[g, last + 2] = site
                if kind == 2:
                    writes[g, 3] = value
        if kind == 3 and locks:
            _join(clocks, warps, warp)
            clocks[warp, warp] += 1
