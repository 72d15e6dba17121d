"""From the work of a launch to its time: bound, estimate, and both without conflicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import ceil, prod
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from layouts.errors import short
from simulator.errors import ChipError, OptionError
from simulator.law.chips import CHIPS, Chip, ChipLike
from simulator.results.tables import Columns
from simulator.timing.asked_again import asked_again, asked_once
from simulator.timing.estimate import Estimate, estimate
from simulator.timing.gains import gain_text, is_faster
from simulator.timing.kernel_time import KernelTime
from simulator.timing.machine import at_clock, machine_of
from simulator.timing.pipes import TimeBound, bound_of
from simulator.timing.rates import MATRIX_PRODUCTS, table
from simulator.timing.shares import held_of
from simulator.timing.spinning import spins
from simulator.timing.state import STALLS
from simulator.timing.traces import BlockTrace
from simulator.timing.work import Work, WorkInstruction

__all__ = ["time_of"]

_SLOWING = tuple(name for name in MATRIX_PRODUCTS if name != "DMMA")
"""Instructions that lower the SM's clock; DMMA does not (gpu_check/data/h200_frequencies.csv)."""
_OFTEN = 1.1
"""Times that copies ask for a line: from there on it is seen what asking once would gain."""
_HANGS = 1.1
"""Beside the course that takes least, what the longest one takes: from there on it is said."""
_INDEXED_CONSTANT = re.compile(r"c\[0x[1-9a-f][0-9a-f]*\]\[UR").search
"""A bank of constants beside the parameters', at a uniform register."""


def time_of(work: Work, chip: ChipLike, clock_mhz: float | None = None) -> KernelTime:
    """Return the time of a launch.

    `clock_mhz`: of the SM; None: the chip's boost clock, or what matrix products leave of it. The
    L2 and DRAM are taken to keep theirs.

    Raises ChipError for a chip that is not known, OptionError for a clock that is not above 0.
    """
    chosen = Chip.of(chip)
    is_number, is_bool = isinstance(clock_mhz, Real), isinstance(clock_mhz, bool)
    if clock_mhz is not None and not (is_number and not is_bool and 0 < clock_mhz < float("inf")):
        raise OptionError(f"clock_mhz = {short(clock_mhz)} (accepted: MHz of the SM, above 0)")
    machine = machine_of(chosen)
    clock_mhz = clock_mhz or _clock(work, chosen, machine)
    if not chosen.runs(work.capability):
        why = _not_run(work.capability, chosen)
        return _unknown(work, chosen, TimeBound(chosen.name, {}, {}, clock_mhz), why)
    try:
        bound = bound_of(work, chosen, clock_mhz)
    except ChipError as error:
        return _unknown(work, chosen, TimeBound(chosen.name, {}, {}, clock_mhz), str(error))
    if machine is None:
        known = " and ".join(name for name in table("machine")[0] if name in CHIPS)
        why = f"latencies and queues of {chosen} were not measured (of {known} they were)"
        return _unknown(work, chosen, bound, why)
    waits = spins(work)
    if waits is not None:
        place = f"{waits.file}:{waits.line}" if waits.line else f"{waits.address:#06x}"
        return _unknown(
            work, chosen, bound, f"{place} asks memory again until another warp has written"
        )
    if clock_mhz and chosen.clock_mhz:
        machine = at_clock(machine, clock_mhz / chosen.clock_mhz)
    held = held_of(work, chosen, machine)
    found = estimate(work, chosen, machine, held=held)
    if found is None:
        return _unknown(work, chosen, bound, "warps wait for each other for ever")
    notes = [*bound.notes, *work.notes, *_other_code(work, chosen), *_notes(work, found)]
    conflicts = bool((work.shared_cycles > work.shared_floor).any())
    lower = estimate(work, chosen, machine, without=True, held=held) if conflicts else None
    fixed = machine["launch" if work.cluster == (1, 1, 1) else "launch_cluster"]

    def lasts(what: Estimate, bound: TimeBound) -> float:
        return max(what.active, ceil(bound.cycles))

    often = asked_again(work)
    once = estimate(asked_once(work), chosen, machine, held=held) if often > _OFTEN else None
    if once is not None:
        after_it, before = (round(lasts(each, bound) + fixed) for each in (once, found))
        notes += _asked_once(often, after_it, before)

    def made(what: Estimate, bound: TimeBound, without: KernelTime | None) -> KernelTime:
        active = lasts(what, bound)
        return KernelTime(
            kernel=work.kernel, chip=chosen.name, bound=bound,
            cycles=round(active + fixed), active_cycles=round(active),
            clock_mhz=bound.clock_mhz, stalls=_columns(work, what.run.stalls),
            counts=what.run.counts, notes=tuple(notes), without=without,
        )  # fmt: skip

    after = None
    if lower is not None:
        # What a warp waits for may shift, but fewer cycles of a pipe never cost time.
        lower = lower if lower.active <= found.active else found
        after = made(lower, bound.without_conflicts, None)
    return made(found, bound, after)


