"""What accesses of global memory take of L1: its data pipe, and what copies ask the L2 for.

A load holds the data pipe as one of shared memory does at the same addresses. It is longer where
the fullest of four tag banks takes longer to look up its lines. A cycle returns 128 bytes at most.
So it was for all 272 patterns of `gpu_check/data/h100_gathers.csv`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.law.accesses import NO_SOURCE
from simulator.law.copies import LINE, TAG_PARITIES
from simulator.law.counting import count
from simulator.law.masks import active_table
from simulator.timing.traces import SECTOR

__all__ = ["copy_asks", "copy_fills", "load_cycles", "store_cycles"]

_TAG_BANKS = 4
_LOADS = {8: "LDS.64", 16: "LDS.128"}
_NOWHERE = np.iinfo(np.int64).max

Numbers = NDArray[np.int64]


def load_cycles(width: int, offsets: Numbers, masks: NDArray[np.uint32]) -> tuple[Numbers, Numbers]:
    """Return the cycles for which loads hold the data pipe, and the least wherever lines lie.

    Lines that lie otherwise than these do may meet in fewer tag banks.

    >>> rows = 4 * np.arange(32)[None] + np.array([[0], [20]])
    >>> load_cycles(4, rows, np.full(2, 0xFFFFFFFF, np.uint32))[0].tolist()
    [1, 1]
    >>> apart = 132 * np.arange(32)[None]
    >>> [int(each[0]) for each in load_cycles(4, apart, np.full(1, 0xFFFFFFFF, np.uint32))]
    [8, 8]

    Parameters
    ----------
    width
        Bytes of a lane: 1, 2, 4, 8 or 16.
    offsets
        Lanes' first bytes, shape (loads, 32).
    masks
        Active lanes as bits, shape (loads,).
    """
    active = active_table(masks)
    lines = np.where(active, offsets // LINE, -1)
    within = np.where(active, offsets % LINE, 0)
    near = LINE * _numbered(lines) + (within & -4 if width < 4 else within)
    wavefronts = np.asarray(count(_LOADS.get(width, "LDS"), near, masks).wavefronts, np.int64)
    floor = np.maximum(wavefronts, -(-active.sum(axis=1) * width // LINE))
    banks = sum(
        (np.bitwise_count(lines & parity).astype(np.int64) & 1) << place
        for place, parity in enumerate(TAG_PARITIES)
    )
    met = [_distinct(np.where(active & (banks == bank), lines, _NOWHERE))
           for bank in range(_TAG_BANKS)]  # fmt: skip
    least = np.maximum(floor, -(-sum(met) // _TAG_BANKS))
    return np.maximum(floor, np.max(met, axis=0)), least


def _numbered(lines: Numbers) -> Numbers:
    """Return the lines of each row by numbers from 0 on: the same order, and none between them."""
    order = np.argsort(lines, axis=1, kind="stable")
    ordered = np.take_along_axis(lines, order, axis=1)
    new = np.zeros_like(lines)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    found = np.empty_like(lines)
    np.put_along_axis(found, order, np.cumsum(new, axis=1), axis=1)
    return found


def _distinct(lines: Numbers) -> Numbers:
    """Return how many lines are in each row, but for _NOWHERE."""
    ordered = np.sort(lines, axis=1)
    new = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) + 1
    found: Numbers = new - (ordered[:, -1] == _NOWHERE)
    return found


def store_cycles(size: int, masks: Sequence[int]) -> int:
    """Return the cycles for which a store or an atomic of `size` bytes holds the data pipe.

    A cycle takes one sector of each of the four places of a line, and 128 bytes.

    `masks`: which sectors of each line.

    >>> store_cycles(128, [0b1111]), store_cycles(32, [1, 1, 1])
    (1, 3)
    """
    places = [sum(mask >> place & 1 for mask in masks) for place in range(4)]
    return max(*places, -(-size // LINE))


def copy_fills(targets: Numbers, sources: Numbers, masks: NDArray[np.uint32]) -> Numbers:
    """Return the sectors that the L2 sends for copies of 16 bytes per lane (LDGSTS.BYPASS).

    A sector is sent again for each sector of shared memory that it goes to: where a source and its
    place do not begin alike within 32 bytes, twice. So an H100 counts it
    (`gpu_check/data/h100_scattered_copies.csv`, filled).

    >>> lane = np.arange(32)[None]
    >>> mask = np.full(1, 0xFFFFFFFF, np.uint32)
    >>> [int(copy_fills(16 * lane + at, 16 * lane, mask)[0]) for at in (0, 16)]
    [16, 32]

    Parameters
    ----------
    targets, sources
        Lanes' first bytes in shared and in global memory, shape (copies, 32); a source of
        NO_SOURCE writes zeros.
    masks
        Active lanes as bits, shape (copies,).
    """
    active = active_table(masks) & (sources != NO_SOURCE)
    pairs = (sources // SECTOR << 32) + targets // SECTOR
    return _distinct(np.where(active, pairs, _NOWHERE))


def copy_asks(targets: Numbers, sources: Numbers, masks: NDArray[np.uint32]) -> Numbers:
    """Return how many lines copies of 16 bytes per lane ask the L2 for.

    A line is asked for once for each line of shared memory that it goes to; where no more than a
    sector of it is copied, once (`gpu_check/data/h100_scattered_copies.csv`, apart).

    >>> lane = np.arange(32)[None]
    >>> mask = np.full(1, 0xFFFFFFFF, np.uint32)
    >>> apart = lane % 8 * 128 + lane // 8 * 16
    >>> [int(copy_asks(targets, 16 * lane, mask)[0]) for targets in (16 * lane, apart)]
    [4, 32]

    Parameters
    ----------
    targets, sources, masks
        Those of `copy_fills`.
    """
    active = active_table(masks) & (sources != NO_SOURCE)
    line, sector = sources // LINE, sources // SECTOR
    same = (line[:, :, None] == line[:, None, :]) & active[:, :, None] & active[:, None, :]
    several = (same & (sector[:, :, None] != sector[:, None, :])).any(axis=2)
    pairs = (line << 32) + np.where(several, targets // LINE, 0)
    return _distinct(np.where(active, pairs, _NOWHERE))
