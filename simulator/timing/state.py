"""What the simulation of one SM holds: code and traces as arrays, and the state of warps.

All are named tuples of arrays, which compiled loops take.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NEVER",
    "QUEUE_ROOM",
    "STALLS",
    "CodeArrays",
    "Kind",
    "Outcome",
    "Stall",
    "State",
    "TraceArrays",
    "new_outcome",
    "new_state",
]

NEVER = 1 << 60
"""A cycle that does not come."""

PARTITIONS = 4
QUEUE_ROOM = 64
"""Entries for which a queue has arrays; how many it holds is a number of the chip."""
_GROUPS = 16
_BARRIERS = 16

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Kind(IntEnum):
    """What an instruction is to the scheduler."""

    PLAIN = 0
    """A pipe of the sub-partition executes it."""
    QUEUED = 1
    """It goes through the MIO queue, and needs no memory: shuffles, special functions."""
    SHARED = 2
    LOAD = 3
    """Of global memory."""
    STORE = 4
    COPY = 5
    """LDGSTS: from global to shared memory."""
    COPIES_END = 6
    """LDGDEPBAR: the copies until now are a group."""
    COPIES_WAIT = 7
    """DEPBAR: waits until so many groups are left."""
    BARRIER = 8
    ARRIVE = 9
    """At a barrier, without waiting."""
    EXIT = 10
    BRANCH = 11
    FENCE = 12
    SLEEP = 13


class Stall(IntEnum):
    """Why a warp does not issue an instruction: Nsight Compute's reasons."""

    SELECTED = 0
    WAIT = 1
    SHORT_SCOREBOARD = 2
    LONG_SCOREBOARD = 3
    BARRIER = 4
    MIO_THROTTLE = 5
    LG_THROTTLE = 6
    MATH_PIPE_THROTTLE = 7
    DISPATCH_STALL = 8
    NOT_SELECTED = 9
    BRANCH_RESOLVING = 10
    MEMBAR = 11
    NO_INSTRUCTION = 12
    SLEEPING = 13
    GMMA = 14


STALLS = tuple(stall.name.lower() for stall in Stall)
"""Names of the reasons, by number."""


class CodeArrays(NamedTuple):
    """The instructions: an element each."""

    kind: Numbers
    stall: Numbers
    yields: Numbers
    write: Numbers
    """The scoreboard that its result releases; -1: no scoreboard."""
    read: Numbers
    """The scoreboard that reading its operands releases; -1: no scoreboard."""
    waits: Numbers
    pipe: Numbers
    other: Numbers
    """A second pipe that can execute it; -1: there is none."""
    held: Floats
    """Cycles for which it holds one of them."""
    latency: Numbers
    local: Numbers
    """Cycles for which it holds the sub-partition's way to memory."""
    data: Numbers
    """Cycles of the shared data pipe that it takes without an access of its own."""
    conflict: Numbers
    """Cycles by which operands in one bank of registers hold up its dispatch."""
    number: Numbers
    """A barrier's number, or how many groups of copies may be left."""
    warps: Numbers
    """Warps that a barrier waits for; 0: all of the block."""


class TraceArrays(NamedTuple):
    """The traces of the blocks that ran: as `BlockTrace` has them, end to end."""

    start: Numbers
    length: Numbers
    row_begin: Numbers
    row: Numbers
    row_number: Numbers
    row_shared: Numbers
    row_cycles: Numbers
    row_floor: Numbers
    row_bytes: Numbers
    line_begin: Numbers
    line: Numbers
    mask: Numbers
    warp_begin: Numbers
    """Of warp w of block b at b · warps + w, one more at the end."""
    step: Numbers
    base_begin: Numbers
    base: Numbers


