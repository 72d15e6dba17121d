"""How many blocks each SM gets of a grid of like blocks, and which SM ends last.

An SM gets its next block when one of its own has ended. SMs differ in how fast the L2 serves them,
and do not begin in the same cycle. Some share their way to the L2 with fewer others: where that way
or DRAM is what a grid waits for, they get more (gpu_check/data/h100_ways.csv). Where the blocks of
an SM end nearly together, those that are left go to the SMs that are first, several to each; others
get no more. Of ten blocks per SM, of which it holds eight, some get sixteen and others eight
(gpu_check/data/h100_tails.csv, loads).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heapreplace
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit

__all__ = ["Share", "SmServed", "scattered", "shares", "slowness"]

_GOLDEN = 0.6180339887498949
"""Its multiples lie evenly between whole numbers."""
_MOST = 1 << 16
"""Blocks that are given one by one: of more, the last ones are a small part."""
_DRAWN = 64
"""Blocks of an SM for which it is drawn how long they take: then the draws come again."""


@dataclass(frozen=True)
class SmServed:
    """How an SM is served, by the one that was simulated: shares of the time."""

    by_memory: float
    """In which the L2 serves it, or DRAM, the larger of both: by so much SMs differ, and what their
    blocks take (gpu_check/data/h100_apart.csv)."""
    by_way: float
    """In which the way to the L2 is busy, or DRAM serves it: the larger of both."""


@dataclass(frozen=True)
class Share:
    """What an SM gets of a grid."""

    blocks: int
    slow: float
    """Its time beside the mean SM's."""
    late: float
    """Cycles by which it begins after the mean SM."""


def slowness(sms: int, served: SmServed, machine: Mapping[str, float]) -> list[float]:
    """Return the time of each SM beside the mean one's, the fastest first.

    >>> like = {"sm_least": 0.9, "sm_most": 1.1, "few_sms": 0.5, "few_time": 0.75, "way_from": 0.8}
    >>> slowness(2, SmServed(0.5, 0.5), like)
    [0.975, 1.025]
    >>> [round(each, 3) for each in slowness(2, SmServed(0.0, 1.0), like)]
    [0.75, 1.5]
    """
    least, most = machine["sm_least"], machine["sm_most"]
    part, time = machine["few_sms"], machine["few_time"]
    others = (1 - part) / (1 - part / time)  # the mean of all rates is that of the mean SM
    few, above = round(part * sms), machine["way_from"]
    shows = min(max((served.by_way - above) / (1 - above), 0.0), 1.0)
    of_memory = [
        1 + served.by_memory * (most - least) * ((sm + 0.5) / sms - 0.5) for sm in range(sms)
    ]
    of_way = [1 + shows * ((time if sm < few else others) - 1) for sm in range(sms)]
    return sorted(a * b for a, b in zip(scattered(of_memory), of_way, strict=True))


def scattered(each: Sequence[float]) -> list[float]:
    """Return values that are in order so that they lie about evenly over the SMs.

    >>> scattered([1, 2, 3, 4])
    [1, 3, 2, 4]
    """
    order = sorted(range(len(each)), key=lambda sm: sm * _GOLDEN % 1)
    found = [0.0] * len(each)
    for value, sm in zip(each, order, strict=True):
        found[sm] = value
    return found


def shares(
    ends: Sequence[float], resident: int, wave: float, blocks: int, sms: int, served: SmServed,
    machine: Mapping[str, float], apart: float = 0.0, drawn: int = 0,
) -> list[Share]:  # fmt: skip
    """Return what SMs get, where one of them was simulated.

    Parameters
    ----------
    ends
        When the blocks of that SM ended, in order, while every slot was taken: the first
        `resident` at least.
    resident, wave
        Blocks that an SM holds, and the cycles in which as many end.
    blocks, sms
        Of the grid, and of the chip.
    served
        How that SM is served.
    machine
        The machine's numbers.
    apart
        By how many cycles the ends of blocks differ from SM to SM, a standard deviation, where only
        chance tells who goes first.
    drawn
        Which of the draws says how long each block takes, beside others in its place.

    Examples
    --------
    Blocks that end together go to the first SMs, those that end one by one to all:

    >>> like = {"sm_least": 0.9, "sm_most": 1.1, "few_sms": 0.0, "few_time": 1.0, "way_from": 0.8,
    ...         "first_begins": 0.0, "block_differs": 0.01}
    >>> one = SmServed(1.0, 0.0)
    >>> [each.blocks for each in shares([1e4] * 4, 4, 1e4, 20, 4, one, like)]
    [8, 4, 4, 4]
    >>> [each.blocks for each in shares([1e4, 2e4, 3e4, 4e4], 4, 4e4, 20, 4, one, like)]
    [5, 5, 5, 5]
    """
    slow = slowness(sms, served, machine)
    late = [machine["first_begins"] * (sm * _GOLDEN % 1 - 0.5) for sm in range(sms)]
    if blocks <= resident * sms or blocks > _MOST:
        count = [blocks // sms + (sm < blocks % sms) for sm in range(sms)]
    else:
        of = [np.array(each, np.float64) for each in (ends, late, slow)]
        differ = hypot(machine["block_differs"] * served.by_memory * wave, apart)
        shifts = differ * _normals(drawn, sms)
        count = _given_out(*of, shifts, resident, float(wave), blocks - resident * sms).tolist()
    return [Share(*each) for each in zip(count, slow, late, strict=True)]


@cache
def _normals(drawn: int, sms: int) -> NDArray[np.float64]:
    """Return a draw from a normal distribution, shape (SMs, blocks of an SM)."""
    return np.random.default_rng(drawn).standard_normal((sms, _DRAWN))


@jit()
def _given_out(
    ends: Any, late: Any, slow: Any, shifts: Any, resident: int, wave: float, left: int
) -> Any:
    """Return the blocks of each SM when those that are left were given to whom one ends first."""
    count = np.full(len(slow), resident)
    following = [(late[sm] + slow[sm] * ends[0] + shifts[sm, 0], sm) for sm in range(len(slow))]
    heapify(following)
    for _ in range(left):
        now, sm = following[0]
        place = count[sm] + 1 - resident
        waves = max(0, (place - len(ends)) // resident + 1)
        end = late[sm] + slow[sm] * (ends[place - waves * resident] + waves * wave)
        count[sm] += 1
        heapreplace(following, (max(now, end + shifts[sm, place % shifts.shape[1]]), sm))
    return count
