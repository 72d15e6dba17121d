"""The law of distributed shared memory: what an access to another block of the cluster costs.

Such an access leaves its SM in packets, and a packet takes 1.5 cycles of the way there. Banks do
not matter. A load takes a packet for each 32-byte sector. A store takes one for each aligned piece
of 16 bytes that it touches; where it covers two or more whole sectors of a 128-byte line, it takes
one for each of those. A few packets take as long as the access does at home, at least.

Source: clocks and counters of an NVIDIA H100 (sm_90), gpu_check/data/h100_neighbours.npz and
h100_neighbour_counters.csv; docs/validation.md compares every row, and says what atomics and
st.async cost, for which no such law was found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import accepted
from simulator.errors import InstructionError
from simulator.law.accesses import ALL_LANES, check, warp_accesses
from simulator.law.instructions import instruction
from simulator.law.masks import active_table

__all__ = ["CYCLES_PER_PACKET", "FLOORS", "NeighbourCosts", "count_neighbour", "price_neighbour"]

CYCLES_PER_PACKET = 1.5
FLOORS = {"LDS": 1.6, "LDS.64": 2.0, "LDS.128": 4.0, "STS": 2.0, "STS.64": 3.0, "STS.128": 5.0}
"""Least cycles of an access, by what it is at home: a generic address costs that there, too."""

_SECTOR, _PIECE, _LINE, _WORD = 32, 16, 128, 4
_NOWHERE = 1 << 40  # above every address


class NeighbourCosts(NamedTuple):
    """What accesses to a neighbour cost; arrays of shape (n,)."""

    packets: NDArray[np.int64]
    """Packets that leave the SM: sectors of loads, pieces and whole sectors of stores."""
    cycles: NDArray[np.float64]
    """Cycles per access where warps make nothing else: those of the way there."""


def count_neighbour(op: str, addresses: ArrayLike, mask: ArrayLike | None = None) -> NeighbourCosts:
    """Return what accesses cost that go to a neighbour's shared memory, alone on the way there.

    `op` is the instruction that makes the access at home, one of FLOORS; addresses and mask are
    those of `simulator.count`, within the neighbour's memory.

    >>> count_neighbour("LDS", 128 * np.arange(32)).cycles  # 32-way at home, and 32 sectors
    array([48.])
    >>> count_neighbour("STS", 4 * np.arange(32)).packets  # four whole sectors
    array([4])

    Raises InstructionError for another instruction, and what `count` raises for bad accesses.
    """
    known = instruction(op)
    if known.name not in FLOORS:
        raise InstructionError(
            f"what {known.name} costs in a neighbour's memory is not known:"
            f" {accepted(known.name, FLOORS)}"
        )
    array, masks = warp_accesses(known, addresses, mask)
    check(known, array, masks, addresses)
    flat = array.reshape(-1, 32).astype(np.int64)
    bits = np.broadcast_to(np.uint32(ALL_LANES) if masks is None else masks, array.shape[:-1])
    return price_neighbour(known.name, flat, active_table(bits.reshape(-1)))


def price_neighbour(
    op: str, addresses: NDArray[np.int64], active: NDArray[np.bool_]
) -> NeighbourCosts:
    """Return what accesses cost whose addresses are known to be good; both of shape (n, 32).

    Addresses may be those of the cluster, in which blocks lie 2**24 bytes apart: what goes to
    several neighbours is taken to leave in as many packets as it would one by one.
    """
    known, flat = instruction(op), addresses
    if known.name.startswith("LDS"):
        packets = _distinct(np.where(active, flat // _SECTOR, _NOWHERE))
    else:
        packets = _stored(flat, active, known.width)
    return NeighbourCosts(
        packets, np.where(packets, np.maximum(CYCLES_PER_PACKET * packets, FLOORS[known.name]), 0)
    )


def _distinct(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the different numbers in each row; _NOWHERE is not one."""
    ordered = np.sort(places, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    found: NDArray[np.int64] = (new & (ordered != _NOWHERE)).sum(axis=1)
    return found


def _stored(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], width: int
) -> NDArray[np.int64]:
    """Count the packets of stores, (n, 32): pieces, less what whole sectors save."""
    words = addresses[:, :, None] // _WORD + np.arange(width // _WORD)
    words = np.where(active[:, :, None], words, _NOWHERE)
    words = words.reshape(len(words), 32 * (width // _WORD))
    words.sort(axis=1)
    first = np.diff(words, axis=1, prepend=-1) != 0  # of each word
    pieces = _distinct(np.where(words == _NOWHERE, _NOWHERE, words // (_PIECE // _WORD)))
    per = _SECTOR // _WORD
    saved = np.zeros(len(words), dtype=np.int64)
    for row, (mine, new) in enumerate(zip(words, first & (words != _NOWHERE), strict=True)):
        sectors, sizes = np.unique(mine[new] // per, return_counts=True)
        _, whole = np.unique(sectors[sizes == per] // (_LINE // _SECTOR), return_counts=True)
        saved[row] = whole[whole > 1].sum()  # two pieces become one sector
    return pieces - saved
