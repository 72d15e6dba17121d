"""Accesses of different warps to one shared address that no barrier orders, one of them a store.

A replay runs such accesses in one order; a chip may choose another. One block of a launch is
watched, or one cluster whose blocks may access each other, for so many accesses. It is done by
vector clocks: each warp knows up to where it is behind each other. An mbarrier orders what those
did that arrived at it with what those do that waited for it. Locks, and fences where warps signal
each other, order all before them with all behind: they are taken for more than they are, never for
less. So what is found has no order, and some may not be found. Where a warp arrives at an mbarrier
of another block, only what is before its last fence of the cluster is ordered: that fence is what
machine code has of `.release.cluster` (PTX ISA, "mbarrier.arrive"; NVRTC 13.5).

A warp that reads a tile in another block's memory must be behind a wait for the tile's mbarrier.
The copy that brings a tile must be behind what others read there before.
A block's shared memory is gone when the block ends: accesses that nobody waited for are found, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.program import Program
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.clocks import SYNC_WORDS, RaceState, examine, settle
from simulator.sass.run.gates import synchronise

__all__ = ["EarlyRead", "LateAccess", "Race", "RaceWatch"]

MOST_ACCESSES = 1 << 17
"""Of warps, in the block or cluster that is watched."""

_MOST_PAIRS = 64
_FENCES = ("MEMBAR", "ERRBAR", "CGAERRBAR")
_MOST_BYTES = 1 << 29  # for what is kept of each warp's loads
_CLUSTER = ("UCGABAR_ARV", "UCGABAR_WAIT")
_LOCKS = ("CAS", "EXCH", "ARRIVE")
_LOAD, _STORE, _ATOMIC = 1, 2, 3
_MOST_BARRIERS = 256
"""mbarriers of a block that are told apart; the others order all warps that use any of them."""
_MOST_TILES = 1 << 14
_COPIES = ("UTMALDG", "UBLKCP", "STAS", "REDAS")


@dataclass(frozen=True)
class Race:
    """Two accesses without an order: the sites, and the warps that were seen there."""

    first: MemorySite
    second: MemorySite
    warps: tuple[str, str]
    """Such as "warp 3", or "warp 3 of block 1 of the cluster"."""

    def __str__(self) -> str:
        (one, here), (other, there) = (
            (_verb(site), _place(site)) for site in (self.first, self.second)
        )
        return (
            f"{there}, {self.warps[1]}, {other} what {here}, {self.warps[0]}, {one} in"
            " shared memory, with no barrier between: the result depends on timing"
        )


@dataclass(frozen=True)
class LateAccess:
    """An access to a neighbour that may have ended by then: the site, the warp, the neighbour."""

    site: MemorySite
    warp: str
    block: int

    def __str__(self) -> str:
        return (
            f"may not hold on the chip: {_place(self.site)}, {self.warp}, {_verb(self.site)}"
            f" shared memory of block {self.block}, which may have ended by then (next:"
            " cluster.sync() in all threads behind the last such access)"
        )


@dataclass(frozen=True)
class EarlyRead:
    """A read of a tile in another block: the site, the copy, the warp, the tile's block."""

    site: MemorySite
    copy: SassInstruction
    warp: str
    block: int

    def __str__(self) -> str:
        return (
            f"may not hold on the chip: {_place(self.site)}, {self.warp}, reads what"
            f" {_at(self.copy)} brings to block {self.block}, and nothing orders the two (next:"
            " wait for the copy's mbarrier there, then cluster.sync(), before the read; and"
            " cluster.sync() before the next copy)"
        )


def _verb(site: MemorySite) -> str:
    name = site.instruction.opcode.split(".")[0]
    if name.startswith(("ATOM", "RED")):
        return "adds to"
    return "stores to" if site.is_store else "loads"


def _place(site: MemorySite) -> str:
    return _at(site.instruction)


def _at(code: SassInstruction) -> str:
    at = f"{code.address:#06x} {code.opcode}"
    return f"{code.file}:{code.line} ({at})" if code.line else at


