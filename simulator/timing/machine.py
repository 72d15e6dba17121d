"""The numbers of a chip that the estimate needs beside its rates, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from simulator.law.chips import Chip
from simulator.timing.rates import table

__all__ = ["CARVEOUTS", "at_clock", "l1_bytes", "machine_of", "source_of"]

CARVEOUTS = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""KiB of shared memory that an SM of compute capability 9.0 can set aside (CUDA C++ Programming
Guide, Compute Capability 9.x); what is left of 256 KiB is L1."""


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


def source_of(fact: str) -> str:
    """Return where a number comes from."""
    return next(row["source"] for row in table("machine") if row["fact"] == fact)


def l1_bytes(shared_bytes: int, resident: int) -> int:
    """Return the bytes of L1 beside the shared memory of the blocks that are resident.

    The driver is taken to set aside the least that holds them, with 1 KiB of its own for each.

    >>> l1_bytes(8192, 2), l1_bytes(100_000, 2)
    (229376, 28672)
    """
    needed = (shared_bytes + 1024) * resident
    kept = next((size for size in CARVEOUTS if size * 1024 >= needed), CARVEOUTS[-1])
    return (256 - kept) * 1024
