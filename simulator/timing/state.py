"""What the simulation of one SM holds: code and traces as arrays, and the state of warps.

The state is one record of fixed size, so that compiled loops reach all of it by one pointer.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CLUSTER_BARRIER",
    "CODE",
    "CODE_LINE",
    "CODE_LINES",
    "CONSTANT_LINES",
    "COUNTS",
    "GLOBALS",
    "GROUPS",
    "IDLE_LINES",
    "LANES",
    "MOST_ASKED",
    "MOST_BLOCKS",
    "MOST_COPIES",
    "MOST_JOINS",
    "MOST_WARPS",
    "NEVER",
    "OF_DOUBLES",
    "PRODUCTS",
    "QUEUE",
    "RECENT",
    "SLOTS",
    "STALLS",
    "STATE",
    "TOUCHED_BITS",
    "WAYS",
    "Kind",
    "Stall",
    "new_state",
]

NEVER = 1 << 60
"""A cycle that does not come."""

PARTITIONS = 4
MOST_WARPS = 64
"""Of an SM: no chip holds more."""
MOST_BLOCKS = 4096
"""Of a plan."""
_RESIDENT = 32
QUEUE = 64
LANES = 2
"""Accesses that the data pipe serves side by side, and loads whose lines are looked up so."""
MOST_ASKED = 256
"""Loads whose lines were looked up, and that wait for their data or for the data pipe, at most."""
MOST_GONE = 512
"""Sectors on their way of which it is known when they are there, at most."""
MOST_COPIES = 2048
"""Copies on their way, at most."""
CROWDED = 4096
"""Lines that are known to crowd, at most: of those so many apart, the last one."""
GROUPS = 16
PRODUCTS = 16
"""Of warpgroups, that a sub-partition takes before they begin, at most."""
CLUSTER_BARRIER = 16
"""Its number among a block's own."""
_BARRIERS = CLUSTER_BARRIER + 1
_PIPES = 16
PLACES = 6
CODE_LINE = 8
"""Instructions of a line of machine code: 128 bytes."""
CODE_LINES = 1 << 14
WAYS = 16
_SETS = 128
IDLE_LINES = 54
"""Of L1, that hold nothing, however large it is (gpu_check/data/h200_l1_lines.csv: 46 to 56)."""
MOST_JOINS = 64
"""Lines of stores with which later ones are joined, at most."""
TOUCHED_BITS = 14
"""So many bits number the lines of which it is known which sectors blocks touched."""
CONSTANT_CACHES, CONSTANT_LINES = 9, 64
"""Caches of constants: of each sub-partition two, of the SM one; lines of each that are kept or on
their way, at most."""
RECENT = 8
"""Instructions of a warp of which it is known when they were dispatched."""
SLOTS = 3
"""Places of operands, each with a register in the reuse cache for each of two banks."""
OF_DOUBLES = 2
"""Behind those of the banks: the place of a double in the reuse cache."""


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
    ATOMIC = 13
    """In global memory: the L2 does it."""
    PHASE = 14
    """SYNCS.PHASECHK: waits for a phase of an mbarrier."""
    AT_PHASE = 15
    """Arrives at a phase of an mbarrier."""
    TILE = 16
    """TMA copies a tile or bytes side by side."""
    PRODUCT = 17
    """Of a warpgroup: the tensor cores go on beside the warp."""
    PRODUCTS_WAIT = 18
    """WARPGROUP.DEPBAR: waits until so many groups of products are left."""
    FORGET = 19
    """CCTL.IVALL: L1 holds nothing any more."""


GLOBALS = tuple(
    int(kind)
    for kind in (Kind.LOAD, Kind.STORE, Kind.COPY, Kind.COPIES_END, Kind.ATOMIC, Kind.FORGET)
)
"""Kinds of what goes to global memory: a queue has room of their own for them."""


class Stall(IntEnum):
    """Why a warp does not issue an instruction: Nsight Compute's reasons."""

    SELECTED = 0
    WAIT = 1
    SHORT_SCOREBOARD = 2
    LONG_SCOREBOARD = 3
    BARRIER = 4
    """Of a block, or of a warpgroup's products (gpu_check/data/h100_group_waits.csv)."""
    MIO_THROTTLE = 5
    LG_THROTTLE = 6
    MATH_PIPE_THROTTLE = 7
    DISPATCH_STALL = 8
    NOT_SELECTED = 9
    BRANCH_RESOLVING = 10
    MEMBAR = 11
    NO_INSTRUCTION = 12
    IMC_MISS = 13
    """Constants that no cache of the SM holds yet."""
    DRAIN = 14
    """A warp that ends, until its stores are on their way."""


