"""From a replay to its fixes: find the arrays, search their layouts, run each, compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ExecutionError, OptionError
from simulator.fixing.arrays import SharedArray, find_arrays
from simulator.fixing.costs import Cost, Pricer, total
from simulator.fixing.fix import Fix, SharedUse
from simulator.fixing.layouts import Candidate, Choice, choose
from simulator.fixing.modes import choose_mode
from simulator.fixing.reading import reads_data
from simulator.fixing.said import text_of, triton_of
from simulator.gemm.occupancy import DEVICES, Device, occupancy
from simulator.results.tables import Columns, equal
from simulator.sass.report import CompiledReport
from simulator.sass.run.moves import Moves
from simulator.sass.run.witness import Touched, Witness

__all__ = ["find_fixes", "rerun_with"]

_ALIGNMENT = 1024
"""An array keeps its place within so many bytes: TMA's widest swizzle repeats after them."""
_STATIC = 48 * 1024
"""Static shared memory of a kernel at most (CUDA C++ Programming Guide)."""
_UNITS = {
    "matrix": "wgmma reads it, by a descriptor that says its swizzle",
    "store": "stores from other blocks of the cluster reach it",
    "mbarrier": "it holds mbarriers",
}
_CHEAP = 16
"""Padding that takes at most one in so many bytes is said before a swizzle."""


def find_fixes(report: CompiledReport) -> list[Fix]:
    """Return a Fix for each array with conflicts, those that save most first.

    Raises LaunchError where the launch is not known any more, and whatever a run raises.
    """
    known = [value or 0 for value in report.instructions["bank_conflicts"]]
    if not sum(known):
        return []
    search = _Finding(report)
    found = [search.fix(array) for array in search.arrays]
    chosen = [each for each in found if each is not None]
    return sorted(chosen, key=lambda each: (-each.saved, each.text == "", each.array))


def rerun_with(report: CompiledReport, fixes: Sequence[Fix]) -> CompiledReport:
    """Run a launch again with several fixes together.

    Raises OptionError for fixes of one array, or of another report, and what the run raises.
    """
    named: dict[tuple[int, ...] | str, Fix] = {}
    for each in fixes:
        if not isinstance(each, Fix):
            raise OptionError(f"{each!r} is not a Fix (accepted: what report.fixes() returns)")
        key = each.target.starts if each.target else each.array
        if key in named:
            raise OptionError(
                f"two fixes of {each.array} (accepted: one for each array; an alternative stands"
                " for its fix)"
            )
        if each.candidate is not None:
            named[key] = each
    again = report.relaunch()
    launch = again.launch()
    pairs = [(each.target, each.candidate) for each in named.values()]
    if any(array and max(array.starts) + array.size > launch.block_shared for array, _ in pairs):
        raise OptionError(
            "a fix is not of this launch, whose shared memory is smaller (accepted: what this"
            " report's fixes() returns)"
        )
    moves = _moves(launch.block_shared, [(a, c) for a, c in pairs if a and c])
    made = again.replay(moves)
    return replace(made, rerun=replace(again, moves=moves))


@dataclass(frozen=True, eq=False)
class _Run:
    """A layout that was run."""

    touched: Touched
    figures: NDArray[np.int64]
    report: CompiledReport