class State(NamedTuple):
    """One SM. A warp has a place for itself and one in each array."""

    # By warp.
    trace: Numbers
    """Where it is in the traces: its number there; -1: there is no warp."""
    at_step: Numbers
    at: Numbers
    """Of the step's instructions."""
    at_row: Numbers
    at_base: Numbers
    instruction: Numbers
    """The one that is to be issued next."""
    issued: Numbers
    """When it last issued one."""
    ready: Numbers
    """When the stall count of the one before lets it issue."""
    next: Numbers
    """When it may issue; NEVER: something else must happen first."""
    why: Numbers
    """The stall between `ready` and `next`."""
    since: Numbers
    """Since when a throttle keeps it from issuing; -1: none does."""
    throttle: Numbers
    pending: Numbers
    """By warp and scoreboard: instructions in a queue."""
    time: Numbers
    """By warp and scoreboard: when it is free."""
    source: Numbers
    """By warp and scoreboard: the stall of waiting for it."""
    arrived_at: Numbers
    """The barrier at which it waits; -1: at none."""
    copies: Numbers
    """When its copies until now are done."""
    groups: Numbers
    """Groups of copies until now."""
    group_time: Numbers
    # By block that is resident.
    block: Numbers
    """Its place in the plan; -1: no block."""
    alive: Numbers
    arrived: Numbers
    """By barrier: warps."""
    arrival: Numbers
    """By barrier: when the last arrival was taken."""
    # By sub-partition.
    order: Numbers
    """Its warps, from the oldest on."""
    count: Numbers
    last: Numbers
    """The warp that issued last; -1: choose another."""
    sleep: Numbers
    """Until when none of its warps can issue."""
    port: Numbers
    """When its dispatch port is free."""
    pipe: Floats
    """By pipe: when it is free."""
    # Queues: the MIO queue of each sub-partition, then the LG queue of each.
    head: Numbers
    size: Numbers
    free: Numbers
    """When the way out of the queue is free."""
    entry: Numbers
    """By queue, place: warp, instruction, first row, rows, first base, cycle."""
    # Of the SM.
    scalars: Floats
    """When the data pipe, L2's share, DRAM's share, the barrier unit are free; remainders."""
    tags: Numbers
    """L1 by set and way: line, or -1."""
    valid: Numbers
    """L1: sectors of the line."""
    fill: Numbers
    """L1: when each sector is there."""
    used: Numbers
    """L1: when the line was last used."""


class Outcome(NamedTuple):
    """What a simulation found."""

    stalls: Numbers
    """By instruction and reason: cycles of warps."""
    begin: Numbers
    """By place in the plan: when the block began."""
    end: Numbers
    counts: Numbers
    """Cycles, instructions, cycles of the data pipe, sectors loaded, of those hits, sectors from
    L2, sectors stored, sectors from DRAM."""


def new_state(warps: int, resident: int, pipes: int, sets: int, ways: int) -> State:
    """Return an SM without blocks."""

    def filled(value: int, *shape: int) -> NDArray[Any]:
        return np.full(shape, value, dtype=np.int64)

    return State(
        trace=filled(-1, warps), at_step=filled(0, warps), at=filled(0, warps),
        at_row=filled(0, warps), at_base=filled(0, warps), instruction=filled(0, warps),
        issued=filled(0, warps), ready=filled(0, warps), next=filled(NEVER, warps),
        why=filled(0, warps), since=filled(-1, warps), throttle=filled(0, warps),
        pending=filled(0, warps, 6), time=filled(0, warps, 6), source=filled(0, warps, 6),
        arrived_at=filled(-1, warps), copies=filled(0, warps), groups=filled(0, warps), group_time=filled(0, warps, _GROUPS),
        block=filled(-1, resident), alive=filled(0, resident),
        arrived=filled(0, resident, _BARRIERS), arrival=filled(0, resident, _BARRIERS),
        order=filled(0, PARTITIONS, warps), count=filled(0, PARTITIONS),
        last=filled(-1, PARTITIONS), sleep=filled(0, PARTITIONS), port=filled(0, PARTITIONS),
        pipe=np.zeros((PARTITIONS, pipes)), head=filled(0, 2 * PARTITIONS),
        size=filled(0, 2 * PARTITIONS), free=filled(0, 2 * PARTITIONS),
        entry=filled(0, 2 * PARTITIONS, QUEUE_ROOM, 6), scalars=np.zeros(8),
        tags=filled(-1, sets, ways), valid=filled(0, sets, ways), fill=filled(0, sets, ways, 4),
        used=filled(0, sets, ways),
    )  # fmt: skip


def new_outcome(instructions: int, blocks: int) -> Outcome:
    """Return an outcome without anything."""
    return Outcome(
        np.zeros((instructions, len(Stall)), dtype=np.int64), np.zeros(blocks, dtype=np.int64),
        np.zeros(blocks, dtype=np.int64), np.zeros(8, dtype=np.int64),
    )  # fmt: skip
