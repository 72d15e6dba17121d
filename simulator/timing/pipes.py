"""A lower bound of a kernel's time: the pipe that has most work, at its published peak.

No pipe of an SM can do more per cycle than its peak. So an SM takes at least as many cycles as its
busiest pipe needs for what the SM executes, whatever else it waits for. The largest of these bounds
is the kernel's, and its pipe the limiter. The same with every access of shared memory at its floor
(no bank conflicts; one wavefront at least per phase that has an active lane) bounds what removing
the conflicts can gain.

Assumed is that sampled blocks stand for the grid: the one that has least of a pipe's work stands
for every block that did not run. The cost of the launch itself is not part of a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simulator.law.chips import Chip, ChipLike
from simulator.timing.footprint import own_bytes
from simulator.timing.gains import NOT_WORTH, is_felt
from simulator.timing.products import operand_wavefronts
from simulator.timing.rates import SUB_PARTITIONS, Rates, rates_of, table

if TYPE_CHECKING:
    from simulator.timing.traces import BlockTrace
    from simulator.timing.work import Work

__all__ = ["Demand", "TimeBound", "bound_of", "bound_of_demands", "far_cycles"]

NAMES = {
    "issue": "issue slots", "alu": "ALU", "fma": "FMA", "fmaheavy": "FMA heavy", "fp16": "FP16",
    "fp64": "FP64", "xu": "XU", "tensor": "tensor cores", "uniform": "uniform datapath",
    "cbu": "branches", "lsu": "LSU issue", "adu": "ADU", "tma": "TMA",
    "shared": "L1 and shared memory's data pipe", "to_sm": "L2 to SM", "from_sm": "SM to L2",
    "l2": "L2", "dram": "DRAM",
}  # fmt: skip
"""Pipes in words."""

_WAVEFRONT = 128


@dataclass(frozen=True)
class Demand:
    """What one block asks of the SM: cycles by pipe, of the sub-partitions together."""

    cycles: Mapping[str, float]
    floor: Mapping[str, float]
    """The same with every access of shared memory at its floor."""


@dataclass(frozen=True)
class TimeBound:
    """A lower bound of a kernel's time on a chip.

    `speedup` and `most` say what removing bank conflicts can gain.
    """

    chip: str
    pipes: Mapping[str, float]
    """Least cycles by pipe: of the SM that has most to do, or of the chip for l2 and dram.

    Nothing on a chip whose pipes are not known.
    """
    floors: Mapping[str, float]
    """The same without bank conflicts."""
    clock_mhz: float | None
    """The SM's clock, at which DRAM's time is given in cycles."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know."""

    @cached_property
    def limiter(self) -> str:
        """The pipe that needs most cycles; "" on a chip whose pipes are not known."""
        return max(self.pipes, key=lambda name: self.pipes[name], default="")

    @property
    def cycles(self) -> float:
        """Least cycles of the kernel, without its launch; 0 on a chip whose pipes are not known."""
        return self.pipes.get(self.limiter, 0.0)

    @property
    def seconds(self) -> float | None:
        """The same as time, at the clock; None: the chip's clock is not known."""
        return None if self.clock_mhz is None else self.cycles / self.clock_mhz / 1e6

    @property
    def without_conflicts(self) -> TimeBound:
        """The bound with every access of shared memory at its floor."""
        return TimeBound(self.chip, self.floors, self.floors, self.clock_mhz, self.notes)

    @property
    def saved(self) -> float:
        """Cycles that bank conflicts hold the pipe of shared memory, of one SM."""
        return self.pipes.get("shared", 0.0) - self.floors.get("shared", 0.0)

    @property
    def speedup(self) -> float:
        """How much faster the kernel gets without bank conflicts if it runs at its bounds."""
        lower = self.without_conflicts.cycles
        return self.cycles / lower if lower else 1.0

    @property
    def most(self) -> float:
        """How much faster it can get at most, whatever it waits for.

        Every cycle that conflicts hold the pipe is saved then, and what remains is the bound.
        """
        lower = self.without_conflicts.cycles
        return (lower + self.saved) / lower if lower else 1.0

    def verdict(self) -> str:
        """Say what removing bank conflicts can gain.

        >>> cycles, floor = {"shared": 300.0, "fma": 200.0}, {"shared": 100.0, "fma": 200.0}
        >>> print(TimeBound("H100", cycles, floor, 1980.0).verdict())
        Without bank conflicts at most 2.00 times as fast; 1.50 times if it takes its least \
cycles, then set by FMA.
        """
        if not self.pipes:
            return f"The pipes of {self.chip} are not known."
        if self.saved <= 0:
            return "No gain: there are no bank conflicts to remove."
        most = f"Without bank conflicts at most {self.most:.2f} times as fast"
        if not is_felt(self.most):
            return f"{most}: {NOT_WORTH}."
        least = "if it takes its least cycles"
        if not is_felt(self.speedup):
            return f"{most}; no gain {least}, set by {NAMES[self.limiter]}."
        after = NAMES[self.without_conflicts.limiter]
        return f"{most}; {self.speedup:.2f} times {least}, then set by {after}."

    def __str__(self) -> str:
        if not self.pipes:
            return "\n".join([self.verdict(), *self.notes])
        lines = [f"at least {self.cycles:,.0f} cycles on {self.chip}: {NAMES[self.limiter]}"]
        lines += [
            f"  {NAMES[name]:34}{self.pipes[name]:>16,.0f}"
            for name in sorted(self.pipes, key=lambda each: -self.pipes[each])
            if self.pipes[name] >= 0.005 * self.cycles
        ]
        return "\n".join([*lines, self.verdict(), *self.notes])