class _Finding:
    def __init__(self, report: CompiledReport) -> None:
        self.report = report
        self.again = report.relaunch()
        self.program = self.again.program
        self.launch = self.again.launch()
        self.pricer = Pricer(self.program.sites, self.launch.rule, self.launch.chip)
        self.first = self._run(None)
        self.block_bytes = self.launch.block_shared
        cubin = self.again.given["cubin"]
        self.arrays = find_arrays(
            self.first.touched, self.program, cubin, self.block_bytes, self.again.sources
        )
        self.by_data: frozenset[int] | None = None

    def _run(self, moves: Moves | None) -> _Run:
        witness = Witness(self.program.sites)
        report = self.again.replay(moves, witness)
        touched = witness.touched()
        return _Run(touched, self.pricer.figures(touched), report)

    def fix(self, array: SharedArray) -> Fix | None:
        """Return what to change in an array; None for one without conflicts."""
        before = self._cost(self.first, array.rows)
        if not before.bank_conflicts and not before.unremovable:
            return None
        plain = self._plain(array, before)
        if not before.bank_conflicts:
            return replace(plain, proved=True, why="No layout of any kind has fewer.")
        why = self._refused(array)
        if why:
            return replace(plain, why=why)
        choice = self._choice(array)
        run = [
            self._tried(plain, array, each, choice.proved, choice.text)
            for each in choice.candidates
        ]
        better = [each for each in run if each is not None]
        if not better:
            return replace(plain, proved=choice.proved and not choice.candidates, why=choice.text)
        least = min(each.after.bank_conflicts for each in better)
        best = [each for each in better if each.after.bank_conflicts == least]
        first = min(best, key=_preference)
        others = tuple(each for each in better if each is not first)
        return replace(first, alternatives=others)

    def _choice(self, array: SharedArray) -> Choice:
        if any(each.kind == "tile" for each in array.units):
            times = prod(self.report.grid) if self.report.extrapolated else self.report.blocks
            return choose_mode(array, self.first.touched, self.pricer, times / self.report.blocks)
        return choose(
            array, self.first.touched, self.program.sites, self.launch.rule, self.launch.chip
        )

    def _cost(self, run: _Run, rows: NDArray[np.int64]) -> Cost:
        found = total(run.figures, run.touched.weights, rows)
        blocks = prod(self.report.grid)
        return found.scaled(blocks, self.report.blocks) if self.report.extrapolated else found

    def _plain(self, array: SharedArray, before: Cost) -> Fix:
        now = self._occupancy(self.block_bytes)
        return Fix(
            array=array.name, lines=array.lines, files=array.files, text="", why="", proved=False,
            outputs_equal=True, before=before, after=before, bytes_before=array.bytes,
            bytes_after=array.bytes, occupancy_before=now, occupancy_after=now, target=array,
            notes=_reuse(array),
        )  # fmt: skip

    def _occupancy(self, size: int) -> SharedUse:
        device = DEVICES["H200"] if self.launch.chip is None else Device.of(self.launch.chip)
        registers = min(max(self.program.registers, 16), device.registers_per_thread)
        return SharedUse(size, occupancy(prod(self.launch.block), registers, size, device).blocks)

    # ---- What is left alone. -------------------------------------------------------------------
    def _refused(self, array: SharedArray) -> str:
        touched, sites = self.first.touched, self.program.sites
        if not touched.whole:
            return (
                "Not searched: it has more different accesses than are kept; they may depend on"
                " data."
            )
        generic = sorted(
            {
                site.instruction.line or 0
                for site in (sites[number] for number in touched.sites[array.rows].tolist())
                if site.is_generic
            }
        )
        if generic:
            lines = ", ".join(map(str, generic))
            return f"Not searched: generic pointers reach it (lines {lines})."
        if array.declared is not None and array.declared.in_union:
            return f"Not searched: {array.name} is a union, one memory for several arrays."
        pinned = sorted({each.kind for each in array.units} - {"tile", "bulk"})
        if pinned:
            return f"Not searched: {' and '.join(_UNITS[each] for each in pinned)}."
        if self.by_data is None:
            self.by_data = reads_data(self.again, touched, self.arrays)
        numbers = sorted(set(touched.sites[array.rows].tolist()) & self.by_data)
        if numbers:
            lines_by_data = sorted({sites[number].instruction.line or 0 for number in numbers})
            listed = ", ".join(map(str, lines_by_data))
            return (
                f"Left alone: its addresses depend on data (lines {listed}), as a histogram's or a"
                " gather's do. What another layout costs would hold for this data only."
            )
        return ""

    # ---- Trying. -------------------------------------------------------------------------------
    def _tried(
        self, plain: Fix, array: SharedArray, candidate: Candidate, proved: bool, why: str
    ) -> Fix | None:
        """Run a layout. None where it does not run, changes an output or is not better."""
        size = self.block_bytes - array.bytes + candidate.bytes
        limit = self.launch.architecture.shared_bytes
        if self.launch.chip is not None:
            limit = min(limit, self.launch.chip.shared_bytes)
        grown = candidate.bytes > array.bytes
        if grown and (
            size > limit or (array.is_static and size - self.launch.shared_bytes > _STATIC)
        ):
            return None
        try:
            run = self._run(_moves(self.block_bytes, [(array, candidate)]))
        except ExecutionError:
            return None
        if not equal(run.report.outputs, self.first.report.outputs):
            return None
        base = _base(self.block_bytes, array)
        places = run.touched.places
        mine = np.isin(run.touched.sites, np.unique(self.first.touched.sites[array.rows]))
        lanes = run.touched.masks[:, None] >> np.arange(32, dtype=np.uint32) & 1 != 0
        first = places[np.arange(len(places)), lanes.argmax(axis=1)]
        rows = np.flatnonzero(mine & (first >= base))
        after = self._cost(run, rows)
        if (
            after.bank_conflicts >= plain.before.bank_conflicts
            or after.wavefronts > plain.before.wavefronts
        ):
            return None
        tile = candidate.tile
        notes = plain.notes
        if not array.is_static and len(array.starts) * array.size < self.launch.shared_bytes:
            notes += (
                f"Its index counts from byte {array.starts[0]} of the block's shared memory.",
            )
        made_by_triton = any(file.endswith(".py") for file in array.files)
        return replace(
            plain,
            text=text_of(array, candidate),
            kind=candidate.kind,
            why=why if after.bank_conflicts else "No layout of any kind has fewer.",
            proved=proved or not after.bank_conflicts,
            after=after,
            notation=tile.notation or "",
            triton=triton_of(tile) if made_by_triton else "",
            operations=tile.operations,
            bytes_after=candidate.bytes,
            occupancy_after=self._occupancy(size),
            by_line=self._by_line(array, run, rows),
            candidate=candidate,
            notes=notes,
        )

    def _by_line(self, array: SharedArray, run: _Run, rows: NDArray[np.int64]) -> Columns:
        """Sum up by line and instruction, before and after."""
        found: dict[tuple[str, int, str], list[Cost]] = {}
        for place, (one, which) in enumerate(((self.first, array.rows), (run, rows))):
            for number in np.unique(one.touched.sites[which]).tolist():
                instruction = self.program.sites[number].instruction
                key = (instruction.file, instruction.line or 0, instruction.opcode)
                own = which[one.touched.sites[which] == number]
                costs = found.setdefault(key, [Cost(0, 0), Cost(0, 0)])
                costs[place] += self._cost(one, own)
        keys = sorted(found)
        columns: dict[str, list[Any]] = {
            "file": [key[0] for key in keys],
            "line": [key[1] for key in keys],
            "opcode": [key[2] for key in keys],
        }
        for name in ("wavefronts", "bank_conflicts"):
            for place, when in enumerate(("_before", "")):
                columns[f"{name}{when}"] = [getattr(found[key][place], name) for key in keys]
        return columns


