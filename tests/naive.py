"""Slow and plain ways to the same answers, as oracles: the closed forms in pure Python.

`simulator.law.closed_form` derives them.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.law.accesses import ALL_LANES
from simulator.law.instructions import Instruction
from simulator.law.specification import BANKS, WORD, Figures, count_access, figures

__all__ = ["count_affine", "count_linear", "lanes_of"]


def lanes_of(columns: list[int], *, affine: bool) -> list[int]:
    """Return the 32 addresses of a layout: five columns, by XOR, or by sum if `affine`."""
    lanes = [0]
    for column in columns:
        lanes += [lane + column if affine else lane ^ column for lane in lanes]
    return lanes


def count_linear(instruction: Instruction, columns: list[int], rule: str) -> Figures:
    """Count one linear layout by the ranks of its columns."""

    def wavefronts(bits: int) -> int:
        words = [column // WORD for column in columns[:bits]]
        excess = 0
        for place, word in enumerate(words):
            # Eliminate by the lowest bit, so that a bank bit comes first where there is one.
            lowest = word & -word
            words[place + 1 :] = [
                other ^ word if other & lowest else other for other in words[place + 1 :]
            ]
            excess += word % BANKS == 0 and (word != 0 or not instruction.merges)
        return 1 << excess

    return _of_equal_phases(instruction, columns, rule, wavefronts)


def count_affine(instruction: Instruction, strides: list[int], rule: str) -> Figures:
    """Count one affine layout: by its polynomial, or outside that piece by its addresses."""
    unit = max(instruction.width, WORD)
    own = strides[: instruction.lanes.bit_length() - 1]
    rising = sorted(filter(None, own))
    distinct = all(stride > sum(rising[:place]) for place, stride in enumerate(rising))
    if any(stride % unit for stride in own) or (instruction.merges and not distinct):
        return count_access(instruction, lanes_of(strides, affine=True), ALL_LANES, rule)
    slots = BANKS * WORD // unit

    def wavefronts(bits: int) -> int:
        lanes = [1] + [0] * (slots - 1)  # on each slot
        for stride in own[:bits]:
            if stride or not instruction.merges:
                shift = stride // unit
                lanes = [lanes[at] + lanes[(at - shift) % slots] for at in range(slots)]
        return max(lanes)

    return _of_equal_phases(instruction, strides, rule, wavefronts)


def _of_equal_phases(
    instruction: Instruction, columns: list[int], rule: str, wavefronts: Callable[[int], int]
) -> Figures:
    """Return the figures where every phase costs the wavefronts of its number of lane bits."""
    if instruction.phases == 0:
        return 0, 0, 0, 0, 0, 0
    fuses = instruction.fuses and rule == "silicon" and 0 in columns[:2]
    phases = instruction.phases // 2 if fuses else instruction.phases
    served = phases * wavefronts((instruction.lanes // phases).bit_length() - 1)
    return figures(instruction, phases, served, phases, instruction.lanes)