def _asked_once(often: float, after: int, before: int) -> list[str]:
    """Say what copies that ask for lines again cost, if it is felt."""
    gain = before / after
    if not is_faster(gain):
        return []
    said = (
        f"copies of 16 bytes per lane (cp.async) ask the L2 for each of their lines {often:.1f}"
        " times: once for each line of 128 bytes in shared memory that it goes to. Asked for once,"
        f" about {after:,} cycles: {gain_text(gain)} (next: let the 16-byte pieces of a line lie in"
        " one line of shared memory, in any order)"
    )
    return [said]


def _clock(work: Work, chip: Chip, machine: Mapping[str, float] | None) -> float | None:
    """Return the SM's clock in MHz where none is given; None: the chip's is not known."""
    if chip.clock_mhz is None or machine is None:
        return chip.clock_mhz
    executed = zip(work.instructions, work.executed, strict=True)
    multiplies = any(times and each.name in _SLOWING for each, times in executed)
    return chip.clock_mhz * (machine["tensor_clock"] if multiplies else 1.0)


def _not_run(capability: int, chip: Chip) -> str:
    """Say that a chip does not run the code of a launch, and what to ask for instead."""
    known = (name for name in CHIPS if Chip.of(name).runs(capability))
    other = f", or the chip {name}" if (name := next(known, None)) else ""
    return (
        f"code for sm_{capability} does not run on {chip} (accepted: code for {chip.arch}{other})"
    )


def _other_code(work: Work, chip: Chip) -> list[str]:
    """Say that a chip that runs the code of a launch would be given other code."""
    if chip.capability == work.capability or not chip.runs(work.capability):
        return []
    own = f"{work.capability // 10}.{work.capability % 10}"
    return [f"the code is for compute capability {own}: {chip} would run other code"]


def _notes(work: Work, found: Estimate) -> list[str]:
    """Say what the estimate takes for granted of this launch."""
    notes = []
    if prod(work.cluster) > 1:
        notes.append(
            "the other blocks of a cluster are taken to go in step: no block waits for them longer"
            " than for its own warps"
        )
    notes += _indexed_constants(work)
    blocks = [_did(trace, len(work.instructions)) for trace in work.traces]
    if any(not np.array_equal(each, blocks[0]) for each in blocks):
        ran = len(blocks)
        notes.append(
            "blocks differ: all of them ran for the estimate"
            if ran >= work.blocks
            else f"blocks differ: for the estimate {ran} of them ran, and each stands for an equal"
            " share of the grid"
        )
    if max(found.courses) > _HANGS * min(found.courses):
        least, most = round(min(found.courses)), round(max(found.courses))
        notes.append(
            f"the time hangs on where arrays lie in memory: {least:,} to {most:,} cycles in"
            f" {len(found.courses)} simulations, of which the mean counts"
        )
    if len(found.run.ends) < found.blocks:
        notes.append(
            f"{len(found.run.ends)} of the {found.blocks} blocks of an SM were simulated: the"
            " others are taken to go on as those did"
        )
    return notes


def _indexed_constants(work: Work) -> list[str]:
    """Say that tables of constants are indexed: what misses cost is not known well."""
    place = _first(work, lambda each: bool(_INDEXED_CONSTANT(each.operands)))
    said = "where many warps read more than 64 words of it, it may take half or twice the time"
    return [f"{place} indexes a table in constant memory: {said}"] if place else []


def _first(work: Work, is_it: Callable[[WorkInstruction], bool]) -> str:
    """Return where the first instruction is that was executed and is such; nothing: there is none.

    Without a line it is "an instruction".
    """
    executed = np.sum([trace.executed(len(work.instructions)) for trace in work.traces], axis=0)
    for each, times in zip(work.instructions, executed, strict=True):
        if times and is_it(each):
            return f"{each.file}:{each.line}" if each.line else "an instruction"
    return ""


def _did(trace: BlockTrace, count: int) -> NDArray[np.int64]:
    """Return what a block did by instruction: executions, cycles of shared memory, sectors."""
    shared = trace.summed("cycles", count, is_shared=True)
    far = trace.summed("sectors", count, is_shared=False)
    return np.concatenate([trace.executed(count), shared, far])


def _unknown(work: Work, chip: Chip, bound: TimeBound, why: str) -> KernelTime:
    """Return what is known where the cycles are not: the bound, and that without conflicts."""

    def made(bound: TimeBound, without: KernelTime | None) -> KernelTime:
        return KernelTime(
            kernel=work.kernel, chip=bound.chip, bound=bound, cycles=None, active_cycles=None,
            clock_mhz=bound.clock_mhz,
            notes=(
                *bound.notes, *_other_code(work, chip), f"Its cycles are not known: {why}.",
            ),
            without=without,
        )  # fmt: skip

    return made(bound, made(bound.without_conflicts, None) if bound.saved > 0 else None)


def _columns(work: Work, stalls: NDArray[np.int64]) -> Columns:
    """Return the stalls of instructions that were executed."""
    chosen = np.flatnonzero(stalls.any(axis=1)).tolist()
    which = [work.instructions[number] for number in chosen]
    columns: Columns = {
        "address": [each.address for each in which], "opcode": [each.opcode for each in which],
        "file": [each.file for each in which], "line": [each.line for each in which],
        "warp_cycles": stalls[chosen].sum(axis=1).tolist(),
    }  # fmt: skip
    columns |= {name: stalls[chosen, place].tolist() for place, name in enumerate(STALLS)}
    return columns
