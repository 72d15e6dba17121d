"""The law, to be read: how many wavefronts one warp access costs, and why.

This is the specification. `numpy_engine` and `numba_engine` say the same thing for many
accesses at once; tests hold the three equal, and all three to recorded silicon.
docs/explanation/model.md derives each rule from what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.law.instructions import Groups, Instruction, Rule

__all__ = [
    "BANKS",
    "WORD",
    "Figures",
    "bank_queues",
    "broken_pairs",
    "count_access",
    "counted_lanes",
    "cycles",
    "figures",
    "holding_partners",
    "least_served",
    "least_wavefronts",
    "phases",
]

BANKS = 32
WORD = 4  # bytes a bank delivers in a wavefront

Figures = tuple[int, int, int, int, int, int]
"""phases, wavefronts, ideal, excessive, bank_conflicts, cycles."""


def counted_lanes(instruction: Instruction, mask: int) -> list[int]:
    """Return the active lanes whose address means something."""
    return [lane for lane in range(instruction.lanes) if mask >> lane & 1]


def broken_pairs(addresses: Sequence[int], mask: int, partner: int) -> list[tuple[int, int]]:
    """Return the pairs of active partners (i, i^partner) that have different addresses."""
    return [
        (lane, lane ^ partner)
        for lane in range(32)
        if lane < lane ^ partner
        and mask >> lane & 1
        and mask >> (lane ^ partner) & 1
        and addresses[lane] != addresses[lane ^ partner]
    ]


def holding_partners(
    instruction: Instruction, addresses: Sequence[int], mask: int, rule: Rule
) -> list[int]:
    """Return the partners for which the pair condition holds; one is enough to fuse phases.

    It is judged over the whole warp. An inactive partner breaks nothing.
    """
    if rule == "documented" or not instruction.fuses:
        return []
    return [p for p in instruction.partners if not broken_pairs(addresses, mask, p)]


def phases(instruction: Instruction, addresses: Sequence[int], mask: int, rule: Rule) -> Groups:
    """Return the lanes served together, phase after phase, once fused."""
    if holding_partners(instruction, addresses, mask, rule):
        return instruction.fused_lanes
    return instruction.phase_lanes


def bank_queues(
    instruction: Instruction, addresses: Sequence[int], lanes: Sequence[int]
) -> dict[int, list[tuple[int, list[int]]]]:
    """Return for each bank the queue of what it must serve for the active `lanes` of one phase.

    An entry is a word and the lanes on it, in lane order; a bank serves one entry per
    wavefront. Lanes on the same word share an entry where the instruction merges them.
    """
    queues: dict[int, list[tuple[int, list[int]]]] = {}
    for lane in lanes:
        first = addresses[lane] // WORD
        last = (addresses[lane] + instruction.width - 1) // WORD
        for word in range(first, last + 1):
            queue = queues.setdefault(word % BANKS, [])
            shared = [served for entry, served in queue if entry == word]
            if shared and instruction.merges:
                shared[0].append(lane)
            else:
                queue.append((word, [lane]))
    return queues


def least_served(instruction: Instruction, addresses: Sequence[int], lanes: Sequence[int]) -> int:
    """Return the entries that the active `lanes` of one phase put in a queue in any layout.

    Lanes with one address have it in every layout; where they are not merged they wait for one
    another.
    """
    own = [addresses[lane] for lane in lanes]
    if not own:
        return 0
    unit = max(instruction.width, WORD)
    if instruction.merges:
        return max(1, -(-len(set(own)) * instruction.width // (BANKS * WORD)))
    return max(-(-len(own) * unit // (BANKS * WORD)), *map(own.count, own))


def least_wavefronts(
    instruction: Instruction, addresses: Sequence[int], mask: int, rule: Rule
) -> int:
    """Return wavefronts that no layout undercuts for these lanes, which meet where they do."""
    active = counted_lanes(instruction, mask)
    groups = phases(instruction, addresses, mask, rule) if active else ()
    served = (
        least_served(instruction, addresses, [lane for lane in group if lane in active])
        for group in groups
    )
    return instruction.passes * sum(served)


def count_access(
    instruction: Instruction, addresses: Sequence[int], mask: int, rule: Rule
) -> Figures:
    """Count one access: 32 byte addresses, and a mask with bit l set for an active lane l."""
    active = counted_lanes(instruction, mask)
    groups = phases(instruction, addresses, mask, rule) if active else ()
    served = [
        max(map(len, bank_queues(instruction, addresses, lanes).values()))
        for group in groups
        if (lanes := [lane for lane in group if lane in active])
    ]
    return figures(instruction, len(groups), sum(served), len(served), len(active))


def figures(
    instruction: Instruction,
    phases: Any,
    served: Any,
    busy: Any,
    active: Any,
    smaller: Callable[[Any, Any], Any] = min,
    larger: Callable[[Any, Any], Any] = max,
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return the six figures of an access, from what its phases served.

    All are integers, or arrays of them.

    Parameters
    ----------
    instruction
        What accesses memory.
    phases
        Those after fusing, 0 without an active lane.
    served
        Entries of the longest queues of all phases together.
    busy
        Phases that have an active lane.
    active
        The number of active lanes.
    smaller, larger
        `min` and `max`, or NumPy's `minimum` and `maximum` for arrays.
    """
    wavefronts = instruction.passes * served
    bank_conflicts = served - busy  # a phase with an active lane costs one without conflict
    if instruction.fixed_ideal is None:
        full = BANKS * WORD  # bytes that one wavefront can carry
        ideal = smaller(wavefronts, -(-active * instruction.width // full))
    else:
        ideal = instruction.fixed_ideal * (active > 0)
    busy_for = cycles(instruction, wavefronts, phases, larger)
    return phases, wavefronts, ideal, wavefronts - ideal, bank_conflicts, busy_for


def cycles(
    instruction: Instruction,
    wavefronts: Any,
    phases: Any,
    larger: Callable[[Any, Any], Any] = max,
) -> Any:
    """Return the cycles of an access; phases without an active lane take theirs, too."""
    one, two = instruction.least_cycles
    least = one * (wavefronts == 1) + two * (wavefronts == 2)
    return larger(larger(wavefronts, instruction.phase_cycles * phases), least)
