"""Arrays that hold one thing after another: barriers part their uses, and nothing is carried over.

Uses belong together that share a time between two barriers of the block. So do a load and the store
that wrote its bytes last. Where several such groups remain, an array is used for as many
things. It is looked for in order to say it: one layout is for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.fixing.arrays import SharedArray, active_lanes
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.timeline import Timeline
from simulator.sass.run.witness import Touched

__all__ = ["Use", "phases_of", "times_of", "uses_of"]

_MOST_STEPS = 1 << 18
"""Straight runs of instructions that are followed, of all warps."""


@dataclass
class Use:
    """An instruction's accesses to an array."""

    site: MemorySite
    bytes: NDArray[np.bool_]
    """Those that it touches."""
    times: set[int] = field(default_factory=set)
    """How many barriers its warps had passed."""

    @property
    def loads(self) -> bool:
        """Whether it reads the bytes; an atomic does, too."""
        return not self.site.is_store or self.site.instruction.opcode.startswith(("ATOM", "RED"))


def uses_of(array: SharedArray, touched: Touched, sites: Sequence[MemorySite]) -> list[Use]:
    """Return the uses of an array by each of its instructions, without their times."""
    active = active_lanes(touched, sites)
    found = []
    for number in np.unique(touched.sites[array.rows]).tolist():
        rows = array.rows[touched.sites[array.rows] == number]
        places = array.within(touched.places[rows][active[rows]])
        bytes_ = np.zeros(array.bytes + 16, dtype=bool)
        for byte in range(max(sites[number].width, 1)):
            bytes_[np.clip(places, 0, array.bytes) + byte] = True
        found.append(Use(sites[number], bytes_[: array.bytes]))
    return found


def times_of(
    timelines: Iterable[Timeline], instructions: Sequence[SassInstruction]
) -> Mapping[int, set[int]] | None:
    """Return how many barriers warps had passed at each instruction, by its number.

    None where that is not the same for all warps of a block, or too much to follow.
    """
    found: dict[int, set[int]] = defaultdict(set)
    names = [each.opcode.split(".")[0] for each in instructions]
    if any(name == "BAR" and each.guard for name, each in zip(names, instructions, strict=True)):
        return None  # whether a warp passes it is not known
    left = _MOST_STEPS
    for timeline in timelines:
        passed = set()
        for warp in timeline.warps:
            left -= sum(len(run.steps) * run.times for run in warp)
            if left < 0:
                return None
            time = 0
            for run in warp:
                for place in run.steps * run.times:
                    step = timeline.steps[place]
                    for number in range(step.start, step.start + step.length):
                        if names[number] == "BAR":
                            time += 1
                        else:
                            found[number].add(time)
            passed.add(time)
        if len(passed) > 1:
            return None
    return found


def phases_of(uses: Sequence[Use]) -> list[tuple[Use, ...]]:
    """Return uses in groups, in their order of time: of different groups none needs another's."""
    group = list(range(len(uses)))

    def join(one: int, other: int) -> None:
        first, second = group[one], group[other]
        group[:] = [first if each == second else each for each in group]

    at: dict[int, list[int]] = defaultdict(list)
    for place, use in enumerate(uses):
        for time in use.times:
            at[time].append(place)
    size = len(uses[0].bytes) if uses else 0
    last = np.full(size, -1)
    for _, places in sorted(at.items()):
        for place in places:
            join(places[0], place)
            if uses[place].loads:
                for writer in np.unique(last[uses[place].bytes]).tolist():
                    if writer >= 0:
                        join(writer, place)
        for place in places:
            if uses[place].site.is_store:
                last[uses[place].bytes] = place
    found = [
        tuple(use for use, each in zip(uses, group, strict=True) if each == number)
        for number in dict.fromkeys(group)
    ]
    return sorted(found, key=lambda each: min(min(use.times, default=0) for use in each))
