"""What `explain` says of lanes that take turns: copies from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from layouts.errors import plural
from simulator.law import copies, specification
from simulator.law.instructions import Instruction
from simulator.law.served import Phase, Served, listed, ranges

__all__ = ["copy_note", "copy_phase"]


def copy_phase(
    instruction: Instruction,
    index: int,
    group: Sequence[int],
    active: Sequence[int],
    destinations: Sequence[int],
    sources: Sequence[int],
) -> Phase:
    """Return a phase of a copy: wavefront k writes what the lanes of the k-th turn copy."""
    served = copies.turns(instruction, destinations, sources, active)
    depth = max((turn.number for turn in served), default=0)
    wavefronts = tuple(
        tuple(
            Served(word % specification.BANKS, word, (turn.lane,))
            for turn in served
            if turn.number == number
            for word in _words(instruction, destinations[turn.lane])
        )
        for number in range(1, depth + 1)
    )
    banks: dict[int, list[Served]] = {}
    for wavefront in wavefronts:
        for each in wavefront:
            banks.setdefault(each.bank, []).append(each)
    chain = copies.chain(served) if served else []
    return Phase(
        index=index,
        lanes=group,
        active=tuple(active),
        wavefronts=tuple(tuple(sorted(each, key=lambda one: one.bank)) for each in wavefronts),
        banks={bank: tuple(banks[bank]) for bank in sorted(banks)},
        sentence=f"lanes {ranges(group)}: {_links(chain)}",
        chain=tuple(chain),
    )


def _words(instruction: Instruction, address: int) -> range:
    first = address // specification.WORD
    return range(first, first + max(1, instruction.width // specification.WORD))


def _links(chain: Sequence[copies.Turn]) -> str:
    """Return which lanes wait for one another, and where they meet."""
    if not chain:
        return "no active lane, no wavefront."
    cost = f"{plural(len(chain), 'wavefront')} for this phase."
    if len(chain) == 1:
        return f"no two lanes share a source bank or a destination bank: {cost}"
    meetings = []
    for where, links in groupby(chain[1:], key=_where):
        followers = list(links)
        lanes = [followers[0].after, *(turn.lane for turn in followers)]
        meetings.append(f"lanes {listed([lane for lane in lanes if lane is not None])} at {where}")
    return f"one after the other, {', '.join(meetings)}: {cost}"


def _where(turn: copies.Turn) -> str:
    """Name the banks that a lane shares with the one before it in the chain."""
    return " and ".join(
        f"{side} bank{'s' if len(banks) > 1 else ''} {ranges(banks)}"
        for side, banks in (("source", turn.source_banks), ("destination", turn.destination_banks))
        if banks
    )


def copy_note(
    instruction: Instruction,
    active: Sequence[int],
    destinations: Sequence[int],
    sources: Sequence[int],
    wavefronts: int,
    cycles: int,
) -> str:
    """Return a sentence where the lookups of a copy take longer than its wavefronts, else none."""
    alone = specification.cycles(instruction, wavefronts, instruction.phases)
    if not wavefronts or cycles <= alone:
        return ""
    lines, pieces = copies.lookups(sources, active), copies.pieces(destinations, active)
    return (
        f"Its lookups take {cycles} cycles: {plural(lines, 'source line')} in one tag bank of the"
        f" L1 cache, and {plural(pieces, 'piece')} of {copies.PIECE} bytes written in one bank of"
        " theirs."
    )
