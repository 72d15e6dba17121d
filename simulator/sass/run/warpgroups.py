"""What all four warps of a warpgroup have to execute: its fences and its waits for products.

PTX asks all threads of a warpgroup for the same `wgmma.fence` (WARPGROUP.ARRIVE) and the same
`wgmma.wait_group` (WARPGROUP.DEPBAR). Where some of the warps leave one out, PTX says nothing of
what follows. An H100 (2026-11-22) lets a wait pass that one warp leaves out; after a fence that
one leaves out, it hangs at the next product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.errors import ExecutionError

__all__ = ["WARPS", "Uneven", "Warpgroups", "left_out"]

WARPS = 4
"""Of a warpgroup."""


@dataclass(frozen=True)
class Uneven:
    """An instruction that some warps of a warpgroup executed more often than the others."""

    number: int
    more: tuple[int, ...]
    """The warps that executed it most often."""
    fewer: tuple[int, ...]
    other: int | None
    """One of its kind that the others executed for it; None: they left it out."""


class Warpgroups:
    """By warp: the fences and waits since the last product of its warpgroup."""

    def __init__(self) -> None:
        """Begin a block."""
        self._since: dict[int, list[int]] = {}

    def note(self, warp: int, number: int) -> None:
        """Note that a warp executed a fence or a wait, by its number in the code."""
        self._since.setdefault(warp, []).append(number)

    def meet(self, group: int, kind: Callable[[int], int | None]) -> Uneven | None:
        """Return what the warps of a warpgroup did not execute alike, and forget what they did.

        What some left out comes before what they executed elsewhere.

        Parameters
        ----------
        group
            The warpgroup's number: its first warp by 4.
        kind
            Of an instruction: how many groups its wait lets run on; None: it is a fence.
        """
        warps = range(WARPS * group, WARPS * (group + 1))
        since = [self._since.pop(warp, []) for warp in warps]
        if all(each == since[0] for each in since):
            return None
        numbers = sorted({number for each in since for number in each})
        times = {number: [each.count(number) for each in since] for number in numbers}
        uneven = [number for number in numbers if len(set(times[number])) > 1]
        replaced = None
        for number in uneven:
            same = [each for each in uneven if kind(each) == kind(number)]
            totals = [sum(times[each][place] for each in same) for place in range(WARPS)]
            is_left_out = len(set(totals)) > 1
            other = None if is_left_out else next(each for each in same if each != number)
            most = max(times[number])
            found = Uneven(
                number,
                tuple(warp for warp, n in zip(warps, times[number], strict=True) if n == most),
                tuple(warp for warp, n in zip(warps, times[number], strict=True) if n < most),
                other,
            )
            if is_left_out:
                return found
            replaced = replaced or found
        return replaced

    def groups(self) -> list[int]:
        """Return the warpgroups that have executed any since their last products."""
        return sorted({warp // WARPS for warp in self._since})


def left_out(uneven: Uneven, waits: bool) -> ExecutionError:
    """Return the error for what some warps left out. `waits`: it is a wait, not a fence."""
    name = "wgmma.wait_group" if waits else "wgmma.fence"
    s = "" if len(uneven.more) > 1 else "s"
    return ExecutionError(
        f"{_listed(uneven.more)} execute{s} {name} more often than {_listed(uneven.fewer)} of the"
        " same warpgroup (accepted: all four warps alike; next: move it out of the branch"
        f"{'' if waits else ': an H100 hangs at the next product'})"
    )


def _listed(warps: tuple[int, ...]) -> str:
    return f"warp{'s' if len(warps) > 1 else ''} {', '.join(map(str, warps))}"