class RaceWatch:
    """Watches the accesses of a cluster's blocks to shared memory, as compiled code notes them.

    `blocks`: of the cluster. Where they may not access each other's, the first alone is watched.
    """

    def __init__(
        self, program: Program, threads: int, shared_bytes: int, shared_start: int, blocks: int = 1
    ) -> None:
        self._sites, self._instructions = program.sites, program.instructions
        away = [site.space == "neighbour" and site.width > 0 for site in program.sites]
        numbers = [site.number for site in program.sites]
        spaces = ("shared", "neighbour") if blocks > 1 else ("shared",)
        kinds, widths, lanes, locks = [], [], [], False
        for site in program.sites:
            name, *modifiers = site.instruction.opcode.split(".")
            is_atomic = name in ("ATOMS", "ATOM", "RED")
            counted = site.space in spaces and site.unit == "lsu" and site.width > 0
            kind = _ATOMIC if is_atomic else _STORE if site.is_store else _LOAD
            kinds.append(kind if counted else 0)
            widths.append(max(site.width, 1))
            matrices = _matrices(modifiers) if name in ("LDSM", "STSM") else 4
            lanes.append(8 * matrices)
            locks |= counted and is_atomic and any(each in _LOCKS for each in modifiers)
        spins = any("CAST" in each.instruction.opcode for each in program.sites)
        shared = [width for width, kind in zip(widths, kinds, strict=True) if kind]
        granule = min([*shared, 4])
        own, size = -(-threads // 32), -(-shared_bytes // granule)
        if not any(away) or blocks * size * blocks * own * 8 > _MOST_BYTES:
            blocks = 1
        self.blocks = blocks
        """How many of the cluster's are watched: all, or the first."""
        brings = any(each.opcode.startswith(_COPIES) for each in program.instructions)
        self._has_tiles = blocks > 1 and brings
        stores = {_STORE, _ATOMIC} & set(kinds) != set()
        self.is_needed = blocks * threads > 32 and (stores or self._has_tiles)
        """Whether there can be any."""
        self._own, warps = own, blocks * own
        names = [each.opcode.split(".")[0] for each in program.instructions]
        syncs = _ordering(program, blocks > 1)
        fences = [_is_fence_of_cluster(each.opcode) for each in program.instructions]
        bars = [
            _barrier(each.operands, each.opcode, each.guard) if name == "BAR" else -1
            for name, each in zip(names, program.instructions, strict=True)
        ]
        full = [(1 << min(32, threads - 32 * warp)) - 1 for warp in range(own)]
        size = size if self.is_needed else 0
        writes = np.zeros((blocks * size, 7), np.int64)
        writes[:, 3] = -1
        waiting = np.full((5, warps), -1, np.int64)
        waiting[3:] = 0
        shift = granule.bit_length() - 1
        orders = [syncs, *([name == each for name in names] for each in _CLUSTER), fences]
        gates = _MOST_BARRIERS * blocks
        columns = warps + (gates if self._has_tiles else 0)
        pieces = shared_bytes // 16 + 1 if self._has_tiles else 0
        self._state = RaceState(
            about=np.array([kinds, widths, lanes, away, numbers], np.int64),
            options=np.array([shift, locks, spins, own, size, shared_start], np.int64),
            syncs=np.array([np.cumsum([0, *each]) for each in orders], np.int64),
            bars=np.array(bars, np.int64),
            ends=program.ends(),
            lanes=np.array(full, np.int64),
            clocks=np.eye(warps + 1, columns, dtype=np.int64) * (np.arange(columns) < warps),
            bar_clocks=np.zeros((blocks, 32, columns), np.int64),
            barriers=np.zeros((blocks, 3, 16), np.int64),
            waiting=waiting,
            cluster_clocks=np.zeros((3, columns), np.int64),
            writes=writes,
            reads=np.zeros((blocks * size, warps, 2), np.int32),
            away=np.zeros((blocks, warps, 2), np.int64),
            pairs=np.zeros((_MOST_PAIRS, 4), np.int64),
            done=np.zeros(5, np.int64),
            fenced=np.zeros((warps, columns), np.int64),
            gate_of=np.zeros((blocks, (shared_start + shared_bytes) // 8 + 1), np.int32),
            gates=np.zeros((gates, columns), np.int64),
            landed=np.zeros((blocks if pieces else 0, pieces), np.int32),
            tiles=np.zeros((_MOST_TILES if pieces else 0, 3), np.int64),
            now=np.zeros(4, np.int64),
            early=np.zeros((_MOST_PAIRS, 4), np.int64),
        )

    @property
    def is_over(self) -> bool:
        """Whether so many accesses have been seen that it is enough."""
        return not self.is_needed or int(self._state.done[1]) >= MOST_ACCESSES

    def add(
        self, events: NDArray[np.int64], heads: NDArray[np.int32], trace: NDArray[np.int32],
        rank: int = 0,
    ) -> None:  # fmt: skip
        """Take what was noted of a block, and the rows of the trace that it names."""
        place = 0
        while not self.is_over and place <= len(events):
            place = examine(events, heads, trace, self._state, rank, place)
            if place < len(events):
                synchronise(self._state, rank, events[place : place + SYNC_WORDS])
                place += SYNC_WORDS

    def stop(self) -> None:
        """Look no further: what follows was not noted."""
        self._state.done[1] = MOST_ACCESSES

    def found(self) -> list[Race | LateAccess | EarlyRead]:
        """Return what was found, each pair of instructions once."""
        races = [
            Race(self._sites[first], self._sites[second], (self._name(one), self._name(other)))
            for first, second, one, other in self._state.pairs[: self._state.done[0]].tolist()
        ]
        early: dict[tuple[int, int], EarlyRead] = {}
        for site, copy, warp, block in self._state.early[: self._state.done[4]].tolist():
            read = self._sites[site]
            key = read.instruction.line or -site, copy  # a loop may be unrolled
            found = EarlyRead(read, self._instructions[copy], self._name(warp), block)
            early.setdefault(key, found)
        return [*races, *early.values(), *self._late()]

    def _late(self) -> list[LateAccess]:
        """Return the accesses that no warp of the block that has them is behind at its end."""
        if self.is_over or self.blocks == 1:
            return []
        settle(self._state)
        blocks, warps = self.blocks, self._own
        total = blocks * warps
        known = self._state.clocks[:-1, :total].reshape(blocks, warps, total).max(axis=1)
        found: dict[int, LateAccess] = {}
        for block, warp in zip(*np.nonzero(self._state.away[:, :, 0] > known), strict=True):
            if warp // warps != block:
                site = int(self._state.away[block, warp, 1])
                late = LateAccess(self._sites[site], self._name(int(warp)), int(block))
                found.setdefault(site, late)
        return [found[site] for site in sorted(found)]

    def _name(self, warp: int) -> str:
        if self.blocks == 1:
            return f"warp {warp}"
        return f"warp {warp % self._own} of block {warp // self._own} of the cluster"


def _ordering(program: Program, in_cluster: bool) -> list[bool]:
    """Say of each instruction whether it orders warps, as a barrier would.

    A fence does so only with an access by which warps signal each other. In a cluster, whose
    barrier brings fences along, such accesses are looked for: volatile ones, those that acquire
    or release, and atomics whose result somebody wants.
    """
    names = [each.opcode.split(".")[0] for each in program.instructions]
    if not in_cluster:
        return [name in _FENCES for name in names]
    signals = [
        name in ("LD", "ST", "LDG", "STG", "LDS", "STS") and "STRONG" in each.opcode
        for name, each in zip(names, program.instructions, strict=True)
    ]
    asks = any(
        name.startswith("ATOM") and not re.match(r"(?:U?PT?\d?,\s*)?RZ\b", each.operands.strip())
        for name, each in zip(names, program.instructions, strict=True)
    )
    fences = _FENCES if asks or any(signals) else ()
    return [name in fences or signal for name, signal in zip(names, signals, strict=True)]


def _is_fence_of_cluster(opcode: str) -> bool:
    """Whether what a warp did before is seen by other blocks behind it: MEMBAR.ALL.GPU and such."""
    name, *modifiers = opcode.split(".")
    return name == "CGAERRBAR" or (name == "MEMBAR" and "CTA" not in modifiers)


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