STALLS = tuple(stall.name.lower() for stall in Stall)
"""Names of the reasons, by number."""

CODE = np.dtype(
    [
        ("kind", np.int64), ("stall", np.int64), ("yields", np.int64),
        ("write", np.int64),  # the scoreboard that its result releases; -1: no scoreboard
        ("read", np.int64),  # the one that reading its operands releases
        ("waits", np.int64),
        ("meets", np.int64),  # whether lanes meet at it: 1; 2: those that left a loop
        ("converges", np.int64),  # whether it says where lanes will meet, or lets them
        ("gives_way", np.int64),  # whether its lanes let others of the warp go on: YIELD
        ("collects", np.int64),  # whether lanes wait for others elsewhere: WARPSYNC.COLLECTIVE
        ("pipe", np.int64), ("other", np.int64),  # pipes that can execute it; -1: there is none
        ("joint", np.int64),  # whether it takes both of them
        ("is_fma", np.int64),  # whether they are pipes for products and sums
        ("is_xu", np.int64),  # whether it is the pipe for conversions and functions
        ("is_double", np.int64),  # whether it is the pipe for doubles
        ("held", np.float64),  # cycles for which it holds one of them
        ("reads", np.float64),  # of a wgmma: wavefronts per cycle that its warpgroup reads
        ("accumulates", np.int64),  # whether its results have 32 bits
        ("latency", np.int64),
        ("local", np.int64),  # cycles for which it holds its sub-partition's way to memory
        ("data", np.int64),  # cycles of the data pipe beside its accesses
        ("source", np.int64, (SLOTS,)),  # registers of operands; -1: none is read
        ("wide", np.int64, (SLOTS,)),  # registers of an operand
        ("reuse", np.int64),
        ("puts", np.int64),  # words that a lane stores to shared memory
        ("sectors", np.int64),  # of local memory, where all lanes have one index
        ("port", np.int64),  # cycles beyond the first for which nothing else is dispatched
        ("twice", np.int64),  # whether two cycles later only another such one is dispatched
        ("brings", np.int64),  # whether it loads shared memory
        ("parts", np.int64),  # whether it passes in two parts: a product of 64 bits
        ("factor", np.int64),  # how many instructions before it one is made; 0: none of the last
        ("aside", np.int64),  # whether it takes the queue beside the LSU's
        ("constant", np.int64),  # whether it reads a constant bank
        ("table", np.int64),  # a variable's line there, and one; -1: at a uniform register
        ("bypasses", np.int64),  # whether it reads the L2, whatever L1 holds
        ("word", np.int64),  # bytes of the word that an atomic's lane changes; 0: not an atomic
        ("of_doubles", np.int64),  # whether a lane changes one word of 64 bits
        ("compares", np.int64),  # whether it sends two of them: compare and swap
        ("idle", np.int64),  # whether it is one of the loads that the compiler puts before copies
        ("adu", np.float64),  # cycles for which it holds the unit of constants and barriers
        ("number", np.int64),  # a barrier's, or how many groups may be left; 1: a group's end
        ("warps", np.int64),  # that a barrier waits for; 0: all of the block
        ("defers", np.int64),  # whether a warp goes on behind a barrier with what passes
        ("passes", np.int64),  # whether it does not wait for a barrier that defers
    ]
)  # fmt: skip
"""An instruction."""

COUNTS = (
    "cycles", "instructions", "data_cycles", "load_sectors", "l1_hits", "l2_sectors",
    "store_sectors", "dram_sectors", "sent_sectors", "l2_more",
)  # fmt: skip
"""What a simulation counts, in the order of `counts`.

The last: cycles more of the L2 for lines that it sends to this SM alone.
"""


def _numbers(*shape: int) -> tuple[Any, ...]:
    return np.int64, shape


