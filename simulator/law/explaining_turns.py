"""What `explain` says of lanes that take turns: copies from anywhere, atomic loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from layouts.errors import plural
from simulator.law import copies, loops, specification
from simulator.law.instructions import Instruction
from simulator.law.served import Phase, Served, listed, ranges

__all__ = ["copy_note", "copy_phase", "loop_phases"]


def copy_phase(
    instruction: Instruction,
    index: int,
    group: Sequence[int],
    active: Sequence[int],
    destinations: Sequence[int],
    sources: Sequence[int],
) -> Phase:
    """Return a phase of a copy: wavefront k writes what the lanes of the k-th turn copy.

    Parameters
    ----------
    instruction
        The copy's.
    index, group
        The phase's number, and its lanes.
    active
        Active lanes of the warp.
    destinations, sources
        A byte per lane: in shared memory, and in global memory.
    """
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
    """Return a sentence where the lookups of a copy take longer than its wavefronts, else none.

    Parameters
    ----------
    instruction
        The copy's.
    active
        Active lanes of the warp.
    destinations, sources
        A byte per lane: in shared memory, and in global memory.
    wavefronts, cycles
        What `count` says of the access.
    """
    alone = specification.cycles(instruction, wavefronts, instruction.phases)
    if not wavefronts or cycles <= alone:
        return ""
    lines, pieces = copies.lookups(sources, active), copies.pieces(destinations, active)
    return (
        f"Its lookups take {cycles} cycles: {plural(lines, 'source line')} in one tag bank of the"
        f" L1 cache, and {plural(pieces, 'piece')} of {copies.PIECE} bytes written in one bank of"
        " theirs."
    )


def loop_phases(instruction: Instruction, addresses: Sequence[int], mask: int) -> tuple[Phase, ...]:
    """Return the phases of a loop: two wavefronts a round, which serve the lanes that win in it."""
    rounds = loops.play(instruction, addresses, mask)
    groups = instruction.phase_lanes if rounds else ()
    return tuple(
        _loop_phase(
            instruction,
            index,
            group,
            [(each.pending[index], each.won[index]) for each in rounds if each.pending[index]],
            addresses,
        )
        for index, group in enumerate(groups)
    )


def _loop_phase(
    instruction: Instruction,
    index: int,
    group: Sequence[int],
    rounds: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    addresses: Sequence[int],
) -> Phase:
    wavefronts = tuple(
        tuple(
            sorted(
                (
                    Served(word % specification.BANKS, word, (lane,))
                    for lane in won
                    for word in _words(instruction, addresses[lane])
                ),
                key=lambda each: each.bank,
            )
        )
        for _, won in rounds
        for _ in range(instruction.passes)
    )
    banks: dict[int, list[Served]] = {}
    for wavefront in wavefronts:
        for each in wavefront:
            banks.setdefault(each.bank, []).append(each)
    active = rounds[0][0] if rounds else ()
    return Phase(
        index=index,
        lanes=group,
        active=active,
        wavefronts=wavefronts,
        banks={bank: tuple(banks[bank]) for bank in sorted(banks)},
        sentence=f"lanes {ranges(group)}: {_rounds(instruction, active, rounds, addresses)}",
    )


def _rounds(
    instruction: Instruction,
    active: tuple[int, ...],
    rounds: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    addresses: Sequence[int],
) -> str:
    """Return who wins, and how many rounds that takes."""
    if not rounds:
        return "no active lane, no wavefront."
    cost = f"{plural(len(rounds), 'round')} of {plural(instruction.passes, 'wavefront')}."
    won = [lane for _, winners in rounds for lane in winners]
    if loops.is_round(instruction):
        return f"{len(won)} of {plural(len(active), 'lane')} win: {cost}"

    def slot(lane: int) -> int:
        return addresses[lane] // instruction.width % loops.loop_slots(instruction)

    last = won[-1]
    queue = [lane for lane in active if slot(lane) == slot(last)]
    words = _words(instruction, addresses[last])
    where = f"bank{'s' if len(words) > 1 else ''} {ranges(w % specification.BANKS for w in words)}"
    who = f"no two lanes share {'banks' if len(words) > 1 else 'a bank'}"
    if len(queue) > 1:
        who = f"lanes {listed(queue)} are on {where}, and one of them wins each round"
    lost = len(rounds) - len(queue)
    if lost:
        who += f"; {plural(lost, 'round')} had no winner there: an earlier phase won the word"
    return f"{who}: {cost}"
