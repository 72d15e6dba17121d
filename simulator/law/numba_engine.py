"""The law for millions of accesses, compiled by Numba.

An address becomes a 16-bit *key*, its bank in the upper 5 bits and the row of its word in the
lower 11: 227 KiB are 1816 rows of 32 words. An access of 8 or 16 bytes is aligned, so the
first of its banks stands for all. Keys that are sorted tell everything: equal keys, which
cost one word, lie side by side, and so do the keys of one bank. So a phase is

    address ── key ──┐
    address ── key ──┤  sorting   ─  each differs from  ─  the longest run of one bank
       ...           ┤  network      the one before?       = wavefronts of the phase
    address ── key ──┘

A sorting network compares the same places whatever the keys are. It has no branches, so
`_VECTOR` accesses are sorted at once, each in its own lane of the processor's vectors; the
time does not depend on the addresses. For that, `_BLOCK` accesses at a time are transposed:
row l of `keys` holds lane l of all of them. Everything up to the figures stays in the first
cache, so the addresses are read once and nothing but the figures is written. While one block is
worked on, the memory is asked for the next, evenly: what waits for memory does not count.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

from simulator.jit import check_compiles, jit
from simulator.law.accesses import SHARED_BYTES, Rows
from simulator.law.instructions import Groups, Instruction

__all__ = ["count_accesses", "count_linear"]

_BLOCK = 128  # accesses transposed at a time: 8 KiB of keys
_VECTOR = 16  # accesses sorted at a time, in the 256-bit vectors that most processors have
_CHUNK = 1 << 15  # accesses a thread takes at a time
# Of every _VECTOR accesses of the next block, so many are asked for while keys of this one are
# made, transposed and served: about as long as each takes.
_WHILE_MAKING, _WHILE_TRANSPOSING, _WHILE_SERVING = 6, 2, 8

_ALL = np.uint32(0xFFFFFFFF)
_IDLE = np.uint16(0xFFFF)  # an inactive lane's key: bank 31, row 2047, behind all of 255 KiB
_BANK = np.uint16(0xF800)
_ROW = np.uint16(0x0800)  # keys that differ by this or more are of different banks


def count_accesses(
    instruction: Instruction,
    addresses: NDArray[Any] | Rows,
    masks: NDArray[np.uint32] | None,
    rule: str,
    threads: int | None = None,
) -> tuple[NDArray[np.uint8], int | None]:
    """Count n accesses: addresses (n, 32), unchecked, and masks (n,) or None for all lanes.

    Addresses may be strides instead, (n, 5): what each bit of the lane adds, all lanes active.
    Returns shape (6, n): phases, wavefronts, ideal, excessive, bank_conflicts, cycles; and,
    where an active lane's address is none, an access at or shortly before the first such.
    Its figures, and those near it, then mean nothing. `threads` are at most so many (None: a
    thread a processor).
    """
    # NumPy gives one mask for all accesses as a view of stride 0.
    one = masks is None or masks.strides == (0,)
    bits = np.full(1, _ALL) if masks is None else masks[:1] if one else masks
    law, places = _law(instruction, rule), _places_of(instruction)

    def count_chunk(part: slice, figures: NDArray[np.uint8]) -> int:
        chunk_masks = _plain(bits if one else bits[part])
        return int(_count(_plain(addresses[part]), chunk_masks, law, places, figures, part.start))

    return _in_chunks(count_chunk, len(addresses), threads)


def count_linear(
    instruction: Instruction, columns: NDArray[Any], rule: str, threads: int | None = None
) -> tuple[NDArray[np.uint8], int | None]:
    """Count n layouts that are linear over GF(2): columns (n, 5), as `closed_form` explains.

    Returns as `count_accesses`, but names the first bad layout itself.
    """
    law = _law(instruction, rule)
    return _in_chunks(
        lambda part, figures: int(_count_linear(_plain(columns[part]), law, figures, part.start)),
        len(columns),
        threads,
    )


def _in_chunks(
    count: Callable[[slice, NDArray[np.uint8]], int], n: int, threads: int | None
) -> tuple[NDArray[np.uint8], int | None]:
    """Fill figures (6, n) by chunks; `count` gives the first bad one of its chunk, or -1."""
    check_compiles()
    figures = np.empty((6, n), dtype=np.uint8)
    starts = range(0, n, _CHUNK)
    left = iter(starts)  # the threads' common queue

    def work() -> list[int]:
        try:
            found = ((start, count(slice(start, start + _CHUNK), figures)) for start in left)
            return [start + bad for start, bad in found if bad >= 0]
        finally:
            for _ in left:  # where one thread fails or is interrupted, the others stop
                pass

    # This thread works too: to start one more, and to be woken by it, would take as long as
    # thousands of accesses.
    helpers = min(threads or _processors(), len(starts)) - 1
    with ThreadPoolExecutor(helpers) if helpers > 0 else nullcontext() as pool:
        helped = [pool.submit(work) for _ in range(helpers)] if pool else []
        found = [*work(), *(bad for each in helped for bad in each.result())]
    return figures, min(found, default=None)


def _law(instruction: Instruction, rule: str) -> tuple[np.int32, ...]:
    """Give what the loops must know of an instruction, in the order in which they unpack it."""
    fixed = -1 if instruction.fixed_ideal is None else instruction.fixed_ideal
    known = (
        instruction.width,
        instruction.lanes,
        instruction.phases,
        instruction.fuses and rule == "silicon",
        instruction.merges,
        instruction.passes,
        fixed,
        instruction.phase_cycles,
        *instruction.least_cycles,
        len(instruction.fused_lanes),
        instruction.shared_bytes,
    )
    return tuple(map(np.int32, known))


def _places_of(instruction: Instruction) -> tuple[NDArray[np.int16], ...]:
    """Give the partners, and the lane at each place of the phases, apart and fused: (phases, n).

    The loops serve phases of n = 8, 16 or 32 neighbouring rows of keys, so a phase is filled up
    with places of no lane, -1. Empty where phases are such runs of lanes already.
    """
    if instruction.is_regular:
        return _NOTHING, _NO_PLACES, _NO_PLACES
    partners = np.array(instruction.partners, dtype=np.int16)
    return partners, _filled(instruction.phase_lanes), _filled(instruction.fused_lanes)


_NOTHING = np.empty(0, np.int16)
_NO_PLACES = np.empty((0, 8), np.int16)


def _filled(groups: Groups) -> NDArray[np.int16]:
    most = max(map(len, groups), default=1)
    places = np.full((len(groups), next(size for size in (8, 16, 32) if most <= size)), -1)
    for phase, group in enumerate(groups):
        places[phase, : len(group)] = group
    return places.astype(np.int16)


def _processors() -> int:
    # A container may have fewer than the machine; sched_getaffinity exists on Linux only.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Give a chunk as one of the few types for which the loops are compiled.

    That is read-only, in C order, and int16, or uint of 16, 32, 64 bits. A negative int32 is an
    unsigned integer beyond shared memory, and refused as that. Only chunks in another order, of
    rows or of bytes, or of 8 bits, are copied.
    """
    if array.dtype.itemsize == 1:
        array = array.astype(np.int16)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    plain = np.ascontiguousarray(native).view()
    if plain.dtype.itemsize >= 4:
        plain = plain.view(f"u{plain.dtype.itemsize}")
    plain.flags.writeable = False
    return plain