STATE = np.dtype(
    [
        # By warp. Where it is in the traces, its number there (-1: there is no warp).
        ("trace", *_numbers(MOST_WARPS)), ("at_step", *_numbers(MOST_WARPS)),
        ("at", *_numbers(MOST_WARPS)), ("at_row", *_numbers(MOST_WARPS)),
        ("at_base", *_numbers(MOST_WARPS)),
        ("apart", *_numbers(MOST_WARPS)),  # lines by which its global memory is moved
        ("partition", *_numbers(MOST_WARPS)),  # the sub-partition that it runs on
        ("instruction", *_numbers(MOST_WARPS)),  # the one that is to be issued next
        ("issued", *_numbers(MOST_WARPS)),  # when it last issued one
        ("ready", *_numbers(MOST_WARPS)),  # when the stall count of the one before is over
        ("recent", *_numbers(MOST_WARPS, RECENT)),  # when the last instructions were dispatched
        ("issues", *_numbers(MOST_WARPS)),
        ("delayed", *_numbers(MOST_WARPS)),  # for how long its last one was dispatched
        ("resolving", *_numbers(MOST_WARPS)),  # for how long a branch that is taken adds to it
        ("fetched", *_numbers(MOST_WARPS)),  # when its machine code is there
        ("next", *_numbers(MOST_WARPS)),  # when it may issue; NEVER: it waits for something
        ("why", *_numbers(MOST_WARPS)),  # the stall between the two
        ("since", *_numbers(MOST_WARPS)),  # since when a throttle holds it; -1: none does
        ("throttle", *_numbers(MOST_WARPS)),
        ("pending", *_numbers(MOST_WARPS, 6)),  # by scoreboard: instructions in a queue
        ("time", *_numbers(MOST_WARPS, 6)),  # by scoreboard: when it is free
        ("source", *_numbers(MOST_WARPS, 6)),  # by scoreboard: the stall of waiting for it
        ("arrived_at", *_numbers(MOST_WARPS)),  # the barrier at which it waits; -1: at none
        ("defers", *_numbers(MOST_WARPS)),  # whether it goes on there with what passes
        ("opens", *_numbers(MOST_WARPS)),  # when its last barrier opens
        ("copies", *_numbers(MOST_WARPS)),  # when its copies until now are done
        ("groups", *_numbers(MOST_WARPS)),
        ("group_time", *_numbers(MOST_WARPS, GROUPS)),
        # By block that is resident: its place in the plan (-1: no block).
        ("block", *_numbers(_RESIDENT)), ("free_at", *_numbers(_RESIDENT)),
        ("alive", *_numbers(_RESIDENT)),
        ("arrived", *_numbers(_RESIDENT, _BARRIERS)), ("arrival", *_numbers(_RESIDENT, _BARRIERS)),
        # Whose turn it is among warps of a block and sub-partition: the least.
        ("turn", *_numbers(MOST_WARPS)),
        # By sub-partition: its warps by the places of their blocks, the one that it goes on with
        # (-1: none), until when that one pauses, until when none can issue, when its port is free,
        # and when one that was dispatched takes it again.
        ("order", *_numbers(PARTITIONS, MOST_WARPS)), ("count", *_numbers(PARTITIONS)),
        ("last", *_numbers(PARTITIONS)), ("pause", *_numbers(PARTITIONS)),
        ("sleep", *_numbers(PARTITIONS)),
        ("port", *_numbers(PARTITIONS)), ("second", *_numbers(PARTITIONS)),
        ("pipe", np.float64, (PARTITIONS, _PIPES)),
        # Until when products add to registers of 32 bits, and parts of cycles that others wait for
        # those; until when products read shared memory, and so many wavefronts per cycle.
        ("accumulated", *_numbers(PARTITIONS)), ("accumulated_rest", np.float64, (PARTITIONS,)),
        # How many products of warpgroups it has taken, their pipe, when one of 64 bits last waited
        # for a gap beside them, and when the last ones begin.
        ("multiplied", *_numbers(PARTITIONS)), ("multiplies", *_numbers(PARTITIONS)),
        ("gap", *_numbers(PARTITIONS)),
        ("begins", np.float64, (PARTITIONS, PRODUCTS)),
        ("operands", np.float64), ("operand_rate", np.float64),
        ("last_pipe", *_numbers(PARTITIONS)),  # for products and sums: the one that was used last
        ("held_up", *_numbers(PARTITIONS)),  # for how long its last instruction holds the port
        # Cycles in which a bank of registers reads, as bits from `reading_at` on; doubles that it
        # has still to read in others; until when matrices are read.
        ("reading", *_numbers(PARTITIONS, 2)), ("reading_at", *_numbers(PARTITIONS)),
        ("behind", *_numbers(PARTITIONS, 2)), ("matrix", *_numbers(PARTITIONS)),
        ("kept", *_numbers(PARTITIONS, SLOTS, OF_DOUBLES + 1)),  # the reuse cache: warp, register
        # Queues: the MIO queue of each sub-partition, then the one beside it. An entry: warp,
        # instruction, first row, rows, first base, event beside the warp, its number of
        # all, that below which others are done before it, its block's place in the plan, and its
        # number of all that came to the pool.
        ("head", *_numbers(8)), ("size", *_numbers(8)), ("queue_free", *_numbers(8)),
        # How many of a queue were passed on; at how many of them the data pipe looked; how many
        # wait. Of the pool: the words that those in it store per lane, and how many came to it; the
        # sub-partition that passed the last one on.
        ("passed", *_numbers(PARTITIONS)), ("looked", *_numbers(PARTITIONS)),
        ("waiting", *_numbers(PARTITIONS)),
        ("pool_words", np.int64), ("pooled", np.int64), ("last_passed", np.int64),
        # When the next copy of 16 bytes per lane may ask for its lines. Lines that all SMs ask for
        # at the same time: until when the L2 gives each to others, and when such lines first come.
        ("copy_free", np.float64),
        # What copies have asked for and is on its way: how much of all, and the copies, those first
        # that are there first: when, and how much each asked for; how many were there, and sent.
        ("copies_ask", np.int64), ("copy", *_numbers(MOST_COPIES, 2)),
        ("copies_came", np.int64), ("copies_went", np.int64),
        ("crowd_line", *_numbers(CROWDED)), ("crowd_free", np.float64, (CROWDED,)),
        ("crowd_until", np.float64),
        ("entry", *_numbers(8, QUEUE, 10)), ("entered", np.int64),
        ("fence", np.int64),  # what is older is done before what comes now
        # Of what a queue passed on, how many loads wait for lookups. Where they are: until when,
        # number of all; by warp until when.
        ("admitted", *_numbers(PARTITIONS)),
        ("tag_lane", *_numbers(LANES, 2)), ("tagged", *_numbers(MOST_WARPS)),
        # Loads whose lines were looked up: those whose data are on their way, and those that wait
        # for the data pipe, the first one first. Each: number of all, warp, instruction, cycles of
        # the pipe, when its data are there, whether L1 did not have all, its block's place in the
        # plan: a warp may end before; lines that L1 sets aside for it; its number of all that came
        # to the pool, or behind which it comes (-1: its data are not there). When the next one's
        # are there. How many lines are set aside; whether a load waits for some.
        ("asking", *_numbers(MOST_ASKED, 9)), ("are_asking", np.int64), ("arrives", np.int64),
        ("there", *_numbers(MOST_ASKED, 9)), ("are_there", np.int64),
        ("lines_asked", np.int64), ("is_full", np.int64),
        # Beside warps: the next event of each, the phase that it waits for (-1: none) and the
        # instruction that does, groups of products and when they end, the last product's end.
        ("at_event", *_numbers(MOST_WARPS)), ("phase", *_numbers(MOST_WARPS)),
        ("asks", *_numbers(MOST_WARPS)),
        ("products", *_numbers(MOST_WARPS)), ("product_time", *_numbers(MOST_WARPS, GROUPS)),
        ("product_end", *_numbers(MOST_WARPS)), ("tma_free", np.float64),
        # Of the SM.
        ("warps_of_block", np.int64), ("launched", np.int64),
        # The accesses that the data pipe serves side by side: until when, kind, number of all.
        ("lane", *_numbers(LANES, 3)),
        ("begins_at", np.int64),  # the sub-partition of the next block's first warp
        ("constants", np.int64),  # when they are there; -1: none was read
        ("barrier_free", np.float64), ("dram_rest", np.float64), ("adu_free", np.float64),
        ("cross_rest", np.float64), ("data_rest", np.float64), ("was_shared", np.int64),
        ("local_rest", np.float64),
        # Until when a warp waits for its fence; how many of its stores are in a queue, and of all
        # that it asks of global memory; when the SM takes the next fence; until when a
        # sub-partition's last one lasts.
        ("fenced", *_numbers(MOST_WARPS)), ("stores", *_numbers(MOST_WARPS)),
        ("asked", *_numbers(MOST_WARPS)),
        ("served", *_numbers(MOST_WARPS)),  # until when shared memory serves its last access
        ("drained", *_numbers(MOST_WARPS)),  # when its last store left the queue
        ("fence_free", np.float64), ("fence_last", *_numbers(PARTITIONS)),
        ("port_rest", np.float64, (PARTITIONS,)),  # parts of cycles that loads take of it
        ("converging", *_numbers(PARTITIONS)),  # until when the last BSSY or BSYNC is at work
        ("stored", np.float64),  # when the last store is there
        # Sectors of stores and atomics that went: when each is there, the last ones in that order;
        # how many.
        ("gone_at", np.float64, (MOST_GONE,)), ("gone", np.int64),
        # Lines of the last stores, with which later ones are joined: their sectors, and the bytes
        # of each that are stored. And of many lines the block that touched it, the sectors that it
        # stored and those that DRAM brought it, and what had been moved when it last did.
        ("joining", *_numbers(MOST_JOINS, 3)), ("joins", np.int64),
        ("touched", *_numbers(1 << TOUCHED_BITS, 5)), ("moved", np.float64),
        ("asker", np.int64),  # the block that asks, by its place in the plan
        ("loaded", np.int64),  # when the last load that was sent is there
        # Of each place (the L2, the way of stores there, DRAM, atomics, stores that meet, and what
        # leaves the SM if none of it waits for what comes back): until when it is busy with what
        # the SM asked for, all SMs asking, and the SM alone; by how much SMs are apart, and how far
        # this one may be ahead of its share; and how much it has done, in cycles.
        *((name, np.float64, (PLACES,)) for name in ("free", "quick", "spread", "ahead", "took")),
        # What each was asked for lately, in cycles, and when.
        ("load", np.float64, (PLACES,)), ("load_at", np.float64, (PLACES,)),
        # Machine code: by cache (of each sub-partition, of the SM), how many lines were fetched,
        # and by line the number of its fetch; when a sub-partition's last one was there, and which.
        ("fetches", *_numbers(PARTITIONS + 1)), ("fetch", *_numbers(PARTITIONS + 1, CODE_LINES)),
        ("fetch_free", np.float64, (PARTITIONS + 1,)), ("fetch_line", *_numbers(PARTITIONS + 1)),
        ("fetch_at", np.float64, (CODE_LINES,)),  # when the SM had a line
        # Tables of constants: by cache and place the line, when it is there, which of the asks used
        # it last, the block that asked, whether its other half is still to come. By cache the
        # place that was used last, and when all that was asked for is there. Asks until now, until
        # when the cache behind sends, when it had four lines; by warp the line fetched for it.
        *((f"table_{name}", *_numbers(CONSTANT_CACHES, CONSTANT_LINES))
          for name in ("line", "at", "used", "block", "rest")),
        ("table_last", *_numbers(CONSTANT_CACHES)), ("table_until", *_numbers(CONSTANT_CACHES)),
        ("table_asks", np.int64), ("table_free", np.float64), ("table_first", *_numbers(256)),
        ("table_given", *_numbers(MOST_WARPS)),
        ("sets", np.int64), ("tags", *_numbers(_SETS, WAYS)), ("valid", *_numbers(_SETS, WAYS)),
        ("fill", *_numbers(_SETS, WAYS, 4)), ("used", *_numbers(_SETS, WAYS)),
        # Outcome.
        ("counts", *_numbers(len(COUNTS))), ("begin", *_numbers(MOST_BLOCKS)),
        ("end", *_numbers(MOST_BLOCKS)),
        # When every slot had its first block, and when the last block began: cycle, instructions.
        ("full", *_numbers(2)), ("last_begun", *_numbers(2)),
        # Places in the array of traces.
        *((name, np.int64) for name in ("steps", "accesses", "lines", "warps", "did", "bases",
                                      "events", "needs", "phases", "most_phases")),
    ]
)  # fmt: skip
"""One SM."""


def new_state(l1_bytes: int) -> NDArray[Any]:
    """Return an SM without blocks: an array of one record."""
    state = np.zeros(1, dtype=STATE)
    for name in (
        "trace", "since", "arrived_at", "block", "last", "kept", "tags", "constants", "joining",
        "touched", "table_line", "table_first", "table_given",
    ):  # fmt: skip
        state[name] = -1
    for name in ("fetch", "fetch_line"):
        state[name] = -NEVER
    state["next"] = state["arrives"] = state["crowd_until"] = NEVER
    state["sets"] = min(_SETS, max(1, l1_bytes // (128 * WAYS)))
    return state
