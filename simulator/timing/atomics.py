"""Atomics of a grid that meet: the L2 does those of a kilobyte one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.timing.code import ATOMICS, REDUCTIONS
from simulator.timing.footprint import footprint
from simulator.timing.traces import BlockTrace
from simulator.timing.work import Work

__all__ = ["hot_cycles", "meet_near", "reduced_cycles"]

_WORDS = 8
"""Of a sector: more lanes than those share words."""


def meet_near(work: Work, machine: Mapping[str, float]) -> bool:
    """Whether the grid's atomics change so few lines that these meet in a part of the L2."""
    chosen = _atomic_instructions(work)
    found = [
        trace.base[np.isin(trace.rows.number[trace.global_rows()], chosen)]
        for trace in _several(work) if len(chosen)
    ]  # fmt: skip
    lines = np.concatenate([np.zeros(0, np.int64), *found])
    return bool(len(lines) and int(np.ptp(lines)) * 128 <= machine["atom_near"])


def _atomic_instructions(work: Work) -> NDArray[np.int64]:
    """Return the numbers of the atomics in global memory."""
    each = enumerate(work.instructions)
    return np.array([n for n, one in each if one.opcode.split(".")[0] in ATOMICS], np.int64)


def _several(work: Work) -> Sequence[BlockTrace]:
    """Return blocks that ran: where the SM has but one, those beside it that ran as probes, too."""
    if len(work.traces) > 1:
        return work.traces
    return [*{trace.block: trace for trace in (*work.probes, *work.traces)}.values()]


def hot_cycles(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 changes the kilobyte that most atomics meet in.

    They are the grid's, per sector that the atomics of a block change.

    One part of the L2 does all of a kilobyte, one sector after the other, and lanes that share a
    word one by one (gpu_check/data/h100_atomics.csv). Blocks that were traced stand for the grid
    where at least two of them meet, or where there is one block.
    """
    chosen, ran = _atomic_instructions(work), _several(work)
    if not len(chosen):
        return 0.0
    sums: dict[int, float] = {}
    seen: dict[int, int] = {}
    for trace in ran:
        found = _atomics(trace, chosen, machine)
        for place, cycles in found.items():
            sums[place] = sums.get(place, 0.0) + cycles
            seen[place] = seen.get(place, 0) + 1
    fewest = min(work.blocks, 2)
    shared = [cycles for place, cycles in sums.items() if seen[place] >= fewest]
    sectors = sum(each.summed("sectors", len(work.instructions), is_shared=False)[chosen].sum()
                  for each in ran)  # fmt: skip
    hottest = max(shared, default=0.0) / max(int(sectors), 1) * work.blocks
    # Blocks that ran may lie in few columns of the grid: the others change other words.
    numbers, cluster = chosen.tolist(), work.cluster
    known = footprint((), ran, work.grid, numbers, cluster).written
    grid = footprint(work.probes, work.traces, work.grid, numbers, cluster).written
    return float(hottest * known / max(grid, 1))


def reduced_cycles(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 adds to the kilobyte that most bulk copies meet in."""
    found: dict[int, float] = {}
    for trace in work.traces:
        for number, sectors in trace.copied.items():
            if work.instructions[number].opcode.split(".")[0] in REDUCTIONS:
                places, counts = np.unique(sectors // 32, return_counts=True)
                for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                    found[place] = found.get(place, 0.0) + count
    most = max(found.values(), default=0.0) / len(work.traces) * work.blocks
    return most * machine["atom_sector"]


def _atomics(
    trace: BlockTrace, chosen: NDArray[np.int64], machine: Mapping[str, float]
) -> dict[int, float]:
    """Return what a block's atomics take, by the kilobyte that they change."""
    rows, which = trace.rows, trace.global_rows()
    mine = np.isin(rows.number[which], chosen)
    which, base = which[mine], trace.base[mine]
    pairs, times = np.unique(np.stack([which, base], axis=1), axis=0, return_counts=True)
    found: dict[int, float] = {}
    for (row, first), count in zip(pairs.tolist(), times.tolist(), strict=True):
        begin, end = rows.line_begin[row], rows.line_begin[row + 1]
        sectors = np.bitwise_count(rows.mask[begin:end])
        lanes = rows.bytes[row] / 4
        crowd = lanes / max(int(sectors.sum()), 1)
        each = crowd * machine["atom_word"] if crowd > _WORDS else machine["atom_sector"]
        places, where = np.unique((first + rows.line[begin:end]) // 8, return_inverse=True)
        of_place = np.bincount(where, weights=sectors)
        for place, some in zip(places.tolist(), of_place.tolist(), strict=True):
            cycles = max(machine["atom_word"], some * each) * count
            found[place] = found.get(place, 0.0) + cycles
    return found
