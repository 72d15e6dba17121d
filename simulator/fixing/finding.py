"""From a replay to its fixes: find the arrays, search their layouts, run each, compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np

from simulator.errors import OptionError, SassError
from simulator.fixing.arrays import SharedArray, find_arrays
from simulator.fixing.compiled import compiled_with, joined_lines, word_more
from simulator.fixing.costs import Cost
from simulator.fixing.fix import Fix, SharedUse
from simulator.fixing.layouts import Candidate, Choice, choose
from simulator.fixing.modes import choose_mode
from simulator.fixing.phases import phases_of, times_of, uses_of
from simulator.fixing.reading import reads_data
from simulator.fixing.refusing import (
    hidden_base,
    lines_text,
    reads_data_text,
    understood,
    what_reaches,
)
from simulator.fixing.runs import Costs, Runs, moves_of
from simulator.fixing.said import operations_of, text_of
from simulator.fixing.triton_layouts import triton_of
from simulator.sass.report import CompiledReport
from simulator.sass.run.grid import GridRun

__all__ = ["find_fixes", "rerun_with"]

_STATIC = 48 * 1024
"""Static shared memory of a kernel at most (CUDA C++ Programming Guide)."""
_NONE_FEWER = "No layout of any kind has fewer."
_MOST_FOLLOWED = 1 << 26
"""Thread instructions of a launch whose warps are followed from barrier to barrier."""
_LITTLE = 10
"""An index is not changed for less than one of so many bank conflicts."""
_CHEAP = 16
"""Padding that takes at most one in so many bytes is said before a swizzle."""


def find_fixes(report: CompiledReport) -> list[Fix]:
    """Return a Fix for each array with conflicts, those that save most first.

    Raises LaunchError where the launch is no longer known, and whatever a run raises.
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
    parted = [each for each in named.values() if each.candidate and each.candidate.is_compiled]
    if parted:
        report = compiled_with(report, parted)
        rest = [each for each in named.values() if each not in parted]
        if not rest:
            return report
        named = {each.array: each for each in _found_again(report, rest)}
    again = report.relaunch()
    launch = again.launch()
    pairs = [(each.target, each.candidate) for each in named.values()]
    if any(array and max(array.starts) + array.size > launch.block_shared for array, _ in pairs):
        raise OptionError(
            "a fix belongs to another launch: the shared memory of this one is smaller"
            " (accepted: what this"
            " report's fixes() returns)"
        )
    changed = [(array, candidate) for array, candidate in pairs if array and candidate]
    too_much = _too_much(launch, changed)
    if too_much:
        raise OptionError(f"these fixes do not fit together: {too_much}")
    moves = moves_of(launch, changed)
    made = again.replay(moves)
    return replace(made, rerun=replace(again, moves=moves))


def _found_again(report: CompiledReport, fixes: Sequence[Fix]) -> list[Fix]:
    """Return fixes for the same arrays of a source that was compiled anew."""
    arrays = {each.name: each for each in _Finding(report).arrays}
    found = []
    for each in fixes:
        target = arrays.get(each.array)
        if target is None or target.bytes != each.bytes_before:
            raise OptionError(
                f"{each.array} is another array once the other fixes are compiled (accepted: it"
                " alone, or one of its alternatives)"
            )
        found.append(replace(each, target=target))
    return found


