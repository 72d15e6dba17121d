"""Where the blocks of a grid begin: which SM gets which, until every slot is taken.

Blocks do not go to one SM after another by their numbers: they go to all SMs of a GPC, two by two,
then to those of the next. Some SMs stand apart and get a second one before others have a first.
So blocks of one length come together on an SM where lengths follow one another in a grid's order
(gpu_check/data/h100_first_places.csv).
"""

from __future__ import annotations

from itertools import islice

__all__ = ["GPCS", "first_places"]

_APART = 8
"""SMs that get a turn first, then behind five GPCs, then behind six each time."""
_FIRST_TURNS, _TURNS = 5, 6
_GPCS = (8, 16, 16, 16, 16, 16, 18, 18)
"""Other SMs, by GPC."""
_SMS = _APART + sum(_GPCS)
GPCS = len(_GPCS)
_TPC = 2
"""SMs that lie side by side."""


def first_places(
    blocks: int, resident: int, sms: int, cluster: int = 1, first: int = 0
) -> list[int]:
    """Return the SM of each block until every slot is taken: numbers from 0, GPC by GPC.

    `first`: the GPC that is served first, the one behind that where the launch before ended. Chips
    with other SMs, and blocks in clusters, are taken to be gone through in order.

    >>> first_places(10, 1, 132), first_places(5, 2, 2)
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 16], [0, 1, 0, 1])
    >>> [first_places(528, 4, 132).index(sm) for sm in (0, 8, 131)]
    [0, 8, 139]
    """
    count = min(blocks, resident * sms)
    if sms != _SMS or cluster > 1:
        return [block % sms for block in range(count)]
    whole, left = divmod(count, sms)
    found = _whole(whole, first)
    if left:
        found += [*range(min(left, _APART)), *_some(max(left - _APART, 0), first)]
    return found


def _gpcs() -> list[list[int]]:
    """Return the SMs of each GPC, but those that stand apart."""
    numbers = iter(range(_APART, _SMS))
    return [list(islice(numbers, size)) for size in _GPCS]


def _from(first: int, each: list[list[int]]) -> list[list[int]]:
    """Return what GPCs have, that which is served first before the others.

    >>> _from(1, [[0], [1], [2]])
    [[1], [2], [0]]
    """
    return each[first:] + each[:first]


def _whole(turns: int, first: int) -> list[int]:
    """Return the SMs in order, where each gets so many blocks."""
    gpcs, apart = _from(first, _gpcs()) * turns, list(range(_APART))
    at = {0, *range(_FIRST_TURNS, len(gpcs), _TURNS)}
    found: list[int] = []
    for place, gpc in enumerate(gpcs):
        if place in at and turns:
            found += apart
            turns -= 1
        found += gpc
    return found


def _some(count: int, first: int) -> list[int]:
    """Return the SMs that get the last blocks, where they are too few for all.

    GPCs get as many as each other, as long as they have a TPC without one; then those whose TPCs
    have one.
    """
    gpcs = _gpcs()
    free = [[*gpc[::_TPC], *gpc[1::_TPC]] for gpc in gpcs]
    given: list[list[int]] = [[] for _ in gpcs]
    for half in (0, 1):
        limits = [len(gpc) // _TPC * (half + 1) for gpc in gpcs]
        while count and any(map(int.__lt__, map(len, given), limits)):
            for some, own, limit in zip(given, free, limits, strict=True):
                if count and len(some) < limit:
                    some.append(own[len(some)])
                    count -= 1
    return [sm for some in _from(first, given) for sm in sorted(some)]
