"""The law for millions of accesses, compiled by Numba. All of bankwise's hot loops are here.

They are kept in one module because Numba's on-disk cache of a function does not notice a
change in a function of another module. As in `law_numpy`, the unit is the aligned vector
of the access width (a word at least), of which 128 / width lie side by side.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from simulator.instructions import Instruction

__all__ = ["count_accesses"]


def count_accesses(
    instruction: Instruction, addresses: NDArray[Any], masks: NDArray[np.uint32] | None, rule: str
) -> NDArray[np.int32]:
    """Count n accesses: addresses (n, 32), masks (n,) or None for all lanes.

    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles.
    """
    figures = np.empty((6, len(addresses)), dtype=np.int32)
    _count(
        addresses,
        np.full(1, 0xFFFFFFFF, dtype=np.uint32) if masks is None else masks,
        max(instruction.width, 4),
        instruction.width,
        instruction.lanes,
        instruction.phases,
        instruction.fuses and rule == "silicon",
        instruction.merges,
        instruction.passes,
        -1 if instruction.fixed_ideal is None else instruction.fixed_ideal,
        instruction.phase_cycles,
        np.array([0, *instruction.least_cycles], dtype=np.int64),
        figures,
    )
    return figures


@numba.njit(cache=True)
def _pair_holds(addresses, mask, partner):  # type: ignore[no-untyped-def]
    for lane in range(32):
        both = (mask >> lane) & (mask >> (lane ^ partner)) & 1
        if both and addresses[lane] != addresses[lane ^ partner]:
            return False
    return True


@numba.njit(cache=True)
def _count(  # type: ignore[no-untyped-def]
    addresses,
    masks,
    unit,
    width,
    lanes,
    all_phases,
    fuses,
    merges,
    passes,
    fixed_ideal,
    phase_cycles,
    least_cycles,
    figures,
):
    slots = 128 // unit
    queue = np.empty((32, 32), dtype=np.int64)  # [slot, position]: the vectors a slot serves
    length = np.empty(32, dtype=np.int64)
    for access in range(addresses.shape[0]):
        mask = np.int64(masks[access % masks.shape[0]]) & ((1 << lanes) - 1)
        phases = 0
        served = 0
        busy = 0
        active = 0
        if mask != 0:
            row = addresses[access]
            phases = all_phases
            if fuses and (_pair_holds(row, mask, 1) or _pair_holds(row, mask, 2)):
                phases //= 2
            for lane in range(lanes):
                active += (mask >> lane) & 1
        for phase in range(phases):
            group = lanes // phases
            length[:slots] = 0
            worst = 0
            for lane in range(phase * group, (phase + 1) * group):
                if (mask >> lane) & 1 == 0:
                    continue
                vector = np.int64(row[lane]) // unit
                slot = vector % slots
                position = 0
                if merges:
                    while position < length[slot] and queue[slot, position] != vector:
                        position += 1
                else:
                    position = length[slot]
                if position == length[slot]:
                    queue[slot, position] = vector
                    length[slot] += 1
                    worst = max(worst, length[slot])
            served += worst
            busy += worst > 0
        wavefronts = passes * served
        cycles = max(wavefronts, phase_cycles * phases)
        if fixed_ideal < 0:
            ideal = min(wavefronts, -(-active * width // 128))
        else:
            ideal = fixed_ideal if phases > 0 else 0
        if wavefronts < len(least_cycles):
            cycles = max(cycles, least_cycles[wavefronts])
        figures[0, access] = phases
        figures[1, access] = wavefronts
        figures[2, access] = ideal
        figures[3, access] = wavefronts - ideal
        figures[4, access] = served - busy
        figures[5, access] = cycles