class _Finding:
    def __init__(self, report: CompiledReport) -> None:
        self.report = report
        self.runs = Runs(report)
        self.touched = self.runs.touched
        again, self.launch = self.runs.again, self.runs.launch
        self.program = again.program
        self.block_bytes = self.launch.block_shared
        self.arrays = find_arrays(
            self.touched, self.program, again.given["cubin"], self.block_bytes, again.sources
        )

    def fix(self, array: SharedArray) -> Fix | None:
        """Return what to change in an array; None for one without conflicts."""
        found = self._fix(array)
        if found is None or not found.after.bank_conflicts or array.uses or self._refused(array):
            return found
        said = self._held_in_turn(array)
        return replace(found, notes=(*found.notes, said)) if said else found

    def _held_in_turn(self, array: SharedArray) -> str:
        """Say that an array holds one thing after another, where barriers part them."""
        times = self.times
        if times is None or array.units:
            return ""
        uses = uses_of(array, self.touched, self.program.sites)
        for use in uses:
            use.times |= times.get(use.site.number, set())
        phases = phases_of(uses)
        if len(phases) < 2:
            return ""
        parts = " from ".join(
            lines_text(sorted({use.site.instruction.line or 0 for use in phase}))
            for phase in phases
        )
        return (
            f"It holds first one thing, then another: barriers separate {parts}, and no data are"
            " kept. It is treated as one array, with one layout."
        )

    @cached_property
    def times(self) -> Mapping[int, set[int]] | None:
        """How many barriers warps had passed at each instruction; None: not known."""
        if self.runs.first.report.thread_instructions > _MOST_FOLLOWED:
            return None
        return times_of(self.runs.again.timelines().values(), self.program.instructions)

    def _fix(self, array: SharedArray) -> Fix | None:
        costs = self.runs.before(array)
        before = sum(costs.values(), Cost(0, 0))
        if not before.bank_conflicts and not before.unremovable:
            return None
        plain = self._plain(array, before)
        if not before.bank_conflicts:
            return replace(plain, proved=True, why=_NONE_FEWER)
        why = self._refused(array)
        if why:
            return replace(plain, why=why, notes=(*plain.notes, understood(array)))
        against = hidden_base(
            array, self.arrays, self.touched, self.program, self.runs.again.sources
        )
        choice = self._choice(array)
        run = [self._tried(plain, array, each, choice, costs) for each in choice.candidates]
        better = [each for each in run if each is not None]
        numbers = np.unique(self.touched.sites[array.rows]).tolist()
        sites = [self.program.sites[number] for number in numbers]
        joined = joined_lines(array, sites, self.runs.again.sources)
        parts = [each for each in better if each.kind == "pad" and not each.after.bank_conflicts]
        if joined and not parts:
            better += self._compiled(plain, array, joined, costs)
        if not better:
            return replace(plain, proved=choice.proved and not choice.candidates, why=choice.text)
        first, *others = sorted(
            better, key=lambda each: (each.after.bank_conflicts, *_preference(each, bool(joined)))
        )
        if not against and first.operations and first.saved * _LITTLE < first.before.bank_conflicts:
            against = (
                f"Not proposed: what helps removes {first.saved:,} of"
                f" {first.before.bank_conflicts:,} bank conflicts, and takes operations for that."
            )
        if against:
            notes = (*plain.notes, understood(array))
            return replace(plain, why=against, alternatives=(first, *others), notes=notes)
        if joined and first.operations and first.candidate and not first.candidate.is_compiled:
            said = f"The compiler may part the accesses that it joined ({lines_text(joined)})."
            first = replace(first, notes=(*first.notes, said))
        return replace(first, alternatives=tuple(others))

    def _compiled(
        self, plain: Fix, array: SharedArray, joined: Sequence[int], before: Costs
    ) -> list[Fix]:
        """Compile a padding that parts what the compiler joined; none where it does not help."""
        candidate = word_more(array, self.runs.again)
        if candidate is None or _too_much(self.launch, [(array, candidate)]):
            return []
        try:
            made = compiled_with(self.report, [replace(plain, candidate=candidate)])
            other = _Finding(made)
        except (SassError, OptionError):
            return []
        found = [each for each in other.arrays if each.name == array.name]
        if len(found) != 1 or not self.runs.keeps_outputs(made):
            return []
        costs = other.runs.before(found[0])
        fix = self._if_better(plain, array, candidate, before, costs, other.runs)
        if fix is None:
            return []
        none_left = not fix.after.bank_conflicts
        said = (
            f"It was compiled: the accesses that the compiler joined ({lines_text(joined)}) are"
            " others."
        )
        why = _NONE_FEWER if none_left else "Not searched."
        return [replace(fix, proved=none_left, why=why, notes=(*plain.notes, said))]

    def _choice(self, array: SharedArray) -> Choice:
        if any(each.kind == "tile" for each in array.units):
            blocks = prod(self.report.grid) if self.report.extrapolated else self.report.blocks
            times = blocks / self.runs.first.report.blocks
            return choose_mode(array, self.touched, self.runs.pricer, times)
        return choose(array, self.touched, self.program.sites, self.launch.rule, self.launch.chip)

    def _plain(self, array: SharedArray, before: Cost) -> Fix:
        now = self._occupancy(self.launch.taken_shared)
        return Fix(
            array=array.name, lines=array.lines, files=array.files, text="", why="", proved=False,
            outputs_equal=True, before=before, after=before, bytes_before=array.bytes,
            bytes_after=array.bytes, occupancy_before=now, occupancy_after=now, target=array,
            notes=_reuse(array), report=self.report,
        )  # fmt: skip

    def _occupancy(self, size: int) -> SharedUse:
        found = replace(self.report, shared_bytes=size).occupancy()
        return SharedUse(size, None if found is None else found.blocks)

    def _refused(self, array: SharedArray) -> str:
        """Return why an array is left alone; "" where its layouts are searched."""
        sites = self.program.sites
        why = what_reaches(array, self.touched, sites)
        return why or reads_data_text(array, self.touched, sites, self.by_data)

    @cached_property
    def by_data(self) -> frozenset[int]:
        """The sites whose addresses depend on data."""
        executed = self.runs.first.report.thread_instructions
        return reads_data(self.runs.again, self.touched, self.arrays, executed)

    # ---- Trying. -------------------------------------------------------------------------------
    def _tried(
        self, plain: Fix, array: SharedArray, candidate: Candidate, choice: Choice, before: Costs
    ) -> Fix | None:
        """Run a layout. None where it does not run, changes an output or is not better."""
        if _too_much(self.launch, [(array, candidate)]):
            return None
        costs = self.runs.after(array, candidate)
        fix = None if costs is None else self._if_better(plain, array, candidate, before, costs)
        if fix is None:
            return None
        none_left, notes = not fix.after.bank_conflicts, plain.notes
        if not array.is_static and array.bytes < self.launch.shared_bytes:
            notes += (
                f"Its index counts from byte {array.starts[0]} of the block's shared memory.",
            )
        triton = ""
        if any(file.endswith(".py") for file in array.files):
            triton, why_not = triton_of(candidate.tile)
            notes += (f"Triton's layouts cannot say it: {why_not}.",) if why_not else ()
        return replace(
            fix, proved=choice.proved or none_left, why=_NONE_FEWER if none_left else choice.text,
            triton=triton, notes=notes,
        )  # fmt: skip

    def _if_better(
        self, plain: Fix, array: SharedArray, candidate: Candidate, before: Costs, costs: Costs,
        other: Runs | None = None,
    ) -> Fix | None:  # fmt: skip
        """Return the fix that a layout is; None where it costs no less.

        `other`: the runs of the source that was compiled with it.
        """
        after = sum(costs.values(), Cost(0, 0))
        if (
            after.bank_conflicts >= plain.before.bank_conflicts
            or after.wavefronts > plain.before.wavefronts
        ):
            return None
        taken = self.launch.taken_shared - array.bytes + candidate.bytes
        return replace(
            plain, text=text_of(array, candidate), kind=candidate.kind, after=after,
            notation=candidate.tile.notation or "", operations=operations_of(array, candidate),
            bytes_after=candidate.bytes, occupancy_after=self._occupancy(taken),
            by_line=self.runs.by_line(before, costs, other), candidate=candidate,
        )  # fmt: skip


