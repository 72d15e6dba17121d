"""What mbarriers order, and what TMA brings to a cluster: the rest of what `races` does.

An mbarrier has a clock of its own, in which all are that arrived at it. A warp that waited for it
is behind them. Of a warp that arrives from another block it has no more than what a fence of the
cluster is behind. A tile is known to be there by who knows its phase to be over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.sass.run.clocks import RaceState, report_early

__all__ = ["ARRIVE", "LAND", "WAIT", "synchronise"]

ARRIVE, WAIT, LAND = 0, 1, 2
"""Kinds: a warp arrives, its wait has ended, or TMA or st.async brings bytes that count there."""

_LOW = 0xFFFFFFFF


def synchronise(state: RaceState, rank: int, words: NDArray[np.int64]) -> None:
    """Take what is done at an mbarrier: `clocks.SYNC_WORDS` words; `rank`: the warp's block's."""
    first, owner, over, to, size = words.tolist()
    kind, own = first >> 58 & 3, int(state.options[3])
    warp, warps = rank * own + (first >> 32 & 31), len(state.clocks) - 1
    clocks, gate = state.clocks, _gate(state, owner >> 32, owner & _LOW)
    shared = clocks[warps] if gate < 0 else state.gates[gate]
    if kind == ARRIVE:
        np.maximum(shared, clocks[warp] if owner >> 32 == rank else state.fenced[warp], out=shared)
        clocks[warp, warp] += 1
    elif kind == WAIT:
        for each in (shared, clocks[warps]):
            np.maximum(clocks[warp], each, out=clocks[warp])
        if gate >= 0 and warps + gate < clocks.shape[1]:
            clocks[warp, warps + gate] = max(clocks[warp, warps + gate], over)
    else:
        _land(state, warp, _tile(state, gate, over, first & _LOW), to >> 32, to & _LOW, size)


def _gate(state: RaceState, block: int, place: int) -> int:
    """Return the number of an mbarrier, from 0; -1 where it is not watched."""
    if block >= len(state.gate_of):
        return -1
    found = state.gate_of[block]
    if not found[place >> 3] and state.done[2] < len(state.gates):
        state.done[2] += 1
        found[place >> 3] = state.done[2]
    return int(found[place >> 3]) - 1


def _tile(state: RaceState, gate: int, phase: int, number: int) -> tuple[int, int]:
    """Return the number of a new tile, from 1 (0: it is not watched), and its instruction."""
    tile = int(state.done[3])
    if gate < 0 or tile == len(state.tiles):
        return 0, number
    state.tiles[tile] = gate, phase, number
    state.done[3] += 1
    return tile + 1, number


def _land(
    state: RaceState, warp: int, tile: tuple[int, int], block: int, place: int, size: int
) -> None:
    """Note bytes that come: what was written and read there before is of no account any more.

    Parameters
    ----------
    state, warp
        The watch, and the warp that copies.
    tile
        Its number and the instruction's.
    block, place, size
        Where the bytes lie, by shared address, and how many they are.
    """
    if block >= len(state.gate_of):
        return
    shift, own, room, start = (int(state.options[each]) for each in (0, 3, 4, 5))
    begin, end = place - start, place - start + size
    if len(state.landed):
        state.landed[block, begin >> 4 : end + 15 >> 4] = tile[0]
    chosen = slice(block * room + min(begin >> shift, room), block * room + min(end >> shift, room))
    state.writes[chosen, 0] = 0
    state.writes[chosen, 4] = 0
    reads = state.reads[chosen]
    if len(state.landed) and reads.size:
        late = reads[:, :, 0] > state.clocks[warp, : reads.shape[1]]
        late[:, block * own : (block + 1) * own] = False
        for granule, reader in np.argwhere(late).tolist():
            report_early(state, int(reads[granule, reader, 1]), tile[1], reader, block)
    reads[:] = 0
