"""The closed form of linear layouts for millions of them, compiled by Numba.

`closed_form` derives it: ranks over GF(2) tell what all phases of a layout cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit
from simulator.law.chunks import in_chunks, law_of, plain
from simulator.law.instructions import Instruction, Rule
from simulator.law.numba_engine import cycles_of, ideal_of

__all__ = ["count_linear"]


def count_linear(
    instruction: Instruction, columns: NDArray[Any], rule: Rule, threads: int | None = None
) -> tuple[NDArray[np.uint8], int | None]:
    """Count n layouts that are linear over GF(2): columns (n, 5), as `closed_form` explains.

    The instruction is a regular one. Returns as `numba_engine.count_accesses`, but names the first
    bad layout itself.
    """
    law = law_of(instruction, rule)

    def count_chunk(part: slice, figures: NDArray[np.uint8]) -> int:
        return int(_count(plain(columns[part]), law, figures, part.start))

    return in_chunks(count_chunk, len(columns), threads)


@jit()
def _count(columns, law, figures, at):
    """Fill figures[:, at:] with a chunk's; return the first bad layout, or -1."""
    lanes, width, limit = law.lanes, law.width, law.shared_bytes
    apart, fused = _phase_bits(lanes, law.phases)
    words = np.empty(5, np.int32)
    for layout in range(columns.shape[0]):
        outside, union = np.int32(0), np.int32(0)
        for bit in range(5):
            column = np.int64(columns[layout, bit]) if lanes >> bit > 1 else 0
            outside |= np.int32(column < 0 or column >= limit)
            union |= np.int32(column)
            words[bit] = np.int32(column) >> 2
        if outside or union & (width - 1):
            return layout
        # All bits together may be outside though no lane is: its bits may cancel.
        if union > limit - width and _highest(words, lanes) * 4 > limit - width:
            return layout
        holds = law.fuses and (words[0] == 0 or words[1] == 0)
        # A phase costs 2 ** excess: the rank of its words less that of their bank bits.
        bits = fused if holds else apart
        excess = 0
        for bit in range(bits):
            word = words[bit]
            # Eliminate by the lowest bit, so that a bank bit comes first where there is one.
            lowest = word & -word
            for other in range(bit + 1, bits):
                words[other] ^= word if words[other] & lowest else 0
            excess += word & 31 == 0 and (word != 0 or not law.merges)
        phases = np.uint16(law.fused_phases if holds else law.phases)
        served = np.uint16(phases << excess)
        wavefronts = np.uint16(law.passes * served)
        ideal = ideal_of(law, wavefronts, np.uint16(lanes))
        figures[0, at + layout] = phases
        figures[1, at + layout] = wavefronts
        figures[2, at + layout] = ideal
        figures[3, at + layout] = wavefronts - ideal
        figures[4, at + layout] = served - phases
        figures[5, at + layout] = cycles_of(law, wavefronts, phases)
    return -1


@jit()
def _phase_bits(lanes, phases):
    """Return the number of lane bits that vary in a phase, and in a fused one."""
    bits = 0
    while phases and lanes >> (bits + 1) >= phases:
        bits += 1
    return bits, bits + 1


@jit()
def _highest(words, lanes):
    """Return the highest word of all lanes."""
    highest = np.int32(0)
    for lane in range(lanes):
        word = np.int32(0)
        for bit in range(5):
            word ^= words[bit] if lane >> bit & 1 else 0
        highest = max(highest, word)
    return highest
