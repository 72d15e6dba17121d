"""What the SMs of a GPC read at about the same time: the L2 sends it to the GPC once.

Others that read the same, of other GPCs or on the same SM, gain nothing (gpu_check/data/
h100_gpc_reads.csv). Which blocks lie in a GPC follows from their numbers; what those read that did
not run, from how the sectors of an instruction move from block to block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.timing.distinct import distinct
from simulator.timing.machine import l1_bytes
from simulator.timing.moving import Dim3, by_axis
from simulator.timing.places import first_places, gpc_of
from simulator.timing.sharing import readers
from simulator.timing.traces import SECTOR
from simulator.timing.work import Work

__all__ = ["Sent", "l2_rates", "of_one_gpc", "rate_of", "sent_once", "without_rule"]

Numbers = NDArray[np.int64]
_MOST = 1 << 20
"""Sectors of blocks that are gone through one by one; of more, one GPC stands for all."""


class Sent(NamedTuple):
    """Some of what a block reads."""

    sectors: float
    once: float
    """Those that the L2 sends to a GPC, beside all that its blocks read of it."""
    readers: tuple[int, ...] = ()
    """Of the blocks that a GPC runs at a time, which read the same: those have the same number."""


def l2_rates(work: Work, machine: Mapping[str, float], sms: int) -> dict[str, float]:
    """Return bytes per cycle of an SM, all SMs at work, of loads, copies and tiles, by its number.

    And the cycles for which the L2 looks up a line of a copy or a row of a tile.
    """
    alone, more = machine["request_alone"], machine["request"] - machine["request_alone"]
    if prod(work.cluster) > 1:  # blocks of a cluster may read for each other
        several = readers(work, work.footprint)
        rate = min(machine["l2_shared"], machine["l2_rate"] * several)
        asks = {"copy_request": machine["request"], "tma_request": alone + more / several}
        return dict.fromkeys(("l2_rate", "copy_rate", "tma_l2_rate"), rate) | asks
    reach, stores = int(machine["shared_reach"]), {*work.stores}
    l1 = l1_bytes(work.shared_bytes, work.resident, work.warps) // SECTOR
    traces = (*work.probes, *work.traces)
    tiles = frozenset[int]().union(*(trace.copied for trace in traces)) - stores
    copies = frozenset(work.bypassing)
    loads = frozenset[int]().union(*(trace.touched for trace in traces)) - tiles - copies - stores
    by_loads = sent_once(work, sorted(loads), sms, reach, l1)
    by_copies, by_tiles = (sent_once(work, sorted(some), sms, reach) for some in (copies, tiles))
    at_once = min(work.resident, -(-work.blocks // sms))
    found = machine["gpc_found"] - machine["gpc_lost"] * min(max(at_once - 2, 0), 2)
    of_loads = found if at_once == 1 else machine["gpc_loads"]
    return {
        "l2_rate": _rate(by_loads, machine, "l2_rate", "l2_shared", of_loads),
        "copy_rate": _rate(by_copies, machine, "l2_rate", "copy_shared", found),
        "copy_request": machine["copy_request_shared"]
        + (machine["copy_request"] - machine["copy_request_shared"]) * _sent(by_copies, found),
        "tma_l2_rate": _rate(by_tiles, machine, "tma_own", "tma_shared", found),
        "tma_request": alone + more * _sent(by_tiles, found),
    }


def _rate(
    sent: Sequence[Sent], machine: Mapping[str, float], own: str, most: str, found: float
) -> float:
    """Return bytes per cycle as `rate_of`, by the names of the machine's numbers.

    SMs that wait for each other's rows and columns come apart: the later, the more.
    """
    read = SECTOR * sum(each.sectors for each in sent)
    begin, end = log2(machine["gpc_together"]), log2(machine["gpc_apart"])
    late = min(max((log2(max(read, 1.0)) - begin) / (end - begin), 0.0), 1.0)
    crossed = 1 - (1 - machine["gpc_crossed"]) * late
    return rate_of(sent, machine[own], machine[most], found, crossed)


def _sent(sent: Sequence[Sent], found: float) -> float:
    """Return how much the L2 sends, beside what all SMs read."""
    every = sum(each.sectors for each in sent)
    once = sum(each.sectors * each.once for each in sent) / every if every else 1.0
    return 1 - found * (1 - once)


def rate_of(
    sent: Sequence[Sent], own: float, most: float, found: float, crossed: float = 1.0
) -> float:
    """Return bytes per cycle of an SM, all SMs reading.

    `own`: where all read their own; `most`: where all read the same; `found`: the part of what
    blocks share that they read at about the same time; `crossed`: of that, what is left where a
    block shares some with others than the rest, as rows and columns of a product.

    >>> half = [Sent(8, 1.0), Sent(8, 0.25)]
    >>> [round(rate_of(some, 30, 80, 1.0), 2) for some in ([], half[1:], half)]
    [30, 80.0, 43.64]
    >>> rate_of([Sent(8, 0.5, (0, 0, 1, 1)), Sent(8, 0.5, (0, 1, 0, 1))], 30, 80, 1.0, 0.5)
    40.0
    """
    if not sent:
        return own
    time = 0.0
    for each in sent:
        at_once = found * (crossed if any(_cross(each, other) for other in sent) else 1.0)
        time += each.sectors / min(most, own / (1 - at_once * (1 - each.once)))
    return sum(each.sectors for each in sent) / time


def _cross(first: Sent, second: Sent) -> bool:
    """Whether blocks share what is first with others than what is second."""
    both = len(set(zip(first.readers, second.readers, strict=False)))
    return both > max(len(set(first.readers)), len(set(second.readers)))


def sent_once(work: Work, loads: Iterable[int], sms: int, reach: int, held: int = 0) -> list[Sent]:
    """Return what a block reads by some instructions, by how much of it is sent once to a GPC.

    Where sectors do not move by constants, the blocks tell that one GPC runs at a time. If they did
    not run, those of close numbers do (`reach`). Up to `held` sectors of those that all blocks read
    an SM asks for once, for all blocks that it runs at a time.
    """
    every = (*work.probes, *work.traces, *work.beside)
    moving, left = _by_rule({trace.block: trace.touched for trace in every}, work.grid, loads)
    found = []
    layers = _layers(work, sms) if moving else []
    of_gpc = np.array(of_one_gpc(work.blocks, work.resident, sms, work.grid))
    for steps, some in moving.items():
        sectors = distinct(np.concatenate(some))
        asked = float(len(sectors))
        if not any(steps) and asked <= held:
            asked /= max(1.0, min(work.blocks / sms, work.resident))
        who = tuple((of_gpc @ np.array(steps)).tolist())
        found.append(Sent(asked, _once(sectors, steps, layers), who))
    return [*found, *_without_rule(work, left, reach)]


def _without_rule(work: Work, left: Mapping[int, Mapping[Dim3, Numbers]], reach: int) -> list[Sent]:
    """Return the same of what loads read that does not move, by load: sectors of each block."""
    beside = [trace.block for trace in work.beside]
    alike: dict[tuple[int, ...], list[Mapping[Dim3, Numbers]]] = {}
    for blocks in left.values():
        sums = [int(blocks[block].sum()) for block in beside]
        which = np.unique(sums, return_inverse=True)[1].tolist() if any(sums) else ()
        alike.setdefault(tuple(which), []).append(blocks)
    found = []
    for who, some in alike.items():
        of = {block: distinct(np.concatenate([one[block] for one in some])) for block in some[0]}
        if who:
            asked = [of[block] for block in beside]
            once = len(distinct(np.concatenate(asked))) / sum(map(len, asked))
        else:
            once = 1 - _near(of, work.grid, reach) * (1 - 1 / reach)
        mean = float(np.mean([len(each) for each in of.values()]))
        found.append(Sent(mean, once, who))
    return found


def without_rule(
    blocks: Mapping[Dim3, Mapping[int, Numbers]], grid: Dim3, loads: Iterable[int]
) -> float:
    """Return the part of what blocks read that does not move by constants."""
    moving, left = _by_rule(blocks, grid, loads)
    rest = sum(len(sectors) for some in left.values() for sectors in some.values())
    moves = len(blocks) * sum(len(sectors) for some in moving.values() for sectors in some)
    return rest / (rest + moves) if rest else 0.0


def of_one_gpc(blocks: int, resident: int, sms: int, grid: Dim3) -> list[Dim3]:
    """Return the blocks that the SMs of one GPC run first.

    >>> of_one_gpc(256, 2, 132, (256, 1, 1))[:3], len(of_one_gpc(8, 2, 132, (8, 1, 1)))
    ([(16, 0, 0), (17, 0, 0), (18, 0, 0)], 8)
    """
    at = [gpc_of(sm, sms) for sm in first_places(blocks, resident, sms)[:sms]]
    gpc = 1 if 1 in at else 0  # SMs that stand apart get a second block early, and belong to 0
    x, y, _ = grid
    numbers = [number for number, each in enumerate(at) if each == gpc]
    return [(number % x, number // x % y, number // (x * y)) for number in numbers]


def _by_rule(
    blocks: Mapping[Dim3, Mapping[int, Numbers]], grid: Dim3, loads: Iterable[int]
) -> tuple[dict[Dim3, list[Numbers]], dict[int, dict[Dim3, Numbers]]]:
    """Return what moves by constants, at the origin, and what else each block reads, by load."""
    empty = np.zeros(0, np.int64)
    moving: dict[Dim3, list[Numbers]] = {}
    rest: dict[int, dict[Dim3, Numbers]] = {}
    for number in loads:
        each = {block: touched.get(number, empty) for block, touched in blocks.items()}
        steps, common = by_axis(each, grid)
        if len(common):
            moving.setdefault(steps, []).append(common)
        left = {
            block: sectors[
                ~np.isin(sectors, common + int(np.dot(steps, block)), assume_unique=True)
            ]
            for block, sectors in each.items()
        }
        if any(map(len, left.values())):
            rest[number] = left
    return moving, rest


def _layers(work: Work, sms: int) -> list[Numbers]:
    """Return the blocks that the SMs of a GPC run at a time, one of each SM: shape (blocks, 3)."""
    at: dict[tuple[int, int], list[int]] = {}
    of_sm: dict[int, int] = {}
    for block, sm in enumerate(first_places(work.blocks, work.resident, sms)):
        layer = of_sm[sm] = of_sm.get(sm, -1) + 1
        at.setdefault((layer, gpc_of(sm, sms)), []).append(block)
    last = max(layer for layer, _ in at)
    chosen = {0, last // 2, max(last - 1, 0)}
    x, y, _ = work.grid
    found = []
    for (layer, _), some in at.items():
        if layer in chosen:
            numbers = np.array(some)
            found.append(np.stack([numbers % x, numbers // x % y, numbers // (x * y)], axis=1))
    return found


def _once(sectors: Numbers, steps: Dim3, layers: Sequence[Numbers]) -> float:
    """Return how much of what blocks read is sent, where it moves by so much along each axis."""
    span = int(sectors.max() - sectors.min()) + 1
    sent = asked = 0
    for blocks in layers:
        away = np.unique(blocks @ np.array(steps))
        asked += len(blocks) * len(sectors)
        if len(away) < 2 or np.diff(away).min() >= span:
            sent += len(away) * len(sectors)
        else:
            sent += len(distinct((away[:, None] + sectors).reshape(-1)))
        if asked > _MOST:
            break
    return sent / asked


def _near(blocks: Mapping[Dim3, Numbers], grid: Dim3, reach: int) -> float:
    """Return the part of what blocks read that another one of a close number reads, too."""
    numbers = {x + grid[0] * (y + grid[1] * z): each for (x, y, z), each in blocks.items()}
    asked = together = 0
    for number, mine in numbers.items():
        near = [
            each for other, each in numbers.items()
            if other != number and abs(other - number) <= reach
        ]  # fmt: skip
        if near:
            asked += len(mine)
            together += int(np.isin(mine, np.concatenate(near)).sum())
    return together / asked if asked else 0.0
