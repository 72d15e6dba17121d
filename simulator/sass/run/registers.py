"""The registers of a block's warps, which `setmaxnreg` moves from one warp to another.

A block has as many as its warps begin with. A warp that asks for more (USETMAXREG.TRY_ALLOC) waits
until others have given up enough (USETMAXREG.DEALLOC).

An H100 (2026-11-28): of 3 x 168 per thread, of which two warpgroups hold 40 and 232, a third gets
232 at once. No warp of it gets 240, though what is free would do for three of its four: each
quarter of an SM has registers of its own, and a warpgroup a warp in each. Warps that ended give
none back: who asks for theirs waits until another warpgroup gives some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.sass.lift.requests import MaxRegisters, Reply
from simulator.sass.run.standing import Call, Wait

if TYPE_CHECKING:
    from simulator.sass.run.units import Units

__all__ = ["RegisterPool", "describe", "serve"]

_UNIT = 8  # registers per thread that a warp gets at once
_QUARTERS = 4


class RegisterPool:
    """How many registers per thread each warp of a block holds.

    PTX says nothing of an `inc` to fewer than a warp has, or a `dec` to more: here it has what it
    had.
    """

    def __init__(self, warps: int, registers: int) -> None:
        """Begin a block. `registers`: of a thread at launch; 0: not known, and nobody waits."""
        self.launched = -(-registers // _UNIT) * _UNIT
        self.counts = [self.launched] * warps

    @property
    def free(self) -> int:
        """Registers per thread that no warp holds, summed over warps."""
        return self.launched * len(self.counts) - sum(self.counts)

    def give(self, warp: int, count: int) -> None:
        """Let a warp give up what it has above a count."""
        self.counts[warp] = min(self.counts[warp], count)

    def take(self, warp: int, count: int) -> bool:
        """Let a warp have so many, if there are enough; whether it has."""
        quarter = self.counts[warp % _QUARTERS :: _QUARTERS]
        more = max(count - self.counts[warp], 0)
        if self.launched and more > self.launched * len(quarter) - sum(quarter):
            return False
        self.counts[warp] += more
        return True


def serve(units: Units, call: Call, request: MaxRegisters) -> int:
    """Let a warp give registers up, and those go on that wait for them; or let it take some."""
    if not request.gives:
        if units.pool.take(call.warp, request.count):
            return Reply.GO_ON
        return units.wait(Wait(call, "registers", registers=request.count))
    units.pool.give(call.warp, request.count)
    waits = [wait for wait in units.waits if wait.what == "registers"]
    units.wake([wait for wait in waits if units.pool.take(wait.call.warp, wait.registers)])
    return Reply.GO_ON


def describe(units: Units, wait: Wait) -> str:
    """Say what a warp waits for, of what its block has."""
    pool, lanes = units.pool, 32
    warps = len(pool.counts)
    return (
        f"{wait.registers} registers per thread,"
        f" {wait.registers - pool.counts[wait.call.warp]} more than each has: the block was"
        f" launched with {pool.launched} registers per thread × {lanes * warps} threads ="
        f" {pool.launched * lanes * warps:,}, {lanes * pool.free:,} of which no warp holds"
        " (accepted: what other warps have given up by setmaxnreg.dec; those that ended give none"
        " back; next: a lower setmaxnreg.inc, a lower setmaxnreg.dec, or more registers at launch"
        " by __launch_bounds__)"
    )
