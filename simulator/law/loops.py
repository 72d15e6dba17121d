"""The law of atomic adds without an instruction of their own, to be read.

An add of floats or of 64 bits to shared memory is a loop: load, add, `ATOMS.CAST.SPIN`. That stores
the sum where the word is still what was loaded. The lanes that failed do it all again. Each time is
a *round*. `numpy_turns` and `numba_turns` say the same of many loops at once.

It holds for one warp alone: where several add to the same words, rounds can fail that would succeed
alone. Source: counters of an NVIDIA H200 and an H100 (sm_90), in gpu_check/data/h200_loops.npz and
h100_loops.npz; docs/explanation/validation.md compares every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from simulator.law.instructions import Instruction
from simulator.law.specification import Figures, counted_lanes, figures

__all__ = ["LOOPS", "Round", "count_loop", "is_loop", "is_round", "loop_slots", "play"]

_ADD = Instruction(
    "add.f32", 4, merges=False, passes=2, fixed_ideal=1, phase_cycles=0, verb="update"
)
_WIDE = replace(_ADD, name="add.u64", width=8, phases=2)

LOOPS: dict[str, Instruction] = {
    each.name.lower(): each
    for each in (
        _ADD,
        replace(_ADD, name="add.f16x2"),
        replace(_ADD, name="add.bf16x2", capability=90),  # PTX ISA: red.add.noftz.bf16x2
        _WIDE,
        replace(_ADD, name="ATOMS.CAST.SPIN"),
        replace(_WIDE, name="ATOMS.CAST.SPIN.64"),
    )
}
"""Whole loops, by PTX's name of the add, and a single round of one; keys are in lower case."""


class Round(NamedTuple):
    """One execution of ATOMS.CAST.SPIN."""

    pending: tuple[tuple[int, ...], ...]
    """For each phase the lanes that have not won yet."""
    won: tuple[tuple[int, ...], ...]
    """For each phase those of them that win now."""


def is_loop(instruction: Instruction) -> bool:
    """Whether this law counts it: a loop, or a round of one."""
    return instruction.name.lower() in LOOPS


def is_round(instruction: Instruction) -> bool:
    """Whether it is one round alone."""
    return instruction.name.startswith("ATOMS.CAST.SPIN")


def loop_slots(instruction: Instruction) -> int:
    """Return how many operands lie side by side in the banks."""
    return 128 // instruction.width


def play(instruction: Instruction, addresses: Sequence[int], mask: int) -> list[Round]:
    """Return the rounds of a loop until every active lane has won; of a round, that one.

    In a round, in each phase, the lowest pending lane of each bank tries. It wins, unless an
    earlier phase won its word in this round. All other lanes fail, however free their words.
    """
    left = set(counted_lanes(instruction, mask))
    rounds: list[Round] = []
    while left and not (rounds and is_round(instruction)):
        pending, won, changed = [], [], set[int]()
        for group in instruction.phase_lanes:
            waiting = [lane for lane in group if lane in left]
            trying: dict[int, int] = {}
            for lane in waiting:
                bank = addresses[lane] // instruction.width % loop_slots(instruction)
                trying.setdefault(bank, lane)
            winners = [lane for lane in trying.values() if addresses[lane] not in changed]
            changed |= {addresses[lane] for lane in winners}
            pending.append(tuple(waiting))
            won.append(tuple(sorted(winners)))
        left -= {lane for winners in won for lane in winners}
        rounds.append(Round(tuple(pending), tuple(won)))
    return rounds


def count_loop(instruction: Instruction, addresses: Sequence[int], mask: int) -> Figures:
    """Count a loop of one warp: 32 byte addresses, and a mask with bit l set for an active lane l.

    A round takes two wavefronts for each phase that has a pending lane. The counter of bank
    conflicts says 0. Cycles are those wavefronts': what the loop takes beside them is not the
    pipe's.
    """
    rounds = play(instruction, addresses, mask)
    served = sum(bool(waiting) for each in rounds for waiting in each.pending)
    active = len(counted_lanes(instruction, mask))
    groups = len(instruction.phase_lanes) if active else 0
    return figures(instruction, groups, served, served, active)