def bound_of(work: Work, chip: ChipLike, clock_mhz: float | None = None) -> TimeBound:
    """Return the lower bound of a launch's time.

    `clock_mhz`: of the SM; None: the chip's boost clock.

    Raises ChipError for a chip whose pipes are not known.
    """
    rates = rates_of(chip)
    demands = [_demand(work, trace, rates) for trace in work.traces]
    notes = []
    executed = [trace.instructions for trace in work.traces]
    if len(set(executed)) > 1 and len(work.traces) < work.blocks:
        notes.append(
            "blocks differ: for the lower bound, each that did not run is taken to give every pipe"
            " as little work as any that ran"
        )
    pipes, floors = bound_of_demands(demands, work.blocks, work.warps, rates)
    far, more = _memory_cycles(work, rates.chip, clock_mhz)
    return TimeBound(
        rates.chip.name, pipes | far, floors | far, clock_mhz or rates.chip.clock_mhz,
        (*notes, *more),
    )  # fmt: skip


def bound_of_demands(
    demands: list[Demand], blocks: int, warps: int, rates: Rates
) -> tuple[dict[str, float], dict[str, float]]:
    """Return least cycles by pipe of the SM that has most to do, and those without conflicts.

    `demands`: of the blocks that were sampled; `blocks`: of the grid; `warps`: of a block.
    """
    on_one = -(-blocks // (rates.chip.multiprocessors or 1))
    units = min(SUB_PARTITIONS, on_one * warps)
    found: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for result, of_kind in zip(found, ("cycles", "floor"), strict=True):
        tables = [getattr(demand, of_kind) for demand in demands]
        for pipe in dict.fromkeys(name for each in tables for name in each):
            values = [each.get(pipe, 0.0) for each in tables]
            parts = 1 if pipe not in rates.pipes or rates.pipes[pipe].is_shared else units
            parts = units if pipe == "fma" else parts
            result[pipe] = max(min(values) * on_one, max(values)) / parts
    return found


def _demand(work: Work, trace: BlockTrace, rates: Rates) -> Demand:
    """Return what one block asks of its SM."""
    count = len(work.instructions)
    executed = trace.executed(count)
    cycles: dict[str, float] = {"issue": float(executed.sum())}

    def add(pipe: str, more: float) -> None:
        cycles[pipe] = cycles.get(pipe, 0.0) + more

    operands = 0.0
    for times, instruction in zip(executed.tolist(), work.instructions, strict=True):
        # Where a guard is false for all lanes, the instruction may not reach its pipe.
        if not times or instruction.guard or instruction.opcode == "NOP":
            continue
        rate = rates[instruction.opcode]
        held = rate.held
        if held is not None and rate.pipes:
            if len(rate.pipes) > 1:
                add("fma", times * held / len(rate.pipes))
            else:
                add(rate.pipes[0], times * held)
                if rate.pipes == ("fmaheavy",) and "fmalite" in rates.pipes:
                    add("fma", times * held / 2)
        operands += times * operand_wavefronts(instruction)
    shared = float(trace.summed("cycles", count, is_shared=True).sum())
    floor = float(trace.summed("floor", count, is_shared=True).sum())
    rest = operands + _load_wavefronts(work, trace, rates)
    return Demand(cycles | {"shared": shared + rest}, cycles | {"shared": floor + rest})


def _load_wavefronts(work: Work, trace: BlockTrace, rates: Rates) -> float:
    """Return the wavefronts that a block's loads of global memory take at least.

    How L1's banks meet was measured on one chip; elsewhere only the bytes count.
    """
    rows = trace.rows
    loads = [number for number, each in enumerate(work.instructions) if each.name in ("LDG", "LD")]
    held = rows.floor if rates.is_measured else -(-rows.bytes // _WAVEFRONT)
    chosen = ~rows.is_shared & np.isin(rows.number, loads)
    return float((held * trace.accesses())[chosen].sum())


def _memory_cycles(
    work: Work, chip: Chip, clock_mhz: float | None
) -> tuple[dict[str, float], list[str]]:
    """Return least cycles of the L2, of the ways to it and of DRAM, and notes."""
    found = work.footprint
    own = [own_bytes(trace, work.stores) for trace in work.traces]
    sms = chip.multiprocessors or 1
    # No SM has a block's data before the kernel begins. What a grid wrote it may find in a cache.
    read = max(found.first_read, min(work.blocks, sms) * min(first for first, _ in own))
    written = max(found.written / sms, *(each for _, each in own), 0)
    cycles: dict[str, float] = {}
    for name, amount in (
        ("to_sm", max(read / sms, *(first for first, _ in own), 0)),
        ("from_sm", written),
        ("l2", read + found.written),
    ):
        rate = memory_rate(f"{name}_bytes", chip)
        if rate is not None:
            cycles[name] = amount / rate
    if (
        "l2" in cycles and clock_mhz and chip.clock_mhz
    ):  # it keeps its clock where the SM's is lower
        cycles["l2"] *= min(clock_mhz / chip.clock_mhz, 1.0)
    cycles |= far_cycles(found.first_read, found.written, chip, clock_mhz)
    notes = []
    if not found.covers_grid and len(work.traces) < work.blocks:
        notes.append(
            "for L2 and DRAM the lower bound counts the global memory of the blocks that ran alone:"
            " which sectors the others touch does not follow from it"
        )
    return cycles, notes


def far_cycles(
    read: float, written: float, chip: Chip, clock_mhz: float | None
) -> dict[str, float]:
    """Return least cycles of DRAM for bytes that are read and written, each counted once.

    Of what is read, the L2 holds no more than its size when the kernel begins; of what is written,
    no more when it ends.
    """
    clock = clock_mhz or chip.clock_mhz
    if not (chip.l2_bytes and chip.dram_gb_per_s and clock):
        return {}
    far = max(0.0, read - chip.l2_bytes) + max(0.0, written - chip.l2_bytes)
    return {"dram": far / (chip.dram_gb_per_s * 1e9) * clock * 1e6}


def memory_rate(fact: str, chip: Chip) -> float | None:
    """Return a fact of `memory.csv` for a chip; None: not published."""
    row = next(row for row in table("memory") if row["fact"] == fact)
    cell = row.get(str(chip.capability), "")
    return float(cell) if cell else None
