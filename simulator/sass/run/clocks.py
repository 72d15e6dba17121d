"""Vector clocks of a cluster's warps: what `races` does for each access, compiled.

Warps are numbered over the blocks of a cluster: warp `w` of block `r` is `r * warps + w`. A clock
row says up to where a warp is behind each other. Behind those it says of each mbarrier of a cluster
how many of its phases the warp knows to be over: what TMA brings counts as theirs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit

__all__ = ["SYNC", "SYNC_WORDS", "RaceState", "examine", "report_early", "settle"]

SYNC = 60
"""The bit that marks what is done at an mbarrier among what warps do: so many words."""

SYNC_WORDS = 5
"""First come the kind, from bit 58 on, the warp, from bit 32 on, and the instruction.

Then the mbarrier's block, from bit 32 on, and its place; then its phases that are over. Of what
lands there are the block, from bit 32 on, and the place, and then the bytes.
"""


UNKNOWN = -2
"""A value that was stored, where nobody notes it: of what goes to a neighbour."""


class RaceState(NamedTuple):
    """What is known of the program, and of the blocks so far; arrays of integers."""

    about: NDArray[np.int64]
    """Of each site: load, store or atomic, its bytes, its lanes, whether it is a neighbour's, its
    instruction."""
    options: NDArray[np.int64]
    """Bits of an address within a granule, whether there are locks, and spinning loops; warps and
    granules of a block, the first address of shared memory."""
    syncs: NDArray[np.int64]
    """(4, n): how many instructions before each order warps, but for barriers; how many arrive at
    the cluster's barrier; how many wait there; how many are fences of the cluster or more."""
    bars: NDArray[np.int64]
    """Of each instruction: the barrier, as `_barrier` gives it; -1: not one."""
    ends: NDArray[np.int64]
    """Where the straight run from each instruction ends."""
    lanes: NDArray[np.int64]
    """Of each warp of a block: all its lanes."""
    clocks: NDArray[np.int64]
    """Of each warp; of all locks and fences."""
    bar_clocks: NDArray[np.int64]
    """Of each barrier of each block, in this turn and the one before."""
    barriers: NDArray[np.int64]
    """Of each of these: who has arrived, its turn, and whether a part of a warp has arrived."""
    waiting: NDArray[np.int64]
    """Of each warp: the barrier at which it waits, in which turn; whether it passed a fence; how
    often it arrived at the cluster's barrier; whether it waited there."""
    cluster_clocks: NDArray[np.int64]
    """Of the cluster's barrier, in even and odd turns; behind them the last turn begun."""
    writes: NDArray[np.int64]
    """The last of each granule: warp + 1, clock, site, value; of atomics the first three."""
    reads: NDArray[np.int32]
    """The last of each granule by each warp: clock, site."""
    away: NDArray[np.int64]
    """The last access to each block by each warp of another one: clock, site."""
    pairs: NDArray[np.int64]
    """What was found: both sites, both warps."""
    done: NDArray[np.int64]
    """How many pairs were found, how many accesses seen, mbarriers, tiles, early reads."""
    fenced: NDArray[np.int64]
    """Of each warp: its clocks at its last fence of the cluster or more."""
    gate_of: NDArray[np.int32]
    """Of each 8 bytes of each block: the number of the mbarrier there, from 1."""
    gates: NDArray[np.int64]
    """Clocks of each mbarrier: what those knew that arrived."""
    landed: NDArray[np.int32]
    """Of each 16 bytes of each block: the number of the tile there, from 1."""
    tiles: NDArray[np.int64]
    """Of each tile: its mbarrier, the phase that counts it, the instruction."""
    now: NDArray[np.int64]
    """Where `examine` stopped: the warp, its straight run from where to where, whether a part."""
    early: NDArray[np.int64]
    """Reads of tiles that nothing orders: the site, the copy, the warp, the tile's block."""


@jit()
def _join(to, other):  # type: ignore[no-untyped-def]
    for warp in range(len(to)):
        to[warp] = max(to[warp], other[warp])


@jit()
def _report(pairs, done, first, second, one, other):  # type: ignore[no-untyped-def]
    for place in range(done[0]):
        same = pairs[place, 0] == first and pairs[place, 1] == second
        if same or (pairs[place, 0] == second and pairs[place, 1] == first):
            return
    if done[0] < len(pairs):
        place = done[0]
        pairs[place, 0], pairs[place, 1] = first, second
        pairs[place, 2], pairs[place, 3] = one, other
        done[0] += 1


