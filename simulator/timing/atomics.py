"""Atomics and stores of a grid that meet: the L2 does those of a kilobyte one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.timing.code import ATOMICS, REDUCTIONS
from simulator.timing.footprint import footprint
from simulator.timing.traces import SECTOR, SECTORS, BlockTrace
from simulator.timing.work import Work

__all__ = ["hot_cycles", "hot_stores", "near_share", "reduced_cycles"]

_KILOBYTE = 32
"""Sectors."""
_FLOAT = re.compile(r"B?F\d").match
"""How the type of floats begins, among an atomic's modifiers."""


def near_share(work: Work, machine: Mapping[str, float], sms: int) -> float:
    """Return how far atomics change so few lines at a time that these meet in parts of the L2.

    1: they do; 0: they are all over (gpu_check/data/h100_atomic_lines.csv). The words of the blocks
    that run at a time count: those of one, and their share of the way from the first to the last.
    """
    chosen = _atomic_instructions(work)
    every = (trace.sectors_of(chosen.tolist()) for trace in _several(work) if len(chosen))
    found = [sectors for sectors in every if len(sectors)]
    if not found:
        return 0.0
    own = float(np.median([np.ptp(sectors) for sectors in found]))
    way = max(np.ptp(np.concatenate(found)) - own, 0.0)
    reach = max(SECTOR * (own + way * min(1.0, work.resident * sms / work.blocks)), 1.0)
    near, far = machine["atom_near_bytes"], machine["atom_far_bytes"]
    return float(np.interp(np.log2(reach), (np.log2(near), np.log2(far)), (1, 0)))


def _atomic_instructions(work: Work) -> NDArray[np.int64]:
    """Return the numbers of the atomics in global memory."""
    each = enumerate(work.instructions)
    return np.array([n for n, one in each if one.name in ATOMICS], np.int64)


def _several(work: Work) -> Sequence[BlockTrace]:
    """Return blocks that ran: where the SM has but one, those beside it that ran as probes, too."""
    if len(work.traces) > 1:
        return work.traces
    return [*{trace.block: trace for trace in (*work.probes, *work.traces)}.values()]


