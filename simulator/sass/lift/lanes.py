"""What the lanes of a warp tell each other: helpers of SHFL and MATCH."""

from __future__ import annotations

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I32, POINTER, vector

__all__: list[str] = []

_WORDS = vector(I32)


@helper(_WORDS, _WORDS, _WORDS)
def from_lanes(at: Emitter) -> None:
    """Return for each lane the word of another, whose number it says."""
    words, lanes = at.arguments
    place = at.beside(at.variable(words).pointer, (lanes & 31).resized(64) * 4)
    everywhere = at.bit(True).spread()
    at.give(at.gather(place, everywhere, words, 4))


@helper(_WORDS, POINTER, I32, _WORDS, _WORDS)
def alike(at: Emitter) -> None:
    """Return for each lane of a mask a bit for each lane of it with the same 64 bits."""
    _, mask, low, high = at.arguments
    left, found = at.variable(mask), at.variable(at.constant(_WORDS, 0))
    with at.forever() as done:
        with at.when(left.get() == 0):
            done()
        lane = left.get().lowest
        same = ((low == low.lane(lane)) & (high == high.lane(lane))).ballot & mask
        found.set(same.by_lane.choose(same.spread(), found.get()))
        left.set(left.get() & ~same)
    at.give(found.get())