@jit()
def _arrive(state, warp, which, is_part):  # type: ignore[no-untyped-def]
    """Let a warp arrive at a barrier of its block."""
    clocks, waiting = state.clocks, state.waiting
    if which == 32:
        _join(clocks[-1], clocks[warp])
        waiting[2, warp] = 1
    else:
        rank, local = divmod(warp, state.options[3])
        barriers, turns = state.barriers[rank], state.bar_clocks[rank]
        number = which & 15
        bit = np.int64(1) << local
        if is_part:
            barriers[2, number] = 1
        if barriers[0, number] & bit and not barriers[2, number]:
            for other in range(turns.shape[1]):  # an assignment of rows takes long to compile
                turns[16 + number, other] = turns[number, other]
                turns[number, other] = 0
            barriers[0, number] = 0
            barriers[1, number] += 1
        _join(turns[number], clocks[warp])
        barriers[0, number] |= bit
        if which < 16:
            waiting[0, warp] = number
            waiting[1, warp] = barriers[1, number]
    clocks[warp, warp] += 1


@jit()
def _arrive_in_cluster(state, warp):  # type: ignore[no-untyped-def]
    """Let a warp arrive at the cluster's barrier: nobody is more than a turn behind another."""
    turn = state.waiting[3, warp]
    if state.cluster_clocks[2, 0] < turn + 1:
        state.cluster_clocks[turn & 1] = 0
        state.cluster_clocks[2, 0] = turn + 1
    _join(state.cluster_clocks[turn & 1], state.clocks[warp])
    _join(state.fenced[warp], state.clocks[warp])
    state.waiting[3, warp] += 1
    state.clocks[warp, warp] += 1


@jit()
def _go_on(state, warp):  # type: ignore[no-untyped-def]
    """Let a warp know what those knew that it has waited for."""
    clocks, waiting = state.clocks, state.waiting
    if waiting[2, warp] == 1:
        _join(clocks[warp], clocks[-1])
        waiting[2, warp] = -1
    if waiting[4, warp] == 1:
        _join(clocks[warp], state.cluster_clocks[(waiting[3, warp] - 1) & 1])
        waiting[4, warp] = 0
    number = waiting[0, warp]
    if number >= 0:
        rank = warp // state.options[3]
        barriers, turns = state.barriers[rank], state.bar_clocks[rank]
        loose = barriers[2, number] == 1
        if loose or waiting[1, warp] == barriers[1, number]:
            _join(clocks[warp], turns[number])
        if loose or waiting[1, warp] != barriers[1, number]:
            _join(clocks[warp], turns[16 + number])
        waiting[0, warp] = -1


@jit()
def _pass(state, warp, first, end):  # type: ignore[no-untyped-def]
    """Let a warp execute what orders warps among some instructions, but for barriers."""
    clocks, syncs = state.clocks, state.syncs
    if syncs[3, end] > syncs[3, first]:
        _join(state.fenced[warp], clocks[warp])
    if syncs[0, end] > syncs[0, first]:
        _join(clocks[warp], clocks[-1])
        _join(clocks[-1], clocks[warp])
        clocks[warp, warp] += 1
        state.waiting[2, warp] = 1
    if syncs[1, end] > syncs[1, first]:
        _arrive_in_cluster(state, warp)


@jit()
def settle(state):  # type: ignore[no-untyped-def]
    """Let all warps know what they waited for last."""
    for warp in range(state.clocks.shape[0] - 1):
        _go_on(state, warp)


@jit()
def report_early(state, site, copy, warp, block):  # type: ignore[no-untyped-def]
    """Note a read of a tile that nothing orders with it, once for each pair of instructions."""
    count = state.done[4]
    for place in range(count):
        if state.early[place, 0] == site and state.early[place, 1] == copy:
            return
    if count < len(state.early):
        state.early[count, 0], state.early[count, 1] = site, copy
        state.early[count, 2], state.early[count, 3] = warp, block
        state.done[4] += 1


@jit()
def _look_for_tile(state, warp, site, block, at):  # type: ignore[no-untyped-def]
    """Look whether a warp reads a tile of another block that it does not know to be there."""
    piece = at >> 4
    if not len(state.landed) or piece >= state.landed.shape[1]:
        return
    tile = state.landed[block, piece] - 1
    if tile < 0:
        return
    gate, phase, copy = state.tiles[tile, 0], state.tiles[tile, 1], state.tiles[tile, 2]
    warps = state.clocks.shape[0] - 1
    if state.clocks[warp, warps + gate] > phase:
        return
    report_early(state, site, copy, warp, block)


