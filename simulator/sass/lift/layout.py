"""Where the state of a running block lies in memory: shared by compiled code and NumPy.

The *context* is one block of threads': 64-bit integers, pointers among them, by name. A *warp* has
its own piece of memory: a head, then its registers, a row of 32 words for each.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "ALIVE",
    "BARRIERS",
    "CONSTANT",
    "CONSTANT_SHIFT",
    "CONTEXT",
    "DEFERRALS",
    "FAULTED",
    "LINE_MASK",
    "LINE_SHIFT",
    "LOCAL_LINES",
    "LOCAL_WHOLE",
    "MARK",
    "MAY_PASS",
    "NEXT_LANE",
    "NUMBER",
    "PREDICATES",
    "REGISTERS",
    "RETURN_PLACE",
    "ROW",
    "SCRATCH",
    "SLOT_BITS",
    "SPECIAL",
    "STAY",
    "SUBWARPS",
    "TABLE_LINES",
    "TABLE_NUMBER",
    "TABLE_SHIFT",
    "UNIFORM",
    "UNIFORM_PREDICATES",
    "VALUE",
    "WAITED",
    "ZERO",
    "Fault",
    "State",
    "Status",
]  # fmt: skip

_NAMES = (
    # What it is doing, and how it ended.
    "status", "why", "pc", "thread", "address", "budget", "threads",
    # Scheduling.
    "warps", "warp_count", "warp_bytes", "turn", "steps", "resume", "running", "lanes", "group",
    "joined", "extra", "needed",
    "votes_yes", "votes_no", "result_yes", "result_no",
    # The program.
    "length", "whole", "masked", "lengths", "sites", "counts",
    # Memory. `arena` is 2 GiB past the first byte of global memory, so that 32 bits reach all.
    "shared", "shared_start", "shared_bytes", "arena", "arena_start", "starts", "ends", "ranges",
    "range", "local", "local_bytes", "banks", "bank_at", "generic_shared",
    # Where each byte of shared memory lies instead, or 0: see simulator.sass.run.moves.
    "moves",
    # The trace.
    "trace", "heads", "weights", "slots", "traced", "trace_rows", "sources", "places",
    # What each warp does, in order: only where `noting` is set.
    "noting", "events", "event_count", "event_room",
    # The block, and its place in the cluster.
    "block_x", "block_y", "block_z", "rank", "blocks", "blocks_shared",
    # The function that serves what is not compiled.
    "serve",
    # What watches shared memory for the asynchronous proxy, where `watch` is set.
    "watch", "written", "landing", "reading", "fenced", "suspect",
    "read_until", "barriers_opened", "marked", "moment", "opened_at",  # side by side
)  # fmt: skip

CONTEXT = {name: 8 * place for place, name in enumerate(_NAMES)}
"""Offset of each field of the context, in bytes."""

ROW = 128
"""Bytes of a register: 32 lanes' words."""

SLOT_BITS = 14
"""The trace finds a pattern again among so many slots."""

# Offsets in a warp's memory. Its first 8 bytes point to the context.
NUMBER = 8
ALIVE = 16
"""Lanes that have not exited."""
WAITED, NEXT_LANE, MAY_PASS, DEFERRALS = 24, 28, 32, 36
"""In kernels that execute YIELD: the lanes that have waited since before the last turn, which lane
may have the next one, whether lanes may pass a barrier without, and how often lanes were deferred.
See simulator.sass.lift.yielding."""
PREDICATES = 64
UNIFORM_PREDICATES = 96
SUBWARPS = 128
"""Four rows: program counter, mask, state and argument of the subwarp filed under each lane."""
UNIFORM = SUBWARPS + 4 * ROW
"""64 words: the uniform registers."""
ZERO = UNIFORM + 2 * ROW
"""Four rows of zeros, for RZ."""
SCRATCH = ZERO + 4 * ROW
SPECIAL = SCRATCH + 4 * ROW
"""Four rows: SR_TID.X, .Y, .Z, and SR_TID, which packs them."""
BARRIERS = SPECIAL + 4 * ROW
"""16 rows: the convergence barriers."""
RETURN_PLACE = BARRIERS + 16 * ROW
"""Two rows: the halves of Rpc, in which compiled code also keeps other words."""
REGISTERS = RETURN_PLACE + 2 * ROW


# What is noted of an access: its row of the trace, and above it the line of its first byte; and
# behind a store, with VALUE, what all of its lanes store. MARK begins a straight run. With CONSTANT
# and VALUE: how many words lanes read of a constant bank, or sectors they access of local memory,
# and above it which instruction does; of a search for lanes of one value, how many values they
# have; of a barrier 0 where it is turned off, and where registers say which it is and how many
# warps it is for, its number, 16 times the warps, and one. Of a table of constants that is larger
# than a cache, above the instruction: the first line of 64 bytes that is read, and one, and how
# many lines are. Of local memory above the sectors how many lines lanes access, and whether they
# fill the sectors; above the instruction the lowest word, and one, and 4,096 times the highest,
# and one.
LINE_SHIFT, LINE_MASK = 32, (1 << 25) - 1
CONSTANT, VALUE, MARK = 60, 61, 62
CONSTANT_SHIFT = 16
LOCAL_LINES, LOCAL_WHOLE = 6, 12
"""In the bits below, of local memory: where the lines stand, and whether sectors are filled."""
TABLE_NUMBER = (1 << 20) - 1
"""An instruction's number there."""
TABLE_SHIFT, TABLE_LINES = 36, 48
"""Where the first line stands, and how many there are."""


class State(IntEnum):
    """What a subwarp is doing; 0: there is none."""

    READY = 1
    AT_BSYNC = 2
    AT_WARPSYNC = 3
    AT_BARRIER = 4
    SERVED = 5
    """Until what serves its instruction lets it go on: an mbarrier, a warpgroup, a cluster."""
    # In kernels that execute YIELD; see simulator.sass.lift.yielding.
    DEFERRED = 6
    """Until the lanes that it parted from do not go on; its argument: when it was deferred."""
    YIELDED = 7
    """Until it has a turn: when no others of its warp can go on."""


class Status(IntEnum):
    """Why compiled code came back."""

    DONE = 0
    FLUSH = 1
    """The trace is full."""
    PAUSE = 2
    """The budget is used up."""
    FAULT = 3
    COMPILE = 4
    """The block of instructions at `pc` is not compiled yet; `why`: 1 for its masked version."""


class Fault(IntEnum):
    """What went wrong."""

    NONE = 0
    UNKNOWN = 1
    BOUNDS = 2
    ALIGN = 3
    DEADLOCK = 4
    BRANCH = 5
    LANES = 6
    KILL = 7
    CONSTANT = 8
    SERVED = 9
    """What serves instructions raised an error."""


STAY, FAULTED = -1, -2
"""What a block of instructions returns beside the next instruction's number: its subwarp was
filed elsewhere, or there was a fault."""
