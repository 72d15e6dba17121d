"""What the lanes of a warp tell each other: helpers of SHFL and MATCH."""

from __future__ import annotations

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I32, I64, POINTER, vector
from simulator.sass.lift.layout import CONSTANT, CONSTANT_SHIFT, VALUE
from simulator.sass.lift.state import context, field, note

__all__: list[str] = []

_WORDS = vector(I32)


@helper(_WORDS, _WORDS, _WORDS)
def from_lanes(at: Emitter) -> None:
    """Return for each lane the word of another, whose number it says."""
    words, lanes = at.arguments
    place = at.beside(at.variable(words).pointer, (lanes & 31).resized(64) * 4)
    everywhere = at.bit(True).spread()
    at.give(at.gather(place, everywhere, words, 4))


@helper(_WORDS, POINTER, I32, _WORDS, _WORDS, I64)
def alike(at: Emitter) -> None:
    """Return for each lane of a mask a bit for each lane of it with the same 64 bits.

    How many values there are is noted, with the instruction's number, where they are several.
    """
    warp, mask, low, high, number = at.arguments
    left, found = at.variable(mask), at.variable(at.constant(_WORDS, 0))
    values = at.variable(at.i64(0))
    with at.forever() as done:
        with at.when(left.get() == 0):
            done()
        lane = left.get().lowest
        same = ((low == low.lane(lane)) & (high == high.lane(lane))).ballot & mask
        found.set(same.by_lane.choose(same.spread(), found.get()))
        left.set(left.get() & ~same)
        values.set(values.get() + 1)
    block = context(at, warp)
    is_room = field(at, block, "event_count") < field(at, block, "event_room")
    with at.when((values.get() > 1) & is_room):
        which = number << CONSTANT_SHIFT
        note(at, block, values.get() | which | 1 << CONSTANT | 1 << VALUE)
    at.give(found.get())
