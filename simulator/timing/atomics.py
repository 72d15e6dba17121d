"""Atomics and stores of a grid that meet: the L2 does those of a kilobyte one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.timing.code import ATOMICS, REDUCTIONS
from simulator.timing.footprint import footprint
from simulator.timing.traces import SECTOR, SECTORS, AccessRows, BlockTrace
from simulator.timing.work import Work

__all__ = ["hot_cycles", "hot_stores", "near_share", "reduced_cycles"]

_KILOBYTE, _UNIT = 32, 16
"""Sectors, and those of it that one unit changes."""
_LINES = _KILOBYTE // SECTORS
_PLACES = _KILOBYTE + 1
_MEET = 4
"""Blocks of many that were traced: where fewer meet, it may be by chance."""
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


def hot_cycles(work: Work, machine: Mapping[str, float]) -> tuple[float, float]:
    """Return how long the L2 changes the half or sector that most atomics meet in, and its share.

    Cycles are the grid's, per sector that the atomics of a block change; the share is of the work
    of all of them.

    Two units of the L2 change a kilobyte. One has the first and third 256 bytes, the other the
    second and last. It changes one sector after the other, each as often as lanes share one of its
    words (gpu_check/data/h200_addition_units.csv). The next change of a sector waits until the one
    before is done, longer where floats are added (gpu_check/data/h200_atomics.csv). Blocks that
    were traced stand for the grid where four of them meet, or of less than 16 a quarter, but two.
    """
    chosen, ran = _atomic_instructions(work), _several(work)
    if not len(chosen):
        return 0.0, 0.0
    names = [one.opcode.split(".")[1:] for one in work.instructions]
    floats = np.array([any(_FLOAT(each) for each in name) for name in names])
    sectors = sum(each.summed("sectors", len(work.instructions), is_shared=False)[chosen].sum()
                  for each in ran)  # fmt: skip
    found = [_atomics(trace, chosen, floats, machine) for trace in ran]
    most = _most_shared(found, min(work.blocks, max(2, min(len(ran) // 4, _MEET))))
    every = sum(float(done[place % _PLACES == _UNIT].sum()) for place, done in found)
    cycles = most / max(int(sectors), 1) * work.blocks * _ran_of_grid(work, chosen)
    return cycles, min(most / every, 1.0) if every else 0.0


def _ran_of_grid(work: Work, chosen: NDArray[np.int64], *, likely: bool = False) -> float:
    """Return what blocks that ran change by some instructions, beside what the grid does.

    They may lie in few columns of the grid: the others change other words. `likely`: also what is
    not known of the grid, but likely.
    """
    of_grid = (work.grid, chosen.tolist(), work.cluster)
    known = footprint((), _several(work), *of_grid, alone=True).written
    grid = footprint(work.probes, work.traces, *of_grid, alone=True)
    return min(known / max(grid.writes if likely else grid.written, 1), 1.0)


def hot_stores(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 stores to the kilobyte that most stores meet in.

    They are the grid's, per sector of which a block stores a part: one part of the L2 does all of a
    kilobyte (gpu_check/data/h100_hot_stores.csv). Blocks that were traced stand for the grid where
    at least two of them meet, or where there is one block.
    """
    ran = _several(work)
    stores = np.setdiff1d(work.stores, _atomic_instructions(work))
    found = [_in_part(trace, stores) for trace in ran]
    every = sum(counts.sum() for _, counts, _ in found)
    most = _most_shared([each[:2] for each in found], min(work.blocks, 2))
    if not most:
        return 0.0
    chosen = np.unique(np.concatenate([numbers for *_, numbers in found]))
    hottest = float(machine["store_part"] * most / every * work.blocks)
    return hottest * _ran_of_grid(work, chosen, likely=True)


