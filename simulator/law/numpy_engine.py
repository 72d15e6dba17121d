"""The law for many accesses at once, in NumPy: no compiler, about a thousand a millisecond.

An access of 8 or 16 bytes touches 2 or 4 neighbouring banks. It begins at a multiple of its width
(others are refused), so its banks move together. The unit here is therefore the *slot*: the aligned
vector of `width` bytes (4 at least), 128 / width of them side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.law import specification
from simulator.law.accesses import Rows, active_lanes
from simulator.law.instructions import Groups, Instruction, Rule

__all__ = ["count_accesses"]

_CHUNK = 1 << 14  # accesses worked on at a time: their scratch arrays stay in the cache
_IDLE = np.uint16(0xFFFF)  # sorts behind every address of 255 KiB: slot 31, row 2047
_LANES = np.arange(32)


def count_accesses(
    instruction: Instruction, addresses: Rows, masks: NDArray[np.uint32] | None, rule: Rule
) -> NDArray[np.uint8]:
    """Count n accesses: addresses (n, 32), masks (n,) or None for all lanes.

    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles.
    """
    figures = np.empty((6, len(addresses)), dtype=np.uint8)
    for start in range(0, len(addresses), _CHUNK):
        part = slice(start, start + _CHUNK)
        figures[:, part] = _count_chunk(
            instruction, addresses[part], None if masks is None else masks[part], rule
        )
    return figures


def _count_chunk(
    instruction: Instruction, addresses: NDArray[Any], masks: NDArray[np.uint32] | None, rule: Rule
) -> NDArray[np.int32]:
    lanes = instruction.lanes
    addresses = addresses[:, :lanes]
    if masks is None:
        active = np.ones(addresses.shape, dtype=bool)
    else:
        active = active_lanes(masks)[:, :lanes]

    n = len(addresses)
    holds = np.zeros(n, dtype=bool)
    if instruction.fuses and rule == "silicon":
        for partner in instruction.partners:
            holds |= _pair_holds(addresses, active, partner)
    some = active.any(axis=1)

    phases, served, busy = np.zeros((3, n), dtype=np.int32)
    keys = _keys(instruction, addresses, active)
    for mine, groups in (
        (some & ~holds, instruction.phase_lanes),
        (some & holds, instruction.fused_lanes),
    ):
        if groups and mine.any():
            worst = _longest_queue(_by_phase(keys[mine], groups), merge=instruction.merges)
            phases[mine] = len(groups)
            served[mine], busy[mine] = worst.sum(axis=1), (worst > 0).sum(axis=1)

    number = active.sum(axis=1, dtype=np.int32)
    figures = specification.figures(
        instruction, phases, served, busy, number, np.minimum, np.maximum
    )
    return np.stack(figures)


def _pair_holds(
    addresses: NDArray[Any], active: NDArray[np.bool_], partner: int
) -> NDArray[np.bool_]:
    """Whether every two active lanes i, i^partner have one address, (n,)."""
    if partner & (partner - 1):  # not a bit of the lane: pairs do not lie in a regular pattern
        low = np.flatnonzero(_LANES ^ partner > _LANES)
        one, other = low, low ^ partner
        apart = (addresses[:, one] != addresses[:, other]) & active[:, one] & active[:, other]
        agree: NDArray[np.bool_] = ~apart.any(axis=1)
        return agree
    pairs = addresses.reshape(len(addresses), -1, 2, partner)
    both = active.reshape(pairs.shape).all(axis=2)
    result: NDArray[np.bool_] = ((pairs[:, :, 0] == pairs[:, :, 1]) | ~both).all(axis=(1, 2))
    return result


def _by_phase(keys: NDArray[np.uint16], groups: Groups) -> NDArray[np.uint16]:
    """Part the lanes by phase: keys (n, lanes) → (n, phases, most lanes of one)."""
    sizes = {len(group) for group in groups}
    if len(sizes) == 1 and all(isinstance(group, range) for group in groups):
        return keys.reshape(len(keys), len(groups), -1)
    parted = np.full((len(keys), len(groups), max(sizes)), _IDLE)
    for phase, group in enumerate(groups):
        parted[:, phase, : len(group)] = keys[:, list(group)]
    return parted


def _keys(
    instruction: Instruction, addresses: NDArray[Any], active: NDArray[np.bool_]
) -> NDArray[np.uint16]:
    """Each lane's slot in the upper 5 bits, the row of its word in the lower 11."""
    unit = max(instruction.width, 4)
    rows, slots = np.divmod(np.where(active, addresses, 0).astype(np.int32) // unit, 128 // unit)
    return np.where(active, slots << 11 | rows, _IDLE).astype(np.uint16)


def _longest_queue(keys: NDArray[np.uint16], *, merge: bool) -> NDArray[np.int32]:
    """Entries in the longest queue of each phase: keys (n, phases, lanes) → (n, phases)."""
    keys = np.sort(keys, axis=-1)
    fresh = keys != _IDLE
    if merge:
        fresh[..., 1:] &= keys[..., 1:] != keys[..., :-1]
    # Along the sorted lanes, entries of one slot lie side by side: number them within the slot.
    number = np.cumsum(fresh, axis=-1, dtype=np.int32)
    slot = keys >> 11
    starts = np.ones(keys.shape, dtype=bool)
    starts[..., 1:] = slot[..., 1:] != slot[..., :-1]
    before = np.maximum.accumulate(np.where(starts, number - fresh, 0), axis=-1)
    longest: NDArray[np.int32] = (number - before).max(axis=-1)
    return longest
