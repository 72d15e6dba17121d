"""What the compiled engine does in vectors of the processor, written in LLVM's own.

Sorted keys tell what a phase costs: equal keys, which cost one word, lie side by side, and so do
the keys of one bank. To sort 8 to 32 keys by comparing and branching would take a time that
depends on the keys. A *sorting network* compares the same places whatever the keys are. So one
access is sorted in each lane of a vector, `WIDTH` accesses at once, by minima and maxima:

    row 0 of WIDTH keys ──┬──────┬── ...    ┬  a minimum above, a maximum below
    row 1               ──┴──┬───┼── ...    │
    row 2               ──┬──┴───┼── ...    ┴
    row 3               ──┴──────┴── ...

For that the keys must be *transposed*: accesses lie in rows of 32 lanes, and a vector takes one
lane of `WIDTH` accesses. What waits for memory sorts nothing: `prefetch` asks for what comes.

Numba's own loops over arrays would store each key ten times between two steps. These functions
keep all rows of a phase in registers. They take addresses of memory as integers, such as
`array.ctypes.data`, and pitches: the bytes from one row to the next. They check nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

__all__ = [
    "BANK",
    "IDLE",
    "ROW",
    "WIDTH",
    "prefetch",
    "serve_8",
    "serve_16",
    "serve_32",
    "transpose",
]

WIDTH = 16
"""Accesses in a vector: 16-bit keys in the 256 bits that most processors have."""

BANK, ROW = 0xF800, 0x0800
"""Of a key: the bits of its bank. Keys that differ by ROW or more are of different banks."""

IDLE = 0xFFFF
"""The key of an inactive lane: of bank 31, and behind all others."""

_LINE = 64  # bytes that the memory brings at a time
_BYTE, _NUMBER = ir.IntType(8), ir.IntType(32)
_KEYS = ir.VectorType(ir.IntType(16), WIDTH)
_OCTET = ir.VectorType(ir.IntType(16), WIDTH // 2)


@intrinsic
def prefetch(context, like, address):
    """Ask for 32 elements as those of the array `like` ahead of their use; they need not exist."""
    size = 32 * like.dtype.bitwidth // 8

    def generate(context, builder, signature, arguments):
        for offset in range(0, size, _LINE):
            place = builder.add(arguments[1], arguments[1].type(offset))
            line = builder.inttoptr(place, _BYTE.as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [line.type, _NUMBER, _NUMBER, _NUMBER])
            call = builder.module.declare_intrinsic("llvm.prefetch", [line.type], kind)
            # To read; into the second cache; data.
            builder.call(call, [line, _NUMBER(0), _NUMBER(2), _NUMBER(1)])
        return context.get_dummy_value()

    return numba.void(like, address), generate


@intrinsic
def transpose(context, source, source_pitch, target, target_pitch):
    """Turn `WIDTH` rows of 8 keys at `source` into 8 rows of `WIDTH` keys at `target`.

    8×8 keys, and 8×8 beside them, are transposed by three perfect shuffles: each moves the bits
    of an index, row before column, round by one place.
    """
    half = WIDTH // 2
    both = _indices(range(WIDTH))
    shuffles = [
        _indices(side + block + i for block in (0, half) for i in some for side in (0, WIDTH))
        for some in (range(half // 2), range(half // 2, half))
    ]

    def generate(context, builder, signature, arguments):
        source, source_pitch, target, target_pitch = arguments
        loaded = _load(builder, source, source_pitch, WIDTH, _OCTET)
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
        _store(builder, rows, target, target_pitch)
        return context.get_dummy_value()

    return numba.void(source, source_pitch, target, target_pitch), generate


def network(size: int) -> list[tuple[int, int]]:
    """Return the places that Batcher's odd-even merge sort of 2^n keys compares, in order.

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


def _serve(lanes: int) -> Any:
    """Make a function that serves a phase of `lanes` rows of `WIDTH` keys each.

    To two rows of `WIDTH` sums at `served` it adds the wavefronts of the phase, which are the
    longest run of different keys of one bank, and whether there are any.
    """

    @intrinsic
    def serve(context, keys, pitch, served, served_pitch):
        def generate(context, builder, signature, arguments):
            keys, pitch, served, served_pitch = arguments
            rows = _sorted(builder, _load(builder, keys, pitch, lanes, _KEYS))

            def active(row):
                return builder.icmp_unsigned("!=", row, _each(IDLE))

            # How many different keys of one bank have been met, and the most there were.
            queue = longest = builder.zext(active(rows[0]), _KEYS)
            for before, row in pairwise(rows):
                change = builder.xor(before, row)
                another = builder.and_(builder.icmp_unsigned("!=", change, _each(0)), active(row))
                queue = builder.add(queue, builder.zext(another, _KEYS))
                next_bank = builder.icmp_unsigned(">=", change, _each(ROW))
                queue = builder.select(next_bank, _each(1), queue)
                longest = _larger(builder, queue, longest)
            busy = builder.zext(builder.icmp_unsigned("!=", longest, _each(0)), _KEYS)
            before = _load(builder, served, served_pitch, 2, _KEYS)
            sums = [builder.add(*pair) for pair in zip(before, (longest, busy), strict=True)]
            _store(builder, sums, served, served_pitch)
            return context.get_dummy_value()

        return numba.void(keys, pitch, served, served_pitch), generate

    return serve


serve_8, serve_16, serve_32 = map(_serve, (8, 16, 32))


def _sorted(builder, rows):
    """Return the rows sorted in each column, by the network."""
    rows = list(rows)
    for low, high in network(len(rows)):
        one, other = rows[low], rows[high]
        less = builder.icmp_unsigned("<", one, other)
        rows[low] = builder.select(less, one, other)
        rows[high] = builder.select(less, other, one)
    return rows


def _larger(builder, one, other):
    return builder.select(builder.icmp_unsigned(">", one, other), one, other)


def _places(builder, address, pitch, rows, vector):
    """Return pointers to vectors: at an address, and `rows` of them, a pitch apart."""
    places = (builder.add(address, builder.mul(pitch, pitch.type(row))) for row in range(rows))
    return [builder.inttoptr(place, vector.as_pointer()) for place in places]


def _load(builder, address, pitch, rows, vector):
    return [
        builder.load(place, align=2) for place in _places(builder, address, pitch, rows, vector)
    ]


def _store(builder, rows, address, pitch):
    places = _places(builder, address, pitch, len(rows), rows[0].type)
    for row, place in zip(rows, places, strict=True):
        builder.store(row, place, align=2)


def _indices(wanted):
    wanted = list(wanted)
    return ir.Constant(ir.VectorType(_NUMBER, len(wanted)), wanted)


def _each(value):
    return ir.Constant(_KEYS, [value] * WIDTH)