def _too_much(launch: GridRun, changed: Sequence[tuple[SharedArray, Candidate]]) -> str:
    """Say which limit a block's shared memory goes over with these layouts, if it does."""
    more = [(array.is_static, candidate.bytes - array.bytes) for array, candidate in changed]
    size = launch.taken_shared + sum(grown for _, grown in more)
    limit = launch.architecture.shared_bytes
    if launch.chip is not None:
        limit = min(limit, launch.chip.shared_bytes)
    if size > max(limit, launch.taken_shared):
        return f"a block would take {size:,} bytes of shared memory (accepted: {limit:,})"
    static = launch.taken_shared - launch.shared_bytes
    static += sum(grown for is_static, grown in more if is_static)
    if static > _STATIC and any(is_static and grown for is_static, grown in more):
        return f"static shared memory would take {static:,} bytes (accepted: {_STATIC:,})"
    return ""


def _preference(fix: Fix, is_joined: bool) -> tuple[bool, bool, int, int, int]:
    """Order fixes that remove as much: room first, then cheap padding of rows, the rest.

    Of an array that is declared without rows, padding costs operations, as a swizzle does: the
    fewer, then the fewer bytes. A swizzle would part what the compiler joined, so padding is
    better then, dear or not.
    """
    more = fix.bytes_after - fix.bytes_before
    loses = (fix.occupancy_after.blocks or 0) < (fix.occupancy_before.blocks or 0)
    is_dear = more * _CHEAP > fix.bytes_before and not is_joined
    rank = {"tma": 0, "pad": 1, "swizzle": 2, "both": 3}[fix.kind]
    declared = fix.target.declared if fix.target else None
    is_flat = declared is not None and declared.bytes is not None
    if fix.kind == "pad" and fix.operations and is_flat and not is_joined:
        rank = 2
    return loses, is_dear, rank, fix.operations, more


def _reuse(array: SharedArray) -> tuple[str, ...]:
    """Say that an array is used for several things."""
    if not array.uses:
        return ()
    said = " and ".join(f"{name} ({lines_text(at)})" for name, at in array.uses)
    return (f"Its lines call it {said}: it is treated as one array, with one layout.",)