@jit()
def examine(events, heads, trace, state, rank, place):  # type: ignore[no-untyped-def]
    """Look at what a block's warps did since the last time; `rank`: the block's in its cluster.

    Begins at an event, and returns where something is done at an mbarrier: past the end, where
    nothing is.
    """
    about, bars, ends, lanes = state.about, state.bars, state.ends, state.lanes
    clocks = state.clocks
    writes, reads, pairs, done = state.writes, state.reads, state.pairs, state.done
    warps = clocks.shape[0] - 1
    shift, locks, spins, own_warps, size, start_of_shared = state.options
    now = state.now
    if place == 0:
        now[0] = -1
    warp, start, end, part = now[0], now[1], now[2], now[3] != 0
    while place <= len(events):
        is_end = place == len(events)
        event = np.int64(0) if is_end else events[place]
        if is_end or event >> 62:
            if warp >= 0:  # what the last straight run ends with
                _pass(state, warp, start, end)
                if bars[end - 1] >= 0:
                    _arrive(state, warp, bars[end - 1], part)
                if state.syncs[2, end] > state.syncs[2, end - 1]:
                    state.waiting[4, warp] = 1
            if is_end:
                break
            local = (event >> 56) & 31
            warp = rank * own_warps + local
            start = (event >> 32) & 0xFFFFFF
            end = ends[start]
            _go_on(state, warp)
            part = (event & 0xFFFFFFFF) != lanes[local]
            place += 1
            continue
        if event >> SYNC == 1:
            who = rank * own_warps + ((event >> 32) & 31)
            number = event & 0xFFFFFFFF
            if who == warp and start <= number < end:
                _pass(state, warp, start, number)
                start = number
            now[0], now[1], now[2], now[3] = warp, start, end, part
            return place
        if event >> SYNC == 3:  # words of a constant bank
            place += 1
            continue
        row = event & 0xFFFFFFFF
        value = np.int64(-1)
        if place + 1 < len(events) and events[place + 1] >> SYNC == 2:
            value = events[place + 1] & 0xFFFFFFFF
            place += 1
        place += 1
        site = np.int64(heads[row, 0])
        kind = about[0, site]
        if kind == 0 or warp < 0:
            continue
        done[1] += 1
        if about[4, site] > start:
            _pass(state, warp, start, about[4, site])
            start = about[4, site]
        if kind == 3 and locks:
            _join(clocks[warp], clocks[warps])
        mask = np.int64(heads[row, 1]) & 0xFFFFFFFF
        first = (((event >> 32) & 0x1FFFFFF) << 7) + heads[row, 2]
        own = clocks[warp, warp]
        granules = max(1, about[1, site] >> shift)
        if about[3, site]:
            value = np.int64(UNKNOWN)
        for lane in range(about[2, site]):
            if not (mask >> lane) & 1:
                continue
            at, block = first + trace[row, lane], rank
            if about[3, site]:
                block, at = at >> 24, (at & 0xFFFFFF) - start_of_shared
                if not 0 <= block < len(state.away):
                    continue
                state.away[block, warp, 0] = own
                state.away[block, warp, 1] = site
                if kind == 1 and block != rank:
                    _look_for_tile(state, warp, site, block, at)
            begin = block * size + (at >> shift)
            for g in range(begin, min(begin + granules, (block + 1) * size)):
                writer = writes[g, 0] - 1
                if writer >= 0 and writer != warp and writes[g, 1] > clocks[warp, writer]:
                    unknown = value == UNKNOWN or writes[g, 3] == UNKNOWN
                    same = kind == 2 and (unknown or (value >= 0 and value == writes[g, 3]))
                    if not same and not (kind == 3 and locks):
                        _report(pairs, done, writes[g, 2], site, writer, warp)
                writer = writes[g, 4] - 1
                if kind != 3 and writer >= 0 and writer != warp:
                    if locks:
                        _join(clocks[warp], clocks[warps])
                    elif writes[g, 5] > clocks[warp, writer] and not (kind == 1 and spins):
                        _report(pairs, done, writes[g, 6], site, writer, warp)
                if kind == 1:
                    reads[g, warp, 0] = own
                    reads[g, warp, 1] = site
                    continue
                if not (kind == 3 and (spins or locks)):
                    for reader in range(warps):
                        if reader != warp and reads[g, reader, 0] > clocks[warp, reader]:
                            _report(pairs, done, reads[g, reader, 1], site, reader, warp)
                last = 0 if kind == 2 else 4
                writes[g, last] = warp + 1
                writes[g, last + 1] = own
                writes[g, last + 2] = site
                if kind == 2:
                    writes[g, 3] = value
        if kind == 3 and locks:
            _join(clocks[warps], clocks[warp])
            clocks[warp, warp] += 1
    return len(events) + 1
