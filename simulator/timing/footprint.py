"""How much global memory a grid touches at least: bytes read and written, each sector once.

The sectors of an instruction may move by a constant from block to block along each axis of the
grid. Then it touches the union of those of all blocks. Whether it does is seen in probes: the
blocks at the grid's origin, one further on each axis, and the last one. Where the last block does
something else, such as at an edge, the last blocks of each axis are left out; where the next block
does, only what was executed counts. So the footprint is never more than the grid's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.timing.traces import BlockTrace

__all__ = ["SECTOR", "Footprint", "footprint", "probe_blocks", "sectors_by_instruction"]

SECTOR = 32
"""Bytes."""
_MOST = 1 << 28  # sectors: 8 GiB, in as many bytes

Numbers = NDArray[np.int64]
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Footprint:
    """Bytes of global memory, each counted once."""

    read: int
    written: int
    covers_grid: bool
    """Whether every instruction's are the whole grid's, but for blocks at its far edges."""


def probe_blocks(grid: Dim3) -> list[Dim3]:
    """Return the blocks that tell how addresses depend on the block.

    >>> probe_blocks((8, 4, 1))
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (7, 3, 0)]
    """
    units = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    next_ones = [unit for unit, size in zip(units, grid, strict=True) if size > 1]
    return list(dict.fromkeys([(0, 0, 0), *next_ones, (grid[0] - 1, grid[1] - 1, grid[2] - 1)]))


def sectors_by_instruction(trace: BlockTrace) -> dict[int, Numbers]:
    """Return the sectors that a block touches, by the number of the instruction; sorted."""
    counts = np.diff(trace.steps.row_begin)[trace.step]
    first = np.repeat(trace.steps.row_begin[trace.step], counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = trace.steps.row[first + within]
    rows = rows[~trace.rows.is_shared[rows]]
    found: dict[int, Numbers] = {}
    numbers = trace.rows.number[rows]
    for number in np.unique(numbers).tolist():
        chosen = numbers == number
        found[number] = _sectors(trace, rows[chosen], trace.base[chosen])
    return found


def _sectors(trace: BlockTrace, rows: Numbers, bases: Numbers) -> Numbers:
    """Return the sectors of accesses: a row each, and the line of its first lane."""
    pairs = np.unique(np.stack([rows, bases], axis=1), axis=0)
    rows, bases = pairs[:, 0], pairs[:, 1]
    counts = np.diff(trace.rows.line_begin)[rows]
    first = np.repeat(trace.rows.line_begin[rows], counts)
    place = first + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    lines = np.repeat(bases, counts) + trace.rows.line[place]
    masks = trace.rows.mask[place]
    parts = [lines[masks >> part & 1 != 0] * 4 + part for part in range(4)]
    return np.unique(np.concatenate(parts)).astype(np.int64)


def footprint(
    probes: Sequence[BlockTrace], traces: Sequence[BlockTrace], grid: Dim3, stores: Iterable[int]
) -> Footprint:
    """Return the bytes that a grid reads and writes at least.

    `probes`: the blocks of `probe_blocks`, in that order, or none. `traces`: other blocks that
    were executed. `stores`: the instructions that write.
    """
    if not probes and not traces:
        return Footprint(0, 0, True)
    each = [sectors_by_instruction(trace) for trace in (*probes, *traces)]
    numbers = sorted(set().union(*each))
    empty = np.zeros(0, np.int64)
    written, covers = set(stores), True
    parts: dict[bool, dict[tuple[tuple[int, int], ...], list[Numbers]]] = {True: {}, False: {}}
    for number in numbers:
        blocks = [block.get(number, empty) for block in each]
        steps = _steps(blocks[: len(probes)], grid) if probes else None
        of_kind = parts[number in written]
        if steps is None:
            covers = covers and all(size == 1 for size in grid)
            of_kind.setdefault((), []).extend(blocks)
        else:
            of_kind.setdefault(steps, []).append(blocks[0])
            of_kind.setdefault((), []).extend(blocks)
    return Footprint(_united(parts[False]) * SECTOR, _united(parts[True]) * SECTOR, covers)


def _steps(probes: list[Numbers], grid: Dim3) -> tuple[tuple[int, int], ...] | None:
    """Return for each axis by how many sectors the next block's lie further, and how many blocks.

    None: they do not all move by a constant.
    """
    origin, *others = probes
    if not len(origin):
        return None
    found: list[tuple[int, int]] = []
    axes = [axis for axis in range(3) if grid[axis] > 1]
    far = 0
    for axis, block in zip(axes, others, strict=False):
        if len(block) != len(origin):
            return None
        step = int(block[0] - origin[0])
        if not np.array_equal(origin + step, block):
            return None
        found.append((step, grid[axis]))
        far += step * (grid[axis] - 1)
    is_like_last = not others or np.array_equal(origin + far, probes[-1])
    if not is_like_last:
        found = [(step, blocks - 1) for step, blocks in found]
    return tuple((step, blocks) for step, blocks in found if step and blocks > 1)


def _united(parts: dict[tuple[tuple[int, int], ...], list[Numbers]]) -> int:
    """Return how many sectors the union of all blocks' sectors has."""
    spans = []
    for steps, sectors in parts.items():
        found = np.unique(np.concatenate(sectors))
        if not len(found):
            continue
        low = int(found[0]) + sum(min(0, step * (blocks - 1)) for step, blocks in steps)
        high = int(found[-1]) + sum(max(0, step * (blocks - 1)) for step, blocks in steps)
        spans.append((low, high, steps, found))
    if not spans:
        return 0
    first = min(low for low, *_ in spans)
    size = max(high for _, high, *_ in spans) + 1 - first
    if size > _MOST:  # what was executed is still touched
        return len(np.unique(np.concatenate([found for *_, found in spans])))
    whole = np.zeros(size, dtype=np.bool_)
    for low, high, steps, found in spans:
        part = np.zeros(high + 1 - low, dtype=np.bool_)
        start = low - sum(min(0, step * (blocks - 1)) for step, blocks in steps)
        part[found - start - (low - start)] = True
        for step, blocks in steps:
            _repeat(part, step, blocks)
        whole[low - first : high + 1 - first] |= part
    return int(np.count_nonzero(whole))


def _repeat(part: NDArray[np.bool_], step: int, blocks: int) -> None:
    """Mark in `part` what lies up to `blocks` - 1 steps further, too."""
    done = 1
    while done < blocks:
        more = min(done, blocks - done)
        away = abs(step) * more
        if step > 0:
            part[away:] |= part[:-away].copy()
        else:
            part[:-away] |= part[away:].copy()
        done += more
