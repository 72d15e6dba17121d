"""Accesses of different warps to one shared address that no barrier orders, one of them a store.

A replay runs such accesses in one order; a chip may choose another. One block of a launch is
watched, or one cluster whose blocks may access each other, for so many accesses. It is done by
vector clocks: each warp knows up to where it is behind each other. What orders warps is taken for
more than it is, never for less: any mbarrier or lock, and fences where warps signal each other,
order all before them with all behind. So what is found has no order, and some may not be found.
A block's shared memory is gone when the block ends: accesses that nobody waited for are found, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.program import Program
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.clocks import RaceState, examine, settle

__all__ = ["LateAccess", "Race", "RaceWatch"]

MOST_ACCESSES = 1 << 17
"""Of warps, in the block or cluster that is watched."""

_MOST_PAIRS = 64
_SYNCS = ("SYNCS", "ARRIVES", "STAS", "REDAS")
_FENCES = ("MEMBAR", "ERRBAR", "CGAERRBAR")
_MOST_BYTES = 1 << 29  # for what is kept of each warp's loads
_CLUSTER = ("UCGABAR_ARV", "UCGABAR_WAIT")
_LOCKS = ("CAS", "EXCH", "ARRIVE")
_LOAD, _STORE, _ATOMIC = 1, 2, 3


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


def _verb(site: MemorySite) -> str:
    name = site.instruction.opcode.split(".")[0]
    if name.startswith(("ATOM", "RED")):
        return "adds to"
    return "stores to" if site.is_store else "loads"


def _place(site: MemorySite) -> str:
    code = site.instruction
    at = f"{code.address:#06x} {code.opcode}"
    return f"{code.file}:{code.line} ({at})" if code.line else at


class RaceWatch:
    """Watches the accesses of a cluster's blocks to shared memory, as compiled code notes them.

    `blocks`: of the cluster. Where they may not access each other's, the first alone is watched.
    """

    def __init__(
        self, program: Program, threads: int, shared_bytes: int, shared_start: int, blocks: int = 1
    ) -> None:
        self._sites = program.sites
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
        self.is_needed = blocks * threads > 32 and {_STORE, _ATOMIC} & set(kinds) != set()
        """Whether there can be any."""
        self._own, warps = own, blocks * own
        names = [each.opcode.split(".")[0] for each in program.instructions]
        syncs = _ordering(program, blocks > 1)
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
        orders = [syncs, *([name == each for name in names] for each in _CLUSTER)]
        self._state = RaceState(
            about=np.array([kinds, widths, lanes, away, numbers], np.int64),
            options=np.array([shift, locks, spins, own, size, shared_start], np.int64),
            syncs=np.array([np.cumsum([0, *each]) for each in orders], np.int64),
            bars=np.array(bars, np.int64),
            ends=program.ends(),
            lanes=np.array(full, np.int64),
            clocks=np.eye(warps + 1, warps, dtype=np.int64),
            bar_clocks=np.zeros((blocks, 32, warps), np.int64),
            barriers=np.zeros((blocks, 3, 16), np.int64),
            waiting=waiting,
            cluster_clocks=np.zeros((3, warps), np.int64),
            writes=writes,
            reads=np.zeros((blocks * size, warps, 2), np.int32),
            away=np.zeros((blocks, warps, 2), np.int64),
            pairs=np.zeros((_MOST_PAIRS, 4), np.int64),
            done=np.zeros(2, np.int64),
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
        if not self.is_over:
            examine(events, heads, trace, self._state, rank)

    def found(self) -> list[Race | LateAccess]:
        """Return what was found, each pair of instructions once."""
        races = [
            Race(self._sites[first], self._sites[second], (self._name(one), self._name(other)))
            for first, second, one, other in self._state.pairs[: self._state.done[0]].tolist()
        ]
        return [*races, *self._late()]

    def _late(self) -> list[LateAccess]:
        """Return the accesses that no warp of the block that has them is behind at its end."""
        if self.is_over or self.blocks == 1:
            return []
        settle(self._state)
        blocks, warps = self.blocks, self._own
        known = self._state.clocks[:-1].reshape(blocks, warps, -1).max(axis=1)
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
        return [name in (*_SYNCS, *_FENCES) for name in names]
    signals = [
        name in ("LD", "ST", "LDG", "STG", "LDS", "STS") and "STRONG" in each.opcode
        for name, each in zip(names, program.instructions, strict=True)
    ]
    asks = any(
        name.startswith("ATOM") and not re.match(r"(?:U?PT?\d?,\s*)?RZ\b", each.operands.strip())
        for name, each in zip(names, program.instructions, strict=True)
    )
    fences = _FENCES if asks or any(signals) else ()
    return [
        name in (*_SYNCS, *fences) or signal for name, signal in zip(names, signals, strict=True)
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
