"""The law of asynchronous copies (cp.async through the cache, LDGSTS), to be read.

Each lane copies from its *source* in global memory to its *destination* in shared memory. Where
sources lie side by side, `specification` says what that costs; this says it for any source.
`numpy_turns` and `numba_turns` say the same of many copies at once.

Source of each rule: clocks and counters of an NVIDIA H100 and an H200 (sm_90), in
gpu_check/data/h100_copy_probes.npz, h100_copies.npz and h200_copies.npz;
docs/explanation/validation.md compares every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simulator.law.accesses import NO_SOURCE
from simulator.law.instructions import Instruction
from simulator.law.specification import BANKS, WORD, Figures, counted_lanes, figures

__all__ = [
    "LINE",
    "MOST_PIECES",
    "PIECE",
    "TAG_PARITIES",
    "Turn",
    "chain",
    "count_copy",
    "lookups",
    "pieces",
    "tag_bank",
    "turns",
]

LINE = 128
"""Bytes of a line of the L1 cache."""

TAG_PARITIES = (0b1111011110111101010110101, 0b1010101011010111101101111)
"""The tag bank of a line is two parities: of its number and each of these.

Each of bits 9 to 24 was probed by itself on an H200, in a buffer that begins at a multiple of 4 GiB
(gpu_check/data/h200_tags.csv); bits from 25 on, lines 4 GiB apart, are not known.
"""

PIECE = 512
"""Bytes of shared memory that are looked up together."""

MOST_PIECES = 2
"""More pieces in one bank take no longer."""


class Turn(NamedTuple):
    """When a lane of a phase is served, and for whom it waits."""

    lane: int
    number: int
    """The wavefront of the phase, from 1."""
    after: int | None
    """The lane that is served just before, on a bank of both; None for a first turn."""
    source_banks: tuple[int, ...] = ()
    """Banks that both read from."""
    destination_banks: tuple[int, ...] = ()
    """Banks that both write to."""


def turns(
    instruction: Instruction, destinations: Sequence[int], sources: Sequence[int],
    lanes: Iterable[int],
) -> list[Turn]:  # fmt: skip
    """Return the turns of a phase's active `lanes`, in lane order.

    A lane is served one turn after the last earlier lane that shares a source bank or a
    destination bank with it. Equal words are not merged on either side. A lane that writes zeros
    takes no source bank, which is assumed: such lanes were not measured.
    """
    last: dict[tuple[str, int], Turn] = {}
    served = []
    for lane in lanes:
        reads = _banks(sources[lane], instruction.width) if sources[lane] != NO_SOURCE else ()
        writes = _banks(destinations[lane], instruction.width)
        earlier = {
            side: [last[side, bank] for bank in banks if (side, bank) in last]
            for side, banks in (("source", reads), ("destination", writes))
        }
        before = max(
            earlier["source"] + earlier["destination"], key=lambda turn: turn.number, default=None
        )
        turn = Turn(lane, 1, None)
        if before is not None:
            met = {
                side: tuple(bank for bank in banks if last.get((side, bank)) is before)
                for side, banks in (("source", reads), ("destination", writes))
            }
            turn = Turn(lane, before.number + 1, before.lane, met["source"], met["destination"])
        last |= {("source", bank): turn for bank in reads}
        last |= {("destination", bank): turn for bank in writes}
        served.append(turn)
    return served


def _banks(address: int, width: int) -> list[int]:
    return [word % BANKS for word in range(address // WORD, (address + width - 1) // WORD + 1)]


def chain(served: Sequence[Turn]) -> list[Turn]:
    """Return the longest chain of lanes that wait for one another, the first of them first."""
    by_lane = {turn.lane: turn for turn in served}
    found = [max(served, key=lambda turn: turn.number)]
    while (after := found[-1].after) is not None:
        found.append(by_lane[after])
    return found[::-1]


def tag_bank(line: int) -> int:
    """Return which of the four tag banks of the L1 cache looks a line up.

    >>> [tag_bank(line) for line in range(8)]
    [0, 3, 2, 1, 3, 0, 1, 2]
    """
    low, high = ((line & bits).bit_count() % 2 for bits in TAG_PARITIES)
    return low + 2 * high


def lookups(sources: Sequence[int], lanes: Iterable[int]) -> int:
    """Return the distinct lines that the fullest tag bank looks up for the whole copy."""
    lines = {sources[lane] // LINE for lane in lanes if sources[lane] != NO_SOURCE}
    return _fullest(map(tag_bank, lines))


def pieces(destinations: Sequence[int], lanes: Iterable[int]) -> int:
    """Return the distinct pieces of shared memory in the fullest of their four banks, at most 2."""
    found = {destinations[lane] // PIECE for lane in lanes}
    return min(MOST_PIECES, _fullest(piece % 4 for piece in found))


def _fullest(banks: Iterable[int]) -> int:
    held = list(banks)
    return max(held.count(bank) for bank in range(4))


def count_copy(
    instruction: Instruction, destinations: Sequence[int], sources: Sequence[int], mask: int
) -> Figures:
    """Count one copy: 32 destinations, 32 sources, and a mask with bit l set for an active lane l.

    Cycles are those of its wavefronts, or of its lookups, whichever are more.
    """
    active = counted_lanes(instruction, mask)
    served = [
        max(turn.number for turn in turns(instruction, destinations, sources, lanes))
        for group in instruction.phase_lanes
        if (lanes := [lane for lane in group if lane in active])
    ]
    groups = len(instruction.phase_lanes) if active else 0
    *costs, cycles = figures(instruction, groups, sum(served), len(served), len(active))
    if served:
        cycles = max(cycles, lookups(sources, active) + pieces(destinations, active))
    return (*costs, cycles)