def _preference(fix: Fix) -> tuple[bool, bool, int, int]:
    """Order fixes that remove as much: room first, then cheap padding, a swizzle, the rest."""
    more = fix.bytes_after - fix.bytes_before
    loses = fix.occupancy_after.blocks < fix.occupancy_before.blocks
    is_dear = more * _CHEAP > fix.bytes_before
    rank = {"tma": 0, "pad": 1, "swizzle": 2, "both": 3}[fix.kind]
    return loses, is_dear, rank, fix.operations


def _reuse(array: SharedArray) -> tuple[str, ...]:
    """Say that an array is used for several things."""
    if not array.uses:
        return ()
    said = " and ".join(f"{name} (lines {', '.join(map(str, at))})" for name, at in array.uses)
    return (f"Its lines call it {said}: it was not split in time, one layout is for all.",)


def _base(block_bytes: int, array: SharedArray) -> int:
    """Return where an array lies that is laid out anew, alone: behind all others."""
    behind = -(-block_bytes // _ALIGNMENT) * _ALIGNMENT
    return behind + array.starts[0] % _ALIGNMENT


def _moves(block_bytes: int, changed: Sequence[tuple[SharedArray, Candidate]]) -> Moves:
    """Lay arrays out anew behind all others; the rest stays."""
    table = np.arange(block_bytes, dtype=np.int64)
    end = block_bytes
    for array, candidate in changed:
        base = _base(end, array)
        for piece, start in enumerate(array.starts):
            part = slice(piece * array.size, (piece + 1) * array.size)
            table[start : start + array.size] = base + candidate.table[part]
        end = base + candidate.bytes
    return Moves(table.astype(np.int32))
