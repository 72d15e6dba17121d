"""Notes about what may not hold on the chip: see `simulator.sass.run.watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.sass.run.faults import standing
from simulator.sass.run.watch import Doubts

if TYPE_CHECKING:
    from simulator.sass.run.grid import GridRun

__all__ = ["notes_of"]

_MOST = 8

_SAYS = {
    "unfenced": (
        "reads shared memory that {other} wrote, with no fence between: it may read the old"
        " data (next: fence.proxy.async in the threads that write, then a barrier)"
    ),
    "unordered": (
        "reads shared memory that {other} wrote in another warp, with no barrier between: it may"
        " read the old data (next: __syncthreads() or bar.sync behind the fence)"
    ),
    "unmade": (
        "uses an mbarrier that {other} makes in another warp, with no barrier between (next:"
        " __syncthreads() behind mbarrier.init)"
    ),
    "unmade away": (
        "uses an mbarrier that {other} makes in another block, with no barrier of the cluster"
        " between (next: cluster.sync() behind mbarrier.init)"
    ),
    "early read": (
        "reads what {other} brings, and neither its warp nor one that it synchronised with has"
        " waited for the copy's mbarrier (next: mbarrier.try_wait, then read)"
    ),
    "early write": (
        "writes an operand of {other}, which may still be reading it (next:"
        " wgmma.wait_group, then write or tell the producer)"
    ),
    "early refill": (
        "writes what {other} may still be reading (next: cp.async.bulk.wait_group.read in the"
        " thread that copies, then a barrier)"
    ),
    "early release": (
        "writes an operand of {other}, and no barrier orders it behind the wait for that product"
        " (next: wgmma.wait_group before mbarrier.arrive, and a wait for that mbarrier here)"
    ),
    "early reuse": (
        "writes what {other} reads, and no barrier orders it behind the wait for that copy (next:"
        " a barrier behind cp.async.bulk.wait_group.read)"
    ),
    "early end": (
        "may still be reading shared memory when its block ends: the chip may give that memory to"
        " another block (next: cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 in"
        " the thread that copies)"
    ),
    "unawaited": (
        "may still be writing shared memory when its block ends, since no warp waited for it: the"
        " chip may have given that memory to another block (next: wait for the copy's mbarrier)"
    ),
    "elsewhere": (
        "is executed by some warps of a warpgroup where the others execute {other}: all four"
        " must execute the same one (next: move it out of the branch)"
    ),
    "early touch": (
        "reads or writes registers of {other}, which may still run (next: wgmma.wait_group first)"
    ),
}


def notes_of(launch: GridRun, doubts: Doubts) -> list[str]:
    """Return a note for each doubt: both instructions, their lines, and the block."""
    found = [
        f"may not hold on the chip: {standing(launch, doubt.number)} in block {block}"
        f" {_SAYS[doubt.kind].format(other=standing(launch, doubt.other))}"
        for doubt, block in sorted(doubts.items())
    ]
    if len(found) > _MOST:
        return [*found[:_MOST], f"{len(found) - _MOST} more such pairs may not hold on the chip"]
    return found
