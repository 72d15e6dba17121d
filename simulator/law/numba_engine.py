"""The law for millions of accesses, compiled by Numba.

An address becomes a 16-bit *key*, its bank in the upper 5 bits and the row of its word in the
lower 11: 227 KiB are 1816 rows of 32 words. An access of 8 or 16 bytes is aligned, so the
first of its banks stands for all. Keys that are sorted tell everything. So a phase is

    address ── key ──┐
    address ── key ──┤  sorting   ─  each differs from  ─  the longest run of one bank
       ...           ┤  network      the one before?       = wavefronts of the phase
    address ── key ──┘

`simd` sorts and measures runs for `WIDTH` accesses at once; the time does not depend on the
addresses. For that, `_BLOCK` accesses at a time are transposed: row l of `keys` holds lane l of
all of them. Everything up to the figures stays in the first cache, so the addresses are read
once and nothing but the figures is written. While one block is worked on, the memory is asked
for the next, evenly: what waits for memory does not count.

The other loops are ordinary Numba, written so that LLVM makes vectors of them: one figure a loop,
unsigned indices, and every result cut back to its 16 or 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.jit import jit
from simulator.law import simd
from simulator.law.accesses import SHARED_BYTES, Rows
from simulator.law.chunks import in_chunks, law_of, plain
from simulator.law.instructions import Groups, Instruction, Rule
from simulator.law.simd import WIDTH, prefetch, serve_8, serve_16, serve_32, transpose

__all__ = ["count_accesses", "cycles_of", "ideal_of"]

_BLOCK = 128  # accesses transposed at a time: 8 KiB of keys
# Of every WIDTH accesses of the next block, so many are asked for while keys of this one are
# made, transposed and served: about as long as each takes.
_WHILE_MAKING, _WHILE_TRANSPOSING, _WHILE_SERVING = 6, 2, 8

_ALL = np.uint32(0xFFFFFFFF)
_IDLE, _BANK = np.uint16(simd.IDLE), np.uint16(simd.BANK)


def count_accesses(
    instruction: Instruction,
    addresses: NDArray[Any] | Rows,
    masks: NDArray[np.uint32] | None,
    rule: Rule,
    threads: int | None = None,
) -> tuple[NDArray[np.uint8], int | None]:
    """Count n accesses: addresses (n, 32), unchecked, and masks (n,) or None for all lanes.

    Addresses may be strides instead, (n, 5): what each bit of the lane adds, all lanes active.
    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles. Returns
    beside it None, or an access at or shortly before the first that has a bad address. The
    figures from there on then mean nothing. At most `threads` work (None: one per processor).
    """
    # NumPy gives one mask for all accesses as a view of stride 0.
    one = masks is None or masks.strides == (0,)
    bits = np.full(1, _ALL) if masks is None else masks[:1] if one else masks
    law, places = law_of(instruction, rule), _places_of(instruction)

    def count_chunk(part: slice, figures: NDArray[np.uint8]) -> int:
        chunk_masks = plain(bits if one else bits[part])
        return int(_count(plain(addresses[part]), chunk_masks, law, places, figures, part.start))

    return in_chunks(count_chunk, len(addresses), threads)


_NOTHING = np.empty(0, np.int16)
_NO_PLACES = np.empty((0, 8), np.int16)


def _places_of(instruction: Instruction) -> tuple[NDArray[np.int16], ...]:
    """Return the partners, and the lane at each place of the phases, apart and fused: (phases, n).

    The loops serve phases of n = 8, 16 or 32 neighbouring rows of keys, so a phase is filled up
    with places of no lane, -1. Empty where phases are such runs of lanes already.
    """
    if instruction.is_regular:
        return _NOTHING, _NO_PLACES, _NO_PLACES
    partners = np.array(instruction.partners, dtype=np.int16)
    return partners, _filled(instruction.phase_lanes), _filled(instruction.fused_lanes)


def _filled(groups: Groups) -> NDArray[np.int16]:
    most = max(map(len, groups), default=1)
    places = np.full((len(groups), next(size for size in (8, 16, 32) if most <= size)), -1)
    for phase, group in enumerate(groups):
        places[phase, : len(group)] = group
    return places.astype(np.int16)


@jit()
def _count(addresses, masks, law, places, figures, at):
    """Fill figures[:, at:] with a chunk's; return where the first bad block starts, or -1.

    A block is bad if an active lane's address is outside shared memory or misaligned.
    """
    lanes, width, limit = np.int64(law.lanes), law.width, law.shared_bytes
    partners, apart, together = places
    regular = partners.size == 0
    arranged = np.empty((max(apart.size, together.size), _BLOCK), np.uint16)
    group = lanes // law.phases if law.phases else 0
    lane_bits = np.uint32((np.int64(1) << lanes) - 1)
    by_access = np.empty((_BLOCK, 32), np.uint16)
    keys = np.empty((32, _BLOCK), np.uint16)
    spare = np.empty((32, _BLOCK), np.uint16)
    active = np.empty(_BLOCK, np.uint16)
    holds = np.zeros(_BLOCK, np.uint16)
    served = np.zeros((2, _BLOCK), np.uint16)  # wavefronts, and the phases that have any
    fused = np.zeros((2, _BLOCK), np.uint16)
    memory = addresses.ctypes.data
    bad = -1
    for start in range(0, addresses.shape[0], _BLOCK):
        size = min(_BLOCK, addresses.shape[0] - start)
        part = slice(start, start + size)
        coming = start + _BLOCK
        some = masks if masks.shape[0] == 1 else masks[part]
        whole = True
        for j in range(some.shape[0]):
            whole &= np.uint32(some[j] & lane_bits) == _ALL
        if addresses.shape[1] == 5:
            active[:] = lanes
            fine = _affine_keys(addresses[part], lanes, width, limit, by_access)
        elif whole:
            active[:] = 32
            fine = _keys(addresses, memory, start, size, width, limit, by_access.ravel())
        else:
            fine = _masked_keys(
                addresses, start, size, some, lane_bits, width, by_access, active, limit
            )
        coming += _WHILE_MAKING * (_BLOCK // WIDTH)
        if not fine and bad < 0:
            bad = start
        if law.phases:
            coming = _transpose(by_access, keys, addresses, memory, coming)
            if regular:
                some_fuse = law.fuses and _pair_holds(keys, holds)
            else:
                some_fuse = law.fuses and _partners_hold(keys, partners, holds)
            if not law.merges:
                _tell_lanes_apart(keys)
            if not regular:
                _serve_arranged(keys, apart, arranged, served, addresses, memory, coming)
                if some_fuse:
                    _serve_arranged(keys, together, arranged, fused, addresses, memory, coming)
            elif some_fuse:
                for lane in range(32):
                    for j in range(_BLOCK):
                        spare[lane, j] = keys[lane, j]
                _serve(spare, lanes, 2 * group, fused, addresses, memory, coming)
                _serve(keys, lanes, group, served, addresses, memory, coming)
            else:
                _serve(keys, lanes, group, served, addresses, memory, coming)
            if some_fuse:
                for j in range(_BLOCK):
                    served[0, j] = fused[0, j] if holds[j] else served[0, j]
                    served[1, j] = fused[1, j] if holds[j] else served[1, j]
        _write_figures(law, served, active, holds, figures, slice(at + start, at + start + size))
    return bad


@jit()
def ideal_of(law, wavefronts, active):
    """Return the ideal of an access. All is counted in 16 bits, here and below."""
    read = np.uint16(np.uint16(active * np.uint16(law.width)) + np.uint16(127))
    if law.fixed_ideal >= 0:
        return np.uint16(law.fixed_ideal) if wavefronts else np.uint16(0)
    return min(np.uint16(read >> np.uint16(7)), wavefronts)


@jit()
def cycles_of(law, wavefronts, phases):
    """Return the cycles of an access."""
    least = np.uint16(law.least_1) if wavefronts == 1 else np.uint16(0)
    least = np.uint16(law.least_2) if wavefronts == 2 else least
    return max(wavefronts, np.uint16(phases * np.uint16(law.phase_cycles)), least)


@jit()
def _write_figures(law, served, active, holds, figures, part):
    """Fill a block's columns, in a loop each: LLVM vectorises that, but not all of them in one.

    It overwrites `served`.
    """
    phases, wavefronts, ideal, excessive, conflicts, cycles = (
        figures[0, part], figures[1, part], figures[2, part],
        figures[3, part], figures[4, part], figures[5, part],
    )  # fmt: skip
    none, apart, fused = np.uint16(0), np.uint16(law.phases), np.uint16(law.fused_phases)
    size, waves, busy = phases.size, served[0], served[1]
    for j in range(size):
        groups = fused if holds[j] else apart
        phases[j] = groups if active[j] else none
    for j in range(size):
        conflicts[j] = np.uint16(waves[j] - busy[j])
    for j in range(size):
        waves[j] = np.uint16(waves[j] * np.uint16(law.passes))
    for j in range(size):
        wavefronts[j] = waves[j]
    for j in range(size):
        ideal[j] = ideal_of(law, waves[j], active[j])
    for j in range(size):
        excessive[j] = np.uint16(wavefronts[j] - ideal[j])
    for j in range(size):
        cycles[j] = cycles_of(law, waves[j], phases[j])


@jit()
def _fits(low, high, top, width, limit):
    """Whether addresses are good: by the OR of lower 32 and of upper bits, and the largest."""
    return high == 0 and low & (width - 1) == 0 and np.int64(top) <= limit - width


@jit()
def _keys(addresses, memory, start, size, width, limit, keys):
    # Of one dimension, with unsigned indices, and with every result cut back to 32 bits, so that
    # LLVM vectorises it.
    low, high, top = np.uint32(0), np.uint32(0), np.uint32(0)
    lanes, offset, coming = addresses.ravel(), np.uint64(32 * start), start + _BLOCK
    for first in range(0, size, WIDTH):
        _fetch(addresses, memory, coming, _WHILE_MAKING)
        coming += _WHILE_MAKING
        for i in range(np.uint64(32 * first), np.uint64(32 * min(first + WIDTH, size))):
            given = lanes[offset + i]
            high = np.uint32(high | np.uint32(np.uint64(given) >> np.uint64(32)))
            address = np.uint32(given)
            low = np.uint32(low | address)
            top = max(top, address)
            keys[i] = _key(address)
    return _fits(low, high, top, width, limit)


@jit()
def _masked_keys(addresses, start, size, masks, lane_bits, width, keys, active, limit):
    low, high, top = np.uint32(0), np.uint32(0), np.uint32(0)
    memory = addresses.ctypes.data
    for j in range(size):
        if j % WIDTH == 0:
            _fetch(addresses, memory, start + _BLOCK + j // WIDTH * _WHILE_MAKING, _WHILE_MAKING)
        mask = np.uint32(masks[j % masks.shape[0]]) & lane_bits
        lanes = np.uint16(0)
        for lane in range(32):
            is_active = np.uint32(mask >> np.uint32(lane)) & np.uint32(1) != 0
            given = addresses[start + j, lane]
            far = np.uint32(np.uint64(given) >> np.uint64(32))
            address = np.uint32(given) if is_active else np.uint32(0)
            high = np.uint32(high | (far if is_active else np.uint32(0)))
            low = np.uint32(low | address)
            top = max(top, address)
            lanes = np.uint16(lanes + np.uint16(is_active))
            keys[j, lane] = _key(address) if is_active else _IDLE
        active[j] = lanes
    return _fits(low, high, top, width, limit)


@jit()
def _affine_keys(strides, lanes, width, limit, keys):
    low, high, top = np.uint32(0), np.uint32(0), np.uint32(0)
    addresses = np.zeros(32, np.uint32)
    for j in range(strides.shape[0]):
        for bit in range(5):
            stride = np.uint64(strides[j, bit]) if lanes >> bit > 1 else np.uint64(0)
            # Five strides inside shared memory do not add up beyond 32 bits.
            high = np.uint32(high | np.uint32(stride > SHARED_BYTES))
            for lane in range(1 << bit):
                addresses[lane + (1 << bit)] = addresses[lane] + np.uint32(stride)
        for lane in range(32):
            address = addresses[lane]
            low = np.uint32(low | address)
            top = max(top, address)
            keys[j, lane] = _key(address) if lane < lanes else _IDLE
    return _fits(low, high, top, width, limit)


@jit()
def _key(address):
    """Return a key: the bank in the upper 5 bits, the row of the word in the lower 11."""
    row = np.uint32(address >> np.uint32(7))
    return np.uint16(row | np.uint32(np.uint32(address >> np.uint32(2)) << np.uint32(11)))


@jit()
def _fetch(addresses, memory, first, count):
    """Ask for `count` accesses from `first` on, which may lie past the end.

    The addresses begin at `memory`; to ask them for it here would take as long as the asking.
    """
    for access in range(first, first + count):
        prefetch(addresses, memory + access * addresses.strides[0])


@jit()
def _transpose(by_access, keys, addresses, memory, coming):
    """Turn keys [access, lane] into [lane, access]; return what is to be asked for next."""
    source, pitch = by_access.ctypes.data, by_access.strides[0]
    target, target_pitch = keys.ctypes.data, keys.strides[0]
    for first in range(0, _BLOCK, WIDTH):
        for lane in range(0, 32, 8):
            to = target + lane * target_pitch + 2 * first
            transpose(source + first * pitch + 2 * lane, pitch, to, target_pitch)
        _fetch(addresses, memory, coming, _WHILE_TRANSPOSING)
        coming += _WHILE_TRANSPOSING
    return coming


@jit()
def _tell_lanes_apart(keys):
    """Give the lanes of a bank different keys: what does not merge costs every lane."""
    for lane in range(32):
        row = keys[lane]
        for j in range(row.size):
            own = np.uint16(np.uint16(row[j] & _BANK) | np.uint16(lane))
            row[j] = row[j] if row[j] == _IDLE else own


@jit()
def _pair_holds(keys, holds):
    """Set bit 0 of `holds` where all active lanes i, i^1 agree, bit 1 for i, i^2; say if any do."""
    holds[:] = 3
    for partner in (1, 2):
        for lane in range(32):
            if lane & partner:
                continue
            one, other = keys[lane], keys[lane ^ partner]
            for j in range(holds.size):
                broken = one[j] != other[j] and one[j] != _IDLE and other[j] != _IDLE
                holds[j] &= np.uint16(3 - partner) if broken else np.uint16(3)
    return holds.max() > 0


@jit()
def _partners_hold(keys, partners, holds):
    """Set `holds` where all active lanes i, i^p agree, for one partner p; say if any do."""
    holds[:] = 0
    agree = np.empty(holds.size, np.uint16)
    for partner in partners:
        agree[:] = 1
        for lane in range(32):
            if lane > lane ^ partner:
                continue
            one, other = keys[lane], keys[lane ^ partner]
            for j in range(holds.size):
                broken = one[j] != other[j] and one[j] != _IDLE and other[j] != _IDLE
                agree[j] = np.uint16(0) if broken else agree[j]
        for j in range(holds.size):
            holds[j] |= agree[j]
    return holds.max() > 0


@jit()
def _serve_arranged(keys, places, arranged, served, addresses, memory, coming):
    """Bring the lanes of each phase side by side, then serve; the keys stay as they are."""
    size = places.shape[1]
    for phase in range(places.shape[0]):
        for place in range(size):
            lane = places[phase, place]
            row = arranged[phase * size + place]
            for j in range(row.size):
                row[j] = keys[lane, j] if lane >= 0 else _IDLE
    _serve(arranged, places.size, size, served, addresses, memory, coming)


@jit()
def _serve(keys, lanes, group, served, addresses, memory, coming):
    """Add up over phases of `group` lanes: their wavefronts, and the phases that have any."""
    for column in range(keys.shape[1]):
        served[0, column] = served[1, column] = 0
    rows, pitch = keys.ctypes.data, keys.strides[0]
    sums, sums_pitch = served.ctypes.data, served.strides[0]
    for column in range(0, keys.shape[1], WIDTH):
        _fetch(addresses, memory, coming, _WHILE_SERVING)
        coming += _WHILE_SERVING
        for first in range(0, lanes, group):
            phase, to = rows + first * pitch + 2 * column, sums + 2 * column
            if group == 8:
                serve_8(phase, pitch, to, sums_pitch)
            elif group == 16:
                serve_16(phase, pitch, to, sums_pitch)
            else:
                serve_32(phase, pitch, to, sums_pitch)
