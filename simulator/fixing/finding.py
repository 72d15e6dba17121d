"""From a replay to its fixes: find the arrays, search their layouts, run each, compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np

from simulator.errors import OptionError, SassError, ToolError
from simulator.fixing.arrays import SharedArray, find_arrays
from simulator.fixing.beside import (
    OTHER_OUTPUTS,
    does_not_run,
    harmed,
    kernel_names,
    same_sums,
    shares,
    worse,
)
from simulator.fixing.compiled import changed_text, joined_lines, word_more
from simulator.fixing.costs import Cost
from simulator.fixing.declared import Declared
from simulator.fixing.edits import kernels_with
from simulator.fixing.fix import Fix, SharedUse
from simulator.fixing.layouts import Candidate, Choice, choose
from simulator.fixing.leading import (
    LEADING_BYTES,
    MatrixCall,
    calls_text,
    matrix_calls,
    sayable,
)
from simulator.fixing.modes import choose_mode
from simulator.fixing.phases import phases_of, times_of, uses_of
from simulator.fixing.ranking import preference, too_much
from simulator.fixing.reading import reads_data
from simulator.fixing.refusing import (
    hidden_base,
    lines_text,
    reads_data_text,
    understood,
    what_reaches,
)
from simulator.fixing.runs import Costs, Runs
from simulator.fixing.said import operations_of, wording_of
from simulator.fixing.triton_layouts import triton_of
from simulator.sass.code.preprocessor import plain
from simulator.sass.found import macros_of
from simulator.sass.report import CompiledReport

__all__ = ["Finder", "find_fixes"]

_NONE_FEWER = "No layout of any kind has fewer."
_FEWER_REFUSED = "Other layouts were predicted to have fewer, and do not hold once compiled."
_MOST_FOLLOWED = 1 << 26
"""Thread instructions of a launch whose warps are followed from barrier to barrier."""
_LITTLE = 10
"""An index is not changed for less than one of so many bank conflicts."""


def find_fixes(report: CompiledReport, beside: Sequence[CompiledReport] = ()) -> list[Fix]:
    """Return a Fix for each array with conflicts, those that save most first.

    `beside`: other launches of the same source, which no fix may make worse.

    Raises LaunchError where the launch is no longer known, and whatever a run raises.
    """
    known = [value or 0 for value in report.instructions["bank_conflicts"]]
    if not sum(known):
        return []
    search = Finder(report, beside)
    found = [search.fix(array) for array in search.arrays]
    chosen = [each for each in found if each is not None]
    return sorted(chosen, key=lambda each: (-each.saved, each.text == "", each.array))


class Finder:
    """The search for the fixes of a launch: its arrays, and what is changed in each."""

    def __init__(self, report: CompiledReport, beside: Sequence[CompiledReport] = ()) -> None:
        self.report = report
        self.beside = [each for each in beside if each is not report]
        self.runs = Runs(report)
        self.touched = self.runs.touched
        again, self.launch = self.runs.again, self.runs.launch
        self.program = again.program
        self.block_bytes = self.launch.block_shared
        self.calls: dict[SharedArray, tuple[MatrixCall, ...]] = {}
        self.arrays = find_arrays(
            self.touched, self.program, again.given["cubin"], self.block_bytes, again.sources,
            macros_of(again.build.path, again.build.options),
        )  # fmt: skip

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
        better.sort(key=lambda each: (each.after.bank_conflicts, *preference(each, bool(joined))))
        better, unsaid = sayable(better, array, self._matrix_calls(array))
        if not better:
            return replace(plain, why=f"Not proposed: {unsaid}.")
        if not against:
            better, refused = self._holding(better, array, joined, costs)
            if not better:
                return replace(plain, why=f"Not proposed: {'; '.join(refused)}.")
            first = better[0]
            notes = tuple(f"Not {each}." for each in refused)
            better[0] = replace(first, notes=(*first.notes, *notes))
        first, *others = better
        if not against and first.operations and first.saved * _LITTLE < first.before.bank_conflicts:
            against = (
                f"Not proposed: what helps removes {first.saved:,} of"
                f" {first.before.bank_conflicts:,} bank conflicts, and takes operations for that."
            )
        if against:
            notes = (*plain.notes, understood(array))
            return replace(plain, why=against, alternatives=(first, *others), notes=notes)
        if joined and first.operations and first.compiled is None:
            said = f"The compiler may part the accesses that it joined ({lines_text(joined)})."
            first = replace(first, notes=(*first.notes, said))
        return replace(first, alternatives=tuple(others))

    def _matrix_calls(self, array: SharedArray) -> tuple[MatrixCall, ...]:
        """Return the calls of WMMA that access an array."""
        if array not in self.calls:
            numbers = np.unique(self.touched.sites[array.rows]).tolist()
            sites = [self.program.sites[number] for number in numbers]
            others = [each.name for each in self.arrays if each is not array]
            self.calls[array] = matrix_calls(array, sites, self.runs.again.sources, others)
        return self.calls[array]

    def _holding(
        self, ranked: Sequence[Fix], array: SharedArray, joined: Sequence[int], before: Costs
    ) -> tuple[list[Fix], list[str]]:
        """Return the fixes that hold once compiled, and why others do not, the best first.

        No more are compiled than until one has as few bank conflicts as were predicted. What
        could not be compiled stands behind what was, where the compiler may part its accesses.
        """
        held, refused, todo = list[Fix](), list[str](), list(ranked)
        while todo:
            each = todo.pop(0)
            now = each if each.compiled else self._once_compiled(each, array, joined, before)
            if isinstance(now, str):
                refused.append(f"{each.written}: {now}")
                continue
            held.append(now)
            if now.compiled and now.after.bank_conflicts <= each.after.bank_conflicts:
                break
        least = min(each.after.bank_conflicts for each in ranked)
        held = [
            replace(each, proved=False, why=_FEWER_REFUSED)
            if refused and each.after.bank_conflicts > least
            else each
            for each in held
        ]
        held.sort(
            key=lambda each: (
                bool(joined and each.operations and not each.compiled),
                each.after.bank_conflicts,
                *preference(each, bool(joined)),
            )
        )
        return [*held, *todo], refused

    def _once_compiled(
        self, fix: Fix, array: SharedArray, joined: Sequence[int], before: Costs
    ) -> Fix | str:
        """Return a fix as it is once compiled, or why it is not proposed then.

        As it was, where the source cannot be changed or compiled.
        """
        again, declared, candidate = self.runs.again, array.declared, fix.candidate
        if declared is None or candidate is None or again.moves is not None:
            return fix
        try:
            text = changed_text(again, [fix])
            made = again.recompiled(text)
            others = [each for each in self.beside if shares(each, declared, again.text() or "")]
            names = kernel_names([self.report, *others])
            if not self.runs.keeps_outputs(made):
                return OTHER_OUTPUTS
            why = worse(made, self.report, fix.saved if fix.text else None)
            if why:
                said = f" (the compiler had joined accesses of {lines_text(joined)})"
                why = f"once compiled, {names[0]} {why}"
                return f"{why}{said if joined and fix.operations else ''}"
            why = harmed(text, others, names[1:])
            if why:
                gone = self.report.bank_conflicts - made.bank_conflicts
                return f"it removes {gone:,} bank conflicts of {names[0]}, but {why}"
            fix = replace(fix, notes=(*fix.notes, *self._not_run(declared)))
            if fix.text and same_sums(made, self.report, fix):
                return replace(fix, compiled=made)
            other = Finder(made)
        except (OptionError, ToolError):
            return fix
        except SassError as error:
            return does_not_run(error)
        found = [each for each in other.arrays if each.name == array.name]
        if len(found) != 1:
            return "it is another array once compiled"
        costs = other.runs.before(found[0])
        moved = replace(candidate, is_compiled=True)
        plain = replace(fix, before=sum(before.values(), Cost(0, 0)))
        now = self._if_better(plain, array, moved, before, costs, other.runs)
        if now is None:
            return "once compiled, its accesses cost as much as before, or more"
        none_left = not now.after.bank_conflicts
        said = f"the accesses that the compiler joined ({lines_text(joined)}) are others"
        note = f"It was compiled: {said if joined else 'its accesses are others then'}."
        why = _NONE_FEWER if none_left else "Not searched."
        notes = (*fix.notes, note)
        return replace(now, compiled=made, proved=none_left, why=why, notes=notes)

    def _not_run(self, declared: Declared) -> tuple[str, ...]:
        """Say which kernels use an array that is declared outside of all, and were not run."""
        ran = {each.title.partition("<")[0] for each in (self.report, *self.beside)}
        using = kernels_with(declared, self.runs.again.text() or "")
        others = [each for each in using if each not in ran]
        return (
            (f"Not run, and it uses {declared.name}, too: {', '.join(others)}.",) if others else ()
        )

    def _compiled(
        self, plain: Fix, array: SharedArray, joined: Sequence[int], before: Costs
    ) -> list[Fix]:
        """Compile a padding that parts what the compiler joined; none where it does not help."""
        candidate = word_more(array, self.runs.again)
        if candidate is None or too_much(self.launch, [(array, candidate)]):
            return []
        blank = replace(plain, candidate=candidate)
        found = self._once_compiled(blank, array, joined, before)
        return [] if isinstance(found, str) or found.compiled is None else [found]

    def _choice(self, array: SharedArray) -> Choice:
        if any(each.kind == "tile" for each in array.units):
            blocks = prod(self.report.grid) if self.report.extrapolated else self.report.blocks
            times = blocks / self.runs.first.report.blocks
            return choose_mode(array, self.touched, self.runs.pricer, times)
        step = LEADING_BYTES if self._matrix_calls(array) else 1
        sites, launch = self.program.sites, self.launch
        return choose(array, self.touched, sites, launch.rule, launch.chip, step)

    def _plain(self, array: SharedArray, before: Cost) -> Fix:
        now = self._occupancy(self.launch.taken_shared)
        return Fix(
            array=array.name, lines=array.lines, files=array.files, why="", proved=False,
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
        if too_much(self.launch, [(array, candidate)]):
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
        if array.declared is not None and array.is_static and not array.declared.dims:
            notes += ("Its index counts from its first byte: change the members that lie there.",)
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
        source = self._source(array)
        calls, by_hand = calls_text(array, candidate, self._matrix_calls(array))
        return replace(
            plain, wording=wording_of(array, candidate, source), kind=candidate.kind, after=after,
            calls=calls, by_hand=by_hand,
            notation=candidate.tile.notation or "", operations=operations_of(array, candidate),
            bytes_after=candidate.bytes, occupancy_after=self._occupancy(taken),
            by_line=self.runs.by_line(before, costs, other), candidate=candidate,
        )  # fmt: skip

    def _source(self, array: SharedArray) -> str:
        """Return the text of the files that access an array, without comments."""
        files = {*array.files, *([array.declared.file] if array.declared else [])}
        sources = self.runs.again.sources
        return plain("\n".join(line for name in files for line in sources.get(name, ())))


def _reuse(array: SharedArray) -> tuple[str, ...]:
    """Say that an array is used for several things."""
    if not array.uses:
        return ()
    said = " and ".join(f"{name} ({lines_text(at)})" for name, at in array.uses)
    return (f"Its lines call it {said}: it is treated as one array, with one layout.",)
