"""The runs behind a fix: once under a witness, and once for each layout that is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ExecutionError
from simulator.fixing.arrays import SharedArray
from simulator.fixing.costs import Cost, Pricer, total
from simulator.fixing.layouts import Candidate
from simulator.law.masks import active_table
from simulator.results.tables import Columns, equal
from simulator.sass.report import CompiledReport
from simulator.sass.run.grid import GridRun
from simulator.sass.run.moves import Moves
from simulator.sass.run.witness import Touched, Witness
from simulator.sass.sampling import Relaunch

__all__ = ["Costs", "Runs", "moves_of"]

_ALIGNMENT = 1024
"""An array keeps its place within so many bytes: TMA's widest swizzle repeats after them."""

Costs = dict[int, Cost]
"""Of an array's accesses, by the address of the instruction."""


@dataclass(frozen=True, eq=False)
class _Run:
    touched: Touched
    figures: NDArray[np.int64]
    report: CompiledReport


class Runs:
    """A launch that runs again: sampled blocks under a witness, and those of its report."""

    def __init__(self, report: CompiledReport) -> None:
        self.report = report
        self.again = report.relaunch()
        self.sites = self.again.program.sites
        self.launch = self.again.launch()
        self.pricer = Pricer(self.sites, self.launch.rule, self.launch.chip)
        self.first = self._witnessed(replace(self.again, blocks="sample"))
        """Under the layout that there is."""
        if self.again.blocks == "all" and self._misses_conflicts():
            self.first = self._whole

    @property
    def touched(self) -> Touched:
        """The accesses that are searched."""
        return self.first.touched

    def _witnessed(self, again: Relaunch, moves: Moves | None = None) -> _Run:
        witness = Witness(self.sites)
        report = again.replay(moves, witness)
        touched = witness.touched()
        return _Run(touched, self.pricer.figures(touched), report)

    @cached_property
    def _whole(self) -> _Run:
        """The blocks of the report, under a witness."""
        is_whole = self.again.blocks == "sample"
        return self.first if is_whole else self._witnessed(self.again)

    def _misses_conflicts(self) -> bool:
        """Whether the sampled blocks leave out an instruction with conflicts."""
        seen = {self._address(site) for site in np.unique(self.touched.sites).tolist()}
        found = self.report.instructions
        rows = zip(found["address"], found["bank_conflicts"], strict=True)
        return any(conflicts and address not in seen for address, conflicts in rows)

    def _address(self, site: int) -> int:
        return self.sites[site].instruction.address

    # ---- Costs. --------------------------------------------------------------------------------
    def before(self, array: SharedArray) -> Costs:
        """Return what an array's accesses cost, in all blocks that the report is for."""
        if self._is_apart(array):
            return self._of_report(self.report, array)
        starts = [(start, start + array.size) for start in array.starts]
        return self._of_run(self._whole, array, starts)

    def _is_apart(self, array: SharedArray) -> bool:
        """Whether the report's figures of instructions are this array's alone."""
        mine = np.unique(self.touched.sites[array.rows])
        others = np.delete(self.touched.sites, array.rows)
        return not np.isin(mine, others).any() and not self.first.figures[array.rows, 2].any()

    def _of_report(self, report: CompiledReport, array: SharedArray) -> Costs:
        found = report.instructions
        columns = (found["address"], found["wavefronts"], found["bank_conflicts"])
        known = {
            address: Cost(waves or 0, conflicts or 0)
            for address, waves, conflicts in zip(*columns, strict=True)
        }
        mine = {self._address(site) for site in self.touched.sites[array.rows].tolist()}
        return {address: known.get(address, Cost(0, 0)) for address in mine}

    def _of_run(self, run: _Run, array: SharedArray, ranges: Sequence[tuple[int, int]]) -> Costs:
        """Sum up what a run touched within some bytes."""
        touched = run.touched
        lanes = active_table(touched.masks)
        first = touched.places[np.arange(len(lanes)), lanes.argmax(axis=1)]
        inside = np.zeros(len(first), dtype=bool)
        for low, high in ranges:
            inside |= (first >= low) & (first < high)
        found: Costs = {}
        for site in np.unique(self.touched.sites[array.rows]).tolist():
            rows = np.flatnonzero(inside & (touched.sites == site))
            cost = total(run.figures, touched.weights, rows)
            if self.report.extrapolated:
                cost = cost.scaled(prod(self.report.grid), self.report.blocks)
            address = self._address(site)
            found[address] = found.get(address, Cost(0, 0)) + cost
        return found

    # ---- Layouts. ------------------------------------------------------------------------------
    def after(self, array: SharedArray, candidate: Candidate) -> Costs | None:
        """Run a layout of an array alone; None where it does not run, or changes an output."""
        moves = moves_of(self.launch, [(array, candidate)])
        try:
            if self._is_apart(array):
                made = self.again.replay(moves)
                if made.extrapolated == self.report.extrapolated:
                    return self._of_report(made, array) if self.keeps_outputs(made) else None
            run = self._witnessed(self.again, moves)
        except ExecutionError:
            return None
        if not self.keeps_outputs(run.report):
            return None
        base = _base(_end(self.launch), array)
        return self._of_run(run, array, [(base, base + candidate.bytes)])

    def keeps_outputs(self, made: CompiledReport) -> bool:
        """Whether a run leaves the same bits."""
        return equal(made.outputs, self.report.outputs) or equal(made.outputs, self._outputs)

    @cached_property
    def _outputs(self) -> list[Any]:
        """What the launch leaves with the arguments as they are now."""
        if self.again.blocks == "sample":
            return self.first.report.outputs
        return self.again.replay().outputs

    def by_line(self, before: Costs, after: Costs, other: Runs | None = None) -> Columns:
        """Return what each instruction costs before and after, with its line.

        `other`: the runs of the source that was compiled anew. Instructions of one name on a line
        are one row then.
        """
        was, now = self._named(before, other is None), (other or self)._named(after, other is None)
        keys = sorted({*was, *now})
        columns: dict[str, list[Any]] = {
            name: [key[place] for key in keys]
            for name, place in (("file", 0), ("line", 1), ("opcode", 3))
        }
        for name in ("wavefronts", "bank_conflicts"):
            for costs, when in ((was, "_before"), (now, "")):
                none = Cost(0, 0)
                columns[f"{name}{when}"] = [getattr(costs.get(key, none), name) for key in keys]
        return columns

    def _named(self, costs: Costs, apart: bool) -> dict[tuple[str, int, int, str], Cost]:
        """Return costs by file, line, address (0: not told apart) and opcode."""
        known = {site.instruction.address: site.instruction for site in self.sites}
        found: dict[tuple[str, int, int, str], Cost] = {}
        for address, cost in costs.items():
            each = known[address]
            key = (each.file, each.line or 0, address if apart else 0, each.opcode)
            found[key] = found.get(key, Cost(0, 0)) + cost
        return found


