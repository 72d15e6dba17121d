"""The numbers of a chip that the estimate needs beside its rates, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from simulator.law.chips import Chip
from simulator.timing.rates import table

__all__ = ["CARVEOUTS", "NUMBERS", "at_clock", "l1_bytes", "machine_of"]

NUMBERS = (
    "mio_room", "lg_room", "l1_latency", "l2_latency", "dram_latency", "l2_rate", "dram_rate",
    "dram_share", "store_rate", "barrier_interval", "barrier_latency", "launch_interval",
    "launch_latency", "read_latency", "branch", "fence", "l2_wait",
    "dram_wait", "atom_packet", "atom_latency", "constants", "code_held", "code_near", "code_rate",
    "code_far_rate", "request", "atom_hot", "phase_latency", "tma_latency", "tma_rate",
    "tma_row", "tma_l2_rate", "tma_request", "cluster_latency", "store_request",
    "local_missed", "launch_warp", "warp_begins", "fence_gpu", "fence_sys", "fence_interval",
    "fence_more", "store_asked", "store_read", "l2_own", "neighbour_async", "dram_stored",
    "shared_warp", "shared_ahead", "shared_drained",
    "pool_room", "pool_words", "copy_line", "copy_again", "outstanding", "crowd_sector", "hot_rate",
    "constant_word", "crossed", "dram_holds", "l2_spread", "dram_spread",
    "dram_tail", "dram_uneven",
    "store_line", "data_turn", "data_missed", "load_memory", "load_most",
    "aside_room", "far_latency", "store_joins", "data_copied", "data_idle",
    "constant_near", "constant_held", "constant_uniform_held", "constant_ask", "constant_rest",
    "constant_stays", "local_far", "local_stored", "dram_wait_written",
    "dram_wait_load", "dram_fetched", "kept_from", "kept_to", "kept_sector",
    "atom_asked", "atom_more", "atom_given", "atom_power",
    "backlog", "meets", "meets_others", "converges", "gives_way", "gives_way_held", "collects",
    "local_latency", "local_cycle", "local_last",
    "second_part", "fresh_factor", "load_port", "copy_way", "dram_atom", "store_hot",
    "l2_burst", "store_alone", "dram_stored_taken", "dram_atom_taken", "beside_product",
    "product_room", "gap_wait", "gap", "gap_taken", "course",
)  # fmt: skip
"""Names of the machine's numbers, in order: cycles, bytes per cycle, shares."""
CARVEOUTS = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""KiB of shared memory that an SM of compute capability 9.0 can set aside (CUDA C++ Programming
Guide, Compute Capability 9.x); what is left of 256 KiB is L1."""

_ROOMY, _WITHOUT = 132, 32
"""KiB that the driver sets aside at most where blocks need less, and where they need none."""
_MOST_BLOCKS, _MOST_WARPS = 32, 32
"""Of an SM, and of a block."""


@cache
def machine_of(chip: Chip) -> Mapping[str, float] | None:
    """Return the numbers by name; None: they were not measured for this chip."""
    rows = table("machine")
    if chip.name not in rows[0] or chip.name in ("fact", "outside", "source"):
        return None
    return MappingProxyType({row["fact"]: float(row[chip.name]) for row in rows})


def at_clock(machine: Mapping[str, float], share: float) -> Mapping[str, float]:
    """Return the numbers at a clock of the SM that is a share of the one they were measured at.

    The L2 and DRAM keep their clocks (gpu_check/data/h200_frequencies.csv). So a slower SM waits
    fewer of its cycles for them, and gets more bytes in each. The column `outside` of the table
    says which part of a time passes there, or that a number is a rate of what is there.
    """
    if share == 1:
        return machine
    found = dict(machine)
    for row in table("machine"):
        fact, outside = row["fact"], row["outside"]
        if outside == "rate":
            found[fact] /= share
        elif outside:
            found[fact] *= 1 - float(outside) * (1 - share)
    return MappingProxyType(found)


def l1_bytes(shared_bytes: int, resident: int, warps: int) -> int:
    """Return the bytes of L1 beside the shared memory of the blocks that are resident.

    The driver sets aside the least that holds them, each with 1 KiB of its own. It has room for
    twice as many, up to 132 KiB; not of one block, nor of blocks of 32 warps. Of blocks without
    shared memory it sets aside 32 KiB (gpu_check/data/h100_l1_room.csv).

    >>> l1_bytes(8192, 2, 8), l1_bytes(8192, 2, 32), l1_bytes(100_000, 2, 8), l1_bytes(0, 8, 8)
    (196608, 229376, 28672, 229376)
    """
    if not shared_bytes:
        return (256 - _WITHOUT) * 1024
    each = shared_bytes + 1024
    more = min(2 * resident, _MOST_BLOCKS) if resident > 1 and warps < _MOST_WARPS else resident
    needed = max(each * resident, min(each * more, _ROOMY * 1024))
    kept = next((size for size in CARVEOUTS if size * 1024 >= needed), CARVEOUTS[-1])
    return (256 - kept) * 1024