def hot_cycles(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 changes the kilobyte or sector that most atomics meet in.

    They are the grid's, per sector that the atomics of a block change.

    One part of the L2 does all of a kilobyte, one sector after the other, each as often as lanes
    share one of its words. The next one of a sector waits until it is done, longer where it adds
    floats (gpu_check/data/h100_atomics.csv). Blocks that were traced stand for the grid
    where at least two of them meet, or where there is one block.
    """
    chosen, ran = _atomic_instructions(work), _several(work)
    if not len(chosen):
        return 0.0
    names = [one.opcode.split(".")[1:] for one in work.instructions]
    floats = np.array([any(_FLOAT(each) for each in name) for name in names])
    sums: dict[tuple[int, int], float] = {}
    seen: dict[tuple[int, int], int] = {}
    for trace in ran:
        for place, cycles in _atomics(trace, chosen, floats, machine).items():
            sums[place] = sums.get(place, 0.0) + cycles
            seen[place] = seen.get(place, 0) + 1
    fewest = min(work.blocks, 2)
    shared = [cycles for place, cycles in sums.items() if seen[place] >= fewest]
    sectors = sum(each.summed("sectors", len(work.instructions), is_shared=False)[chosen].sum()
                  for each in ran)  # fmt: skip
    hottest = max(shared, default=0.0) / max(int(sectors), 1) * work.blocks
    return hottest * _ran_of_grid(work, chosen)


def _ran_of_grid(work: Work, chosen: NDArray[np.int64], *, likely: bool = False) -> float:
    """Return what blocks that ran change by some instructions, beside what the grid does.

    They may lie in few columns of the grid: the others change other words. `likely`: also what is
    not known of the grid, but likely.
    """
    numbers, cluster = chosen.tolist(), work.cluster
    known = footprint((), _several(work), work.grid, numbers, cluster).written
    grid = footprint(work.probes, work.traces, work.grid, numbers, cluster)
    return min(known / max(grid.writes if likely else grid.written, 1), 1.0)


def hot_stores(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 stores to the kilobyte that most stores meet in.

    They are the grid's, per sector of which a block stores a part: one part of the L2 does all of a
    kilobyte (gpu_check/data/h100_hot_stores.csv). Blocks that were traced stand for the grid where
    at least two of them meet, or where there is one block.
    """
    ran = _several(work)
    rows = ran[0].rows
    in_part = rows.number[np.repeat(np.arange(len(rows.number)), np.diff(rows.line_begin))][
        rows.filled < SECTOR
    ]
    chosen = np.intersect1d(np.setdiff1d(work.stores, _atomic_instructions(work)), in_part)
    each = [_in_part(trace, chosen) for trace in ran]
    places, which = np.unique(np.concatenate([place for place, _ in each]), return_inverse=True)
    counts = np.concatenate([count for _, count in each])
    sums = np.bincount(which, counts, len(places))
    seen = np.bincount(which, minlength=len(places))
    most = sums[seen >= min(work.blocks, 2)].max(initial=0.0)
    if not most:
        return 0.0
    hottest = float(machine["store_part"] * most / counts.sum() * work.blocks)
    return hottest * _ran_of_grid(work, chosen, likely=True)


def _in_part(
    trace: BlockTrace, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the kilobytes in which a block stores parts of sectors, and how many to each."""
    rows, which = trace.rows, trace.global_rows()
    mine = np.isin(rows.number[which], chosen)
    pairs, times = np.unique(
        np.stack([which[mine], trace.base[mine]], axis=1), axis=0, return_counts=True
    )
    which, base = pairs.T
    counts = np.diff(rows.line_begin)[which]
    first = np.repeat(rows.line_begin[which] - np.cumsum(counts) + counts, counts)
    place = first + np.arange(counts.sum())
    sectors = (rows.mask[place][:, None] >> np.arange(SECTORS) & 1).sum(axis=1)
    sectors *= np.repeat(times, counts) * (rows.filled[place] < SECTOR)
    kilobyte = (np.repeat(base, counts) + rows.line[place]) * SECTORS // _KILOBYTE
    found, where = np.unique(kilobyte[sectors > 0], return_inverse=True)
    sums = np.bincount(where, sectors[sectors > 0], len(found))
    return found, sums.astype(np.float64)


def reduced_cycles(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 adds to the kilobyte that most bulk copies meet in."""
    found: dict[int, float] = {}
    for trace in work.traces:
        for number, sectors in trace.copied.items():
            if work.instructions[number].name in REDUCTIONS:
                places, counts = np.unique(sectors // _KILOBYTE, return_counts=True)
                for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                    found[place] = found.get(place, 0.0) + count
    most = max(found.values(), default=0.0) / len(work.traces) * work.blocks
    return most * machine["atom_sector"]


def _atomics(
    trace: BlockTrace, chosen: NDArray[np.int64], sums: NDArray[np.bool_],
    machine: Mapping[str, float],
) -> dict[tuple[int, int], float]:  # fmt: skip
    """Return what a block's atomics take, by the kilobytes that they change, and by the sectors.

    A place is its sectors, and its number among those of its size.

    `sums`: of each instruction, whether it adds floats.
    """
    rows, which = trace.rows, trace.global_rows()
    if rows.crowd is None:
        return {}
    mine = np.isin(rows.number[which], chosen)
    pairs, times = np.unique(
        np.stack([which[mine], trace.base[mine]], axis=1), axis=0, return_counts=True
    )
    counts = np.diff(rows.line_begin)[pairs[:, 0]]
    first = np.repeat(rows.line_begin[pairs[:, 0]] - np.cumsum(counts) + counts, counts)
    place = first + np.arange(counts.sum())
    sector = 4 * (np.repeat(pairs[:, 1], counts) + rows.line[place])[:, None] + np.arange(4)
    crowd = rows.crowd[place][:, None] >> 8 * np.arange(4) & 255
    word = np.where(sums, machine["atom_float_word"], machine["atom_word"])
    each = np.repeat(word[rows.number[pairs[:, 0]]], counts)[:, None]
    # What an access does in a kilobyte takes no less than a word does.
    of, where = np.unique(
        np.stack([np.repeat(np.arange(len(pairs)), counts), sector[:, 0] // _KILOBYTE]),
        axis=1, return_inverse=True,
    )  # fmt: skip
    taken = [
        cost * np.bincount(where, some.sum(axis=1), len(of[0]))
        for cost, some in ((machine["atom_sector"], crowd > 0), (machine["atom_crowd"], crowd))
    ]
    near = np.maximum.reduce([*taken, np.full(len(of[0]), machine["atom_word"])]) * times[of[0]]
    crowd *= np.repeat(times, counts)[:, None]
    return _by(_KILOBYTE, of[1], near) | _by(1, sector, crowd * each)


def _by(
    size: int, number: NDArray[np.int64], cycles: NDArray[np.float64]
) -> dict[tuple[int, int], float]:
    """Return the sum of cycles of each place of a size that has any."""
    found, where = np.unique(number[cycles > 0], return_inverse=True)
    sums = np.bincount(where, cycles[cycles > 0]).tolist()
    return {(size, each): taken for each, taken in zip(found.tolist(), sums, strict=True)}