def moves_of(launch: GridRun, changed: Sequence[tuple[SharedArray, Candidate]]) -> Moves:
    """Lay arrays out anew behind all others; the rest stays where the launch has it."""
    table = np.arange(launch.reached_shared, dtype=np.int64)
    if launch.moves is not None:
        table[:] = launch.moves.table
    end, taken = _end(launch), launch.taken_shared
    for array, candidate in changed:
        base = _base(end, array)
        for piece, start in enumerate(array.starts):
            part = slice(piece * array.size, (piece + 1) * array.size)
            table[start : start + array.size] = base + candidate.table[part]
            if start + array.size == launch.block_shared:  # an access may end behind it
                behind = table[launch.block_shared :]
                behind[:] = table[launch.block_shared - 1] + 1 + np.arange(len(behind))
        end = base + candidate.bytes
        taken += candidate.bytes - array.bytes
    return Moves(table.astype(np.int32), taken)


def _end(launch: GridRun) -> int:
    """Return the first byte behind all arrays of a launch."""
    return launch.block_shared if launch.moves is None else launch.moves.bytes


def _base(end: int, array: SharedArray) -> int:
    """Return where an array lies that is laid out anew, alone: behind all others."""
    behind = -(-end // _ALIGNMENT) * _ALIGNMENT
    return behind + array.starts[0] % _ALIGNMENT