def _network(size: int) -> list[tuple[int, int]]:
    """Places that Batcher's odd-even merge sort of `size` (a power of two) compares, in order.

    Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
    """
    return [
        (low, low + step)
        for half in (1 << bit for bit in range(size.bit_length() - 1))
        for step in (half >> bit for bit in range(half.bit_length()))
        for start in range(step % half, size - step, 2 * step)
        for low in range(start, start + step)
        if low // (2 * half) == (low + step) // (2 * half)
    ]


_KEYS = ir.VectorType(ir.IntType(16), _VECTOR)


def _each(value: int | np.uint16) -> ir.Constant:
    return ir.Constant(_KEYS, [int(value)] * _VECTOR)


def _places(context, builder, kind, array, first, column, rows):
    """Point to [first, column] of an array of two dimensions, and below it: `rows` pointers."""
    array = arrayobj.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    start = builder.add(builder.mul(first, width), column)
    starts = [builder.add(start, builder.mul(width, width.type(row))) for row in range(rows)]
    return [builder.gep(array.data, [start]) for start in starts]


def _load(builder, place, vector=_KEYS):
    return builder.load(builder.bitcast(place, vector.as_pointer()), align=2)


def _store(builder, keys, place):
    builder.store(keys, builder.bitcast(place, keys.type.as_pointer()), align=2)


