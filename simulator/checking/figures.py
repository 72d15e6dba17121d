"""The figures that a limit can be put on.

A further one is a field of `Figures` and a row of `LIMITS`; all else follows from these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from layouts.shapes import is_integer

__all__ = ["LIMITS", "TIME_LIMITS", "Figures", "Limit", "TimeFigures", "figures_of", "total"]


@dataclass(frozen=True)
class Figures:
    """What something costs in shared memory."""

    conflicts: int = 0
    excessive: int = 0
    wavefronts: int = 0
    ways: float = 0.0
    """Wavefronts per wavefront that it would take without conflicts, of the worst instruction:
    4.0 for a 4-way bank conflict in all its phases. A kernel's instruction is taken over all of
    its executions, an access warp by warp."""


@dataclass(frozen=True)
class TimeFigures:
    """What a launch takes on a chip, as estimated."""

    chip: str
    cycles: int
    """From the launch to the end of the last block."""
    speedup_without_conflicts: float = 1.0
    """How much faster it would be without bank conflicts."""


class Limit(NamedTuple):
    """A figure that may be limited."""

    noun: str
    """What it counts, one of them."""
    least: int = 0
    """The smallest limit that can hold."""
    fraction: bool = False
    """Whether a limit may be a fraction."""

    def accepted(self) -> str:
        """Say which values a limit has."""
        number = "a number" if self.fraction else "an integer"
        return f"{number} of {self.least} or more"

    def holds(self, value: Any) -> bool:
        """Return whether a value can be a limit of this figure.

        >>> LIMITS["conflicts"].holds(0), LIMITS["conflicts"].holds(True), LIMITS["ways"].holds(2.5)
        (True, False, True)
        """
        number = is_integer(value) or (self.fraction and isinstance(value, float))
        return number and self.least <= value < float("inf")


LIMITS = {
    "conflicts": Limit("bank conflict"),
    "excessive": Limit("excessive wavefront"),
    "wavefronts": Limit("wavefront"),
    "ways": Limit("way", least=1, fraction=True),
}
"""By the key that limits it in bankwise.toml, a field of `Figures`."""

TIME_LIMITS = {
    "cycles": Limit("cycle", least=1),
    "speedup_without_conflicts": Limit("speedup", least=1, fraction=True),
}
"""Of kernels alone; a field of `TimeFigures`."""


def figures_of(wavefronts: int, excessive: int, conflicts: int, passes: int = 1) -> Figures:
    """Return the figures of one instruction, whose words take `passes` wavefronts each.

    >>> figures_of(32, 31, 31)
    Figures(conflicts=31, excessive=31, wavefronts=32, ways=32.0)
    """
    least = wavefronts - passes * conflicts
    return Figures(conflicts, excessive, wavefronts, wavefronts / least if least > 0 else 0.0)


def total(each: Iterable[Figures]) -> Figures:
    """Return the sums; of `ways`, the most."""
    sums = Figures()
    for one in each:
        sums = Figures(
            sums.conflicts + one.conflicts,
            sums.excessive + one.excessive,
            sums.wavefronts + one.wavefronts,
            max(sums.ways, one.ways),
        )
    return sums
