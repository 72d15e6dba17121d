"""How many blocks each SM gets of a grid of like blocks, and which SM ends last.

An SM gets its next block when one of its own has ended. SMs differ in how fast the L2 serves them,
and do not begin in the same cycle. Where the blocks of an SM end nearly together, those that are
left go to the SMs that are first, several to each; others get no more. Of ten blocks per SM, of
which it holds eight, some get sixteen and others eight (gpu_check/data/h100_tails.csv, loads).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np

from simulator.jit import jit

__all__ = ["Share", "scattered", "shares", "slowness"]

_GOLDEN = 0.6180339887498949
"""Its multiples lie evenly between whole numbers."""
_MOST = 1 << 16
"""Blocks that are given one by one: of more, the last ones are a small part."""


@dataclass(frozen=True)
class Share:
    """What an SM gets of a grid."""

    blocks: int
    slow: float
    """Its time beside the mean SM's."""
    late: float
    """Cycles by which it begins after the mean SM."""


def slowness(sms: int, served: float, machine: Mapping[str, float]) -> list[float]:
    """Return the time of each SM beside the mean one's, the fastest first; `served` as in `shares`.

    >>> slowness(2, 0.5, {"fastest_sm": 0.9, "slowest_sm": 1.1})
    [0.975, 1.025]
    """
    least, most = machine["fastest_sm"], machine["slowest_sm"]
    return [1 + served * (most - least) * ((sm + 0.5) / sms - 0.5) for sm in range(sms)]


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
    ends: Sequence[float], resident: int, wave: float, blocks: int, sms: int, served: float,
    machine: Mapping[str, float],
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
        The share of the time in which the L2 serves that SM: by so much SMs differ.
    machine
        The machine's numbers.

    Examples
    --------
    Blocks that end together go to the first SMs, those that end one by one to all:

    >>> like = {"fastest_sm": 0.9, "slowest_sm": 1.1, "first_begins": 0.0}
    >>> [each.blocks for each in shares([1e4] * 4, 4, 1e4, 20, 4, 1.0, like)]
    [8, 4, 4, 4]
    >>> [each.blocks for each in shares([1e4, 2e4, 3e4, 4e4], 4, 4e4, 20, 4, 1.0, like)]
    [5, 5, 5, 5]
    """
    slow = slowness(sms, served, machine)
    late = [machine["first_begins"] * (sm * _GOLDEN % 1 - 0.5) for sm in range(sms)]
    if blocks <= resident * sms or blocks > _MOST:
        count = [blocks // sms + (sm < blocks % sms) for sm in range(sms)]
    else:
        of = [np.array(each, np.float64) for each in (ends, late, slow)]
        count = _given_out(*of, resident, float(wave), blocks - resident * sms).tolist()
    return [Share(*each) for each in zip(count, slow, late, strict=True)]


@jit()
def _given_out(ends: Any, late: Any, slow: Any, resident: int, wave: float, left: int) -> Any:
    """Return the blocks of each SM when those that are left were given to whom one ends first."""
    count = np.full(len(slow), resident)
    following = [(late[sm] + slow[sm] * ends[0], sm) for sm in range(len(slow))]
    heapify(following)
    for _ in range(left):
        sm = following[0][1]
        place = count[sm] + 1 - resident
        waves = max(0, (place - len(ends)) // resident + 1)
        end = ends[place - waves * resident] + waves * wave
        count[sm] += 1
        heapreplace(following, (late[sm] + slow[sm] * end, sm))
    return count
