"""The law of distributed shared memory: what an access to another block of the cluster costs.

Such an access leaves its SM in packets, and a packet takes 1.5 cycles of the way there. Banks do
not matter. A load takes a packet for each 32-byte sector. A store takes one for each aligned piece
of 16 bytes that it touches. Where it covers two or more whole sectors of a 128-byte line, it takes
one for each of those; stores of 1 and 2 bytes do not. `st.async` and `red.async` deliver every
lane, in waves (`simulator.law.neighbour_waves`). Of `st.async` each line of a wave has the packets
of a store. Of `red.async` it has one, and one for each sector, unless the wave has one lane for
each of its lines. A few packets take as long as the access does at home, at least.

Blocks that load from each other need a packet more for each line: what asks for it goes the way of
what the other block is sent (gpu_check/data/h100_neighbour_shapes.csv).

Source: clocks and counters of an NVIDIA H100 (sm_90), gpu_check/data/h100_neighbours.npz,
h100_neighbours_again.npz, h100_neighbour_counters.csv and h100_neighbour_atomics.npz;
docs/explanation/validation.md compares every row. `simulator.law.neighbour_atomics` says what
atomics take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import accepted
from simulator.errors import InstructionError
from simulator.law.accesses import ALL_LANES, check, warp_accesses
from simulator.law.instructions import instruction
from simulator.law.masks import active_table
from simulator.law.neighbour_waves import waves

__all__ = ["CYCLES_PER_PACKET", "FLOORS", "NeighbourCosts", "count_neighbour", "price_neighbour",
           "wave_packets"]  # fmt: skip

CYCLES_PER_PACKET = 1.5
FLOORS = {
    "LDS": 1.6, "LDS.64": 2.0, "LDS.128": 4.0, "STS": 2.0, "STS.64": 3.0, "STS.128": 5.0,
    **dict.fromkeys(("LDS.U8", "LDS.S8", "LDS.U16", "LDS.S16"), 2.0),
    **dict.fromkeys(("STS.U8", "STS.U16"), 2.2),
    "STAS": 2.0, "STAS.64": 3.0, "STAS.128": 5.0, "REDAS": 2.0, "REDAS.64": 3.0,
}  # fmt: skip
"""Least cycles of an access, by what it is at home: a generic address costs that there, too."""

_STORES, _SUMS = "STAS", "REDAS"  # st.async and red.async: they have the addresses of a store
_SECTOR, _PIECE, _LINE, _WORD = 32, 16, 128, 4
_PER_LINE = _LINE // _SECTOR
_NOWHERE = 1 << 40  # above every address


class NeighbourCosts(NamedTuple):
    """What accesses to a neighbour cost; arrays of shape (n,)."""

    packets: NDArray[np.int64]
    """Packets that leave the SM: sectors of loads, pieces and whole sectors of stores."""
    cycles: NDArray[np.float64]
    """Cycles per access where warps make nothing else: those of the way there."""
    mutual: NDArray[np.float64]
    """The same where the neighbour makes such accesses to this block at the same time."""


def count_neighbour(op: str, addresses: ArrayLike, mask: ArrayLike | None = None) -> NeighbourCosts:
    """Return what accesses cost that go to a neighbour's shared memory, alone on the way there.

    `op` is the instruction that makes the access at home, one of FLOORS, or STAS, STAS.64 or
    STAS.128 for `st.async`, REDAS or REDAS.64 for `red.async`. Addresses and mask are those of
    `simulator.count`, within the neighbour's memory. Those of `st.async` and `red.async` are bytes
    of the shared window: a block's dynamic memory does not begin at 0 there.

    >>> count_neighbour("LDS", 128 * np.arange(32)).cycles  # 32-way at home, and 32 sectors
    array([48.])
    >>> count_neighbour("STS", 4 * np.arange(32)).packets  # four whole sectors
    array([4])
    >>> count_neighbour("STAS", np.zeros(32, int)).packets  # to one word: each lane on its own
    array([32])

    Raises InstructionError for another instruction, and what `count` raises for bad accesses.
    """
    known = instruction(_at_home(op) if op in FLOORS else op)
    name = op if op in FLOORS else known.name
    if name not in FLOORS:
        raise InstructionError(
            f"what {name} costs in a neighbour's memory is not known: {accepted(name, FLOORS)}"
        )
    array, masks = warp_accesses(known, addresses, mask)
    check(known, array, masks, addresses)
    flat = array.reshape(-1, 32).astype(np.int64)
    bits = np.broadcast_to(np.uint32(ALL_LANES) if masks is None else masks, array.shape[:-1])
    return price_neighbour(name, flat, active_table(bits.reshape(-1)))


def price_neighbour(
    op: str, addresses: NDArray[np.int64], active: NDArray[np.bool_]
) -> NeighbourCosts:
    """Return what accesses cost whose addresses are known to be good; both of shape (n, 32).

    Addresses may be those of the cluster, in which blocks lie 2**24 bytes apart: what goes to
    several neighbours is taken to leave in as many packets as it would one by one.
    """
    known, flat = instruction(_at_home(op)), addresses
    if op.startswith((_STORES, _SUMS)):
        packets = np.array(
            [_sent(op, row[on].tolist(), known.width)
             for row, on in zip(flat, active, strict=True)], dtype=np.int64,
        )  # fmt: skip
        return _priced(op, packets)
    if op.startswith("LDS"):
        packets = _distinct(np.where(active, flat // _SECTOR, _NOWHERE))
        return _priced(op, packets, _distinct(np.where(active, flat // _LINE, _NOWHERE)))
    if known.width < _WORD:
        packets = _distinct(np.where(active, flat // _PIECE, _NOWHERE))
    else:
        packets = _stored(flat, active, known.width)
    return _priced(op, packets)


def _priced(
    op: str, packets: NDArray[np.int64], asked: NDArray[np.int64] | int = 0
) -> NeighbourCosts:
    """Return what packets cost; `asked`: those that ask for them."""
    least, mutual = (
        np.where(packets, np.maximum(CYCLES_PER_PACKET * each, FLOORS[op]), 0)
        for each in (packets, packets + asked)
    )
    return NeighbourCosts(packets, least, mutual)


def _at_home(op: str) -> str:
    """Name what has the addresses of an access at home."""
    for name in (_STORES, _SUMS):
        if op.startswith(name):
            return op.replace(name, "STS")
    return op


def wave_packets(wave: Sequence[Sequence[int]]) -> int:
    """Return the packets of a wave of atomics: its lines, and their sectors."""
    alone = all(len(line) == 1 for line in wave)
    return sum(1 if alone else 1 + len({place // _SECTOR for place in line}) for line in wave)


def _sent(op: str, places: list[int], width: int) -> int:
    """Count the packets of an asynchronous access."""
    found = waves(places, width)
    if op.startswith(_SUMS):
        return sum(map(wave_packets, found))
    return sum(_of_line(line, width) for wave in found for line in wave)


def _of_line(line: list[int], width: int) -> int:
    """Count the packets of stores to one line: pieces, less what whole sectors save."""
    words = {place // _WORD + word for place in line for word in range(width // _WORD)}
    sectors = Counter(word // (_SECTOR // _WORD) for word in words)
    whole = sum(size == _SECTOR // _WORD for size in sectors.values())
    pieces = len({word // (_PIECE // _WORD) for word in words})
    return pieces - (whole if whole > 1 else 0)


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
    rows, places = np.nonzero(first & (words != _NOWHERE))
    sectors = words[rows, places] // (_SECTOR // _WORD)
    # Rows lie a whole number of lines apart, so that all are counted at once.
    apart = (int(sectors.max(initial=0)) // _PER_LINE + 1) * _PER_LINE
    sectors, sizes = np.unique(rows * apart + sectors, return_counts=True)
    lines, whole = np.unique(sectors[sizes == _SECTOR // _WORD] // _PER_LINE, return_counts=True)
    joined = whole > 1  # two pieces become one sector
    saved = np.bincount(
        lines[joined] * _PER_LINE // apart, weights=whole[joined], minlength=len(words)
    ).astype(np.int64)
    return pieces - saved