def _in_part(
    trace: BlockTrace, stores: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return where a block stores parts of sectors, how many to each, and by which instructions.

    The places are those of `_by`, of kilobytes.
    """
    rows, bases, times = trace.different(stores)
    of, line, place = trace.lines(rows, bases)
    partly = trace.rows.filled[place] < SECTOR
    of, line, place = of[partly], line[partly], place[partly]
    sectors = (trace.rows.mask[place][:, None] >> np.arange(SECTORS) & 1).sum(axis=1) * times[of]
    numbers = np.unique(trace.rows.number[rows[of]])
    return *_by(_KILOBYTE, line * SECTORS // _KILOBYTE, sectors), numbers


def reduced_cycles(work: Work, machine: Mapping[str, float], first: float) -> float:
    """Return when the unit of the L2 in which most bulk copies meet has added; 0 without any.

    A copy of a kilobyte takes it 18.5 cycles (gpu_check/data/h200_addition_units.csv, bulk).

    `first`: when the first block ended. Where it adds once, it does so at its end, and the L2 adds
    nothing before; where it does several times, they are taken to lie as far from each other.
    """
    found: dict[int, float] = {}
    copies = 0
    for trace in work.traces:
        for number, sectors in trace.copied.items():
            if work.instructions[number].name in REDUCTIONS:
                copies += int((trace.event[:, 0] == number).sum())
                places, counts = np.unique(_unit(sectors // SECTORS), return_counts=True)
                for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                    found[place] = found.get(place, 0.0) + count
    if not found:
        return 0.0
    most = max(found.values()) / len(work.traces) * work.blocks
    return first / max(copies / len(work.traces), 1) + most * machine["atom_whole"]


def _unit(line: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the unit of the L2 that changes a line."""
    return 2 * (line // _LINES) + line // 2 % 2


def _atomics(
    trace: BlockTrace, chosen: NDArray[np.int64], sums: NDArray[np.bool_],
    machine: Mapping[str, float],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # fmt: skip
    """Return what a block's atomics take, by the kilobytes that they change, and by the sectors.

    `sums`: of each instruction, whether it adds floats.
    """
    if trace.rows.crowd is None:
        return np.zeros(0, np.int64), np.zeros(0)
    rows, bases, times = trace.different(chosen)
    access, line, place = trace.lines(rows, bases)
    every = trace.rows.crowd[:, None] >> 8 * np.arange(SECTORS) & 255
    whole = _all_words(trace.rows, every)[place]
    crowd = every[place] * times[access][:, None]
    in_unit = np.where(whole, machine["atom_whole"], machine["atom_word"])
    word = np.where(sums[trace.rows.number[rows]][access], machine["atom_float_word"], in_unit)
    sector = SECTORS * line[:, None] + np.arange(SECTORS)
    (units, there), (sectors, here) = (
        _by(_UNIT, np.repeat(_unit(line), SECTORS), (crowd * in_unit[:, None]).ravel()),
        _by(1, sector, crowd * word[:, None]),
    )
    return np.concatenate([units, sectors]), np.concatenate([there, here])


def _all_words(rows: AccessRows, crowd: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return of each line whether its access changes all words of its sectors equally often.

    `crowd`: how many lanes at most change a word of each sector, shape (lines, 4).
    """
    count = np.diff(rows.line_begin)
    access = np.repeat(np.arange(len(count)), count)
    levels = np.bincount(access, crowd.sum(axis=1), len(count))
    return np.repeat(rows.bytes >= SECTOR * levels, count)


def _by(
    size: int, number: NDArray[np.int64], cycles: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the places that have any cycles, and their sums.

    A place is so many sectors, its size, and has a number among those of that size.
    """
    found, where = np.unique(number[cycles > 0], return_inverse=True)
    sums = np.bincount(where, cycles[cycles > 0], len(found)).astype(np.float64)
    return found * _PLACES + size, sums


def _most_shared(each: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]], meet: int) -> float:
    """Return the most that blocks do at one place where so many of them meet.

    `each`: by block, its places and what it does there.
    """
    places, which = np.unique(np.concatenate([place for place, _ in each]), return_inverse=True)
    sums = np.bincount(which, np.concatenate([done for _, done in each]), len(places))
    seen = np.bincount(which, minlength=len(places))
    return float(sums[seen >= meet].max(initial=0.0))
