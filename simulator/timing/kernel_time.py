"""`KernelTime`: what a launch takes, where its time goes, and what conflicts cost of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any

from simulator.results.columns import heading
from simulator.results.tables import Columns, Result, rows
from simulator.results.text import Table
from simulator.timing.gains import gain_text
from simulator.timing.pipes import NAMES, TimeBound
from simulator.timing.state import STALLS

__all__ = ["KernelTime", "spelled"]

SPREAD = (0.90, 1.25)
"""Measured cycles are expected to lie between these multiples of the estimate.

Forty-two sets of launches were estimated before they were measured, each by the model of its
time. So it was for 2,075 of 2,271, and for 101 of the last 106 (gpu_check/data/h100_timed_*,
docs/explanation/time-record.md; `python -m gpu_check.timing.errors range`).
"""

_BUSY = 0.6
"""Of the time: a pipe that is busy for longer is called what limits a launch."""

_WAITS = {
    "short_scoreboard": "results of shared memory, special functions or shuffles",
    "mio_throttle": "room in the queue to memory, for shared memory",
    "long_scoreboard": "loads of global or local memory",
    "lg_throttle": "room in the queue to memory, for global memory",
    "barrier": "other warps at a barrier",
    "math_pipe_throttle": "a busy math pipe",
    "dispatch_stall": "dispatch",
    "not_selected": "their turn",
    "wait": "fixed latencies",
    "drain": "their last stores",
    "membar": "a memory fence",
    "sleeping": "their sleep to end",
    "imc_miss": "constants",
    "no_instruction": "instructions",
    "branch_resolving": "branches",
}
"""What warps wait for, by the reason."""

_SHOWN = 0.01
"""Of all warp cycles: reasons that are less are not shown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelTime(Result):
    """The time of a launch on a chip. Cycles are those of an SM.

    `cycles` are what the profiler calls `sm__cycles_elapsed.max` of a second launch, whose inputs
    the first has left in the L2.
    """

    kernel: str
    chip: str
    bound: TimeBound
    """What no pipe can go below."""
    cycles: int | None
    """From the launch to the end of the last block; None: not known, and `notes` says why."""
    active_cycles: int | None
    """The same without what a launch costs whatever the kernel does."""
    clock_mhz: float | None
    """Of the SM, at which cycles are seconds. Where none was given it is the chip's boost clock.

    On an H100 or H200 it is 1,800 MHz in a kernel that executes matrix products, but those of
    doubles.
    """
    stalls: Columns = field(default_factory=dict, repr=False)
    """A row for each instruction that was executed: address, opcode, file, line, and the cycles of
    warps in the blocks that were simulated: all, and by Nsight Compute's reasons."""
    counts: Mapping[str, int] = field(default_factory=dict, repr=False)
    """What the SM did that was simulated: instructions, sectors, cycles of the data pipe."""
    notes: tuple[str, ...] = ()
    without: KernelTime | None = field(default=None, repr=False)

    @property
    def bound_cycles(self) -> int:
        """Least cycles, whatever the warps wait for: those of the busiest pipe.

        0 on a chip whose pipes are not known.
        """
        return ceil(self.bound.cycles)

    @property
    def limiter(self) -> str:
        """The pipe that has most work; "" on a chip whose pipes are not known."""
        return self.bound.limiter

    @property
    def seconds(self) -> float | None:
        """`cycles` as time; None: they or the chip's clock are not known."""
        if self.cycles is None or self.clock_mhz is None:
            return None
        return self.cycles / self.clock_mhz / 1e6

    @property
    def range(self) -> tuple[int, int] | None:
        """Cycles between which a measurement is expected; None: they are not known."""
        if self.cycles is None:
            return None
        low, high = (round(self.cycles * part) for part in SPREAD)
        return max(low, self.bound_cycles), high

    @property
    def is_mostly_launch(self) -> bool:
        """Whether most of its cycles are what a launch costs whatever the kernel does."""
        return (self.cycles or 0) > 2 * (self.active_cycles or 0)

    @property
    def without_conflicts(self) -> KernelTime:
        """The same launch with every access of shared memory at its floor."""
        return self if self.without is None else self.without

    @property
    def speedup_without_conflicts(self) -> float | None:
        """How much faster it would be without bank conflicts; None: its cycles are not known."""
        after = self.without_conflicts.cycles
        return None if self.cycles is None or after is None else self.cycles / after

    @cached_property
    def pipes(self) -> dict[str, float]:
        """Utilisation of each pipe: its least cycles over the active ones, the busiest first."""
        over = self.active_cycles or self.bound_cycles or 1
        found = {name: cycles / over for name, cycles in self.bound.pipes.items()}
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    @cached_property
    def reasons(self) -> dict[str, float]:
        """Warp cycles by reason per instruction issued, as Nsight Compute gives them."""
        issued = sum(self.stalls.get("selected", [])) or 1
        found = {name: sum(self.stalls.get(name, [])) / issued for name in STALLS}
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def lines(self) -> Columns:
        """Roll the stalls up by source line: file, line, instructions, warp_cycles, reasons."""
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for row in rows(self.stalls):
            key = (row["file"], row["line"])
            sums = found.setdefault(key, dict.fromkeys(("instructions", "warp_cycles", *STALLS), 0))
            sums["instructions"] += 1
            for name in ("warp_cycles", *STALLS):
                sums[name] += row[name]
        columns: Columns = {
            "file": [file for file, _ in found], "line": [line for _, line in found],
        }  # fmt: skip
        for name in ("instructions", "warp_cycles", *STALLS):
            columns[name] = [sums[name] for sums in found.values()]
        return columns

    def table(self, by: str = "instruction") -> Table:
        """Return a row for each instruction or line that warps waited at, below what it comes to.

        Those come first at which most cycles are spent. Rare reasons are left out.
        """
        least = _SHOWN * sum(self.reasons.values())
        hidden = [name for name in STALLS if self.reasons[name] < least]
        columns = self.stalls if by == "instruction" else self.lines()
        order = sorted(rows(columns), key=lambda row: -row["warp_cycles"])
        names = ["address", "opcode"] if by == "instruction" else []
        # Those that take most stand first.
        names += ["file", "line", "warp_cycles", *self.reasons]
        sums = {name: sum(columns.get(name, [])) for name in ("warp_cycles", *STALLS)}
        return Table(
            [{name: row[name] for name in names} for row in order], self._totals(),
            sums=[("total", sums)], columns=names, hidden=hidden,
            title=f"{self.kernel} on {self.chip}", answer=self.sentences(),
        )  # fmt: skip

    def sentences(self) -> list[str]:
        """Say what it comes to."""
        if not self.limiter:
            return [*map(_sentence, self.notes)]
        limiter = NAMES[self.limiter]
        said = []
        if self.cycles is not None and self.range is not None:
            low, high = self.range
            time = ""
            if self.seconds is not None:
                time = f", {spelled(self.seconds)} at {self.clock_mhz:,.0f} MHz"
            said.append(
                f"About {self.cycles:,} cycles{time}. A measurement should lie between {low:,} and"
                f" {high:,}: 9 of 10 did."
            )
            said.append(self._limited())
            these = ", with these conflicts" if self.without is not None else ""
            share = f"{self.bound.cycles / max(self.cycles, 1):.0%} of the estimate"
            said.append(f"Lower bound{these}: {self.bound_cycles:,} ({share}), set by {limiter}.")
            gain, after = self.speedup_without_conflicts, self.without_conflicts.cycles
            said.append(
                "Without bank conflicts it would not be faster."
                if self.without is None or gain is None
                else f"Without bank conflicts about {after:,} cycles: {gain_text(gain)}."
            )
        else:
            said.append(f"At least {self.bound_cycles:,} cycles: {limiter}.")
            said.append(self.bound.verdict())
        return [*said, *map(_sentence, self.notes)]

    def _limited(self) -> str:
        """Say what limits the launch: itself, a pipe that is busy, or what warps wait for."""
        if self.is_mostly_launch:
            fixed = (self.cycles or 0) - (self.active_cycles or 0)
            return (
                f"Limited by the launch itself: {fixed:,} of the cycles, whatever it does."
                " A larger grid may gain more by a change than this one."
            )
        pipe, busy = next(iter(self.pipes.items()))
        told = f"{NAMES[pipe]}, busy {busy:.0%} of the time that blocks run"
        if busy >= _BUSY:
            return f"Limited by {told}."
        shares = self.reasons.values()
        waits = [each for each in self.reasons.items() if each[0] != "selected" and each[1]][:2]
        waited = dict(_WAITS)
        if any("GMMA" in opcode for opcode in self.stalls["opcode"]):
            waited["barrier"] += ", or products of wgmma"  # Nsight Compute calls both so
        most = " and ".join(
            f"{waited.get(name, 'other causes')} ({heading(name)}, {cycles / sum(shares):.0%})"
            for name, cycles in waits
        )
        return f"Limited by what warps wait for: {most}. The busiest pipe is {told}."

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON can hold them: by instruction, by line, and as a whole."""
        return {
            "instructions": self.stalls,
            "lines": self.lines(),
            "totals": self._totals(),
        }

    def _totals(self) -> dict[str, Any]:
        after = self.without_conflicts
        return {
            "kernel": self.kernel, "chip": self.chip, "cycles": self.cycles,
            "active_cycles": self.active_cycles, "bound_cycles": self.bound_cycles,
            "seconds": self.seconds, "range": None if self.range is None else [*self.range],
            "limiter": self.limiter, "cycles_without_conflicts": after.cycles,
            "bound_cycles_without_conflicts": after.bound_cycles,
            "speedup_without_conflicts": self.speedup_without_conflicts,
            "pipes": self.pipes, "reasons": self.reasons, "notes": list(self.notes),
        }  # fmt: skip


def _sentence(note: str) -> str:
    """Write a note as a sentence; one that begins with a file's name keeps it.

    >>> _sentence("blocks differ"), _sentence("k.cu:4 indexes a table")
    ('Blocks differ.', 'k.cu:4 indexes a table.')
    """
    begin = note[0].upper() if note.split()[0].isalpha() else note[0]
    return f"{begin}{note[1:]}{'' if note.endswith('.') else '.'}"


def spelled(seconds: float) -> str:
    """Write a time.

    >>> spelled(0.0000425), spelled(0.0123)
    ('42.5 µs', '12.3 ms')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
