"""What blocks executed, and what their memory accesses cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.law.accesses import NO_SOURCE
from simulator.law.chips import Chip, counted_on
from simulator.law.counting import Engine, count
from simulator.law.instructions import Rule
from simulator.law.masks import active_table
from simulator.law.neighbour_atomics import BOUNDED, price_neighbour_atomic
from simulator.law.neighbours import FLOORS, price_neighbour
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.watch import Doubts

__all__ = ["FIGURES", "Tally", "figures_of"]

FIGURES = (
    "requests", "wavefronts", "ideal", "bank_conflicts", "zeroed", "sectors", "ideal_sectors",
    "lines", "ideal_lines", "bytes", "rows", "cycles", "packets", "packet_tenths",
    "mutual_tenths",
)  # fmt: skip
"""Columns of `Tally.figures`; zeroed: copies of which some lanes write zeros; cycles: of wgmma;
packets: to other blocks of the cluster, with their cycles in tenths; mutual: those where the other
block does the same."""

_TENTHS = ("packet_tenths", "mutual_tenths")
_BLOCK_BITS = 24  # of a cluster's address: where in a block
_NOWHERE = np.int32(2**31 - 1)  # above every piece, whose numbers are offsets divided


@dataclass(frozen=True)
class Tally:
    """What some blocks executed, by instruction and by memory instruction."""

    executed: NDArray[np.int64]
    """By instruction: executions by a warp."""
    figures: NDArray[np.int64]
    """A row for each memory instruction that is counted; its columns are FIGURES."""
    threads: int = 0
    """Instructions by threads."""
    generic: int = 0
    """Accesses of threads to shared memory through generic addresses."""
    doubts: Doubts = field(default_factory=dict)
    """What may not hold on the chip, and the first block in which it was seen."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.executed + other.executed,
            self.figures + other.figures,
            self.threads + other.threads,
            self.generic + other.generic,
            {
                each: min(found[each] for found in (self.doubts, other.doubts) if each in found)
                for each in {**self.doubts, **other.doubts}
            },
        )

    def agrees(self, other: Tally, sites: list[MemorySite]) -> bool:
        """Whether both did the same at every instruction that accesses shared memory."""
        shared = [index for index, site in enumerate(sites) if site.space != "global"]
        numbers = [sites[index].number for index in shared]
        return bool(
            np.array_equal(self.executed[numbers], other.executed[numbers])
            and np.array_equal(self.figures[shared], other.figures[shared])
        )

    def differing(self, other: Tally, sites: list[MemorySite]) -> set[int]:
        """Return the instructions at which the two did other things to global memory."""
        return {
            site.number
            for index, site in enumerate(sites)
            if site.space == "global"
            and (
                self.executed[site.number] != other.executed[site.number]
                or not np.array_equal(self.figures[index], other.figures[index])
            )
        }


def figures_of(
    sites: list[MemorySite], heads: NDArray[np.int32], trace: NDArray[np.int32], rule: Rule,
    engine: Engine, chip: Chip | None, sources: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Count what a trace holds: rows of (site, mask, first byte in its line), and lanes' offsets.

    Returns FIGURES of each row, the cycles for which each holds the pipe, and those that it would
    without bank conflicts.

    Parameters
    ----------
    sites
        Instructions that access memory.
    heads
        Rows of (site, mask, first byte in its line).
    trace
        Lanes' offsets, a row each.
    rule, engine, chip
        Those of `count`.
    sources
        Those of `count`, in the rows of copies.
    """
    figures = np.zeros((len(heads), len(FIGURES)), dtype=np.int64)
    cycles = np.zeros(len(heads), dtype=np.int64)
    floors = np.zeros(len(heads), dtype=np.int64)
    which, masks = heads[:, 0], heads[:, 1].view(np.uint32)
    # From the first line that a row touches on, so that no address is negative. A lane that takes
    # no part has that of the first lane that does.
    places = trace + heads[:, 2:3]
    trace = places - (places.min(axis=1, keepdims=True) & -128)
    figures[:, 0] = 1
    for op in {site.op for site in sites if site.space == "shared" and site.op is not None}:
        chosen = np.array([site.space == "shared" and site.op == op for site in sites])[which]
        if chosen.any():
            reads = sources[chosen] if op.startswith("LDGSTS") else None
            counts = count(
                op, trace[chosen], masks[chosen], sources=reads, rule=rule, engine=engine,
                threads=1, chip=chip,
            )  # fmt: skip
            if reads is not None:
                figures[chosen, 4] = (reads == NO_SOURCE).any(axis=1)
            columns = (counts.wavefronts, counts.ideal, counts.bank_conflicts)
            figures[chosen, 1:4] = np.stack(columns, axis=1)
            cycles[chosen] = counts.cycles
            floors[chosen] = counts.floor(counted_on(chip, op))
    for op in {site.op for site in sites if site.space == "neighbour" and site.op in FLOORS}:
        chosen = np.array([site.space == "neighbour" and site.op == op for site in sites])[which]
        active = active_table(masks[chosen])
        packets, *taken = price_neighbour(op, trace[chosen].astype(np.int64), active)
        figures[chosen, FIGURES.index("packets")] = packets
        for name, cycles_of in zip(_TENTHS, taken, strict=True):
            figures[chosen, FIGURES.index(name)] = np.rint(10 * cycles_of)
    bounded = np.array([site.space == "neighbour" and site.op in BOUNDED for site in sites])
    for row in np.flatnonzero(bounded[which]) if bounded.any() else ():
        fewest, least = _bound_of_atomic(places[row], int(masks[row]))
        figures[row, FIGURES.index("packets")] = fewest
        for name in _TENTHS:
            figures[row, FIGURES.index(name)] = round(10 * least)
    for width in {site.width for site in sites if site.space == "global" and site.width}:
        chosen = np.array([site.space == "global" and site.width == width for site in sites])[which]
        for place, size in ((5, 32), (7, 128)):
            pieces = _pieces(trace[chosen], masks[chosen], width, size)
            figures[chosen, place : place + 2] = np.stack(pieces, axis=1)
    return figures, cycles, floors


def _bound_of_atomic(places: NDArray[np.int32], mask: int) -> tuple[int, float]:
    """Return the least packets and cycles of an atomic, by how far apart its lanes' bytes are.

    What goes to several blocks is bounded by its packets to all, and by the cycles of the slowest.
    """
    apart = 1 << _BLOCK_BITS  # from block to block; what one block has is far less
    blocks = (places - places.min() + apart // 2) >> _BLOCK_BITS
    fewest, least = 0, 0.0
    for block in np.unique(blocks).tolist():
        chosen = blocks == block
        lanes = mask & sum(1 << lane for lane in np.flatnonzero(chosen).tolist())
        if lanes:
            first = int(places[chosen].min()) & -128  # the bound asks for lines, not for which
            costs = price_neighbour_atomic(np.where(chosen, places - first, 0), lanes)
            fewest, least = fewest + costs.fewest, max(least, costs.least)
    return fewest, least


def _pieces(
    offsets: NDArray[np.int32], masks: NDArray[np.uint32], width: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sectors or lines that each row touches, and the least that hold as many bytes."""
    active = (masks[:, None] >> np.arange(32, dtype=np.uint32)) & 1 != 0
    # An access is aligned to its width, so it lies in one piece.
    pieces = np.where(active, offsets >> (size.bit_length() - 1), _NOWHERE)
    pieces.sort(axis=1)
    new = pieces[:, 1:] != pieces[:, :-1]
    touched = new.sum(axis=1) + 1 - (pieces[:, -1] == _NOWHERE)
    return touched, -(-active.sum(axis=1) * width // size)