@intrinsic
def _fetch_one(context, addresses, access):
    """Ask for the addresses of `access`, which may lie past the end, ahead of their use."""
    line, number = 64, ir.IntType(32)

    def generate(context, builder, signature, values):
        kind = signature.args[0]
        row = _places(context, builder, kind, values[0], values[1], values[1].type(0), 1)[0]
        size = 32 * context.get_abi_sizeof(context.get_value_type(kind.dtype))
        row = builder.bitcast(row, ir.IntType(8).as_pointer())
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [row.type],
            ir.FunctionType(ir.VoidType(), [row.type, number, number, number]),
        )
        for offset in range(0, size, line):
            place = builder.gep(row, [values[1].type(offset)])
            # To read; into the second cache; data.
            builder.call(prefetch, [place, number(0), number(2), number(1)])
        return context.get_dummy_value()

    return numba.void(addresses, access), generate


@jit()
def _fetch(addresses, first, count):
    for access in range(first, first + count):
        _fetch_one(addresses, access)


@intrinsic
def _transpose(context, by_access, keys, first, column):
    """Turn keys [access, lane] into [lane, access]: `_VECTOR` accesses from `first`, 8 lanes.

    `column` is the first of the lanes. 8×8 keys, and 8×8 beside them, are transposed by three
    perfect shuffles: each moves the bits of an index, row before column, round by one place.
    """
    half = _VECTOR // 2
    octet = ir.VectorType(ir.IntType(16), half)

    def indices(*wanted: int) -> ir.Constant:
        return ir.Constant(ir.VectorType(ir.IntType(32), len(wanted)), list(wanted))

    both = indices(*range(_VECTOR))
    shuffles = [
        indices(*(side + block + i for block in (0, half) for i in some for side in (0, _VECTOR)))
        for some in (range(half // 2), range(half // 2, half))
    ]

    def generate(context, builder, signature, values):
        source, target, first, column = values
        kinds = signature.args
        read = _places(context, builder, kinds[0], source, first, column, _VECTOR)
        write = _places(context, builder, kinds[1], target, column, first, half)
        loaded = [_load(builder, place, octet) for place in read]
        rows = [
            builder.shuffle_vector(low, high, both)
            for low, high in zip(loaded[:half], loaded[half:], strict=True)
        ]
        for _ in range(3):
            rows = [
                builder.shuffle_vector(rows[row], rows[row + half // 2], shuffle)
                for row in range(half // 2)
                for shuffle in shuffles
            ]
        for row, place in zip(rows, write, strict=True):
            _store(builder, row, place)
        return context.get_dummy_value()

    return numba.void(by_access, keys, first, column), generate


def _phase(lanes: int) -> Any:
    """Make a function that serves a phase of `lanes` rows from `first`, in `_VECTOR` columns.

    It adds the phase's wavefronts to served[0], and to served[1] whether there are any. It is
    written in LLVM's own vectors, because loops over arrays would store each key ten times.
    """

    @intrinsic
    def serve(context, keys, first, column, served):
        def generate(context, builder, signature, values):
            keys, first, column, served = values
            places = _places(context, builder, signature.args[0], keys, first, column, lanes)
            rows = [_load(builder, place) for place in places]
            for low, high in _network(lanes):
                one, other = rows[low], rows[high]
                less = builder.icmp_unsigned("<", one, other)
                rows[low] = builder.select(less, one, other)
                rows[high] = builder.select(less, other, one)

            def active(row):
                return builder.icmp_unsigned("!=", row, _each(_IDLE))

            # How many different keys of one bank have been met, and the most there were.
            queue = longest = builder.zext(active(rows[0]), _KEYS)
            for before, row in pairwise(rows):
                change = builder.xor(before, row)
                another = builder.and_(builder.icmp_unsigned("!=", change, _each(0)), active(row))
                queue = builder.add(queue, builder.zext(another, _KEYS))
                next_bank = builder.icmp_unsigned(">=", change, _each(_ROW))
                queue = builder.select(next_bank, _each(1), queue)
                longer = builder.icmp_unsigned(">", queue, longest)
                longest = builder.select(longer, queue, longest)
            busy = builder.zext(builder.icmp_unsigned("!=", longest, _each(0)), _KEYS)
            sums = _places(context, builder, signature.args[3], served, column.type(0), column, 2)
            for place, summand in zip(sums, (longest, busy), strict=True):
                _store(builder, builder.add(_load(builder, place), summand), place)
            return context.get_dummy_value()

        return numba.void(keys, first, column, served), generate

    return serve


_serve_8, _serve_16, _serve_32 = map(_phase, (8, 16, 32))


@jit()
def _count(addresses, masks, law, places, figures, at):
    """Fill figures[:, at:] with a chunk's; return where the first bad block starts, or -1.

    A block is bad if an active lane's address is outside shared memory or misaligned.
    """
    width, lanes, all_phases, fuses, merges, _, _, _, _, _, _, limit = law
    partners, apart, together = places
    regular = partners.size == 0
    group = lanes // all_phases if all_phases else 0
    arranged = np.empty((max(apart.size, together.size), _BLOCK), np.uint16)
    lane_bits = np.uint32((np.int64(1) << lanes) - 1)
    by_access = np.empty((_BLOCK, 32), np.uint16)
    keys = np.empty((32, _BLOCK), np.uint16)
    spare = np.empty((32, _BLOCK), np.uint16)
    active = np.empty(_BLOCK, np.uint16)
    holds = np.zeros(_BLOCK, np.uint16)
    served = np.zeros((2, _BLOCK), np.uint16)  # wavefronts, and the phases that have any
    fused = np.zeros((2, _BLOCK), np.uint16)
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
            fine = _keys(addresses, start, size, width, limit, by_access.ravel())
        else:
            fine = _masked_keys(
                addresses, start, size, some, lane_bits, width, limit, by_access, active
            )
        coming += _WHILE_MAKING * (_BLOCK // _VECTOR)
        if not fine and bad < 0:
            bad = start
        if all_phases:
            for first in range(0, _BLOCK, _VECTOR):
                for lane in range(0, 32, 8):
                    _transpose(by_access, keys, first, lane)
                _fetch(addresses, coming, _WHILE_TRANSPOSING)
                coming += _WHILE_TRANSPOSING
            if regular:
                fused_some = fuses and _pair_holds(keys, holds)
            else:
                fused_some = fuses and _partners_hold(keys, partners, holds)
            if not merges:
                _tell_lanes_apart(keys)
            if not regular:
                _serve_arranged(keys, apart, arranged, served, addresses, coming)
                if fused_some:
                    _serve_arranged(keys, together, arranged, fused, addresses, coming)
            elif fused_some:
                for lane in range(32):
                    for j in range(_BLOCK):
                        spare[lane, j] = keys[lane, j]
                _serve(spare, lanes, 2 * group, fused, addresses, coming)
                _serve(keys, lanes, group, served, addresses, coming)
            else:
                _serve(keys, lanes, group, served, addresses, coming)
            if fused_some:
                for j in range(_BLOCK):
                    served[0, j] = fused[0, j] if holds[j] else served[0, j]
                    served[1, j] = fused[1, j] if holds[j] else served[1, j]
        _figures(law, served, active, holds, figures, slice(at + start, at + start + size))
    return bad


@jit()
def _figures(law, served, active, holds, figures, part):
    """Fill a block's columns, in a loop each: LLVM vectorises that, but not all of them in one.

    For that, too, everything is cut back to 16 bits. It overwrites `served`.
    """
    width, _, all_phases, _, _, passes, fixed_ideal, phase_cycles, least_1, least_2, few, _ = law
    phases, wavefronts, ideal, excessive, conflicts, cycles = (
        figures[0, part], figures[1, part], figures[2, part],
        figures[3, part], figures[4, part], figures[5, part],
    )  # fmt: skip
    none, all_groups, fewer = np.uint16(0), np.uint16(all_phases), np.uint16(few)
    size, waves, busy = phases.size, served[0], served[1]
    for j in range(size):
        groups = fewer if holds[j] else all_groups
        phases[j] = groups if active[j] else none
    for j in range(size):
        conflicts[j] = np.uint16(waves[j] - busy[j])
    for j in range(size):
        waves[j] = np.uint16(waves[j] * np.uint16(passes))
    for j in range(size):
        wavefronts[j] = waves[j]
    if fixed_ideal >= 0:
        for j in range(size):
            ideal[j] = np.uint16(fixed_ideal) if phases[j] else none
    else:
        for j in range(size):
            read = np.uint16(active[j] * np.uint16(width))
            full = np.uint16(np.uint16(read + np.uint16(127)) >> np.uint16(7))
            ideal[j] = min(full, waves[j])
    for j in range(size):
        excessive[j] = np.uint16(wavefronts[j] - ideal[j])
    for j in range(size):
        least = np.uint16(least_1) if waves[j] == 1 else none
        least = np.uint16(least_2) if waves[j] == 2 else least
        in_phases = np.uint16(phases[j] * np.uint16(phase_cycles))
        cycles[j] = max(waves[j], in_phases, least)


@jit()
def _fits(low, high, top, width, limit):
    """Whether addresses are good: by the OR of lower 32 and of upper bits, and the largest."""
    # As unsigned: it may be less than a lane's width, and then no address is good.
    return high == 0 and low & (width - 1) == 0 and np.int64(top) <= limit - width


@jit()
def _keys(addresses, start, size, width, limit, keys):
    # Of one dimension, with unsigned indices, and with every result cut back to 32 bits, so that
    # LLVM vectorises it.
    low, high, top = np.uint32(0), np.uint32(0), np.uint32(0)
    lanes, offset, coming = addresses.ravel(), np.uint64(32 * start), start + _BLOCK
    for first in range(0, size, _VECTOR):
        _fetch(addresses, coming, _WHILE_MAKING)
        coming += _WHILE_MAKING
        for i in range(np.uint64(32 * first), np.uint64(32 * min(first + _VECTOR, size))):
            given = lanes[offset + i]
            high = np.uint32(high | np.uint32(np.uint64(given) >> np.uint64(32)))
            address = np.uint32(given)
            low = np.uint32(low | address)
            top = max(top, address)
            keys[i] = _key(address)
    return _fits(low, high, top, width, limit)


@jit()
def _masked_keys(addresses, start, size, masks, lane_bits, width, limit, keys, active):
    low, high, top = np.uint32(0), np.uint32(0), np.uint32(0)
    for j in range(size):
        if j % _VECTOR == 0:
            _fetch(addresses, start + _BLOCK + j // _VECTOR * _WHILE_MAKING, _WHILE_MAKING)
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
    """Put the bank into the upper 5 bits, the row of the word into the lower 11."""
    row = np.uint32(address >> np.uint32(7))
    return np.uint16(row | np.uint32(np.uint32(address >> np.uint32(2)) << np.uint32(11)))


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
def _serve_arranged(keys, places, arranged, served, addresses, coming):
    """Bring the lanes of each phase side by side, then serve; the keys stay as they are."""
    size = places.shape[1]
    for phase in range(places.shape[0]):
        for place in range(size):
            lane = places[phase, place]
            row = arranged[phase * size + place]
            for j in range(row.size):
                row[j] = keys[lane, j] if lane >= 0 else _IDLE
    _serve(arranged, places.size, size, served, addresses, coming)


@jit()
def _serve(keys, lanes, group, served, addresses, coming):
    """Add up over phases of `group` lanes: their wavefronts, and the phases that have any."""
    for column in range(keys.shape[1]):
        served[0, column] = served[1, column] = 0
    for column in range(0, keys.shape[1], _VECTOR):
        _fetch(addresses, coming, _WHILE_SERVING)
        coming += _WHILE_SERVING
        for first in range(0, lanes, group):
            if group == 8:
                _serve_8(keys, first, column, served)
            elif group == 16:
                _serve_16(keys, first, column, served)
            else:
                _serve_32(keys, first, column, served)


@jit()
def _count_linear(columns, law, figures, at):
    width, lanes, all_phases, fuses, merges, _, _, _, _, _, _, limit = law
    apart, fused = _phase_bits(lanes, all_phases)
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
        holds = fuses and (words[0] == 0 or words[1] == 0)
        bits = fused if holds else apart
        excess = 0
        for bit in range(bits):
            word = words[bit]
            lowest = word & -word
            for other in range(bit + 1, bits):
                words[other] ^= word if words[other] & lowest else 0
            excess += word & 31 == 0 and (word != 0 or not merges)
        _equal_phases(law, holds, 1 << excess, figures, at + layout)
    return -1


@jit()
def _phase_bits(lanes, phases):
    """Count the lane bits that vary in a phase, and in a fused one."""
    bits = 0
    while phases and lanes >> (bits + 1) >= phases:
        bits += 1
    return bits, bits + 1


@jit()
def _highest(words, lanes):
    highest = np.int32(0)
    for lane in range(lanes):
        word = np.int32(0)
        for bit in range(5):
            word ^= words[bit] if lane >> bit & 1 else 0
        highest = max(highest, word)
    return highest


@jit()
def _equal_phases(law, holds, of_phase, figures, at):
    """Write the figures of one layout whose phases cost the same wavefronts each."""
    width, lanes, all_phases, _, _, passes, fixed_ideal, phase_cycles, least_1, least_2, few, _ = (
        law
    )
    groups = few if holds else all_phases
    served = groups * of_phase
    wavefronts = passes * served
    full = lanes * width + 127 >> 7
    ideal = min(wavefronts, full) if fixed_ideal < 0 else fixed_ideal
    least = least_1 if wavefronts == 1 else least_2 if wavefronts == 2 else 0
    figures[0, at] = groups
    figures[1, at] = wavefronts
    figures[2, at] = ideal
    figures[3, at] = wavefronts - ideal
    figures[4, at] = served - groups
    figures[5, at] = max(wavefronts, phase_cycles * groups, least)
